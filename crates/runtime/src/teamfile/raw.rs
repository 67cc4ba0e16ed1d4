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

/// Reads the text.
///
/// # Errors
/// The one place where it is no TOML, or where a key is unknown, missing or of the wrong type.
pub(super) fn read(text: &str) -> Result<RawFile, Problem> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let span = error.span().unwrap_or(0..0);
        let (line, column) = place(text, span.start);
        Problem {
            line,
            column,
            key: key_at(text, &span).to_string(),
            why: unknown_key(error.message()).unwrap_or_else(|| error.message().to_string()),
        }
    })
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
