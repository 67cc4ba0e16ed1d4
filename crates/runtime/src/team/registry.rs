//! The registry: the parts of teams by the names that the spec derives from a team's id, beside their handles.
//!
//! | name | what it is |
//! |---|---|
//! | `team_agent_sup_<id>` | the team's agents |
//! | `team_shared_state_<id>` | [`SharedState`] |
//! | `team_rate_limiter_<id>` | [`RateLimiter`], where the team has limits |
//! | `team_coordinator_<id>` | [`Coordinator`] |
//! | `team:<id>:<name>` | an agent: its session id |
//!
//! Several teams may share one registry. A name is there as long as its team is; a program that has the
//! [`Team`](super::Team) itself needs no names.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use pitcrew_core::Name;

use super::agent::Agent;
use super::coordinator::Coordinator;
use super::error::TeamError;
use super::rate_limiter::RateLimiter;
use super::shared_state::SharedState;
use super::{Inner, Team};

/// Teams by their names. A clone is the same registry.
#[derive(Clone, Default)]
pub struct Registry {
    teams: Arc<RwLock<HashMap<Name, Weak<Inner>>>>,
}

/// What stands behind a registered name.
#[derive(Clone)]
pub enum Registered {
    /// The team's agents, by way of its Coordinator.
    AgentSupervisor(Coordinator),
    /// The shared state.
    SharedState(SharedState),
    /// The limiter.
    RateLimiter(RateLimiter),
    /// The Coordinator.
    Coordinator(Coordinator),
    /// One agent.
    Agent(Agent),
}

impl Registry {
    /// A registry without teams.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a team.
    ///
    /// # Errors
    /// [`TeamError::AlreadyExists`] when a team of that id is in it.
    pub(super) fn enter(&self, name: &Name, inner: &Arc<Inner>) -> Result<(), TeamError> {
        let mut teams = self.teams.write().unwrap_or_else(PoisonError::into_inner);
        let lives = |team: &Weak<Inner>| {
            team.upgrade()
                .is_some_and(|team| team.lifeline.why().is_none())
        };
        if teams.get(name).is_some_and(lives) {
            let name = name.to_string();
            return Err(TeamError::AlreadyExists { name });
        }
        teams.insert(name.clone(), Arc::downgrade(inner));
        Ok(())
    }

    /// The team called `team_id`.
    #[must_use]
    pub fn team(&self, team_id: &str) -> Option<Team> {
        let teams = self.teams.read().unwrap_or_else(PoisonError::into_inner);
        let found = teams.iter().find(|(name, _)| name.as_str() == team_id);
        let inner = found.and_then(|(_, inner)| inner.upgrade())?;
        inner.lifeline.why().is_none().then(|| Team::of(inner))
    }

    /// What is registered under `name`.
    #[must_use]
    pub fn whereis(&self, name: &str) -> Option<Registered> {
        if let Some(session) = name.strip_prefix("team:") {
            let (team, agent) = session.split_once(':')?;
            return self
                .team(team)?
                .registered_agent(agent)
                .map(Registered::Agent);
        }
        let part = |prefix: &str| name.strip_prefix(prefix).and_then(|id| self.team(id));
        if let Some(team) = part("team_agent_sup_") {
            return Some(Registered::AgentSupervisor(team.coordinator().clone()));
        }
        if let Some(team) = part("team_shared_state_") {
            return Some(Registered::SharedState(team.shared_state().clone()));
        }
        if let Some(team) = part("team_rate_limiter_") {
            return team.rate_limiter().cloned().map(Registered::RateLimiter);
        }
        let team = part("team_coordinator_")?;
        Some(Registered::Coordinator(team.coordinator().clone()))
    }

    /// The Coordinator called `name`, such as `team_coordinator_team_1`.
    #[must_use]
    pub fn coordinator(&self, name: &str) -> Option<Coordinator> {
        match self.whereis(name)? {
            Registered::Coordinator(coordinator) => Some(coordinator),
            _ => None,
        }
    }
}
