//! Spans of time in words, for sentences that a person or a model reads: `4 min 59 s`.
//!
//! Rounded up to the unit that is shown, so that whoever waits that long has waited long enough.

use alloc::format;
use alloc::string::String;

/// `ms` milliseconds in words.
#[must_use]
pub fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let minutes = seconds.div_ceil(60);
    match seconds {
        _ if ms < 1_000 => format!("{ms} ms"),
        0..60 => format!("{seconds} s"),
        60..3_600 => two(seconds, 60, "min", "s"),
        _ => two(minutes, 60, "h", "min"),
    }
}

/// `count` small units, of which `per` are a large one.
fn two(count: u64, per: u64, large: &str, small: &str) -> String {
    match (count / per, count % per) {
        (whole, 0) => format!("{whole} {large}"),
        (whole, rest) => format!("{whole} {large} {rest} {small}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_in_its_two_largest_units() {
        for (ms, words) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (1_001, "2 s"),
            (59_001, "1 min"),
            (299_000, "4 min 59 s"),
            (3_600_000, "1 h"),
            (3_600_001, "1 h 1 min"),
            (7_199_000, "2 h"),
            (90_000_000, "25 h"),
        ] {
            assert_eq!(span(ms), words, "{ms}");
        }
        assert!(span(u64::MAX).ends_with("min"));
    }
}
