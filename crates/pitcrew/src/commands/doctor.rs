//! `doctor`: looks at everything that pitcrew stands on, says what it found, and changes nothing.

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Doctor>("doctor", "Check this machine, this project and its teams");

/// Check this machine, this project and its teams
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {}

impl Run for Doctor {
    fn run(self, _context: &mut Context<'_>) -> Result<Exit, Halt> {
        Ok(Exit::Done)
    }
}
