//! Spans of time as people write them: `90s`, `10m`, `1h30m`, `500ms`; a bare number is seconds.

use std::time::Duration;

pub(crate) use pitcrew_runtime::teamfile::span_words as words;

/// Units with their length in milliseconds, each before its own prefix.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Reads a span.
///
/// # Errors
/// What a span looks like, for any other text.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    read(text)
        .map(Duration::from_millis)
        .ok_or_else(|| "a span looks like 90s, 10m, 1h30m or 500ms".to_string())
}

fn read(text: &str) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
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
    (!text.is_empty()).then_some(sum)
}

/// A span in milliseconds, as rules take it.
pub(crate) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
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
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_span_says_what_one_looks_like() {
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
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_span_in_words_can_be_read_again() {
        for ms in [0, 20, 1_000, 90_000, 3_600_000, 3_725_000] {
            let span = Duration::from_millis(ms);
            assert_eq!(parse(&words(span)), Ok(span));
        }
    }
}
