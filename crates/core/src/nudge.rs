//! Nudges: when an agent in a pane is told, by one short line, that mail waits or that it idles in a loop.
//!
//! | trigger | asked by | leads to a line when |
//! |---|---|---|
//! | send | whoever sent a message | mail is unread and no line of the last seconds covers it |
//! | sweep | the monitor, every 5 s | mail is unread that no line has told: its wake was lost |
//! | idle | the monitor, every 5 s | a loop is active and the pane was idle for 30 s, at most three times without progress |
//!
//! Always holds: the line never carries a body; triggers that meet are one line, whichever processes they come from;
//! read mail, withdrawn mail and a dissolved team get none; the leader is never prompted for idling; after three lines
//! without progress the leader is told once; a wake that did not arrive stays owed until a sweep has made it good.
//!
//! The shared state is one small [`Ledger`] per member, changed in a transaction of the store. Typing is `submit`'s.

use alloc::format;
use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::time::Timestamp;

mod idle;
mod ledger;
mod line;

pub use idle::IdleClock;
pub use ledger::{Begin, Ledger, Pending};
pub use line::{idle_line, mail_line, quoted};

/// The times of the policy, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Triggers that follow each other within this are gathered into one line.
    pub gather_ms: u32,
    /// The longest time that is spent on gathering.
    pub gather_most_ms: u32,
    /// How long one process may take from asking to the answer; after that another one may try.
    pub lease_ms: u32,
    /// For so long after a line, further mail counts as told unless the member made progress.
    pub cover_ms: u32,
    /// How often the monitor looks.
    pub scan_ms: u32,
    /// How long a pane must be idle before it is prompted.
    pub idle_ms: u32,
    /// How long to wait after a try that typed something and failed.
    pub back_off_ms: u32,
    /// How many lines may go unanswered.
    pub most: u32,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            gather_ms: 60,
            gather_most_ms: 500,
            lease_ms: 15_000,
            cover_ms: 6_000,
            scan_ms: 5_000,
            idle_ms: 30_000,
            back_off_ms: 30_000,
            most: 3,
        }
    }
}

/// Who asks for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A message was sent.
    Send,
    /// The monitor looks after lost wakes.
    Sweep,
    /// The monitor looks after idle panes.
    Idle,
}

/// Whether the team is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is.
    Live,
    /// It was dissolved or shut down, or the member has left.
    Dissolved,
}

/// How a member is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// By a line in its pane.
    Pane,
    /// By a hook of its program, so its pane is not typed into.
    Hook,
}

/// Whether any loop mode is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loops {
    /// One is.
    Active,
    /// None is.
    Inactive,
}

/// What is known about a member when somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Its unread messages.
    pub unread: u64,
    /// When the newest of them was sent.
    pub newest_unread_at: Option<Timestamp>,
    /// When it last moved a task, sent a message or acknowledged one.
    pub progress_at: Option<Timestamp>,
    /// Whether the team is there.
    pub standing: Standing,
    /// How it is woken.
    pub wake: Wake,
    /// Whether a loop is active.
    pub loops: Loops,
    /// Since when its pane is idle; `None` when it is not.
    pub idle_since: Option<Timestamp>,
}

/// The answer to a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The asker types the line: at `due_at`, after [`Ledger::begin`] has given the count.
    Inject {
        /// When gathering ends, as far as is known now; [`Ledger::begin`] may say later.
        due_at: Timestamp,
    },
    /// Somebody else is about to type it; this trigger is part of that line.
    Joined {
        /// When that somebody has answered or is taken for dead.
        until: Timestamp,
    },
    /// No line, and why.
    Quiet(Quiet),
    /// The leader is told that the member does not react. Said once.
    Escalate {
        /// How many lines went unanswered.
        unanswered: u32,
    },
}

/// Why there is no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quiet {
    /// Nothing is unread.
    NothingUnread,
    /// The team was dissolved or the member has left.
    Dissolved,
    /// A hook delivers its mail.
    Hooked,
    /// A line has told of this mail.
    AlreadyTold,
    /// No loop is active.
    LoopInactive,
    /// The pane is not idle, or not for long enough.
    NotIdle,
    /// The leader is never prompted for idling.
    LeaderNeverPrompted,
    /// Enough lines went unanswered, and the leader was told.
    GivenUp,
    /// The last try failed a moment ago.
    BackingOff,
}

impl Quiet {
    /// The code in events and JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NothingUnread => "nothing_unread",
            Self::Dissolved => "dissolved",
            Self::Hooked => "hooked",
            Self::AlreadyTold => "already_told",
            Self::LoopInactive => "loop_inactive",
            Self::NotIdle => "not_idle",
            Self::LeaderNeverPrompted => "leader_never_prompted",
            Self::GivenUp => "given_up",
            Self::BackingOff => "backing_off",
        }
    }
}

/// What the leader is told when `member` does not react.
#[must_use]
pub fn escalation(member: &Name, unanswered: u32, unread: u64) -> String {
    let mail = match unread {
        0 => String::new(),
        unread => format!(" {unread} message(s) wait unread."),
    };
    format!("{member} did not react to {unanswered} prompts and is not prompted any more.{mail}")
}

#[cfg(test)]
mod tests;
