//! An agent of a team: a loop around a model, with an inbox, a history, tools and a role.
//!
//! | part | what it does |
//! |---|---|
//! | [`AgentSpec`] | what an agent is made of |
//! | [`Agent`] | the handle: tell it something, ask it, cancel its run, look at it |
//! | `agent/server.rs` | one life: waits, runs, ends |
//! | `agent/run.rs` | one run: model calls and tools until there is an answer |
//! | `agent/input.rs` | what a call shows beside the history: unread mail and findings |
//! | `agent/calls.rs` | tools: offered by role, run side by side |
//! | `agent/limits.rs` | what a call sets aside and settles |
//! | `agent/history.rs` | the conversation, in the store |
//! | `agent/inbox.rs` | what reaches it, bounded |
//!
//! Always holds: mail and findings are in the next model call's input, and count as read only once that call has
//! succeeded; a new message of the user ends the present run and loses nothing of it; an agent that waits uses no
//! processor, however long: a member of a team has no time-out.

use std::fmt;
use std::sync::Arc;

use pitcrew_core::Name;
use tokio::sync::oneshot;

use super::bus::Listening;
use super::comms::Comms;
use super::error::TeamError;
use super::home::Home;
use crate::desk::NotDone;
use crate::model::Turn;

mod calls;
mod cell;
pub(crate) mod history;
mod inbox;
mod input;
mod limits;
mod report;
mod run;
mod server;
mod spec;

pub(crate) use cell::Cell;
pub use report::{Activity, Emitted, Output, Report, RunEnd, Status};
pub(crate) use server::{Exit, Post, Server};
pub use spec::{AgentSpec, Retry, Start, Wakes};

use inbox::Told;

/// The handle of an agent. It stays good through all its lives; a clone is the same agent.
#[derive(Clone)]
pub struct Agent {
    cell: Arc<Cell>,
    home: Home,
    comms: Comms,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Agent").field(&self.session_id()).finish()
    }
}

impl Agent {
    pub(crate) fn new(cell: Arc<Cell>, home: Home, comms: Comms) -> Self {
        Self { cell, home, comms }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.cell.name
    }

    /// `team:<team_id>:<name>`.
    #[must_use]
    pub fn session_id(&self) -> String {
        format!("team:{}:{}", self.home.team(), self.cell.name)
    }

    /// What it does at the moment.
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.cell.activity()
    }

    /// Whether it runs.
    #[must_use]
    pub fn status(&self) -> Status {
        self.activity().status()
    }

    /// Tells it something as its user. A run that goes on ends, and the next one knows both. Waits while too many
    /// messages of users wait already.
    ///
    /// # Errors
    /// [`TeamError::NotFound`] when it has ended for good.
    pub async fn tell(&self, text: impl Into<String>) -> Result<(), TeamError> {
        self.put(text.into(), None).await
    }

    /// Tells it something as its user, and waits for what comes of it. When a further message interrupts that, the
    /// answer says so; the next run answers both.
    ///
    /// # Errors
    /// As [`Agent::tell`].
    pub async fn ask(&self, text: impl Into<String>) -> Result<Report, TeamError> {
        let (answer, report) = oneshot::channel();
        self.put(text.into(), Some(answer)).await?;
        Ok(report.await.unwrap_or(Report {
            end: RunEnd::AgentEnded,
            text: String::new(),
            iterations: 0,
        }))
    }

    async fn put(
        &self,
        text: String,
        answer: Option<oneshot::Sender<Report>>,
    ) -> Result<(), TeamError> {
        let told = Told { text, answer };
        self.cell
            .inbox
            .tell(told)
            .await
            .map_err(|_| TeamError::NotFound {
                name: self.cell.name.to_string(),
                valid: Vec::new(),
                nearest: None,
            })
    }

    /// Ends its present run, if it has one. What was said up to then is kept, and unread mail stays unread.
    pub fn cancel(&self) {
        self.cell.inbox.cancel();
    }

    /// Lets it end once its present run has: then it has left the team.
    pub fn finish(&self) {
        self.cell.inbox.finish();
    }

    /// Listens to what it puts out from now on.
    #[must_use]
    pub fn subscribe(&self) -> Listening {
        self.comms.subscribe_output(self.cell.name.as_str())
    }

    /// Its conversation as it is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn history(&self) -> Result<Vec<Turn>, TeamError> {
        let name = self.cell.name.clone();
        let kept = self.home.ask(move |desk| {
            let history = history::load(desk, &name, Start::WhereItStopped)?;
            Ok::<_, NotDone>(history.turns)
        });
        Ok(kept.await?)
    }
}
