//! `pane exec`: the gate in front of an agent. It is what a pane is opened with; nobody calls it by hand.

use std::path::PathBuf;
use std::time::Duration;

use pitcrew_runtime::tmux::enter;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};

/// How long a pane waits for its agent.
const PATIENCE: Duration = Duration::from_secs(60);

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Exec>(
    "exec",
    "Become the agent that a file names; pitcrew calls it itself",
);

/// Become the agent that a file names; pitcrew calls it itself
///
/// A pane is opened with this command. It waits until its launch has recorded the pane and written the private file, removes
/// the file, and becomes the agent. So no secret stands in a command line, and no agent runs that is not known.
#[derive(Debug, clap::Args)]
pub(crate) struct Exec {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Run for Exec {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let Err(error) = enter(&context.environment.cwd.join(&self.file), PATIENCE);
        // tmux scrolls the first row out of sight when it says that the pane is dead.
        context.ui.say("");
        Err(Halt::System {
            what: "start the agent",
            why: error.to_string(),
        })
    }
}
