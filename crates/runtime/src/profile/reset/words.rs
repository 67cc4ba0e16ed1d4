//! The words in which a time is said: names, numbers and marks, and what a few of them together mean.
//!
//! Nothing here knows what day it is; spans and times of day are plain numbers of milliseconds.

use pitcrew_core::Timestamp;

use super::{DAY_MS, HOUR_MS, MINUTE_MS};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Name(String),
    Number { value: f64, digits: usize },
    Mark(char),
    Instant(i64),
}

/// `text` as lower-case names, numbers and marks; whole ISO instants stay whole.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for part in text.split_whitespace() {
        let bare = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if let (true, Some(at)) = (bare.contains('T'), Timestamp::parse(bare)) {
            words.push(Word::Instant(at.as_millis()));
            continue;
        }
        let mut rest = part;
        while let Some(first) = rest.chars().next() {
            let length = match first {
                c if c.is_ascii_digit() => number_length(rest),
                c if c.is_alphabetic() => rest
                    .find(|c: char| !c.is_alphabetic())
                    .unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            let (word, after) = rest.split_at(length);
            words.push(match word.parse::<f64>() {
                Ok(value) if first.is_ascii_digit() => Word::Number {
                    value,
                    digits: word.len(),
                },
                _ if first.is_alphabetic() => Word::Name(word.to_lowercase()),
                _ => Word::Mark(first),
            });
            rest = after;
        }
    }
    words
}

fn number_length(text: &str) -> usize {
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let whole = digits(text);
    match text[whole..].strip_prefix('.') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => whole + 1 + digits(rest),
        _ => whole,
    }
}

/// A time of day in milliseconds after midnight: `3pm`, `3:05 p.m.`, `15:00`, `15:00:30`.
pub(super) fn time_of_day(words: &[Word]) -> Option<(i64, &[Word])> {
    let [
        Word::Number {
            value: hour,
            digits: 1..=2,
        },
        rest @ ..,
    ] = words
    else {
        return None;
    };
    let mut rest = rest;
    let mut parts = [*hour as i64, 0, 0];
    let mut colons = 0;
    while let [
        Word::Mark(':'),
        Word::Number { value, digits: 2 },
        after @ ..,
    ] = rest
    {
        if colons == 2 || value.fract() != 0.0 {
            break;
        }
        colons += 1;
        parts[colons] = *value as i64;
        rest = after;
    }
    let half = match rest {
        [Word::Name(name), after @ ..] if name == "am" || name == "pm" => {
            Some((name == "pm", after))
        }
        [Word::Name(a), Word::Mark('.'), Word::Name(m), after @ ..]
            if m == "m" && (a == "a" || a == "p") =>
        {
            Some((a == "p", after))
        }
        _ => None,
    };
    let [mut hour, minute, second] = parts;
    if let Some((afternoon, after)) = half {
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + if afternoon { 12 } else { 0 };
        rest = after;
    } else if colons == 0 {
        return None;
    }
    let real = hour < 24 && minute < 60 && second < 60;
    real.then_some((hour * HOUR_MS + minute * MINUTE_MS + second * 1_000, rest))
}

/// Whether the zone that follows a time of day is UTC.
pub(super) fn says_utc(words: &[Word]) -> bool {
    let zone = words.iter().find_map(|word| match word {
        Word::Name(name) => Some(name.as_str()),
        _ => None,
    });
    matches!(zone, Some("utc" | "gmt" | "z"))
}

/// `2 hours`, `4h12m30s`, `1 day, 2 hours and 5 minutes`, `an hour`: from the first word on.
pub(super) fn duration_ms(words: &[Word]) -> Option<i64> {
    let mut total = 0.0;
    let mut found = false;
    let mut rest = words;
    loop {
        let (count, unit, after) = match rest {
            [Word::Number { value, .. }, Word::Name(unit), after @ ..] => (*value, unit, after),
            [Word::Name(one), Word::Name(unit), after @ ..] if one == "a" || one == "an" => {
                (1.0, unit, after)
            }
            _ => break,
        };
        let Some(unit) = unit_ms(unit) else { break };
        total += count * unit;
        found = true;
        rest = match after {
            [Word::Mark(','), Word::Name(and), rest @ ..] if and == "and" => rest,
            [Word::Mark(','), rest @ ..] => rest,
            [Word::Name(and), rest @ ..] if and == "and" => rest,
            _ => after,
        };
    }
    found.then(|| total.min(1e17) as i64)
}

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE_MS as f64,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR_MS as f64,
        "d" | "day" | "days" => DAY_MS as f64,
        "w" | "week" | "weeks" => 7.0 * DAY_MS as f64,
        _ => return None,
    })
}
