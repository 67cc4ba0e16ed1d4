//! What a team may spend and how fast: asked before a model call, settled after it, by any number of processes.
//!
//! The rules are core's ([`pitcrew_core::limiter`]); every call is one transaction on one small document, so the ceiling
//! holds whoever asks at once. Without limits everything is admitted and counted.
//!
//! When the document cannot be read or kept, a call is refused, unless the team chose to go on without
//! (`limiter_unreachable: admit`). The leader is told once when a budget is spent.

use pitcrew_core::event::Fact;
use pitcrew_core::limiter::{
    Ask, Hold, LimitEvent, Limiter, Limits, Recorded, Report, ReservationId, WhenUnreachable,
    jitter_ms,
};
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::name::LEADER;
use pitcrew_core::price::Micros;
use pitcrew_core::{Name, Refusal, TaskId, Timestamp};
use pitcrew_store::{StoreExt, StoreFailure};

use super::{Desk, Failure, NotDone};

/// Over how many milliseconds members spread when a pause ends.
const SPREAD_MS: u64 = 5_000;

/// A model call that wants to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spending<'a> {
    /// Who makes it.
    pub member: &'a Name,
    /// Its tokens, estimated.
    pub tokens: u64,
    /// Its cost, estimated.
    pub cost: Option<Micros>,
    /// The task that it is for.
    pub task: Option<&'a TaskId>,
    /// The model that it goes to.
    pub model: Option<&'a str>,
}

/// A call that may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Set aside under this number, to be settled or released.
    Reserved {
        /// The number.
        id: ReservationId,
        /// What happened beside it.
        events: Vec<LimitEvent>,
    },
    /// The limiter cannot be reached and the team goes on without: there is nothing to settle.
    Uncounted {
        /// Why it cannot be reached.
        why: String,
    },
}

/// What becomes of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Setting<T> {
    /// It stays.
    #[default]
    Keep,
    /// It is lifted.
    Lift,
    /// It is this from now on.
    To(T),
}

/// A change of the limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitChange {
    /// What the team may spend in all.
    pub budget: Setting<Micros>,
    /// What each member may spend in all.
    pub member_budget: Setting<Micros>,
    /// What single members may spend instead.
    pub member_budgets: Vec<(Name, Setting<Micros>)>,
    /// Requests in any 60 seconds.
    pub rpm: Setting<u64>,
    /// Tokens in any 60 seconds.
    pub tpm: Setting<u64>,
    /// After how many milliseconds an unsettled reservation is refunded.
    pub reservation_ttl_ms: Option<u64>,
}

impl<T> Setting<T> {
    fn apply(&self, limit: &mut Option<T>)
    where
        T: Copy,
    {
        match self {
            Self::Keep => {}
            Self::Lift => *limit = None,
            Self::To(value) => *limit = Some(*value),
        }
    }
}

impl LimitChange {
    fn apply(&self, limits: &Limits) -> Limits {
        let mut limits = limits.clone();
        self.budget.apply(&mut limits.budget);
        self.member_budget.apply(&mut limits.member_budget);
        self.rpm.apply(&mut limits.rpm);
        self.tpm.apply(&mut limits.tpm);
        for (member, setting) in &self.member_budgets {
            let mut own = limits.member_budgets.remove(member);
            setting.apply(&mut own);
            limits
                .member_budgets
                .extend(own.map(|own| (member.clone(), own)));
        }
        limits.reservation_ttl_ms = self.reservation_ttl_ms.unwrap_or(limits.reservation_ttl_ms);
        limits
    }
}

