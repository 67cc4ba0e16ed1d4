//! The unread index of one mailbox: which messages are open, up to some place in the log.
//!
//! The log is the truth; the index is what reading it up to `scanned` showed, so that counting and listing unread
//! costs what is unread and not what was ever sent. It may be deleted at any time: the log is then read again, and
//! only the counts of failed deliveries start over.
//!
//! | call | meaning |
//! |---|---|
//! | [`Unread::absorb`] | the next line of the log, in order |
//! | [`Unread::settle`] | a line beyond what was absorbed: only what closes open messages counts |
//! | [`Unread::lease`] | hands the first open message to one reader for a while |
//! | [`Unread::close`] | the message was acknowledged or given up |
//!
//! Always holds: `open` is in log order, holds no message twice, and at most [`OPEN_CAP`] of them; when it is full,
//! `scanned` stops there, so memory does not grow with the mailbox. A message leased to one reader is given to no
//! other until the lease runs out, the reader gives it back, or acknowledges it.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use serde::{Deserialize, Serialize};

use super::record::{Head, MessageKey};
use crate::time::Timestamp;

/// The most open messages that the index holds at once.
pub const OPEN_CAP: usize = 16_384;

/// How many closed ids are remembered, against doubles and against receipts that came before their message. A double
/// further apart shows its message again: at least once, with the same id.
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
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One reader's hold on an open message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The reader, as it named itself.
    pub reader: String,
    /// When the message may be given to somebody else.
    pub until: Timestamp,
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
#[serde(from = "Saved")]
pub struct Unread {
    scanned: u64,
    mark: Option<Mark>,
    open: VecDeque<OpenMessage>,
    closed: VecDeque<MessageKey>,
    #[serde(skip)]
    places: BTreeMap<MessageKey, u64>,
}

/// The index as it is kept: what can be derived is left out.
#[derive(Deserialize)]
struct Saved {
    scanned: u64,
    #[serde(default)]
    mark: Option<Mark>,
    #[serde(default)]
    open: VecDeque<OpenMessage>,
    #[serde(default)]
    closed: VecDeque<MessageKey>,
}

impl From<Saved> for Unread {
    fn from(saved: Saved) -> Self {
        let places = saved.open.iter().map(|open| (open.key, open.at)).collect();
        Self {
            scanned: saved.scanned,
            mark: saved.mark,
            open: saved.open,
            closed: saved.closed,
            places,
        }
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

    /// The open messages, oldest first.
    pub fn open(&self) -> impl ExactSizeIterator<Item = &OpenMessage> {
        self.open.iter()
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
    /// Answers whether it was taken: not when the index is full.
    pub fn absorb(&mut self, at: u64, end: u64, line: &[u8], head: Option<Head>) -> bool {
        if at < self.scanned {
            return true;
        }
        if self.is_full() && matches!(head, Some(Head::Message { .. })) {
            return false;
        }
        match head {
            Some(Head::Message {
                key,
                delivered,
                redelivery,
            }) => self.take_in(at, key, delivered, redelivery),
            Some(head) => self.settle(head),
            None => {}
        }
        self.scanned = end;
        self.mark = Some(Mark {
            at,
            digest: MessageKey::of_bytes(line),
        });
        true
    }

    fn take_in(&mut self, at: u64, key: MessageKey, delivered: bool, redelivery: u32) {
        if redelivery > 0 {
            self.closed.retain(|closed| *closed != key);
        }
        if delivered {
            self.close(key);
        } else if !self.closed.contains(&key) && !self.places.contains_key(&key) {
            self.open.push_back(OpenMessage {
                at,
                key,
                attempts: 0,
                lease: None,
            });
            self.places.insert(key, at);
        }
    }

    /// Takes from a line beyond what was absorbed only what closes messages.
    pub fn settle(&mut self, head: Head) {
        match head {
            Head::Delivered(key) | Head::DeadLettered(key) => self.close(key),
            Head::Message { .. } | Head::Other => {}
        }
    }

    /// The message was acknowledged or given up.
    pub fn close(&mut self, key: MessageKey) {
        if let Some(index) = self.index_of(key) {
            self.open.remove(index);
            self.places.remove(&key);
        }
        if !self.closed.contains(&key) {
            self.closed.push_back(key);
            if self.closed.len() > MEMORY {
                self.closed.pop_front();
            }
        }
    }

    fn index_of(&self, key: MessageKey) -> Option<usize> {
        let at = *self.places.get(&key)?;
        self.open.binary_search_by_key(&at, |open| open.at).ok()
    }

    /// Drops the open messages, which the caller has dealt with, so that the next part of the log can be absorbed.
    pub fn next_window(&mut self) {
        self.open.clear();
        self.places.clear();
    }

    /// Hands the first open message that nobody holds to `reader` until `until`. Counts one attempt.
    pub fn lease(&mut self, reader: &str, now: Timestamp, until: Timestamp) -> Option<OpenMessage> {
        let free = self
            .open
            .iter_mut()
            .find(|open| open.lease.as_ref().is_none_or(|lease| lease.until <= now))?;
        free.attempts = free.attempts.saturating_add(1);
        free.lease = Some(Lease {
            reader: String::from(reader),
            until,
        });
        Some(free.clone())
    }

    /// Ends the hold on a message, so that the next reader gets it at once.
    pub fn give_back(&mut self, key: MessageKey) -> bool {
        let Some(index) = self.index_of(key) else {
            return false;
        };
        self.open[index].lease = None;
        true
    }

    /// The open messages that were taken `limit` times or more, are held by nobody, and were never acknowledged.
    pub fn exhausted(&self, limit: u32, now: Timestamp) -> impl Iterator<Item = &OpenMessage> {
        self.open.iter().filter(move |open| {
            open.attempts >= limit && open.lease.as_ref().is_none_or(|lease| lease.until <= now)
        })
    }
}

#[cfg(test)]
mod tests;
