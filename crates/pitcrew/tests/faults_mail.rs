//! The faults of mail that the field knows, each tried on the binary with real processes and files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

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

#[test]
fn a1_a_name_that_nobody_has_is_refused_and_nothing_appears() {
    let sandbox = Sandbox::with_team(&["w1", "w2", "gone"], &[]);
    sandbox
        .call(["--team", "t", "team", "remove-member", "gone"])
        .succeeded();
    let before = paths(&sandbox.root());
    for (to, code, nearest) in [
        ("w3", "unknown_recipient", json!("w1")),
        ("W1", "unknown_recipient", json!("w1")),
        ("w1 ", "invalid_name", Value::Null),
        ("team-lead", "unknown_recipient", Value::Null),
        ("", "invalid_name", Value::Null),
        ("gone", "unknown_recipient", Value::Null),
    ] {
        let answer = sandbox
            .call(["--team", "t", "send", to, "x", "--json"])
            .ended(1)
            .json();
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!(code)),
            "{to:?}"
        );
        if code == "unknown_recipient" {
            assert_eq!(answer["valid"], json!(["w1", "w2", "leader"]), "{to:?}");
            assert_eq!(answer["nearest"], nearest, "{to:?}");
        }
    }
    for to in ["w1", "leader"] {
        let answer = sandbox
            .call(["--team", "tt", "send", to, "x", "--json"])
            .ended(1)
            .json();
        assert_eq!(
            (&answer["code"], &answer["nearest"]),
            (&json!("team_not_found"), &json!("t"))
        );
        let input = json!({ "team_name": "tt", "from": "leader", "to": to, "body": "x" });
        assert_eq!(
            sandbox.api("send-message", &input).ended(1).json()["code"],
            "team_not_found"
        );
    }
    let said = sandbox
        .call(["--team", "t", "send", "W1", "x"])
        .ended(1)
        .stderr;
    assert!(
        said.contains("did you mean w1? valid names: w1, w2, leader"),
        "{said}"
    );
    assert_eq!(paths(&sandbox.root()), before);
}

/// What the writers of [`a2`] have to show: bodies that were acknowledged, and those of which nobody knows.
#[derive(Default)]
struct Sends {
    acknowledged: BTreeMap<String, String>,
    unknown: HashSet<String>,
}

