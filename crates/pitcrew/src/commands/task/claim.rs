//! `task claim`: take a task.

use std::time::Duration;

use pitcrew_core::TaskId;
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::span;
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Claim>("claim", "Take a task: this one, or the next that is ready");

/// Take a task: this one, or the next that is ready
///
/// Of several who try, one gets it. The answer is the claim token, which every later step of the task needs.
#[derive(Debug, clap::Args)]
pub(super) struct Claim {
    /// The task; else the first that is pending, ready and yours to take
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Let others take it over after so long without progress: 90s, 10m, 1h
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    lease: Option<Duration>,
}

impl Run for Claim {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let who = context.credentials(&team.name);
        // Without the token nobody can end the task.
        context.ui.expect_a_reader()?;
        let lease = self.lease.map(span::millis);
        let task = match self.id.as_deref().map(TaskId::new).transpose()? {
            Some(id) => Some(team.desk().claim(&who, &id, lease)?),
            None => team.desk().claim_next(&who, lease)?,
        };
        match (task, context.ui.json) {
            (Some(task), true) => {
                let answer = json!({ "ok": true, "task": task, "claimToken": task.claim_token });
                context.ui.json(&answer, Layout::Pretty);
            }
            (Some(task), false) => {
                context.ui.line(&format!(
                    "{}  {}",
                    task.id,
                    task.claim_token.as_deref().unwrap_or_default()
                ));
                context.ui.text(&task.description);
            }
            (None, true) => {
                let mut answer = json!({ "ok": true, "task": null });
                let unreadable = team.desk().tasks()?.unreadable;
                if !unreadable.is_empty() {
                    answer["unreadable"] = json!(unreadable);
                }
                context.ui.json(&answer, Layout::Pretty);
            }
            (None, false) => {
                context
                    .ui
                    .say("no task is ready for you; wait for one with `pitcrew wait`");
                for task in team.desk().tasks()?.unreadable {
                    let (id, why) = (task.id, task.why);
                    context.ui.say(&format!("task {id} cannot be read: {why}"));
                }
            }
        }
        Ok(Exit::Done)
    }
}
