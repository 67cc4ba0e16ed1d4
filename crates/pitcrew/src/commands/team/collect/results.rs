//! `team collect <name>`: the results of a team's tasks, and the files that its members left.

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::task::{Status, Task};
use serde_json::{Value, json};

use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// Files of a member that are no output: its state, and the page that teaches it.
const NO_OUTPUT: [&str; 5] = [
    "heartbeat.json",
    "process.json",
    "session.json",
    "outbox.jsonl",
    "inbox.md",
];

/// Writes what has come of the team called `name`.
pub(super) fn collect(context: &mut Context<'_>, name: &str) -> Result<Exit, Halt> {
    let team = context.open_named(name, None)?;
    let desk = team.desk();
    let (roster, board) = (desk.roster()?, desk.tasks()?);
    let names = roster.workers.iter().map(|member| member.name.as_str());
    let members: Vec<Value> = names
        .map(|name| member(&team, name))
        .collect::<Result<_, _>>()?;
    let ended = |task: &&Task| matches!(task.status, Status::Completed | Status::Failed);
    let done = board.tasks.iter().filter(ended).count();
    let total = board.tasks.len() + board.unreadable.len();
    if context.ui.json {
        let mut answer = json!({
            "ok": true,
            "team": roster.name,
            "tasks": board.tasks,
            "members": members,
            "total": total,
            "doneCount": done,
            "allDone": board.all_done(),
        });
        if !board.unreadable.is_empty() {
            answer["unreadable"] = json!(board.unreadable);
        }
        context.ui.json(&answer, Layout::Pretty);
        return Ok(Exit::Done);
    }
    let all = if board.all_done() {
        " — ALL DONE"
    } else {
        ""
    };
    context
        .ui
        .line(&format!("team collect {name}: {done}/{total} ended{all}"));
    for task in &board.tasks {
        write_task(context, task);
    }
    write_members(context, &members);
    for task in &board.unreadable {
        context
            .ui
            .say(&format!("task {} cannot be read: {}", task.id, task.why));
    }
    Ok(Exit::Done)
}

/// A member with the files that it left.
fn member(team: &OpenTeam, name: &str) -> Result<Value, Halt> {
    let mut files = Vec::new();
    // A name that breaks the naming rule has no files here.
    if let Ok(name) = Name::new(NameKind::Member, name) {
        let folder = team.store.worker(&name);
        let mut names = folder.names()?;
        names.retain(|file| !NO_OUTPUT.contains(&file.as_str()));
        files.extend(
            names
                .iter()
                .map(|file| folder.path(file).display().to_string()),
        );
    }
    Ok(json!({ "name": name, "files": files }))
}

fn write_task(context: &mut Context<'_>, task: &Task) {
    let owner = task.owner.as_deref().or(task.assignee.as_deref());
    let label = match owner {
        Some(owner) => format!("{} ({owner})", task.id),
        None => task.id.clone(),
    };
    context.ui.line("");
    context.ui.line(&format!("── {label}: {} ──", task.status));
    let first = task.description.lines().next().unwrap_or_default();
    context.ui.line(&format!("task: {first}"));
    if let Some(result) = &task.result {
        context.ui.text(result.trim_end());
    }
}

fn write_members(context: &mut Context<'_>, members: &[Value]) {
    for member in members {
        let files = member["files"].as_array().into_iter().flatten();
        for file in files.filter_map(Value::as_str) {
            let name = member["name"].as_str().unwrap_or_default();
            context.ui.line("");
            context.ui.line(&format!("── {name} left {file} ──"));
        }
    }
}
