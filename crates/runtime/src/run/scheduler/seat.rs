//! One member as the scheduler sees it: what it does, what it holds, what keeps it from going on.

use pitcrew_core::Name;
use pitcrew_core::restart::{Policy, Restart};

use super::{Held, Settlement, Work};
use crate::teamfile::ProfileKind;

/// The most turns in a row that only mail of other members brings, while no task of the team changes. Two members that
/// thank each other end here.
pub(super) const MOST_MAIL_TURNS: u32 = 6;

/// What is known of a member before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatPlan {
    /// Its name.
    pub name: Name,
    /// What its profile runs.
    pub kind: ProfileKind,
    /// Its profile: members of one profile wait for its provider together.
    pub profile: String,
    /// Whether mail alone brings it a turn.
    pub answers_mail: bool,
    /// How it is started again after crashes.
    pub restarts: Policy,
    /// How many turns it may take.
    pub max_turns: u32,
}

/// What is in a member's mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailSeen {
    /// Messages that are not acknowledged.
    pub unread: u64,
    /// Those among them that bring a turn and are from the leader.
    pub from_leader: u64,
    /// Those among them that bring a turn and are from other members.
    pub from_peers: u64,
}

/// Why a member takes no more turns, or none for mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum StopReason {
    /// It crashed too often.
    GaveUp {
        /// So many restarts came to nothing.
        restarts: u32,
    },
    /// It took as many turns as it may.
    TurnsUsedUp {
        /// So many.
        turns: u32,
    },
    /// What is left of its budget, or of the team's, is too little for its next turn.
    OutOfBudget,
    /// The team's limits refuse its turns, now and later.
    Denied,
    /// It answered mail of other members again and again while no task changed. It still takes tasks, and mail of the
    /// leader.
    OnlyTalk {
        /// So many turns.
        turns: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doing {
    Idle,
    /// A turn was ordered and has not ended.
    Running {
        work: Work,
        since: i64,
    },
    /// It ended, and what comes of it is being recorded.
    Settling {
        work: Work,
        offered: Settlement,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Seat {
    pub(super) plan: SeatPlan,
    pub(super) doing: Doing,
    pub(super) restart: Restart,
    /// The restart machine's number of the present run.
    pub(super) run: u32,
    /// How often it was started again after a crash, or is to be.
    pub(super) restarts: u32,
    /// The number of the latest turn.
    pub(super) turn: u32,
    /// Turns that count for the limit.
    pub(super) counted: u32,
    /// A task that is this member's between two turns.
    pub(super) held: Option<String>,
    pub(super) mail: MailSeen,
    /// Not before this time, and why.
    pub(super) paused: Option<(i64, PauseCause)>,
    /// Whether the turn before was for mail alone.
    pub(super) was_mail: bool,
    /// Turns for mail alone since a task of the team changed.
    pub(super) mail_turns: u32,
    /// Turns for mail alone that failed in a row.
    pub(super) mail_failures: u32,
    /// Whether the latest turn found its session lost.
    pub(super) lost_session: bool,
    pub(super) stopped: Option<StopReason>,
    pub(super) only_talks: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PauseCause {
    /// Its provider takes no more.
    Limit,
    /// The team's limits do not let it start.
    Team,
    /// Others have set aside what it needs.
    Others,
    /// Its last turn came to nothing.
    Failure,
}

impl Seat {
    pub(super) fn new(plan: SeatPlan) -> Self {
        Self {
            restart: Restart::new(plan.restarts),
            plan,
            doing: Doing::Idle,
            run: 0,
            restarts: 0,
            turn: 0,
            counted: 0,
            held: None,
            mail: MailSeen::default(),
            paused: None,
            was_mail: false,
            mail_turns: 0,
            mail_failures: 0,
            lost_session: false,
            stopped: None,
            only_talks: false,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.doing != Doing::Idle
    }

    /// The task that it works on or holds.
    pub(super) fn task(&self) -> Option<&str> {
        match &self.doing {
            Doing::Running { work, .. } | Doing::Settling { work, .. } => match work {
                Work::Task { id, .. } => Some(id),
                Work::Mail => None,
            },
            Doing::Idle => self.held.as_deref(),
        }
    }

    /// Its turn was ordered and taken back before it began.
    pub(super) fn unstart(&mut self, work: &Work) {
        self.doing = Doing::Idle;
        self.counted = self.counted.saturating_sub(1);
        if let Work::Task {
            id,
            held: Held::Yes,
        } = work
        {
            self.held = Some(id.clone());
        }
    }

    pub(super) fn see_mail(&mut self, seen: MailSeen) {
        self.mail = seen;
        if seen.from_leader > 0 {
            self.progress();
        }
    }

    /// Something beside mail between members happened.
    pub(super) fn progress(&mut self) {
        self.mail_turns = 0;
        self.only_talks = false;
    }

    /// The limits that held it back are others now.
    pub(super) fn let_try_again(&mut self) {
        if matches!(
            self.stopped,
            Some(StopReason::OutOfBudget | StopReason::Denied)
        ) {
            self.stopped = None;
        }
        if matches!(
            self.paused,
            Some((_, PauseCause::Team | PauseCause::Others))
        ) {
            self.paused = None;
        }
    }

    /// What others had set aside came back.
    pub(super) fn take_its_chance(&mut self) {
        if matches!(self.paused, Some((_, PauseCause::Others))) {
            self.paused = None;
        }
    }

    /// Whoever takes its calls is asked again.
    pub(super) fn resume(&mut self) {
        if matches!(
            self.paused,
            Some((_, PauseCause::Team | PauseCause::Others | PauseCause::Limit))
        ) {
            self.paused = None;
        }
    }

    /// Whether its mail is reason enough for a turn.
    pub(super) fn is_woken(&self) -> bool {
        let wakes = self.mail.from_leader > 0 || (self.mail.from_peers > 0 && !self.only_talks);
        wakes && self.plan.answers_mail
    }

    /// Whether it has talked enough for now.
    pub(super) fn has_talked_enough(&self) -> bool {
        let only_peers = self.mail.from_leader == 0 && self.mail.from_peers > 0;
        only_peers && !self.only_talks && self.mail_turns >= MOST_MAIL_TURNS
    }
}