/// One writer: `count` messages to the leader, one process each. At `killed_at` the process is killed somewhere on its
/// way, and the writer is no more.
fn write_all(
    sandbox: &Sandbox,
    name: &str,
    count: usize,
    killed_at: Option<usize>,
    sends: &Mutex<Sends>,
) {
    for n in 0..count {
        let body = format!("{name}:{n}");
        let mut child = sandbox
            .command(["--team", "t", "--as", name, "send", "leader", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let fed = stdin.write_all(body.as_bytes());
        drop(stdin);
        if killed_at == Some(n) {
            // Where it is by then differs from run to run, and that is wanted.
            (0..n % 7 * 300).for_each(|_| std::thread::yield_now());
            child.kill().unwrap();
            let answer = answer(child.wait_with_output().unwrap());
            let mut sends = sends.lock().unwrap();
            if answer.stdout.ends_with('\n') {
                sends
                    .acknowledged
                    .insert(answer.stdout.trim().to_string(), body);
            } else {
                sends.unknown.insert(body);
            }
            return;
        }
        fed.unwrap();
        let answer = answer(child.wait_with_output().unwrap()).succeeded();
        let id = answer.stdout.trim().to_string();
        assert_eq!(sends.lock().unwrap().acknowledged.insert(id, body), None);
    }
}

#[test]
fn a2_of_many_writers_at_once_every_acknowledged_message_stands_once_and_in_order() {
    for _ in 0..rounds("PITCREW_ROUNDS", 1) {
        a2(rounds("PITCREW_SENDS", 200));
    }
}

fn a2(count: usize) {
    let writers: Vec<String> = (1..=20).map(|n| format!("w{n}")).collect();
    let names: Vec<&str> = writers.iter().map(String::as_str).collect();
    let sandbox = Sandbox::with_team(&names, &[]);
    let sends = Mutex::new(Sends::default());
    let done = AtomicBool::new(false);
    let acknowledged_by_reader = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut used = Vec::new();
            while !done.load(Ordering::SeqCst) {
                let messages = unread(&sandbox, "leader");
                let ids = messages
                    .iter()
                    .take(25)
                    .map(|message| message["id"].as_str().unwrap());
                let ids: Vec<String> = ids.map(str::to_string).collect();
                if !ids.is_empty() {
                    let mut line = vec!["--team", "t", "inbox", "--ack"];
                    line.extend(ids.iter().map(String::as_str));
                    sandbox.call(line).succeeded();
                    used.extend(ids);
                }
            }
            used
        });
        let (sandbox, sends) = (&sandbox, &sends);
        let threads: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let killed_at = (place % 7 == 3).then_some(count / 3 + place);
                scope.spawn(move || write_all(sandbox, name, count, killed_at, sends))
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        done.store(true, Ordering::SeqCst);
        reader.join().unwrap()
    });
    let sends = sends.into_inner().unwrap();
    assert_eq!(
        sends.acknowledged.len() + sends.unknown.len(),
        17 * count + 3 * (count / 3) + 3 + 3 + 10 + 17
    );

    let input = json!({ "team_name": "t", "worker": "leader" });
    let answer = sandbox.api("mailbox-list", &input).succeeded().json();
    assert!(answer.get("damage").is_none(), "{}", answer["damage"]);
    let messages = answer["messages"].as_array().unwrap();
    let mut seen = HashSet::new();
    let mut last: BTreeMap<&str, i64> = BTreeMap::new();
    for message in messages {
        let (id, body) = (
            message["id"].as_str().unwrap(),
            message["body"].as_str().unwrap(),
        );
        assert!(seen.insert(id), "{id} stands twice");
        match sends.acknowledged.get(id) {
            Some(sent) => assert_eq!(sent, body),
            None => assert!(sends.unknown.contains(body), "{body} was sent by nobody"),
        }
        let (name, n) = body.split_once(':').unwrap();
        assert_eq!(message["from"], name);
        let n = n.parse().unwrap();
        assert!(
            last.insert(name, n).is_none_or(|before| before < n),
            "{body} is out of order"
        );
    }
    let lost = sends
        .acknowledged
        .keys()
        .filter(|id| !seen.contains(id.as_str()));
    assert_eq!(lost.count(), 0);
    let used: HashSet<&str> = acknowledged_by_reader.iter().map(String::as_str).collect();
    assert_eq!(
        used.len(),
        acknowledged_by_reader.len(),
        "an acknowledged message came again"
    );
    for message in messages {
        let id = message["id"].as_str().unwrap();
        assert_eq!(
            message.get("deliveredAt").is_some(),
            used.contains(id),
            "{id}"
        );
    }
}

