//! Spans of time as people write them: `90s`, `10m`, `1h30m`.

use std::time::Duration;

/// Units with their length in milliseconds, each before its own prefix.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Reads a span such as `90s`, `10m`, `1h30m` or `500ms`. `None` for anything else, and for a span without length.
#[must_use]
pub fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let (unit, length) = UNITS.iter().find(|(unit, _)| tail.starts_with(unit))?;
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(*length)?)?;
        rest = &tail[unit.len()..];
    }
    (sum > 0).then(|| Duration::from_millis(sum))
}

/// A span as people write it, in whole seconds and larger units; milliseconds below a second.
#[must_use]
pub fn span_words(span: Duration) -> String {
    let seconds = span.as_secs();
    if seconds == 0 {
        return format!("{}ms", span.as_millis());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, ms) in [
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("2d", 172_800_000),
        ] {
            let read = span(text);
            assert_eq!(read, Some(Duration::from_millis(ms)), "{text}");
            assert_eq!(span(&span_words(read.unwrap())), read, "{text}");
        }
    }

    #[test]
    fn what_is_no_span_is_none() {
        for text in [
            "",
            "0s",
            "m",
            "5",
            "-5s",
            "1.5h",
            "10 m",
            "5x",
            "99999999999999999999s",
            "9999999999999999999h",
        ] {
            assert_eq!(span(text), None, "{text}");
        }
    }
}
