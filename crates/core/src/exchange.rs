//! Exchanges: members that write to each other in turn while nothing else happens, and requests that wait for an answer.
//!
//! | seen | what becomes of it |
//! |---|---|
//! | a member writes to another after others wrote to it | one turn more towards that other |
//! | [`TURNS`] turns towards one other, or [`RING`] towards all of them | its messages wake nobody: they are kept as `inform` |
//! | a task of either moves, either shares a finding, the leader writes to it | its turns are forgotten, and those towards it |
//! | [`QUIET_MS`] without a turn towards that other | those turns are forgotten |
//! | a request | its sender waits for the recipient |
//! | a reply to it, or a message back that names none and is no `inform` | the wait is over |
//!
//! Counting turns of the sender, not links of replies, damps a pair and a ring of any size alike. Messages that wake
//! nobody by themselves (`inform`, `ack`), and those from and to the leader, are no turns.
//!
//! Always holds: a message is never refused, held back or changed in its text; who is damped is said once for each
//! time; the document stays small and may be deleted, which only forgets turns and waits.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::mailbox::Intent;
use crate::name::Name;
use crate::time::Timestamp;

/// How often a member may answer one other without any progress.
pub const TURNS: u32 = 6;

/// How often it may answer all others together.
pub const RING: u32 = 4 * TURNS;

/// After so long without a turn it begins anew, in milliseconds.
pub const QUIET_MS: i64 = 10 * 60 * 1000;

/// How many open requests are remembered; the oldest go first.
pub const MOST_OPEN: usize = 256;

/// A message, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letter<'a> {
    /// Its id.
    pub id: &'a str,
    /// The sender.
    pub from: &'a Name,
    /// The recipient.
    pub to: &'a Name,
    /// What the sender expects.
    pub intent: Option<Intent>,
    /// The message that it answers.
    pub reply_to: Option<&'a str>,
}

impl Letter<'_> {
    /// Whether it can be part of a loop: it wakes its recipient, and no leader is in it.
    #[must_use]
    pub fn is_turn(&self) -> bool {
        let wakes = matches!(self.intent, None | Some(Intent::Request));
        wakes && !self.from.is_leader() && !self.to.is_leader()
    }
}

/// A member whose messages to another wake nobody for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damped {
    /// Who writes.
    pub from: Name,
    /// To whom.
    pub to: Name,
    /// After how many turns without progress.
    pub turns: u32,
    /// Since when.
    pub since: Timestamp,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is as it is.
    Free,
    /// It is kept as `inform`, so that it wakes nobody.
    Damped {
        /// After so many turns without progress.
        turns: u32,
    },
}

/// A request that nobody has answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// The message.
    pub id: String,
    /// Who waits.
    pub from: Name,
    /// For whom.
    pub to: Name,
    /// Since when.
    pub since: Timestamp,
}

/// What happened to exchanges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeEvent {
    /// An exchange is damped, said once for each time.
    Damped {
        /// Who wrote.
        from: Name,
        /// To whom.
        to: Name,
        /// After how many turns.
        turns: u32,
    },
    /// Somebody waits for an answer.
    Asked(OpenRequest),
    /// An answer came, or none will.
    Closed(OpenRequest),
}

/// Turns towards one other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Turns {
    count: u32,
    last: Timestamp,
    /// Whether it was said that they are damped.
    #[serde(default)]
    told: bool,
}

/// One member's part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Talk {
    /// Whether others wrote to it since it last wrote.
    heard: bool,
    to: BTreeMap<Name, Turns>,
}

impl Talk {
    /// The turns that count towards `to`: those of it, or those of all when that is what is too much.
    fn turns(&self, to: &Name, now: Timestamp) -> Option<u32> {
        let live = |turns: &&Turns| now.millis_since(turns.last) < QUIET_MS;
        let own = self.to.get(to).filter(live).map_or(0, |turns| turns.count);
        let all = self.to.values().filter(live).map(|turns| turns.count);
        let all = all.fold(0_u32, u32::saturating_add);
        (own >= TURNS || all >= RING).then_some(if own >= TURNS { own } else { all })
    }
}

/// All exchanges of a team: one small document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Exchanges {
    members: BTreeMap<Name, Talk>,
    open: Vec<OpenRequest>,
}

impl Exchanges {
    /// What becomes of `letter` if it is sent now.
    #[must_use]
    pub fn judge(&self, letter: &Letter<'_>, now: Timestamp) -> Standing {
        let talk = self.members.get(letter.from);
        let turns = talk.and_then(|talk| talk.turns(letter.to, now));
        match turns.filter(|_| letter.is_turn()) {
            Some(turns) => Standing::Damped { turns },
            None => Standing::Free,
        }
    }

    /// Whether [`Self::sent`] would change anything for `letter`.
    #[must_use]
    pub fn is_touched_by(&self, letter: &Letter<'_>) -> bool {
        let word = letter.from.is_leader() && self.is_known(letter.to);
        letter.is_turn()
            || word
            || letter.intent == Some(Intent::Request)
            || self.answered(letter).is_some()
    }