#[test]
fn a3_a_cut_record_is_isolated_and_reported_and_nothing_later_is_swallowed() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let file = sandbox.team("t", "mailbox/w1.jsonl");
    for round in 0..rounds("PITCREW_ROUNDS", 20) {
        for name in ["w1.jsonl", ".w1.unread", ".w1.offset"] {
            drop(fs::remove_file(file.with_file_name(name)));
        }
        sandbox
            .call(["--team", "t", "send", "w1", "whole"])
            .succeeded();
        let whole = fs::read(&file).unwrap();
        sandbox
            .call(["--team", "t", "send", "w1", "cut"])
            .succeeded();
        let both = fs::read(&file).unwrap();
        let cut_at = whole.len() + 1 + round % (both.len() - whole.len() - 2);
        fs::write(&file, &both[..cut_at]).unwrap();

        let sent = sandbox
            .call(["--team", "t", "send", "w1", "new", "--json"])
            .succeeded()
            .json();
        let answer = sandbox
            .call(["--team", "t", "--as", "w1", "inbox", "--json"])
            .succeeded()
            .json();
        let messages = answer["messages"].as_array().unwrap();
        assert_eq!(bodies(messages), ["whole", "new"], "cut at {cut_at}");
        assert_eq!(answer["damage"]["count"], 1, "cut at {cut_at}");
        assert_eq!(
            answer["damage"]["places"][0]["at"],
            whole.len(),
            "cut at {cut_at}"
        );
        let mark = json!({ "team_name": "t", "worker": "w1", "message_id": sent["messageId"] });
        sandbox.api("mailbox-mark-delivered", &mark).succeeded();
        assert_eq!(
            bodies(&unread(&sandbox, "w1")),
            ["whole"],
            "cut at {cut_at}"
        );
        let said = sandbox
            .call(["--team", "t", "--as", "w1", "inbox"])
            .succeeded()
            .stderr;
        assert!(
            said.contains(&format!("damage at byte {}", whole.len())),
            "{said}"
        );
    }
}

#[test]
fn a4_what_is_a_message_is_shown_and_what_is_not_is_counted() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let message = |id: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","from":"leader","to":"w1","body":"{id}","timestamp":"t"}}"#
        )
    };
    let lines: Vec<Vec<u8>> = vec![
        b"null".to_vec(),
        b"{\"not valid".to_vec(),
        [b"\xEF\xBB\xBF", message("bom").as_bytes()].concat(),
        format!("{}\r", message("crlf")).into_bytes(),
        message("lone")
            .replace("\"body\":\"lone\"", "\"body\":\"\\ud800\"")
            .into_bytes(),
        message("bytes")
            .replace("\"body\":\"bytes\"", "\"body\":\"@\"")
            .bytes()
            .map(|b| if b == b'@' { 0xFF } else { b })
            .collect(),
        message("untyped")
            .replace("\"type\":\"message\",", "")
            .into_bytes(),
        message("twice").into_bytes(),
        message("twice").into_bytes(),
        br#"{"type":"delivery-receipt","messageId":"early","deliveredAt":"d"}"#.to_vec(),
        message("early").into_bytes(),
    ];
    fs::write(sandbox.team("t", "mailbox/w1.jsonl"), lines.join(&b'\n')).unwrap();
    fs::OpenOptions::new()
        .append(true)
        .open(sandbox.team("t", "mailbox/w1.jsonl"))
        .unwrap()
        .write_all(b"\n")
        .unwrap();
    let answer = sandbox
        .api("mailbox-list", &json!({ "team_name": "t", "worker": "w1" }))
        .succeeded()
        .json();
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(
        bodies(messages),
        [
            "bom", "crlf", "\u{FFFD}", "\u{FFFD}", "untyped", "twice", "early"
        ]
    );
    assert!(messages.iter().all(|message| message["type"] == "message"));
    assert_eq!(messages[6]["deliveredAt"], "d");
    assert_eq!(answer["damage"]["count"], 2);
    assert_eq!(
        bodies(&unread(&sandbox, "w1")),
        ["bom", "crlf", "\u{FFFD}", "\u{FFFD}", "untyped", "twice"]
    );
}

