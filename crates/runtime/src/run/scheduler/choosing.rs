//! What each member does next: a held task first, then tasks and mail in turn.
//!
//! An agent's task turn shows its mail as well, so tasks go first. A script sees mail only in a turn for mail, so mail
//! goes first there, but never twice in a row while a task waits.

use pitcrew_core::restart;
use pitcrew_core::task::{Readiness, Status, Task};

use super::seat::{Doing, StopReason};
use super::{Held, Moment, Order, Scheduler, SeatNo, Work};
use crate::teamfile::ProfileKind;

/// What a member could do, and not before when.
pub(super) type Prospect = (Work, i64);

/// How far apart members of one profile go on after a pause of their provider.
const STAGGER_MS: i64 = 1_000;

impl Scheduler {
    /// Orders every turn that can begin now. Whoever took the fewest turns chooses first.
    pub(super) fn start_what_can_start(&mut self, now: Moment) {
        let mut seats: Vec<SeatNo> = (0..self.seats.len()).collect();
        seats.sort_by_key(|seat| self.seats[*seat].turn);
        for seat in seats {
            self.drop_lost_hold(seat);
            self.notice_talk(seat);
            let Some((work, at)) = self.prospect(seat, now) else {
                continue;
            };
            if self.seats[seat].counted >= self.seats[seat].plan.max_turns {
                let turns = self.seats[seat].counted;
                self.stop_seat(seat, StopReason::TurnsUsedUp { turns });
            } else if at <= now.ms {
                self.start(seat, work, now);
            }
        }
    }

    /// When a member that is idle begins its next turn; `None` when it has nothing to do.
    pub(super) fn next_start(&self, seat: SeatNo, now: Moment) -> Option<i64> {
        self.prospect(seat, now).map(|(_, at)| at)
    }

    /// What an idle member could do next, and when.
    pub(super) fn prospect(&self, seat: SeatNo, now: Moment) -> Option<Prospect> {
        let state = &self.seats[seat];
        if state.is_busy() || state.stopped.is_some() {
            return None;
        }
        let (work, at) = self.work_for(seat, now)?;
        let pause = state.paused.map_or(i64::MIN, |(until, _)| until);
        let profile = self.profile_pause(seat).unwrap_or(i64::MIN);
        let restart = match state.restart.standing() {
            restart::Standing::Due { at } => at,
            _ => i64::MIN,
        };
        Some((work, at.max(pause).max(profile).max(restart)))
    }

    /// Until when the provider of a member's profile takes no more of it.
    pub(super) fn profile_pause(&self, seat: SeatNo) -> Option<i64> {
        let pause = self.pauses.get(&self.seats[seat].plan.profile)?;
        let behind = i64::try_from(seat).unwrap_or(0).saturating_mul(STAGGER_MS);
        Some(pause.until.saturating_add(behind))
    }

    fn work_for(&self, seat: SeatNo, now: Moment) -> Option<Prospect> {
        let state = &self.seats[seat];
        if let Some(id) = &state.held {
            let held = Held::Yes;
            return Some((
                Work::Task {
                    id: id.clone(),
                    held,
                },
                i64::MIN,
            ));
        }
        let task = self.task_for(seat, now);
        let mail = state.is_woken().then_some((Work::Mail, i64::MIN));
        let mail_first = state.plan.kind == ProfileKind::Script && !state.was_mail;
        match (task, mail) {
            (Some((task, at)), Some(_)) if at <= now.ms && !mail_first => Some((task, at)),
            (_, Some(mail)) => Some(mail),
            (task, None) => task,
        }
    }

    /// The first task that the member can begin now, its own before those for anybody; else the one that comes first.
    fn task_for(&self, seat: SeatNo, now: Moment) -> Option<Prospect> {
        let plan = &self.seats[seat].plan;
        let mut best: Option<(i64, &Task)> = None;
        for open in self.tasks.open_for(plan.kind, &plan.name, now.wall) {
            for task in open.filter(|task| !self.is_in_hand(&task.id)) {
                let at = self.not_before.get(&task.id).copied();
                let at = at.unwrap_or(i64::MIN).max(now.ms);
                if best.is_none_or(|(first, _)| at < first) {
                    best = Some((at, task));
                }
                if at == now.ms {
                    break;
                }
            }
        }
        let (at, first) = best?;
        let work = Work::Task {
            id: first.id.clone(),
            held: Held::No,
        };
        Some((work, at))
    }

    fn suits(&self, seat: SeatNo, task: &Task) -> bool {
        self.seats[seat].plan.kind == self.tasks.kind(&task.id)
    }

    /// Whether anybody of the run can still do a task that is not done, as far as is known now.
    #[must_use]
    pub fn is_hopeless(&self, task: &Task) -> bool {
        let able = |seat: &SeatNo| {
            let state = &self.seats[*seat];
            let mine = task
                .assignee
                .as_deref()
                .is_none_or(|assignee| assignee == state.plan.name.as_str());
            mine && state.stopped.is_none() && self.suits(*seat, task)
        };
        let blocked = match self.tasks.readiness(task) {
            Readiness::Ready => false,
            Readiness::Blocked { failed, .. } => !failed.is_empty(),
        };
        blocked || !(0..self.seats.len()).any(|seat| able(&seat))
    }

    /// A held task that is no longer the member's is let go.
    fn drop_lost_hold(&mut self, seat: SeatNo) {
        let state = &mut self.seats[seat];
        let name = state.plan.name.as_str();
        let is_mine =
            |task: &Task| task.status == Status::InProgress && task.owner.as_deref() == Some(name);
        let held = state.held.as_deref();
        let lost = held.is_some_and(|id| !self.tasks.find(id).is_some_and(is_mine));
        if lost {
            state.held = None;
        }
    }

    fn notice_talk(&mut self, seat: SeatNo) {
        let state = &mut self.seats[seat];
        if state.has_talked_enough() && !state.is_busy() {
            state.only_talks = true;
            let turns = state.mail_turns;
            self.orders
                .push_back(Order::Tell(seat, StopReason::OnlyTalk { turns }));
        }
    }

    pub(super) fn stop_seat(&mut self, seat: SeatNo, reason: StopReason) {
        let state = &mut self.seats[seat];
        state.stopped = Some(reason);
        if let Some(task) = state.held.take() {
            self.orders.push_back(Order::PutBack { seat, task });
        }
        self.orders.push_back(Order::Tell(seat, reason));
    }

    fn start(&mut self, seat: SeatNo, work: Work, now: Moment) {
        let state = &mut self.seats[seat];
        state.restart.want(restart::Wanted::Up, now.ms);
        state.run = state.restart.handle_started(now.ms);
        state.paused = None;
        state.held = None;
        state.turn += 1;
        state.counted += 1;
        state.was_mail = work == Work::Mail;
        self.looked = false;
        state.doing = Doing::Running {
            work: work.clone(),
            since: now.ms,
        };
        let turn = state.turn;
        self.orders.push_back(Order::Start { seat, turn, work });
    }

    /// When the lease of a task that somebody outside has runs out, so that it can be claimed.
    pub(super) fn lease_end(&self, now: Moment) -> Option<i64> {
        let leases = self.tasks.taken().filter_map(|task| {
            let until = task.lease_until.filter(|until| *until > now.wall)?;
            (!self.is_in_hand(&task.id))
                .then(|| now.ms.saturating_add(until.millis_since(now.wall)))
        });
        leases.min()
    }
}
