//! How a group ended: the one record that follows every started process, with nothing left to guess.
//!
//! What always holds: there is exactly one [`Ended`] for each group, and when it is there, everything of the group
//! that could be found has ended and its first process has been collected. What could not be ended is counted in
//! [`Leftovers::remaining`]; what could not even be found shows as [`Streams::StillHeld`] when it kept our pipes.

use super::capture::Kept;
use serde::Serialize;

/// The end of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Why it ended.
    pub how: How,
    /// The exit status of its first process, also when it was stopped. Absent if nobody could collect it.
    pub status: Option<Status>,
    /// From the start to the end of the first process, in milliseconds; the machine's sleep does not count.
    pub wall_ms: i64,
    /// What the first process left running.
    pub leftovers: Leftovers,
    /// What was printed on standard output.
    pub stdout: Kept,
    /// What was printed on standard error.
    pub stderr: Kept,
    /// Whether the output is complete.
    pub streams: Streams,
    /// Bytes of the input that nobody took.
    pub input_left: u64,
}

/// Why a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// By itself, with this exit code.
    Exited(i32),
    /// By a signal that was not ours.
    Signaled(i32),
    /// It ran longer than its limit.
    TimedOut {
        /// What ended it.
        by: By,
    },
    /// We were told to stop it, or its handle was dropped.
    Stopped {
        /// What ended it.
        by: By,
    },
    /// By itself, but another part of this program took its exit status.
    Lost,
}

/// What ended a group that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// It was asked, and ended within its grace.
    Ask,
    /// It was killed.
    Kill,
}

/// The exit status of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It returned this code.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
}

/// Processes beside the first one that we had to end, and those that we could not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Leftovers {
    /// So many were killed.
    pub killed: u32,
    /// So many run on, the first process included, because the system does not let us end them: they are another
    /// user's, or stuck in the kernel.
    pub remaining: u32,
}

/// Whether the output streams reached their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// Everything printed was read.
    Closed,
    /// A process that we did not find, or may not end, still holds them; what it prints from now on is not read.
    StillHeld,
}

impl Ended {
    /// Whether the process ended by itself with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.how == How::Exited(0)
    }
}
