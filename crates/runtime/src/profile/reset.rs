//! When a limit ends, from what CLIs say about it.
//!
//! | words | meaning |
//! |---|---|
//! | `resets 3pm`, `resets 15:00`, `try again at 8:43 PM` | the next such time of the local day |
//! | `resets 10pm (UTC)` | the same in UTC; any other zone in brackets is the machine's own |
//! | `resets Dec 3, 8pm`, `try again at Dec 4th, 2026 9:05 AM`, `tomorrow at 9am`, `Monday 9am` | that day |
//! | `in 2 hours`, `after 4h12m30s`, `retry in 38.5s`, `retry-after: 30` | from now on |
//! | `2026-12-04T09:05:00Z`, `\|1796076000` | that instant |
//!
//! A time that only just passed is taken as it stands, since CLIs cut off the seconds, and not as tomorrow's. What
//! cannot be read is `None`, never a guess. Zone changes between now and then are not looked at.

use serde::Deserialize;

use super::place::{Outputs, Place};
use calendar::{civil_from_days, days_from_civil, month, weekday};
use words::{Word, duration_ms, says_utc, time_of_day, words};

mod calendar;
mod words;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A time of day that passed no longer ago than this is today's.
const JUST_PASSED_MS: i64 = 10 * MINUTE_MS;

/// A limit that would end later than this was read wrong.
const FARTHEST_MS: i64 = 400 * DAY_MS;

/// How many words after "resets" or "again" may say when.
const REACH: usize = 14;

/// What a field that says when a limit ends is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reads {
    EpochS,
    EpochMs,
    DelayS,
    DelayMs,
    Text,
}

/// `[[limits.resets]]`: where it stands when a limit ends, and in which form.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResetReading {
    pub(super) at: Place,
    reads: Reads,
}

impl ResetReading {
    /// The instant, from the last place where it stands.
    pub(super) fn read(
        &self,
        outputs: &Outputs<'_>,
        now_ms: i64,
        utc_offset_s: i32,
    ) -> Option<i64> {
        let value = self.at.values(outputs).pop()?;
        let number = || {
            value
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && *n >= 0.0)
        };
        let scaled = |by: f64| number().map(|n| (n * by).min(1e17) as i64);
        let at = match self.reads {
            Reads::EpochS => scaled(1_000.0)?,
            Reads::EpochMs => scaled(1.0)?,
            Reads::DelayS => now_ms.saturating_add(scaled(1_000.0)?),
            Reads::DelayMs => now_ms.saturating_add(scaled(1.0)?),
            Reads::Text => reset_in_text(&value, now_ms, utc_offset_s)?,
        };
        believable(at, now_ms)
    }
}

fn believable(at: i64, now_ms: i64) -> Option<i64> {
    (now_ms - DAY_MS..=now_ms + FARTHEST_MS)
        .contains(&at)
        .then_some(at)
}

/// The instant, in milliseconds since the epoch, at which the limit that `text` speaks of ends. `utc_offset_s` is
/// what the machine's own zone is ahead of UTC, in seconds.
#[must_use]
pub fn reset_in_text(text: &str, now_ms: i64, utc_offset_s: i32) -> Option<i64> {
    let words = words(text);
    let anchor = |word: &Word| matches!(word, Word::Name(name) if ANCHORS.contains(&name.as_str()));
    let starts = (0..words.len()).filter(|at| anchor(&words[*at]));
    let spoken = starts.into_iter().find_map(|at| {
        let end = (at + 1 + REACH).min(words.len());
        Reader {
            words: &words[at + 1..end],
            now_ms,
            offset_ms: i64::from(utc_offset_s) * 1_000,
        }
        .instant()
    });
    // An old form: the words, a bar, and the epoch.
    let barred = || {
        text.rsplit_once('|')
            .and_then(|(_, epoch)| epoch_ms(epoch.trim().parse().ok()?))
    };
    believable(spoken.or_else(barred)?, now_ms)
}

const ANCHORS: [&str; 6] = ["reset", "resets", "again", "retry", "until", "available"];

fn epoch_ms(number: f64) -> Option<i64> {
    match number {
        n if (1e9..1e11).contains(&n) => Some((n * 1_000.0) as i64),
        n if (1e12..1e14).contains(&n) => Some(n as i64),
        _ => None,
    }
}

/// What stands after one anchor.
struct Reader<'a> {
    words: &'a [Word],
    now_ms: i64,
    offset_ms: i64,
}

