//! Why the limiter says no: the facts of its refusals, each with what to do next.

use alloc::format;
use alloc::string::String;
use core::fmt;
use serde::Serialize;

use crate::name::Name;
use crate::price::Micros;
use crate::span::span;

/// The facts of `budget_exceeded`. Money in micro-dollars.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetExceeded {
    /// Whose budget; `None` is the team's.
    pub member: Option<Name>,
    /// The budget.
    pub budget: Micros,
    /// What was spent of it.
    pub spent: Micros,
    /// What running calls have set aside of it.
    pub reserved: Micros,
    /// What this call would have set aside.
    pub estimate: Option<Micros>,
    /// What to do next.
    pub next: String,
}

impl BudgetExceeded {
    pub(super) fn new(
        member: Option<&Name>,
        budget: Micros,
        spent: Micros,
        reserved: Micros,
        estimate: Option<Micros>,
    ) -> Self {
        let free = budget.minus(spent).minus(reserved);
        let only_reserved = estimate.is_some_and(|cost| spent.plus(cost) <= budget);
        let next = match estimate {
            Some(_) if only_reserved => {
                "try again when running calls have been settled, or with a smaller estimate".into()
            }
            Some(_) if free > Micros::ZERO => {
                format!(
                    "make a smaller call, of at most {free}, or ask the leader to raise the budget"
                )
            }
            _ => "make no more calls: report what you have, and ask the leader to raise the budget"
                .into(),
        };
        Self {
            member: member.cloned(),
            budget,
            spent,
            reserved,
            estimate,
            next,
        }
    }
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.member {
            None => write!(f, "the team's budget of {}", self.budget)?,
            Some(member) => write!(f, "the budget of {member}, {},", self.budget)?,
        }
        write!(f, " does not allow it: {} spent", self.spent)?;
        if self.reserved > Micros::ZERO {
            write!(f, ", {} reserved", self.reserved)?;
        }
        match self.estimate {
            Some(estimate) => write!(f, ", {estimate} asked for"),
            None => Ok(()),
        }
    }
}

/// Which limit a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimit {
    /// A provider's own limit paused the team.
    Pause,
    /// Requests a minute.
    Requests,
    /// Tokens a minute.
    Tokens,
}

impl RateLimit {
    fn unit(self) -> &'static str {
        match self {
            Self::Pause => "milliseconds",
            Self::Requests => "requests",
            Self::Tokens => "tokens",
        }
    }
}

/// The facts of `rate_limited`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RateLimited {
    /// The first limit that said no.
    pub limit: RateLimit,
    /// How much that limit allows in 60 seconds; for a pause, nothing.
    pub most: u64,
    /// How much of it is used.
    pub used: u64,
    /// How much this call asked for.
    pub asked: u64,
    /// After how many milliseconds the same call is admitted if nothing else happens in between.
    pub retry_after_ms: u64,
    /// Why the team is paused, in the provider's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What to do next.
    pub next: String,
}

impl RateLimited {
    pub(super) fn new(
        limit: RateLimit,
        [most, used, asked]: [u64; 3],
        retry_after_ms: u64,
        why: Option<&str>,
    ) -> Self {
        Self {
            limit,
            most,
            used,
            asked,
            retry_after_ms,
            why: why.map(String::from),
            next: format!("wait {} and try again", span(retry_after_ms)),
        }
    }
}

impl fmt::Display for RateLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.limit, &self.why) {
            (RateLimit::Pause, Some(why)) => write!(f, "the team is paused: {why}"),
            (RateLimit::Pause, None) => f.write_str("the team is paused"),
            (limit, _) => write!(
                f,
                "{} of {} {} used in the last minute, {} more asked for",
                self.used,
                self.most,
                limit.unit(),
                self.asked
            ),
        }
    }
}

/// The facts of `never_fits`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NeverFits {
    /// The limit that is too small for the call.
    pub limit: RateLimit,
    /// How much that limit allows in 60 seconds.
    pub most: u64,
    /// How much the call asked for.
    pub asked: u64,
    /// What to do next.
    pub next: String,
}

impl NeverFits {
    pub(super) fn new(limit: RateLimit, most: u64, asked: u64) -> Self {
        let next = match most {
            0 => "make no more calls: the leader has set this limit to nothing".into(),
            _ => format!(
                "split the call into parts of at most {most} {}",
                limit.unit()
            ),
        };
        Self {
            limit,
            most,
            asked,
            next,
        }
    }
}

impl fmt::Display for NeverFits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.limit.unit();
        write!(
            f,
            "{} {unit} can never fit: the limit is {} {unit} a minute",
            self.asked, self.most
        )
    }
}
