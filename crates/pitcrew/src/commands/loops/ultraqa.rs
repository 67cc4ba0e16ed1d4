//! `ultraqa`: tests are run and mended until they pass.

use pitcrew_core::loops::{Mode, Opening, Ultraqa, Verdict};

use super::{Saying, Starting, cancel, loops, say_no, shown, started, status, step};
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "ultraqa",
    "Run tests and mend until they pass; idle panes are prompted meanwhile",
    &[
        Entry::new::<Start>("start", "Start the loop"),
        Entry::new::<Status>(
            "status",
            "Show how it stands; ends with 1 when there is none",
        ),
        Entry::new::<Cycle>("cycle", "Report how a cycle ended; a pass ends the loop"),
        Entry::new::<Cancel>("cancel", "End the loop"),
    ],
);

/// Start the loop
///
/// While it is active, members that idle in their panes are prompted, at most three times without progress.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  pitcrew ultraqa start 'All tests pass' --max-cycles 5")]
struct Start {
    /// What is to pass
    #[arg(value_name = "GOAL")]
    goal: String,
    /// After how many cycles the agent's hook lets it stop
    #[arg(long, value_name = "N", default_value_t = Ultraqa::MAX_CYCLES, value_parser = clap::value_parser!(i64).range(1..))]
    max_cycles: i64,
    #[command(flatten)]
    starting: Starting,
}

/// Show how the loop stands; ends with 1 when there is none
#[derive(Debug, clap::Args)]
struct Status {}

/// Report how a cycle ended; a pass ends the loop
#[derive(Debug, clap::Args)]
struct Cycle {
    /// pass, fail or pending
    #[arg(value_name = "VERDICT")]
    verdict: String,
    #[command(flatten)]
    saying: Saying,
}

/// End the loop
#[derive(Debug, clap::Args)]
struct Cancel {}

impl Run for Start {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let wish = self.starting.wish(&self.goal);
        let open = |opening: &Opening<'_>| Ultraqa::opened(opening, self.max_cycles);
        let (state, _) = loops(&project).start(&wish, open)?;
        let words = format!(
            "ultraqa started cycle={}/{}",
            state.cycle_count,
            shown(state.max_cycles)
        );
        Ok(started(context, &project, &state, &words))
    }
}

impl Run for Status {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        status(context, |state: &Ultraqa| {
            let verdict = state.last_verdict.unwrap_or(Verdict::Pending);
            format!(
                "ultraqa active cycle={}/{} verdict={}",
                state.cycle_count,
                shown(state.max_cycles),
                verdict.word()
            )
        })
    }
}

impl Run for Cycle {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let Some(verdict) = Verdict::parse(&self.verdict) else {
            let message = format!(
                "ultraqa cycle expects pass|fail|pending, got {}",
                self.verdict
            );
            return Ok(say_no(context.ui, &message));
        };
        let project = context.project(None)?;
        let words = |state: &Ultraqa| {
            format!(
                "ultraqa cycle → {}/{} verdict={}",
                state.cycle_count,
                shown(state.max_cycles),
                verdict.word()
            )
        };
        let done = loops(&project).cycle(verdict);
        step(context, done, self.saying.voice(), words, "ultraqa cycle")
    }
}

impl Run for Cancel {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        cancel(context, Mode::Ultraqa)
    }
}
