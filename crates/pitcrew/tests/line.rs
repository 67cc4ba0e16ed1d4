//! The command line as people and agents meet it: the first team of the help page, refusals with a next step, usage
//! errors in JSON, the second name, completions and manual pages.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

#[path = "line/meaning.rs"]
mod meaning;
#[path = "line/pages.rs"]
mod pages;
#[path = "line/work.rs"]
mod work;

use std::fs;
use std::os::unix::fs::symlink;

use sandbox::{Sandbox, answer, keys};
use serde_json::{Value, json};

#[expect(
    clippy::disallowed_methods,
    reason = "a test of the binary starts the binary"
)]
fn other_command(program: &std::path::Path) -> std::process::Command {
    std::process::Command::new(program)
}
