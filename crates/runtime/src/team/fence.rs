//! A fence around one run of an agent: what it does to the team goes through here, until it is closed.
//!
//! A step on the store may sit on a thread of its own, where dropping whoever asked for it does not stop it. So a step
//! enters before it begins and leaves when it is over, on whichever thread; [`Fence::close`] lets nobody in any more and
//! comes back once the last one has left. After that nothing of the run moves anything in the team.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Who is inside, and whether somebody may enter.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    state: Mutex<State>,
    left: Notify,
}

#[derive(Debug, Default)]
struct State {
    inside: usize,
    closed: bool,
}

/// One step inside a fence; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Fence>);

impl Fence {
    /// An open fence with nobody inside.
    #[must_use]
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters, unless the fence is closed.
    #[must_use]
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Pass> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.inside += 1;
        drop(state);
        Some(Pass(Arc::clone(self)))
    }

    #[cfg(test)]
    fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Lets nobody in any more, at once; who is inside is not waited for.
    pub(crate) fn shut(&self) {
        self.state().closed = true;
    }

    /// Lets nobody in any more, and waits until all have left.
    pub(crate) async fn close(&self) {
        self.shut();
        loop {
            let left = self.left.notified();
            if self.state().inside == 0 {
                return;
            }
            left.await;
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.inside -= 1;
        if state.inside == 0 {
            drop(state);
            self.0.left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_fence_lets_nobody_in_and_waits_for_who_is_inside() {
        let fence = Fence::new();
        let pass = fence.enter().unwrap();
        let closing = tokio::spawn({
            let fence = Arc::clone(&fence);
            async move { fence.close().await }
        });
        while !fence.is_closed() {
            tokio::task::yield_now().await;
        }
        assert!(fence.enter().is_none());
        assert!(!closing.is_finished());
        drop(pass);
        closing.await.unwrap();
    }
}
