//! Another price for a call that runs: what it sets aside follows what is known of it.
//!
//! | the money set aside | becomes |
//! |---|---|
//! | [`Hold::Money`], as much as is left beside it | that |
//! | [`Hold::Money`], more than is left | all that is left, and never less than it was |
//! | [`Hold::Everything`] | all that is left; where no budget holds the member, what it was |
//!
//! Always holds: spent and set aside together pass no budget by this. Tokens and the window stay as they are.

use alloc::vec::Vec;

use super::{LimitEvent, Limiter, Reservation, ReservationId};
use crate::name::Name;
use crate::price::Micros;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// How much money a call is to hold while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// So much: its price is known.
    Money(Micros),
    /// All that is left: nobody knows its price, so nothing that costs something may begin beside it.
    Everything,
}

/// What a call holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repriced {
    /// The money set aside.
    pub cost: Option<Micros>,
    /// What happened beside it.
    pub events: Vec<LimitEvent>,
}

impl Limiter {
    /// Changes the money that a call which still runs has set aside.
    ///
    /// # Errors
    /// `already_settled`, also for one that has lapsed; `unknown_reservation`.
    pub fn reprice(
        &mut self,
        id: ReservationId,
        member: &Name,
        hold: Hold,
        now: Timestamp,
    ) -> Result<Repriced, Refusal> {
        self.transact(now, |limiter, events| {
            let Some(kept) = limiter.open.get(&id) else {
                return Err(limiter.closed(id, member));
            };
            let cost = limiter.held(kept, hold);
            let (owner, tokens, before) = (kept.member.clone(), kept.tokens, kept.set_aside());
            if let Some(kept) = limiter.open.get_mut(&id) {
                kept.cost = cost;
            }
            limiter.books.give_back(&owner, tokens, before);
            limiter
                .books
                .set_aside(&owner, tokens, cost.unwrap_or_default());
            Ok(Repriced { cost, events })
        })
    }

    fn held(&self, kept: &Reservation, hold: Hold) -> Option<Micros> {
        let before = kept.set_aside();
        let team = (self.limits.budget, self.books.team);
        let own = (
            self.limits.budget_of(&kept.member),
            self.books.member(&kept.member),
        );
        let beside = |(budget, account): (Option<Micros>, super::usage::Account)| {
            let others = account.reserved.cost.minus(before);
            budget.map(|budget| budget.minus(account.used.cost).minus(others))
        };
        let most = [team, own].into_iter().filter_map(beside).min();
        match (hold, most) {
            (Hold::Everything, None) => kept.cost,
            (Hold::Everything, Some(most)) => Some(most),
            (Hold::Money(cost), None) => Some(cost),
            (Hold::Money(cost), Some(most)) => Some(cost.min(most.max(before))),
        }
    }
}
