//! Instants as values: whole milliseconds since 1970-01-01T00:00:00Z, written as `2026-11-30T16:22:28.904Z`.
//!
//! Nothing here reads a clock. Arithmetic saturates, so a hostile number in a file can make an instant absurd
//! but never a panic.

use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The instants that have a written form: years 0 to 9998, well inside what the calendar library takes.
const RANGE_MS: core::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_370_764_799_999;

/// An instant in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant `ms` milliseconds after the epoch, moved into the range that can be written.
    #[must_use]
    pub fn from_millis(ms: i64) -> Self {
        Self(ms.clamp(*RANGE_MS.start(), *RANGE_MS.end()))
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant moved by `ms` milliseconds.
    #[must_use]
    pub fn plus_millis(self, ms: i64) -> Self {
        Self::from_millis(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this instant; negative if `earlier` is later.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whether this deadline, of something that lasts `length_ms`, is so far ahead of `now` that it was set under another
    /// clock: more than twice its length, and a minute. A clock that was put right by a little is none.
    #[must_use]
    pub fn is_beyond(self, length_ms: i64, now: Self) -> bool {
        const SLACK_MS: i64 = 60_000;
        self.millis_since(now) > length_ms.saturating_mul(2).saturating_add(SLACK_MS)
    }

    /// Whether this deadline, of something that lasts `longest_ms` at the most, still lies ahead of `now`: the one rule of
    /// whatever ends by itself. One that is [`Self::is_beyond`] is over, or a clock that was ahead once would make it hold
    /// until then.
    #[must_use]
    pub fn is_ahead(self, longest_ms: i64, now: Self) -> bool {
        self > now && !self.is_beyond(longest_ms, now)
    }

    /// Reads an ISO 8601 instant with a zone. `None` when it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let at: jiff::Timestamp = text.parse().ok()?;
        Some(Self::from_millis(at.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match core::str::from_utf8(&self.written()) {
            Ok(text) => f.write_str(text),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl Timestamp {
    /// The written form, in ASCII. Done here because every event has one, and events are many.
    pub(crate) fn written(self) -> [u8; 24] {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let (day, ms) = (self.0.div_euclid(DAY_MS), self.0.rem_euclid(DAY_MS));
        let (year, month, day) = civil(day);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        digits(&mut text[0..4], year);
        digits(&mut text[5..7], month);
        digits(&mut text[8..10], day);
        digits(&mut text[11..13], ms / 3_600_000);
        digits(&mut text[14..16], ms / 60_000 % 60);
        digits(&mut text[17..19], ms / 1_000 % 60);
        digits(&mut text[20..23], ms % 1_000);
        text
    }
}

/// Year, month and day of the day that is so many days after 1970-01-01. Years are counted from March, so that the odd
/// day of a leap year is the last; a cycle of the calendar is 400 of them.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (cycle, of_cycle) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let january = i64::from(month >= 10);
    (
        year + cycle * 400 + january,
        month + 3 - 12 * january,
        of_month,
    )
}

/// Writes a number that is not negative into all of `text`.
fn digits(text: &mut [u8], mut number: i64) {
    for place in text.iter_mut().rev() {
        *place = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match core::str::from_utf8(&self.written()) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an ISO 8601 instant"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_instant_is_written_with_milliseconds_and_z() {
        assert_eq!(
            Timestamp::from_millis(1_796_055_748_904).to_string(),
            "2026-11-30T16:22:28.904Z"
        );
        assert_eq!(
            Timestamp::from_millis(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
    }

    #[test]
    fn every_day_is_written_as_the_calendar_has_it() {
        let (first, last) = RANGE_MS.into_inner();
        let odd = 86_400_000 + 3_723_007;
        let mut at = first;
        while at <= last {
            let other = jiff::Timestamp::from_millisecond(at).unwrap();
            assert_eq!(Timestamp(at).to_string(), std::format!("{other:.3}"));
            // Every day around now, some of the others.
            at += if (1_400_000_000_000..1_900_000_000_000).contains(&at) {
                odd
            } else {
                odd * 97
            };
        }
        let last = Timestamp(last).to_string();
        assert_eq!(last, "9998-12-31T23:59:59.999Z");
    }

    #[test]
    fn what_is_written_is_read_back() {
        for ms in [0, 1, -1, 999, 1_796_055_748_904, i64::MAX, i64::MIN] {
            let at = Timestamp::from_millis(ms);
            assert_eq!(Timestamp::parse(&at.to_string()), Some(at), "{ms}");
        }
    }

    #[test]
    fn arithmetic_saturates() {
        let (first, last) = (
            Timestamp::from_millis(i64::MIN),
            Timestamp::from_millis(i64::MAX),
        );
        assert_eq!(last.plus_millis(i64::MAX), last);
        assert_eq!(first.plus_millis(i64::MIN), first);
        assert_eq!(first.plus_millis(i64::MAX), last);
        assert_eq!(last.millis_since(first), 315_537_984_000_000 - 1);
        assert_eq!(first.millis_since(last), 1 - 315_537_984_000_000);
        assert_eq!(
            (first.to_string(), last.to_string()),
            (
                "0000-01-01T00:00:00.000Z".to_string(),
                "9998-12-31T23:59:59.999Z".to_string()
            )
        );
    }

    #[test]
    fn other_zones_and_precisions_are_read() {
        for text in [
            "1970-01-01T01:00:00.5+01:00",
            "1970-01-01T00:00:00.500999Z",
            "1970-01-01 00:00:00.5Z",
        ] {
            assert_eq!(
                Timestamp::parse(text),
                Some(Timestamp::from_millis(500)),
                "{text}"
            );
        }
    }

    #[test]
    fn text_that_is_no_instant_is_none() {
        for text in ["", "now", "2026-13-01T00:00:00Z", "2026-11-30"] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_deadline_is_ahead_from_when_it_is_set_until_it_comes_and_never_for_long_before(
            set in -1_000_000_000_i64..1_000_000_000,
            length in 1_i64..1_000_000,
            now in -2_000_000_000_i64..2_000_000_000,
        ) {
            let (now, set) = (Timestamp(now), Timestamp(set));
            let until = set.plus_millis(length);
            let is_ahead = until.is_ahead(length, now);
            if set <= now {
                proptest::prop_assert_eq!(is_ahead, now < until);
            }
            if is_ahead {
                proptest::prop_assert!(now < until && until.millis_since(now) <= 2 * length + 60_000);
            }
        }
    }
}
