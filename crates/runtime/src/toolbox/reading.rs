//! `read_file` and `list_files`.
//!
//! What is shown is bounded, and says so where something was left out. Lines are numbered as claims count them.

use std::ops::ControlFlow;
use std::sync::Arc;

use pitcrew_core::claim::FilePath;
use schemars::JsonSchema;
use serde::Deserialize;

use super::typed::typed;
use super::{Bench, not_done};
use crate::desk::NotDone;
use crate::model::{ToolAnswer, ToolFn};

/// The most lines that one call shows.
const LINES: usize = 2_000;

/// The most bytes of a text that one call shows.
pub(super) const SHOWN: usize = 64 * 1024;

/// The most names that one call lists.
const NAMES: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// The file: its path from the project's root, or absolute.
    path: String,
    /// The first line to show, counted from 1; 1 if left out.
    start_line: Option<u64>,
    /// The last line to show, itself included; the end of the file if left out.
    end_line: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListFiles {
    /// Only below this folder, from the project's root; the whole project if left out.
    folder: Option<String>,
}

pub(super) fn read_file(at: Arc<Bench>) -> ToolFn {
    let about =
        "Read a text file of the project, with line numbers. Large files are shown in parts.";
    typed("read_file", about, move |asked: ReadFile, _| {
        let answer = read(&at, &asked).unwrap_or_else(|why| not_done(&why));
        std::future::ready(answer)
    })
}

pub(super) fn list_files(at: Arc<Bench>) -> ToolFn {
    let about = "List the files of the project, without those that its ignore files leave out.";
    typed("list_files", about, move |asked: ListFiles, _| {
        let answer = list(&at, &asked).unwrap_or_else(|why| not_done(&why));
        std::future::ready(answer)
    })
}

/// The text of a file, or why there is none.
pub(super) fn text_of(at: &Bench, file: &FilePath) -> Result<Result<String, ToolAnswer>, NotDone> {
    let Some(bytes) = at.workspace.text(file)? else {
        return Ok(Err(ToolAnswer::refused(format!(
            "Not done: there is no plain file {file} of at most 4 MiB. Next: list_files shows what there is."
        ))));
    };
    Ok(String::from_utf8(bytes).map_err(|_| {
        ToolAnswer::refused(format!(
            "Not done: {file} is no text. Next: leave it, or use a program that understands it."
        ))
    }))
}

fn read(at: &Bench, asked: &ReadFile) -> Result<ToolAnswer, NotDone> {
    let file = at.file(&asked.path)?;
    let text = match text_of(at, &file)? {
        Ok(text) => text,
        Err(refused) => return Ok(refused),
    };
    let lines: Vec<&str> = text.lines().collect();
    let first = asked.start_line.unwrap_or(1).max(1);
    let last = asked.end_line.unwrap_or(u64::MAX).min(lines.len() as u64);
    if lines.is_empty() {
        return Ok(ToolAnswer::done(format!("{file} is empty.")));
    }
    if first > last {
        return Ok(ToolAnswer::refused(format!(
            "Not done: {file} has lines 1 to {}. Next: ask for some of those.",
            lines.len()
        )));
    }
    let mut shown = String::new();
    let mut until = first;
    for number in first..=last {
        // Within the file's lines, so this fits.
        let line = lines[number as usize - 1];
        let many = number - first >= LINES as u64;
        if many || (!shown.is_empty() && shown.len() + line.len() > SHOWN) {
            break;
        }
        let line = cut(line, SHOWN);
        shown.push_str(&format!("{number:>6}\t{line}\n"));
        until = number;
    }
    let head = format!("{file}, lines {first} to {until} of {}", lines.len());
    let more = match until < last {
        true => format!(". Next: start_line {} shows more.", until + 1),
        false => ".".to_string(),
    };
    Ok(ToolAnswer::done(format!("{head}{more}\n{shown}")))
}

fn list(at: &Bench, asked: &ListFiles) -> Result<ToolAnswer, NotDone> {
    let folder = at.folder(asked.folder.as_deref())?;
    let (mut names, mut more) = (Vec::new(), false);
    let mut seen = |file: &FilePath| {
        if names.len() == NAMES {
            more = true;
            return ControlFlow::Break(());
        }
        names.push(file.to_string());
        ControlFlow::Continue(())
    };
    let unseen = at.workspace.walk(folder.as_ref(), &mut seen)?;
    let mut text = match names.len() {
        0 => "There are no files there.".to_string(),
        count => format!("{count} files:\n{}", names.join("\n")),
    };
    if more {
        text.push_str("\nThere are more. Next: name a folder.");
    }
    if unseen > 0 {
        text.push_str(&format!("\n{unseen} more could not be looked at."));
    }
    Ok(ToolAnswer::done(text))
}

/// At most so many bytes of a line.
pub(super) fn cut(line: &str, most: usize) -> String {
    if line.len() <= most {
        return line.to_string();
    }
    format!("{}…", &line[..line.floor_char_boundary(most)])
}