    /// Takes note of `letter`, which was sent with what it was judged to be.
    pub fn sent(
        &mut self,
        letter: &Letter<'_>,
        standing: Standing,
        now: Timestamp,
    ) -> Vec<ExchangeEvent> {
        let mut events = Vec::new();
        if let Some(at) = self.answered(letter) {
            events.push(ExchangeEvent::Closed(self.open.remove(at)));
        }
        if letter.from.is_leader() {
            self.progressed(letter.to);
        }
        match standing {
            Standing::Damped { turns } => self.tell(letter, turns, now, &mut events),
            Standing::Free if letter.is_turn() => self.count(letter, now),
            Standing::Free => {}
        }
        if letter.intent == Some(Intent::Request) && standing == Standing::Free {
            let request = OpenRequest {
                id: letter.id.into(),
                from: letter.from.clone(),
                to: letter.to.clone(),
                since: now,
            };
            if self.open.len() >= MOST_OPEN {
                events.push(ExchangeEvent::Closed(self.open.remove(0)));
            }
            self.open.push(request.clone());
            events.push(ExchangeEvent::Asked(request));
        }
        events
    }

    fn count(&mut self, letter: &Letter<'_>, now: Timestamp) {
        let talk = self.members.entry(letter.from.clone()).or_default();
        talk.to
            .retain(|_, turns| now.millis_since(turns.last) < QUIET_MS);
        if core::mem::take(&mut talk.heard) {
            let turns = talk.to.entry(letter.to.clone()).or_insert(Turns {
                count: 0,
                last: now,
                told: false,
            });
            turns.count = turns.count.saturating_add(1);
            turns.last = now;
        }
        self.members.entry(letter.to.clone()).or_default().heard = true;
    }

    fn tell(
        &mut self,
        letter: &Letter<'_>,
        turns: u32,
        now: Timestamp,
        events: &mut Vec<ExchangeEvent>,
    ) {
        let talk = self.members.entry(letter.from.clone()).or_default();
        let own = talk.to.entry(letter.to.clone()).or_insert(Turns {
            count: 0,
            last: now,
            told: false,
        });
        if !core::mem::replace(&mut own.told, true) {
            events.push(ExchangeEvent::Damped {
                from: letter.from.clone(),
                to: letter.to.clone(),
                turns,
            });
        }
    }

    /// Which open request `letter` answers: the one that it names, or the oldest between the two if it names none.
    fn answered(&self, letter: &Letter<'_>) -> Option<usize> {
        self.open.iter().position(|open| {
            let back = open.to == *letter.from && open.from == *letter.to;
            back && match letter.reply_to {
                Some(id) => id == open.id,
                None => letter.intent != Some(Intent::Inform),
            }
        })
    }

    /// Whether turns of `member`, or towards it, are counted.
    #[must_use]
    pub fn is_known(&self, member: &Name) -> bool {
        let towards = |talk: &Talk| talk.to.contains_key(member);
        self.members.contains_key(member) || self.members.values().any(towards)
    }

    /// Forgets the turns of a member that got something done, and those towards it.
    pub fn progressed(&mut self, member: &Name) {
        self.members.remove(member);
        for talk in self.members.values_mut() {
            talk.to.remove(member);
        }
        self.members
            .retain(|_, talk| talk.heard || !talk.to.is_empty());
    }

    /// Forgets a member that is no more. Answers the waits that are over with it.
    pub fn gone(&mut self, member: &Name) -> Vec<ExchangeEvent> {
        self.progressed(member);
        self.close(|open| open.from == *member || open.to == *member)
    }

    /// Ends the wait for an answer to a message that was given up.
    pub fn given_up(&mut self, id: &str) -> Vec<ExchangeEvent> {
        self.close(|open| open.id == id)
    }

    fn close(&mut self, is_over: impl Fn(&OpenRequest) -> bool) -> Vec<ExchangeEvent> {
        let (over, open) = core::mem::take(&mut self.open)
            .into_iter()
            .partition(is_over);
        self.open = open;
        let over: Vec<OpenRequest> = over;
        over.into_iter().map(ExchangeEvent::Closed).collect()
    }

    /// Who is damped towards whom at `now`: whoever was told so and has neither rested nor got something done since.
    #[must_use]
    pub fn damped(&self, now: Timestamp) -> Vec<Damped> {
        let told = self.members.iter().flat_map(|(from, talk)| {
            let told = talk.to.iter().filter(|(_, turns)| turns.told);
            told.filter_map(move |(to, own)| {
                let turns = talk.turns(to, now)?;
                Some(Damped {
                    from: from.clone(),
                    to: to.clone(),
                    turns,
                    since: own.last,
                })
            })
        });
        told.collect()
    }

    /// The requests that nobody has answered, oldest first.
    pub fn open(&self) -> impl Iterator<Item = &OpenRequest> {
        self.open.iter()
    }
}

#[cfg(test)]
mod tests;
