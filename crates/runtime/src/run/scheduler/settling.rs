//! What comes of a turn: for its task, its mail, and the member's next turn.

use pitcrew_core::restart;
use pitcrew_core::task::Status;

use super::seat::{Doing, PauseCause, StopReason};
use super::{
    End, Ending, MailSettlement, Moment, Order, Pause, Scheduler, SeatNo, Settlement, Work,
};
use crate::teamfile::AfterFailure;

/// The pause before a failed piece of work is tried again; it doubles with each further failure.
const FIRST_PAUSE_MS: i64 = 1_000;
/// No such pause is longer.
const LONGEST_PAUSE_MS: i64 = 60_000;

/// The pause after a limit that does not say when it ends; it doubles with each further one.
const FIRST_LIMIT_MS: i64 = 60_000;
/// The least pause after a limit that is met again although it should have ended; it doubles with each further one.
const FIRST_AGAIN_MS: i64 = 30_000;
/// No such pause is longer.
const LONGEST_LIMIT_MS: i64 = 900_000;
/// A limit's end is met at most so much later, so that not everybody comes back in the same instant.
const LIMIT_SPREAD_MS: i64 = 30_000;

/// `first` doubled so many times, at most `longest`, shortened by up to half by `jitter` thousandths.
fn growing(first: i64, longest: i64, times: u32, jitter: u16) -> i64 {
    let nominal = first.saturating_mul(1_i64 << times.min(32)).min(longest);
    nominal - nominal / 2 * i64::from(jitter.min(1_000)) / 1_000
}

impl Scheduler {
    /// Whether `turn` is the one that runs, so that a late report about another changes nothing.
    fn running(&self, seat: SeatNo, turn: u32) -> Option<Work> {
        match &self.seats.get(seat)?.doing {
            Doing::Running { work, .. } if self.seats[seat].turn == turn => Some(work.clone()),
            _ => None,
        }
    }

    pub(super) fn not_started(&mut self, seat: SeatNo, turn: u32, now: Moment) {
        let Some(work) = self.running(seat, turn) else {
            return;
        };
        let state = &mut self.seats[seat];
        state.doing = Doing::Idle;
        state.counted = state.counted.saturating_sub(1);
        state
            .restart
            .handle_ended(state.run, restart::End::Finished, now.ms, 0);
        let again = now.ms.saturating_add(FIRST_PAUSE_MS);
        match work {
            Work::Task { id, .. } => {
                self.not_before.insert(id, again);
            }
            Work::Mail => state.paused = Some((again, PauseCause::Failure)),
        }
    }

    pub(super) fn ended(&mut self, seat: SeatNo, turn: u32, end: End, jitter: u16, now: Moment) {
        let Some(work) = self.running(seat, turn) else {
            return;
        };
        let lost_again = end == End::SessionLost && self.seats[seat].lost_session;
        let end = if lost_again { End::Crashed } else { end };
        self.seats[seat].lost_session = end == End::SessionLost;
        self.note_for_restart(seat, end, jitter, now);
        let (task, mail) = match end {
            End::Succeeded => {
                self.succeeded(seat, &work);
                (Settlement::Complete, MailSettlement::Acknowledge)
            }
            End::Failed => {
                let task = self.failed(seat, &work, jitter, now);
                (task, MailSettlement::GiveBack)
            }
            End::Refused => {
                let retries = self.terms(&work).map_or(0, |(_, retries)| retries);
                if let Work::Task { id, .. } = &work {
                    self.failures.insert(id.clone(), retries.saturating_add(1));
                }
                (Settlement::Fail, MailSettlement::GiveBack)
            }
            End::Crashed => (self.unless_over(seat), MailSettlement::GiveBack),
            End::Limited(until) => {
                self.limited(seat, until, jitter, now);
                (self.unless_over(seat), MailSettlement::Keep)
            }
            End::HeldBack(until) | End::Outbid(until) => {
                self.uncount(seat);
                let until = until.max(now.ms.saturating_add(1));
                let cause = match end {
                    End::Outbid(_) => PauseCause::Others,
                    _ => PauseCause::Team,
                };
                self.seats[seat].paused = Some((until, cause));
                (self.unless_over(seat), MailSettlement::Keep)
            }
            End::Barred(reason) => {
                self.uncount(seat);
                self.stop_seat(seat, reason);
                (Settlement::PutBack, MailSettlement::GiveBack)
            }
            End::SessionLost => {
                self.uncount(seat);
                (self.unless_over(seat), MailSettlement::Keep)
            }
            End::Stopped => (Settlement::PutBack, MailSettlement::GiveBack),
        };
        let mail = match mail {
            MailSettlement::Keep if self.ending.is_some() => MailSettlement::GiveBack,
            mail => mail,
        };
        self.seats[seat].doing = Doing::Settling {
            work: work.clone(),
            offered: task,
        };
        self.orders.push_back(Order::Settle {
            seat,
            turn,
            task: matches!(work, Work::Task { .. }).then_some(task),
            mail,
        });
    }

