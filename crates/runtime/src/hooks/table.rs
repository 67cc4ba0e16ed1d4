//! `[hooks]` of a profile: where a CLI keeps its hooks, what stands there, and the form in which it reads their output.
//!
//! In an entry the text `{command}` becomes the command of that hook. It names this program as PATH finds it, and passes
//! where it is not: so the file is the same on every machine and may be committed.

use serde::Deserialize;
use serde_json::Value;

use super::{Act, Dialect};

/// `[hooks]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HooksTable {
    /// How its output is read.
    pub dialect: Dialect,
    /// The file of one project, below its root.
    pub project: String,
    /// The file of the user.
    pub user: UserFile,
    /// Keys that a file of its own begins with.
    #[serde(default)]
    pub fresh: toml::Table,
    /// What else is to be known, for people.
    #[serde(default)]
    pub note: String,
    /// The hooks.
    pub put: Vec<HookPut>,
}

/// The file of the user: `file` in the folder that `variable` names, or else in `home` below the home folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserFile {
    /// A variable that may name the folder.
    pub variable: String,
    /// The folder below the home folder otherwise.
    pub home: String,
    /// The file in it.
    pub file: String,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookPut {
    /// The event's name.
    pub on: String,
    /// What it is for.
    pub act: Act,
    /// What stands in the event's list.
    pub entry: toml::Table,
}

/// What every command of ours begins with.
const PASSES: &str = "command -v pitcrew >/dev/null 2>&1 || exit 0; exec pitcrew hook run ";

impl HooksTable {
    /// The first hook of its kind.
    #[must_use]
    pub fn of(&self, act: Act) -> Option<&HookPut> {
        self.put.iter().find(|put| put.act == act)
    }
}

impl HookPut {
    /// What stands in the list of its event, for the profile called `profile`.
    #[must_use]
    pub fn entry(&self, profile: &str) -> Value {
        let command = format!("{PASSES}{profile} {}", self.act.word());
        filled(&toml::Value::Table(self.entry.clone()), &command)
    }
}

fn filled(value: &toml::Value, command: &str) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text.replace("{command}", command)),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(list) => list.iter().map(|value| filled(value, command)).collect(),
        toml::Value::Table(table) => {
            let row = |(key, value): (&String, &toml::Value)| (key.clone(), filled(value, command));
            Value::Object(table.iter().map(row).collect())
        }
    }
}

/// The keys of `fresh` as JSON.
pub(super) fn fresh(table: &HooksTable) -> Value {
    filled(&toml::Value::Table(table.fresh.clone()), "")
}

/// Whose an entry of a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Every command in it is one of ours.
    Us,
    /// None is.
    Other,
    /// Somebody put one of theirs beside ours.
    Both,
}

/// Whose an entry is, by its commands.
pub(super) fn owner(entry: &Value) -> Owner {
    let (mut ours, mut others) = (0, 0);
    count(entry, &mut ours, &mut others);
    match (ours, others) {
        (0, _) => Owner::Other,
        (_, 0) => Owner::Us,
        _ => Owner::Both,
    }
}

fn count(value: &Value, ours: &mut u32, others: &mut u32) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| count(value, ours, others)),
        Value::Object(table) => {
            for (key, value) in table {
                let runs = ["command", "bash", "powershell", "exec", "url", "prompt"];
                match value.as_str().filter(|_| runs.contains(&key.as_str())) {
                    Some(text) if text.starts_with(PASSES) => *ours += 1,
                    Some(_) => *others += 1,
                    None => count(value, ours, others),
                }
            }
        }
        _ => {}
    }
}
