//! One job, three seats: an agent in a shell that knows only the commands, one behind `pitcrew mcp`, and one in a
//! program that calls the libraries. They write one file together, over one team's folder.
//!
//! | who | seat | what it does |
//! |---|---|---|
//! | `ann` | `sh` | asks how dates are written, writes lines 1 to 7, gives up 8 to 10, ends what `cy` could not |
//! | `bob` | MCP | finds out how dates are written, shares it, answers |
//! | `cy` | library | is refused lines that ann holds, asks for them, stands in line, is stopped by its budget |
//!
//! All three run at once and each waits for what it needs by the means of its seat; nothing sleeps, and nothing here
//! depends on who is faster.
#![cfg(feature = "mcp")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "mcp/serving.rs"]
mod serving;

#[path = "seats/client.rs"]
mod client;
#[path = "seats/program.rs"]
mod program;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use serving::{in_time, sandbox::Answer, sandbox::Sandbox, sandbox::answer, token};

/// What the agent in the shell does. Each wait ends by what happens, and a step that fails ends it.
const ANN: &str = include_str!("seats/ann.sh");

/// The agent in the shell, from its first command to its last.
#[expect(
    clippy::disallowed_methods,
    reason = "the agent is a program of its own, as agents in shells are"
)]
fn shell(sandbox: &Sandbox, token: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_pitcrew")).parent().unwrap();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", ANN])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", binary.display()))
        .env("HOME", sandbox.root().join("../home"))
        .env("PITCREW_TEAM", "t")
        .env("PITCREW_AGENT", "ann")
        .env("PITCREW_TOKEN", token)
        .current_dir(sandbox.root())
        .stdin(Stdio::null());
    command
}

fn prepared() -> Sandbox {
    let sandbox = Sandbox::with_team(&["ann", "bob", "cy"], &[]);
    let blank: Vec<String> = (1..=20).map(|n| format!("{n}: to be written")).collect();
    fs::write(sandbox.root().join("notes.txt"), blank.join("\n") + "\n").unwrap();
    for (id, member, text) in [
        ("style", "bob", "find out how dates are written here"),
        ("top", "ann", "write lines 1 to 7 of notes.txt"),
    ] {
        let line = ["task", "add", text, "--id", id, "--for", member];
        sandbox.call(line).succeeded();
    }
    // Whoever is there may take the rest over, so it is meant for nobody.
    let rest = [
        "task",
        "add",
        "write lines 8 to 20 of notes.txt",
        "--id",
        "rest",
    ];
    sandbox.call(rest).succeeded();
    let check = [
        "task",
        "add",
        "check notes.txt",
        "--id",
        "check",
        "--blocked-by",
        "style",
        "--blocked-by",
        "top",
        "--blocked-by",
        "rest",
    ];
    sandbox.call(check).succeeded();
    let money = ["limits", "set", "--budget", "5", "--budget-of", "cy=0.50"];
    sandbox.call(money).succeeded();
    sandbox
}

#[test]
fn three_seats_finish_one_job_together() {
    let sandbox = prepared();
    let mut ann = shell(&sandbox, &token(&sandbox, "ann"));
    let bob = client::Client::start(&sandbox, &token(&sandbox, "bob"));
    let (root, cys) = (sandbox.root(), token(&sandbox, "cy"));
    let bob = std::thread::spawn(move || client::bob(bob));
    let cy = std::thread::spawn(move || program::cy(&root, &cys));
    let ann = in_time(move || answer(ann.output().expect("sh starts")));
    ann.succeeded();
    in_time(move || bob.join()).expect("bob came through");
    let stopped = in_time(move || cy.join()).expect("cy came through");

    // The finding changed what ann wrote, cy wrote what it had money for, and ann the rest.
    let written = fs::read_to_string(sandbox.root().join("notes.txt")).unwrap();
    let wanted = (1..=20).map(|n| match n {
        8..=14 => "cy 2026-11-30\n",
        _ => "ann 2026-11-30\n",
    });
    assert_eq!(written, wanted.collect::<String>());
    assert_eq!(stopped, "budget_exceeded");
    the_team_agrees(&sandbox);
    every_step_is_an_event(&sandbox);
}

fn asked(sandbox: &Sandbox, line: &[&str]) -> Value {
    let answer: Answer = sandbox.call(line.iter().chain(&["--json"]));
    answer.succeeded().json()
}

/// What is left is what three that are done leave: everything completed, nothing held, nothing set aside, no mail.
fn the_team_agrees(sandbox: &Sandbox) {
    for (id, owner) in [
        ("style", "bob"),
        ("top", "ann"),
        ("rest", "ann"),
        ("check", "ann"),
    ] {
        let task = sandbox.task("t", id);
        assert_eq!(
            (&task["status"], &task["owner"]),
            (&json!("completed"), &json!(owner)),
            "{id}"
        );
    }
    assert_eq!(asked(sandbox, &["claims"])["claims"], json!([]));
    let status = &asked(sandbox, &["limits", "status"])["status"];
    assert_eq!(status["reserved"]["cost"], 0, "{status}");
    assert_eq!(status["used"]["cost"], 300_000, "{status}");
    let who = asked(sandbox, &["who"]);
    for row in who["members"].as_array().unwrap() {
        assert_eq!(
            (&row["waiting"], &row["damped"]),
            (&json!([]), &Value::Null)
        );
        if row["name"] != "leader" {
            assert_eq!(row["unread"], 0, "{row}");
        }
    }
}

/// The same story, as whoever follows the events is told it.
fn every_step_is_an_event(sandbox: &Sandbox) {
    let text = sandbox.read("t", "events.jsonl");
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let at = |word: &str, member: &str| {
        let is_it = |event: &Value| event["type"] == word && event.to_string().contains(member);
        let found = events.iter().position(is_it);
        found.unwrap_or_else(|| panic!("no {word} of {member}: {text}"))
    };
    // Only what one has to wait for the other to say is in order: an event is written after its change can be seen.
    let conflict = [
        at("claim_made", "\"ann\""),
        at("claim_refused", "\"cy\""),
        at("claim_waiting", "\"cy\""),
        at("claim_granted", "\"cy\""),
        at("task_completed", "\"top\""),
        at("task_completed", "\"check\""),
    ];
    assert!(conflict.is_sorted(), "{conflict:?} {text}");
    let budget = [
        at("claim_waiting", "\"cy\""),
        at("limit_denied", "\"cy\""),
        at("task_released", "\"rest\""),
        at("task_completed", "\"check\""),
    ];
    assert!(budget.is_sorted(), "{budget:?} {text}");
    assert!(at("discovery_shared", "\"bob\"") < at("task_completed", "\"top\""));
}
