//! A team inside a program: supervised agents that work the same problem together.
//!
//! ```
//! use pitcrew_runtime::model::ScriptedModel;
//! use pitcrew_runtime::team::{AgentSpec, Role, Team};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // 1. Start the team. Any limit switches the limiter on.
//! let team = Team::builder("team_1")
//!     .team_name("Research Team")
//!     .budget(10.0)
//!     .rpm(60)
//!     .tpm(100_000)
//!     .start()
//!     .await?;
//!
//! // 2. Drive it through its Coordinator, also by the name that the spec derives.
//! let coordinator = team.registry().coordinator("team_coordinator_team_1").expect("it runs");
//!
//! // 3. Spawn agents. Any `Model` will do; this one plays a part.
//! let model = ScriptedModel::new().say("I have found it.");
//! let alice = coordinator
//!     .spawn_agent("alice", AgentSpec::new(model.clone())
//!         .instructions("Research specialist")
//!         .role(Role::researcher()))
//!     .await?;
//! coordinator
//!     .spawn_agent("bob", AgentSpec::new(ScriptedModel::new()).role(Role::coder()))
//!     .await?;
//! assert_eq!(alice.ask("Where is the bug?").await?.text, "I have found it.");
//!
//! // 4. Inspect.
//! let status = coordinator.team_status().await?;
//! assert_eq!((status.team_name.as_str(), status.agent_count), ("Research Team", 2));
//!
//! // 5. Tear down.
//! coordinator.stop_agent("bob").await?;
//! coordinator.dissolve().await?;
//! team.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! | part | what it is | file |
//! |---|---|---|
//! | [`Team`], [`TeamBuilder`] | one handle of all of it | `team/builder.rs` |
//! | [`Coordinator`] | spawns, stops, lists, restarts, explains, dissolves; sees every end | `team/coordinator.rs` |
//! | [`Agent`], [`AgentSpec`] | an agent and what it is made of | `team/agent.rs` |
//! | [`SharedState`] | findings and claims | `team/shared_state.rs` |
//! | [`RateLimiter`] | what may be spent and how fast | `team/rate_limiter.rs` |
//! | [`Comms`], [`Bus`] | topics, and who hears what | `team/comms.rs` |
//! | [`Registry`] | parts by the spec's derived names | `team/registry.rs` |
//! | supervision | parts start in order, the Coordinator last, and again together | `team/supervision.rs` |
//!
//! State is in the store: a team in a program and `pitcrew team status` on the same folder see one another
//! ([`TeamBuilder::project`]), messages from a shell reach agents, and a program that starts again goes on.
//!
//! # What the spec calls gotchas, and what became of them
//!
//! | gotcha | here |
//! |---|---|
//! | no budget, no limiter | any of budget, member budget, rpm and tpm switches it on |
//! | the dollar budget can overshoot | a call sets its estimated cost aside; with a price the ceiling is hard |
//! | the Coordinator is addressed by a derived name | [`Team`] has it; the name works too |
//! | deps hold names that may be dead | handles, which stay good over every restart |
//! | `dissolve` keeps the Coordinator alive | so it does here; [`Team::shutdown`] ends all |
//! | region overlap is inclusive, per file | the same, on canonical paths, and a conflict says who and until when |
//! | claims and findings are ephemeral | they are in the store; a claim ends by release, deadline or with its holder |
//! | duplicate names are rejected | the same, in any case of letters and across processes |

use std::sync::{Arc, OnceLock};

use pitcrew_core::Name;
pub use pitcrew_core::limiter::ReservationId;
use pitcrew_core::mailbox::{Body, Draft};
pub use pitcrew_core::price::Micros;
pub use pitcrew_core::restart::{Policy, When};
pub use pitcrew_core::role::Role;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

mod agent;
mod builder;
mod bus;
mod comms;
mod coordinator;
mod deps;
mod error;
mod fence;
mod happening;
mod home;
mod keeping;
mod lifeline;
mod publisher;
mod rate_limiter;
mod registry;
mod routed;
mod shared_state;
mod supervision;
mod watching;

