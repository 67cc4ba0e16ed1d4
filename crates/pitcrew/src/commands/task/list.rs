//! `task list`: what there is to do.

use pitcrew_core::task::{Readiness, Status, Task};
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::{HEADING, Layout};

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<List>("list", "List the tasks");

/// List the tasks
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Only tasks that can be claimed now
    #[arg(long)]
    ready: bool,
    /// Only tasks with this status: pending, in_progress, completed or failed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
}

impl Run for List {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let wanted = match self.status.as_deref() {
            Some(word) => Some(Status::parse(word).ok_or_else(|| {
                Halt::Usage(format!(
                    "no status {word}; there are pending, in_progress, completed and failed"
                ))
            })?),
            None => None,
        };
        let team = context.open_team()?;
        team.desk().roster()?;
        let board = team.desk().tasks()?;
        let is_ready = |task: &Task| {
            task.status == Status::Pending && board.readiness(task) == Readiness::Ready
        };
        let shown: Vec<&Task> = board
            .tasks
            .iter()
            .filter(|task| {
                wanted.is_none_or(|status| task.status == status) && (!self.ready || is_ready(task))
            })
            .collect();
        if context.ui.json {
            let mut answer = json!({ "ok": true, "tasks": shown, "allDone": board.all_done() });
            if !board.unreadable.is_empty() {
                answer["unreadable"] = json!(board.unreadable);
            }
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        if !shown.is_empty() {
            let heading = format!(
                "{:<12} {:<12} {:<16} {}",
                "task", "status", "member", "description"
            );
            let heading = context.ui.styled(HEADING, &heading);
            context.ui.own_line(&heading);
        }
        for task in shown {
            let status = match board.readiness(task) {
                Readiness::Blocked { .. } if task.status == Status::Pending => "blocked",
                _ => task.status.word(),
            };
            let member = task
                .owner
                .as_deref()
                .or(task.assignee.as_deref())
                .unwrap_or("-");
            let first = task.description.lines().next().unwrap_or_default();
            context.ui.line(&format!(
                "{:<12} {status:<12} {member:<16} {first}",
                task.id
            ));
        }
        for task in &board.unreadable {
            context
                .ui
                .say(&format!("task {} cannot be read: {}", task.id, task.why));
        }
        Ok(Exit::Done)
    }
}
