//! The unread index of one mailbox: which messages are open, up to some place in the log.
//!
//! The log is the truth; the index is what reading it up to `scanned` showed, so that counting and listing unread
//! costs what is unread and not what was ever sent. It may be deleted at any time: the log is then read again, and
//! only the counts of failed deliveries start over.
//!
//! A message is open when no line of the log acknowledges it and it was not given up, or was put back since.
//! Where an acknowledgement stands does not matter: it may come before its message.
//!
//! | call | meaning |
//! |---|---|
//! | [`Unread::absorb`] | the next line of the log, in order |
//! | [`Unread::settle`] | a line beyond what was absorbed: only what closes open messages counts |
//! | [`Unread::lease`] | hands the first open message that nobody holds to one reader for a while |
//! | [`Unread::give_back_attempt`] | the reader gives it up again |
//! | [`Unread::close`] | the message was acknowledged |
//!
//! | [`Unread::rewind`] | the log was cut: go back to a line that is still there |
//! | [`Unread::look_back`] | a line before what was absorbed: what memory was too short for |
//!
//! Memory for what is closed is bounded, so one line after another tells of doubles, and of receipts that came before
//! their message, only within the last 256. Whoever reads a log from its start makes good for that: every line is
//! offered again to [`Unread::look_back`]. What remains: a copy that another program appends to a log that is indexed
//! already, more than 256 acknowledgements after the first, is shown again, with the same id.
//!
//! Always holds: `open` is in log order, holds no message twice, and at most [`OPEN_CAP`] of them; when it is full,
//! `scanned` stops there, so memory does not grow with the mailbox. A message leased to one reader is given to no
//! other until the lease runs out by the caller's clock, is given back, or the message is acknowledged.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use serde::{Deserialize, Serialize, Serializer};

use super::key::MessageKey;
use super::record::Head;
use crate::time::Timestamp;
use trail::Trail;

mod trail;

/// The most open messages that the index holds at once.
pub const OPEN_CAP: usize = 16_384;

/// How many open messages a full index must come down to before it takes in more, so that the rest of the log is
/// looked through once for so many and not for each.
const ROOM: usize = OPEN_CAP / 2;

/// How many acknowledged and how many given-up ids are remembered, against doubles and against receipts that came
/// before their message.
const MEMORY: usize = 256;

/// One open message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenMessage {
    /// Where its line starts in the log.
    pub at: u64,
    /// Its id.
    pub key: MessageKey,
    /// How often a reader took it and did not acknowledge.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Who has it, until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// Whether this is a copy that was put back after a dead letter.
    #[serde(default, skip_serializing_if = "is_false")]
    pub put_back: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(told: &bool) -> bool {
    !*told
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl OpenMessage {
    fn is_held(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.holds(now))
    }
}

/// One reader's hold on an open message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The reader, as it named itself.
    pub reader: String,
    /// When the message may be given to somebody else.
    pub until: Timestamp,
    /// For how long it was taken, in milliseconds; 0 in an index that did not note it.
    #[serde(default)]
    pub length_ms: i64,
}

impl Lease {
    /// Whether it holds its message now. One that ends further ahead than it can, by a wide margin, was taken under a
    /// clock that was wrong, and holds nothing.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        match self.length_ms {
            ..=0 => self.until > now,
            length_ms => self.until.is_ahead(length_ms, now),
        }
    }
}

/// The last absorbed line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Where it starts.
    pub at: u64,
    /// The key of its bytes, by the same function as ids.
    pub digest: MessageKey,
}

/// The index. [`Unread::default`] knows nothing and starts at the beginning of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Saved", rename_all = "camelCase")]
pub struct Unread {
    scanned: u64,
    mark: Option<Mark>,
    /// By where their lines start.
    #[serde(serialize_with = "as_list")]
    open: BTreeMap<u64, OpenMessage>,
    closed: Memory,
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    given_up: Memory,
    #[serde(default)]
    trail: Trail,
    /// Up to where a full index has looked through the rest of the log for what closes its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<u64>,
    #[serde(skip)]
    places: BTreeMap<MessageKey, u64>,
}

type Memory = VecDeque<MessageKey>;

/// The index as it is kept: what can be derived is left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    scanned: u64,
    #[serde(default)]
    mark: Option<Mark>,
    #[serde(default)]
    open: VecDeque<OpenMessage>,
    #[serde(default)]
    closed: Memory,
    #[serde(default)]
    given_up: Memory,
    #[serde(default)]
    trail: Trail,
    #[serde(default)]
    settled: Option<u64>,
}

fn as_list<S: Serializer>(
    open: &BTreeMap<u64, OpenMessage>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(open.values())
}

