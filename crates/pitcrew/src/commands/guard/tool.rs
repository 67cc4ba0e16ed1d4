//! What an agent CLI tells its hook before a tool is used, as far as it says which lines of which files are edited.
//!
//! | CLI | arguments of the tool in | file | text that gives way |
//! |---|---|---|---|
//! | Claude Code, Qwen Code | `tool_input` | `file_path`, `notebook_path` | `old_string`, `edits[].old_string` |
//! | Gemini CLI | `tool_input` | `file_path`, `absolute_path` | `old_string` |
//! | Copilot CLI | `toolArgs`, an object or its JSON | `path` | `old_str` |
//! | Codex CLI | `tool_input` | in the patch | `command`, `input` or `patch` with a patch for `apply_patch` |
//!
//! A tool that names no file edits none that can be known: a shell command is judged when it commits. Where the text is
//! not found, all of the file counts. Files outside of the project are nobody's.

use std::path::Path;

use pitcrew_core::Refusal;
use pitcrew_core::claim::{FilePath, LooseFile, Span, replaced};
use pitcrew_runtime::guard::{Change, edited, somehow};
use pitcrew_store::Project;
use pitcrew_store::files::Workspace;
use serde_json::Value;

use crate::context::Context;
use crate::halt::Halt;

const FILES: [&str; 5] = [
    "file_path",
    "filePath",
    "notebook_path",
    "absolute_path",
    "path",
];
const OLD: [&str; 3] = ["old_string", "old_str", "oldString"];
const PATCHES: [&str; 3] = ["command", "input", "patch"];
/// Tools that only look.
const READS: [&str; 12] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "read_file",
    "read_many_files",
    "list_directory",
    "search_file_content",
    "glob",
    "view",
    "grep",
];

/// One use of a tool that is about to happen.
pub(super) struct ToolUse {
    cwd: Option<String>,
    input: Value,
}

impl ToolUse {
    /// Reads what a hook is told.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let wrong = |why: &str| Refusal::input("hook", why);
        let said: Value = serde_json::from_str(text)
            .map_err(|refused| wrong(&format!("is no JSON: {refused}")))?;
        if !said.is_object() {
            return Err(wrong("is no JSON object"));
        }
        let cwd = said["cwd"].as_str().map(str::to_string);
        let name = said["tool_name"].as_str().or(said["toolName"].as_str());
        if name.is_some_and(|name| READS.contains(&name)) {
            let input = Value::Null;
            return Ok(Self { cwd, input });
        }
        let input = match (&said["tool_input"], &said["toolArgs"]) {
            (Value::Null, Value::String(json)) => serde_json::from_str(json).unwrap_or(Value::Null),
            (Value::Null, input) => input.clone(),
            (input, _) => input.clone(),
        };
        Ok(Self { cwd, input })
    }

    /// Where the agent works.
    pub(super) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// What it would change.
    pub(super) fn changes(
        &self,
        context: &mut Context<'_>,
        project: &Project,
    ) -> Result<Vec<Change>, Halt> {
        let here = Workspace::of(project)?;
        let from = self.cwd.as_ref().map_or_else(
            || context.environment.cwd.clone(),
            |cwd| context.environment.cwd.join(cwd),
        );
        let named = |name: &str| -> Result<Option<FilePath>, Halt> {
            match here.file(Path::new(name), &from)? {
                Ok(file) => Ok(Some(file)),
                Err(Refusal::OutsideRoot { .. }) => Ok(None),
                Err(refused) => Err(refused.into()),
            }
        };
        let mut changes = Vec::new();
        if let Some(name) = one_of(&self.input, &FILES)
            && let Some(file) = named(name)?
        {
            let text = here.text(&file)?.unwrap_or_default();
            changes.push(match self.spans(&text) {
                Some(spans) => edited(file, spans, &here)?,
                None => somehow(file, &here)?,
            });
        }
        for patch in PATCHES.iter().filter_map(|key| joined(&self.input[*key])) {
            for loose in LooseFile::parse(&patch) {
                for name in [Some(&loose.name), loose.to.as_ref()].into_iter().flatten() {
                    let Some(file) = named(name)? else { continue };
                    let text = here.text(&file)?.unwrap_or_default();
                    changes.push(match loose.spans(&String::from_utf8_lossy(&text)) {
                        Some(spans) => edited(file, spans, &here)?,
                        None => somehow(file, &here)?,
                    });
                }
            }
        }
        Ok(changes)
    }

    /// The lines of `text` that give way; `None` when that cannot be said.
    fn spans(&self, text: &[u8]) -> Option<Vec<Span>> {
        let edits = self.input["edits"].as_array();
        let edits: Vec<&Value> =
            edits.map_or_else(|| vec![&self.input], |edits| edits.iter().collect());
        let mut spans = Vec::new();
        for edit in edits {
            spans.extend(replaced(text, one_of(edit, &OLD)?.as_bytes())?);
        }
        Some(spans)
    }
}

fn one_of<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value[*key].as_str())
}

/// A text, or the words of a command.
fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str);
            Some(words.collect::<Vec<&str>>().join("\n"))
        }
        _ => None,
    }
}
