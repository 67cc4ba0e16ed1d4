//! Where a sender's messages stand: every fact about each, gathered from the mailboxes that they went to.
//!
//! | stands | since |
//! |---|---|
//! | `stored` | it is in its recipient's mailbox |
//! | `notified` | the recipient's program keeps a line about it for later |
//! | `submitted` | the recipient's program has taken a line about it |
//! | `shown` | the recipient has taken the text from its mailbox |
//! | `delivered` | the recipient has acknowledged it |
//! | `dead_lettered` | it was given up |
//!
//! Nothing is written. A message stands where its last fact says.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_core::mailbox::{Fact, Line, Message, Receipt, read_record};
use pitcrew_core::refusal::NameKind;
use pitcrew_store::Log;
use serde::Serialize;

use super::index::each_line;
use super::mail::line_of;
use super::{Desk, NotDone};

/// One fact about a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentFact {
    /// What happened to it.
    pub fact: &'static str,
    /// When.
    pub at: String,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A message with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// The message.
    pub message: Message,
    /// What happened to it, in the order in which it was written down; the first is `stored`.
    pub facts: Vec<SentFact>,
}

impl SentMessage {
    /// Where it stands.
    #[must_use]
    pub fn stands(&self) -> &'static str {
        self.facts.last().map_or("stored", |fact| fact.fact)
    }
}

impl Desk<'_> {
    /// The newest `most` messages of `sender`, oldest first, whomever they went to.
    ///
    /// # Errors
    /// `team_not_found`, or when a mailbox cannot be read.
    pub fn sent_mail(&self, sender: &Name, most: usize) -> Result<Vec<SentMessage>, NotDone> {
        let team = self.roster()?;
        let mut owners = team.everybody();
        for former in &team.former {
            if let Ok(name) = Name::new(NameKind::Member, &former.name)
                && !owners.iter().any(|owner| owner.folds_to(name.as_str()))
            {
                owners.push(name);
            }
        }
        let mut all = Vec::new();
        for owner in owners {
            all.extend(self.sent_to(&owner, sender, most)?);
        }
        all.sort_by(|one, other| one.message.timestamp.cmp(&other.message.timestamp));
        let from = all.len().saturating_sub(most);
        Ok(all.split_off(from))
    }

    fn sent_to(
        &self,
        owner: &Name,
        sender: &Name,
        most: usize,
    ) -> Result<VecDeque<SentMessage>, NotDone> {
        let mut found: VecDeque<SentMessage> = VecDeque::new();
        each_line(self.store, &Log::Mailbox(owner.clone()), 0, |line| {
            // What is no record is reported by whoever lists that mailbox.
            if let Ok(line) = read_record(line.bytes) {
                take_in(&mut found, line, sender, most);
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Notes that the recipient has seen the text of a message.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn note_message_shown(&self, owner: &Name, id: &str) -> Result<(), NotDone> {
        let receipt = line_of(&Receipt::noted(id, Fact::Shown, self.now(), None))?;
        self.store
            .append(&Log::Mailbox(owner.clone()), &[&receipt])?;
        Ok(())
    }
}

fn take_in(found: &mut VecDeque<SentMessage>, line: Line, sender: &Name, most: usize) {
    let fact = |fact, at: String, detail| SentFact { fact, at, detail };
    let (id, fact) = match line {
        Line::Message(message, delivered_at) if message.from == sender.as_str() => {
            let mut facts = vec![fact("stored", message.timestamp.clone(), None)];
            facts.extend(delivered_at.map(|at| fact("delivered", at, None)));
            // What was put back from the dead letters is the same message once more.
            match found.iter_mut().find(|sent| sent.message.id == message.id) {
                Some(before) => before.facts.extend(facts),
                None => found.push_back(SentMessage { message, facts }),
            }
            if found.len() > most {
                found.pop_front();
            }
            return;
        }
        Line::Receipt(Receipt::Delivered {
            message_id,
            delivered_at,
        }) => (message_id, fact("delivered", delivered_at, None)),
        Line::Receipt(Receipt::Noted {
            message_id,
            fact: noted,
            at,
            detail,
        }) => (message_id, fact(noted.word(), at, detail)),
        Line::Message(..) | Line::Other => return,
    };
    if let Some(sent) = found.iter_mut().find(|sent| sent.message.id == id) {
        sent.facts.push(fact);
    }
}
