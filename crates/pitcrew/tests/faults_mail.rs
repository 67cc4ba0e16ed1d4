//! The faults of mail that the field knows, each tried on the binary with real processes and files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

#[path = "faults_mail/arriving.rs"]
mod arriving;
#[path = "faults_mail/reading.rs"]
mod reading;
#[path = "faults_mail/speaking.rs"]
mod speaking;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sandbox::{Sandbox, answer, rounds};
use serde_json::{Value, json};

/// Every path below a folder.
fn paths(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            found.insert(entry.path().display().to_string());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

/// The unread messages of a member of team `t`.
fn unread(sandbox: &Sandbox, owner: &str) -> Vec<Value> {
    let answer = sandbox
        .call(["--team", "t", "--as", owner, "inbox", "--json"])
        .succeeded();
    answer.json()["messages"].as_array().unwrap().clone()
}

fn bodies(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message["body"].as_str().unwrap())
        .collect()
}
