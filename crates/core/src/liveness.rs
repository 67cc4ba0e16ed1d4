//! Whether a member still runs: judged by its process, never by how recently it spoke.
//!
//! | seen | verdict |
//! |---|---|
//! | the recorded pid, with the recorded start time | alive |
//! | no such process, or one that has ended and was not collected | gone: `ended` |
//! | the recorded pid, with another start time | gone: `recycled` |
//! | a process of another boot than the recorded one | gone: `rebooted` |
//! | nothing, or too little was recorded to compare | unknown, with the reason |
//! | any of the gone ones while [`Grace`] lasts | unknown: `grace` |
//!
//! ```text
//!  starting ──▶ ready ◀──▶ busy ◀──▶ waiting(on)        any of them ──▶ exited(code) | gone(why)
//! ```
//!
//! Always holds: no verdict and no state follows from time alone, so silence is not death and mail does not refresh
//! anybody; `gone` is said on evidence only; a life that is over never goes on: the next one is a new [`Life`].
//! Looking at processes and reading clocks is not here.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One process, told from every other that had or will have its pid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// When it started, in the system's own unit since boot. Absent where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<u64>,
    /// The boot that `start_time` counts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

/// What looking for a recorded process showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// A process with that pid runs; whether it is the same one is to be judged.
    Alive(Process),
    /// There is none, or it has ended and was not collected yet.
    NoSuchProcess,
    /// The observer is blind, and why.
    CannotTell(Doubt),
}

/// Why a member is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Its process has ended.
    Ended,
    /// Its process has ended, and the pid belongs to another one now.
    Recycled,
    /// The machine was started again since.
    Rebooted,
}

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The pid was recorded in a container or sandbox where it means another process.
    OtherNamespace,
    /// There is no process table that the observer can read.
    NoTable,
    /// There is no start time to compare, recorded or observed.
    NoStartTime,
    /// What was seen is about another pid.
    OtherProcess,
    /// The machine was suspended or its clock was set a moment ago: look again later.
    Grace,
}

/// What is to be made of a member's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The very same process runs.
    Alive,
    /// It runs no more. Only this takes a task from its owner.
    Gone {
        /// What happened to it.
        why: Loss,
    },
    /// There is no evidence either way.
    Unknown {
        /// What keeps it from being told.
        why: Doubt,
    },
}

/// Judges a recorded process by what was seen.
#[must_use]
pub fn judge(recorded: &Process, seen: &Observation) -> Verdict {
    let gone = |why| Verdict::Gone { why };
    let unknown = |why| Verdict::Unknown { why };
    let found = match seen {
        Observation::NoSuchProcess => return gone(Loss::Ended),
        Observation::CannotTell(why) => return unknown(*why),
        Observation::Alive(found) if found.pid != recorded.pid => {
            return unknown(Doubt::OtherProcess);
        }
        Observation::Alive(found) => found,
    };
    if let (Some(then), Some(now)) = (&recorded.boot_id, &found.boot_id)
        && then != now
    {
        return gone(Loss::Rebooted);
    }
    match (recorded.start_time, found.start_time) {
        (Some(then), Some(now)) if then == now => Verdict::Alive,
        (Some(_), Some(_)) => gone(Loss::Recycled),
        _ => unknown(Doubt::NoStartTime),
    }
}

/// Two clocks read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The wall clock, which can be set and goes on while the machine sleeps.
    pub wall: Timestamp,
    /// Milliseconds of a clock that cannot be set and stands still while the machine sleeps.
    pub monotonic_ms: i64,
}

/// Notices from look to look that the machine slept or its clock was set, and keeps an observer from calling anybody
/// gone right after that. One observer has one, in memory; it ends with the observer's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grace {
    last: Moment,
    /// By the monotonic clock, so that a second sleep does not use it up.
    until_ms: Option<i64>,
}

impl Grace {
    /// How far the clocks may drift apart between two looks.
    pub const TOLERANCE_MS: i64 = 2_000;
    /// How long nobody is called gone after a jump.
    pub const LENGTH_MS: i64 = 30_000;

    /// No grace, from `now` on.
    #[must_use]
    pub fn watching(now: Moment) -> Self {
        Self {
            last: now,
            until_ms: None,
        }
    }

    /// Looks at the clocks; to be called before the processes are looked at. Answers whether there is grace now.
    pub fn look(&mut self, now: Moment) -> bool {
        let by_wall = now.wall.millis_since(self.last.wall);
        let awake = now.monotonic_ms.saturating_sub(self.last.monotonic_ms);
        if by_wall.saturating_sub(awake).unsigned_abs() > Self::TOLERANCE_MS.unsigned_abs() {
            self.until_ms = Some(now.monotonic_ms.saturating_add(Self::LENGTH_MS));
        }
        self.last = now;
        self.until_ms
            .is_some_and(|until_ms| now.monotonic_ms < until_ms)
    }

    /// The verdict on a recorded process at `now`.
    pub fn judge(&mut self, recorded: &Process, seen: &Observation, now: Moment) -> Verdict {
        let grace = self.look(now);
        match judge(recorded, seen) {
            Verdict::Gone { .. } if grace => Verdict::Unknown { why: Doubt::Grace },
            verdict => verdict,
        }
    }
}

/// What a member waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Somebody is to allow something.
    Permission,
    /// Another member is to answer.
    Reply,
    /// Its task waits for others.
    BlockedTask,
    /// Others hold lines that it stands in line for.
    Claim,
    /// Its provider takes no more for a while.
    RateLimit,
    /// A half-written text stands in its composer.
    Draft,
}

/// How a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Its process is being started, or has not shown yet that it is ready.
    Starting,
    /// It does nothing and takes the next thing to do.
    Ready,
    /// It works.
    Busy,
    /// It goes on when something else has happened.
    Waiting {
        /// What.
        on: Wait,
    },
    /// Its process ended and was seen to end.
    Exited {
        /// Its exit code; 128 and the signal's number when a signal ended it.
        code: i32,
    },
    /// Its process is not there any more.
    Gone {
        /// What happened to it.
        why: Loss,
    },
}

impl State {
    /// Whether the life has ended.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Exited { .. } | Self::Gone { .. })
    }
}

/// One life of a member, from its start to its end: `{"state": …, "since": …, "reason"?: …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// How it is.
    #[serde(flatten)]
    pub state: State,
    /// Since when it is so.
    pub since: Timestamp,
    /// What a person should know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Life {
    /// A life that begins at `now`.
    #[must_use]
    pub fn starting(now: Timestamp) -> Self {
        Self {
            state: State::Starting,
            since: now,
            reason: None,
        }
    }

    /// Takes a report about how the member is. The same state again changes its reason and not its since. Answers
    /// whether it was taken: a life that is over takes nothing more, but how it ended may still become known, and none
    /// starts twice.
    pub fn report(&mut self, state: State, reason: Option<String>, now: Timestamp) -> bool {
        let was_over = self.state.is_over();
        let learns_its_end = matches!(
            (self.state, state),
            (State::Gone { .. }, State::Exited { .. })
        );
        let starts_again = state == State::Starting && self.state != State::Starting;
        if starts_again || (was_over && !learns_its_end) {
            return false;
        }
        if self.state != state && !was_over {
            self.since = now;
        }
        self.state = state;
        self.reason = reason;
        true
    }

    /// Takes a verdict on its process. Answers whether the life ended with it.
    pub fn judged(&mut self, verdict: Verdict, now: Timestamp) -> bool {
        match verdict {
            Verdict::Gone { why } => self.report(State::Gone { why }, None, now),
            Verdict::Alive | Verdict::Unknown { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests;
