//! One run of a team: its members take turns until nothing is left to do.
//!
//! | file | part |
//! |---|---|
//! | `run/scheduler.rs` | decides who does what next; pure |
//! | `run/outfit.rs` | what each member brings: profile, folder, environment; checked before anything is written |
//! | `run/founding.rs` | founds the team or goes on with it; one run at a time |
//! | `run/aftermath.rs` | clears away what a killed run left behind |
//! | `run/driver.rs` | the loop: carries out orders, hands in what happened |
//! | `run/turn.rs` | begins a turn: claim, mail, prompt, process |
//! | `run/ending.rs` | reads what a turn left, and records it |
//! | `run/allowance.rs` | what a turn may spend, and what it spent |
//! | `run/output.rs` | what a turn prints, kept where its member cannot change it |
//! | `run/post.rs` | the mail of a turn: shown, acknowledged, answered |
//! | `run/own.rs` | tells a failure of one member's files from one of the team's |
//! | `run/record.rs` | what is written down for the next run |
//! | `run/event.rs` | what is told to whoever watches |
//!
//! What always holds: a member is in one turn at a time, as one supervised process group; a task that is recorded as
//! completed is never run again; mail is acknowledged after the turn that showed it came to something. A run that is
//! killed at any point can be started again and goes on. All of it happens on one thread; only the store's watch sits
//! on another.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Project, StoreFailure};

use crate::clock::{EntropyError, SystemClock, SystemEntropy};
use crate::desk::{Failure, NotDone, TaskBoard};
use crate::prices::Prices;
use crate::process::{Blindness, Identity, Interrupts, SpawnError};
use crate::profile::Profiles;
use crate::teamfile::TeamFile;

mod aftermath;
mod allowance;
mod driver;
mod ending;
pub mod event;
mod founding;
mod outfit;
mod output;
mod own;
mod post;
pub mod record;
pub mod scheduler;
mod turn;

use event::{EndReason, Fact, Happened, Report};
use scheduler::SeatView;

/// What is to be run, and from where.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The project.
    pub project: &'a Project,
    /// The team file.
    pub file: TeamFile,
    /// The profiles that its members may have.
    pub profiles: &'a Profiles,
    /// What models cost.
    pub prices: Prices,
    /// The environment that members inherit.
    pub variables: Vec<(OsString, OsString)>,
    /// This program, which members find on their `PATH`.
    pub program: PathBuf,
    /// What becomes of a team that is there already.
    pub beginning: Beginning,
    /// What is made of a member of an earlier run when nobody can tell whether it still runs.
    pub doubt: Doubt,
    /// How long a turn may take to end after it was asked to.
    pub grace: Duration,
}

/// What becomes of a team that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It is gone on with.
    GoOn,
    /// It is removed, and founded anew.
    Fresh,
}

/// What is made of processes that were started where we cannot look, such as in another container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// They may still run: the run is refused.
    Refuse,
    /// A person said that they are gone.
    TakeOver,
}

/// How things stand in the middle of a run.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Now.
    pub now: Timestamp,
    /// The clock that [`SeatView`] counts in.
    pub now_ms: i64,
    /// How long the run has taken.
    pub elapsed_ms: i64,
    /// The members.
    pub seats: Vec<SeatView<'a>>,
    /// The tasks.
    pub board: &'a TaskBoard,
    /// Messages for the leader that nobody has read.
    pub leader_unread: u64,
    /// Why the run is coming to its end, once it is.
    pub ending: Option<EndReason>,
}

/// Somebody who watches a run.
pub trait Watcher {
    /// Something happened.
    fn happened(&mut self, fact: &Happened<'_>);

    /// How things stand now. Called after something happened, and about as often as [`Watcher::pace`] says.
    fn look(&mut self, scene: &Scene<'_>);

    /// How often it wants to look although nothing happens.
    fn pace(&self) -> Option<Duration>;
}

/// Why a run did not take place, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The expected no, or something broke.
    #[error(transparent)]
    NotDone(#[from] NotDone),
    /// Another run drives the team.
    #[error("team {team} is run by process {pid} since {since}")]
    AlreadyRunning {
        /// The team.
        team: Name,
        /// Its process.
        pid: u32,
        /// When it began.
        since: Timestamp,
    },
    /// Something of an earlier run may still be at work, where we cannot look.
    #[error("{what} of team {team} (process {pid}) may still run: {why}")]
    MayStillRun {
        /// The team.
        team: Name,
        /// What.
        what: String,
        /// Its process, as it was written down.
        pid: u32,
        /// Why that cannot be told.
        why: Blindness,
    },
    /// The project's own path cannot stand in a search path, so its members would not find this program. Nothing was
    /// started.
    #[error(
        "the project's path {0:?} has a `:` in it, and no search path (PATH) can hold such a folder"
    )]
    UnfitPath(PathBuf),
    /// Some members cannot be started. Nothing was.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    CannotStart(Vec<CannotStart>),
    /// The system refused something that has no other name here.
    #[error("cannot {what}: {why}")]
    System {
        /// What was tried: a verb phrase.
        what: &'static str,
        /// Why it could not be.
        why: String,
    },
}

/// Why members cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("{error} (profile {profile}, needed by {})", members.iter().map(Name::as_str).collect::<Vec<_>>().join(", "))]
pub struct CannotStart {
    /// The profile.
    pub profile: String,
    /// The members that have it.
    pub members: Vec<Name>,
    /// What is wrong.
    pub error: SpawnError,
}

impl From<StoreFailure> for RunError {
    fn from(failure: StoreFailure) -> Self {
        Self::NotDone(failure.into())
    }
}

impl From<EntropyError> for RunError {
    fn from(failure: EntropyError) -> Self {
        Self::NotDone(NotDone::Failed(Failure::Entropy(failure)))
    }
}

/// Runs the team to its end.
///
/// # Errors
/// When it cannot begin; nothing was started then. When the team's files fail in the middle, every member is stopped,
/// the report says what broke, and what was not recorded is done again by the next run.
pub fn run(setup: Setup<'_>, watcher: &mut dyn Watcher) -> Result<Report, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|refused| RunError::System {
            what: "start the loop",
            why: refused.to_string(),
        })?;
    runtime.block_on(conduct(setup, watcher))
}

async fn conduct(setup: Setup<'_>, watcher: &mut dyn Watcher) -> Result<Report, RunError> {
    let gears = outfit::outfit(&setup)?;
    let tools = Tools {
        clock: Arc::new(SystemClock),
        entropy: SystemEntropy,
    };
    // What an earlier run left is cleared whole before a wish to end is followed.
    let interrupts = Interrupts::listen().map_err(|refused| RunError::System {
        what: "listen to signals",
        why: refused.to_string(),
    })?;
    let ground = founding::ground(&setup, &tools, watcher).await?;
    driver::Driver::new(setup, tools, ground, gears, watcher)?
        .drive(interrupts)
        .await
}

/// Time and chance.
#[derive(Debug, Clone)]
struct Tools {
    clock: Arc<SystemClock>,
    entropy: SystemEntropy,
}

impl Tools {
    fn tell(&self, watcher: &mut dyn Watcher, fact: &Fact) {
        use crate::clock::Clock;
        let at = Timestamp::from_millis(self.clock.now());
        watcher.happened(&Happened { at, fact });
    }
}

/// This process, for `run.json`.
fn own_identity() -> Identity {
    Identity::own()
}
