//! Members in panes: launched, woken, looked at, started again, ended.
//!
//! | file | does |
//! |---|---|
//! | `panes/waking.rs` | wakes one member if its gates allow: [`wake_member`], the one way for senders and the monitor |
//! | `panes/site.rs` | what an agent is let in with: its page, its environment, its first line |
//! | `panes/launch.rs` | a whole team at once, or nothing of it: [`launch`] |
//! | `panes/first_line.rs` | types the first line into fresh agents, side by side |
//! | `panes/standing.rs` | how members in panes are, from one look: [`standings`] |
//! | `panes/restart.rs` | a member anew in a pane of its own: [`restart`], [`renew`] |
//! | `panes/lives.rs` | how lives end, and whether and when the next begins: [`LivesRecord`] |
//! | `panes/leader.rs` | the pane in which the leader sits |
//! | `panes/watching.rs` | tells a leader's pane which panes are ready for review |
//! | `panes/ending.rs` | ends what is ours: [`end_all`], [`end_life`] |
//!
//! What always holds: a pane is used by its record (`workers/<name>/pane.json`) and never by an id alone; nothing that
//! has another identity than the recorded one is typed into, resized or ended; what is said about a wake is what came
//! of it.
//!
//! Not here: talking with tmux (`tmux`), the rules (core), and when the monitor looks.

mod ending;
mod first_line;
mod launch;
mod leader;
mod lives;
mod restart;
mod site;
mod standing;
mod waking;
mod watching;

use pitcrew_store::StoreFailure;

use crate::clock::EntropyError;
use crate::desk::NotDone;
use crate::tmux::TmuxError;
use crate::wake::WakeError;

pub use ending::{LifeEnd, PanesEnded, end_all, end_life};
pub use first_line::Begun;
pub use launch::{Crew, Launched, Place, delivery_folder, launch, session_of};
pub use leader::{forget_leader, register_leader};
pub(crate) use lives::note_end;
pub use lives::{LifeEnded, LivesRecord, given_up, prospect};
#[cfg(test)]
pub(crate) use lives::{begin_by_policy, end_start};
pub use restart::{Restarted, renew, restart};
pub use site::{Site, Start};
pub use standing::{Standing, standings};
pub use waking::{Bell, Occasion, Wakened, seat_of, wake_member};
pub use watching::{PaneEvent, Watched, Watching, watch_panes};

/// Why something about panes was not done.
#[derive(Debug, thiserror::Error)]
pub enum PaneError {
    /// The team's rules or files.
    #[error(transparent)]
    NotDone(#[from] NotDone),
    /// tmux.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    /// A line could not be typed.
    #[error(transparent)]
    Wake(#[from] WakeError),
    /// A member's profile is not known or cannot be used.
    #[error("{member}: {why}")]
    Profile {
        /// The member.
        member: String,
        /// What is wrong.
        why: String,
    },
    /// A member's program is not there.
    #[error("{member} ({profile}) cannot be started: {why}")]
    CannotStart {
        /// The member.
        member: String,
        /// Its profile.
        profile: String,
        /// What is missing.
        why: String,
    },
    /// The team's session exists already.
    #[error("tmux session {session} already exists; run `omp team shutdown {team}` first")]
    SessionExists {
        /// The session.
        session: String,
        /// The team.
        team: String,
    },
    /// An agent ended right after its start.
    #[error("{member} ({profile}) ended at once{status}: {said}")]
    EndedAtOnce {
        /// The member.
        member: String,
        /// Its profile.
        profile: String,
        /// ` with status N`, or nothing.
        status: String,
        /// The last that its screen showed.
        said: String,
    },
    /// The member sits in no pane of ours.
    #[error("{member} sits in no pane")]
    NoPane {
        /// The member.
        member: String,
    },
    /// Another process starts the member right now.
    #[error("{member} is being started by another process")]
    BeingStarted {
        /// The member.
        member: String,
    },
    /// It failed, and not everything could be taken back.
    #[error("{why}; what was begun could not be taken back: {left}")]
    LeftBehind {
        /// Why it failed.
        why: Box<PaneError>,
        /// What is left.
        left: String,
    },
}

impl PaneError {
    /// The code in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotDone(NotDone::Refused(refusal)) => refusal.code(),
            Self::NotDone(NotDone::Failed(_)) => "system_failed",
            Self::Tmux(error) => error.code(),
            Self::Wake(_) => "wake_failed",
            Self::Profile { .. } => "unknown_profile",
            Self::CannotStart { .. } => "program_not_found",
            Self::SessionExists { .. } => "session_exists",
            Self::EndedAtOnce { .. } => "ended_at_once",
            Self::NoPane { .. } => "no_pane",
            Self::BeingStarted { .. } => "being_started",
            Self::LeftBehind { why, .. } => why.code(),
        }
    }
}

impl From<StoreFailure> for PaneError {
    fn from(failure: StoreFailure) -> Self {
        Self::NotDone(failure.into())
    }
}

impl From<EntropyError> for PaneError {
    fn from(error: EntropyError) -> Self {
        Self::NotDone(error.into())
    }
}
