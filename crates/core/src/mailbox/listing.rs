//! A window of a mailbox for listing everything in it, delivered or not, in memory that does not grow with it.
//!
//! A receipt may stand anywhere, also before its message, and the last one counts. So a window of at most
//! [`WINDOW`] messages is filled from `from` on, and then every other line of the log is offered once for its
//! receipts. Listing n messages reads the log n / WINDOW times.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::record::{Head, MessageKey};

/// The most messages in one window.
pub const WINDOW: usize = 16_384;

/// One message of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Where its line starts.
    pub at: u64,
    /// Its id.
    pub key: MessageKey,
    /// Where the acknowledgement that counts stands.
    pub delivered: Option<u64>,
    /// Where the fact that it was given up stands.
    pub dead: Option<u64>,
}

/// The window. Offer it the lines from `from` on with [`Listing::fill`] until it is full, then all others with
/// [`Listing::settle`].
#[derive(Debug, Default)]
pub struct Listing {
    entries: Vec<Listed>,
    places: BTreeMap<MessageKey, usize>,
}

impl Listing {
    /// Takes the line at `at`; answers whether there was room for it.
    pub fn fill(&mut self, at: u64, head: Head) -> bool {
        match head {
            Head::Message {
                key, redelivery, ..
            } => match self.places.get(&key) {
                Some(index) if redelivery > 0 => self.entries[*index].dead = None,
                Some(_) => {}
                None if self.entries.len() >= WINDOW => return false,
                None => {
                    self.places.insert(key, self.entries.len());
                    self.entries.push(Listed {
                        at,
                        key,
                        delivered: None,
                        dead: None,
                    });
                }
            },
            other => self.settle(at, other),
        }
        true
    }

    /// Takes from a line outside the window what it says about messages inside. `at` orders what contradicts.
    pub fn settle(&mut self, at: u64, head: Head) {
        let (key, is_delivery) = match head {
            Head::Delivered(key) => (key, true),
            Head::DeadLettered(key) => (key, false),
            Head::Message {
                key, redelivery, ..
            } => return self.met_again(at, key, redelivery),
            Head::Other => return,
        };
        let Some(index) = self.places.get(&key) else {
            return;
        };
        let entry = &mut self.entries[*index];
        let place = if is_delivery {
            &mut entry.delivered
        } else {
            &mut entry.dead
        };
        *place = Some(place.map_or(at, |before| before.max(at)));
    }

    /// The same id outside the window: an earlier line makes the one in the window a double.
    fn met_again(&mut self, at: u64, key: MessageKey, redelivery: u32) {
        let Some(index) = self.places.get(&key) else {
            return;
        };
        let entry = &mut self.entries[*index];
        if at < entry.at {
            self.places.remove(&key);
        } else if redelivery > 0 && entry.dead.is_some_and(|dead| dead < at) {
            entry.dead = None;
        }
    }

    /// The messages of the window in log order, each id once.
    pub fn messages(&self) -> impl Iterator<Item = &Listed> {
        self.entries
            .iter()
            .filter(|entry| self.places.contains_key(&entry.key))
    }

    /// Whether the window holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
