//! What an agent's screen says: ready, busy, a draft, a dialog, a limit, ended, or that nobody can tell.
//!
//! | state | what proves it |
//! |---|---|
//! | exited | the terminal is plain again and shows what the program leaves behind, or a shell's prompt |
//! | dialog | a choice or a menu is open: an Enter would answer it |
//! | limit | the vendor refuses or the program waits to try again |
//! | busy | a turn is running |
//! | draft | somebody's text stands in the composer |
//! | ready | the cursor stands in the empty composer, its frame is whole, every proof of the profile is there |
//! | unknown | anything else, a blank screen and copy mode among it |
//!
//! Always holds: the order of the table is the order of judgement, so evidence of anything else beats `ready`, and
//! what is not proved is `unknown`. Only the visible screen counts. Nothing here reads a terminal or a clock: the
//! facts come in, and how a program looks is data ([`Signature`]).

use alloc::string::String;
use serde::{Deserialize, Serialize};

mod ansi;
mod capture;
mod composer;
mod facts;
mod fold;
mod judge;
mod mark;
mod shell;
mod signature;

pub use composer::Composer;
pub use facts::{Cursor, Facts, Row, Tint};
pub use judge::judge;
pub use mark::{Mark, Place, Shown};
pub use signature::{ComposerLook, Continued, Shape, ShellLook, Signature};

/// What a pane is judged to be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for a message and its composer is empty.
    Ready,
    /// A turn is running.
    Busy,
    /// Text stands in the composer.
    Draft,
    /// A question, a picker or a menu is open.
    Dialog,
    /// A usage limit, or a wait before the next try.
    Limit,
    /// The program has ended.
    Exited,
    /// Nothing can be told.
    Unknown,
}

impl State {
    /// The word in JSON and on screens.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Draft => "draft",
            Self::Dialog => "dialog",
            Self::Limit => "limit",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

/// What one look at a screen says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The judgement.
    pub state: State,
    /// The evidence in words.
    pub why: String,
    /// What stands in the composer, whatever the state is.
    pub composer: Composer,
    /// Why a turn seems to run, also when a stronger state hides it.
    pub busy: Option<String>,
    /// Whether every proof of an idle program stands beside an empty composer, also when a limit hides it.
    pub at_rest: bool,
    /// Whether nothing at all is on the screen.
    pub blank: bool,
}

#[cfg(test)]
mod tests;
