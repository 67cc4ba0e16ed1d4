//! Loop modes: `ralph`, `ultrawork` and `ultraqa`. While one is active, idle panes of the project are prompted.
//!
//! | document | request | becomes |
//! |---|---|---|
//! | none, or not active | start | active |
//! | active | start | refused (`loop_active`), or a new loop when told to take its place |
//! | active | tick (`ralph`) | one slice more |
//! | active | cycle fail, cycle pending (`ultraqa`) | active, with the verdict |
//! | active | cycle pass (`ultraqa`) | none: the loop has reached its end |
//! | any | cancel | none |
//! | none | tick, cycle | refused (`loop_inactive`) |
//! | not active | tick, cycle | refused (`loop_cleared`) |
//!
//! Always holds: a tick and a cycle only ever change a loop that is there, so one that was cancelled or has passed never
//! comes back by itself; a refusal changes nothing. The counts of iterations and cycles belong to the hooks of the agent
//! CLI and are not changed here.
//!
//! The states have the reference's keys in its order. It writes what it is given: a limit may be absent, zero or below.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A loop mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A task is gone over until it is done.
    Ralph,
    /// An objective is kept up over many tasks.
    Ultrawork,
    /// Tests are run and mended until they pass.
    Ultraqa,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Ralph, Self::Ultrawork, Self::Ultraqa];

    /// Its name on the command line, on disk and in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ralph => "ralph",
            Self::Ultrawork => "ultrawork",
            Self::Ultraqa => "ultraqa",
        }
    }
}

impl core::fmt::Display for Mode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.word())
    }
}

/// `ralph.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ralph {
    /// Whether the loop goes on.
    pub active: bool,
    /// How often the agent has gone over its task; counted by its hook.
    #[serde(default)]
    pub iteration: i64,
    /// After how many iterations its hook lets it stop; the reference writes `null` for what it cannot read.
    #[serde(default)]
    pub max_iterations: Option<i64>,
    /// Slices that were reported done by ticks.
    #[serde(default)]
    pub completed_slices: i64,
    /// When it was started, as it was written.
    #[serde(default)]
    pub started_at: String,
    /// What is to be done.
    #[serde(default)]
    pub prompt: String,
    /// The session of the agent CLI that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The project's root.
    #[serde(default)]
    pub project_path: String,
}

/// `ultrawork.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ultrawork {
    /// Whether the loop goes on.
    pub active: bool,
    /// What is to be reached.
    #[serde(default)]
    pub objective: String,
    /// The tasks in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_summary: Option<String>,
    /// When it was started, as it was written.
    #[serde(default)]
    pub started_at: String,
    /// The session of the agent CLI that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The project's root.
    #[serde(default)]
    pub project_path: String,
    /// How many tasks there are.
    #[serde(default)]
    pub task_count: Option<i64>,
}

/// `ultraqa.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ultraqa {
    /// Whether the loop goes on.
    pub active: bool,
    /// What is to pass.
    #[serde(default)]
    pub goal: String,
    /// How many cycles there were; counted by the agent's hook.
    #[serde(default)]
    pub cycle_count: i64,
    /// After how many cycles its hook lets it stop; the reference writes `null` for what it cannot read.
    #[serde(default)]
    pub max_cycles: Option<i64>,
    /// When it was started, as it was written.
    #[serde(default)]
    pub started_at: String,
    /// The session of the agent CLI that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The project's root.
    #[serde(default)]
    pub project_path: String,
    /// How the last cycle ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_verdict: Option<Verdict>,
}

/// How a cycle of `ultraqa` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The goal is reached.
    Pass,
    /// It is not.
    Fail,
    /// It is not known yet.
    Pending,
}

impl Verdict {
    /// Its word in commands, on disk and in answers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Pending => "pending",
        }
    }

    /// The verdict that `word` means.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Pass, Self::Fail, Self::Pending]
            .into_iter()
            .find(|verdict| verdict.word() == word)
    }
}

/// What the three have in common.
pub trait Loop {
    /// Which mode it is.
    const MODE: Mode;

    /// Whether it goes on.
    fn is_active(&self) -> bool;

    /// What it is about: its prompt, objective or goal.
    fn aim(&self) -> &str;

    /// When it was started, as it was written.
    fn started_at(&self) -> &str;
}

/// Everything that a start says beside its mode's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening<'a> {
    /// What it is about.
    pub aim: &'a str,
    /// The session of the agent CLI that it belongs to.
    pub session_id: Option<&'a str>,
    /// The project's root.
    pub project_path: &'a str,
    /// When.
    pub now: Timestamp,
}

/// What a start does with a loop of its mode that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// It is refused.
    Refuse,
    /// The new loop takes its place.
    Replace,
}

mod decide;

pub use decide::{cancel, cycle, start, tick};

#[cfg(test)]
mod tests;
