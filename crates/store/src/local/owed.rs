//! Which ended tasks still owe what follows from their end: `tasks/.owed/<id>`, an empty file each.
//!
//! | step of an end | the list | the mark | the task |
//! |---|---|---|---|
//! | under the lock, before the change | **listed** | of the claim | in progress |
//! | | listed | **of whoever ends it** | in progress |
//! | the change | listed | of whoever ends it | **ended** |
//! | what follows is done | listed | **gone** | ended |
//! | | **struck** | gone | ended |
//!
//! A kill in any row leaves that row. So what is owed is listed, and mostly nothing is: a claim looks at one empty folder
//! however many tasks are in progress. Beside a listed task the mark says who is at it. One that is listed and owes
//! nothing (the first two rows, the fourth) is struck by the next who looks, under the lock, where nobody is in between.
//!
//! Programs that know of no list leave marks alone, so [`Reach::Everywhere`] looks at every mark as well. Where the list
//! is not there at all, that is where everybody looks.

use std::collections::BTreeSet;
use std::time::Duration;

use pitcrew_core::TaskId;
use pitcrew_core::task::Status;
use pitcrew_core::time::Timestamp;

use super::folder::Folder;
use super::mark::{Note, is_alive, is_own, renew, standing};
use crate::failure::StoreFailure;
use crate::layout;
use crate::port::Reach;

/// The list, in the folder of the tasks.
const LIST: &str = ".owed";

/// How long this very process may take for what follows from an end, before that counts as not done, in milliseconds.
const FOLLOWING_TAKES: i64 = 2_000;

/// How a task stands that is listed, or has a mark.
#[derive(Debug, PartialEq, Eq)]
enum Debt {
    /// Nobody does what follows from its end any more.
    Owed { owner: String },
    /// It owes nothing.
    Nothing,
    /// Somebody is at it, or it cannot be told.
    Unclear,
}

/// Begins the list where there is none. What is owed already was looked for by then, or is by whoever ends a task next.
pub(super) fn begin(tasks: &Folder) {
    // Without a list every mark is looked at.
    let _ = tasks.new_sub(LIST);
}

/// Lists a task whose end is about to be written. The folder is locked.
pub(super) fn list(tasks: &Folder, id: &TaskId) -> Result<(), StoreFailure> {
    begin(tasks);
    if let Some(list) = tasks.sub(LIST)? {
        list.new_file(id.as_str())?;
    }
    Ok(())
}

/// Strikes a task off the list.
pub(super) fn strike(tasks: &Folder, id: &TaskId) -> Result<(), StoreFailure> {
    match tasks.sub(LIST)? {
        Some(list) => list.remove(id.as_str()).map(drop),
        None => Ok(()),
    }
}

/// Strikes every task off the list.
pub(super) fn clear(tasks: &Folder) -> Result<(), StoreFailure> {
    let Some(list) = tasks.sub(LIST)? else {
        return Ok(());
    };
    for name in list.names()? {
        list.remove(&name)?;
    }
    Ok(())
}

/// Takes the mark of an ended task away, when what follows from its end is done. One of another process stays.
pub(super) fn settle(tasks: &Folder, id: &TaskId) -> Result<(), StoreFailure> {
    let file = layout::claim_mark(id);
    if let Some(text) = tasks.read(&file)? {
        match note(&text.0) {
            Some(note) if is_own(&note) => tasks.remove(&file)?,
            _ => return Ok(()),
        };
    }
    strike(tasks, id)
}

/// The tasks that have ended and whose marks say that nobody does what follows any more. Their marks are this
/// process's from now on, so of several that look each takes others.
pub(super) fn take_over(
    tasks: &Folder,
    reach: Reach,
    now: Timestamp,
    patience: Duration,
) -> Result<Vec<TaskId>, StoreFailure> {
    // Nearly always there is nothing, and then nobody waits for anybody.
    let seen = candidates(tasks, reach)?;
    let is_settled = |id: &TaskId| match debt(tasks, id, now) {
        Debt::Owed { .. } => false,
        Debt::Nothing => !seen.listed.contains(id),
        Debt::Unclear => true,
    };
    if seen.listed.iter().chain(&seen.marked).all(is_settled) {
        return Ok(Vec::new());
    }
    let _held = tasks.lock(patience)?;
    let (mut taken, mut failure) = (Vec::new(), None);
    for id in seen.marked.iter().chain(&seen.listed) {
        match debt(tasks, id, now) {
            Debt::Owed { owner } => {
                // Of one that cannot be listed the mark still tells those who look everywhere.
                let _ = list(tasks, id);
                match renew(tasks, &layout::claim_mark(id), &owner, &now.to_string()) {
                    Ok(()) => taken.push(id.clone()),
                    Err(refused) => failure = Some(refused),
                }
            }
            Debt::Nothing if seen.listed.contains(id) => {
                // What cannot be struck, as a folder of that name, is looked at again by the next.
                let _ = strike(tasks, id);
            }
            Debt::Nothing | Debt::Unclear => {}
        }
    }
    match failure {
        Some(failure) if taken.is_empty() => Err(failure),
        _ => Ok(taken),
    }
}

/// The tasks that may owe something.
struct Candidates {
    listed: BTreeSet<TaskId>,
    /// Those that have a mark, as far as they were asked for, and are not listed.
    marked: Vec<TaskId>,
}

fn candidates(tasks: &Folder, reach: Reach) -> Result<Candidates, StoreFailure> {
    let list = tasks.names_in(LIST)?;
    let looks_everywhere = list.is_none() || reach == Reach::Everywhere;
    let listed: BTreeSet<TaskId> = list
        .unwrap_or_default()
        .iter()
        .filter_map(|name| TaskId::new(name).ok())
        .collect();
    let mut marked = Vec::new();
    if looks_everywhere {
        let marks = tasks.names_with(layout::CLAIM_MARK)?;
        let ids = marks.iter().filter_map(|mark| layout::claimed_id(mark));
        let ids = ids.filter_map(|id| TaskId::new(id).ok());
        marked.extend(ids.filter(|id| !listed.contains(id)));
    }
    Ok(Candidates { listed, marked })
}

fn debt(tasks: &Folder, id: &TaskId, now: Timestamp) -> Debt {
    let note = match tasks.read(&layout::claim_mark(id)) {
        Ok(Some((text, _))) => note(&text),
        Ok(None) => return Debt::Nothing,
        Err(_) => return Debt::Unclear,
    };
    if note.is_none_or(|note| is_followed(&note, now)) {
        return Debt::Unclear;
    }
    // A task that cannot be read is for those to report who want it.
    let standing = match tasks.read(&format!("{id}.json")) {
        Ok(Some((text, _))) => standing(Some(&text)),
        Ok(None) => return Debt::Nothing,
        Err(_) => return Debt::Unclear,
    };
    match standing.status {
        Some(Status::Completed | Status::Failed) => Debt::Owed {
            owner: standing.owner.unwrap_or_default(),
        },
        Some(Status::Pending | Status::InProgress) => Debt::Nothing,
        None => Debt::Unclear,
    }
}

/// Whether the process that the mark names still does what follows.
fn is_followed(note: &Note, now: Timestamp) -> bool {
    if !is_own(note) {
        return is_alive(note.pid);
    }
    let made = Timestamp::parse(&note.claimed_at);
    made.is_some_and(|made| now.millis_since(made).abs() < FOLLOWING_TAKES)
}

fn note(text: &[u8]) -> Option<Note> {
    pitcrew_core::json::read(text).ok()
}
