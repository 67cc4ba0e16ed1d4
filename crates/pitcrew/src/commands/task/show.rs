//! `task show`: one task with everything about it, or its result alone.

use pitcrew_core::TaskId;
use pitcrew_core::task::{Readiness, Task};
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::{HEADING, Layout};

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Show>("show", "Show one task, or its result alone");

/// Show one task, or its result alone
///
/// Looking changes nothing. Without --result the result stands below the rest, whole.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The task
    #[arg(value_name = "ID")]
    id: String,
    /// Write nothing but the result, byte for byte unless it goes to a terminal; nothing at all when there is none
    #[arg(long)]
    result: bool,
}

impl Run for Show {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let id = TaskId::new(&self.id)?;
        let team = context.open_team()?;
        let desk = team.desk();
        desk.roster()?;
        let task = desk.task(&id)?;
        if self.result && !context.ui.json {
            context.ui.whole(task.result.as_deref().unwrap_or_default());
            return Ok(Exit::Done);
        }
        if context.ui.json {
            let answer = json!({ "ok": true, "task": desk.task_as_written(&task)? });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        let blocked = match desk.tasks()?.readiness(&task) {
            Readiness::Ready => None,
            Readiness::Blocked { on, .. } => Some(on.join(", ")),
        };
        write(context, &id, &task, blocked.as_deref());
        Ok(Exit::Done)
    }
}

fn write(context: &mut Context<'_>, id: &TaskId, task: &Task, blocked: Option<&str>) {
    let head = format!("{id}  {}", task.status);
    let head = context.ui.styled(HEADING, &head);
    context.ui.own_line(&head);
    let waits = task.blocked_by.join(", ");
    let facts = [
        ("for", task.assignee.as_deref()),
        ("owner", task.owner.as_deref()),
        (
            "waits for",
            Some(waits.as_str()).filter(|waits| !waits.is_empty()),
        ),
        ("blocked by", blocked),
        (
            "added",
            Some(task.created_at.as_str()).filter(|at| !at.is_empty()),
        ),
        ("claimed", task.started_at.as_deref()),
        ("ended", task.finished_at.as_deref()),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            context.ui.line(&format!("{name:<11} {fact}"));
        }
    }
    context.ui.line("");
    context.ui.text(task.description.trim_end());
    if let Some(result) = &task.result {
        context.ui.line("");
        let head = context.ui.styled(HEADING, "result");
        context.ui.own_line(&head);
        context.ui.text(result.trim_end());
    }
}
