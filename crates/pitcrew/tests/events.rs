//! Events through the binary: what commands write, what can be asked for, and what a follower sees across processes,
//! kills and the end of the team.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{ChildStdout, Stdio};

use sandbox::{Reaped, Sandbox};
use serde_json::Value;

/// A command that follows, ready to be told things.
struct Follower {
    child: Reaped,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    /// Follows with `line`, from the oldest event on so that no test has to wait for the start.
    fn start(sandbox: &Sandbox, line: &[&str]) -> Self {
        let base = [
            "--team", "t", "events", "--follow", "--json", "--since", "1d",
        ];
        let mut command = sandbox.command(base.iter().chain(line));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let child = Reaped(child);
        Self { child, lines }
    }

    fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.unwrap();
        Some(serde_json::from_str(&line).unwrap())
    }
}

fn kinds(answer: &Value) -> Vec<&str> {
    let events = answer["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

#[test]
fn the_page_of_events_is_the_schema() {
    let page = Sandbox::new()
        .call(["events", "--schema"])
        .succeeded()
        .stdout;
    let written = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.md");
    let written = fs::read_to_string(written).unwrap();
    assert!(
        page == written,
        "write it anew: pitcrew events --schema > docs/events.md"
    );
}

#[test]
fn what_happened_is_listed_by_topic_member_type_and_time() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &["one"]);
    sandbox
        .call_as("ann", ["send", "bob", "the secret body"])
        .succeeded();
    sandbox.call_as("ann", ["task", "claim"]).succeeded();
    sandbox
        .call_as("bob", ["claim", "a.rs", "1", "9"])
        .succeeded();
    sandbox
        .call_as("ann", ["claim", "a.rs", "9", "10"])
        .ended(1);
    let ask = |line: &[&str]| {
        let line = ["--team", "t", "events", "--json"].iter().chain(line);
        sandbox.call(line).succeeded().json()
    };
    let all = [
        "team_founded",
        "task_added",
        "message_sent",
        "task_claimed",
        "claim_made",
        "claim_refused",
    ];
    assert_eq!(kinds(&ask(&[])), all);
    assert_eq!(
        kinds(&ask(&["--topic", "context"])),
        ["claim_made", "claim_refused"]
    );
    assert_eq!(
        kinds(&ask(&["--topic", "nous:team:t:agent:bob"])),
        ["message_sent"]
    );
    assert_eq!(
        kinds(&ask(&["--member", "bob"])),
        [
            "team_founded",
            "message_sent",
            "claim_made",
            "claim_refused"
        ]
    );
    assert_eq!(
        kinds(&ask(&["--type", "task_added", "--type", "task_claimed"])),
        ["task_added", "task_claimed"]
    );
    assert_eq!(
        kinds(&ask(&["--limit", "2"])),
        ["claim_made", "claim_refused"]
    );
    assert_eq!(kinds(&ask(&["--since", "2030-01-01T00:00:00Z"])), [""; 0]);
    for (line, code) in [
        (["--type", "task_clamed"], "invalid_input"),
        (["--topic", "moon"], "invalid_input"),
        (["--topic", "agent:bo"], "unknown_sender"),
        (["--member", "bo"], "unknown_sender"),
        (["--since", "yesterday"], "invalid_input"),
    ] {
        let line = ["--team", "t", "events", "--json"].iter().chain(&line);
        assert_eq!(sandbox.call(line).ended(1).json()["code"], code);
    }
    let words = sandbox.call(["events", "--team", "t"]).succeeded().stdout;
    assert!(words.contains("agent:bob  message_sent  id="), "{words}");
    assert!(words.contains("from=ann  to=bob  length=15"), "{words}");
    assert!(!sandbox.read("t", "events.jsonl").contains("secret"));
}

#[test]
fn control_characters_in_an_event_are_visible() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let line = r#"{"v":1,"at":"2030-11-30T16:22:28.904Z","topic":"nous:team:t","type":"agent_crashed","member":"ann","reason":"\u001b]0;x\u0007\nok"}"#;
    let mut log = fs::File::options()
        .append(true)
        .open(sandbox.team("t", "events.jsonl"))
        .unwrap();
    writeln!(log, "{line}\nno event").unwrap();
    let seen = sandbox.call(["events", "--team", "t"]).succeeded();
    assert!(!seen.stdout.contains('\u{1b}') && !seen.stdout.contains('\u{7}'));
    assert_eq!(seen.stdout.lines().count(), 2, "{}", seen.stdout);
    assert!(
        seen.stderr
            .contains("1 lines of events.jsonl cannot be read"),
        "{}",
        seen.stderr
    );
}