#[test]
fn a5_bodies_come_through_byte_for_byte_or_are_refused() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let limit = 1024 * 1024;
    let bodies = [
        "ends with;",
        ";",
        "`id`",
        "$(touch x)",
        "it's \"quoted\"",
        "a\tb",
        "\n\n\n",
        "a\r\nb",
        "x\u{1b}[201~y",
        "nul \0 here",
        "\u{1F469}\u{200D}\u{1F4BB}",
        " ",
        "-",
        "--json",
    ];
    let mut all: Vec<String> = bodies.map(str::to_string).to_vec();
    all.push("k".repeat(64 * 1024));
    all.push("m".repeat(limit));
    let before = paths(&sandbox.root());
    for body in &all {
        let file = sandbox.root().join("body");
        fs::write(&file, body).unwrap();
        let by_stdin = sandbox
            .feed(["--team", "t", "send", "w1", "-"], body.as_bytes())
            .succeeded();
        let by_file = sandbox
            .call(["--team", "t", "send", "w1", "--body-file", "body"])
            .succeeded();
        let input =
            json!({ "team_name": "t", "from": "leader", "to": "w1", "body": body }).to_string();
        let line = ["team", "api", "send-message", "--input", "-", "--json"];
        let by_request = sandbox.feed(line, input.as_bytes()).succeeded().json();
        let mut ids = vec![
            by_stdin.stdout.trim().to_string(),
            by_file.stdout.trim().to_string(),
        ];
        ids.push(by_request["messageId"].as_str().unwrap().to_string());
        let listed = unread(&sandbox, "w1");
        for id in &ids {
            let message = listed
                .iter()
                .find(|message| message["id"] == id.as_str())
                .unwrap();
            assert!(
                message["body"] == body.as_str(),
                "{:?} changed",
                &body[..body.len().min(40)]
            );
        }
        let mut line = vec!["--team", "t", "--as", "w1", "inbox", "--ack"];
        line.extend(ids.iter().map(String::as_str));
        sandbox.call(line).succeeded();
        fs::remove_file(file).unwrap();
    }
    let large = "x".repeat(limit + 1);
    for refused in [
        sandbox
            .feed(
                ["--team", "t", "send", "w1", "-", "--json"],
                large.as_bytes(),
            )
            .ended(1)
            .json(),
        sandbox
            .call(["--team", "t", "send", "w1", "", "--json"])
            .ended(1)
            .json(),
    ] {
        assert!(["body_too_large", "invalid_input"].contains(&refused["code"].as_str().unwrap()));
    }
    sandbox
        .feed(["--team", "t", "send", "w1", "-", "--json"], b"a\xFFb")
        .ended(2);
    let after: BTreeSet<String> = paths(&sandbox.root())
        .into_iter()
        .filter(|path| !path.contains("/mailbox/"))
        .collect();
    let before: BTreeSet<String> = before
        .into_iter()
        .filter(|path| !path.contains("/mailbox/"))
        .collect();
    assert_eq!(after, before, "nothing was executed");
}

#[test]
fn a6_listing_consumes_nothing_and_only_the_named_message_is_marked() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let send = |body: &str| {
        sandbox
            .call(["--team", "t", "send", "w1", body])
            .succeeded()
            .stdout
            .trim()
            .to_string()
    };
    let ids: Vec<String> = ["a", "b", "c"].map(send).to_vec();
    for _ in 0..2 {
        assert_eq!(bodies(&unread(&sandbox, "w1")), ["a", "b", "c"]);
    }
    let taken = sandbox
        .call_as("w1", ["inbox", "--next", "--json"])
        .succeeded()
        .json();
    assert_eq!(taken["message"]["body"], "a");
    std::thread::scope(|scope| {
        scope.spawn(|| send("d"));
        sandbox
            .call_as("w1", ["inbox", "--ack", &ids[1]])
            .succeeded();
    });
    assert_eq!(bodies(&unread(&sandbox, "w1")), ["a", "c", "d"]);
}

#[test]
fn a7_readers_that_share_a_mailbox_get_each_message_once_and_a_cut_one_is_noticed() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let count = rounds("PITCREW_MESSAGES", 400);
    let line = |n: usize| {
        format!(
            "{{\"type\":\"message\",\"id\":\"m{n}\",\"from\":\"leader\",\"to\":\"w1\",\"body\":\"{n}\",\"timestamp\":\"t\"}}\n"
        )
    };
    let text: String = (0..count).map(line).collect();
    fs::write(sandbox.team("t", "mailbox/w1.jsonl"), &text).unwrap();
    // A cursor that another program left empty or torn says nothing.
    fs::write(sandbox.team("t", "mailbox/.w1.offset"), "{\"bytesR").unwrap();
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let line = ["inbox", "--next", "--and-ack", "--json"];
                    let answer = sandbox.call_as("w1", line).succeeded().json();
                    let Some(id) = answer["message"]["id"].as_str() else {
                        return;
                    };
                    taken.lock().unwrap().push(id.to_string());
                }
            });
        }
    });
    let taken = taken.into_inner().unwrap();
    assert_eq!(taken.len(), count);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), count);

    fs::write(sandbox.team("t", "mailbox/w1.jsonl"), line(0)).unwrap();
    let answer = sandbox
        .call_as("w1", ["inbox", "--json"])
        .succeeded()
        .json();
    assert_eq!(answer["damage"]["count"], 1);
    let why = answer["damage"]["places"][0]["why"].as_str().unwrap();
    assert!(why.contains("cut to") || why.contains("replaced"), "{why}");
}