impl Desk<'_> {
    /// The limiter as it is now, whether anybody has set a limit or not. Its [`Limiter::status`] is what to show.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn limiter(&self) -> Result<Limiter, NotDone> {
        Ok(self.store.view::<Limiter>(&())?.unwrap_or_default())
    }

    /// Changes the limits from now on and answers them.
    ///
    /// # Errors
    /// `unknown_member` for a budget of nobody; `invalid_input` when the limits make no sense.
    pub fn set_limits(&self, change: &LimitChange) -> Result<Limits, NotDone> {
        let team = self.roster()?;
        for (member, _) in &change.member_budgets {
            team.sender(member.as_str())?;
        }
        let limits = self.on_whole(|limiter: &mut Limiter| {
            limiter.set_limits(change.apply(limiter.limits()))?;
            Ok(limiter.limits().clone())
        })?;
        self.announce(&[Fact::LimitsSet {}]);
        Ok(limits)
    }

    /// Chooses what happens to a call when the limits cannot be read.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn set_limiter_unreachable(&self, choice: WhenUnreachable) -> Result<(), NotDone> {
        self.change_roster(|team| {
            let settings = team.settings.get_or_insert_default();
            settings.limiter_unreachable = Some(choice);
            Ok(())
        })
    }

    /// Sets aside what a call may use.
    ///
    /// # Errors
    /// As [`Limiter::acquire`] says; `limiter_unreachable`.
    pub fn acquire(&self, call: &Spending<'_>) -> Result<Admission, NotDone> {
        match self.takes_work() {
            Err(NotDone::Failed(Failure::Store(failure))) => return self.without_limiter(&failure),
            answered => answered?,
        }
        let granted = self.on_whole(|limiter: &mut Limiter| {
            let reset = limiter.reset();
            let ask = Ask {
                member: call.member,
                tokens: call.tokens,
                cost: call.cost,
                task: call.task,
                model: call.model,
                jitter_ms: reset.map_or(0, |reset| jitter_ms(call.member, reset, SPREAD_MS)),
            };
            limiter.acquire(&ask, self.now())
        });
        match granted {
            Ok(grant) => {
                self.tell_of_limits(&grant.events);
                Ok(Admission::Reserved {
                    id: grant.id,
                    events: grant.events,
                })
            }
            Err(NotDone::Failed(Failure::Store(failure))) => self.without_limiter(&failure),
            Err(not_done) => {
                if let NotDone::Refused(refused) = &not_done
                    && let Some(denied) = Fact::limit_denied(call.member, call.tokens, refused)
                {
                    self.announce(&[denied]);
                }
                Err(not_done)
            }
        }
    }

    fn tell_of_limits(&self, events: &[LimitEvent]) {
        if !events.is_empty() {
            self.announce(&events.iter().map(Fact::from).collect::<Vec<_>>());
        }
    }

    /// Changes the limiter and tells what happened beside it.
    fn change_limiter(
        &self,
        mut step: impl FnMut(&mut Limiter) -> Result<Vec<LimitEvent>, Refusal>,
    ) -> Result<Vec<LimitEvent>, NotDone> {
        let events = self.on_whole(|limiter: &mut Limiter| step(limiter))?;
        self.tell_of_limits(&events);
        Ok(events)
    }

    fn without_limiter(&self, failure: &StoreFailure) -> Result<Admission, NotDone> {
        let why = failure.to_string();
        // A team that cannot be asked what it chose has chosen nothing.
        let choice = self.roster().map(|team| team.limiter_unreachable());
        choice.unwrap_or_default().decide(&why)?;
        Ok(Admission::Uncounted { why })
    }

    /// Books what a call used, in the place of its reservation if it has one.
    ///
    /// # Errors
    /// As [`Limiter::record`] says.
    pub fn record(&self, report: &Report<'_>) -> Result<Recorded, NotDone> {
        let recorded = self.on_whole(|limiter: &mut Limiter| limiter.record(report, self.now()))?;
        let booked = Fact::UsageRecorded {
            member: recorded.owner.clone(),
            tokens: recorded.tokens,
            cost: recorded.cost,
            reservation: report.reservation.map(|id| id.0),
        };
        if recorded.events.is_empty() {
            self.announce(std::slice::from_ref(&booked));
            return Ok(recorded);
        }
        let beside = recorded.events.iter().map(Fact::from);
        self.announce(&std::iter::once(booked).chain(beside).collect::<Vec<_>>());
        self.tell_of_budgets(&recorded.events, report.member)?;
        Ok(recorded)
    }

    /// Refunds a reservation whose call was not made.
    ///
    /// # Errors
    /// As [`Limiter::release`] says.
    pub fn release_reservation(
        &self,
        id: ReservationId,
        member: &Name,
    ) -> Result<Vec<LimitEvent>, NotDone> {
        let events =
            self.on_whole(|limiter: &mut Limiter| limiter.release(id, member, self.now()))?;
        let released = Fact::ReservationReleased {
            reservation: id.0,
            member: member.clone(),
        };
        let beside = events.iter().map(Fact::from);
        self.announce(&std::iter::once(released).chain(beside).collect::<Vec<_>>());
        Ok(events)
    }

    /// Keeps a reservation from lapsing for another while, because its call still runs.
    ///
    /// # Errors
    /// As [`Limiter::renew`] says.
    pub fn renew_reservation(
        &self,
        id: ReservationId,
        member: &Name,
    ) -> Result<Vec<LimitEvent>, NotDone> {
        self.change_limiter(|limiter| limiter.renew(id, member, self.now()))
    }

    /// Changes the money that a call which still runs has set aside; answers what it holds now.
    ///
    /// # Errors
    /// As [`Limiter::reprice`] says.
    pub fn reprice_reservation(
        &self,
        id: ReservationId,
        member: &Name,
        hold: Hold,
    ) -> Result<Option<Micros>, NotDone> {
        let repriced =
            self.on_whole(|limiter: &mut Limiter| limiter.reprice(id, member, hold, self.now()))?;
        self.tell_of_limits(&repriced.events);
        Ok(repriced.cost)
    }

    /// Pauses the whole team until a provider's limit resets. Mail and tasks go on.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn pause_team(&self, until: Timestamp, why: &str) -> Result<Vec<LimitEvent>, NotDone> {
        self.change_limiter(|limiter| Ok(limiter.pause(until, why, self.now())))
    }

    /// Ends a pause at once.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn resume_team(&self) -> Result<Vec<LimitEvent>, NotDone> {
        self.change_limiter(|limiter| Ok(limiter.resume(self.now())))
    }

    /// Refunds everything that a member has set aside.
    pub(super) fn end_reservations(&self, member: &Name) -> Result<Vec<LimitEvent>, NotDone> {
        match self.store.view::<Limiter>(&())? {
            Some(_) => self.change_limiter(|limiter| Ok(limiter.end_member(member, self.now()))),
            None => Ok(Vec::new()),
        }
    }

    /// Who has anything set aside.
    pub(super) fn with_reservations(&self) -> Result<Vec<Name>, NotDone> {
        let limiter = self.limiter()?;
        Ok(limiter.open().map(|kept| kept.member.clone()).collect())
    }

    /// Tells the leader which budgets were spent, each once.
    fn tell_of_budgets(&self, events: &[LimitEvent], by: &Name) -> Result<(), NotDone> {
        for event in events {
            let LimitEvent::BudgetReached {
                member,
                spent,
                budget,
            } = event
            else {
                continue;
            };
            let whose = match member {
                Some(member) => format!("The budget of {member}"),
                None => "The team's budget".to_string(),
            };
            let key = member.as_ref().map_or("team", Name::as_str);
            let notice = Draft {
                body: format!(
                    "{whose} of {budget} is spent ({spent}): calls are refused from now on. Raise it with `pitcrew \
                     limits set`, or let the work end here."
                ).into(),
                intent: Some(Intent::Inform),
                reply_to: None,
                idempotency_key: Some(format!("budget:{key}:{}", budget.get())),
            };
            let team = self.roster()?;
            let from = team.sender(by.as_str()).unwrap_or_else(|_| Name::leader());
            self.inform(&team, &from, LEADER, &notice)?;
        }
        Ok(())
    }
}
