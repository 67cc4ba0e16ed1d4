//! Processes: started as a whole, watched as a whole, ended as a whole.
//!
//! | for | read |
//! |---|---|
//! | starting one command and following it to its end | [`Launch`], [`Group`], [`Ended`] |
//! | telling one process from all others, later and elsewhere | [`Identity`], [`Presence`] |
//! | marking everything that belongs to one turn | [`Mark`] |
//! | ending what a killed supervisor left behind | [`reclaim()`], [`sweep`] |
//! | ending what hides from its turn | [`Orphanage`] |
//! | a process that outlives its starter | [`detach`] |
//! | Ctrl-C | [`Interrupts`] |
//! | asking a tool that answers at once | the source of `call` |
//!
//! What always holds: this is the one home of starting and signalling processes, and of reading the process table
//! under `/proc`. A signal reaches the process it was meant for or nobody. Nothing of a turn runs on after its end,
//! save what an outside service starts on request, and where orphans are not handed over ([`Orphanage`]) what the source
//! of `kin` names: a process in a session of its own whose start environment is hidden, whose parent is gone and that
//! does not hold the turn's output.
//!
//! Not here: which command to run, when to run it again (core's restart machine), and opening the files that
//! output goes to (the store).

mod call;
mod capture;
mod clearing;
mod detached;
mod ended;
mod environment;
mod foreground;
mod group;
mod identity;
mod interrupts;
mod kin;
mod launch;
mod mark;
mod orphans;
mod reclaim;
mod spawn_error;
mod table;

pub use call::CallError;
pub(crate) use call::{Called, call};
pub use capture::{Cap, Capture, Kept, Sink};
pub use detached::detach;
pub use ended::{By, Ended, How, Leftovers, Status, Streams};
pub use environment::Environment;
pub(crate) use foreground::{Front, front};
pub use group::{Control, Group, Observation, Stage, Stream};
pub use identity::{Blindness, Identity, Presence};
pub use interrupts::{Interrupt, Interrupts, Source, Urgency, Wish, end_at_once};
pub use launch::{Ask, Input, Ladder, Launch};
pub use mark::{Mark, MarkError};
pub use orphans::{Closed, Orphan, Orphanage};
pub use reclaim::{Reclaimed, Swept, reclaim, sweep};
pub use spawn_error::SpawnError;

/// The number of this process.
#[must_use]
pub fn own_pid() -> u32 {
    std::process::id()
}

/// The process that started this one; another one once it has ended.
#[must_use]
pub fn own_parent() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(test)]
mod tests;