#[test]
fn a8_one_mailbox_that_cannot_be_written_keeps_no_other_from_its_message() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &[]);
    fs::create_dir(sandbox.team("t", "mailbox/w1.jsonl")).unwrap();
    let input = json!({ "team_name": "t", "from": "leader", "body": "all" });
    let answer = sandbox.api("broadcast", &input).succeeded().json();
    assert_eq!(
        (&answer["ok"], &answer["recipients"]),
        (&json!(true), &json!(["w2"]))
    );
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1);
    assert!(
        answer["errors"][0].as_str().unwrap().starts_with("w1: "),
        "{answer}"
    );
    assert_eq!(bodies(&unread(&sandbox, "w2")), ["all"]);
    fs::create_dir(sandbox.team("t", "mailbox/leader.jsonl")).unwrap();
    let input = json!({ "team_name": "t", "from": "w2", "body": "all" });
    let answer = sandbox.api("broadcast", &input).ended(1).json();
    assert_eq!(
        (&answer["ok"], &answer["recipients"]),
        (&json!(false), &json!([]))
    );
}

#[test]
fn a9_one_key_is_one_message_also_from_two_processes_at_once() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &[]);
    for round in 0..rounds("PITCREW_ROUNDS", 20) {
        let key = format!("k{round}");
        let line = [
            "--team",
            "t",
            "--as",
            "w2",
            "send",
            "w1",
            "once",
            "--idempotency-key",
            &key,
        ];
        let children: Vec<_> = (0..4)
            .map(|_| {
                sandbox
                    .command(line)
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let ids: HashSet<String> = children
            .into_iter()
            .map(|child| answer(child.wait_with_output().unwrap()).succeeded().stdout)
            .collect();
        assert_eq!(ids.len(), 1, "round {round}");
        assert_eq!(unread(&sandbox, "w1").len(), round + 1);
    }
    // Another sender's key is another key.
    sandbox
        .call([
            "--team",
            "t",
            "send",
            "w1",
            "mine",
            "--idempotency-key",
            "k0",
        ])
        .succeeded();
    assert_eq!(bodies(&unread(&sandbox, "w1")).last(), Some(&"mine"));
}

#[test]
fn a10_a_message_that_its_reader_fails_on_every_time_is_given_up_told_and_can_be_put_back() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &[]);
    let id = sandbox
        .call_as("w2", ["send", "w1", "poison"])
        .succeeded()
        .stdout
        .trim()
        .to_string();
    for attempt in 1..=5 {
        let taken = sandbox
            .call_as("w1", ["inbox", "--next", "--hold", "0s", "--json"])
            .succeeded()
            .json();
        assert_eq!(
            (&taken["message"]["id"], &taken["attempt"]),
            (&json!(id), &json!(attempt))
        );
    }
    let taken = sandbox
        .call_as("w1", ["inbox", "--next", "--hold", "0s", "--json"])
        .succeeded()
        .json();
    assert_eq!(taken["message"], Value::Null);
    let dead = sandbox
        .call_as("w1", ["inbox", "--dead", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        (
            &dead["messages"][0]["id"],
            &dead["messages"][0]["deadLettered"]
        ),
        (&json!(id), &json!(true))
    );
    let told = unread(&sandbox, "w2");
    assert_eq!((told.len(), &told[0]["reply_to"]), (1, &json!(id)));
    sandbox
        .call_as("w1", ["inbox", "--redeliver", &id])
        .succeeded();
    let taken = sandbox
        .call_as("w1", ["inbox", "--next", "--and-ack", "--json"])
        .succeeded()
        .json();
    assert_eq!(taken["message"]["body"], "poison");
    assert!(unread(&sandbox, "w1").is_empty());
    let refused = sandbox
        .call_as("w1", ["inbox", "--redeliver", &id, "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "not_dead_lettered");
}

#[test]
fn a11_a_worker_in_a_sub_package_reaches_its_team_by_the_root_in_its_environment() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let package = sandbox.root().join("packages/a");
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("package.json"), "{}").unwrap();
    let requests = |cwd: Option<&Path>| {
        let mut input =
            json!({ "team_name": "t", "from": "w1", "to": "leader", "body": "from below" });
        if let Some(cwd) = cwd {
            input["cwd"] = cwd.display().to_string().into();
        }
        vec![
            "team".to_string(),
            "api".into(),
            "send-message".into(),
            "--input".into(),
            input.to_string(),
        ]
    };
    let lines = [
        vec!["send".to_string(), "leader".into(), "from below".into()],
        requests(None),
        requests(Some(&package)),
        requests(Some(Path::new("src"))),
    ];
    for (count, line) in lines.iter().enumerate() {
        let mut command = sandbox.command(line);
        command
            .current_dir(&package)
            .env("PITCREW_ROOT", sandbox.root())
            .env("PITCREW_TEAM", "t")
            .env("PITCREW_AGENT", "w1");
        answer(command.output().unwrap()).succeeded();
        assert_eq!(unread(&sandbox, "leader").len(), count + 1, "{line:?}");
    }
    // Without the variable the sub-package is a project of its own, and says that it has no such team.
    let mut command = sandbox.command(&lines[1]);
    let refused = answer(command.current_dir(&package).output().unwrap())
        .ended(1)
        .json();
    assert_eq!(refused["code"], "team_not_found");
    assert!(!package.join(".omp").exists());
}

