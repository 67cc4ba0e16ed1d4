//! A pause of the whole team, until a provider's limit resets.
//!
//! While it lasts every call is refused with the time that is left; mail and tasks go on. After the reset each member
//! waits a little of its own on top, so that they do not all come at once.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::time::Timestamp;

/// A pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// When the provider said so.
    pub since: Timestamp,
    /// When its limit resets.
    pub until: Timestamp,
    /// The provider's words.
    pub why: String,
}

impl Pause {
    /// Whether it holds the team at `now`. It may be as long as a provider says; one that was begun under a clock that
    /// was ahead is over.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        let length_ms = self.until.millis_since(self.since).max(0);
        self.until.is_ahead(length_ms, now)
    }
}

/// How long after `reset` this member waits, from 0 to `spread_ms`: always the same for one member and one reset, and
/// spread over the members.
#[must_use]
pub fn jitter_ms(member: &Name, reset: Timestamp, spread_ms: u64) -> u64 {
    // FNV-1a: nobody gains from choosing a name, so a plain hash will do.
    let text = member.as_str().bytes();
    let bytes = text.chain(reset.as_millis().to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The high bits are the better mixed ones.
    match spread_ms.checked_add(1) {
        Some(range) => (hash >> 20) % range,
        None => hash,
    }
}
