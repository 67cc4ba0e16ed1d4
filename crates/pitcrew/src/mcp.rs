//! The team's tools over the Model Context Protocol: one server for one member.
//!
//! | file | what |
//! |---|---|
//! | `mcp/server.rs` | tools, resources and subscriptions of one member |
//! | `mcp/notices.rs` | what a client is told when the team changes |
//! | `mcp/stdio.rs` | the server on standard input and output |
//! | `mcp/http.rs` | the servers of all members on loopback, one door for all |
//! | `mcp/door.rs` | who may come in there |
//!
//! Always holds: every call asks anew who the member is; nothing but the protocol is written to standard output while it
//! is the transport; the async runtime starts in this command only. What tools do is not here: see
//! `pitcrew_runtime::tools`.

use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_runtime::clock::{SystemClock, SystemEntropy};
use pitcrew_runtime::desk::Credentials;
use pitcrew_runtime::tools::{Changes, Files, TeamTools};
use pitcrew_store::files::Workspace;
use pitcrew_store::{LocalStore, Project};

use crate::halt::Halt;

mod door;
mod http;
mod notices;
mod server;
mod stdio;

pub(crate) use http::serve_all;
pub(crate) use stdio::serve_one;

/// The team that is served.
#[derive(Clone)]
pub(crate) struct Served {
    team: Name,
    store: Arc<LocalStore>,
    files: Files,
}

impl Served {
    /// The team called `team` of `project`.
    pub(crate) fn of(project: &Project, team: Name, store: LocalStore) -> Result<Self, Halt> {
        Ok(Self {
            team,
            store: Arc::new(store),
            files: Files::Of {
                workspace: Workspace::of(project)?,
                root: project.root().to_path_buf(),
            },
        })
    }

    /// The tools of the member that `who` proves or names.
    fn tools(&self, who: Credentials) -> TeamTools {
        TeamTools::for_member(
            self.team.clone(),
            who,
            self.store.clone(),
            Arc::new(SystemClock),
            Arc::new(SystemEntropy),
            self.files.clone(),
        )
    }

    /// What changes in the team from now on.
    fn changes(&self) -> Result<Changes, Halt> {
        Ok(Changes::of(&*self.store)?)
    }
}

/// The async runtime of a server: one thread, and those on which calls to the store sit.
fn runtime() -> Result<tokio::runtime::Runtime, Halt> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|refused| Halt::System {
            what: "start the server",
            why: refused.to_string(),
        })
}
