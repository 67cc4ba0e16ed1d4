//! `team list`: the teams of a project.

use pitcrew_core::Name;
use pitcrew_core::task::Status;
use pitcrew_store::Project;
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::{HEADING, Layout};

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<List>("list", "List the teams of this project");

/// List the teams of this project
#[derive(Debug, clap::Args)]
pub(super) struct List {}

impl Run for List {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let rows = teams(&project)?;
        if context.ui.json {
            let root = project.root().display().to_string();
            let answer = json!({ "ok": true, "root": root, "teams": rows });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        if rows.is_empty() {
            let root = project.root().display();
            context.ui.say(&format!(
                "no team in {root}; found one with `pitcrew team init <name>`"
            ));
            return Ok(Exit::Done);
        }
        let heading = format!(
            "{:<16} {:>7} {:>7} {:>6} {:<9} {}",
            "team", "members", "tasks", "ended", "state", "for"
        );
        let heading = context.ui.styled(HEADING, &heading);
        context.ui.own_line(&heading);
        for row in rows {
            context.ui.line(&words(&row));
        }
        Ok(Exit::Done)
    }
}

/// The teams of a project as JSON, by name.
pub(super) fn teams(project: &Project) -> Result<Vec<Value>, Halt> {
    let names = project.teams()?.into_iter();
    let mut rows: Vec<Value> = names
        .map(|name| row(&OpenTeam::of(project, name)))
        .collect();
    for name in project.hollow()? {
        let halt = hollow(&name);
        rows.push(json!({
            "name": name.as_str(), "state": "damaged", "code": halt.code(), "message": halt.message(),
        }));
    }
    Ok(rows)
}

/// What is said of a folder that keeps a team's name and is no team.
pub(super) fn hollow(name: &Name) -> Halt {
    Halt::CannotRun {
        code: "no_team_document",
        why: format!("the folder {name} has no config.json, so it is no team"),
        hint: "see what is in it, then remove it with `pitcrew team rm --force`",
    }
}

/// One team as JSON. A team that cannot be read is listed with the reason.
fn row(team: &OpenTeam) -> Value {
    match facts(&team.name, team) {
        Ok(facts) => facts,
        Err(halt) => json!({
            "name": team.name.as_str(), "state": "damaged", "code": halt.code(), "message": halt.message(),
        }),
    }
}

fn facts(name: &Name, team: &OpenTeam) -> Result<Value, Halt> {
    let desk = team.desk();
    let (roster, board) = (desk.roster()?, desk.tasks()?);
    let ended = board
        .tasks
        .iter()
        .filter(|task| matches!(task.status, Status::Completed | Status::Failed));
    let shut_down_at = desk.shut_down_at()?;
    let state = match (&shut_down_at, board.all_done()) {
        (Some(_), _) => "shut down",
        (None, true) => "all done",
        (None, false) => "open",
    };
    Ok(json!({
        "name": name.as_str(),
        "state": state,
        "task": roster.task,
        "members": roster.workers.len(),
        "tasks": board.tasks.len() + board.unreadable.len(),
        "ended": ended.count(),
        "createdAt": roster.created_at,
        "shutdownAt": shut_down_at,
    }))
}

fn words(row: &Value) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let number = |key: &str| row[key].as_u64().map_or("-".to_string(), |n| n.to_string());
    let purpose = match row.get("message") {
        Some(message) => message.as_str().unwrap_or_default(),
        None => text("task").lines().next().unwrap_or_default(),
    };
    let line = format!(
        "{:<16} {:>7} {:>7} {:>6} {:<9} {purpose}",
        text("name"),
        number("members"),
        number("tasks"),
        number("ended"),
        text("state"),
    );
    line.trim_end().to_string()
}
