//! From the team's events to the bus: whoever writes them, in this process or another, each is heard once.
//!
//! Events stand in the store in the order in which they happened; the publisher follows them by cursor while somebody
//! listens, and reads nothing while nobody does. An event holds no body, so the text of a message or a finding is taken
//! from what was just written, or read from where it stands.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pitcrew_core::Name;
use pitcrew_core::board::Discovery;
use pitcrew_core::event::{Event, Fact, Topic, What};
use pitcrew_core::mailbox::{Line, Message, read_record};
use pitcrew_core::refusal::NameKind;
use pitcrew_store::{Cursor, Log, Store, StoreFailure};

use super::bus::Bus;
use super::happening::Happening;

/// How many written texts are remembered for the events that follow them.
const REMEMBERED: usize = 64;

/// How many bytes of a log are read at once.
const PAGE: usize = 64 * 1024;

/// Follows the events of one team.
pub(crate) struct Publisher {
    team: Name,
    root: String,
    store: Arc<dyn Store>,
    bus: Bus,
    /// Where the next event stands; `None` while nobody listens.
    cursor: Mutex<Option<Cursor>>,
    written: Mutex<VecDeque<Written>>,
}

/// A text that was just written.
enum Written {
    Message(Box<Message>),
    Discovery(Box<Discovery>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Publisher {
    pub(crate) fn new(team: Name, store: Arc<dyn Store>, bus: Bus) -> Self {
        Self {
            root: Topic::Team.of(&team),
            team,
            store,
            bus,
            cursor: Mutex::new(None),
            written: Mutex::default(),
        }
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Begins to follow, if that has not begun: to be called once somebody listens and before it is told so.
    pub(crate) fn follow(&self) -> Result<(), StoreFailure> {
        let mut cursor = lock(&self.cursor);
        if cursor.is_none() {
            // Appending nothing changes nothing and answers where the log ends.
            *cursor = Some(self.store.append(&Log::Events, &[])?);
        }
        Ok(())
    }

    /// Remembers a text that was just written to `log`.
    pub(crate) fn remember(&self, log: &Log, line: &[u8]) {
        if lock(&self.cursor).is_none() {
            return;
        }
        let text = match log {
            Log::Mailbox(_) => match read_record(line) {
                Ok(Line::Message(message, _)) => Written::Message(Box::new(message)),
                _ => return,
            },
            _ => match Discovery::decode(line) {
                Ok(found) => Written::Discovery(Box::new(found)),
                Err(_) => return,
            },
        };
        let mut written = lock(&self.written);
        if written.len() >= REMEMBERED {
            written.pop_front();
        }
        written.push_back(text);
    }

    /// Publishes what has happened since it was last called.
    pub(crate) fn publish(&self) {
        let mut cursor = lock(&self.cursor);
        let Some(mut from) = *cursor else { return };
        if !self.bus.is_heard_below(&self.root) {
            *cursor = None;
            lock(&self.written).clear();
            return;
        }
        loop {
            let page = match self.store.read(&Log::Events, from, PAGE) {
                Ok(page) => page,
                Err(StoreFailure::LogTruncated { len, .. }) => {
                    from = len;
                    break;
                }
                // What cannot be read now is read with the next event.
                Err(_) => break,
            };
            for line in page.lines() {
                if let Some(event) = Event::decode(line.bytes) {
                    self.publish_one(event);
                }
            }
            let is_over = page.at_end || page.next == from;
            from = page.next;
            if is_over {
                break;
            }
        }
        *cursor = Some(from);
    }

    fn publish_one(&self, event: Event) {
        let topic = event.topic.of(&self.team);
        // A message for the leader or a receipt is heard by nobody most of the time.
        if !self.bus.is_heard(&topic) {
            return;
        }
        let What::Known(fact) = event.what else {
            return;
        };
        let happening = self.happening(fact);
        self.bus.publish(&topic, happening);
    }

    fn happening(&self, fact: Fact) -> Happening {
        match fact {
            Fact::AgentJoined { member: name } => Happening::AgentJoined { name },
            Fact::AgentLeft {
                member: name,
                reason,
            } => Happening::AgentLeft { name, reason },
            Fact::AgentCrashed {
                member: name,
                reason,
            } => Happening::AgentCrashed { name, reason },
            Fact::TeamDissolved {} => Happening::TeamDissolved {
                team_id: self.team.clone(),
            },
            Fact::MessageSent {
                ref id,
                ref from,
                ref to,
                ..
            } => match self.message(to, id) {
                Some(content) => Happening::PeerMessage {
                    from: from.clone(),
                    to: to.clone(),
                    content,
                },
                None => Happening::Fact(fact),
            },
            Fact::BroadcastSent {
                ref from,
                ref recipients,
                ref ids,
                ..
            } => {
                let mut copies = recipients.iter().zip(ids);
                match copies.find_map(|(to, id)| self.message(to, id)) {
                    Some(content) => Happening::TeamBroadcast {
                        from: from.clone(),
                        content,
                    },
                    None => Happening::Fact(fact),
                }
            }
            Fact::DiscoveryShared {
                ref member,
                ref subject,
                ..
            } => match self.discovery(member, subject) {
                Some(discovery) => Happening::Discovery {
                    from: member.clone(),
                    discovery,
                },
                None => Happening::Fact(fact),
            },
            other => Happening::Fact(other),
        }
    }

    /// The body of a message.
    fn message(&self, to: &Name, id: &str) -> Option<String> {
        let known = lock(&self.written)
            .iter()
            .rev()
            .find_map(|text| match text {
                Written::Message(message) if message.id == id => Some(message.body.to_string()),
                _ => None,
            });
        known.or_else(|| {
            let mut found = None;
            self.each_line(&Log::Mailbox(to.clone()), |line| match read_record(line) {
                Ok(Line::Message(message, _)) if message.id == id => {
                    found = Some(message.body.to_string());
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            });
            found
        })
    }

    /// The latest finding of `agent` about `subject`.
    fn discovery(&self, agent: &Name, subject: &str) -> Option<Discovery> {
        let is_it = |found: &Discovery| found.agent == *agent && found.topic == subject;
        let mut written = lock(&self.written);
        let at = written
            .iter()
            .position(|text| matches!(text, Written::Discovery(discovery) if is_it(discovery)));
        if let Some(Written::Discovery(discovery)) = at.and_then(|at| written.remove(at)) {
            return Some(*discovery);
        }
        drop(written);
        let mut found = None;
        self.each_line(&Log::Discoveries, |line| {
            if let Ok(discovery) = Discovery::decode(line)
                && is_it(&discovery)
            {
                found = Some(discovery);
            }
            ControlFlow::Continue(())
        });
        found
    }

    fn each_line(&self, log: &Log, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) {
        let mut from = 0;
        // A log that cannot be read shows nothing: the event is published as it stands.
        while let Ok(page) = self.store.read(log, from, PAGE) {
            for line in page.lines() {
                if each(line.bytes).is_break() {
                    return;
                }
            }
            if page.at_end || page.next == from {
                return;
            }
            from = page.next;
        }
    }
}

/// A name from a text that is one already.
pub(crate) fn member(text: &str) -> Option<Name> {
    Name::new(NameKind::Member, text).ok()
}