/// The SHA-256 of `secret`.
const HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

#[test]
fn a12_a_token_speaks_for_its_member_alone() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &[]);
    let config = sandbox.read("t", "config.json");
    let config = config.replacen(
        "\"name\": \"w1\",",
        &format!("\"name\": \"w1\",\n      \"tokenHash\": \"{HASH}\","),
        1,
    );
    fs::write(sandbox.team("t", "config.json"), config).unwrap();
    let call = |token: &str, line: &[&str]| {
        let mut command = sandbox.command(line);
        command.env("PITCREW_TEAM", "t").env("PITCREW_TOKEN", token);
        answer(command.output().unwrap())
    };
    let refused = call(
        "secret",
        &["--as", "leader", "send", "w2", "obey", "--json"],
    )
    .ended(1)
    .json();
    assert_eq!(refused["code"], "sender_mismatch");
    let input =
        json!({ "team_name": "t", "from": "leader", "to": "w2", "body": "obey" }).to_string();
    let refused = call(
        "secret",
        &["team", "api", "send-message", "--input", &input],
    )
    .ended(1)
    .json();
    assert_eq!(refused["error"], "sender_mismatch");
    let refused = call("another", &["send", "w2", "x", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "invalid_token");
    for line in [
        &["team", "shutdown", "t", "--json"][..],
        &["team", "rm", "t", "--json"],
        &["inbox", "--as", "w2", "--json"],
    ] {
        let refused = call("secret", line).ended(1).json();
        assert!(
            ["leader_only", "sender_mismatch"].contains(&refused["code"].as_str().unwrap()),
            "{refused}"
        );
    }
    assert!(unread(&sandbox, "w2").is_empty());
    call("secret", &["send", "w2", "mine"]).succeeded();
    let message = &unread(&sandbox, "w2")[0];
    assert_eq!(
        (&message["from"], &message["verified"]),
        (&json!("w1"), &json!(true))
    );
}

