//! How an agent is, what came of its runs, and what it puts out while it works.

use pitcrew_core::Name;

/// What came of one run: from what woke the agent to its last word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub end: RunEnd,
    /// What the agent said last; empty when it said nothing.
    pub text: String,
    /// How many model calls there were, those that failed not counted.
    pub iterations: u32,
}

/// How a run ended, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// The model has said all that it wanted.
    Answered,
    /// The role's limit of model calls in one run was reached; the model wanted to go on.
    MaxIterations {
        /// The limit.
        limit: u32,
    },
    /// A new message of the user came; what was said up to then is kept, and the next run goes on with both.
    Interrupted,
    /// Somebody cancelled it.
    Cancelled,
    /// The provider refused or failed for good, in words.
    ModelFailed {
        /// Why.
        why: String,
    },
    /// The limits of the team do not allow another call, and time alone will not change that.
    LimitReached {
        /// The code of the refusal.
        code: String,
        /// The refusal in words.
        why: String,
    },
    /// The agent ended before the run did: it was stopped, crashed or its team ended.
    AgentEnded,
}

impl RunEnd {
    /// The word for it, for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::MaxIterations { .. } => "max_iterations",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::ModelFailed { .. } => "model_failed",
            Self::LimitReached { .. } => "limit_reached",
            Self::AgentEnded => "agent_ended",
        }
    }

    /// Whether what the run was for is not done, for reasons that may pass.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::ModelFailed { .. } | Self::LimitReached { .. })
    }
}

/// What an agent does at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Activity {
    /// It is being started.
    #[default]
    Starting,
    /// It waits for a message.
    Idle,
    /// Its model is being called.
    Thinking,
    /// It runs tools.
    UsingTools {
        /// Their names.
        names: Vec<String>,
    },
    /// It waits before it calls its model again.
    Waiting {
        /// Why: a limit of the team, or a provider that said no for now.
        why: String,
        /// For how long, in milliseconds.
        for_ms: u64,
    },
    /// It crashed and is started again then.
    Restarting {
        /// In monotonic milliseconds of the team's clock.
        at_ms: i64,
        /// Why it crashed.
        why: String,
    },
    /// It crashed too often and stays down.
    Failed {
        /// Why.
        why: String,
    },
    /// It has ended.
    Ended,
}

impl Activity {
    /// The spec's word: whether it runs.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Starting
            | Self::Idle
            | Self::Thinking
            | Self::UsingTools { .. }
            | Self::Waiting { .. } => Status::Running,
            Self::Restarting { .. } | Self::Failed { .. } | Self::Ended => Status::Stopped,
        }
    }
}

/// Whether an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Its task runs.
    Running,
    /// It has none: it crashed and waits to be started again, or stays down.
    Stopped,
}

/// One thing that an agent puts out. Together they are what an observer of its work sees, each once.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Whose.
    pub agent: Name,
    /// What.
    pub what: Emitted,
}

/// What an agent puts out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Emitted {
    /// It does something else now.
    Status(Activity),
    /// A piece of text, as the model writes it.
    Delta(String),
    /// The model wants a tool to be run.
    ToolCalled {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
    },
    /// A tool has answered.
    ToolAnswered {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// Whether it did what it was called for.
        ok: bool,
    },
    /// A model call that failed is made again after a while.
    Retrying {
        /// Why it failed.
        why: String,
        /// After so many milliseconds.
        after_ms: u64,
    },
    /// A run has ended.
    RunEnded(Report),
}
