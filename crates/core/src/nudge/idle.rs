//! Since when a pane is idle, as one watcher sees it scan by scan.
//!
//! The clock starts at the first look that finds the pane ready. It starts again after any other state and after a line
//! was typed, so that the prompts of a pane that never reacts come 30 s, 65 s and 100 s after it fell idle.

use crate::screen::State;
use crate::time::Timestamp;

/// One pane's clock. Kept by the watcher alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IdleClock {
    since: Option<Timestamp>,
}

impl IdleClock {
    /// Takes what a scan at `now` saw, and when the last line was typed; answers since when the pane is idle.
    pub fn handle_scan(
        &mut self,
        now: Timestamp,
        state: State,
        injected_at: Option<Timestamp>,
    ) -> Option<Timestamp> {
        self.since = match (state, self.since) {
            (State::Ready, Some(since)) if injected_at.is_none_or(|at| at < since) => Some(since),
            (State::Ready, _) => Some(now),
            _ => None,
        };
        self.since
    }
}
