//! Brings a team's tasks up to what the file says by now: what it adds is added, what it changes is changed.
//!
//! | the task | what the file says otherwise about it |
//! |---|---|
//! | is pending | is taken |
//! | is pending, and would wait for itself with it | is told, and not taken |
//! | is in progress or completed | is told, and not taken |
//!
//! Whatever is only for the run (script, retries, time limit) holds from now on in any case. Nothing is taken away: a
//! task that the file has no more stays.

use pitcrew_core::Refusal;
use pitcrew_core::task::{Status, Task, check_dependencies};
use pitcrew_store::StoreExt;

use super::super::event::Fact;
use super::super::{RunError, Setup, Tools, Watcher};
use crate::desk::{Desk, NotDone, TaskBoard, TaskPlan};
use crate::teamfile::TaskEntry;

/// Adds what is missing, then changes what stands otherwise in the file.
pub(super) fn bring_up(
    setup: &Setup<'_>,
    desk: &Desk<'_>,
    tools: &Tools,
    watcher: &mut dyn Watcher,
) -> Result<(), RunError> {
    let entries = &setup.file.tasks;
    let board = desk.tasks()?;
    let (there, missing): (Vec<&TaskEntry>, Vec<&TaskEntry>) =
        entries.iter().partition(|task| is_there(&board, task));
    let plans: Vec<TaskPlan> = missing.into_iter().map(plan).collect();
    desk.add_tasks(&plans)?;
    let mut board = desk.tasks()?;
    for entry in there {
        if let Some(note) = change(desk, &mut board, entry)? {
            tools.tell(watcher, &Fact::Noted { note });
        }
    }
    Ok(())
}

/// Makes a task what the file says. Answers what is to be told about it, if anything is.
fn change(
    desk: &Desk<'_>,
    board: &mut TaskBoard,
    entry: &TaskEntry,
) -> Result<Option<String>, NotDone> {
    let same = |task: &Task| task.id == entry.id.as_str();
    let Some(at) = board.tasks.iter().position(same) else {
        return Ok(None);
    };
    let before = board.tasks[at].clone();
    let keys = edits(&before, entry);
    if keys.is_empty() {
        return Ok(None);
    }
    let (id, keys) = (&before.id, keys.join(" and "));
    if before.status != Status::Pending {
        let status = before.status.word().replace('_', " ");
        return Ok(Some(format!(
            "task {id} is {status}, so what the file says by now about its {keys} is not taken; --fresh begins anew"
        )));
    }
    write(&mut board.tasks[at], entry);
    // Last, as the one that is judged: what is wrong among the others is not this entry's fault.
    let others = board.tasks.iter().filter(|task| task.id != before.id);
    let edges: Vec<(&str, &[String])> = others
        .chain([&board.tasks[at]])
        .map(|task| (task.id.as_str(), task.blocked_by.as_slice()))
        .collect();
    if let Err(refused) = check_dependencies(&edges, edges.len() - 1) {
        let note = format!("task {id} stays as it was, because with what the file says: {refused}");
        board.tasks[at] = before;
        return Ok(Some(note));
    }
    let kept = desk
        .store()
        .update::<Task, (), Refusal>(&entry.id, |slot| match slot {
            Some(task) if task.status == Status::Pending => {
                write(task, entry);
                Ok(())
            }
            _ => Err(Refusal::input("tasks", "somebody took the task meanwhile")),
        })?;
    Ok(Some(match kept {
        Ok(()) => format!("task {id} has the file's new {keys}"),
        Err(_) => format!("task {id} was taken meanwhile, so the file's new {keys} is not taken"),
    }))
}

/// The keys of the file that say something else than the task.
fn edits(task: &Task, entry: &TaskEntry) -> Vec<&'static str> {
    let waits: Vec<&str> = entry.blocked_by.iter().map(|id| id.as_str()).collect();
    let assignee = entry.assignee.as_ref().map(|name| name.as_str());
    let differs = [
        ("description", task.description != entry.description),
        ("for", task.assignee.as_deref() != assignee),
        ("blocked_by", task.blocked_by != waits),
    ];
    let differs = differs.into_iter().filter(|(_, differs)| *differs);
    differs.map(|(key, _)| key).collect()
}

fn write(task: &mut Task, entry: &TaskEntry) {
    task.description.clone_from(&entry.description);
    task.assignee = entry.assignee.as_ref().map(ToString::to_string);
    task.blocked_by = entry.blocked_by.iter().map(ToString::to_string).collect();
}

fn is_there(board: &TaskBoard, entry: &TaskEntry) -> bool {
    let readable = board.tasks.iter().map(|task| task.id.as_str());
    let unreadable = board.unreadable.iter().map(|task| task.id.as_str());
    readable
        .chain(unreadable)
        .any(|id| id.eq_ignore_ascii_case(entry.id.as_str()))
}

fn plan(task: &TaskEntry) -> TaskPlan {
    TaskPlan {
        id: Some(task.id.clone()),
        description: task.description.clone(),
        assignee: task.assignee.as_ref().map(ToString::to_string),
        blocked_by: task.blocked_by.clone(),
    }
}
