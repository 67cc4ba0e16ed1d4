//! A1 to A4: names, writers at once, cut records, foreign lines.

use super::*;

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
