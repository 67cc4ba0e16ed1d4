//! How the agent of a member in a pane ended, as far as anybody can tell, and what follows from that.
//!
//! | how | told as | for the restart policy |
//! |---|---|---|
//! | with status 0, or by Ctrl-C (status 130, SIGINT) | left | finished |
//! | with another status, by another signal | crashed | failed |
//! | ended, and nobody told how | crashed | failed |
//! | its pane was closed | left | ordered: no policy starts it again |
//! | its tmux server is gone | crashed | ordered: there is no session to start it in |
//! | it could not be started | crashed | failed |
//!
//! Always holds: what is not known is said to be not known; nothing here is a guess from a screen.
//!
//! Not here: asking tmux.

use alloc::format;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

use crate::restart::End;

/// How an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departure {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It has ended, and nobody told how.
    Untold,
    /// Its pane was closed, so a person ended it.
    Closed,
    /// Its tmux server is gone, and every pane with it.
    ServerGone,
    /// It could not be started.
    NotStarted,
}

/// What an end is told as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldAs {
    /// `agent_left`: it finished, or somebody ended it.
    Left,
    /// `agent_crashed`: anything else.
    Crashed,
}

/// What a shell says when its program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// The signal of Ctrl-C.
const SIGINT: i32 = 2;

impl Departure {
    /// What it is told as.
    #[must_use]
    pub fn told_as(self) -> ToldAs {
        match self {
            Self::Exited(0 | INTERRUPTED) | Self::Killed(SIGINT) | Self::Closed => ToldAs::Left,
            Self::Exited(_)
            | Self::Killed(_)
            | Self::Untold
            | Self::ServerGone
            | Self::NotStarted => ToldAs::Crashed,
        }
    }

    /// What it is to a restart policy; none when no policy starts it again.
    #[must_use]
    pub fn end(self) -> Option<End> {
        match (self, self.told_as()) {
            (Self::Closed | Self::ServerGone, _) => None,
            (_, ToldAs::Left) => Some(End::Finished),
            (_, ToldAs::Crashed) => Some(End::Failed),
        }
    }

    /// In words, behind the member's name and a colon.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Exited(INTERRUPTED) => "it ended with status 130, as after Ctrl-C".to_string(),
            Self::Exited(status) => format!("it ended with status {status}"),
            Self::Killed(SIGINT) => "it was ended by Ctrl-C".to_string(),
            Self::Killed(signal) => format!("it was killed by signal {signal}"),
            Self::Untold => "its process has ended, and tmux does not tell how".to_string(),
            Self::Closed => "its pane was closed".to_string(),
            Self::ServerGone => "its tmux server is gone".to_string(),
            Self::NotStarted => "it could not be started".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_somebody_wanted_is_told_as_left_and_everything_else_as_a_crash() {
        for (how, told, end) in [
            (Departure::Exited(0), ToldAs::Left, Some(End::Finished)),
            (Departure::Exited(130), ToldAs::Left, Some(End::Finished)),
            (Departure::Killed(2), ToldAs::Left, Some(End::Finished)),
            (Departure::Closed, ToldAs::Left, None),
            (Departure::Exited(1), ToldAs::Crashed, Some(End::Failed)),
            (Departure::Killed(9), ToldAs::Crashed, Some(End::Failed)),
            (Departure::Untold, ToldAs::Crashed, Some(End::Failed)),
            (Departure::ServerGone, ToldAs::Crashed, None),
            (Departure::NotStarted, ToldAs::Crashed, Some(End::Failed)),
        ] {
            assert_eq!((how.told_as(), how.end()), (told, end), "{how:?}");
        }
    }

    #[test]
    fn what_nobody_told_is_not_made_up() {
        let words = Departure::Untold.words();
        assert!(words.contains("does not tell"), "{words}");
        assert!(!words.contains("status"), "{words}");
    }
}
