//! Settling: what a call really used, booked to whoever asked for it.
//!
//! | the reservation | `record` | `release` |
//! |---|---|---|
//! | is open | its entry is corrected | refunded |
//! | is open, of another member | the same, booked to its owner, with a warning | the same, with a warning |
//! | lapsed a while ago | what was used is booked after all, with a warning | `already_settled` |
//! | was settled or released | `already_settled` | `already_settled` |
//! | was never given | `unknown_reservation` | `unknown_reservation` |
//!
//! An estimate may have been too low: what was used is booked all the same, even beyond a budget.

use alloc::vec::Vec;
use serde::Serialize;

use super::admit::counts;
use super::usage::Used;
use super::window::Load;
use super::{LimitEvent, Limiter, Reservation, ReservationId, input};
use crate::name::{Name, TaskId};
use crate::price::Micros;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// What a call used, reported after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// Who reports it.
    pub member: &'a Name,
    /// What it was admitted with; `None` for a call that never asked.
    pub reservation: Option<ReservationId>,
    /// All its tokens.
    pub tokens: u64,
    /// Its cost, if it is known.
    pub cost: Option<Micros>,
    /// The task that it was for; `None` is the reservation's.
    pub task: Option<&'a TaskId>,
    /// The model that answered; `None` is the reservation's.
    pub model: Option<&'a str>,
}

/// Where the booked cost comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It was reported.
    Reported,
    /// It was not reported; the reservation's estimate was booked.
    Estimated,
    /// It was neither reported nor estimated; no money was booked.
    Unpriced,
}

/// What was booked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// To whom.
    pub owner: Name,
    /// The tokens.
    pub tokens: u64,
    /// The money, in micro-dollars.
    pub cost: Micros,
    /// Where the cost comes from.
    pub basis: Basis,
    /// What happened beside it.
    pub events: Vec<LimitEvent>,
}

impl Limiter {
    /// Books what a call used. With a reservation, in its place.
    ///
    /// # Errors
    /// `already_settled`, `unknown_reservation`; `invalid_usage` for absurd numbers.
    pub fn record(&mut self, report: &Report<'_>, now: Timestamp) -> Result<Recorded, Refusal> {
        input::check(report.tokens, report.cost, report.model)?;
        self.transact(now, |limiter, events| limiter.settle(report, now, events))
    }

    fn settle(
        &mut self,
        report: &Report<'_>,
        now: Timestamp,
        mut events: Vec<LimitEvent>,
    ) -> Result<Recorded, Refusal> {
        let at = self.instant(now);
        let Some(id) = report.reservation else {
            self.window.add(
                at,
                Load {
                    tokens: report.tokens,
                    requests: 1,
                },
            );
            self.clock = at;
            return Ok(self.book(report, None, at, events));
        };
        if let Some(reservation) = self.open.remove(&id) {
            let (tokens, cost) = (reservation.tokens, reservation.set_aside());
            self.books.give_back(&reservation.member, tokens, cost);
            self.correct(&reservation, report.tokens, at);
            return Ok(self.book(report, Some(reservation), at, events));
        }
        let Some(reservation) = self.take_lapsed(id) else {
            return Err(self.closed(id, report.member));
        };
        events.push(LimitEvent::SettledLate {
            id,
            owner: reservation.member.clone(),
        });
        // Its entry was refunded when it lapsed. Where that was within the minute, the whole call counts again.
        let again = if counts(&reservation, at) {
            Load {
                tokens: report.tokens,
                requests: 1,
            }
        } else {
            Load {
                tokens: report.tokens.saturating_sub(reservation.tokens),
                requests: 0,
            }
        };
        self.add_later(again, at);
        Ok(self.book(report, Some(reservation), at, events))
    }

    /// Makes a reservation's own entry what the call really used. One that has left the window can only add.
    fn correct(&mut self, reservation: &Reservation, tokens: u64, at: Timestamp) {
        if counts(reservation, at) {
            let used = Load {
                tokens,
                requests: 1,
            };
            self.window
                .correct(reservation.at, reservation.load(), used);
        } else {
            let more = tokens.saturating_sub(reservation.tokens);
            self.add_later(
                Load {
                    tokens: more,
                    requests: 0,
                },
                at,
            );
        }
    }

    fn add_later(&mut self, load: Load, at: Timestamp) {
        if load != Load::default() {
            self.window.add(at, load);
            self.clock = at;
        }
    }

