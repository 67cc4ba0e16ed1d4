//! What a team may spend and how fast: the settings of the limiter.
//!
//! Each limit is optional, and any one of them switches the limiter on.

use alloc::collections::BTreeMap;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::price::Micros;
use crate::refusal::Refusal;

/// How long a reservation is kept when nobody settles it, in milliseconds.
pub const RESERVATION_TTL_MS: u64 = 5 * 60 * 1_000;

/// The limits of one team. `None` is without limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// What the team may spend in all, in micro-dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Micros>,
    /// What each member may spend in all, in micro-dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_budget: Option<Micros>,
    /// What single members may spend instead, in micro-dollars.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub member_budgets: BTreeMap<Name, Micros>,
    /// Requests of the whole team in any 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpm: Option<u64>,
    /// Tokens of the whole team in any 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpm: Option<u64>,
    /// After how many milliseconds a reservation that nobody settled is refunded.
    pub reservation_ttl_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            budget: None,
            member_budget: None,
            member_budgets: BTreeMap::new(),
            rpm: None,
            tpm: None,
            reservation_ttl_ms: RESERVATION_TTL_MS,
        }
    }
}

impl Limits {
    /// Whether there is anything to keep to. Without, everything is admitted and counted.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.budget.is_some()
            || self.member_budget.is_some()
            || !self.member_budgets.is_empty()
            || self.rpm.is_some()
            || self.tpm.is_some()
    }

    /// What this member may spend in all.
    #[must_use]
    pub fn budget_of(&self, member: &Name) -> Option<Micros> {
        let own = self.member_budgets.get(member).copied();
        own.or(self.member_budget)
    }

    /// Checks settings before they are taken.
    ///
    /// # Errors
    /// `invalid_input`: reservations must live for a second to a day.
    pub fn check(&self) -> Result<(), Refusal> {
        if (1_000..=86_400_000).contains(&self.reservation_ttl_ms) {
            return Ok(());
        }
        Err(Refusal::input(
            "reservation_ttl_ms",
            "must be between one second and one day",
        ))
    }

    pub(super) fn ttl_ms(&self) -> i64 {
        i64::try_from(self.reservation_ttl_ms).unwrap_or(i64::MAX)
    }
}

/// What happens to a call when the limiter cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnreachable {
    /// It is refused.
    #[default]
    Refuse,
    /// It is made, unlimited and uncounted (`fail_open`).
    Admit,
}

impl WhenUnreachable {
    /// Decides on a call while the limiter cannot be reached, for the reason `why`.
    ///
    /// # Errors
    /// `limiter_unreachable`, unless the team chose to go on.
    pub fn decide(self, why: &str) -> Result<(), Refusal> {
        match self {
            Self::Admit => Ok(()),
            Self::Refuse => Err(Refusal::LimiterUnreachable { why: why.into() }),
        }
    }
}
