//! `completions`: what a shell needs to complete our commands.

use clap_complete::Shell;
use serde_json::json;

use crate::cli::{self, Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Completions>("completions", "Write completions for a shell");

/// Write completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew completions bash > ~/.local/share/bash-completion/completions/pitcrew
  pitcrew completions fish > ~/.config/fish/completions/pitcrew.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Run for Completions {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let mut line = cli::command();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut line, "pitcrew", &mut script);
        if context.ui.json {
            let script = String::from_utf8_lossy(&script);
            let answer = json!({ "ok": true, "text": script });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.raw(&script);
        }
        Ok(Exit::Done)
    }
}
