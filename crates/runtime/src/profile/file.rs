//! A profile's file: what may stand in it, and what is wrong with one.
//!
//! Every table and key that is not listed here is refused with its line and column, except the table `[pane]`, which
//! belongs to the pane seat. All keys may be missing, because a file that `extends` another says only what differs;
//! what a whole profile needs is checked when the two are put together (`file/check.rs`).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::mcp::McpTable;
use super::place::Place;
use super::reset::ResetReading;
use crate::hooks::HooksTable;

mod check;

pub use check::ProfileError;
pub(super) use check::build;

/// How the prompt reaches the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// On standard input: any length, any text.
    #[default]
    Stdin,
    /// As the argument `{prompt}`: at most 128 KiB.
    Argument,
    /// In a file, `{prompt_file}`.
    File,
}

/// One file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProfileFile {
    version: Option<i64>,
    pub(super) name: Option<String>,
    pub(super) extends: Option<String>,
    description: String,
    program: String,
    probe: Option<ProbeTable>,
    turn: TurnTable,
    tools: Tools,
    env: EnvTable,
    answer: AnswerTable,
    done: Places,
    session: SessionPlaces,
    usage: Option<UsagePlaces>,
    failure: Places,
    refusals: Places,
    limits: Limits,
    pane: Option<toml::Table>,
    mcp: Option<McpTable>,
    hooks: Option<HooksTable>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TurnTable {
    fresh: Vec<String>,
    resume: Option<Vec<String>>,
    prompt: Via,
    time_limit_s: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct EnvTable {
    set: BTreeMap<String, String>,
    forward: Vec<String>,
    drop: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AnswerTable {
    required: bool,
    at: Vec<Place>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Places {
    at: Vec<Place>,
}

/// `[probe]`: how the program is asked for its version.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProbeTable {
    pub(super) args: Vec<String>,
    /// The version number is the first after this text.
    pub(super) after: String,
    /// The version that this profile was tried with.
    pub(super) measured: Option<String>,
}

/// `[tools]`: arguments that let the CLI use tools without asking.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Tools {
    /// Only the team's own commands.
    pub(super) team: Vec<String>,
    /// What the CLI offers.
    pub(super) all: Vec<String>,
}

/// `[session]`: where its id stands, and what says that it is no more.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SessionPlaces {
    pub(super) at: Vec<Place>,
    pub(super) lost: Vec<Place>,
}

/// What a number of tokens or money counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Counts {
    /// This turn.
    #[default]
    Turn,
    /// The session so far: the difference to the turn before is this turn.
    Session,
    /// One step of this turn: the steps are added up.
    Step,
}

/// `[usage]`: where tokens and money stand. Several paths are added up.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsagePlaces {
    pub(super) at: Place,
    #[serde(default)]
    pub(super) counts: Counts,
    /// Everything that went in, with what came from a cache.
    #[serde(default)]
    pub(super) input: Vec<String>,
    /// The part of the input that came from a cache.
    #[serde(default)]
    pub(super) cached: Vec<String>,
    /// Everything that came out, with what was only thought.
    #[serde(default)]
    pub(super) output: Vec<String>,
    pub(super) cost_usd: Option<String>,
    #[serde(default)]
    pub(super) cost_counts: Counts,
}

/// `[limits]`: what says that the provider refuses for now, and until when.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    /// Exit statuses that mean a limit.
    pub(super) exits: Vec<i32>,
    /// The turn ended because of a limit.
    pub(super) at: Vec<Place>,
    /// The CLI was waiting for a limit to end; counts only when the turn came to nothing.
    pub(super) retrying: Vec<Place>,
    /// When it ends, where that does not stand in the words.
    pub(super) resets: Vec<ResetReading>,
}

/// Reads one file.
///
/// # Errors
/// [`ProfileError::Syntax`].
pub(super) fn parse(path: &Path, text: &str) -> Result<(toml::Table, ProfileFile), ProfileError> {
    let syntax = |error: &toml::de::Error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        ProfileError::Syntax {
            path: path.to_path_buf(),
            line,
            column,
            message: error.message().to_string(),
        }
    };
    // Once as what it should be, for the place of a mistake, and once as it stands, to be laid over another.
    let file = toml::from_str(text).map_err(|error| syntax(&error))?;
    let table = toml::from_str(text).map_err(|error| syntax(&error))?;
    Ok((table, file))
}

pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

/// Lays `over` on `base`: tables key by key, everything else whole.
pub(super) fn lay_over(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => lay_over(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
