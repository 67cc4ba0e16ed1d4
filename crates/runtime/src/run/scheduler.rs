//! The scheduler: which member does what next, decided without doing anything.
//!
//! Facts go in through [`Scheduler::handle`], orders come out of [`Scheduler::poll`], and [`Scheduler::deadline`] says
//! when to ask again if nothing happens. It reads no clock, draws no number and touches no file.
//!
//! ```text
//!            Start                 Ended                    Settled
//!   idle ───────────▶ running ──────────────▶ settling ───────────────▶ idle (with or without a held task)
//!     ▲                  │ NotStarted             (Settle says what becomes of task and mail)
//!     └──────────────────┘
//! ```
//!
//! | a turn ended | its task | its mail | the member |
//! |---|---|---|---|
//! | with success | completed | acknowledged | goes on |
//! | with a failure | put back while it has retries, else failed | given back | goes on |
//! | with refused tools | failed | given back | goes on |
//! | in a crash | held for the restart, put back when there is none | given back | restarts with growing pauses |
//! | in a limit | held | kept | waits, and so does everybody of its profile |
//! | before it began, by the team's limits | held | kept | waits, or stops when it can never be |
//! | because the session was lost | held | kept | goes on in a fresh session |
//! | because it was stopped | put back | given back | the run ends |
//!
//! What always holds: no task is in two turns and no member in two; after an ending began nothing is started; every
//! start is followed by one end and one settlement before [`Order::Finish`], and nothing follows that; a run is not
//! finished on a stale view. What a member
//! did to its task itself stands: a settlement is an offer, and [`Event::Settled`] says what really became of it.

use std::collections::{BTreeMap, VecDeque};

use pitcrew_core::task::Task;

use crate::desk::TaskBoard;
use crate::teamfile::AfterFailure;

mod choosing;
mod seat;
mod settling;
mod tasks;
mod view;
mod vocabulary;

pub use seat::{MailSeen, SeatPlan, StopReason};
pub use view::{SeatState, SeatView};
pub use vocabulary::{
    End, Ending, Event, Finish, Held, MailSettlement, Moment, Order, RunPlan, SeatNo, Settlement,
    TaskTerms, Work,
};

use seat::{Doing, Seat};
use tasks::Tasks;

/// The scheduler of one run.
#[derive(Debug, Clone)]
pub struct Scheduler {
    seats: Vec<Seat>,
    tasks: Tasks,
    /// How often each task failed in this run.
    failures: BTreeMap<String, u32>,
    /// Tasks that are not started before some time.
    not_before: BTreeMap<String, i64>,
    /// Until when each profile's provider takes no more, and how often it said so again after such a pause.
    pauses: BTreeMap<String, Pause>,
    after_failure: AfterFailure,
    ends_at: Option<i64>,
    ending: Option<Ending>,
    orders: VecDeque<Order>,
    /// Whether everything was looked at since the last turn, so that "nothing is left to do" is no stale view.
    looked: bool,
    over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pause {
    until: i64,
    streak: u32,
}

impl Scheduler {
    /// A run that begins at `now`, with no task and no mail seen yet.
    #[must_use]
    pub fn new(plan: RunPlan, now: Moment) -> Self {
        Self {
            seats: plan.seats.into_iter().map(Seat::new).collect(),
            tasks: Tasks::new(plan.tasks, plan.order),
            failures: BTreeMap::new(),
            not_before: BTreeMap::new(),
            pauses: BTreeMap::new(),
            after_failure: plan.after_failure,
            ends_at: plan.time_limit_ms.map(|limit| now.ms.saturating_add(limit)),
            ending: None,
            orders: VecDeque::new(),
            looked: false,
            over: false,
        }
    }

    /// Takes in what happened.
    pub fn handle(&mut self, event: Event, now: Moment) {
        match event {
            Event::Looked => self.looked = true,
            Event::Board(board) => {
                if self.tasks.see_all(board) {
                    self.progress();
                }
            }
            Event::Task(id, sight) => {
                if self.tasks.see(&id, sight) {
                    self.progress();
                }
            }
            Event::Mail(seat, seen) => {
                if let Some(seat) = self.seats.get_mut(seat) {
                    seat.see_mail(seen);
                }
            }
            Event::NotStarted { seat, turn } => self.not_started(seat, turn, now),
            Event::Ended {
                seat,
                turn,
                end,
                jitter,
            } => self.ended(seat, turn, end, jitter, now),
            Event::Settled { seat, turn, task } => self.settled(seat, turn, task, now),
            Event::Slept(for_ms) => {
                self.ends_at = self.ends_at.map(|at| at.saturating_add(for_ms));
            }
            Event::LimitsChanged => self.seats.iter_mut().for_each(Seat::let_try_again),
            Event::BooksChanged => self.seats.iter_mut().for_each(Seat::take_its_chance),
            Event::Resumed => {
                self.pauses.clear();
                self.seats.iter_mut().for_each(Seat::resume);
            }
            Event::Interrupted => match self.ending {
                None => self.end(Ending::Interrupted),
                Some(_) => {
                    self.ending = Some(Ending::Interrupted);
                    self.press(Order::Kill);
                }
            },
            Event::ShutDown => {
                if self.ending.is_none() {
                    self.end(Ending::ShutDown);
                }
            }
            Event::Broke => {
                if self.ending.is_none() {
                    self.end(Ending::Broke);
                }
                self.ending = Some(Ending::Broke);
            }
        }
    }

