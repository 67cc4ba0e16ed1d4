//! Why a command ends without an answer of its own, and the exit statuses.

use pitcrew_core::Refusal;
use pitcrew_runtime::desk::{Failure, NotDone};
use pitcrew_runtime::teamfile::TeamFileError;
use pitcrew_store::StoreFailure;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Refused: an expected no, nothing was changed.
    Refused = 1,
    /// The command line cannot be understood.
    Usage = 2,
    /// Something broke.
    Failed = 3,
    /// The time ran out while waiting.
    TimedOut = 4,
    /// The run ended, and not everything in it succeeded.
    RunFailed = 5,
    /// Interrupted.
    Interrupted = 130,
}

impl Exit {
    /// Every exit status with its meaning, as the help page shows it.
    pub(crate) const TABLE: [(Self, &'static str); 7] = [
        (Self::Done, "done"),
        (
            Self::Refused,
            "refused: an expected no, nothing was changed",
        ),
        (Self::Usage, "the command line cannot be understood"),
        (Self::Failed, "something broke"),
        (Self::TimedOut, "the time ran out while waiting"),
        (
            Self::RunFailed,
            "the run ended, and not everything in it succeeded",
        ),
        (Self::Interrupted, "interrupted"),
    ];
}

/// A command that ends without an answer of its own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
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
    /// A team file has mistakes.
    #[error(transparent)]
    TeamFile(TeamFileError),
    /// A run, or another thing that needs more than a team's documents, cannot begin here and now. Nothing was started.
    #[error("{why}")]
    CannotRun {
        /// The stable code.
        code: &'static str,
        /// Why it cannot.
        why: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// What was waited for did not happen in time.
    #[error("nothing of it happened within {0}")]
    TimedOut(String),
    /// The system refused something that is neither a file of the team nor random bytes.
    #[error("cannot {what}: {why}")]
    System {
        /// What was tried: a verb phrase.
        what: &'static str,
        /// Why it could not be.
        why: String,
    },
}

impl Halt {
    /// The stable code.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Failed(failure) => code_of(failure),
            Self::Usage(_) => "usage",
            Self::Input { .. } => "unreadable_input",
            Self::TeamFile(_) => "invalid_team_file",
            Self::CannotRun { code, .. } => code,
            Self::TimedOut(_) => "timed_out",
            Self::System { .. } => "system_failed",
        }
    }

    /// The message with its causes.
    pub(crate) fn message(&self) -> String {
        with_causes(self)
    }
}

/// What an error says, with its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

/// The stable code of what was not done.
pub(crate) fn code_of(failure: &Failure) -> &'static str {
    match failure {
        Failure::Store(failure) => failure.code(),
        Failure::Entropy(_) => "no_entropy",
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
