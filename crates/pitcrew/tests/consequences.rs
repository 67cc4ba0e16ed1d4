//! What follows from a change of a task comes, or is said to be missing and made up for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::os::unix::fs::symlink;

use sandbox::Sandbox;
use serde_json::Value;

/// What the leader's mailbox says, as one text.
fn told(sandbox: &Sandbox) -> String {
    let path = sandbox.team("t", "mailbox/leader.jsonl");
    fs::read_to_string(path).unwrap_or_default()
}

/// The lines of a member's outbox.
fn outbox(sandbox: &Sandbox, member: &str) -> Vec<Value> {
    let path = sandbox.team("t", &format!("workers/{member}/outbox.jsonl"));
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Task 1, and task 2 that waits for it.
fn scene() -> Sandbox {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &["x"]);
    let line = ["task", "add", "y", "--blocked-by", "1"];
    sandbox.call(line).succeeded();
    sandbox.call_as("ann", ["task", "claim", "1"]).succeeded();
    sandbox
}

#[test]
fn a_word_to_the_leader_that_could_not_be_written_is_said_and_made_up_for() {
    let sandbox = scene();
    let mailbox = sandbox.team("t", "mailbox/leader.jsonl");
    fs::create_dir_all(&mailbox).unwrap();
    let said = sandbox
        .call_as("ann", ["task", "fail", "1", "boom"])
        .succeeded();
    assert!(
        said.stderr.contains("what was done stands") && said.stderr.contains("leader"),
        "{said:?}"
    );
    fs::remove_dir(&mailbox).unwrap();
    // The writer is gone; whoever comes next does it, whatever it asks for.
    sandbox.call_as("bob", ["task", "claim", "2"]).ended(1);
    assert!(told(&sandbox).contains("Task 1 failed"));
    sandbox.call_as("bob", ["task", "claim"]).succeeded();
    assert_eq!(told(&sandbox).matches("Task 1 failed").count(), 1);
    assert!(!sandbox.team("t", "tasks/1.lock").exists());
}

#[test]
fn an_outbox_line_that_could_not_be_written_is_said_and_made_up_for() {
    for end in ["done", "fail"] {
        let sandbox = scene();
        let outbox_file = sandbox.team("t", "workers/ann/outbox.jsonl");
        fs::create_dir_all(&outbox_file).unwrap();
        let said = sandbox
            .call_as("ann", ["task", end, "1", "the result"])
            .succeeded();
        assert!(said.stderr.contains("outbox line of ann"), "{said:?}");
        fs::remove_dir(&outbox_file).unwrap();
        for _ in 0..2 {
            sandbox.call_as("bob", ["task", "claim"]).succeeded();
        }
        let lines = outbox(&sandbox, "ann");
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["result"], "the result");
    }
}

#[test]
fn a_folder_of_members_that_is_a_link_is_said() {
    let sandbox = scene();
    let workers = sandbox.team("t", "workers");
    let away = sandbox.root().join("away");
    fs::rename(&workers, &away).unwrap();
    symlink(&away, &workers).unwrap();
    let said = sandbox.call_as("ann", ["task", "done", "1"]).succeeded();
    assert!(said.stderr.contains("outbox line of ann"), "{said:?}");
}

#[test]
fn an_end_whose_writer_was_killed_is_followed_up_by_the_next_command() {
    for end in ["done", "fail"] {
        let sandbox = scene();
        sandbox
            .call_as("ann", ["task", end, "1", "the result"])
            .succeeded();
        // As a kill right behind the change leaves it: the mark of a process that is gone, and nothing that follows.
        fs::write(
            sandbox.team("t", "tasks/1.lock"),
            r#"{"owner":"ann","pid":999999999,"claimedAt":"2026-11-30T16:22:29.063Z"}"#,
        )
        .unwrap();
        fs::remove_file(sandbox.team("t", "workers/ann/outbox.jsonl")).unwrap();
        let _ = fs::remove_file(sandbox.team("t", "mailbox/leader.jsonl"));
        sandbox.call(["team", "status", "t"]).succeeded();
        assert!(outbox(&sandbox, "ann").is_empty(), "looking writes nothing");
        sandbox.call_as("bob", ["task", "claim"]).succeeded();
        let lines = outbox(&sandbox, "ann");
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(
            (&lines[0]["taskId"], &lines[0]["result"]),
            (&"1".into(), &"the result".into())
        );
        assert_eq!(told(&sandbox).contains("Task 1 failed"), end == "fail");
        assert!(!sandbox.team("t", "tasks/1.lock").exists());
    }
}

