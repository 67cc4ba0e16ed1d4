//! What a turn's end means for what the team shares: its money, its pause, its claims.
//!
//! What always holds: what a turn used is booked, and what a member held is ended, before anybody is told that the turn
//! is over or that the member stopped. A limit of a provider that says when it ends pauses the whole team until then, and
//! is found so by every process.
//!
//! When the claims or the limits cannot be kept, that is told and the run goes on: what is held ends by its deadline.

use pitcrew_core::Timestamp;
use pitcrew_core::claim::EndCause;
use pitcrew_core::limiter::Limits;
use pitcrew_core::price::Micros;

use super::super::ending::TurnResult;
use super::super::event::{Fact, Spending, TurnOutcome};
use super::super::scheduler::{Event, SeatNo};
use super::super::{allowance, own};
use super::{Driver, desk_of};

/// The limits as they were last seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Seen {
    limits: Limits,
    pause: Option<Timestamp>,
    /// The money that is set aside.
    reserved: Micros,
}

impl Driver<'_> {
    /// Books what a turn used, pauses the team for a provider, and ends what a member held that did not come to its end.
    pub(super) fn close_books(&mut self, seat: SeatNo, result: &TurnResult) {
        let desk = desk_of(&self.setup, &self.ground, &self.tools, &self.unsaid);
        let gear = &mut self.gears[seat];
        let turn = gear.turn.as_mut();
        let allowance = turn.and_then(|turn| turn.allowance.take());
        let claim = gear.turn.as_ref().and_then(|turn| turn.claim.as_ref());
        let task = claim.map(|claim| claim.task.clone());
        let began = gear.turn.as_ref().is_some_and(|turn| turn.group.is_some());
        let booked = match allowance {
            Some(allowance) if !began => allowance::release(&desk, gear.name(), allowance),
            allowance => {
                let shown = &mut self.shown;
                allowance::settle(&desk, gear, shown, allowance, task.as_ref(), result)
            }
        };
        if let Err(failed) = booked {
            let name = self.gears[seat].name();
            let why = own::in_full(&failed);
            self.note(format!("what {name} used cannot be booked: {why}"));
        }
        self.reprice_running();
        if let Some(fault) = &result.usage_fault {
            let profile = &self.gears[seat].entry.profile;
            self.note(format!(
                "what turns of profile {profile} use counts as estimated where their agent does not say it: {fault}"
            ));
        }
        if let (TurnOutcome::Limited, Some(until)) = (result.outcome, result.resets_at_ms) {
            self.pause_team(until, result.why.as_deref().unwrap_or("a limit"));
        }
        match result.outcome {
            TurnOutcome::Crashed => self.end_holds(seat, EndCause::Crashed),
            TurnOutcome::TimedOut | TurnOutcome::Stopped | TurnOutcome::Killed => {
                self.end_holds(seat, EndCause::Stopped);
            }
            TurnOutcome::Succeeded
            | TurnOutcome::Failed
            | TurnOutcome::Refused
            | TurnOutcome::Limited
            | TurnOutcome::HeldBack
            | TurnOutcome::SessionLost => {}
        }
    }

    /// Lets the turns that run hold what is known of their price by now.
    fn reprice_running(&mut self) {
        for seat in 0..self.gears.len() {
            let desk = desk_of(&self.setup, &self.ground, &self.tools, &self.unsaid);
            let gear = &mut self.gears[seat];
            let done = allowance::reprice(&desk, gear, &self.shown, &self.limits.limits);
            if let Err(failed) = done {
                let name = self.gears[seat].name();
                let why = own::in_full(&failed);
                self.note(format!(
                    "what is set aside for {name} stays as it is: {why}"
                ));
            }
        }
    }

    /// Ends the claims, waits and reservations of a member.
    pub(super) fn end_holds(&mut self, seat: SeatNo, cause: EndCause) {
        let name = self.gears[seat].name();
        if let Err(failed) = self.desk().end_member(name, cause) {
            let why = own::in_full(&failed);
            self.note(format!(
                "what {name} held ends by its deadline, for it cannot be ended: {why}"
            ));
        }
    }

    fn pause_team(&mut self, until_ms: i64, why: &str) {
        let until = Timestamp::from_millis(until_ms);
        match self.desk().pause_team(until, why) {
            Ok(_) => self.look_at_limits(),
            Err(failed) => {
                let why = own::in_full(&failed);
                self.note(format!("the team cannot be paused: {why}"));
            }
        }
    }

    /// Looks whether the limits or the pause are others by now, whoever changed them.
    pub(super) fn look_at_limits(&mut self) {
        let limiter = match self.desk().limiter() {
            Ok(limiter) => limiter,
            Err(failed) => {
                let why = own::in_full(&failed);
                return self.note(format!("the limits cannot be read: {why}"));
            }
        };
        let now = self.now();
        let status = limiter.status(now.wall);
        let seen = Seen {
            limits: limiter.limits().clone(),
            pause: status.pause.map(|pause| pause.until),
            reserved: status.reserved.cost,
        };
        let reason = status.pause.map(|pause| pause.why.clone());
        let before = std::mem::replace(&mut self.limits, seen.clone());
        if before.limits != seen.limits {
            self.reprice_running();
            self.handle(Event::LimitsChanged);
        } else if seen.reserved < before.reserved {
            self.reprice_running();
            self.handle(Event::BooksChanged);
        }
        match (before.pause, seen.pause) {
            (before, Some(until)) if before != Some(until) => {
                let reason = reason.unwrap_or_default();
                self.tell(&Fact::TeamPaused { until, reason });
            }
            (Some(until), None) => {
                if until > now.wall {
                    self.handle(Event::Resumed);
                }
                self.tell(&Fact::TeamResumed);
            }
            _ => {}
        }
    }

    /// What was spent, when the team has limits.
    pub(super) fn spending(&self) -> Option<Spending> {
        let limiter = self.desk().limiter().ok()?;
        let status = limiter.status(self.now().wall);
        limiter.limits().is_on().then_some(Spending {
            spent: status.used.cost,
            reserved: status.reserved.cost,
            left: status.left,
            tokens: status.used.tokens,
        })
    }
}
