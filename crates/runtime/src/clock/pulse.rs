//! A beat at equal spans, for what has to be done again while something else is awaited.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

/// Beats at once and then after every span. Beats that nobody awaited are not made up for.
#[derive(Debug)]
pub struct Pulse(Interval);

impl Pulse {
    /// A beat every `span`, at least a millisecond. To be made inside a runtime with timers.
    #[must_use]
    pub fn every(span: Duration) -> Self {
        let mut beats = interval(span.max(Duration::from_millis(1)));
        beats.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self(beats)
    }

    /// The next beat. Giving up on it loses none.
    pub async fn beat(&mut self) {
        self.0.tick().await;
    }
}
