//! `edit_file` and `write_file`: changes of lines that the agent holds.
//!
//! | change | lines that must be held |
//! |---|---|
//! | a text gives way to another | those that the text stands on |
//! | a whole file | all of them |
//! | a new file | any of it |
//!
//! The file is changed only if it still says what was looked at, so an edit by anybody else in between is never lost. The
//! agent's claims are renewed and follow the change.

use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_core::claim::{FileLines, FilePath, Lines, replaced};
use pitcrew_store::files::{LARGEST_TEXT, Put};
use schemars::JsonSchema;
use serde::Deserialize;

use super::claimed::{Place, unless_held};
use super::reading::text_of;
use super::typed::typed;
use super::{Bench, not_done};
use crate::desk::NotDone;
use crate::model::{ToolAnswer, ToolContext, ToolFn};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFile {
    /// The file: its path from the project's root, or absolute.
    path: String,
    /// The text that is to go, exactly as it stands in the file, line breaks and all. It has to stand there once.
    old_text: String,
    /// The text that comes in its place.
    new_text: String,
    /// Change every place where the old text stands, not just one.
    every_place: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    /// The file: its path from the project's root, or absolute.
    path: String,
    /// All that it is to say.
    content: String,
}

pub(super) fn edit_file(at: Arc<Bench>) -> ToolFn {
    let about = "Replace a text in a file by another. claim_region the lines first: only lines that you hold are changed.";
    typed(
        "edit_file",
        about,
        move |asked: EditFile, context: ToolContext| {
            let answer = edit(&at, &context.agent, &asked).unwrap_or_else(|why| not_done(&why));
            std::future::ready(answer)
        },
    )
}

pub(super) fn write_file(at: Arc<Bench>) -> ToolFn {
    let about = "Write a new file, or all of one. claim_region all its lines first; for a new file any of them. For a part \
                 of a file use edit_file.";
    typed(
        "write_file",
        about,
        move |asked: WriteFile, context: ToolContext| {
            let answer = write(&at, &context.agent, &asked).unwrap_or_else(|why| not_done(&why));
            std::future::ready(answer)
        },
    )
}

fn edit(at: &Bench, me: &Name, asked: &EditFile) -> Result<ToolAnswer, NotDone> {
    let file = at.file(&asked.path)?;
    let text = match text_of(at, &file)? {
        Ok(text) => text,
        Err(refused) => return Ok(refused),
    };
    let Some(spans) = replaced(text.as_bytes(), asked.old_text.as_bytes()) else {
        return Ok(ToolAnswer::refused(format!(
            "Not done: the old text does not stand in {file}. Next: read_file it and copy the text exactly."
        )));
    };
    if spans.len() > 1 && asked.every_place != Some(true) {
        let places: Vec<String> = spans.iter().map(|span| span.start.to_string()).collect();
        return Ok(ToolAnswer::refused(format!(
            "Not done: the old text stands in {file} {} times, at lines {}. Next: give more of the lines around it, or say \
             every_place.",
            spans.len(),
            places.join(", ")
        )));
    }
    let places = spans
        .into_iter()
        .filter_map(|span| Place::new(span, &asked.old_text, &asked.new_text));
    let new = text.replace(&asked.old_text, &asked.new_text);
    change(
        at,
        me,
        &file,
        Some(&text),
        &new,
        &places.collect::<Vec<_>>(),
    )
}

fn write(at: &Bench, me: &Name, asked: &WriteFile) -> Result<ToolAnswer, NotDone> {
    let file = at.file(&asked.path)?;
    let Some(present) = at.workspace.text(&file)? else {
        return change(at, me, &file, None, &asked.content, &[]);
    };
    let Ok(text) = String::from_utf8(present) else {
        return Ok(ToolAnswer::refused(format!(
            "Not done: {file} is no text. Next: leave it, or use a program that understands it."
        )));
    };
    let lines = |text: &str| FileLines::of(text.as_bytes()).count();
    let whole = Place {
        lines: Lines::new(1, lines(&text).max(1))?,
        // Both counts are of texts of at most some millions of bytes.
        grows: lines(&asked.content) as i64 - lines(&text) as i64,
    };
    change(at, me, &file, Some(&text), &asked.content, &[whole])
}

/// Puts `new` in the place of `old` if the agent holds all the places, or any of a file that is not there yet.
fn change(
    at: &Bench,
    me: &Name,
    file: &FilePath,
    old: Option<&str>,
    new: &str,
    places: &[Place],
) -> Result<ToolAnswer, NotDone> {
    if new.len() as u64 > LARGEST_TEXT {
        return Ok(ToolAnswer::refused(format!(
            "Not done: {file} would be larger than {LARGEST_TEXT} bytes. Next: write less."
        )));
    }
    let present = old.and_then(|old| FileLines::of_text(old.as_bytes()));
    let held = at.held_by(me, file, present.as_ref())?;
    if old.is_none() && held.is_empty() {
        let first = Lines::new(1, 1)?;
        return Ok(unless_held(file, first, &held).unwrap_or_else(|| ToolAnswer::done("")));
    }
    for place in places {
        if let Some(refused) = unless_held(file, place.lines, &held) {
            return Ok(refused);
        }
    }
    match at
        .workspace
        .put(file, old.map(str::as_bytes), new.as_bytes())?
    {
        Put::Written => {}
        Put::Changed => {
            return Ok(ToolAnswer::refused(format!(
                "Not done: {file} was changed by somebody else meanwhile, or something that is no plain file stands there. \
                 Next: read_file it again."
            )));
        }
    }
    let lines = FileLines::of(new.as_bytes()).count();
    let mut text = match (old, places) {
        (None, _) => format!("Wrote {file}, which is new: {lines} lines."),
        (Some(_), [place]) => format!(
            "Changed {file} at lines {}: it has {lines} lines now.",
            place.lines
        ),
        (Some(_), places) => format!(
            "Changed {file} in {} places: it has {lines} lines now.",
            places.len()
        ),
    };
    // The change stands. That a claim could not follow is said and not undone.
    match at.follow_own(me, file, &held, places, new) {
        Ok(()) => text.push_str(" Your claims followed it; release_region them when you are done."),
        Err(why) => text.push_str(&format!(
            " Your claims could not follow it ({why}). Next: claim_region the lines again before you change more."
        )),
    }
    Ok(ToolAnswer::done(text))
}
