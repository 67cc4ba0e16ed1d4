//! Spans of time: in words for sentences that a person or a model reads (`4 min 59 s`), and as people write them in
//! commands and files (`90s`, `10m`, `1h30m`, `500ms`; a bare number is seconds).
//!
//! Words are rounded up to the unit that is shown, so that whoever waits that long has waited long enough. What
//! [`written`] writes, [`read`] reads.

use alloc::format;
use alloc::string::String;

/// What a span looks like, for whoever wrote something else.
pub const LOOKS_LIKE: &str = "a span looks like 90s, 10m, 1h30m or 500ms";

/// Units with their length in milliseconds, each before its own prefix.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Reads a span as people write it, in milliseconds. `None` for anything else.
#[must_use]
pub fn read(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse::<u64>().ok()?.checked_mul(1_000);
    }
    let mut rest = text;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let (unit, length) = UNITS.iter().find(|(unit, _)| tail.starts_with(unit))?;
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(*length)?)?;
        rest = &tail[unit.len()..];
    }
    Some(sum)
}

/// `ms` milliseconds as people write them, in whole seconds and larger units; milliseconds below a second.
#[must_use]
pub fn written(ms: u64) -> String {
    let seconds = ms / 1_000;
    if seconds == 0 {
        return format!("{ms}ms");
    }
    let parts = [
        (seconds / 3_600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let named = parts.iter().filter(|(number, _)| *number > 0);
    named
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect()
}

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
    fn spans_are_read_as_people_write_them() {
        for (text, ms) in [
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h", 3_600_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("2d", 172_800_000),
            ("5", 5_000),
            ("0", 0),
        ] {
            assert_eq!(read(text), Some(ms), "{text}");
            assert_eq!(read(&written(ms)), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_span_is_none() {
        for text in [
            "",
            "m",
            "-5s",
            "1.5h",
            "10 m",
            "5x",
            "99999999999999999999s",
            "9999999999999999999h",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

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
