//! `pitcrew-fake`: the fake agent as a program. It is equipment for tests, and for trying a team out without an account.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a program of its own"
)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use pitcrew_runtime::tmux;
use pitcrew_sim::fake::settings::{HELP, Settings};
use pitcrew_sim::fake::stage;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--help" | "-h"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        // The same gate as the product's, for tests that do not have its binary.
        ["pane-exec", file] => {
            let Err(error) = tmux::enter(Path::new(file), Duration::from_secs(10));
            // tmux scrolls the first row out of sight when it says that the pane is dead.
            eprintln!("\npitcrew-fake: {error}");
            return ExitCode::FAILURE;
        }
        _ => {}
    }
    match Settings::parse(arguments) {
        Ok(settings) => match stage::play(settings) {
            Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(1)),
            Err(error) => {
                eprintln!("pitcrew-fake: {error}");
                ExitCode::FAILURE
            }
        },
        Err(wrong) => {
            eprintln!("pitcrew-fake: {wrong}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}
