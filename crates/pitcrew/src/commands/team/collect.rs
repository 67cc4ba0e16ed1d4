//! `team collect`: what has come of the work, from a delivery folder or from a team.

use std::path::PathBuf;

use super::refuse;
use crate::cli::{Entry, Run, failed_answer};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

mod delivery;
mod results;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Collect>("collect", "Show what has come of the work");

/// Show what has come of the work
///
/// With `--dir`: the lanes of a delivery folder and their results. With a name: the tasks of a team, their results, and
/// the files that its members left. It never waits and changes no file; exit status 0 also when not all is done.
#[derive(Debug, clap::Args)]
pub(super) struct Collect {
    /// The team
    #[arg(value_name = "NAME", conflicts_with = "dir")]
    name: Option<String>,
    /// A delivery folder: manifest.json and a LANE.result.md for each lane
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    dir: Option<Option<PathBuf>>,
}

impl Run for Collect {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let collected = match (&self.dir, &self.name) {
            (Some(None), _) => return Ok(without_words(context)),
            (Some(Some(dir)), _) => delivery::collect(context, dir),
            (None, Some(name)) => results::collect(context, name),
            (None, None) => return Ok(without_words(context)),
        };
        match collected {
            Ok(exit) => Ok(exit),
            Err(halt) => refuse(context, "collect", halt),
        }
    }
}

/// The reference's answer to a call without a folder, which is status 1 there.
fn without_words(context: &mut Context<'_>) -> Exit {
    no(
        context,
        "team collect requires --dir <delivery-dir>",
        "or name a team: `pitcrew team collect <name>`",
    )
}

/// Says no in the reference's words.
fn no(context: &mut Context<'_>, message: &str, hint: &str) -> Exit {
    if context.ui.json {
        let mut answer = failed_answer("message", None, &Halt::Usage(message.to_string()));
        answer["hint"] = hint.into();
        context.ui.json(&answer, Layout::Pretty);
    } else {
        context.ui.line(message);
        context.ui.say(&format!(" hint: {hint}"));
    }
    Exit::Refused
}
