//! A working set of tools for agents that work on a project's files.
//!
//! | file | tools | offered |
//! |---|---|---|
//! | `toolbox/reading.rs` | `read_file` `list_files` | always |
//! | `toolbox/searching.rs` | `search` | always |
//! | `toolbox/editing.rs` | `edit_file` `write_file` | always; they want the agent's claim on the lines |
//! | `toolbox/running.rs` | `run_command` | where commands are allowed |
//! | `toolbox/fetching.rs` | `web_fetch` | where the web is allowed |
//! | `toolbox/mcp.rs` | those of an MCP server | with the feature `mcp` |
//! | `toolbox/typed.rs` | any function with typed arguments | |
//!
//! Always holds: a path stays inside the project, whatever links, `..` or absolute names say; nothing is changed on lines
//! that the agent does not hold; arguments that make no sense, refusals and failures are answers that a model can read and
//! that say what to do next. A change of a file happens whole inside one step of the agent's own task, so an agent that
//! was stopped changes nothing afterwards.
//!
//! Not here: which role may use what; whoever offers the tools asks the role, twice.

use std::path::PathBuf;
use std::sync::Arc;

use pitcrew_core::claim::FilePath;
use pitcrew_core::{Name, Refusal};
use pitcrew_store::Store;
use pitcrew_store::files::Workspace;

use crate::clock::{Clock, Entropy};
use crate::desk::{Desk, NotDone};
use crate::model::{Tool, ToolAnswer};

mod claimed;
mod editing;
mod fetching;
#[cfg(feature = "mcp")]
mod mcp;
mod reading;
mod running;
mod searching;
mod typed;

pub use fetching::{Reach, Web};
#[cfg(feature = "mcp")]
pub use mcp::{McpError, tools_of_program, tools_over};
pub use running::{Allowed, Commands};
pub use typed::typed;

/// What the tools work on, and what they may do.
#[derive(Clone)]
pub struct Toolbox {
    at: Arc<Bench>,
    commands: Commands,
    web: Web,
}

/// The project and its team.
pub(crate) struct Bench {
    team: Name,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    workspace: Workspace,
}

impl Toolbox {
    /// Tools for the agents of `team`, whose state is in `store`, on the files of `workspace`. Commands and the web are not
    /// allowed.
    #[must_use]
    pub fn new(
        team: Name,
        workspace: Workspace,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self {
            at: Arc::new(Bench {
                team,
                store,
                clock,
                entropy,
                workspace,
            }),
            commands: Commands::Refused,
            web: Web::Refused,
        }
    }

    /// The same, and commands as said.
    #[must_use]
    pub fn commands(self, commands: Commands) -> Self {
        Self { commands, ..self }
    }

    /// The same, and the web as said.
    #[must_use]
    pub fn web(self, web: Web) -> Self {
        Self { web, ..self }
    }

    /// The tools. Any number of agents may share them: a call says who calls.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let at = || Arc::clone(&self.at);
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(reading::read_file(at())),
            Arc::new(reading::list_files(at())),
            Arc::new(searching::search(at())),
            Arc::new(editing::edit_file(at())),
            Arc::new(editing::write_file(at())),
        ];
        if let Commands::Allowed(allowed) = &self.commands {
            tools.push(Arc::new(running::run_command(at(), allowed.clone())));
        }
        if let Web::Allowed(reach) = self.web {
            tools.push(Arc::new(fetching::web_fetch(at(), reach)));
        }
        tools
    }
}

impl Bench {
    fn desk(&self) -> Desk<'_> {
        Desk::new(&self.team, &*self.store, &*self.clock, &*self.entropy)
    }

    /// The file that a model names, from the project's root or absolute.
    fn file(&self, given: &str) -> Result<FilePath, NotDone> {
        let root: PathBuf = self.workspace.root().to_path_buf();
        Ok(self.workspace.file(given.as_ref(), &root)??)
    }

    /// The folder that a model names; `None` is the project.
    fn folder(&self, given: Option<&str>) -> Result<Option<FilePath>, NotDone> {
        match given.map(|given| given.trim().trim_end_matches('/')) {
            None | Some("" | ".") => Ok(None),
            Some(given) => Ok(Some(self.file(given)?)),
        }
    }
}

/// The answer to a call that was not done.
fn not_done(why: &NotDone) -> ToolAnswer {
    let next = match why {
        NotDone::Refused(Refusal::OutsideRoot { .. }) => {
            "name a file of the project, from its root"
        }
        NotDone::Refused(_) => "mend the arguments and call it again",
        NotDone::Failed(_) => "try once more; if it stays, tell your user",
    };
    let words = match why {
        NotDone::Refused(refusal) => refusal.to_string(),
        NotDone::Failed(crate::desk::Failure::Store(failure)) => failure.in_words(),
        NotDone::Failed(failure) => failure.to_string(),
    };
    ToolAnswer::refused(format!("Not done: {words}. Next: {next}."))
}

#[cfg(test)]
mod tests;
