//! The facts of claims and limits, as events have them: without anchors, tokens of others, and words of providers.

use alloc::string::ToString;

use super::Fact;
use crate::claim::{Claim, ClaimEvent, Request};
use crate::limiter::LimitEvent;
use crate::refusal::Refusal;

impl From<&ClaimEvent> for Fact {
    fn from(event: &ClaimEvent) -> Self {
        match event {
            ClaimEvent::ClaimMade { claim } => {
                let Claim {
                    id,
                    member,
                    file,
                    lines,
                    until,
                    ..
                } = claim.clone();
                Self::ClaimMade {
                    claim: id,
                    member,
                    file,
                    lines,
                    until,
                }
            }
            ClaimEvent::ClaimRenewed { claim } => {
                let Claim {
                    id,
                    member,
                    file,
                    lines,
                    until,
                    ..
                } = claim.clone();
                Self::ClaimRenewed {
                    claim: id,
                    member,
                    file,
                    lines,
                    until,
                }
            }
            ClaimEvent::ClaimWaiting { waiting, waits_for } => Self::ClaimWaiting {
                ticket: waiting.ticket,
                member: waiting.member.clone(),
                file: waiting.file.clone(),
                lines: waiting.lines,
                waits_for: waits_for.clone(),
            },
            ClaimEvent::ClaimGranted {
                ticket,
                claim,
                waited_ms,
            } => Self::ClaimGranted {
                ticket: *ticket,
                claim: claim.id,
                member: claim.member.clone(),
                file: claim.file.clone(),
                lines: claim.lines,
                until: claim.until,
                waited_ms: *waited_ms,
            },
            ClaimEvent::WaitEnded { waiting, cause } => Self::ClaimWaitEnded {
                ticket: waiting.ticket,
                member: waiting.member.clone(),
                file: waiting.file.clone(),
                lines: waiting.lines,
                cause: *cause,
            },
            ClaimEvent::ClaimEnded { claim, cause } => {
                let Claim {
                    id,
                    member,
                    file,
                    lines,
                    ..
                } = claim.clone();
                Self::ClaimEnded {
                    claim: id,
                    member,
                    file,
                    lines,
                    cause: *cause,
                }
            }
            ClaimEvent::ClaimMoved { claim, from } => {
                let Claim {
                    id,
                    member,
                    file,
                    lines,
                    ..
                } = claim.clone();
                Self::ClaimMoved {
                    claim: id,
                    member,
                    file,
                    lines,
                    before: *from,
                }
            }
        }
    }
}

impl Fact {
    /// That `request` was refused, when it was for what others hold or wait for. Mistakes of the caller are no events.
    #[must_use]
    pub fn claim_refused(request: &Request<'_>, refused: &Refusal) -> Option<Self> {
        let holders = match refused {
            Refusal::ClaimConflict(facts) => facts
                .holders
                .iter()
                .map(|holder| holder.member.clone())
                .collect(),
            Refusal::Deadlock(_) => alloc::vec::Vec::new(),
            _ => return None,
        };
        Some(Self::ClaimRefused {
            member: request.member.clone(),
            file: request.file.clone(),
            lines: request.lines,
            code: refused.code().to_string(),
            holders,
        })
    }

    /// That a call of `member` for `tokens` was refused, when the limits refused it.
    #[must_use]
    pub fn limit_denied(member: &crate::Name, tokens: u64, refused: &Refusal) -> Option<Self> {
        let retry_after_ms = match refused {
            Refusal::RateLimited(facts) => Some(facts.retry_after_ms),
            Refusal::BudgetExceeded(_)
            | Refusal::NeverFits(_)
            | Refusal::LimiterUnreachable { .. } => None,
            _ => return None,
        };
        Some(Self::LimitDenied {
            member: member.clone(),
            code: refused.code().to_string(),
            tokens,
            retry_after_ms,
        })
    }
}

impl From<&LimitEvent> for Fact {
    fn from(event: &LimitEvent) -> Self {
        match event {
            LimitEvent::ReservationLapsed { reservation } => Self::ReservationLapsed {
                reservation: reservation.id.0,
                member: reservation.member.clone(),
            },
            LimitEvent::ReservationDropped { reservation } => Self::ReservationDropped {
                reservation: reservation.id.0,
                member: reservation.member.clone(),
            },
            LimitEvent::SettledByAnother { id, owner, by } => Self::ReservationSettledByAnother {
                reservation: id.0,
                owner: owner.clone(),
                by: by.clone(),
            },
            LimitEvent::SettledLate { id, owner } => Self::ReservationSettledLate {
                reservation: id.0,
                owner: owner.clone(),
            },
            LimitEvent::BudgetReached {
                member,
                spent,
                budget,
            } => Self::BudgetReached {
                member: member.clone(),
                spent: *spent,
                budget: *budget,
            },
            LimitEvent::TeamPaused { until, .. } => Self::TeamPaused { until: *until },
            LimitEvent::TeamResumed { until } => Self::TeamResumed { until: *until },
            LimitEvent::ClockStepped { from, to } => Self::ClockStepped {
                before: *from,
                now: *to,
            },
        }
    }
}