#[test]
fn a12_what_a_terminal_shows_has_its_control_characters_made_visible() {
    let sandbox = Sandbox::with_team(&["w1"], &["\u{1b}]0;owned\u{7}task"]);
    let body = "\u{1b}]52;c;ZWNobw==\u{7}\u{1b}[2J\u{9b}31m\u{202e}evil\rover";
    sandbox
        .feed(["--team", "t", "send", "w1", "-"], body.as_bytes())
        .succeeded();
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox
        .call_as("w1", ["task", "done", "1", "\u{1b}[31mred\nsecond line"])
        .succeeded();
    for line in [
        &["--as", "w1", "inbox"][..],
        &["--as", "w1", "inbox", "--all"],
        &["task", "list"],
        &["team", "status", "t"],
        &["team", "collect", "t"],
        &["team", "list"],
        &["who"],
        &["doctor"],
        &["--as", "w1", "inbox", "--next"],
        &["send", "\u{1b}[31mx", "y"],
        &["wait", "--task-end", "1"],
    ] {
        let answer = sandbox.call(["--team", "t"].iter().chain(line));
        let shown = answer.stdout + &answer.stderr;
        let is_control = |c: char| {
            c != '\n' && c != '\t' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
        };
        assert!(!shown.chars().any(is_control), "{line:?}: {shown:?}");
    }
    // JSON escapes what needs it and keeps every byte.
    let answer = sandbox
        .call_as("w1", ["inbox", "--all", "--json"])
        .succeeded();
    assert!(!answer.stdout.contains('\u{1b}'));
    assert_eq!(answer.json()["messages"][0]["body"], body);
}

#[test]
fn a13_a_stranger_sends_claims_and_reports_nothing() {
    let sandbox = Sandbox::with_team(&["w1"], &["task"]);
    let token = sandbox
        .call_as("w1", ["task", "claim", "1", "--json"])
        .succeeded()
        .json()["claimToken"]
        .clone();
    sandbox
        .call(["--team", "t", "task", "add", "second"])
        .succeeded();
    let before = paths(&sandbox.root());
    for (request, input, code) in [
        (
            "send-message",
            json!({ "from": "ghost", "to": "w1", "body": "x" }),
            "unknown_sender",
        ),
        (
            "broadcast",
            json!({ "from": "ghost", "body": "x" }),
            "unknown_sender",
        ),
        (
            "claim-task",
            json!({ "worker": "ghost", "task_id": "2" }),
            "unknown_member",
        ),
        (
            "claim-next-task",
            json!({ "worker": "ghost" }),
            "unknown_member",
        ),
        (
            "transition-task-status",
            json!({ "worker": "ghost", "task_id": "1", "from": "in_progress", "to": "completed", "claim_token": token }),
            "unknown_member",
        ),
    ] {
        let mut input = input;
        input["team_name"] = "t".into();
        assert_eq!(
            sandbox.api(request, &input).ended(1).json()["code"],
            code,
            "{request}"
        );
    }
    for line in [
        &["send", "w1", "x"][..],
        &["broadcast", "x"],
        &["inbox"],
        &["task", "claim", "2"],
        &["task", "done", "1"],
    ] {
        let line = ["--team", "t", "--as", "ghost", "--json"]
            .iter()
            .chain(line);
        let refused = sandbox.call(line).ended(1).json();
        assert!(
            refused["code"].as_str().unwrap().starts_with("unknown_"),
            "{refused}"
        );
    }
    let list = sandbox
        .api(
            "mailbox-list",
            &json!({ "team_name": "t", "worker": "ghost" }),
        )
        .succeeded()
        .json();
    assert_eq!(list["messages"], json!([]));
    assert_eq!(paths(&sandbox.root()), before);
    assert_eq!(sandbox.task("t", "1")["status"], "in_progress");
}