impl Reader<'_> {
    fn instant(&self) -> Option<i64> {
        let words = self.without_fillers(self.words);
        match words {
            [Word::Instant(at), ..] => return Some(*at),
            [Word::Number { value, .. }, ..] if epoch_ms(*value).is_some() => {
                return epoch_ms(*value);
            }
            _ => {}
        }
        if let Some(delay) = duration_ms(words) {
            return Some(self.now_ms.saturating_add(delay));
        }
        if let Some(seconds) = self.bare_seconds(words) {
            return Some(self.now_ms.saturating_add(seconds));
        }
        self.wall_time(words)
    }

    fn without_fillers<'a>(&self, mut words: &'a [Word]) -> &'a [Word] {
        while let [first, rest @ ..] = words {
            let filler = match first {
                Word::Name(name) => FILLERS.contains(&name.as_str()),
                Word::Mark(mark) => {
                    matches!(mark, ':' | ',' | '-' | '(' | '~' | '·' | '=' | '"' | '\'')
                }
                Word::Number { .. } | Word::Instant(_) => false,
            };
            if !filler {
                break;
            }
            words = rest;
        }
        words
    }

    /// `retry-after: 30`: the one number without a unit that is understood.
    fn bare_seconds(&self, words: &[Word]) -> Option<i64> {
        let after = self.words.contains(&Word::Name("after".into()));
        match words {
            [Word::Number { value, .. }] if after && *value < 1e7 => Some((value * 1_000.0) as i64),
            _ => None,
        }
    }

    /// A day and a time of day, a day, or a time of day.
    fn wall_time(&self, words: &[Word]) -> Option<i64> {
        let (day, rest) = match self.day(words) {
            Some((day, rest)) => (Some(day), self.without_fillers(rest)),
            None => (None, words),
        };
        let (time_ms, rest) = match (time_of_day(rest), day) {
            (Some(found), _) => found,
            // A day alone begins at midnight.
            (None, Some(_)) => (0, rest),
            (None, None) => return None,
        };
        let offset_ms = if says_utc(rest) { 0 } else { self.offset_ms };
        let local_now = self.now_ms + offset_ms;
        let today = local_now.div_euclid(DAY_MS);
        let local = match day {
            Some(Day::On(day)) => day * DAY_MS + time_ms,
            Some(Day::Ahead(days)) => (today + days) * DAY_MS + time_ms,
            Some(Day::Yearly(month, day_of_month)) => {
                let (year, _, _) = civil_from_days(today);
                let this_year = days_from_civil(year, month, day_of_month) * DAY_MS + time_ms;
                let passed = this_year < local_now - DAY_MS;
                if passed {
                    days_from_civil(year + 1, month, day_of_month) * DAY_MS + time_ms
                } else {
                    this_year
                }
            }
            Some(Day::Weekday(weekday)) => {
                // The epoch was a Thursday, which is 3 when Monday is 0.
                let ahead = (weekday - (today + 3)).rem_euclid(7);
                let next = (today + ahead) * DAY_MS + time_ms;
                if next < local_now - JUST_PASSED_MS {
                    next + 7 * DAY_MS
                } else {
                    next
                }
            }
            None => {
                let at_today = today * DAY_MS + time_ms;
                if at_today < local_now - JUST_PASSED_MS {
                    at_today + DAY_MS
                } else {
                    at_today
                }
            }
        };
        Some(local - offset_ms)
    }

    fn day<'a>(&self, words: &'a [Word]) -> Option<(Day, &'a [Word])> {
        match words {
            [Word::Name(name), rest @ ..] if name == "today" => Some((Day::Ahead(0), rest)),
            [Word::Name(name), rest @ ..] if name == "tomorrow" => Some((Day::Ahead(1), rest)),
            // 2026-12-04
            [
                Word::Number {
                    value: year,
                    digits: 4,
                },
                Word::Mark('-'),
                Word::Number { value: month, .. },
                Word::Mark('-'),
                Word::Number { value: day, .. },
                rest @ ..,
            ] => Some((on(*year as i64, *month as i64, *day as i64)?, rest)),
            // Dec 4th, 2026 / 4 December 2026
            [Word::Name(name), Word::Number { value: day, .. }, rest @ ..]
                if month(name).is_some() =>
            {
                dated(month(name)?, *day as i64, rest)
            }
            [Word::Number { value: day, .. }, Word::Name(name), rest @ ..]
                if month(name).is_some() =>
            {
                dated(month(name)?, *day as i64, rest)
            }
            // Monday, or Monday, Dec 7
            [Word::Name(name), rest @ ..] => {
                let weekday = Day::Weekday(weekday(name)?);
                let rest = self.without_fillers(rest);
                let dated = rest
                    .first()
                    .filter(|word| matches!(word, Word::Name(name) if month(name).is_some()));
                if dated.is_some() {
                    self.day(rest)
                } else {
                    Some((weekday, rest))
                }
            }
            _ => None,
        }
    }
}

const FILLERS: [&str; 12] = [
    "at", "on", "in", "by", "after", "around", "about", "until", "the", "again", "is", "time",
];

#[derive(Debug, Clone, Copy)]
enum Day {
    /// Days since the epoch.
    On(i64),
    /// Days from today on.
    Ahead(i64),
    /// A month and a day of some year.
    Yearly(i64, i64),
    /// Monday is 0.
    Weekday(i64),
}

fn on(year: i64, month: i64, day: i64) -> Option<Day> {
    let real =
        (1..=12).contains(&month) && (1..=31).contains(&day) && (1970..=9_998).contains(&year);
    real.then(|| Day::On(days_from_civil(year, month, day)))
}

fn dated(month: i64, day: i64, rest: &[Word]) -> Option<(Day, &[Word])> {
    if !(1..=31).contains(&day) {
        return None;
    }
    let rest = match rest {
        [Word::Name(ordinal), rest @ ..]
            if ["st", "nd", "rd", "th"].contains(&ordinal.as_str()) =>
        {
            rest
        }
        _ => rest,
    };
    let after_comma = match rest {
        [Word::Mark(','), rest @ ..] => rest,
        _ => rest,
    };
    match after_comma {
        [
            Word::Number {
                value: year,
                digits: 4,
            },
            rest @ ..,
        ] => Some((on(*year as i64, month, day)?, rest)),
        _ => Some((Day::Yearly(month, day), rest)),
    }
}

#[cfg(test)]
mod tests;
