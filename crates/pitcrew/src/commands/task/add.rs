//! `task add`: one more task.

use pitcrew_core::TaskId;
use pitcrew_runtime::desk::TaskPlan;
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Add>("add", "Add a task");

/// Add a task
#[derive(Debug, clap::Args)]
pub(super) struct Add {
    /// What is to be done
    #[arg(value_name = "DESCRIPTION")]
    description: String,
    /// Its id; else the next free number
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The member that it is meant for; else anybody may claim it
    #[arg(long = "for", value_name = "MEMBER")]
    assignee: Option<String>,
    /// A task that must be completed first; can be given several times
    #[arg(long, value_name = "ID")]
    blocked_by: Vec<String>,
}

impl Run for Add {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let plan = TaskPlan {
            id: self.id.as_deref().map(TaskId::new).transpose()?,
            description: self.description,
            assignee: self.assignee,
            blocked_by: self
                .blocked_by
                .iter()
                .map(|id| TaskId::new(id))
                .collect::<Result<_, _>>()?,
        };
        let team = context.open_team()?;
        let desk = team.desk();
        let ids = desk.add_tasks(&[plan])?;
        for id in &ids {
            if context.ui.json {
                let task = desk.task(id)?;
                context
                    .ui
                    .json(&json!({ "ok": true, "task": task }), Layout::Pretty);
            } else {
                context.ui.line(id.as_str());
            }
        }
        Ok(Exit::Done)
    }
}
