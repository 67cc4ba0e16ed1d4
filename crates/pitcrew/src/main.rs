//! The binary: requests in, answers out. It decides nothing; see `pitcrew_runtime` for what happens and
//! `pitcrew_core` for the rules.

use std::process::ExitCode;

mod cli;
mod commands;
mod context;
mod environment;
mod halt;
mod hints;
#[cfg(feature = "mcp")]
mod mcp;
mod panes;
mod prices;
mod profiles;
mod span;
mod ui;

fn main() -> ExitCode {
    let environment = environment::Environment::read();
    cli::answer(&environment)
}