impl From<Saved> for Unread {
    /// An index that contradicts itself is no index: the log is read again.
    fn from(saved: Saved) -> Self {
        let count = saved.open.len();
        let places: BTreeMap<_, _> = saved.open.iter().map(|open| (open.key, open.at)).collect();
        let open: BTreeMap<_, _> = saved.open.into_iter().map(|open| (open.at, open)).collect();
        let each_once = places.len() == count && open.len() == count;
        let end = saved
            .mark
            .as_ref()
            .map_or(0, |mark| mark.at.saturating_add(1));
        let within = open.keys().all(|at| *at < end) && end <= saved.scanned;
        if !each_once || !within || (saved.mark.is_none() && saved.scanned > 0) {
            return Self::default();
        }
        Self {
            scanned: saved.scanned,
            mark: saved.mark,
            open,
            closed: saved.closed,
            given_up: saved.given_up,
            trail: saved.trail,
            settled: saved.settled,
            places,
        }
    }
}

fn remember(memory: &mut Memory, key: MessageKey) {
    if memory.contains(&key) {
        return;
    }
    memory.push_back(key);
    while memory.len() > MEMORY {
        memory.pop_front();
    }
}

impl Unread {
    /// Everything before this byte of the log is accounted for.
    #[must_use]
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// The last absorbed line, by which a truncated or replaced log is noticed.
    #[must_use]
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Whether `line`, which now stands at the mark, is the line that was absorbed there.
    #[must_use]
    pub fn recognizes(&self, line: &[u8]) -> bool {
        self.mark
            .as_ref()
            .is_some_and(|mark| mark.digest == MessageKey::of_bytes(line))
    }

    /// Lines before [`Self::mark`] that were absorbed, newest first.
    pub fn trail(&self) -> impl Iterator<Item = &Mark> {
        self.trail.back()
    }

    /// Goes back to `mark`, one of [`Self::trail`] whose line ends at `end`, because what stood behind it is gone.
    /// What is known of the messages up to there stays known: an acknowledgement that was cut off still counts.
    pub fn rewind(&mut self, mark: Mark, end: u64) {
        self.open.retain(|at, _| *at < end);
        self.places.retain(|_, at| *at < end);
        self.trail.cut(mark.at);
        (self.scanned, self.settled) = (end, None);
        self.mark = Some(mark);
    }

    /// Whether the bounded memory may have been too short for what was absorbed.
    #[must_use]
    pub fn has_forgotten(&self) -> bool {
        self.closed.len() >= MEMORY || self.given_up.len() >= MEMORY
    }

    /// Takes from the line at `at` before [`Self::scanned`] what it says of open messages, whatever was forgotten
    /// since it was absorbed.
    pub fn look_back(&mut self, at: u64, head: Head) {
        let (Head::Message { key, .. } | Head::Delivered(key) | Head::DeadLettered(key)) = head
        else {
            return;
        };
        let Some(open) = self.places.get(&key).and_then(|at| self.open.get(at)) else {
            return;
        };
        match head {
            Head::Message {
                delivered: true, ..
            }
            | Head::Delivered(_) => self.close(key),
            // The first copy was closed, or the second would not be open, unless that one was put back.
            Head::Message { .. } if at < open.at && !open.put_back => self.close(key),
            Head::DeadLettered(_) if at > open.at || !open.put_back => self.give_up(key),
            Head::Message { .. } | Head::DeadLettered(_) | Head::Other => {}
        }
    }

    /// Up to where the rest of the log was looked through, while the index is full.
    #[must_use]
    pub fn settled(&self) -> Option<u64> {
        self.settled
    }

    /// The index is full, and the rest of the log was looked through up to `at`.
    pub fn settle_to(&mut self, at: u64) {
        self.settled = Some(at);
    }

    /// Whether so many messages were closed that it is worth taking in more: then the next line is absorbed again.
    pub fn make_room(&mut self) -> bool {
        if self.open.len() <= ROOM {
            self.settled = None;
        }
        self.settled.is_none()
    }

    /// The open messages, oldest first.
    pub fn open(&self) -> impl ExactSizeIterator<Item = &OpenMessage> {
        self.open.values()
    }