    /// The next thing to do now. To be asked until it has none.
    pub fn poll(&mut self, now: Moment) -> Option<Order> {
        if self.orders.is_empty() && !self.over {
            self.advance(now);
        }
        let order = self.orders.pop_front();
        self.over |= matches!(order, Some(Order::Finish(_)));
        order
    }

    /// When something is to be done although nothing happens, in [`Moment::ms`]. To be asked after [`Self::poll`].
    #[must_use]
    pub fn deadline(&self, now: Moment) -> Option<i64> {
        if self.over || self.ending.is_some() {
            return None;
        }
        let seats = (0..self.seats.len()).filter_map(|seat| self.next_start(seat, now));
        seats.chain(self.ends_at).chain(self.lease_end(now)).min()
    }

    /// How everybody stands.
    pub fn view(&self, now: Moment) -> impl Iterator<Item = SeatView<'_>> {
        (0..self.seats.len()).map(move |seat| self.seat_view(seat, now))
    }

    /// How the tasks stood when they were last seen.
    #[must_use]
    pub fn board(&self) -> &TaskBoard {
        self.tasks.board()
    }

    /// One task as it was last seen.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.find(id)
    }

    /// The tasks that were in progress when they were last seen.
    pub fn taken(&self) -> impl Iterator<Item = &Task> {
        self.tasks.taken()
    }

    /// Why the run ends, once it does.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// A change of any task is progress: who only wrote mail so far may answer mail again.
    fn progress(&mut self) {
        self.seats.iter_mut().for_each(Seat::progress);
    }

    fn advance(&mut self, now: Moment) {
        if self.ending.is_none() && self.ends_at.is_some_and(|at| at <= now.ms) {
            self.end(Ending::TimeLimit);
        }
        if self.ending.is_none() {
            self.start_what_can_start(now);
        }
        let busy = self.seats.iter().any(Seat::is_busy);
        if busy || !self.orders.is_empty() {
            return;
        }
        match self.ending.clone() {
            Some(ending) => {
                self.put_back_held();
                self.orders.push_back(Order::Finish(Finish::Ended(ending)));
            }
            None if self.can_go_on(now) => {}
            None if self.looked => self.orders.push_back(Order::Finish(Finish::Done)),
            None => self.orders.push_back(Order::Look),
        }
    }

    /// Whether anything may still begin by itself, or somebody outside works on a task.
    fn can_go_on(&self, now: Moment) -> bool {
        let later = (0..self.seats.len()).any(|seat| self.next_start(seat, now).is_some());
        let outside = || self.tasks.taken().any(|task| !self.is_in_hand(&task.id));
        later || outside()
    }

    fn end(&mut self, ending: Ending) {
        self.ending = Some(ending);
        self.take_back_starts();
        self.press(Order::Stop);
    }

    /// Takes back the orders to begin a turn that nobody has fetched yet.
    fn take_back_starts(&mut self) {
        let seats = &mut self.seats;
        self.orders.retain(|order| match order {
            Order::Start { seat, work, .. } => {
                seats[*seat].unstart(work);
                false
            }
            _ => true,
        });
    }

    fn press(&mut self, order: fn(SeatNo) -> Order) {
        for (seat, state) in self.seats.iter().enumerate() {
            if matches!(state.doing, Doing::Running { .. }) {
                self.orders.push_back(order(seat));
            }
        }
    }

    fn put_back_held(&mut self) {
        for (seat, state) in self.seats.iter_mut().enumerate() {
            if let Some(task) = state.held.take() {
                self.orders.push_back(Order::PutBack { seat, task });
            }
        }
    }

    /// Whether one of the members works on a task or holds it.
    fn is_in_hand(&self, id: &str) -> bool {
        self.seats.iter().any(|seat| seat.task() == Some(id))
    }
}

#[cfg(test)]
mod tests;
