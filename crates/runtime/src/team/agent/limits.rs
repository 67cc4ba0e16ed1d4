//! What a model call sets aside and settles: reserve, run, reconcile.
//!
//! A reservation is settled or refunded whatever comes of the call; one whose agent ends in between ends with it. A call
//! that takes long keeps its reservation from lapsing.

use std::time::Duration;

use pitcrew_core::limiter::{Report, ReservationId};
use pitcrew_core::{Name, Refusal, Timestamp};

use crate::desk::{Admission, Desk, NotDone, Spending};
use crate::model::{Estimate, Reply};

/// How often a call that runs renews its reservation: well within the shortest sensible life of one.
pub(super) const RENEW: Duration = Duration::from_secs(60);

/// What came of asking for a call.
#[derive(Debug)]
pub(super) enum Asked {
    /// It may be made; what to settle afterwards, if anything.
    Go(Option<ReservationId>),
    /// Not now; again in so many milliseconds.
    Later { why: String, for_ms: u64 },
    /// Not at all, until somebody changes the limits.
    Never { code: &'static str, why: String },
}

/// Asks for a call of this size.
pub(super) fn ask(
    desk: &Desk<'_>,
    name: &Name,
    model: &str,
    estimate: Estimate,
) -> Result<Asked, NotDone> {
    let spending = Spending {
        member: name,
        tokens: estimate.tokens,
        cost: estimate.cost,
        task: None,
        model: Some(model),
    };
    match desk.acquire(&spending) {
        Ok(Admission::Reserved { id, .. }) => Ok(Asked::Go(Some(id))),
        Ok(Admission::Uncounted { .. }) => Ok(Asked::Go(None)),
        Err(NotDone::Refused(refusal)) => Ok(match wait_of(&refusal) {
            Some(for_ms) => Asked::Later {
                why: refusal.to_string(),
                for_ms,
            },
            None => Asked::Never {
                code: refusal.code(),
                why: refusal.to_string(),
            },
        }),
        Err(failed) => Err(failed),
    }
}

/// How long a refusal says to wait, if time alone changes it.
fn wait_of(refusal: &Refusal) -> Option<u64> {
    match refusal {
        Refusal::RateLimited(limited) => Some(limited.retry_after_ms.max(1)),
        _ => None,
    }
}

/// Books what a call used, in the place of its reservation; a call that was made uncounted has nothing to settle.
pub(super) fn settle(
    desk: &Desk<'_>,
    name: &Name,
    model: &str,
    reservation: Option<ReservationId>,
    reply: &Reply,
) -> Result<(), NotDone> {
    let Some(id) = reservation else { return Ok(()) };
    let report = Report {
        member: name,
        reservation: Some(id),
        tokens: reply.usage.total(),
        cost: reply.cost,
        task: None,
        model: Some(model),
    };
    match desk.record(&report) {
        Ok(_) => Ok(()),
        // It lapsed or was settled by another meanwhile: it was counted once, as it should be.
        Err(NotDone::Refused(
            Refusal::AlreadySettled { .. } | Refusal::UnknownReservation { .. },
        )) => Ok(()),
        Err(why) => Err(why),
    }
}

/// Refunds the reservation of a call that came to nothing.
pub(super) fn refund(
    desk: &Desk<'_>,
    name: &Name,
    reservation: Option<ReservationId>,
) -> Result<(), NotDone> {
    let Some(id) = reservation else { return Ok(()) };
    match desk.release_reservation(id, name) {
        // As above.
        Ok(_) | Err(NotDone::Refused(_)) => Ok(()),
        Err(why) => Err(why),
    }
}

/// Keeps a reservation while its call runs.
pub(super) fn renew(
    desk: &Desk<'_>,
    name: &Name,
    reservation: Option<ReservationId>,
) -> Result<(), NotDone> {
    let Some(id) = reservation else { return Ok(()) };
    match desk.renew_reservation(id, name) {
        // As above.
        Ok(_) | Err(NotDone::Refused(_)) => Ok(()),
        Err(why) => Err(why),
    }
}

/// Pauses the whole team until a provider's limit resets.
pub(super) fn pause(desk: &Desk<'_>, resets_at_ms: i64, why: &str) -> Result<(), NotDone> {
    desk.pause_team(Timestamp::from_millis(resets_at_ms), why)
        .map(drop)
}
