//! What goes into the scheduler and what comes out of it: plain values, all of them.

use std::collections::BTreeMap;

use pitcrew_core::Timestamp;
use pitcrew_core::task::Status;

use super::seat::{MailSeen, SeatPlan, StopReason};
use crate::desk::{Sight, TaskBoard};
use crate::teamfile::{AfterFailure, ProfileKind};

/// The place of a member among the plan's members.
pub type SeatNo = usize;

/// Two clocks read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a clock that never runs backwards: all spans are counted in it.
    pub ms: i64,
    /// Wall time: leases of tasks are compared with it.
    pub wall: Timestamp,
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// The members.
    pub seats: Vec<SeatPlan>,
    /// What is known of single tasks, by id. A task that is not here is for agents and not tried again.
    pub tasks: BTreeMap<String, TaskTerms>,
    /// The ids of the tasks in the order in which they are started, as far as there is a choice.
    pub order: Vec<String>,
    /// What the first task that failed for good does.
    pub after_failure: AfterFailure,
    /// How long the run may take, in milliseconds.
    pub time_limit_ms: Option<i64>,
}

/// What the plan says about one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTerms {
    /// Which kind of member can do it.
    pub kind: ProfileKind,
    /// How often it is tried again after a failure.
    pub retries: u32,
}

/// What a turn is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// A task, with whatever mail there is.
    Task {
        /// Its id.
        id: String,
        /// Whether the member has claimed it in a turn before.
        held: Held,
    },
    /// Mail alone.
    Mail,
}

/// Whether a task is already the member's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// It is to be claimed.
    No,
    /// It stayed the member's after a turn that came to nothing.
    Yes,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Succeeded,
    /// The work failed: an error, or its time was up.
    Failed,
    /// Tools that it asked for were refused, so nobody can say that the work was done. Trying again changes nothing.
    Refused,
    /// The process died, or could not be started.
    Crashed,
    /// The provider takes no more until then, if that is known (in [`Moment::ms`]).
    Limited(Option<i64>),
    /// The team's limits did not let it start; until then, as far as is known (in [`Moment::ms`]).
    HeldBack(i64),
    /// The same, because of what others have set aside: it may come back before.
    Outbid(i64),
    /// The team's limits do not let its member start at all, for this reason.
    Barred(StopReason),
    /// The session to go on with is no more.
    SessionLost,
    /// It was stopped by us.
    Stopped,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// How the tasks stand now.
    Board(TaskBoard),
    /// How one task stands now.
    Task(String, Sight),
    /// What is in a member's mailbox now.
    Mail(SeatNo, MailSeen),
    /// A turn that was ordered did not begin: its task was somebody else's, or its mail was gone.
    NotStarted {
        /// Whose.
        seat: SeatNo,
        /// Which.
        turn: u32,
    },
    /// A turn ended.
    Ended {
        /// Whose.
        seat: SeatNo,
        /// Which.
        turn: u32,
        /// How.
        end: End,
        /// A random number from 0 to 1000 that pauses are varied with.
        jitter: u16,
    },
    /// A [`Order::Settle`] was carried out.
    Settled {
        /// Whose turn.
        seat: SeatNo,
        /// Which.
        turn: u32,
        /// How the turn's task stands now: `InProgress` only when it still is this member's claim.
        task: Option<Status>,
    },
    /// An [`Order::Look`] was carried out: the board and every mailbox were handed in.
    Looked,
    /// The machine slept, or this program was held still, for so many milliseconds, which do not count for the run's limit.
    Slept(i64),
    /// The team's limits are others now: who could not start is let try again.
    LimitsChanged,
    /// What somebody had set aside came back: who waited for that is let try again.
    BooksChanged,
    /// A pause of the team was ended before its time: providers are asked again.
    Resumed,
    /// A person wants the run to end. Said again, it ends at once.
    Interrupted,
    /// The team was shut down from elsewhere.
    ShutDown,
    /// Something broke, so that the run cannot go on.
    Broke,
}

/// What becomes of a turn's task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It is completed.
    Complete,
    /// It failed for good.
    Fail,
    /// It is pending again.
    PutBack,
    /// It stays the member's, for its next turn.
    Hold,
}

/// What becomes of the mail that a turn showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailSettlement {
    /// It was read.
    Acknowledge,
    /// It is shown again, and this showing counts.
    GiveBack,
    /// It is shown again, as if it had not been shown.
    Keep,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Begin a turn.
    Start {
        /// Whose.
        seat: SeatNo,
        /// The member's turns of this run are numbered from 1.
        turn: u32,
        /// What for.
        work: Work,
    },
    /// Ask a member's turn to end, and kill it after its grace.
    Stop(SeatNo),
    /// Kill a member's turn at once.
    Kill(SeatNo),
    /// Record what came of a turn.
    Settle {
        /// Whose.
        seat: SeatNo,
        /// Which.
        turn: u32,
        /// What becomes of its task, if it had one.
        task: Option<Settlement>,
        /// What becomes of its mail.
        mail: MailSettlement,
    },
    /// Look at the board and every mailbox: as far as is known, nothing is left to do.
    Look,
    /// Put back the task that a member holds between turns.
    PutBack {
        /// Who holds it.
        seat: SeatNo,
        /// The task.
        task: String,
    },
    /// Put back a task that its member failed itself, because it may be tried again.
    Retry(String),
    /// A member takes no more turns, or no more turns for mail: tell the leader.
    Tell(SeatNo, StopReason),
    /// The run is over.
    Finish(Finish),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// Nothing is left to do.
    Done,
    /// It was ended before that.
    Ended(Ending),
}

/// Why a run was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// A person wanted it.
    Interrupted,
    /// The team was shut down from elsewhere.
    ShutDown,
    /// Its time was up.
    TimeLimit,
    /// A task failed, and the plan says that this ends it.
    FirstFailure,
    /// Something broke.
    Broke,
}