    /// Whether the index takes no more messages until some are closed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.open.len() >= OPEN_CAP
    }

    /// Whether the message is open.
    #[must_use]
    pub fn holds(&self, key: MessageKey) -> bool {
        self.places.contains_key(&key)
    }

    /// Takes in the line at `at..end` (its line end included), which `head` was read from. Lines before `scanned`
    /// are known already and change nothing, so a line may be offered again. `None` for `head` stands for damage.
    /// Answers whether it was taken: a new message is not when the index is full, and then nothing changes.
    pub fn absorb(&mut self, at: u64, end: u64, line: &[u8], head: Option<Head>) -> bool {
        self.absorb_within(OPEN_CAP, at, end, line, head)
    }

    fn absorb_within(
        &mut self,
        cap: usize,
        at: u64,
        end: u64,
        line: &[u8],
        head: Option<Head>,
    ) -> bool {
        if at < self.scanned {
            return true;
        }
        match head {
            Some(Head::Message {
                key,
                delivered: false,
                redelivery,
            }) => {
                if !self.take_in(cap, at, key, redelivery) {
                    return false;
                }
            }
            Some(Head::Message { key, .. } | Head::Delivered(key)) => self.close(key),
            Some(Head::DeadLettered(key)) => self.give_up(key),
            Some(Head::Other) | None => {}
        }
        let mark = Mark {
            at,
            digest: MessageKey::of_bytes(line),
        };
        self.trail.pass(&mark);
        (self.scanned, self.mark) = (end, Some(mark));
        true
    }

    /// Opens a message unless it is known. Answers whether there was room, where room was needed.
    fn take_in(&mut self, cap: usize, at: u64, key: MessageKey, redelivery: u32) -> bool {
        let is_given_up = redelivery == 0 && self.given_up.contains(&key);
        if is_given_up || self.holds(key) || self.closed.contains(&key) {
            return true;
        }
        if self.open.len() >= cap {
            return false;
        }
        // Should it be given up again, that is what it is remembered from.
        self.given_up.retain(|given_up| *given_up != key);
        let (attempts, lease) = (0, None);
        let message = OpenMessage {
            at,
            key,
            attempts,
            lease,
            put_back: redelivery > 0,
        };
        self.open.insert(at, message);
        self.places.insert(key, at);
        true
    }

    /// Takes from a line beyond what was absorbed only what closes an open message. The line is absorbed in its turn.
    pub fn settle(&mut self, head: Head) {
        match head {
            Head::Delivered(key) if self.holds(key) => self.close(key),
            Head::Message {
                key,
                delivered: true,
                ..
            } if self.holds(key) => self.close(key),
            Head::DeadLettered(key) if self.holds(key) => self.give_up(key),
            _ => {}
        }
    }

    /// The message was acknowledged. Nothing opens it again as long as it is remembered.
    pub fn close(&mut self, key: MessageKey) {
        self.drop_open(key);
        remember(&mut self.closed, key);
    }

    fn give_up(&mut self, key: MessageKey) {
        self.drop_open(key);
        remember(&mut self.given_up, key);
    }

    fn drop_open(&mut self, key: MessageKey) {
        if let Some(at) = self.places.remove(&key) {
            self.open.remove(&at);
        }
    }

    /// Drops the open messages, which the caller has dealt with, so that the next part of the log can be absorbed:
    /// for listing more than the index holds. Such an index is not to be kept.
    pub fn next_window(&mut self) {
        for open in core::mem::take(&mut self.open).into_values() {
            remember(&mut self.closed, open.key);
        }
        self.places.clear();
        // As after making room, what is taken in next is looked back at.
        self.settled = Some(self.scanned);
    }

    /// Hands the first open message that nobody holds to `reader` until `until`. Counts one attempt.
    pub fn lease(&mut self, reader: &str, now: Timestamp, until: Timestamp) -> Option<OpenMessage> {
        let free = self.open.values_mut().find(|open| !open.is_held(now))?;
        free.attempts = free.attempts.saturating_add(1);
        free.lease = Some(Lease {
            reader: String::from(reader),
            until,
            length_ms: until.millis_since(now),
        });
        Some(free.clone())
    }

    /// Ends whatever hold there is on a message, so that the next reader gets it at once. Answers whether the message
    /// is open. A reader that gives back what it took says which attempt that was: see [`Unread::give_back_attempt`].
    pub fn give_back(&mut self, key: MessageKey) -> bool {
        let open = self.open_mut(key);
        open.is_some_and(|open| {
            open.lease = None;
            true
        })
    }

    /// Ends the hold that began with that attempt. Answers whether it still was the present one: a reader whose lease
    /// ran out takes nothing from the reader after it.
    pub fn give_back_attempt(&mut self, key: MessageKey, attempt: u32) -> bool {
        let open = self.open_mut(key);
        open.filter(|open| open.attempts == attempt)
            .is_some_and(|open| open.lease.take().is_some())
    }

    fn open_mut(&mut self, key: MessageKey) -> Option<&mut OpenMessage> {
        self.open.get_mut(self.places.get(&key)?)
    }

    /// The open messages that were taken `limit` times or more, are held by nobody, and were never acknowledged.
    /// They are still open, so whoever leases looks here first and gives them up.
    pub fn exhausted(&self, limit: u32, now: Timestamp) -> impl Iterator<Item = &OpenMessage> {
        let open = self.open.values();
        open.filter(move |open| open.attempts >= limit && !open.is_held(now))
    }
}

#[cfg(test)]
mod tests;