#[test]
fn a_claim_of_a_named_task_follows_up_what_is_listed_as_owed() {
    let sandbox = scene();
    sandbox.call(["task", "add", "z"]).succeeded();
    sandbox.call_as("ann", ["task", "done", "1"]).succeeded();
    let mark = r#"{"owner":"ann","pid":999999999,"claimedAt":"2026-11-30T16:22:29.063Z"}"#;
    fs::write(sandbox.team("t", "tasks/1.lock"), mark).unwrap();
    fs::write(sandbox.team("t", "tasks/.owed/1"), "").unwrap();
    fs::remove_file(sandbox.team("t", "workers/ann/outbox.jsonl")).unwrap();
    sandbox.call_as("bob", ["task", "claim", "3"]).succeeded();
    assert_eq!(outbox(&sandbox, "ann").len(), 1);
    assert!(!sandbox.team("t", "tasks/1.lock").exists());
    assert!(!sandbox.team("t", "tasks/.owed/1").exists());
}

#[test]
fn a_claim_of_a_living_program_is_given_way_to() {
    let sandbox = Sandbox::with_team(&["ann"], &["x"]);
    let task = sandbox.task("t", "1")["createdAt"].clone();
    let mark = serde_json::json!({ "owner": "bob", "pid": std::process::id(), "claimedAt": task });
    fs::write(sandbox.team("t", "tasks/1.lock"), mark.to_string()).unwrap();
    let input = serde_json::json!({ "team_name": "t", "task_id": "1", "worker": "ann" });
    let said = sandbox.api("claim-task", &input).ended(1).json();
    assert_eq!(said["reason"], "concurrent claim race", "{said}");
    assert_eq!(sandbox.task("t", "1")["status"], "pending");
}

/// The binary with files of at most `blocks` times 512 bytes, and no mercy for whoever writes more.
#[expect(
    clippy::disallowed_methods,
    reason = "a test of the binary starts the binary"
)]
fn with_short_files(sandbox: &Sandbox, blocks: u32, line: &[&str]) -> sandbox::Answer {
    let script = format!("ulimit -f {blocks}; exec \"$@\"");
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_pitcrew")])
        .args(line)
        .env_clear()
        .current_dir(sandbox.root());
    sandbox::answer(command.output().unwrap())
}

#[test]
fn a_record_that_a_limit_on_files_would_cut_is_refused_whole() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    sandbox.call(["send", "ann", "before"]).succeeded();
    let before = sandbox.read("t", "mailbox/ann.jsonl");
    let long = "x".repeat(4000);
    for line in [
        &["send", "ann", &long, "--json"][..],
        &["task", "add", &long, "--json"],
        &["broadcast", &long, "--json"],
    ] {
        let said = with_short_files(&sandbox, 2, line).ended(3).json();
        assert_eq!(said["code"], "storage_full", "{said}");
        assert!(
            said["message"].as_str().unwrap().contains("ulimit"),
            "{said}"
        );
    }
    assert_eq!(sandbox.read("t", "mailbox/ann.jsonl"), before);
}

#[test]
fn a_file_outside_the_team_that_a_limit_on_files_would_cut_is_left_as_it_was() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let pages = sandbox.root().join("pages");
    sandbox.call(["man", "--dir", "pages"]).succeeded();
    let kept = || {
        let mut kept: Vec<_> = fs::read_dir(&pages)
            .unwrap()
            .map(|page| page.unwrap().path())
            .map(|page| (page.clone(), fs::read(page).unwrap()))
            .collect();
        kept.sort();
        kept
    };
    let before = kept();
    let line = ["man", "--dir", "pages", "--json"];
    let said = with_short_files(&sandbox, 1, &line).ended(3).json();
    assert_eq!(said["code"], "storage_full", "{said}");
    assert_eq!(kept(), before);
}

#[test]
fn a_broadcast_that_reaches_nobody_says_why() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    fs::create_dir(sandbox.team("t", "mailbox/ann.jsonl")).unwrap();
    let said = sandbox.call(["broadcast", "x", "--json"]).ended(3).json();
    assert_eq!(
        said["errors"],
        serde_json::json!(["ann: escapes_team_folder"])
    );
    assert_eq!(said["code"], "escapes_team_folder");
    assert!(
        said["message"].as_str().unwrap().contains("ann.jsonl"),
        "{said}"
    );
    let said = sandbox.call(["broadcast", "x"]).ended(3);
    assert!(said.stderr.contains("not sent to ann"), "{said:?}");
}

#[test]
fn a_shutdown_that_cannot_be_done_is_not_begun() {
    let sandbox = Sandbox::with_team(&["ann"], &["x"]);
    let workers = sandbox.team("t", "workers");
    fs::remove_dir_all(&workers).unwrap();
    symlink(sandbox.root(), &workers).unwrap();
    sandbox.call(["team", "shutdown", "t"]).ended(3);
    assert!(!sandbox.team("t", "shutdown.json").exists());
}

#[test]
fn the_tasks_of_a_member_that_is_removed_are_pending_again() {
    let sandbox = scene();
    let said = sandbox
        .call(["team", "remove-member", "ann", "--json"])
        .succeeded()
        .json();
    assert_eq!(said["givenBack"], serde_json::json!(["1"]), "{said}");
    let task = sandbox.task("t", "1");
    assert_eq!(
        (&task["status"], &task["owner"]),
        (&"pending".into(), &Value::Null)
    );
    sandbox.call_as("bob", ["task", "claim", "1"]).succeeded();
}
