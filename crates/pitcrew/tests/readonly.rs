//! Commands that look leave every file as it was: its bytes, its times, its mode, and the set of names.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sandbox::{Reaped, Sandbox};
use serde_json::json;

/// Everything about a file that could show that it was touched.
#[derive(Debug, PartialEq, Eq)]
struct State {
    bytes: Option<Vec<u8>>,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    mode: u32,
}

fn snapshot(folder: &Path) -> BTreeMap<PathBuf, State> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let state = State {
            bytes: meta.is_file().then(|| fs::read(&path).unwrap()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
            mode: meta.mode(),
        };
        if meta.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
        found.insert(path, state);
    }
    found
}

/// A team in which everything occurs that reading commands could want to mend.
fn busy() -> Sandbox {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &["a", "b", "c"]);
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox
        .call_as("w1", ["task", "done", "1", "result"])
        .succeeded();
    sandbox
        .call_as("w2", ["task", "claim", "2", "--lease", "1ms"])
        .succeeded();
    for body in ["one", "two", "three"] {
        sandbox.call_as("w2", ["send", "w1", body]).succeeded();
    }
    sandbox
        .call_as("w1", ["inbox", "--next", "--and-ack"])
        .succeeded();
    sandbox
        .call_as("w1", ["inbox", "--next", "--hold", "0s"])
        .succeeded();
    for line in [
        &["claim", "src/a.rs", "1", "9", "--ttl", "1ms"][..],
        &["claim", "src/b.rs", "1", "9"],
        &["discover", "topic", "one"],
        &["limits", "acquire", "--tokens", "5"],
    ] {
        sandbox.call_as("w1", line).succeeded();
    }
    let set = ["limits", "set", "--budget", "1", "--reservation-ttl", "1s"];
    sandbox.call(set).succeeded();
    let shared = fs::OpenOptions::new()
        .append(true)
        .open(sandbox.team("t", "discoveries.jsonl"));
    shared.unwrap().write_all(b"no finding\n{\"cut").unwrap();
    fs::write(sandbox.team("t", "tasks/4.json"), "{\"id\":").unwrap();
    fs::write(sandbox.team("t", "tasks/.1.json.tmp"), "half").unwrap();
    fs::write(sandbox.team("t", "mailbox/.w2.unread"), "no index").unwrap();
    fs::write(
        sandbox.team("t", "mailbox/w2.jsonl"),
        "no record\n{\"type\":\"mess",
    )
    .unwrap();
    let mut mailbox = fs::OpenOptions::new()
        .append(true)
        .open(sandbox.team("t", "mailbox/w1.jsonl"))
        .unwrap();
    mailbox.write_all(b"{\"cut").unwrap();
    sandbox
}

fn reading(team: &str) -> Vec<Vec<String>> {
    let list = json!({ "team_name": team, "worker": "w1" }).to_string();
    let unread =
        json!({ "team_name": team, "worker": "worker-1", "undelivered_only": true }).to_string();
    let tasks = json!({ "team_name": team }).to_string();
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["team", "status", team],
        vec!["team", "list"],
        vec!["team", "collect", team],
        vec!["team", "collect", "--dir", "delivery"],
        vec!["inbox"],
        vec!["inbox", "--all"],
        vec!["inbox", "--dead"],
        vec!["inbox", "--limit", "1"],
        vec!["task", "list"],
        vec!["task", "list", "--ready"],
        vec!["who"],
        vec!["wait", "--timeout", "0s"],
        vec!["wait", "--message", "--timeout", "20ms"],
        vec!["wait", "--task-end", "1"],
        vec!["doctor"],
        vec!["doctor", "--profiles"],
        vec!["profile", "list"],
        vec!["profile", "test", "claude", "missing.txt"],
        vec!["pane", "capture", "w1"],
        vec!["team", "api", "mailbox-list", "--input", &list],
        vec!["team", "api", "mailbox-list", "--input", &unread],
        vec!["team", "api", "list-tasks", "--input", &tasks],
        vec!["claims"],
        vec!["claims", "src/a.rs"],
        vec!["discoveries"],
        vec!["discoveries", "--topic", "topic", "--since", "1h"],
        vec!["limits", "status"],
        vec!["ralph", "status"],
        vec!["ultrawork", "status"],
        vec!["ultraqa", "status"],
        vec!["team", "monitor", "status"],
        vec!["team", "explain", "w1"],
        vec!["team", "api", "list-claims", "--input", &tasks],
        vec!["team", "api", "read-discoveries", "--input", &tasks],
        vec!["team", "api", "limit-status", "--input", &tasks],
        vec!["events"],
        vec!["events", "--member", "w1", "--limit", "3"],
        vec!["events", "--schema"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["--help"],
        // What is refused changes nothing either.
        vec!["send", "nobody", "x"],
        vec!["task", "claim", "99"],
        vec!["task", "done", "99"],
        vec!["team", "init", team],
        vec!["team", "rm", "nobody"],
        vec!["team", "shutdown", "nobody"],
        vec!["claim", "src/b.rs", "9", "1"],
        vec!["claim", "../b.rs", "1", "2"],
        vec!["release", "src/c.rs"],
        vec!["discover", "topic", ""],
        vec!["limits", "acquire", "--tokens", "99999999999999"],
        vec!["limits", "record", "99", "--tokens", "5"],
        vec!["limits", "release", "99"],
        vec!["limits", "run", "--tokens", "99999999999999", "--", "true"],
    ];
    let json: Vec<Vec<&str>> = lines
        .iter()
        .map(|line| [&line[..], &["--json"]].concat())
        .collect();
    lines.extend(json);
    let owned = |line: Vec<&str>| line.into_iter().map(str::to_string).collect();
    lines.into_iter().map(owned).collect()
}