    fn book(
        &mut self,
        report: &Report<'_>,
        reservation: Option<Reservation>,
        at: Timestamp,
        mut events: Vec<LimitEvent>,
    ) -> Recorded {
        let estimate = reservation.as_ref().and_then(|kept| kept.cost);
        let (cost, basis) = match (report.cost, estimate) {
            (Some(cost), _) => (cost, Basis::Reported),
            (None, Some(estimate)) => (estimate, Basis::Estimated),
            (None, None) => (Micros::ZERO, Basis::Unpriced),
        };
        let kept_task = reservation.as_ref().and_then(|kept| kept.task.as_ref());
        let kept_model = reservation.as_ref().and_then(|kept| kept.model.as_deref());
        let task = report.task.or(kept_task).map(TaskId::as_str);
        let model = report.model.or(kept_model);
        let owner = reservation
            .as_ref()
            .map_or(report.member, |kept| &kept.member);
        let before = [
            self.books.team.used.cost,
            self.books.member(owner).used.cost,
        ];
        let used = Used::call(report.tokens, cost);
        self.books.book(owner, task, model, used, at);
        self.tell_reached(owner, before, &mut events);
        if let Some(id) = report.reservation.filter(|_| owner != report.member) {
            events.push(LimitEvent::SettledByAnother {
                id,
                owner: owner.clone(),
                by: report.member.clone(),
            });
        }
        Recorded {
            owner: match reservation {
                Some(reservation) => reservation.member,
                None => report.member.clone(),
            },
            tokens: report.tokens,
            cost,
            basis,
            events,
        }
    }

    /// Says which budgets were reached by a booking, each once.
    fn tell_reached(&self, owner: &Name, before: [Micros; 2], events: &mut Vec<LimitEvent>) {
        let team = (None, self.limits.budget, self.books.team);
        let own = self.limits.budget_of(owner);
        let member = (Some(owner), own, self.books.member(owner));
        for ((member, budget, account), before) in [team, member].into_iter().zip(before) {
            let spent = account.used.cost;
            if let Some(budget) = budget.filter(|most| before < *most && spent >= *most) {
                events.push(LimitEvent::BudgetReached {
                    member: member.cloned(),
                    spent,
                    budget,
                });
            }
        }
    }

    fn take_lapsed(&mut self, id: ReservationId) -> Option<Reservation> {
        let at = self.lapsed.iter().position(|kept| kept.id == id)?;
        self.lapsed.remove(at)
    }

    pub(super) fn closed(&self, id: ReservationId, member: &Name) -> Refusal {
        if (1..self.next).contains(&id.0) {
            return Refusal::AlreadySettled { id: id.0 };
        }
        let own = self.open.values().filter(|kept| kept.member == *member);
        Refusal::UnknownReservation {
            id: id.0,
            open: own.map(|kept| kept.id.0).take(8).collect(),
        }
    }

    /// Refunds a reservation whose call was not made or failed: as if it had never been asked for.
    ///
    /// # Errors
    /// `already_settled`, `unknown_reservation`.
    pub fn release(
        &mut self,
        id: ReservationId,
        member: &Name,
        now: Timestamp,
    ) -> Result<Vec<LimitEvent>, Refusal> {
        self.transact(now, |limiter, mut events| {
            let at = limiter.instant(now);
            let Some(reservation) = limiter.open.remove(&id) else {
                return Err(limiter.closed(id, member));
            };
            limiter.refund(&reservation, at);
            if reservation.member != *member {
                events.push(LimitEvent::SettledByAnother {
                    id,
                    owner: reservation.member,
                    by: member.clone(),
                });
            }
            Ok(events)
        })
    }

    /// Refunds everything that a member has set aside, because it stopped, crashed or was dissolved.
    pub fn end_member(&mut self, member: &Name, now: Timestamp) -> Vec<LimitEvent> {
        let mut events = self.sweep(now);
        let at = self.instant(now);
        let own = self.open.values().filter(|kept| kept.member == *member);
        let own: Vec<ReservationId> = own.map(|kept| kept.id).collect();
        for id in own {
            if let Some(reservation) = self.open.remove(&id) {
                self.refund(&reservation, at);
                events.push(LimitEvent::ReservationDropped { reservation });
            }
        }
        events
    }
}
