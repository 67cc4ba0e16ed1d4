//! The faults of claims, discoveries and limits that the field knows, each tried on the binary with real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

#[path = "faults_plane/claims.rs"]
mod claims;
#[path = "faults_plane/findings.rs"]
mod findings;
#[path = "faults_plane/interrupted.rs"]
mod interrupted;
#[path = "faults_plane/limits.rs"]
mod limits;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};

use sandbox::{Answer, Reaped, Sandbox, answer};
use serde_json::{Value, json};

/// Starts one command for each line, all of them before any is waited for.
fn race(sandbox: &Sandbox, lines: &[Vec<String>]) -> Vec<Answer> {
    let children: Vec<Child> = lines
        .iter()
        .map(|line| {
            let mut command = sandbox.command(line);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let ends = children.into_iter();
    ends.map(|child| answer(child.wait_with_output().unwrap()))
        .collect()
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_string).collect()
}

fn won(answers: &[Answer]) -> usize {
    let done = answers.iter().filter(|answer| answer.status == Some(0));
    let done = done.count();
    let refused = answers.iter().filter(|answer| answer.status == Some(1));
    assert_eq!(done + refused.count(), answers.len(), "{answers:#?}");
    done
}

fn members(count: usize) -> Sandbox {
    let names: Vec<String> = (1..=count).map(|n| format!("w{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Sandbox::with_team(&names, &[])
}
