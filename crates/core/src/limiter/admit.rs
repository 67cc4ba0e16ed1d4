//! Admission: whether a call may be made now, and what time does to a limiter.
//!
//! A refusal changes nothing, not even what time has made stale: where there is something to sweep, the decision is
//! made on a swept copy, which replaces the limiter only when the call is admitted.

use alloc::vec::Vec;

use super::denial::{BudgetExceeded, NeverFits, RateLimit, RateLimited};
use super::window::{Load, WINDOW_MS};
use super::{Ask, LAPSED, LimitEvent, Limiter, MOST_OPEN, Reservation, ReservationId, input};
use crate::name::Name;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// A call that was admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What to settle or release it with.
    pub id: ReservationId,
    /// What happened beside it.
    pub events: Vec<LimitEvent>,
}

impl Limiter {
    /// Sets aside the tokens, one request and the estimated money of a call.
    ///
    /// # Errors
    /// `budget_exceeded`, `never_fits`, `rate_limited`, in this order, each with what to do; `table_full` when too
    /// many calls are open; `invalid_usage` for absurd numbers.
    pub fn acquire(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Grant, Refusal> {
        input::check(ask.tokens, ask.cost, ask.model)?;
        self.transact(now, |limiter, events| limiter.admit(ask, now, events))
    }

    /// Runs `rule` after a sweep. When it refuses, the sweep has not happened either.
    pub(super) fn transact<A>(
        &mut self,
        now: Timestamp,
        rule: impl FnOnce(&mut Self, Vec<LimitEvent>) -> Result<A, Refusal>,
    ) -> Result<A, Refusal> {
        if !self.is_stale(now) {
            return rule(self, Vec::new());
        }
        let mut swept = self.clone();
        let events = swept.sweep(now);
        let answer = rule(&mut swept, events)?;
        *self = swept;
        Ok(answer)
    }

    fn admit(
        &mut self,
        ask: &Ask<'_>,
        now: Timestamp,
        events: Vec<LimitEvent>,
    ) -> Result<Grant, Refusal> {
        let at = self.instant(now);
        self.check_budgets(ask)?;
        self.check_rates(ask, at, now)?;
        self.check_room(now)?;

        let id = ReservationId(self.next);
        self.next = self.next.saturating_add(1);
        self.clock = at;
        let cost = ask.cost.unwrap_or_default();
        self.books.set_aside(ask.member, ask.tokens, cost);
        let reservation = Reservation {
            id,
            member: ask.member.clone(),
            at,
            tokens: ask.tokens,
            cost: ask.cost,
            task: ask.task.cloned(),
            model: ask.model.map(Into::into),
            renewed: None,
        };
        self.window.add(at, reservation.load());
        self.open.insert(id, reservation);
        Ok(Grant { id, events })
    }

    /// The instant that counts: time does not go back.
    pub(super) fn instant(&self, now: Timestamp) -> Timestamp {
        now.max(self.clock)
    }

    fn check_budgets(&self, ask: &Ask<'_>) -> Result<(), Refusal> {
        let team = (None, self.limits.budget, self.books.team);
        let own = self.limits.budget_of(ask.member);
        let member = (Some(ask.member), own, self.books.member(ask.member));
        for (member, budget, account) in [team, member] {
            let Some(budget) = budget else {
                continue;
            };
            let (spent, reserved) = (account.used.cost, account.reserved.cost);
            let passes = match ask.cost {
                Some(estimate) => spent.plus(reserved).plus(estimate) <= budget,
                None => spent < budget,
            };
            if !passes {
                let facts = BudgetExceeded::new(member, budget, spent, reserved, ask.cost);
                return Err(Refusal::BudgetExceeded(facts.into()));
            }
        }
        Ok(())
    }

    fn check_rates(&self, ask: &Ask<'_>, at: Timestamp, now: Timestamp) -> Result<(), Refusal> {
        type Rate = (RateLimit, Option<u64>, u64, fn(Load) -> u64);
        let rates: [Rate; 2] = [
            (RateLimit::Requests, self.limits.rpm, 1, |load| {
                load.requests
            }),
            (RateLimit::Tokens, self.limits.tpm, ask.tokens, |load| {
                load.tokens
            }),
        ];
        let rates = || {
            let set = rates.iter();
            set.filter_map(|(limit, most, asked, part)| Some((*limit, (*most)?, *asked, part)))
        };
        for (limit, most, asked, _) in rates() {
            if asked > most {
                return Err(Refusal::NeverFits(NeverFits::new(limit, most, asked)));
            }
        }
        let load = self.window.load(at);
        let mut first = None;
        let mut ready = now;
        if let Some(until) = self.paused_for(ask).filter(|until| *until > now) {
            ready = until;
            first = Some((RateLimit::Pause, [0, 0, 0]));
        }
        for (limit, most, asked, part) in rates() {
            let used = part(load);
            if used.saturating_add(asked) <= most {
                continue;
            }
            let falls = self.window.falls_to(at, most - asked, part);
            ready = falls.map_or(ready, |falls| falls.max(ready));
            first = first.or(Some((limit, [most, used, asked])));
        }
        let Some((limit, numbers)) = first else {
            return Ok(());
        };
        let wait = u64::try_from(ready.millis_since(now)).unwrap_or(0);
        let why = match limit {
            RateLimit::Pause => self.pause.as_ref().map(|pause| pause.why.as_str()),
            RateLimit::Requests | RateLimit::Tokens => None,
        };
        let facts = RateLimited::new(limit, numbers, wait, why);
        Err(Refusal::RateLimited(facts.into()))
    }

    /// Until when a pause holds this caller back.
    fn paused_for(&self, ask: &Ask<'_>) -> Option<Timestamp> {
        let until = self.pause.as_ref().map(|pause| pause.until);
        let jitter = i64::try_from(ask.jitter_ms).unwrap_or(i64::MAX);
        Some(until.or(self.resumed)?.plus_millis(jitter))
    }

    fn check_room(&self, now: Timestamp) -> Result<(), Refusal> {
        if self.open.len() < MOST_OPEN {
            return Ok(());
        }
        let oldest = self.open.values().next();
        let wait = oldest.map(|kept| self.lapses_at(kept).millis_since(now));
        Err(Refusal::TableFull {
            what: "open reservations".into(),
            limit: MOST_OPEN as u64,
            retry_after_ms: wait.and_then(|ms| u64::try_from(ms).ok()),
        })
    }

    pub(super) fn lapses_at(&self, reservation: &Reservation) -> Timestamp {
        let since = reservation.renewed.unwrap_or(reservation.at);
        since.plus_millis(self.limits.ttl_ms())
    }

    /// Those of which one lapses next: in the order of their numbers, renewed ones and the first that is not.
    fn next_to_lapse(&self) -> impl Iterator<Item = &Reservation> {
        let mut is_over = false;
        self.open.values().take_while(move |kept| {
            let goes_on = !is_over;
            is_over = kept.renewed.is_none();
            goes_on
        })
    }

    /// Keeps a reservation from lapsing for another while, because its call still runs. The window and the budgets
    /// stay as they are.
    ///
    /// # Errors
    /// `already_settled`, also for one that has lapsed; `unknown_reservation`.
    pub fn renew(
        &mut self,
        id: ReservationId,
        member: &Name,
        now: Timestamp,
    ) -> Result<Vec<LimitEvent>, Refusal> {
        self.transact(now, |limiter, events| {
            let at = limiter.instant(now);
            match limiter.open.get_mut(&id) {
                Some(kept) => kept.renewed = Some(at),
                None => return Err(limiter.closed(id, member)),
            }
            Ok(events)
        })
    }

    fn has_stepped_back(&self, now: Timestamp) -> bool {
        self.clock.millis_since(now) > WINDOW_MS
    }

    fn is_stale(&self, now: Timestamp) -> bool {
        let at = self.instant(now);
        let mut next = self.next_to_lapse();
        self.has_stepped_back(now)
            || next.any(|kept| self.lapses_at(kept) <= at)
            || self.pause.as_ref().is_some_and(|pause| !pause.holds(now))
    }

    /// Does what time does: refunds lapsed reservations, ends a pause, drops what has left the window. Every other
    /// call does it on the way; a sweep only makes it happen without one.
    pub fn sweep(&mut self, now: Timestamp) -> Vec<LimitEvent> {
        let mut events = Vec::new();
        if self.has_stepped_back(now) {
            events.push(self.restart(now));
        }
        let at = self.instant(now);
        let next = |limiter: &Self| {
            let mut next = limiter.next_to_lapse();
            next.find(|kept| limiter.lapses_at(kept) <= at)
                .map(|kept| kept.id)
        };
        while let Some(reservation) = next(self).and_then(|id| self.open.remove(&id)) {
            self.refund(&reservation, at);
            self.lapsed.push_back(reservation.clone());
            events.push(LimitEvent::ReservationLapsed { reservation });
        }
        while self.lapsed.len() > LAPSED {
            self.lapsed.pop_front();
        }
        if let Some(pause) = self.pause.take_if(|pause| !pause.holds(now)) {
            let until = pause.until.min(now);
            self.resumed = Some(until);
            events.push(LimitEvent::TeamResumed { until });
        }
        self.window.prune(at);
        events
    }

    /// When the next thing happens by itself: a reservation lapses or a pause ends.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let lapse = self.next_to_lapse().map(|kept| self.lapses_at(kept)).min();
        let pause = self.pause.as_ref().map(|pause| pause.until);
        lapse.into_iter().chain(pause).min()
    }

    /// Takes back what a reservation set aside.
    pub(super) fn refund(&mut self, reservation: &Reservation, at: Timestamp) {
        let (tokens, cost) = (reservation.tokens, reservation.set_aside());
        self.books.give_back(&reservation.member, tokens, cost);
        if counts(reservation, at) {
            let nothing = Load::default();
            self.window
                .correct(reservation.at, reservation.load(), nothing);
        }
    }

    /// Starts the minute of everything that counts anew, because the clock was wrong before or is wrong now.
    fn restart(&mut self, now: Timestamp) -> LimitEvent {
        let from = self.clock;
        self.window.restart(from, now);
        let left = now.plus_millis(-WINDOW_MS);
        for reservation in self.open.values_mut().chain(&mut self.lapsed) {
            reservation.at = if counts(reservation, from) { now } else { left };
            reservation.renewed = reservation.renewed.map(|_| now);
        }
        self.resumed = self.resumed.map(|at| at.min(now));
        self.clock = now;
        LimitEvent::ClockStepped { from, to: now }
    }
}

/// Whether the entry of this reservation is still in the window.
pub(super) fn counts(reservation: &Reservation, now: Timestamp) -> bool {
    now.millis_since(reservation.at) < WINDOW_MS
}
