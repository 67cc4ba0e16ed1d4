//! What an agent, and every tool that it calls, knows of its team: the spec's injected deps, as handles that stay good
//! when the team's parts are started again.

use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_core::role::Role;

use super::comms::Comms;
use super::coordinator::Coordinator;
use super::rate_limiter::RateLimiter;
use super::shared_state::SharedState;

/// See the module.
#[derive(Clone)]
pub struct TeamDeps {
    /// The team.
    pub team_id: Name,
    /// Its name for people.
    pub team_name: Arc<str>,
    /// The agent's role, if it has one.
    pub team_role: Option<Arc<Role>>,
    /// The shared state.
    pub shared_state: SharedState,
    /// The limiter, where the team has limits.
    pub rate_limiter: Option<RateLimiter>,
    /// The Coordinator.
    pub team_coordinator: Coordinator,
    /// The topics.
    pub comms: Comms,
    /// The agent itself.
    pub agent_name: Name,
}
