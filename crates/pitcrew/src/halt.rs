//! Why a command ends without an answer of its own, and with which exit status.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | refused: an expected no, nothing was changed |
//! | 2 | the command line cannot be understood |
//! | 3 | failed: something broke |
//! | 4 | the time ran out while waiting |
//! | 5 | the run ended, and not everything in it succeeded |
//! | 130 | interrupted |

use pitcrew_core::Refusal;
use pitcrew_runtime::desk::{Failure, NotDone};
use pitcrew_store::StoreFailure;

/// An exit status of the table above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Refused.
    Refused = 1,
    /// Not understood.
    Usage = 2,
    /// Broken.
    Failed = 3,
    /// Out of time.
    TimedOut = 4,
    /// The run ended with failures.
    RunFailed = 5,
    /// Interrupted.
    Interrupted = 130,
}

/// A command that ends without an answer of its own.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The expected no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something broke.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The command line is understood by clap but makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Reading what the user named did not work.
    #[error("{what}: {why}")]
    Input {
        /// What was read.
        what: String,
        /// Why it could not be.
        why: String,
    },
}

impl Halt {
    /// The exit status.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Refused(_) => Exit::Refused,
            Self::Failed(_) => Exit::Failed,
            Self::Usage(_) | Self::Input { .. } => Exit::Usage,
        }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Failed(Failure::Store(failure)) => failure.code(),
            Self::Failed(Failure::Entropy(_)) => "no_entropy",
            Self::Usage(_) => "usage",
            Self::Input { .. } => "unreadable_input",
        }
    }

    /// The message with its causes.
    pub fn message(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let said = error.to_string();
            if !text.contains(&said) {
                text = format!("{text}: {said}");
            }
            cause = error.source();
        }
        text
    }
}

impl From<NotDone> for Halt {
    fn from(not_done: NotDone) -> Self {
        match not_done {
            NotDone::Refused(refusal) => Self::Refused(refusal),
            NotDone::Failed(failure) => Self::Failed(failure),
        }
    }
}

impl From<StoreFailure> for Halt {
    fn from(failure: StoreFailure) -> Self {
        Self::Failed(failure.into())
    }
}
