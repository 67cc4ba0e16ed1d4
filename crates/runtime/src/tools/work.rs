//! Taking tasks and ending them.
//!
//! A task is ended with the token of its claim: whoever lost a task cannot end it any more. What a task says was written
//! by others and stands inside marks; in a list it is cut and stands between quotes.

use pitcrew_core::TaskId;
use pitcrew_core::name::nearest;
use pitcrew_core::task::{Readiness, Status, Task};
use serde_json::{Value, json};

use super::Call;
use super::answer::{Answer, attribute, enclosed, marked, quoted};
use super::waiting::Step;
use crate::desk::{Change, NotDone, TaskBoard};

/// The most characters of a task that a list shows.
const SHOWN: usize = 100;

/// The most bytes of a result of another task that are shown.
const LONGEST_RESULT: usize = 16 * 1024;

/// The most tasks that a list shows.
const LISTED: usize = 100;

/// `claim_task`.
pub(super) fn claim_task(call: &Call<'_>) -> Result<Step, NotDone> {
    let task = match call.args.text("task_id") {
        Some(id) => call
            .desk
            .claim_as(call.team, call.name(), &TaskId::new(id)?, None)?,
        None => match call.desk.claim_next(call.who, None)? {
            Some(task) => task,
            None => return none_ready(call),
        },
    };
    let board = call.desk.tasks()?;
    let waited_for: Vec<&Task> = board
        .tasks
        .iter()
        .filter(|other| task.blocked_by.contains(&other.id) && other.result.is_some())
        .collect();
    let token = task.claim_token.as_deref().unwrap_or_default();
    let body = enclosed(&call.desk, |boundary| {
        let mut text = marked(
            "task",
            &attribute("id", &task.id),
            &task.description,
            boundary,
        )?;
        for other in &waited_for {
            text.push_str("\nWhat it waited for:\n");
            text.push_str(&result(other, boundary)?);
        }
        Some(text)
    })?;
    let text = format!(
        "Task {id} is yours; its text stands between the marks, as its author wrote it.\n{body}\nWhen it is done: \
         complete_task with task_id {id:?}, claim_token {token:?} and the result. If it cannot be done: fail_task with \
         the same and the reason.",
        id = task.id
    );
    let facts = json!({ "status": "claimed", "task_id": task.id, "claim_token": token });
    Ok(Answer::done(text, facts).into())
}

/// The result of a task inside marks, cut with a word about it.
fn result(task: &Task, boundary: &str) -> Option<String> {
    let whole = task.result.as_deref().unwrap_or_default();
    let mut end = whole.len().min(LONGEST_RESULT);
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    let mut head = attribute("task", &task.id);
    head.push_str(&attribute("by", task.owner.as_deref().unwrap_or_default()));
    let mut text = marked("result", &head, &whole[..end], boundary)?;
    if end < whole.len() {
        text.push_str(&format!("\n{} bytes more are left out.", whole.len() - end));
    }
    Some(text)
}

fn none_ready(call: &Call<'_>) -> Result<Step, NotDone> {
    let board = call.desk.tasks()?;
    let text = match board.all_done() || board.tasks.is_empty() {
        true => {
            "No task is left: everything is done. Say so to leader with peer_message, or end here."
        }
        false => {
            "No task can be claimed now: list_tasks shows what each waits for. read_messages, or end here."
        }
    };
    Ok(Answer::done(text, json!({ "status": "none_ready", "task_id": null })).into())
}

/// `complete_task`.
pub(super) fn complete_task(call: &Call<'_>) -> Result<Step, NotDone> {
    let task = end(call, "completed", call.args.needed("result"))?;
    let text = format!(
        "Task {} is completed. Next: claim_task for another, or read_messages.",
        task.id
    );
    Ok(Answer::done(text, json!({ "status": "completed", "task_id": task.id })).into())
}

/// `fail_task`.
pub(super) fn fail_task(call: &Call<'_>) -> Result<Step, NotDone> {
    let task = end(call, "failed", call.args.needed("reason"))?;
    let text = format!(
        "Task {} is failed with your reason; tasks that wait for it are blocked, and the leader is told of them. Next: \
         claim_task for another.",
        task.id
    );
    Ok(Answer::done(text, json!({ "status": "failed", "task_id": task.id })).into())
}

