//! `search`: a regular expression over the project's files, ignore files respected.
//!
//! Looking through many files takes a while, so it is done beside the agent's own work. It changes nothing, and ends soon
//! after its call does.

use std::ops::ControlFlow;
use std::sync::Arc;

use pitcrew_core::claim::FilePath;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::reading::cut;
use super::typed::typed;
use super::{Bench, not_done};
use crate::desk::NotDone;
use crate::model::{ToolAnswer, ToolContext, ToolFn};

/// The most lines that one call finds.
const FOUND: usize = 200;

/// The most bytes of a line that is shown.
const LINE: usize = 300;

/// The largest program of an expression, in bytes.
const PROGRAM: usize = 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// A regular expression, looked for in each line.
    pattern: String,
    /// Only below this folder, or in this file, from the project's root; the whole project if left out.
    path: Option<String>,
    /// Whether capital and small letters are the same; no if left out.
    ignore_case: Option<bool>,
}

pub(super) fn search(at: Arc<Bench>) -> ToolFn {
    let about = "Find the lines of the project's text files that match a regular expression. Ignored files are left out.";
    typed(
        "search",
        about,
        move |asked: Search, context: ToolContext| {
            let at = Arc::clone(&at);
            async move {
                let gone = context.cancelled.clone();
                let looking = tokio::task::spawn_blocking(move || find(&at, &asked, &gone));
                match looking.await {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(why)) => not_done(&why),
                    Err(broken) => ToolAnswer::refused(format!(
                        "Not done, the search broke: {broken}. Next: try another pattern."
                    )),
                }
            }
        },
    )
}

fn find(at: &Bench, asked: &Search, gone: &CancellationToken) -> Result<ToolAnswer, NotDone> {
    let built = RegexBuilder::new(&asked.pattern)
        .case_insensitive(asked.ignore_case.unwrap_or(false))
        .size_limit(PROGRAM)
        .build();
    let pattern = match built {
        Ok(pattern) => pattern,
        Err(wrong) => {
            return Ok(ToolAnswer::refused(format!(
                "Not done: the pattern is no regular expression: {wrong}. Next: mend it; a sign such as ( that is meant \
                 as itself is written \\(."
            )));
        }
    };
    let below = at.folder(asked.path.as_deref())?;
    let mut found = Found::default();
    let mut failed = None;
    let mut seen = |file: &FilePath| {
        if gone.is_cancelled() {
            return ControlFlow::Break(());
        }
        match at.workspace.text(file) {
            Ok(Some(bytes)) => found.in_file(file, &bytes, &pattern),
            Ok(None) => ControlFlow::Continue(()),
            Err(refused) if refused.is_of_one_file() => {
                found.unread += 1;
                ControlFlow::Continue(())
            }
            Err(refused) => {
                failed = Some(refused);
                ControlFlow::Break(())
            }
        }
    };
    let unseen = at.workspace.walk(below.as_ref(), &mut seen)?;
    if let Some(refused) = failed {
        return Err(refused.into());
    }
    found.unread += unseen;
    Ok(found.answer())
}

#[derive(Default)]
struct Found {
    lines: Vec<String>,
    more: bool,
    unread: u64,
}

impl Found {
    fn in_file(&mut self, file: &FilePath, bytes: &[u8], pattern: &Regex) -> ControlFlow<()> {
        // What is no text has no lines.
        let Ok(text) = std::str::from_utf8(bytes) else {
            return ControlFlow::Continue(());
        };
        for (at, line) in text.lines().enumerate() {
            if !pattern.is_match(line) {
                continue;
            }
            if self.lines.len() == FOUND {
                self.more = true;
                return ControlFlow::Break(());
            }
            let shown = cut(line, LINE);
            self.lines.push(format!("{file}:{}: {shown}", at + 1));
        }
        ControlFlow::Continue(())
    }

    fn answer(self) -> ToolAnswer {
        let mut text = match self.lines.len() {
            0 => "No line matches.".to_string(),
            count => format!("{count} lines:\n{}", self.lines.join("\n")),
        };
        if self.more {
            text.push_str("\nThere are more. Next: name a folder, or ask for less.");
        }
        if self.unread > 0 {
            text.push_str(&format!("\n{} files could not be read.", self.unread));
        }
        ToolAnswer::done(text)
    }
}
