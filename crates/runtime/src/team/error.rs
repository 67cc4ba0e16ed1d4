//! Why a request to a team was not done.

use pitcrew_core::{Name, Refusal};
use pitcrew_store::StoreFailure;

use crate::clock::EntropyError;
use crate::desk::{Failure, NotDone};

/// Why a request to a team was not done. Nothing of it stands, unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// An agent of this name runs already, or somebody else sits under it: `{:error, :already_exists}`.
    #[error("{name} is in the team already")]
    AlreadyExists {
        /// The name, as it is taken.
        name: String,
    },
    /// No agent has this name: `{:error, :not_found}`.
    #[error("no agent is called {name:?}")]
    NotFound {
        /// The name as given.
        name: String,
        /// The agents that there are.
        valid: Vec<String>,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// Lines are held by another: `{:error, :conflict}`. The refusal says who holds which, until when, and what next.
    #[error(transparent)]
    Conflict(Refusal),
    /// The money is spent: `{:error, :budget_exceeded}`.
    #[error(transparent)]
    BudgetExceeded(Refusal),
    /// Requests or tokens of this minute are used up: `{:error, :rate_limited}`. The refusal says when there is room.
    #[error(transparent)]
    RateLimited(Refusal),
    /// Any other expected "no", with its stable code.
    #[error(transparent)]
    Refused(Refusal),
    /// Something broke.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The team has ended.
    #[error("the team {team} has ended: {why}")]
    Closed {
        /// The team.
        team: Name,
        /// Why.
        why: String,
    },
    /// The Coordinator was started again while it was at this: look how things stand, then ask again.
    #[error("the coordinator of {team} was restarted meanwhile")]
    Interrupted {
        /// The team.
        team: Name,
    },
    /// The agent's code does not give way: it was shut out of the team and can change nothing any more, but its task
    /// still runs.
    #[error("{name} was shut out of the team, but its code does not end: it blocks its thread")]
    Blocked {
        /// The agent.
        name: Name,
    },
}

impl TeamError {
    /// The stable code that programs match on.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists { .. } => "already_exists",
            Self::NotFound { .. } => "not_found",
            Self::Conflict(_) => "conflict",
            Self::BudgetExceeded(_) => "budget_exceeded",
            Self::RateLimited(_) => "rate_limited",
            Self::Refused(refusal) => refusal.code(),
            Self::Failed(Failure::Store(failure)) => failure.code(),
            Self::Failed(Failure::Entropy(_)) => "no_entropy",
            Self::Closed { .. } => "closed",
            Self::Interrupted { .. } => "interrupted",
            Self::Blocked { .. } => "blocked",
        }
    }
}

impl From<Refusal> for TeamError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::MemberExists { member } => Self::AlreadyExists { name: member },
            Refusal::UnknownMember {
                given,
                valid,
                nearest,
                ..
            } => Self::NotFound {
                name: given,
                valid,
                nearest,
            },
            Refusal::ClaimConflict(_) => Self::Conflict(refusal),
            Refusal::BudgetExceeded(_) => Self::BudgetExceeded(refusal),
            Refusal::RateLimited(_) => Self::RateLimited(refusal),
            other => Self::Refused(other),
        }
    }
}

impl From<NotDone> for TeamError {
    fn from(not_done: NotDone) -> Self {
        match not_done {
            NotDone::Refused(refusal) => refusal.into(),
            NotDone::Failed(failure) => Self::Failed(failure),
        }
    }
}

impl From<StoreFailure> for TeamError {
    fn from(failure: StoreFailure) -> Self {
        Self::Failed(failure.into())
    }
}

impl From<EntropyError> for TeamError {
    fn from(failure: EntropyError) -> Self {
        Self::Failed(failure.into())
    }
}
