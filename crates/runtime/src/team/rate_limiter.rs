//! RateLimiter: what the team may spend and how fast, for a program: reserve, run, reconcile.
//!
//! A team with any limit (budget, member budget, rpm, tpm) has one. Agents ask it themselves before each model call;
//! this handle is for calls that a program makes in a member's name, and for looking. With an estimate of the cost the
//! budget is a hard ceiling however many calls run at once; without one a call is admitted while anything is left.
//!
//! Everything is counted in the team's store, so it outlives this handle and counts what other processes spend.

use pitcrew_core::limiter::{Limiter, Recorded, Report, ReservationId};
use pitcrew_core::price::Micros;
use pitcrew_core::{Name, Refusal};

use super::error::TeamError;
use super::home::Home;
use crate::desk::{Admission, NotDone, Spending};

/// The limits of one team. A clone is the same.
#[derive(Clone)]
pub struct RateLimiter {
    home: Home,
}

/// What a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// All its tokens.
    pub tokens: u64,
    /// What it cost, if that is known.
    pub cost: Option<Micros>,
    /// What it was admitted with; `None` books it after the fact.
    pub reservation: Option<ReservationId>,
}

impl RateLimiter {
    pub(crate) fn new(home: Home) -> Self {
        Self { home }
    }

    /// Sets aside tokens and one request.
    ///
    /// # Errors
    /// [`TeamError::BudgetExceeded`], [`TeamError::RateLimited`] with how long to wait; `never_fits`, `unknown_sender`,
    /// `limiter_unreachable`.
    pub async fn acquire(&self, agent: &str, tokens: u64) -> Result<ReservationId, TeamError> {
        self.acquire_with(agent, tokens, None).await
    }

    /// As [`RateLimiter::acquire`], and sets money aside: then spent, reserved and this together never pass the budget.
    ///
    /// # Errors
    /// As [`RateLimiter::acquire`].
    pub async fn acquire_with(
        &self,
        agent: &str,
        tokens: u64,
        cost: Option<Micros>,
    ) -> Result<ReservationId, TeamError> {
        let agent = agent.to_string();
        let admitted = self.home.ask(move |desk| {
            let member = desk.roster()?.sender(&agent)?;
            desk.acquire(&Spending {
                member: &member,
                tokens,
                cost,
                task: None,
                model: None,
            })
        });
        match admitted.await? {
            Admission::Reserved { id, .. } => Ok(id),
            Admission::Uncounted { why } => Err(Refusal::LimiterUnreachable { why }.into()),
        }
    }

    /// Books what a call used, in the place of its reservation if it has one.
    ///
    /// # Errors
    /// `already_settled`, `unknown_reservation`, `unknown_sender`.
    pub async fn record_usage(&self, agent: &str, used: Used) -> Result<Recorded, TeamError> {
        let agent = agent.to_string();
        let recorded = self.home.ask(move |desk| {
            let member = desk.roster()?.sender(&agent)?;
            desk.record(&Report {
                member: &member,
                reservation: used.reservation,
                tokens: used.tokens,
                cost: used.cost,
                task: None,
                model: None,
            })
        });
        Ok(recorded.await?)
    }

    /// Refunds a reservation whose call was not made.
    ///
    /// # Errors
    /// `already_settled`, `unknown_reservation`, `unknown_sender`.
    pub async fn release(&self, agent: &str, id: ReservationId) -> Result<(), TeamError> {
        let agent = agent.to_string();
        let released = self.home.ask(move |desk| {
            let member = desk.roster()?.sender(&agent)?;
            desk.release_reservation(id, &member)
        });
        released.await?;
        Ok(())
    }

    /// The limiter as it is now; its `status` at an instant says what is spent, reserved and left, and by whom.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn state(&self) -> Result<Limiter, TeamError> {
        Ok(self.home.ask(|desk| desk.limiter()).await?)
    }

    /// What is left and who used what: `%{budget_remaining:, agents:, open_reservations:}`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn status(&self) -> Result<LimiterStatus, TeamError> {
        let status = self.home.ask(|desk| {
            let (limiter, now) = (desk.limiter()?, desk.now());
            let status = limiter.status(now);
            let agents = status.members.iter().map(|(name, member)| AgentUsage {
                name: Name::clone(name),
                cost: member.used.cost,
                tokens: member.used.tokens,
                requests: member.used.requests,
            });
            Ok::<_, NotDone>(LimiterStatus {
                budget_remaining: status.left,
                agents: agents.collect(),
                open_reservations: limiter.open().count(),
            })
        });
        Ok(status.await?)
    }
}

/// What a team has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimiterStatus {
    /// What is left of the budget; `None` is without limit.
    pub budget_remaining: Option<Micros>,
    /// Each agent that ever asked.
    pub agents: Vec<AgentUsage>,
    /// How many reservations are neither settled nor given back.
    pub open_reservations: usize,
}

/// What one agent used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUsage {
    /// The agent.
    pub name: Name,
    /// What it spent.
    pub cost: Micros,
    /// Its tokens.
    pub tokens: u64,
    /// Its calls.
    pub requests: u64,
}
