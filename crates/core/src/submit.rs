//! Putting one line into an agent's composer and submitting it: gates before every key, and an answer that never lies.
//!
//! | step | order | goes on when |
//! |---|---|---|
//! | gates | look | the pane is ours, the agent is in front, nothing is open, the composer is empty |
//! | paste | paste, wait the burst delay | the cursor still stands where it was seen |
//! | see | look | the composer holds exactly our text and nothing else is open |
//! | enter | press the submit key | the cursor still stands where it was seen |
//! | verify | wait, look | our text has left the composer and stands in the transcript |
//! | clear | press the clear key, wait, look | after the last try, over a draft that is exactly ours, at most once |
//!
//! Always holds: every key comes from a look right before it and carries a [`Guard`] that its sender checks again at
//! the terminal, in one step with the key; no submit key goes into a dialog or into text that is not ours; the number of
//! orders is bounded; the outcome is one of three and names its reason.
//!
//! The machine has no terminal and no clock: [`Submit::poll`] says what to do next, `handle_*` say what came of it.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::screen::{Cursor, Facts};
use crate::time::Timestamp;

mod gates;
mod keys;
mod ladder;
mod own;
mod plan;

pub use keys::{Echo, Keys, WhileBusy};
pub use ladder::Submit;
pub use plan::{LimitPolicy, Plan, PlanRefused};

/// What runs in a pane's foreground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreground {
    /// The program that the pane was started for.
    Agent,
    /// A shell.
    Shell,
    /// Nobody can tell.
    Unknown,
}

/// Whose pane it is, as its recorded identity says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// It is there and ours: server, pane id, process and start time are the recorded ones.
    Ours(Foreground),
    /// There is no such pane, no session or no server.
    Gone,
    /// It is there, and its process has ended.
    Dead,
    /// Its id belongs to another process now.
    NotOurs,
    /// Another server answers at the socket.
    ServerChanged,
}

/// One look at a pane: whose it is and what it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Whose pane it is.
    pub pane: Pane,
    /// What it shows.
    pub facts: Facts,
}

/// What must still hold at the terminal when a key is sent. The sender checks it and sends in one step (tmux:
/// `if-shell -F`); when it does not hold, nothing is sent and the answer is [`Sent::Held`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Where the cursor stands.
    pub cursor: Cursor,
    /// Whether it is shown, as it was seen.
    pub cursor_visible: Option<bool>,
    /// The title; `None` where it changes by itself.
    pub title: Option<String>,
    /// The visible rows from the top, as they were seen; none where they change by themselves. A dialog that opens draws
    /// rows that are not among them.
    pub rows: Vec<String>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Look at the pane; answer with [`Submit::handle_look`].
    Look,
    /// Paste the text through a buffer, bracketed; answer with [`Submit::handle_sent`].
    Paste {
        /// One line.
        text: String,
        /// What must still hold.
        guard: Guard,
    },
    /// Press one key; answer with [`Submit::handle_sent`].
    Press {
        /// The key's name as tmux has it.
        key: String,
        /// What must still hold.
        guard: Guard,
    },
    /// Come back at this instant with [`Submit::handle_time`].
    WaitUntil(Timestamp),
    /// Nothing more: this is the answer.
    Done(Outcome),
}

/// What came of a paste or a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It went to the terminal.
    Sent,
    /// The guard did not hold, so it was not sent.
    Held,
    /// tmux could not do it; whether anything arrived is not known.
    Failed,
}

/// Why an agent was not woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotWoken {
    /// There is no such pane any more.
    PaneGone,
    /// The pane's id belongs to somebody else.
    NotOurs,
    /// Another tmux server answers.
    ServerChanged,
    /// tmux could not be asked or did not do as told.
    TransportFailed,
    /// The pane is in copy mode.
    InCopyMode,
    /// A bare shell is in the foreground.
    BareShell,
    /// The program has ended.
    Exited,
    /// A question, a picker or a menu is open.
    Dialog,
    /// A usage limit.
    Limit,
    /// A turn is running, and the program does not queue.
    Busy,
    /// Somebody's text stands in the composer.
    Draft,
    /// The screen is blank: the program is starting.
    Starting,
    /// The screen says nothing that is known.
    CannotTell,
    /// A dialog opened after the text was pasted; no submit key was sent.
    DialogOpenedBeforeEnter,
    /// The pasted text never stood in the composer.
    TextNotSeen,
    /// Every try left the text in the composer; it was cleared.
    NotSubmittedAfterTries,
    /// The text could neither be submitted nor cleared.
    ClearFailed,
}

impl NotWoken {
    /// The code in JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::PaneGone => "pane_gone",
            Self::NotOurs => "not_ours",
            Self::ServerChanged => "server_changed",
            Self::TransportFailed => "transport_failed",
            Self::InCopyMode => "in_copy_mode",
            Self::BareShell => "bare_shell",
            Self::Exited => "exited",
            Self::Dialog => "dialog",
            Self::Limit => "limit",
            Self::Busy => "busy",
            Self::Draft => "draft",
            Self::Starting => "starting",
            Self::CannotTell => "cannot_tell",
            Self::DialogOpenedBeforeEnter => "dialog_opened_before_enter",
            Self::TextNotSeen => "text_not_seen",
            Self::NotSubmittedAfterTries => "not_submitted_after_tries",
            Self::ClearFailed => "clear_failed",
        }
    }
}

/// What is left of a paste that was not submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// Nothing of ours.
    Nothing,
    /// Our text stands in the composer, perhaps beside somebody else's. Give it to the next [`Plan`].
    Text,
    /// Something may be there.
    Unknown,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The program has taken the text as its next turn.
    Submitted,
    /// The program is busy and keeps the text for later.
    QueuedByTool,
    /// The agent was not woken.
    NotWoken {
        /// Why.
        reason: NotWoken,
        /// The evidence in words.
        why: String,
        /// What is left in the pane.
        left: Left,
    },
}

impl Outcome {
    /// The word in JSON and events.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::QueuedByTool => "queued_by_tool",
            Self::NotWoken { .. } => "not_woken",
        }
    }
}

#[cfg(test)]
mod tests;
