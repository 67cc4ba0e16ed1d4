//! The team file: who is in a team, what there is to do, and within which limits.
//!
//! `docs/team-file.md` shows every key. [`TeamFile::parse`] is pure: a text and what is known of profiles go in, a
//! checked plan comes out, or every mistake with its line and column. Nothing is written, started or looked up here.
//!
//! | file | question |
//! |---|---|
//! | `teamfile/raw.rs` | what may stand in the file, word by word |
//! | `teamfile/check.rs` | whether it makes sense together |
//!
//! What always holds of a checked file: names and ids follow the naming rule and are unique without regard to case;
//! every `for` names a member and every `blocked_by` a task; no task waits for itself; a script stands where a
//! profile takes one and nowhere else; every task can be taken by somebody.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pitcrew_core::role::Role;
use pitcrew_core::{Name, TaskId};

use crate::desk::LimitChange;

mod check;
mod raw;

/// A team file that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamFile {
    /// The team.
    pub name: Name,
    /// What it is for; empty when the file does not say.
    pub goal: String,
    /// How long the whole run may take.
    pub time_limit: Option<Duration>,
    /// What the first failed task does to the run.
    pub after_failure: AfterFailure,
    /// What the file says about what the team may spend; what it does not say stays as it is.
    pub limits: LimitChange,
    /// The members, in the order of the file.
    pub members: Vec<MemberEntry>,
    /// The tasks, in the order of the file.
    pub tasks: Vec<TaskEntry>,
}

/// What the first task that failed for good does to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Nothing: what does not wait for it is done all the same.
    GoOn,
    /// It ends the run.
    End,
}

/// Which tools a member's agent may use without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// The team's own commands, where the agent can tell them apart.
    Team,
    /// What it offers.
    All,
}

/// One member.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberEntry {
    /// Its name.
    pub name: Name,
    /// The name of its profile, which is known.
    pub profile: String,
    /// The model that its turns are priced as.
    pub model: Option<String>,
    /// Its role.
    pub role: Role,
    /// What it is told beside its role.
    pub prompt: String,
    /// The script of a turn that only mail brings, for profiles that take scripts.
    pub on_mail: Option<String>,
    /// What is added to the profile's arguments.
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: BTreeMap<String, String>,
    /// The folder that it works in, from the project's root.
    pub folder: Option<PathBuf>,
    /// Which tools it may use without asking.
    pub tools: Tools,
    /// How often it is started again after crashes that follow each other closely.
    pub restarts: u32,
    /// How many turns it may take in one run.
    pub max_turns: u32,
    /// The longest that one of its turns may take; `None` is what its profile says.
    pub turn_limit: Option<Duration>,
}

/// One task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEntry {
    /// Its id, as in the file or the next number.
    pub id: TaskId,
    /// What is to be done.
    pub description: String,
    /// The member that it is for; `None` is whoever is free.
    pub assignee: Option<Name>,
    /// The tasks that must be completed first.
    pub blocked_by: Vec<TaskId>,
    /// What is run, for profiles that take scripts.
    pub script: Option<String>,
    /// The longest that its turn may take; `None` is what the member's says.
    pub time_limit: Option<Duration>,
    /// How often it is tried again after it failed.
    pub retries: u32,
}

/// What a team file must know of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileKind {
    /// It reads a prompt and answers.
    Agent,
    /// It runs a script.
    Script,
}

/// One mistake in a team file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its line, counted from 1.
    pub line: usize,
    /// Its column, in characters counted from 1.
    pub column: usize,
    /// The key, with its table; empty when the text is no TOML at that place.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

/// A team file that cannot be used, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TeamFileError {
    /// The file.
    pub path: PathBuf,
    /// At least one, in the order of the file.
    pub problems: Vec<Problem>,
}

/// `team.toml:12:5: members.profile: …`, one line for each problem.
impl fmt::Display for TeamFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            let Problem { line, column, .. } = problem;
            write!(f, "{}:{line}:{column}: ", self.path.display())?;
            if !problem.key.is_empty() {
                write!(f, "{}: ", problem.key)?;
            }
            f.write_str(&problem.why)?;
        }
        Ok(())
    }
}

impl TeamFile {
    /// Reads and checks the text of the file at `path`, which is used for messages and, without a `name` inside, for
    /// the team's name. `kind_of` tells what a profile's name stands for, or what is wrong with it.
    ///
    /// # Errors
    /// Everything that is wrong, with its place; nothing of the file is to be used then.
    pub fn parse(
        path: &Path,
        text: &str,
        kind_of: &dyn Fn(&str) -> Result<ProfileKind, String>,
    ) -> Result<Self, TeamFileError> {
        let failed = |problems| TeamFileError {
            path: path.to_path_buf(),
            problems,
        };
        let file = raw::read(text).map_err(failed)?;
        check::check(path, text, file, kind_of).map_err(failed)
    }
}

#[cfg(test)]
mod tests;
