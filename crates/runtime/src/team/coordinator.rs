//! The Coordinator: spawns, stops, lists and restarts a team's agents, sees every end of one, and dissolves the team.
//!
//! | request | answer | event on the team's topic |
//! |---|---|---|
//! | [`Coordinator::spawn_agent`] | the agent, or [`TeamError::AlreadyExists`] | `agent_joined` |
//! | [`Coordinator::stop_agent`] | nothing, or [`TeamError::NotFound`] | `agent_left` |
//! | [`Coordinator::restart_agent`] | the agent, or [`TeamError::NotFound`] | `agent_left`, `agent_joined` |
//! | [`Coordinator::list_agents`], [`Coordinator::team_status`], [`Coordinator::explain`] | how things stand | |
//! | [`Coordinator::dissolve`] | nothing; the team stays open | `team_dissolved` |
//! | an agent ends by itself | | `agent_left` |
//! | an agent crashes | it is started again as its policy says | `agent_crashed` with the reason |
//!
//! Always holds: when a stop answers, the agent does nothing more, and its claims and reservations are gone; an end that
//! nobody asked for is seen, whatever it came from. A handle stays good when the Coordinator itself is started again.

use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_core::restart::{Standing, Wanted};
use tokio::sync::{mpsc, oneshot};

use super::agent::{Activity, Agent, AgentSpec, Status};
use super::error::TeamError;
use super::lifeline::Lifeline;

mod actor;
mod ending;
mod roll;

pub(crate) use actor::{Office, run};
pub(crate) use roll::Roll;

/// How many requests wait before whoever asks waits too.
pub(crate) const QUEUE: usize = 1_024;

/// One agent in a list.
#[derive(Debug, Clone)]
pub struct AgentInfo {
    /// Its name.
    pub name: Name,
    /// Whether it runs.
    pub status: Status,
    /// What it does.
    pub activity: Activity,
    /// Its handle.
    pub agent: Agent,
}

/// How a team stands.
#[derive(Debug, Clone)]
pub struct TeamStatus {
    /// The team.
    pub team_id: Name,
    /// Its name for people.
    pub team_name: String,
    /// How many agents it has in this process.
    pub agent_count: usize,
    /// They, by name.
    pub agents: Vec<AgentInfo>,
}

/// Why an agent runs or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The agent.
    pub name: Name,
    /// What is wanted of it.
    pub wanted: Wanted,
    /// What was observed, by the monotonic clock of the team.
    pub standing: Standing,
    /// What it does.
    pub activity: Activity,
    /// Why it ended last, if it ever did.
    pub last_end: Option<String>,
    /// All of it in one sentence.
    pub why: String,
}

pub(crate) type Reply<A> = oneshot::Sender<Result<A, TeamError>>;

/// What the Coordinator is asked.
pub(crate) enum Request {
    Spawn(
        Vec<(String, AgentSpec)>,
        oneshot::Sender<Vec<Result<Agent, TeamError>>>,
    ),
    Stop(Vec<String>, oneshot::Sender<Vec<Result<(), TeamError>>>),
    Restart(String, Reply<Agent>),
    Kill(String, String, Reply<()>),
    List(Reply<Vec<AgentInfo>>),
    Find(String, Reply<Agent>),
    Explain(String, Reply<Explanation>),
    Dissolve(Reply<()>),
}

/// The handle. A clone is the same Coordinator.
#[derive(Clone)]
pub struct Coordinator {
    team: Name,
    team_name: Arc<str>,
    requests: mpsc::Sender<Request>,
    lifeline: Arc<Lifeline>,
}

impl Coordinator {
    pub(crate) fn new(
        team: Name,
        team_name: Arc<str>,
        requests: mpsc::Sender<Request>,
        lifeline: Arc<Lifeline>,
    ) -> Self {
        Self {
            team,
            team_name,
            requests,
            lifeline,
        }
    }

    /// Starts an agent under `name`.
    ///
    /// # Errors
    /// [`TeamError::AlreadyExists`] when one of that name runs, in whichever process and in any case of letters;
    /// `invalid_name`, `shut_down`.
    pub async fn spawn_agent(&self, name: &str, spec: AgentSpec) -> Result<Agent, TeamError> {
        let mut answers = self.spawn_agents(vec![(name.to_string(), spec)]).await?;
        answers.pop().unwrap_or_else(|| Err(self.interrupted()))
    }

