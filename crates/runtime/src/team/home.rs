//! Where a team is: its store, clock and chance, and how asynchronous code asks them.
//!
//! A store that answers at once is asked where one stands; any other on a thread that may wait. A step that an agent
//! takes goes through its fence, so that nothing of it moves once the fence is closed.

use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_store::Store;
use tokio::task::spawn_blocking;

use super::fence::Fence;
use crate::clock::{Clock, Entropy};
use crate::desk::{Desk, Unsaid};
use crate::tools::Files;

/// One team's place. A clone is the same place.
#[derive(Clone)]
pub(crate) struct Home(Arc<Place>);

struct Place {
    team: Name,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    files: Files,
    unsaid: Unsaid,
}

impl Home {
    pub(crate) fn new(
        team: Name,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        files: Files,
    ) -> Self {
        Self(Arc::new(Place {
            team,
            store,
            clock,
            entropy,
            files,
            unsaid: Unsaid::new(),
        }))
    }

    pub(crate) fn team(&self) -> &Name {
        &self.0.team
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    pub(crate) fn entropy(&self) -> &Arc<dyn Entropy> {
        &self.0.entropy
    }

    pub(crate) fn files(&self) -> &Files {
        &self.0.files
    }

    /// The desk, for code that may wait.
    pub(crate) fn desk(&self) -> Desk<'_> {
        let place = &*self.0;
        Desk::new(&place.team, &*place.store, &*place.clock, &*place.entropy).noting(&place.unsaid)
    }

    /// What could not be written of what happened, or did not follow from it, since somebody last asked.
    pub(crate) fn unsaid(&self) -> &Unsaid {
        &self.0.unsaid
    }

    /// Monotonic milliseconds, for deadlines and back-off.
    pub(crate) fn monotonic(&self) -> i64 {
        self.0.clock.monotonic()
    }

    /// Takes a step at the desk. Dropping the future does not end a step that has begun.
    pub(crate) async fn ask<A: Send + 'static>(
        &self,
        step: impl FnOnce(&Desk<'_>) -> A + Send + 'static,
    ) -> A {
        if self.0.store.is_prompt() {
            return step(&self.desk());
        }
        let home = self.clone();
        match spawn_blocking(move || step(&home.desk())).await {
            Ok(answer) => answer,
            Err(broken) => match broken.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is being shut down, and whoever asked with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Takes a step of an agent's run; `None` when its fence is closed.
    pub(crate) async fn ask_within<A: Send + 'static>(
        &self,
        fence: &Arc<Fence>,
        step: impl FnOnce(&Desk<'_>) -> A + Send + 'static,
    ) -> Option<A> {
        let pass = fence.enter()?;
        Some(
            self.ask(move |desk| {
                let answer = step(desk);
                drop(pass);
                answer
            })
            .await,
        )
    }
}
