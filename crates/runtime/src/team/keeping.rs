//! Keepers: what time does to claims and to reservations, done and told when it comes.
//!
//! Nothing depends on them: a claim or a reservation whose deadline has come counts no more by comparison alone. They are
//! there so that holders are told and lines are handed on without anybody asking. A keeper sleeps until the next deadline
//! or until something it keeps has changed; a store that others write to is looked at now and then beside that.

use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::Timestamp;
use pitcrew_store::Place;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::home::Home;
use crate::desk::{Desk, NotDone};

/// How often a store that others write to is looked at.
const SWEEP_MS: u64 = 30_000;

/// How long a keeper waits after something broke, at first and at most.
const FIRST_MS: u64 = 500;

/// What keepers wait for.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    claims: Notify,
    limits: Notify,
}

impl Moved {
    /// A document was written.
    pub(crate) fn note(&self, place: &Place) {
        match place {
            Place::Claims => self.claims.notify_one(),
            Place::Limits => self.limits.notify_one(),
            _ => {}
        }
    }
}

/// What a keeper keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Claims on lines.
    Claims,
    /// Reservations and pauses.
    Limits,
}

impl Kept {
    fn sweep(self, desk: &Desk<'_>) -> Result<Option<Timestamp>, NotDone> {
        match self {
            Self::Claims => desk.sweep_claims(),
            Self::Limits => desk.sweep_limits(),
        }
    }

    fn moved(self, moved: &Moved) -> &Notify {
        match self {
            Self::Claims => &moved.claims,
            Self::Limits => &moved.limits,
        }
    }
}

/// Keeps until told to stop.
pub(crate) async fn keep(
    kept: Kept,
    home: Home,
    moved: Arc<Moved>,
    stop: CancellationToken,
) -> String {
    let mut patience = FIRST_MS;
    loop {
        let again = match home.ask(move |desk| kept.sweep(desk)).await {
            Ok(next) => {
                patience = FIRST_MS;
                let now = Timestamp::from_millis(home.clock().now());
                let left = next.map(|at| at.millis_since(now).max(1).unsigned_abs());
                match home.store().is_prompt() {
                    true => left,
                    false => Some(left.unwrap_or(SWEEP_MS).min(SWEEP_MS)),
                }
            }
            // A deadline that cannot be acted on now is acted on later; meanwhile it holds by comparison.
            Err(_) => {
                patience = (patience * 2).min(SWEEP_MS);
                Some(patience)
            }
        };
        let wait = async {
            match again {
                Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return "told to".to_string(),
            () = wait => {}
            () = kept.moved(&moved).notified() => {}
        }
    }
}
