//! `ralph`: a task is gone over until it is done.

use pitcrew_core::loops::{Mode, Opening, Ralph};

use super::{Saying, Starting, cancel, loops, shown, started, status, step};
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "ralph",
    "Go over a task again and again; idle panes are prompted meanwhile",
    &[
        Entry::new::<Start>("start", "Start the loop"),
        Entry::new::<Status>(
            "status",
            "Show how it stands; ends with 1 when there is none",
        ),
        Entry::new::<Tick>("tick", "Report one slice of the task as done"),
        Entry::new::<Cancel>("cancel", "End the loop"),
    ],
);

/// Start the loop
///
/// While it is active, members that idle in their panes are prompted, at most three times without progress.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  pitcrew ralph start 'Fix what the tests find' --max-iterations 10")]
struct Start {
    /// What is to be done
    #[arg(value_name = "TASK")]
    task: String,
    /// After how many iterations the agent's hook lets it stop
    #[arg(long, value_name = "N", default_value_t = Ralph::MAX_ITERATIONS, value_parser = clap::value_parser!(i64).range(1..))]
    max_iterations: i64,
    #[command(flatten)]
    starting: Starting,
}

/// Show how the loop stands; ends with 1 when there is none
#[derive(Debug, clap::Args)]
struct Status {}

/// Report one slice of the task as done
///
/// Iterations are counted by the agent's hook, slices by this.
#[derive(Debug, clap::Args)]
struct Tick {
    #[command(flatten)]
    saying: Saying,
}

/// End the loop
#[derive(Debug, clap::Args)]
struct Cancel {}

impl Run for Start {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let wish = self.starting.wish(&self.task);
        let open = |opening: &Opening<'_>| Ralph::opened(opening, self.max_iterations);
        let (state, _) = loops(&project).start(&wish, open)?;
        let words = format!(
            "ralph started iter={}/{}",
            state.iteration,
            shown(state.max_iterations)
        );
        Ok(started(context, &project, &state, &words))
    }
}

impl Run for Status {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        status(context, |state: &Ralph| {
            format!(
                "ralph active iter={}/{} prompt={}",
                state.iteration,
                shown(state.max_iterations),
                state.prompt
            )
        })
    }
}

impl Run for Tick {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let words = |state: &Ralph| {
            format!(
                "ralph tick → completedSlices={} (iter {}/{} is hook-owned)",
                state.completed_slices,
                state.iteration,
                shown(state.max_iterations)
            )
        };
        let done = loops(&project).tick();
        step(
            context,
            done,
            self.saying.voice(),
            words,
            "ralph tick failed",
        )
    }
}

impl Run for Cancel {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        cancel(context, Mode::Ralph)
    }
}