#[test]
fn a_follower_sees_what_other_processes_do_and_the_end_of_the_team() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    let mut follower = Follower::start(
        &sandbox,
        &["--type", "message_sent", "--type", "team_dissolved"],
    );
    let mut ids = Vec::new();
    for _ in 0..3 {
        let sent = sandbox.call_as("ann", ["send", "bob", "x"]).succeeded();
        ids.push(sent.stdout.trim().to_string());
    }
    for id in &ids {
        assert_eq!(follower.next().unwrap()["id"], id.as_str());
    }
    sandbox.call(["team", "rm", "t"]).succeeded();
    assert_eq!(follower.next().unwrap()["type"], "team_dissolved");
    assert_eq!(follower.next(), None);
    assert!(follower.child.0.wait().unwrap().success());
}

#[test]
fn a_command_says_when_its_event_could_not_be_written_and_what_it_did_stands() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    fs::remove_file(sandbox.team("t", "events.jsonl")).unwrap();
    fs::create_dir(sandbox.team("t", "events.jsonl")).unwrap();
    let sent = sandbox.call_as("ann", ["send", "bob", "x"]).succeeded();
    assert!(
        sent.stderr.contains("stands, but 1 events"),
        "{}",
        sent.stderr
    );
    let mail = sandbox
        .call_as("bob", ["inbox", "--json"])
        .succeeded()
        .json();
    assert_eq!(mail["messages"].as_array().unwrap().len(), 1);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test kills at a chosen moment"
)]
fn real_senders_that_are_killed_leave_whole_events_of_messages_that_are_there() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    for round in 0..40_u64 {
        let mut child = sandbox.command(["--team", "t", "--as", "ann", "send", "bob", "x"]);
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        // A different point of the command each time; where it falls does not matter.
        let begun = std::time::Instant::now();
        while begun.elapsed().as_micros() < u128::from(round) * 150 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    sandbox.call_as("ann", ["send", "bob", "last"]).succeeded();
    let mail = sandbox
        .call_as("bob", ["inbox", "--json"])
        .succeeded()
        .json();
    let there: Vec<&str> = mail["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["id"].as_str().unwrap())
        .collect();
    let seen = sandbox
        .call(["--team", "t", "events", "--type", "message_sent", "--json"])
        .succeeded()
        .json();
    assert_eq!(seen["damage"], Value::Null);
    let told: Vec<&str> = seen["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["id"].as_str().unwrap())
        .collect();
    assert!(
        told.iter().all(|id| there.contains(id)),
        "an event of a message that is not there"
    );
    assert!(told.len() <= there.len() && told.last() == there.last());
}

#[test]
fn who_shows_what_each_member_waits_for() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    sandbox
        .call_as("ann", ["send", "bob", "may I?", "--intent", "request"])
        .succeeded();
    sandbox
        .call_as("ann", ["claim", "a.rs", "1", "9"])
        .succeeded();
    let mut waiting = sandbox.command([
        "--team", "t", "--as", "bob", "claim", "a.rs", "3", "4", "--wait", "1m",
    ]);
    let mut waiting = Reaped(
        waiting
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut follower = Follower::start(&sandbox, &["--type", "claim_waiting"]);
    follower.next().unwrap();
    let who = sandbox
        .call(["--team", "t", "who", "--json"])
        .succeeded()
        .json();
    let [ann, bob] = [0, 1].map(|n| who["members"][n]["waiting"][0].clone());
    assert_eq!(
        (&ann["reason"], &ann["on"][0]),
        (&"reply".into(), &"bob".into())
    );
    assert_eq!(
        (&bob["reason"], &bob["on"][0]),
        (&"claim".into(), &"ann".into())
    );
    let words = sandbox.call(["--team", "t", "who"]).succeeded().stdout;
    assert!(
        words.contains("waits for ann: lines of a.rs 3-4 since "),
        "{words}"
    );
    assert!(words.contains("waits for bob: a reply to "), "{words}");
    sandbox.call_as("ann", ["release", "a.rs"]).succeeded();
    assert!(waiting.0.wait().unwrap().success());
}

#[test]
fn g10_commands_that_thank_each_other_are_damped_and_say_so() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    let mut last = None;
    for n in 0..16 {
        let (from, to) = if n % 2 == 0 {
            ("ann", "bob")
        } else {
            ("bob", "ann")
        };
        last = Some(
            sandbox
                .call_as(from, ["send", to, "thanks", "--json"])
                .succeeded()
                .json(),
        );
    }
    assert_eq!(last.unwrap()["damped"], 6);
    let told = sandbox
        .call(["--team", "t", "--as", "leader", "inbox"])
        .succeeded()
        .stdout;
    assert!(told.contains("bob has answered others 6 times"), "{told}");
    let said = sandbox
        .call_as("ann", ["send", "bob", "thanks"])
        .succeeded();
    assert!(
        said.stderr.contains("bob is not woken by it"),
        "{}",
        said.stderr
    );
}
