//! The file word by word: every key that may stand in it, each with its place.
//!
//! A key that is not listed here is refused. Values keep their place in the text, so that what does not make sense
//! later can be pointed at.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::Problem;
use super::check::unknown;

/// A text with its place.
pub(super) type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub(super) name: Option<Text>,
    #[serde(default)]
    pub(super) goal: String,
    pub(super) time_limit: Option<Text>,
    pub(super) keep_going: Option<bool>,
    #[serde(default)]
    pub(super) limits: RawLimits,
    #[serde(default)]
    pub(super) defaults: RawDefaults,
    #[serde(default)]
    pub(super) members: Vec<RawMember>,
    #[serde(default)]
    pub(super) tasks: Vec<RawTask>,
}

/// Dollars, as people write them in TOML.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Whole(i64),
    Part(f64),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLimits {
    pub(super) budget: Option<Spanned<Number>>,
    pub(super) member_budget: Option<Spanned<Number>>,
    pub(super) member_budgets: BTreeMap<Text, Spanned<Number>>,
    pub(super) rpm: Option<Spanned<u64>>,
    pub(super) tpm: Option<Spanned<u64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawDefaults {
    pub(super) profile: Option<Text>,
    pub(super) role: Option<Text>,
    pub(super) turn_limit: Option<Text>,
    pub(super) restarts: Option<u32>,
    pub(super) max_turns: Option<Spanned<u32>>,
    pub(super) retries: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMember {
    pub(super) name: Text,
    pub(super) profile: Option<Text>,
    pub(super) model: Option<Text>,
    pub(super) role: Option<Text>,
    #[serde(default)]
    pub(super) prompt: String,
    pub(super) on_mail: Option<Text>,
    #[serde(default)]
    pub(super) args: Vec<Text>,
    #[serde(default)]
    pub(super) env: BTreeMap<Text, Text>,
    pub(super) folder: Option<Text>,
    #[serde(default)]
    pub(super) allow_tools: bool,
    pub(super) restarts: Option<u32>,
    pub(super) max_turns: Option<Spanned<u32>>,
    pub(super) turn_limit: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTask {
    pub(super) id: Option<Text>,
    pub(super) description: Text,
    #[serde(rename = "for")]
    pub(super) assignee: Option<Text>,
    #[serde(default)]
    pub(super) blocked_by: Vec<Text>,
    pub(super) script: Option<Text>,
    pub(super) time_limit: Option<Text>,
    pub(super) retries: Option<u32>,
}

/// The most values of a wrong type that are named at once.
const MOST_WRONG: usize = 50;

/// Reads the text.
///
/// # Errors
/// Every value of a wrong type, up to the first place where it is no TOML, or where a key is unknown or missing.
pub(super) fn read(text: &str) -> Result<RawFile, Vec<Problem>> {
    let mut problems = Vec::new();
    // What is read: the text, with something of the right type for each value that was of a wrong one.
    let mut mended = Mended::of(text);
    loop {
        let error = match toml::from_str(&mended.text) {
            Ok(file) if problems.is_empty() => return Ok(file),
            Ok(_) => break,
            Err(error) => error,
        };
        let error: toml::de::Error = error;
        let there = error.span().unwrap_or(0..0);
        let span = mended.before(there.start)..mended.before(there.end);
        let (line, column) = place(text, span.start);
        problems.push(Problem {
            line,
            column,
            key: key_at(text, &span).to_string(),
            why: unknown_key(error.message()).unwrap_or_else(|| error.message().to_string()),
        });
        match stand_in(error.message()).filter(|_| problems.len() < MOST_WRONG) {
            Some(value) if !there.is_empty() => mended.replace(there, value),
            _ => break,
        }
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    Err(problems)
}

/// A value of the type that was expected in the place of another one.
fn stand_in(message: &str) -> Option<&'static str> {
    if message.starts_with("data did not match any variant") {
        return Some("1");
    }
    let is_type = message.starts_with("invalid type") || message.starts_with("invalid value");
    let (_, expected) = message.split_once("expected ").filter(|_| is_type)?;
    let first = expected.trim_start_matches("a ").trim_start_matches("an ");
    Some(match first.split([' ', ',']).next()? {
        "string" => "\"x\"",
        "sequence" => "[]",
        "boolean" => "false",
        "map" => "{}",
        "u8" | "u16" | "u32" | "u64" | "i64" | "integer" => "1",
        _ => return None,
    })
}

/// A text in which some values stand for others, and where each of its places was before.
struct Mended {
    text: String,
    /// Where each replacement begins and ends now, and ended before, in the order of the text.
    replaced: Vec<(Range<usize>, usize)>,
}

impl Mended {
    fn of(text: &str) -> Self {
        Self {
            text: text.to_string(),
            replaced: Vec::new(),
        }
    }

    /// Where the byte `at` was in the text as it was given.
    fn before(&self, at: usize) -> usize {
        let last = self.replaced.iter().rfind(|(now, _)| now.end <= at);
        last.map_or(at, |(now, before)| before + (at - now.end))
    }

    fn replace(&mut self, place: Range<usize>, value: &str) {
        let before = self.before(place.end);
        let (start, end) = (place.start, place.start + value.len());
        self.replaced
            .retain(|(now, _)| now.end <= place.start || now.start >= place.end);
        for (now, _) in self
            .replaced
            .iter_mut()
            .filter(|(now, _)| now.start >= place.end)
        {
            *now = now.start - place.end + end..now.end - place.end + end;
        }
        self.text.replace_range(place, value);
        let at = self.replaced.partition_point(|(now, _)| now.end <= start);
        self.replaced.insert(at, (start..end, before));
    }
}

/// What is said of a key that the table has not, in the words of every other unknown name.
fn unknown_key(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field `")?;
    let (given, expected) = rest.split_once('`')?;
    let known = expected.split('`').skip(1).step_by(2);
    Some(unknown("key", given, known))
}

/// The key that a mistake is about, when it stands at the mistake's own place or before it on its line.
fn key_at<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    let start = text[..floor(text, span.start)]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    match line.split_once('=') {
        Some((key, _)) => key.trim(),
        None => "",
    }
}

/// The line and column of a byte, counted from 1.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..floor(text, at)];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
