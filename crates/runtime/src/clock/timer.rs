//! A clock that goes with the timers of the tokio runtime: where those are paused or advanced, it is too.
//!
//! So a test that lets the runtime skip its waits sees leases, deadlines and back-off move with them, and waits for
//! nothing. Outside of a runtime whose time is paused it runs like any other.

use tokio::time::Instant;

use super::{Clock, whole_millis};

/// Wall time from a given instant on, by the runtime's timers.
#[derive(Clone, Copy, Debug)]
pub struct TimerClock {
    wall: i64,
    begun: Instant,
}

impl TimerClock {
    /// A clock whose wall time is `now`, in milliseconds since the Unix epoch; the other two readings start at zero.
    /// To be made inside the runtime whose timers it goes with.
    #[must_use]
    pub fn at(now: i64) -> Self {
        Self {
            wall: now,
            begun: Instant::now(),
        }
    }
}

impl Clock for TimerClock {
    fn now(&self) -> i64 {
        self.wall.saturating_add(self.monotonic())
    }

    fn monotonic(&self) -> i64 {
        whole_millis(self.begun.elapsed().as_millis())
    }

    fn elapsed_since_boot(&self) -> i64 {
        self.monotonic()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_moves_with_the_timers_and_only_with_them() {
        let clock = TimerClock::at(1_000);
        assert_eq!((clock.now(), clock.monotonic()), (1_000, 0));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((clock.now(), clock.monotonic()), (61_000, 60_000));
    }
}
