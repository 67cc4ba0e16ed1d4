//! `ultrawork`: an objective is kept up over many tasks.

use pitcrew_core::loops::{Mode, Opening, Ultrawork};

use super::{Starting, cancel, loops, started, status};
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "ultrawork",
    "Keep an objective up over many tasks; idle panes are prompted meanwhile",
    &[
        Entry::new::<Start>("start", "Start the loop"),
        Entry::new::<Status>(
            "status",
            "Show how it stands; ends with 1 when there is none",
        ),
        Entry::new::<Cancel>("cancel", "End the loop"),
    ],
);

/// Start the loop
///
/// While it is active, members that idle in their panes are prompted, at most three times without progress.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  pitcrew ultrawork start 'Process the open tickets' --task-count 7")]
struct Start {
    /// What is to be reached
    #[arg(value_name = "OBJECTIVE")]
    objective: String,
    /// The tasks in a few words
    #[arg(long, value_name = "TEXT")]
    task_summary: Option<String>,
    /// How many tasks there are
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    task_count: i64,
    #[command(flatten)]
    starting: Starting,
}

/// Show how the loop stands; ends with 1 when there is none
#[derive(Debug, clap::Args)]
struct Status {}

/// End the loop
#[derive(Debug, clap::Args)]
struct Cancel {}

impl Run for Start {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let wish = self.starting.wish(&self.objective);
        let open = |opening: &Opening<'_>| {
            Ultrawork::opened(opening, self.task_summary.as_deref(), self.task_count)
        };
        let (state, _) = loops(&project).start(&wish, open)?;
        let words = format!("ultrawork started: {}", state.objective);
        Ok(started(context, &project, &state, &words))
    }
}

impl Run for Status {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        status(context, |state: &Ultrawork| {
            format!("ultrawork active: {}", state.objective)
        })
    }
}

impl Run for Cancel {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        cancel(context, Mode::Ultrawork)
    }
}
