//! Whether a team still lives, and why it ended: known to every handle of it.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lifeline {
    why: Mutex<Option<String>>,
    cut: Notify,
}

impl Lifeline {
    /// The team has ended. The first reason stays.
    pub(crate) fn cut(&self, why: &str) {
        self.why
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| why.to_string());
        self.cut.notify_waiters();
    }

    /// Why the team ended, if it has.
    pub(crate) fn why(&self) -> Option<String> {
        self.why
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until the team has ended.
    pub(crate) async fn ended(&self) {
        loop {
            let cut = self.cut.notified();
            tokio::pin!(cut);
            // Enlisted before the look, so that a cut between the two is not missed.
            cut.as_mut().enable();
            if self.why().is_some() {
                return;
            }
            cut.await;
        }
    }
}
