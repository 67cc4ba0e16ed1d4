//! What an agent is made of.

use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::restart::{Policy, When};
use pitcrew_core::role::{MAX_ITERATIONS, Role};

use crate::model::{Model, Tool};

/// What an agent is made of. A clone costs nothing, so one may be used for thousands of agents.
#[derive(Clone)]
#[must_use]
pub struct AgentSpec(Arc<Made>);

#[derive(Clone)]
struct Made {
    model: Arc<dyn Model>,
    instructions: Arc<str>,
    role: Option<Arc<Role>>,
    tools: Vec<Arc<dyn Tool>>,
    policy: Policy,
    start: Start,
    wakes: Wakes,
    call_limit: Duration,
    retry: Retry,
}

/// With which history an agent begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With none, unless its program ended without ending it: then where it stopped.
    #[default]
    Anew,
    /// Where the last agent of its name stopped, also if that was told to.
    WhereItStopped,
}

/// What begins a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wakes {
    /// Its user, and mail that wants an answer.
    #[default]
    OnMail,
    /// Its user alone; mail is shown in whatever call comes next.
    OnUser,
}

/// How a model call that failed for now is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often in a row, before the run ends.
    pub most: u32,
    /// The first wait; it doubles with each further one. A provider that says how long to wait is waited for so long.
    pub first: Duration,
    /// No wait of ours is longer.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            most: 6,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
        }
    }
}

impl AgentSpec {
    /// An agent around this model, without a role, without tools but the team's.
    pub fn new(model: impl Model + 'static) -> Self {
        Self::shared(Arc::new(model))
    }

    /// As [`AgentSpec::new`], around a model that others use too.
    pub fn shared(model: Arc<dyn Model>) -> Self {
        Self(Arc::new(Made {
            model,
            instructions: "".into(),
            role: None,
            tools: Vec::new(),
            policy: Policy {
                when: When::AfterFailure,
                first_ms: 100,
                longest_ms: 10_000,
                most: 3,
                within_ms: 5_000,
                settle_ms: 60_000,
            },
            start: Start::default(),
            wakes: Wakes::default(),
            call_limit: Duration::from_secs(600),
            retry: Retry::default(),
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Made)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// What it is told beside its role.
    pub fn instructions(self, text: &str) -> Self {
        self.with(|made| made.instructions = text.into())
    }

    /// Its role: a prompt, which tools it may use, and how many model calls one run may have.
    pub fn role(self, role: Role) -> Self {
        self.with(|made| made.role = Some(Arc::new(role)))
    }

    /// One more tool.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.with(|made| made.tools.push(Arc::new(tool)))
    }

    /// More tools.
    pub fn tools(self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.with(|made| made.tools.extend(tools))
    }

    /// When it is started again after a crash; after each, at most three times within five seconds, if not said.
    pub fn restart(self, policy: Policy) -> Self {
        self.with(|made| made.policy = policy)
    }

    /// With which history it begins.
    pub fn start(self, start: Start) -> Self {
        self.with(|made| made.start = start)
    }

    /// What begins a run.
    pub fn wakes(self, wakes: Wakes) -> Self {
        self.with(|made| made.wakes = wakes)
    }

    /// How long one model call may take; ten minutes if not said.
    pub fn call_limit(self, limit: Duration) -> Self {
        self.with(|made| made.call_limit = limit)
    }

    /// How a model call that failed for now is made again.
    pub fn retry(self, retry: Retry) -> Self {
        self.with(|made| made.retry = retry)
    }

    pub(crate) fn model(&self) -> &Arc<dyn Model> {
        &self.0.model
    }

    pub(crate) fn model_name(&self) -> &str {
        self.0.model.name()
    }

    pub(crate) fn told(&self) -> &str {
        &self.0.instructions
    }

    pub(crate) fn its_role(&self) -> Option<&Arc<Role>> {
        self.0.role.as_ref()
    }

    pub(crate) fn role_name(&self) -> &str {
        self.0.role.as_ref().map_or("", |role| &role.name)
    }

    pub(crate) fn max_iterations(&self) -> u32 {
        let role = self.0.role.as_ref();
        role.map_or(MAX_ITERATIONS, |role| role.max_iterations)
    }

    /// Whether its role lets it use a tool.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        self.0.role.as_ref().is_none_or(|role| role.allows(tool))
    }

    pub(crate) fn own_tools(&self) -> &[Arc<dyn Tool>] {
        &self.0.tools
    }

    pub(crate) fn policy(&self) -> Policy {
        self.0.policy
    }

    pub(crate) fn start_of(&self) -> Start {
        self.0.start
    }

    pub(crate) fn woken_by(&self) -> Wakes {
        self.0.wakes
    }

    pub(crate) fn time_of_call(&self) -> Duration {
        self.0.call_limit
    }

    pub(crate) fn retries(&self) -> Retry {
        self.0.retry
    }
}
