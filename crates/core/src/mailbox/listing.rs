//! A window of a mailbox for listing everything in it, delivered or not, in memory that does not grow with it.
//!
//! A receipt may stand anywhere, also before its message, and of several acknowledgements the last one counts. So a
//! window of at most [`WINDOW`] messages, and as many receipts for messages that it has not met, is filled from some
//! place on, and then every other line of the log is offered once for what it says about them. Listing n messages
//! reads the log at most 2 n / WINDOW times and once more.
//!
//! Always holds: every id is listed once, where its first line stands; in which order the other lines are offered
//! does not matter.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::key::MessageKey;
use super::record::Head;

/// The most messages in one window.
pub const WINDOW: usize = 65_536;

/// One message of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Where its line starts.
    pub at: u64,
    /// Its id.
    pub key: MessageKey,
    /// Where the acknowledgement that counts stands: a receipt, or a copy of the message that carries its own.
    pub delivered: Option<u64>,
    /// Where the fact that it was given up stands, unless it was put back after that.
    pub dead: Option<u64>,
    /// Where the last copy stands that puts it back.
    put_back: Option<u64>,
    /// Whether an earlier line holds the same message.
    is_double: bool,
}

impl Listed {
    fn meet(&mut self, at: u64, delivered: bool, redelivery: u32) {
        self.is_double |= at < self.at;
        if delivered {
            self.delivered = self.delivered.max(Some(at));
        }
        if redelivery > 0 {
            self.put_back = self.put_back.max(Some(at));
            self.dead = self.dead.filter(|dead| *dead > at);
        }
    }

    fn give_up(&mut self, at: u64) {
        if self.put_back < Some(at) {
            self.dead = self.dead.max(Some(at));
        }
    }
}

/// The window. Offer it the lines from some place on with [`Listing::fill`] until it is full, then all others of the
/// log, that one included, with [`Listing::settle`].
#[derive(Debug, Default)]
pub struct Listing {
    entries: Vec<Listed>,
    places: BTreeMap<MessageKey, usize>,
    /// Where receipts stand whose message was not met yet: the last acknowledgement and the last dead letter.
    early: BTreeMap<MessageKey, (Option<u64>, Option<u64>)>,
}

impl Listing {
    /// Takes the line at `at`; answers whether there was room for it.
    pub fn fill(&mut self, at: u64, head: Head) -> bool {
        self.fill_within(WINDOW, at, head)
    }

    fn fill_within(&mut self, window: usize, at: u64, head: Head) -> bool {
        match head {
            Head::Message { key, .. } if !self.places.contains_key(&key) => {
                if self.entries.len() >= window {
                    return false;
                }
                self.enter(at, key);
            }
            Head::Delivered(key) | Head::DeadLettered(key) if !self.places.contains_key(&key) => {
                if self.early.len() >= window && !self.early.contains_key(&key) {
                    return false;
                }
                let (delivered, dead) = self.early.entry(key).or_default();
                let is_delivery = matches!(head, Head::Delivered(_));
                *(if is_delivery { delivered } else { dead }) = Some(at);
            }
            _ => {}
        }
        self.settle(at, head);
        true
    }

    fn enter(&mut self, at: u64, key: MessageKey) {
        let (delivered, dead) = self.early.remove(&key).unwrap_or_default();
        self.places.insert(key, self.entries.len());
        self.entries.push(Listed {
            at,
            key,
            delivered,
            dead,
            put_back: None,
            is_double: false,
        });
    }

    /// Takes from a line outside the window what it says about messages inside. `at` orders what contradicts.
    pub fn settle(&mut self, at: u64, head: Head) {
        let (Head::Message { key, .. } | Head::Delivered(key) | Head::DeadLettered(key)) = head
        else {
            return;
        };
        let place = self.places.get(&key);
        let Some(entry) = place.and_then(|index| self.entries.get_mut(*index)) else {
            return;
        };
        match head {
            Head::Message {
                delivered,
                redelivery,
                ..
            } => entry.meet(at, delivered, redelivery),
            Head::Delivered(_) => entry.delivered = entry.delivered.max(Some(at)),
            Head::DeadLettered(_) => entry.give_up(at),
            Head::Other => {}
        }
    }

    /// The messages of the window in log order, each id once.
    pub fn messages(&self) -> impl Iterator<Item = &Listed> {
        self.entries.iter().filter(|entry| !entry.is_double)
    }

    /// Whether the window holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests;
