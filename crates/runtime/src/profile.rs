//! Profiles: what is known of one agent CLI, as data.
//!
//! A [`Profile`] is a TOML file: how to start a turn, how the prompt goes in, and where the answer, the session, the
//! usage, refusals and limits stand in what the CLI wrote. Two pure questions are asked of it:
//! [`plan_turn`](Profile::plan_turn) says what to run, [`read_turn`](Profile::read_turn) says what came of it.
//! Nothing here starts a process, opens a file, or reads a clock or the environment.
//!
//! | file | question |
//! |---|---|
//! | `profile/file.rs` | what may stand in a file, and where a mistake is |
//! | `profile/known.rs` | which profiles there are: built in, then the user's, then the project's |
//! | `profile/panes.rs` | how the program looks and takes a message in a terminal |
//! | `profile/template.rs` | what `{prompt}`, `{session}` and the like in an argument become |
//! | `profile/plan.rs` | what to run for one turn |
//! | `profile/place.rs` | where in an output something stands |
//! | `profile/read.rs` | what came of a turn |
//! | `profile/usage.rs` | which tokens and money the turn used |
//! | `profile/mcp.rs` | what the CLI's configuration says about an MCP server |
//! | `profile/reset.rs` | when a limit ends, from words as CLIs write them |
//!
//! The pane's half of a CLI (screens, keys) stands in files of its own, read as a [`PaneProfile`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use pitcrew_core::Name;

use crate::hooks::HooksTable;
use crate::process::Environment;

mod file;
mod known;
mod mcp;
mod panes;
mod place;
mod plan;
mod read;
#[cfg(test)]
#[path = "profile/tests/recorded.rs"]
mod recorded;
mod reset;
mod template;
mod usage;

pub use file::{ProfileError, Via};
pub use known::{ProfileAbsent, Profiles, UnknownProfile};
pub use mcp::{McpFormat, McpServer, McpTable};
pub use panes::{PaneProfile, PaneProfiles, PaneStart, Trust};
pub use plan::{PlanError, Probe, SessionPlan, ToolGrant, TurnInput, TurnPlan};
pub(crate) use read::is_session_id;
pub use read::{Answer, Limit, Outcome, TurnOutput, TurnReport};
pub use reset::reset_in_text;
pub use usage::Usage;

use file::{Limits, SessionPlaces, UsagePlaces};
use place::Place;
use template::Argument;

/// Where a profile comes from. A later origin overrides an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Part of the program.
    BuiltIn,
    /// A file of the user.
    Home(PathBuf),
    /// A file of the project.
    Project(PathBuf),
}

/// What is known of one agent CLI. Checked when it was read: [`plan_turn`](Profile::plan_turn) and
/// [`read_turn`](Profile::read_turn) never meet a key that is missing or makes no sense.
#[derive(Debug, Clone)]
pub struct Profile {
    name: Name,
    origin: Origin,
    description: String,
    program: String,
    probe: Option<file::ProbeTable>,
    turn: Turn,
    tools: file::Tools,
    env: EnvRules,
    answer_required: bool,
    answer: Vec<Place>,
    done: Vec<Place>,
    session: SessionPlaces,
    usage: Option<UsagePlaces>,
    failure: Vec<Place>,
    refusals: Vec<Place>,
    limits: Limits,
    pane: Option<toml::Table>,
    mcp: Option<McpTable>,
    hooks: Option<HooksTable>,
}

#[derive(Debug, Clone)]
struct Turn {
    fresh: Vec<Argument>,
    resume: Option<Vec<Argument>>,
    prompt: Via,
    time_limit_ms: i64,
}

impl Profile {
    /// The name that team files use.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Where it comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// One line for people.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The binary: a name to look up on PATH, or an absolute path.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// How the prompt goes in.
    #[must_use]
    pub fn prompt(&self) -> Via {
        self.turn.prompt
    }

    /// How long one turn may take, in milliseconds, unless the team file says otherwise. Every profile has such a
    /// limit, because several CLIs wait without end when their provider refuses them.
    #[must_use]
    pub fn time_limit_ms(&self) -> i64 {
        self.turn.time_limit_ms
    }

    /// Whether a session can be gone on with.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.turn.resume.is_some()
    }

    /// Whether a turn needs a script (`{script}`), as `sh` does.
    #[must_use]
    pub fn takes_script(&self) -> bool {
        let arguments = self
            .turn
            .fresh
            .iter()
            .chain(self.turn.resume.iter().flatten());
        arguments
            .into_iter()
            .any(|argument| argument.holds(template::Slot::Script))
    }

    /// The reserved table of the pane seat, as it stands in the file.
    #[must_use]
    pub fn pane(&self) -> Option<&toml::Table> {
        self.pane.as_ref()
    }

    /// What its configuration says about an MCP server; `None` when it has no such servers.
    #[must_use]
    pub fn mcp(&self) -> Option<&McpTable> {
        self.mcp.as_ref()
    }

    /// Where it keeps its hooks and what stands there; `None` when it has none.
    #[must_use]
    pub fn hooks(&self) -> Option<&HooksTable> {
        self.hooks.as_ref()
    }

    /// How to ask the program for its version; `None` when it has no such question.
    #[must_use]
    pub fn probe(&self) -> Option<Probe<'_>> {
        self.probe.as_ref().map(|probe| Probe {
            program: &self.program,
            table: probe,
        })
    }
}

/// What is done with the caller's environment for a CLI. Names may end in `*`, which stands for any rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvRules {
    /// Always set, over what the caller has.
    pub set: BTreeMap<String, String>,
    /// What the CLI needs of the caller's environment: its credentials and settings. A process that inherits all of
    /// it has them already; one that starts from another (a tmux server's) is given them.
    pub forward: Vec<String>,
    /// What must not reach the CLI, such as the marks of another session that pitcrew itself was started from.
    pub drop: Vec<String>,
}

impl EnvRules {
    /// `caller` as the CLI gets it: without what is dropped, with what is set.
    #[must_use]
    pub fn over(&self, caller: Environment) -> Environment {
        let thinned = self.drop.iter().fold(caller, Environment::unset);
        self.set
            .iter()
            .fold(thinned, |env, (name, value)| env.set(name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_does_not_reach_the_cli_and_what_is_set_wins() {
        let rules = EnvRules {
            set: BTreeMap::from([("A".into(), "new".into())]),
            forward: Vec::new(),
            drop: vec!["CLAUDE_*".into(), "A".into()],
        };
        let caller = [("A", "old"), ("B", "kept"), ("CLAUDE_X", "gone")]
            .map(|(name, value)| (name.into(), value.into()));
        let env = rules.over(Environment::all_of(caller));
        let wanted = [("A", "new"), ("B", "kept")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(env, Environment::all_of(wanted));
    }
}
