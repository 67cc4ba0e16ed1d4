//! Ranges of lines: inclusive on both ends, `0 <= start <= end`.
//!
//! Two ranges overlap when `s1 <= e2 && s2 <= e1`. Whatever comes from outside is checked here, so that a range that
//! exists is a good one.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::Refusal;

/// An inclusive range of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Ends")]
pub struct Lines {
    start: u64,
    end: u64,
}

#[derive(Deserialize)]
struct Ends {
    start: u64,
    end: u64,
}

impl TryFrom<Ends> for Lines {
    type Error = Refusal;

    fn try_from(ends: Ends) -> Result<Self, Refusal> {
        Self::new(ends.start, ends.end)
    }
}

impl Lines {
    /// The lines `start` to `end`, both included.
    ///
    /// # Errors
    /// `invalid_range` when the end is before the start.
    pub fn new(start: u64, end: u64) -> Result<Self, Refusal> {
        if start <= end {
            return Ok(Self { start, end });
        }
        let (start, end) = (start.to_string(), end.to_string());
        Err(refuse(start, end, "the end is before the start"))
    }

    /// The range that a request in JSON names.
    ///
    /// # Errors
    /// `invalid_range` when a line is missing, negative or not a whole number, or the end is before the start.
    pub fn from_json(start: Option<&Value>, end: Option<&Value>) -> Result<Self, Refusal> {
        match (start.and_then(line), end.and_then(line)) {
            (Some(start), Some(end)) => Self::new(start, end),
            _ => {
                let text = |v: Option<&Value>| v.map_or_else(|| "nothing".into(), Value::to_string);
                Err(refuse(text(start), text(end), NOT_WHOLE))
            }
        }
    }

    /// The range that two words on a command line name.
    ///
    /// # Errors
    /// `invalid_range` as for [`Lines::from_json`].
    pub fn parse(start: &str, end: &str) -> Result<Self, Refusal> {
        let line = |text: &str| -> Option<u64> {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|_| digits)
        };
        match (line(start), line(end)) {
            (Some(start), Some(end)) => Self::new(start, end),
            _ => Err(refuse(start.into(), end.into(), NOT_WHOLE)),
        }
    }

    /// The first line.
    #[must_use]
    pub fn start(self) -> u64 {
        self.start
    }

    /// The last line.
    #[must_use]
    pub fn end(self) -> u64 {
        self.end
    }

    /// Whether the ranges have a line in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Whether the ranges overlap or follow each other without a gap.
    #[must_use]
    pub fn touches(self, other: Self) -> bool {
        self.start <= other.end.saturating_add(1) && other.start <= self.end.saturating_add(1)
    }

    /// The lines that both have.
    #[must_use]
    pub fn common(self, other: Self) -> Option<Self> {
        self.overlaps(other).then(|| Self {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
        })
    }

    /// The smallest range that has the lines of both.
    #[must_use]
    pub fn span(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The lines of this range without those of `other`: none, one or two pieces, in order.
    #[must_use]
    pub fn without(self, other: Self) -> Vec<Self> {
        let Some(common) = self.common(other) else {
            return Vec::from([self]);
        };
        let before = (common.start > self.start).then(|| Self {
            start: self.start,
            end: common.start - 1,
        });
        let after = (common.end < self.end).then(|| Self {
            start: common.end + 1,
            end: self.end,
        });
        before.into_iter().chain(after).collect()
    }

    /// The lines of this range that are in none of `others`, in order.
    #[must_use]
    pub fn without_all(self, others: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut left = Vec::from([self]);
        for other in others {
            left = left
                .into_iter()
                .flat_map(|piece| piece.without(other))
                .collect();
        }
        left
    }
}

const NOT_WHOLE: &str = "lines are whole numbers, 0 or more";

fn refuse(start: String, end: String, why: &str) -> Refusal {
    let why = why.into();
    Refusal::InvalidRange { start, end, why }
}

fn line(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        // Some writers put every number as a float.
        let number = value.as_f64()?;
        let whole = (0.0..9e15).contains(&number).then_some(number as u64)?;
        (whole as f64 == number).then_some(whole)
    })
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start == self.end {
            true => write!(f, "{}", self.start),
            false => write!(f, "{}-{}", self.start, self.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn lines(start: u64, end: u64) -> Lines {
        Lines::new(start, end).unwrap()
    }

    #[test]
    fn e2_a_range_is_two_whole_numbers_in_order() {
        let read = |start: Value, end: Value| {
            Lines::from_json(Some(&start), Some(&end)).map_err(|refusal| refusal.code())
        };
        assert_eq!(read(json!(0), json!(5)), Ok(lines(0, 5)));
        assert_eq!(read(json!(5), json!(5)), Ok(lines(5, 5)));
        assert_eq!(read(json!(3.0), json!(5)), Ok(lines(3, 5)));
        for (start, end) in [
            (json!(20), json!(10)),
            (json!(-1), json!(5)),
            (json!(1.5), json!(5)),
            (json!(1), json!("5")),
            (json!(null), json!(5)),
            (json!(1), json!(1e300)),
            (json!(1), json!([2])),
        ] {
            assert_eq!(read(start, end), Err("invalid_range"));
        }
        let missing = Lines::from_json(Some(&json!(1)), None).unwrap_err();
        assert_eq!(
            missing,
            Refusal::InvalidRange {
                start: "1".into(),
                end: "nothing".into(),
                why: NOT_WHOLE.into(),
            }
        );
    }

    #[test]
    fn e2_words_are_read_as_strictly() {
        assert_eq!(Lines::parse("10", "20"), Ok(lines(10, 20)));
        for (start, end) in [
            ("20", "10"),
            ("-1", "5"),
            ("+1", "5"),
            ("a", "5"),
            ("", "5"),
            ("1", "1.5"),
        ] {
            let refusal = Lines::parse(start, end).unwrap_err();
            assert_eq!(refusal.code(), "invalid_range", "{start} {end}");
        }
    }

    #[test]
    fn a_range_in_a_document_is_checked_too() {
        assert!(serde_json::from_str::<Lines>(r#"{"start":2,"end":1}"#).is_err());
        assert!(serde_json::from_str::<Lines>(r#"{"start":-2,"end":1}"#).is_err());
    }

    proptest! {
        #[test]
        fn ranges_are_sets_of_lines(a in 0u64..12, b in 0u64..12, c in 0u64..12, d in 0u64..12) {
            let (one, two) = (lines(a.min(b), a.max(b)), lines(c.min(d), c.max(d)));
            let has = |range: Lines, line: u64| (range.start..=range.end).contains(&line);
            let both = (0..12).any(|line| has(one, line) && has(two, line));
            prop_assert_eq!(one.overlaps(two), both);
            prop_assert_eq!(one.overlaps(two), two.overlaps(one));
            prop_assert!(!one.overlaps(two) || one.touches(two));
            let left = one.without(two);
            for line in 0..12 {
                let expected = has(one, line) && !has(two, line);
                prop_assert_eq!(left.iter().any(|piece| has(*piece, line)), expected);
            }
        }

        #[test]
        fn the_largest_lines_do_not_overflow(a: u64, b: u64) {
            let (one, top) = (lines(a.min(b), a.max(b)), lines(u64::MAX, u64::MAX));
            let _ = (one.touches(top), one.without(top), one.span(top), top.without(one));
        }
    }
}
