//! Time and chance: the one home of reading a clock and of drawing random bytes.
//!
//! | reading | jumps | counts while the machine sleeps | for |
//! |---|---|---|---|
//! | [`Clock::now`] | yes | yes | what people read and what is written down |
//! | [`Clock::monotonic`] | never | no | how long something took |
//! | [`Clock::elapsed_since_boot`] | never | yes, where the system can tell | noticing a sleep |
//!
//! All three are whole milliseconds. Everything else in pitcrew is handed the time as an argument, so a test
//! drives a [`ManualClock`] by hand and never waits. [`Watch`] compares the readings and says when the wall
//! clock was set or the machine was suspended; [`Entropy`] is the same idea for randomness.
//!
//! Not here: waiting. Timers belong to tokio, and deadlines are compared by the machines of core.

mod entropy;
mod pulse;
mod timer;
mod watch;
mod zone;

pub use entropy::{Entropy, EntropyError, SeededEntropy, SystemEntropy};
pub use pulse::Pulse;
pub use timer::TimerClock;
pub use watch::{Disturbance, Watch};
pub use zone::utc_offset_s;

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A source of time. Every reading is in milliseconds.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Wall time since the Unix epoch. It may jump, in both directions.
    fn now(&self) -> i64;

    /// Time since some fixed point of this process. It never goes backwards and stands still while the
    /// machine sleeps.
    fn monotonic(&self) -> i64;

    /// Like [`monotonic`](Clock::monotonic), but sleep counts. Where the system has no such clock this is the
    /// monotonic reading, and a sleep then looks like a wall clock that was set forward.
    fn elapsed_since_boot(&self) -> i64;
}

/// The machine's own clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock"
    )]
    fn now(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => whole_millis(since.as_millis()),
            Err(before) => -whole_millis(before.duration().as_millis()),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the monotonic clock"
    )]
    fn monotonic(&self) -> i64 {
        static START: OnceLock<Instant> = OnceLock::new();
        whole_millis(START.get_or_init(Instant::now).elapsed().as_millis())
    }

    #[cfg(target_os = "linux")]
    fn elapsed_since_boot(&self) -> i64 {
        let at = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        at.tv_sec * 1_000 + at.tv_nsec / 1_000_000
    }

    #[cfg(not(target_os = "linux"))]
    fn elapsed_since_boot(&self) -> i64 {
        self.monotonic()
    }
}

fn whole_millis(millis: u128) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock {
    wall: AtomicI64,
    monotonic: AtomicI64,
    boot: AtomicI64,
}

impl ManualClock {
    /// A clock whose wall time is `now`; the other two readings start at zero.
    #[must_use]
    pub fn at(now: i64) -> Self {
        Self {
            wall: AtomicI64::new(now),
            monotonic: AtomicI64::new(0),
            boot: AtomicI64::new(0),
        }
    }

    /// Time passes: all three readings move.
    pub fn advance(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::SeqCst);
        self.monotonic.fetch_add(millis, Ordering::SeqCst);
        self.boot.fetch_add(millis, Ordering::SeqCst);
    }

    /// Somebody sets the wall clock by `millis`, forward or back; nothing else moves.
    pub fn set_wall_by(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::SeqCst);
    }

    /// The machine sleeps: the monotonic reading stands still.
    pub fn suspend(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::SeqCst);
        self.boot.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.wall.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> i64 {
        self.monotonic.load(Ordering::SeqCst)
    }

    fn elapsed_since_boot(&self) -> i64 {
        self.boot.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_reads_a_present_day_and_never_runs_backwards() {
        let clock = SystemClock;
        let year_2024 = 1_704_067_200_000;
        assert!(clock.now() > year_2024);
        let (first, boot) = (clock.monotonic(), clock.elapsed_since_boot());
        assert!(clock.monotonic() >= first);
        assert!(clock.elapsed_since_boot() >= boot);
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = ManualClock::at(1_000);
        assert_eq!((clock.now(), clock.monotonic()), (1_000, 0));
        clock.advance(5);
        clock.set_wall_by(-100);
        clock.suspend(40);
        assert_eq!(
            (clock.now(), clock.monotonic(), clock.elapsed_since_boot()),
            (945, 5, 45)
        );
    }
}