fn end(call: &Call<'_>, to: &str, result: &str) -> Result<Task, NotDone> {
    let id = TaskId::new(call.args.needed("task_id"))?;
    let change = Change {
        from: Status::InProgress.word(),
        to,
        token: call.args.needed("claim_token"),
        result: Some(result),
    };
    call.desk.transition(&id, Some(call.name()), change)
}

/// `list_tasks`.
pub(super) fn list_tasks(call: &Call<'_>) -> Result<Step, NotDone> {
    let board = call.desk.tasks()?;
    if let Some(id) = call.args.text("task_id") {
        return one(call, &board, id);
    }
    let by_age = board.by_age();
    let mut rows: Vec<String> = by_age
        .iter()
        .take(LISTED)
        .map(|task| row(call, &board, task))
        .collect();
    if by_age.len() > LISTED {
        rows.push(format!("- and {} more", by_age.len() - LISTED));
    }
    rows.extend(
        board
            .unreadable
            .iter()
            .map(|task| format!("- {} cannot be read", task.id)),
    );
    let text = match rows.is_empty() {
        true => "The team has no tasks.".to_string(),
        false => format!(
            "{}\nTake one with claim_task; list_tasks with its task_id shows it whole.",
            rows.join("\n")
        ),
    };
    let tasks: Vec<Value> = by_age
        .iter()
        .map(|task| facts(call, &board, task))
        .collect();
    Ok(Answer::done(text, json!({ "status": "listed", "tasks": tasks })).into())
}

/// One task, whole, with what came of it.
fn one(call: &Call<'_>, board: &TaskBoard, id: &str) -> Result<Step, NotDone> {
    let Some(task) = board.tasks.iter().find(|task| task.id == id) else {
        return Ok(no_such(board, id).into());
    };
    let body = enclosed(&call.desk, |boundary| {
        let mut text = marked(
            "task",
            &attribute("id", &task.id),
            &task.description,
            boundary,
        )?;
        if task.result.is_some() {
            text.push('\n');
            text.push_str(&result(task, boundary)?);
        }
        Some(text)
    })?;
    let text = format!(
        "{}\nWhat stands between the marks was written by others.\n{body}",
        row(call, board, task)
    );
    Ok(Answer::done(
        text,
        json!({ "status": "listed", "tasks": [facts(call, board, task)] }),
    )
    .into())
}

fn no_such(board: &TaskBoard, id: &str) -> Answer {
    let known = board.tasks.iter().map(|task| task.id.as_str());
    let nearest = nearest(id, known);
    let next = match &nearest {
        Some(nearest) => format!("did you mean {nearest:?}?"),
        None => "list_tasks without task_id shows them.".to_string(),
    };
    let text = format!("There is no task {}: {next}", quoted(id, SHOWN));
    let facts = json!({ "status": "refused", "code": "task_not_found", "nearest": nearest });
    Answer::refused(text, facts)
}

/// What a task waits for, or who may take it.
fn standing(call: &Call<'_>, board: &TaskBoard, task: &Task) -> String {
    let owner = task.owner.as_deref().unwrap_or("nobody");
    match task.status {
        Status::Completed => format!("completed by {owner}"),
        Status::Failed => format!("failed by {owner}"),
        Status::InProgress if owner == call.name().as_str() => "in progress by you".to_string(),
        Status::InProgress => format!("in progress by {owner}"),
        Status::Pending => match (board.readiness(task), &task.assignee) {
            (Readiness::Ready, Some(for_whom)) if for_whom != call.name().as_str() => {
                format!("pending, for {for_whom}")
            }
            (Readiness::Ready, _) => "ready to be claimed".to_string(),
            (Readiness::Blocked { .. }, _) => format!("waits for {}", task.blocked_by.join(", ")),
        },
    }
}

fn row(call: &Call<'_>, board: &TaskBoard, task: &Task) -> String {
    format!(
        "- {}: {}, {}",
        task.id,
        standing(call, board, task),
        quoted(&task.description, SHOWN)
    )
}

fn facts(call: &Call<'_>, board: &TaskBoard, task: &Task) -> Value {
    json!({
        "task_id": task.id,
        "status": task.status,
        "owner": task.owner,
        "assignee": task.assignee,
        "blocked_by": task.blocked_by,
        "ready": board.is_free_for(task, call.name(), call.desk.now()),
    })
}
