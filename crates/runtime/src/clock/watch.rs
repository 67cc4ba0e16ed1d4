//! Notices what a wall clock hides: that it was set, and that the machine slept.
//!
//! A [`Watch`] remembers one set of readings and compares the next with it. Sleep is what the boot clock has
//! and the monotonic clock has not; a jump is what the wall clock has and the boot clock has not. Both are
//! reported at once when both happened between two looks.
//!
//! What always holds: differences below the tolerance are carried over, not forgotten, so that a clock that is
//! slewed slowly is reported once it has drifted far enough. The watch has no timer: whoever scans, looks.

use super::Clock;

/// What happened to the clocks between two looks, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The machine was suspended for so long. Silence during that time says nothing about anybody.
    Slept {
        /// How long, always positive.
        for_ms: i64,
    },
    /// The wall clock was set.
    Jumped {
        /// By how much: positive is forward.
        by_ms: i64,
    },
    /// Both: the wall clock moved by more or less than the sleep explains.
    SleptAndJumped {
        /// How long the machine slept, always positive.
        for_ms: i64,
        /// By how much the wall clock was set beside that.
        by_ms: i64,
    },
}

/// Compares clock readings from look to look.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    tolerance_ms: i64,
    wall: i64,
    monotonic: i64,
    boot: i64,
}

impl Watch {
    /// Differences up to this are the noise of reading three clocks one after another.
    pub const TOLERANCE_MS: i64 = 2_000;

    /// Starts watching from the present readings.
    #[must_use]
    pub fn start(clock: &dyn Clock) -> Self {
        Self {
            tolerance_ms: Self::TOLERANCE_MS,
            wall: clock.now(),
            monotonic: clock.monotonic(),
            boot: clock.elapsed_since_boot(),
        }
    }

    /// The same watch with another tolerance.
    #[must_use]
    pub fn with_tolerance_ms(mut self, tolerance_ms: i64) -> Self {
        self.tolerance_ms = tolerance_ms;
        self
    }

    /// Compares the present readings with the last reported ones.
    pub fn look(&mut self, clock: &dyn Clock) -> Option<Disturbance> {
        let (wall, monotonic, boot) = (clock.now(), clock.monotonic(), clock.elapsed_since_boot());
        let slept = (boot - self.boot) - (monotonic - self.monotonic);
        let jumped = (wall - self.wall) - (boot - self.boot);
        let slept = (slept > self.tolerance_ms).then_some(slept);
        let jumped = (jumped.abs() > self.tolerance_ms).then_some(jumped);
        let found = match (slept, jumped) {
            (None, None) => return None,
            (Some(for_ms), None) => Disturbance::Slept { for_ms },
            (None, Some(by_ms)) => Disturbance::Jumped { by_ms },
            (Some(for_ms), Some(by_ms)) => Disturbance::SleptAndJumped { for_ms, by_ms },
        };
        (self.wall, self.monotonic, self.boot) = (wall, monotonic, boot);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ManualClock;
    use super::*;

    fn check(change: impl Fn(&ManualClock), expected: Option<Disturbance>) {
        let clock = ManualClock::at(1_700_000_000_000);
        let mut watch = Watch::start(&clock);
        change(&clock);
        assert_eq!(watch.look(&clock), expected);
        assert_eq!(watch.look(&clock), None, "a disturbance is reported once");
    }

    #[test]
    fn time_that_passes_is_no_disturbance() {
        check(|clock| clock.advance(86_400_000), None);
    }

    #[test]
    fn a_suspended_machine_is_told_from_a_clock_that_was_set() {
        check(
            |clock| clock.suspend(3_600_000),
            Some(Disturbance::Slept { for_ms: 3_600_000 }),
        );
        check(
            |clock| clock.set_wall_by(-90_000),
            Some(Disturbance::Jumped { by_ms: -90_000 }),
        );
    }

    #[test]
    fn a_sleep_and_a_jump_between_two_looks_are_both_seen() {
        check(
            |clock| {
                clock.suspend(600_000);
                clock.advance(1_000);
                clock.set_wall_by(30_000);
            },
            Some(Disturbance::SleptAndJumped {
                for_ms: 600_000,
                by_ms: 30_000,
            }),
        );
    }

    #[test]
    fn a_slow_drift_is_reported_once_it_has_grown() {
        let clock = ManualClock::at(0);
        let mut watch = Watch::start(&clock).with_tolerance_ms(100);
        for _ in 0..4 {
            clock.advance(1_000);
            clock.set_wall_by(25);
            assert_eq!(watch.look(&clock), None);
        }
        clock.set_wall_by(25);
        assert_eq!(watch.look(&clock), Some(Disturbance::Jumped { by_ms: 125 }));
    }
}
