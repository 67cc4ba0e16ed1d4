//! Spans of time on the command line: `90s`, `10m`, `1h30m`, `500ms`; a bare number is seconds.

use std::time::Duration;

use pitcrew_core::span;

/// Reads a span.
///
/// # Errors
/// What a span looks like, for any other text.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    span::read(text)
        .map(Duration::from_millis)
        .ok_or_else(|| span::LOOKS_LIKE.to_string())
}

/// A span as people write it.
pub(crate) fn words(span: Duration) -> String {
    span::written(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// A span in milliseconds, as rules take it.
pub(crate) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_in_words_can_be_read_again() {
        for ms in [0, 20, 1_000, 90_000, 3_600_000, 3_725_000] {
            let span = Duration::from_millis(ms);
            assert_eq!(parse(&words(span)), Ok(span));
        }
        assert_eq!(parse("soon"), Err(span::LOOKS_LIKE.to_string()));
    }
}
