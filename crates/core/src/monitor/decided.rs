//! One decision about one member, with its reason.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::nudge::Trigger;

/// What was done about a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Did {
    /// A line was typed and taken.
    Prompted,
    /// A line was typed that the program keeps for later.
    Queued,
    /// The leader was told that the member does not react.
    Escalated,
    /// A line was wanted and not taken.
    NotWoken,
    /// Nothing.
    Nothing,
}

impl Did {
    /// The word in events and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Prompted => "prompted",
            Self::Queued => "queued",
            Self::Escalated => "escalated",
            Self::NotWoken => "not_woken",
            Self::Nothing => "nothing",
        }
    }
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What led to it.
    pub trigger: Trigger,
    /// What was done.
    pub did: Did,
    /// Why: a stable code.
    pub reason: Cow<'static, str>,
    /// The evidence in words; empty where the code says all.
    pub why: String,
    /// The member's unread messages.
    pub unread: u64,
    /// For how long its pane was idle.
    pub idle_ms: Option<i64>,
}