    /// Starts many agents in one step; each is answered for by itself, in order.
    ///
    /// # Errors
    /// When none could be tried.
    pub async fn spawn_agents(
        &self,
        agents: Vec<(String, AgentSpec)>,
    ) -> Result<Vec<Result<Agent, TeamError>>, TeamError> {
        self.ask_plainly(|reply| Request::Spawn(agents, reply))
            .await
    }

    /// Ends an agent and takes it out of the team. When this answers, nothing of it runs or moves, its claims and
    /// reservations are gone, its tasks are pending again, and its name is free.
    ///
    /// # Errors
    /// [`TeamError::NotFound`]; [`TeamError::Blocked`] for one whose code does not give way.
    pub async fn stop_agent(&self, name: &str) -> Result<(), TeamError> {
        let mut answers = self.stop_agents(vec![name.to_string()]).await?;
        answers.pop().unwrap_or_else(|| Err(self.interrupted()))
    }

    /// Ends many agents in one step; each is answered for by itself, in order.
    ///
    /// # Errors
    /// When none could be tried.
    pub async fn stop_agents(
        &self,
        names: Vec<String>,
    ) -> Result<Vec<Result<(), TeamError>>, TeamError> {
        self.ask_plainly(|reply| Request::Stop(names, reply)).await
    }

    /// Ends an agent's life and begins its next at once, with its history and its inbox. One that was given up after too
    /// many crashes begins anew.
    ///
    /// # Errors
    /// As [`Coordinator::stop_agent`].
    pub async fn restart_agent(&self, name: &str) -> Result<Agent, TeamError> {
        self.ask(|reply| Request::Restart(name.to_string(), reply))
            .await
    }

    /// Ends an agent's life as a crash with this reason, wherever it is: its policy says what follows. For trying out what
    /// a team does then, and for an agent that has run wild.
    ///
    /// # Errors
    /// As [`Coordinator::stop_agent`].
    pub async fn kill_agent(&self, name: &str, reason: &str) -> Result<(), TeamError> {
        let (name, reason) = (name.to_string(), reason.to_string());
        self.ask(|reply| Request::Kill(name, reason, reply)).await
    }

    /// The agents of this process, by name.
    ///
    /// # Errors
    /// [`TeamError::Closed`].
    pub async fn list_agents(&self) -> Result<Vec<AgentInfo>, TeamError> {
        self.ask(Request::List).await
    }

    /// The agent called `name`.
    ///
    /// # Errors
    /// [`TeamError::NotFound`].
    pub async fn agent(&self, name: &str) -> Result<Agent, TeamError> {
        self.ask(|reply| Request::Find(name.to_string(), reply))
            .await
    }

    /// The team and its agents.
    ///
    /// # Errors
    /// [`TeamError::Closed`].
    pub async fn team_status(&self) -> Result<TeamStatus, TeamError> {
        let agents = self.list_agents().await?;
        Ok(TeamStatus {
            team_id: self.team.clone(),
            team_name: self.team_name.to_string(),
            agent_count: agents.len(),
            agents,
        })
    }

    /// Why an agent runs or does not: what is wanted, what was observed, and what follows.
    ///
    /// # Errors
    /// [`TeamError::NotFound`].
    pub async fn explain(&self, name: &str) -> Result<Explanation, TeamError> {
        self.ask(|reply| Request::Explain(name.to_string(), reply))
            .await
    }

    /// Ends every agent and takes it out of the team, which stays open: agents can be spawned again.
    ///
    /// # Errors
    /// When what they held cannot be given back.
    pub async fn dissolve(&self) -> Result<(), TeamError> {
        self.ask(Request::Dissolve).await
    }

    async fn ask<A>(&self, request: impl FnOnce(Reply<A>) -> Request) -> Result<A, TeamError> {
        self.ask_plainly(request).await?
    }

    async fn ask_plainly<A>(
        &self,
        request: impl FnOnce(oneshot::Sender<A>) -> Request,
    ) -> Result<A, TeamError> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            self.requests.send(request(reply)).await.ok()?;
            answer.await.ok()
        };
        tokio::select! {
            biased;
            answered = asked => answered.ok_or_else(|| self.interrupted()),
            () = self.lifeline.ended() => Err(self.interrupted()),
        }
    }

    /// Why nobody answered.
    fn interrupted(&self) -> TeamError {
        let team = self.team.clone();
        match self.lifeline.why() {
            Some(why) => TeamError::Closed { team, why },
            None => TeamError::Interrupted { team },
        }
    }
}