#[test]
fn d6_reading_commands_leave_every_byte_and_time_as_it_was() {
    let sandbox = busy();
    let before = snapshot(&sandbox.root());
    for line in reading("t") {
        for member in ["w1", "w2", "leader"] {
            let answer = sandbox.call(
                ["--team", "t", "--as", member]
                    .iter()
                    .map(|word| word.to_string())
                    .chain(line.clone()),
            );
            assert!(
                answer.status.is_some_and(|status| status != 101),
                "{line:?}: {answer:?}"
            );
            assert_eq!(snapshot(&sandbox.root()), before, "{line:?} as {member}");
        }
    }
}

#[test]
fn d6_reading_commands_leave_a_folder_of_the_reference_as_it_was() {
    let Some(sandbox) = Sandbox::golden() else {
        return;
    };
    let before = snapshot(&sandbox.root());
    for line in reading("gold") {
        for member in ["worker-1", "leader"] {
            sandbox.call(
                ["--team", "gold", "--as", member]
                    .iter()
                    .map(|word| word.to_string())
                    .chain(line.clone()),
            );
            assert_eq!(snapshot(&sandbox.root()), before, "{line:?} as {member}");
        }
    }
}

#[test]
fn in_a_folder_without_a_team_nothing_appears() {
    let sandbox = Sandbox::new();
    let before = snapshot(&sandbox.root());
    for line in reading("t")
        .into_iter()
        .filter(|line| line.get(1).is_none_or(|word| word != "init"))
    {
        sandbox.call(line.clone());
        assert_eq!(snapshot(&sandbox.root()), before, "{line:?}");
    }
}

#[test]
fn following_a_mailbox_shows_what_comes_and_leaves_it_as_it_was() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    sandbox
        .call(["--team", "t", "send", "w1", "before"])
        .succeeded();
    let mut child = Reaped(
        sandbox
            .command(["--team", "t", "--as", "w1", "inbox", "--follow", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let mut next = || {
        let line: serde_json::Value =
            serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        line["body"].as_str().unwrap().to_string()
    };
    assert_eq!(next(), "before");
    for body in ["first", "second", "third"] {
        sandbox
            .call(["--team", "t", "send", "w1", body])
            .succeeded();
        let after = snapshot(&sandbox.team("t", ""));
        assert_eq!(next(), body);
        assert_eq!(snapshot(&sandbox.team("t", "")), after);
    }
    interrupt(&child);
    let status = child.0.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(lines.next().is_none(), "no half line is left");
}

#[test]
fn waiting_ends_with_what_was_waited_for() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &["a"]);
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    let begin = |line: &[&str]| {
        let child = sandbox
            .command(
                [
                    "--team",
                    "t",
                    "--as",
                    "w2",
                    "--json",
                    "wait",
                    "--timeout",
                    "60s",
                ]
                .iter()
                .chain(line),
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Reaped(child)
    };
    let end = |mut child: Reaped, status: i32| {
        let text = std::io::read_to_string(child.0.stdout.take().unwrap()).unwrap();
        assert_eq!(child.0.wait().unwrap().code(), Some(status));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["happened"].clone()
    };
    let (message, task, over) = (
        begin(&["--message"]),
        begin(&["--any-task"]),
        begin(&["--task-end", "1"]),
    );
    sandbox.call_as("w1", ["send", "w2", "x"]).succeeded();
    assert_eq!(end(message, 0), "message");
    sandbox
        .call(["--team", "t", "task", "add", "next", "--blocked-by", "1"])
        .succeeded();
    sandbox.call_as("w1", ["task", "done", "1"]).succeeded();
    assert_eq!(end(over, 0), "task_ended");
    assert_eq!(end(task, 0), "task_ready");

    let mut waiting = begin(&["--task-end", "2"]);
    interrupt(&waiting);
    let status = waiting.0.wait().unwrap();
    // It may not have listened yet.
    assert!(
        status.code() == Some(130) || status.code().is_none(),
        "{status}"
    );
    let answer = sandbox
        .call([
            "--team",
            "t",
            "wait",
            "--task-end",
            "2",
            "--timeout",
            "30ms",
            "--json",
        ])
        .ended(4)
        .json();
    assert_eq!(
        (&answer["ok"], &answer["code"]),
        (&json!(false), &json!("timed_out"))
    );
    let answer = sandbox
        .call(["--team", "t", "wait", "--task-end", "99", "--json"])
        .ended(1)
        .json();
    assert_eq!(answer["code"], "task_not_found");
    let waiting = begin(&["--task-end", "2"]);
    sandbox.call(["team", "shutdown", "t"]).succeeded();
    assert_eq!(end(waiting, 1), "shut_down");
}

/// Presses Ctrl-C.
#[expect(
    clippy::disallowed_methods,
    reason = "`kill` is how a test presses Ctrl-C without unsafe code"
)]
fn interrupt(child: &Reaped) {
    let pid = child.0.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .unwrap();
    assert!(sent.success());
}