    fn terms<'w>(&self, work: &'w Work) -> Option<(&'w str, u32)> {
        match work {
            Work::Task { id, .. } => {
                let retries = self.tasks.terms(id).map_or(0, |terms| terms.retries);
                Some((id, retries))
            }
            Work::Mail => None,
        }
    }

    /// Held for the member's next turn, if there will be one.
    fn unless_over(&self, seat: SeatNo) -> Settlement {
        if self.ending.is_some() || self.seats[seat].stopped.is_some() {
            Settlement::PutBack
        } else {
            Settlement::Hold
        }
    }

    fn uncount(&mut self, seat: SeatNo) {
        let state = &mut self.seats[seat];
        state.counted = state.counted.saturating_sub(1);
    }

    fn note_for_restart(&mut self, seat: SeatNo, end: End, jitter: u16, now: Moment) {
        let state = &mut self.seats[seat];
        let how = match end {
            End::Crashed => restart::End::Failed,
            _ => restart::End::Finished,
        };
        state.restart.handle_ended(state.run, how, now.ms, jitter);
        if matches!(state.restart.standing(), restart::Standing::Due { .. }) && end == End::Crashed
        {
            state.restarts = state.restarts.saturating_add(1);
        }
        if let restart::Order::GiveUp(reason) = state.restart.next(now.ms)
            && end == End::Crashed
        {
            let restarts = match reason {
                restart::Reason::NeverRestarted => 0,
                restart::Reason::TooManyRestarts { restarts, .. } => restarts,
            };
            self.stop_seat(seat, StopReason::GaveUp { restarts });
        }
    }

    fn succeeded(&mut self, seat: SeatNo, work: &Work) {
        let state = &mut self.seats[seat];
        state.mail_failures = 0;
        match work {
            Work::Mail => state.mail_turns = state.mail_turns.saturating_add(1),
            Work::Task { .. } => state.progress(),
        }
        self.pauses.remove(&state.plan.profile);
    }

    fn failed(&mut self, seat: SeatNo, work: &Work, jitter: u16, now: Moment) -> Settlement {
        let Some((id, retries)) = self.terms(work) else {
            let state = &mut self.seats[seat];
            let pause = growing(
                FIRST_PAUSE_MS,
                LONGEST_PAUSE_MS,
                state.mail_failures,
                jitter,
            );
            state.mail_failures = state.mail_failures.saturating_add(1);
            state.paused = Some((now.ms.saturating_add(pause), PauseCause::Failure));
            return Settlement::PutBack;
        };
        if self.may_try_again(id, retries, jitter, now) {
            Settlement::PutBack
        } else {
            Settlement::Fail
        }
    }

    /// Counts a failure of a task, and answers whether it may be tried again, later.
    fn may_try_again(&mut self, id: &str, retries: u32, jitter: u16, now: Moment) -> bool {
        let failures = self.failures.entry(id.to_string()).or_default();
        *failures = failures.saturating_add(1);
        let before = *failures - 1;
        let again = before < retries;
        if again {
            let pause = growing(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, before, jitter);
            self.not_before
                .insert(id.to_string(), now.ms.saturating_add(pause));
        }
        again
    }

    fn limited(&mut self, seat: SeatNo, until: Option<i64>, jitter: u16, now: Moment) {
        self.uncount(seat);
        let began = match self.seats[seat].doing {
            Doing::Running { since, .. } => since,
            Doing::Idle | Doing::Settling { .. } => now.ms,
        };
        let profile = self.seats[seat].plan.profile.clone();
        let before = self.pauses.get(&profile).copied();
        // Who began before the pause did met the same limit, not one more.
        let streak = match before {
            Some(pause) if began < pause.until => pause.streak,
            Some(pause) => pause.streak.saturating_add(1),
            None => 0,
        };
        let ends = match until {
            Some(until) => {
                // A limit that ends at once, or ended already, would be met again at once; one that was met again
                // did not end when it was said to.
                let least = match streak.checked_sub(1) {
                    None => FIRST_PAUSE_MS,
                    Some(times) => growing(FIRST_AGAIN_MS, LONGEST_LIMIT_MS, times, jitter),
                };
                until.max(now.ms.saturating_add(least))
            }
            None => {
                let guess = growing(FIRST_LIMIT_MS, LONGEST_LIMIT_MS, streak, 0);
                now.ms.saturating_add(guess)
            }
        };
        let known = before.map_or(now.ms, |pause| pause.until);
        let until = known.max(ends);
        self.pauses.insert(profile, Pause { until, streak });
        let spread = (ends.saturating_sub(now.ms) / 10).min(LIMIT_SPREAD_MS);
        let later = spread.saturating_mul(i64::from(jitter.min(1_000))) / 1_000;
        self.seats[seat].paused = Some((ends.saturating_add(later), PauseCause::Limit));
    }

    pub(super) fn settled(&mut self, seat: SeatNo, turn: u32, status: Option<Status>, now: Moment) {
        let Some(state) = self.seats.get_mut(seat) else {
            return;
        };
        let Doing::Settling { work, offered } = state.doing.clone() else {
            return;
        };
        if state.turn != turn {
            return;
        }
        state.doing = Doing::Idle;
        let (Work::Task { id, .. }, Some(status)) = (&work, status) else {
            return;
        };
        let held = self.ending.is_none() && state.stopped.is_none();
        if status == Status::InProgress && held {
            state.held = Some(id.clone());
        }
        self.tasks.expect(id, status);
        match status {
            Status::InProgress if held => {}
            Status::InProgress => self.orders.push_back(Order::PutBack {
                seat,
                task: id.clone(),
            }),
            Status::Failed => self.failed_for_good_or_not(id, offered, now),
            Status::Pending if offered == Settlement::Complete => {
                // Its member gave it back itself. Whoever takes it next does not do so in the same instant.
                let again = now.ms.saturating_add(FIRST_PAUSE_MS);
                self.not_before.insert(id.clone(), again);
            }
            Status::Pending | Status::Completed => {}
        }
    }

    /// A task stands as failed, by our word or by its member's own. `offered` is what the turn's end had earned it.
    fn failed_for_good_or_not(&mut self, id: &str, offered: Settlement, now: Moment) {
        let retries = self.tasks.terms(id).map_or(0, |terms| terms.retries);
        let again = match offered {
            Settlement::Fail => false,
            // The failure was counted when the turn ended.
            Settlement::PutBack => true,
            Settlement::Complete | Settlement::Hold => self.may_try_again(id, retries, 0, now),
        };
        if again && self.ending.is_none() {
            self.orders.push_back(Order::Retry(id.to_string()));
            self.tasks.expect(id, Status::Pending);
        } else if self.after_failure == AfterFailure::End && self.ending.is_none() {
            self.end(Ending::FirstFailure);
        }
    }
}
