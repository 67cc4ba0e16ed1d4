//! A5 to A10: bodies, listing and taking, shared mailboxes, broadcasts, keys, dead letters.

use super::*;

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
    assert!(why.contains("was cut") || why.contains("replaced"), "{why}");
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
