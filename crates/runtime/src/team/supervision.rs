//! Supervision: the parts of a team run together, or are started again together.
//!
//! Parts are started in order and stopped in the opposite one, so a later part may count on those before it. When one
//! ends by itself, by panic or otherwise, all of them are stopped and started again (`one_for_all`); how often and how
//! soon is [`Restart`]'s rule, and when it says that this goes too far, the supervisor gives up and says why.
//!
//! | what happens | what follows |
//! |---|---|
//! | a part ends or panics | all others are stopped, last first; all are started again after the back-off |
//! | a second part ends while others are being stopped | it is counted as stopped; nothing waits for it |
//! | a part does not end when told to | it is aborted after a moment; one that blocks its thread is left behind |
//! | too many restarts | all stay down, and [`Ending::GaveUp`] says why |
//!
//! Always holds: no part runs beside an earlier life of itself, except one that blocks its thread for good.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::restart::{End, Order, Policy, Reason, Restart, Wanted};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Entropy};

/// How long a part may take to end when told to, before it is aborted; and again, before it is left behind.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a part does until its token is cancelled. It answers why when it ends by itself.
pub(crate) type Life = Pin<Box<dyn Future<Output = String> + Send>>;

/// A part of a team: its name, and how a life of it begins.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) begin: Box<dyn Fn(CancellationToken) -> Life + Send + Sync>,
}

/// How a supervisor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was told to.
    Stopped,
    /// The parts ended too often.
    GaveUp {
        part: String,
        why: String,
        reason: Reason,
    },
}

/// Why a task ended, in words.
pub(crate) fn words(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panic_words(&*panic),
        Err(_) => "it was aborted".to_string(),
    }
}

/// What a panic said.
pub(crate) fn panic_words(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned());
    match said {
        Some(said) => format!("panicked: {said}"),
        None => "panicked".to_string(),
    }
}

struct Alive {
    abort: AbortHandle,
    token: CancellationToken,
}

/// The parts of one round, in the order in which they were started.
struct Round {
    tasks: JoinSet<String>,
    alive: Vec<Option<Alive>>,
    index: HashMap<Id, usize>,
}

impl Round {
    fn begin(parts: &[Part]) -> Self {
        let mut round = Self {
            tasks: JoinSet::new(),
            alive: Vec::with_capacity(parts.len()),
            index: HashMap::new(),
        };
        for (at, part) in parts.iter().enumerate() {
            let token = CancellationToken::new();
            let abort = round.tasks.spawn((part.begin)(token.clone()));
            round.index.insert(abort.id(), at);
            round.alive.push(Some(Alive { abort, token }));
        }
        round
    }

    /// The next part that ends, and why. `None` when none is left.
    async fn next_end(&mut self) -> Option<(usize, String)> {
        let (id, why) = match self.tasks.join_next_with_id().await? {
            Ok((id, why)) => (id, why),
            Err(broken) => (broken.id(), words(broken)),
        };
        let at = self.index.remove(&id)?;
        self.alive[at] = None;
        Some((at, why))
    }

    async fn end_of(&mut self, at: usize) {
        while self.alive[at].is_some() && self.next_end().await.is_some() {}
    }

    /// Stops what is alive, last first.
    async fn stop(&mut self) {
        for at in (0..self.alive.len()).rev() {
            let Some(part) = &self.alive[at] else {
                continue;
            };
            let abort = part.abort.clone();
            part.token.cancel();
            if timeout(PATIENCE, self.end_of(at)).await.is_ok() {
                continue;
            }
            abort.abort();
            if timeout(PATIENCE, self.end_of(at)).await.is_err() {
                // It blocks its thread. Whoever waits for it longer is blocked too.
                self.index.remove(&abort.id());
                self.alive[at] = None;
            }
        }
        self.tasks.detach_all();
    }
}

/// Keeps `parts` running until `stop` is cancelled.
pub(crate) async fn supervise(
    parts: Vec<Part>,
    policy: Policy,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    stop: CancellationToken,
) -> Ending {
    let mut restart = Restart::new(policy);
    restart.want(Wanted::Up, clock.monotonic());
    loop {
        match restart.next(clock.monotonic()) {
            Order::WaitUntil(at) => {
                let wait = at.saturating_sub(clock.monotonic()).max(0).unsigned_abs();
                let waited = tokio::time::sleep(Duration::from_millis(wait));
                tokio::select! {
                    () = waited => continue,
                    () = stop.cancelled() => return Ending::Stopped,
                }
            }
            Order::Start => {}
            // Nothing else is answered to who is wanted and not up.
            Order::Nothing | Order::Stop | Order::GiveUp(_) => return Ending::Stopped,
        }
        let run = restart.handle_started(clock.monotonic());
        let mut round = Round::begin(&parts);
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            ended = round.next_end() => ended,
        };
        round.stop().await;
        let Some((at, why)) = ended else {
            return Ending::Stopped;
        };
        let jitter = entropy.permille().unwrap_or_default();
        restart.handle_ended(run, End::Failed, clock.monotonic(), jitter);
        if let Order::GiveUp(reason) = restart.next(clock.monotonic()) {
            let part = parts[at].name.clone();
            return Ending::GaveUp { part, why, reason };
        }
    }
}

#[cfg(test)]
mod tests;
