//! What a limiter looks like from outside: spent, reserved, left.

use alloc::collections::BTreeMap;
use serde::Serialize;

use super::usage::{Account, Reserved, Tally, Used};
use super::window::Load;
use super::{Limiter, Limits, Pause};
use crate::name::Name;
use crate::price::Micros;
use crate::time::Timestamp;

/// One member's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemberStatus {
    /// What it used.
    pub used: Used,
    /// What it has set aside.
    pub reserved: Reserved,
    /// What is left of its budget, in micro-dollars; `None` is without limit.
    pub left: Option<Micros>,
}

/// The limiter at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status<'a> {
    /// The limits.
    pub limits: &'a Limits,
    /// What the team used.
    pub used: Used,
    /// What running calls have set aside.
    pub reserved: Reserved,
    /// What is left of the team's budget, in micro-dollars; `None` is without limit.
    pub left: Option<Micros>,
    /// What counts in the last 60 seconds.
    pub window: Load,
    /// The pause, while there is one.
    pub pause: Option<&'a Pause>,
    /// Each member that ever asked.
    pub members: BTreeMap<&'a Name, MemberStatus>,
    /// What was used per task.
    pub tasks: &'a Tally,
    /// What was used per model.
    pub models: &'a Tally,
}

impl Limiter {
    /// What it looks like now.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status<'_> {
        let left = |budget: Option<Micros>, account: Account| {
            let gone = account.used.cost.plus(account.reserved.cost);
            budget.map(|budget| budget.minus(gone))
        };
        let member = |(name, account): (&'_ Name, &Account)| MemberStatus {
            used: account.used,
            reserved: account.reserved,
            left: left(self.limits.budget_of(name), *account),
        };
        let team = self.books.team;
        let members = self.books.members.iter();
        Status {
            limits: &self.limits,
            used: team.used,
            reserved: team.reserved,
            left: left(self.limits.budget, team),
            window: self.window.load(self.instant(now)),
            pause: self.pause.as_ref().filter(|pause| pause.holds(now)),
            members: members.map(|row| (row.0, member(row))).collect(),
            tasks: &self.books.tasks,
            models: &self.books.models,
        }
    }
}