pub use crate::desk::Finding;
pub use agent::{
    Activity, Agent, AgentSpec, Emitted, Output, Report, Retry, RunEnd, Start, Status, Wakes,
};
pub use builder::TeamBuilder;
pub use bus::{Bus, Listening};
pub use comms::Comms;
pub use coordinator::{AgentInfo, Coordinator, Explanation, TeamStatus};
pub use deps::TeamDeps;
pub use error::TeamError;
pub use happening::Happening;
pub use rate_limiter::{AgentUsage, LimiterStatus, RateLimiter, Used};
pub use registry::{Registered, Registry};
pub use shared_state::SharedState;

use crate::desk::{Credentials, Desk, Sent};
use home::Home;
use lifeline::Lifeline;
use routed::Bells;

/// A team. A clone is the same team; it ends when the last is dropped, or by [`Team::shutdown`].
#[derive(Clone)]
pub struct Team(Arc<Inner>);

/// The parts of a team, shared by its handles.
pub(crate) struct Inner {
    home: Home,
    coordinator: Coordinator,
    shared_state: SharedState,
    limiter: Option<RateLimiter>,
    comms: Comms,
    bells: Arc<Bells>,
    registry: Registry,
    lifeline: Arc<Lifeline>,
    token: CancellationToken,
    _stop: DropGuard,
    stopped: OnceLock<Mutex<Option<JoinHandle<()>>>>,
}

impl Team {
    /// A team to be, called `team_id`.
    pub fn builder(team_id: &str) -> TeamBuilder {
        TeamBuilder::new(team_id)
    }

    fn of(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    /// Its id.
    #[must_use]
    pub fn team_id(&self) -> &Name {
        self.0.home.team()
    }

    /// Its Coordinator.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.0.coordinator
    }

    /// Its findings and claims.
    #[must_use]
    pub fn shared_state(&self) -> &SharedState {
        &self.0.shared_state
    }

    /// Its limiter, if it has any limit.
    #[must_use]
    pub fn rate_limiter(&self) -> Option<&RateLimiter> {
        self.0.limiter.as_ref()
    }

    /// Its topics.
    #[must_use]
    pub fn comms(&self) -> &Comms {
        &self.0.comms
    }

    /// The registry in which its names are.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Writes to a member as the leader.
    ///
    /// # Errors
    /// `unknown_recipient` with the names that there are; what a message can be refused for.
    pub async fn send(&self, to: &str, body: impl Into<Body>) -> Result<Sent, TeamError> {
        let (to, draft) = (to.to_string(), Draft::text(body));
        let sent = self
            .0
            .home
            .ask(move |desk| desk.send(&Credentials::default(), &to, &draft));
        Ok(sent.await?)
    }

    /// Takes a step at the team's desk: everything that a team can be asked, such as its tasks.
    pub async fn at_desk<A: Send + 'static>(
        &self,
        step: impl FnOnce(&Desk<'_>) -> A + Send + 'static,
    ) -> A {
        self.0.home.ask(step).await
    }

    /// What follows from something that happened and could not be written, in words, since somebody last asked.
    #[must_use]
    pub fn take_undone(&self) -> Vec<String> {
        self.0.home.unsaid().take_undone()
    }

    /// Waits until the team has ended by itself or otherwise, and answers why.
    pub async fn ended(&self) -> String {
        self.0.lifeline.ended().await;
        self.0.lifeline.why().unwrap_or_default()
    }

    /// Ends every agent, then the team's parts. What is in the store stays, and a team of this id goes on with it.
    ///
    /// # Errors
    /// When what agents held cannot be given back; the parts have ended all the same.
    pub async fn shutdown(&self) -> Result<(), TeamError> {
        let dissolved = match self.0.lifeline.why() {
            None => self.0.coordinator.dissolve().await,
            Some(_) => Ok(()),
        };
        self.0.token.cancel();
        if let Some(stopped) = self.0.stopped.get()
            && let Some(supervisor) = stopped.lock().await.take()
        {
            // A supervisor does not panic; were it to, the team has ended as well.
            let _ = supervisor.await;
        }
        self.0.lifeline.ended().await;
        dissolved
    }

    fn registered_agent(&self, name: &str) -> Option<Agent> {
        let cell = self.0.bells.find(&publisher::member(name)?)?;
        let (home, comms) = (self.0.home.clone(), self.0.comms.clone());
        Some(Agent::new(cell, home, comms))
    }
}
