//! Bad input of every kind, bad folders and full disks: an answer in shape, never a panic.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

#[path = "hostile/folders.rs"]
mod folders;
#[path = "hostile/inputs.rs"]
mod inputs;
#[path = "hostile/machine.rs"]
mod machine;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use sandbox::{Answer, Sandbox, answer, skipped};
use serde_json::{Map, Value, json};

/// One object with `ok` on standard output, status 0 or 1 as `ok` says, and no panic.
#[track_caller]
fn in_shape(answer: &Answer) -> Value {
    assert!(!answer.stderr.contains("panicked"), "{answer:#?}");
    let value = answer.json();
    let ok = value["ok"]
        .as_bool()
        .unwrap_or_else(|| panic!("no ok: {answer:#?}"));
    assert_eq!(answer.status, Some(i32::from(!ok)), "{answer:#?}");
    if !ok {
        let said = ["error", "reason", "message"]
            .iter()
            .any(|key| value[key].is_string());
        assert!(said, "no reason: {answer:#?}");
    }
    value
}

/// Every path below a folder but those of team `t`.
fn outside(sandbox: &Sandbox) -> BTreeSet<String> {
    let root = sandbox.root();
    let mut found = BTreeSet::new();
    let mut open = vec![root.parent().unwrap().to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            if entry.path() == sandbox.team("t", "").components().as_path() {
                continue;
            }
            found.insert(entry.path().display().to_string());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test of the binary starts the binary"
)]
fn plain_command(program: &Path) -> Command {
    Command::new(program)
}
