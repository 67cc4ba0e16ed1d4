//! `team api`, `team status`, `team collect` and `team shutdown` as the reference has them: keys in order, `ok`, exit
//! status and words, on a folder of our own and on one that the reference wrote.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

#[path = "api/recorded.rs"]
mod recorded;

use std::fs;

use sandbox::{Sandbox, keys};
use serde_json::{Value, json};

fn crew() -> Sandbox {
    Sandbox::with_team(&["worker-1", "worker-2"], &["first", "second"])
}

#[track_caller]
fn refused(sandbox: &Sandbox, request: &str, input: &Value, key: &str, text: &str) -> Value {
    let answer = sandbox.api(request, input).ended(1).json();
    assert_eq!(answer["ok"], false, "{request} {input}: {answer}");
    assert_eq!(answer[key], text, "{request} {input}: {answer}");
    let at = |key: &str| keys(&answer).iter().position(|known| *known == key);
    assert_eq!((at("ok"), at(key)), (Some(0), Some(1)), "{answer}");
    assert!(
        answer["code"].is_string() && answer["hint"].is_string(),
        "{answer}"
    );
    answer
}

#[test]
fn claim_task_answers_the_task_and_its_token() {
    let sandbox = crew();
    let input = json!({ "team_name": "t", "task_id": "1", "worker": "worker-1" });
    let answer = sandbox.api("claim-task", &input).succeeded().json();
    assert_eq!(keys(&answer), ["ok", "task", "claimToken"]);
    assert_eq!(
        keys(&answer["task"])[..7],
        [
            "id",
            "description",
            "status",
            "createdAt",
            "owner",
            "startedAt",
            "claimToken"
        ]
    );
    let token = answer["claimToken"].as_str().unwrap();
    assert_eq!(answer["task"]["claimToken"], token);
    let parts: Vec<&str> = token.rsplitn(3, '-').collect();
    assert_eq!(parts[2], "worker-1");
    assert!(
        parts[1].parse::<u64>().is_ok() && parts[0].parse::<u32>().is_ok_and(|n| n < 1_000_000)
    );

    refused(
        &sandbox,
        "claim-task",
        &input,
        "reason",
        "task 1 status=in_progress",
    );
    let of = |id: Value, worker: &str| json!({ "team_name": "t", "task_id": id, "worker": worker });
    refused(
        &sandbox,
        "claim-task",
        &of("99".into(), "worker-1"),
        "reason",
        "task 99 not found",
    );
    refused(
        &sandbox,
        "claim-task",
        &of("../x".into(), "worker-1"),
        "reason",
        "invalid_task_id",
    );
    refused(
        &sandbox,
        "claim-task",
        &of(Value::Null, "worker-1"),
        "reason",
        "task null not found",
    );
    let elsewhere = json!({ "team_name": "nope", "task_id": "99", "worker": "worker-1" });
    let answer = refused(
        &sandbox,
        "claim-task",
        &elsewhere,
        "reason",
        "task 99 not found",
    );
    assert_eq!(answer["code"], "team_not_found");
    // A number will do for an id, as it does for the reference.
    sandbox
        .api("claim-task", &of(2.into(), "worker-2"))
        .succeeded();
}

#[test]
fn a_claim_leaves_the_files_that_the_reference_leaves() {
    let sandbox = crew();
    let input = json!({ "team_name": "t", "task_id": "1", "worker": "worker-1" });
    let claimed = sandbox.api("claim-task", &input).succeeded().json();
    let lock = sandbox.read("t", "tasks/1.lock");
    assert_eq!(
        keys(&serde_json::from_str(&lock).unwrap()),
        ["owner", "pid", "claimedAt"]
    );
    assert!(!lock.ends_with('\n') && !lock.contains(' '));
    let heartbeat = sandbox.read("t", "workers/worker-1/heartbeat.json");
    let value: Value = serde_json::from_str(&heartbeat).unwrap();
    assert_eq!(
        keys(&value),
        [
            "pid",
            "workerName",
            "teamName",
            "lastPollAt",
            "turnCount",
            "alive"
        ]
    );
    assert_eq!(
        (&value["turnCount"], &value["alive"]),
        (&json!(1), &json!(true))
    );
    assert!(!heartbeat.ends_with('\n'));

    let input = json!({
        "team_name": "t", "task_id": "1", "worker": "worker-1", "from": "in_progress", "to": "completed",
        "claim_token": claimed["claimToken"], "result": "Summary: naïve ☃ done",
    });
    let answer = sandbox
        .api("transition-task-status", &input)
        .succeeded()
        .json();
    assert_eq!(keys(&answer), ["ok", "task"]);
    assert_eq!(answer["task"]["status"], "completed");
    assert!(!sandbox.team("t", "tasks/1.lock").exists());
    let heartbeat: Value =
        serde_json::from_str(&sandbox.read("t", "workers/worker-1/heartbeat.json")).unwrap();
    assert_eq!(
        (&heartbeat["turnCount"], &heartbeat["alive"]),
        (&json!(2), &json!(false))
    );
    let outbox = sandbox.read("t", "workers/worker-1/outbox.jsonl");
    let line: Value = serde_json::from_str(outbox.strip_suffix('\n').unwrap()).unwrap();
    assert_eq!(
        keys(&line),
        ["type", "taskId", "status", "result", "timestamp"]
    );
    assert_eq!(line["type"], "task_complete");
    let task = sandbox.read("t", "tasks/1.json");
    assert!(task.starts_with("{\n  \"id\": \"1\",\n") && task.ends_with("\n}"));
}

#[test]
fn transition_task_status_refuses_in_the_words_of_the_reference() {
    let sandbox = crew();
    let claim = json!({ "team_name": "t", "task_id": "1", "worker": "worker-1" });
    let token = sandbox.api("claim-task", &claim).succeeded().json()["claimToken"].clone();
    let step = |id: &str, to: Value, token: &Value| json!({ "team_name": "t", "task_id": id, "from": "in_progress", "to": to, "claim_token": token });
    let request = "transition-task-status";
    let stale = json!("worker-1-1-1");
    refused(
        &sandbox,
        request,
        &step("9", "completed".into(), &token),
        "reason",
        "task 9 not found",
    );
    refused(
        &sandbox,
        request,
        &step("../x", "completed".into(), &token),
        "reason",
        "invalid_task_id",
    );
    refused(
        &sandbox,
        request,
        &step("1", "completed".into(), &stale),
        "reason",
        "claim token mismatch",
    );
    refused(
        &sandbox,
        request,
        &step("1", "completed".into(), &Value::Null),
        "reason",
        "claim token mismatch",
    );
    refused(
        &sandbox,
        request,
        &step("1", "banana".into(), &token),
        "reason",
        "invalid_status",
    );
    refused(
        &sandbox,
        request,
        &step("1", Value::Null, &token),
        "reason",
        "invalid_status",
    );
    let progress = sandbox
        .api(request, &step("1", "in_progress".into(), &token))
        .succeeded();
    assert_eq!(progress.json()["task"]["status"], "in_progress");
    // Without a worker nothing is reported to an outbox.
    assert!(!sandbox.team("t", "workers/worker-1/outbox.jsonl").exists());
    sandbox
        .api(request, &step("1", "completed".into(), &token))
        .succeeded();
    let words = "task 1 status=completed, expected in_progress";
    refused(
        &sandbox,
        request,
        &step("1", "completed".into(), &token),
        "reason",
        words,
    );
}

#[test]
fn send_message_answers_the_id_and_refuses_in_codes() {
    let sandbox = crew();
    let send = |to: Value, body: Value| json!({ "team_name": "t", "from": "worker-1", "to": to, "body": body });
    let answer = sandbox
        .api("send-message", &send("worker-2".into(), "hi".into()))
        .succeeded()
        .json();
    assert_eq!(keys(&answer), ["ok", "messageId", "nudged"]);
    assert_eq!(answer["nudged"], false);
    let line: Value =
        serde_json::from_str(sandbox.read("t", "mailbox/worker-2.jsonl").trim_end()).unwrap();
    assert_eq!(
        keys(&line)[..6],
        ["type", "id", "from", "to", "body", "timestamp"]
    );
    assert_eq!(
        (&line["type"], &line["id"]),
        (&json!("message"), &answer["messageId"])
    );

    let refuse =
        |input: &Value, text: &str| refused(&sandbox, "send-message", input, "error", text);
    refuse(&send("../x".into(), "hi".into()), "invalid_recipient_name");
    refuse(&send(Value::Null, Value::Null), "invalid_recipient_name");
    refuse(&send(7.into(), "hi".into()), "invalid_recipient_name");
    refuse(&send("worker-2".into(), "".into()), "invalid_input");
    refuse(&send("worker-2".into(), Value::Null), "invalid_input");
    refuse(&send("worker-2".into(), json!(["x"])), "invalid_input");
    refuse(
        &json!({ "team_name": "t", "to": "worker-2", "body": "x" }),
        "invalid_input",
    );
    let answer = refuse(&send("worker-3".into(), "hi".into()), "unknown_recipient");
    assert_eq!(answer["nearest"], "worker-1");
    assert_eq!(answer["valid"], json!(["worker-1", "worker-2", "leader"]));
    let elsewhere = json!({ "team_name": "nope", "from": "leader", "to": "worker-1", "body": "x" });
    assert_eq!(
        refuse(&elsewhere, "unknown_recipient")["code"],
        "team_not_found"
    );
}

#[test]
fn broadcast_answers_who_got_it() {
    let sandbox = crew();
    let input = json!({ "team_name": "t", "from": "worker-1", "body": "all hands" });
    let answer = sandbox.api("broadcast", &input).succeeded().json();
    assert_eq!(keys(&answer), ["ok", "recipients", "messageIds"]);
    assert_eq!(answer["recipients"], json!(["worker-2", "leader"]));
    assert_eq!(answer["messageIds"].as_array().unwrap().len(), 2);
    let empty = json!({ "team_name": "t", "from": "worker-1", "body": "" });
    let answer = refused(&sandbox, "broadcast", &empty, "error", "invalid_input");
    assert_eq!(
        (&answer["recipients"], &answer["messageIds"]),
        (&json!([]), &json!([]))
    );
}

#[test]
fn mailbox_list_and_mark_delivered_are_the_reference_s() {
    let sandbox = crew();
    let send = json!({ "team_name": "t", "from": "leader", "to": "worker-1", "body": "a" });
    let id = sandbox.api("send-message", &send).succeeded().json()["messageId"].clone();
    let list = json!({ "team_name": "t", "worker": "worker-1" });
    let answer = sandbox.api("mailbox-list", &list).succeeded().json();
    assert_eq!(keys(&answer), ["ok", "messages"]);
    let message = &answer["messages"][0];
    assert_eq!(
        keys(message)[..6],
        ["type", "id", "from", "to", "body", "timestamp"]
    );
    assert!(message.get("deliveredAt").is_none());

    let mark = json!({ "team_name": "t", "worker": "worker-1", "message_id": id });
    for _ in 0..2 {
        let answer = sandbox
            .api("mailbox-mark-delivered", &mark)
            .succeeded()
            .json();
        assert_eq!(answer, json!({ "ok": true }));
    }
    let answer = sandbox.api("mailbox-list", &list).succeeded().json();
    assert!(answer["messages"][0]["deliveredAt"].is_string());
    let unread = json!({ "team_name": "t", "worker": "worker-1", "undelivered_only": true });
    let answer = sandbox.api("mailbox-list", &unread).succeeded().json();
    assert_eq!(answer, json!({ "ok": true, "messages": [] }));

    for (team, worker) in [("t", "nobody"), ("nope", "worker-1")] {
        let input = json!({ "team_name": team, "worker": worker });
        let answer = sandbox.api("mailbox-list", &input).succeeded().json();
        assert_eq!(
            answer,
            json!({ "ok": true, "messages": [] }),
            "{team} {worker}"
        );
    }
    let input = json!({ "team_name": "t", "worker": "../x" });
    let answer = sandbox.api("mailbox-list", &input).ended(1).json();
    assert_eq!(
        (&answer["ok"], &answer["messages"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(answer["error"], "invalid_recipient_name");
    let mark = |team: &str, worker: &str| json!({ "team_name": team, "worker": worker, "message_id": "none" });
    let request = "mailbox-mark-delivered";
    refused(
        &sandbox,
        request,
        &mark("t", "worker-1"),
        "error",
        "message_not_found",
    );
    refused(
        &sandbox,
        request,
        &mark("nope", "worker-1"),
        "error",
        "message_not_found",
    );
    refused(
        &sandbox,
        request,
        &mark("t", "a/b"),
        "error",
        "invalid_recipient_name",
    );
}

#[test]
fn without_json_an_answer_is_one_compact_line() {
    let sandbox = crew();
    let input = r#"{"team_name":"t","worker":"worker-1"}"#;
    let answer = sandbox
        .call(["team", "api", "mailbox-list", "--input", input])
        .succeeded();
    assert_eq!(answer.stdout, "{\"ok\":true,\"messages\":[]}\n");
    let answer = sandbox
        .call(["team", "api", "mailbox-list", "--input", input, "--json"])
        .succeeded();
    assert_eq!(answer.stdout, "{\n  \"ok\": true,\n  \"messages\": []\n}\n");
    sandbox
        .call(["send", "worker-1", "x", "--team", "t"])
        .succeeded();
    for layout in [&["--json"][..], &[]] {
        let mut line = vec!["team", "api", "mailbox-list", "--input", input];
        line.extend(layout);
        let answer = sandbox.call(line).succeeded();
        let again = match layout.len() {
            1 => serde_json::to_string_pretty(&answer.json()).unwrap(),
            _ => answer.json().to_string(),
        };
        assert_eq!(answer.stdout, again + "\n");
    }
}

#[test]
fn calls_that_are_no_request_are_answered_on_standard_output_with_status_1() {
    let sandbox = crew();
    let required = "team api <sub> --input '<json>' required";
    for (line, words) in [
        (vec!["team", "api"], required),
        (vec!["team", "api", "send-message"], required),
        (vec!["team", "api", "send-message", "--input", ""], required),
        (
            vec!["team", "api", "bogus", "--input", "{}"],
            "Unknown team api command: bogus",
        ),
        (
            vec!["team", "api", "send-message", "--input", "{"],
            "invalid --input JSON: ",
        ),
        (
            vec!["team", "api", "send-message", "--input", "{\"a\":\"\n\"}"],
            "invalid --input JSON: ",
        ),
        (
            vec!["team", "api", "send-message", "--bogus"],
            "unexpected argument '--bogus' found",
        ),
    ] {
        let answer = sandbox.call(&line).ended(1);
        assert!(answer.stdout.starts_with(words), "{line:?}: {answer:?}");
        let mut line = line;
        line.push("--json");
        // A flag without a value takes the next word for it, as it does for the reference.
        if line[line.len() - 2] == "--input" {
            continue;
        }
        let answer = sandbox.call(&line).ended(1).json();
        assert_eq!(keys(&answer)[..2], ["ok", "message"], "{line:?}");
        assert!(
            answer["message"].as_str().unwrap().starts_with(words),
            "{line:?}: {answer}"
        );
    }
}

#[test]
fn values_that_are_no_object_are_refused_in_shape() {
    let sandbox = crew();
    for input in [
        "null",
        "[]",
        "\"str\"",
        "7",
        "-5",
        "true",
        "{}",
        "{\"team_name\":7}",
        "{\"team_name\":\"a\\u0000b\"}",
    ] {
        for (request, key) in [
            ("claim-task", "reason"),
            ("transition-task-status", "reason"),
            ("send-message", "error"),
            ("broadcast", "error"),
            ("mailbox-list", "error"),
            ("mailbox-mark-delivered", "error"),
        ] {
            let answer = sandbox
                .call(["team", "api", request, "--input", input])
                .ended(1)
                .json();
            assert_eq!(answer["ok"], false, "{request} {input}");
            assert!(answer[key].is_string(), "{request} {input}: {answer}");
        }
    }
}

#[test]
fn team_status_is_the_reference_s_page_and_shape() {
    let sandbox = crew();
    let page = "team t (worker, 2 workers)\nsession -\n\nTasks:\n  1  pending  -  \n  2  pending  -  \n\nWorkers:\n  \
                worker-1  pane=-  dead=false  hbStale=true  new=0\n  worker-2  pane=-  dead=false  hbStale=true  new=0\n\n\
                allDone=false\n";
    assert_eq!(
        sandbox.call(["team", "status", "t"]).succeeded().stdout,
        page
    );
    let answer = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(keys(&answer), ["ok", "config", "snapshot"]);
    assert_eq!(
        keys(&answer["snapshot"])[..3],
        ["tasks", "workers", "allDone"]
    );
    let worker = &answer["snapshot"]["workers"][0];
    assert_eq!(
        keys(worker)[..5],
        [
            "name",
            "paneId",
            "paneDead",
            "heartbeatStale",
            "outboxNewCount"
        ]
    );
    assert_eq!(
        (&worker["paneId"], &worker["paneDead"]),
        (&Value::Null, &json!(false))
    );
    let answer = sandbox
        .call(["team", "status", "x", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (&answer["ok"], &answer["reason"]),
        (&json!(false), &json!("team x not found"))
    );
    assert_eq!(
        sandbox.call(["team", "status", "x"]).ended(1).stdout,
        "team status: team x not found\n"
    );
}

#[test]
fn a_task_that_was_claimed_a_moment_ago_has_a_fresh_heartbeat_and_a_report_is_new() {
    let sandbox = crew();
    sandbox
        .call_as("worker-1", ["task", "claim", "1"])
        .succeeded();
    sandbox
        .call_as("worker-1", ["task", "done", "1", "half", "--so-far"])
        .succeeded();
    let page = sandbox.call(["team", "status", "t"]).succeeded().stdout;
    assert!(
        page.contains("  1  in_progress  worker-1  half\n"),
        "{page}"
    );
    assert!(
        page.contains("  worker-1  pane=-  dead=false  hbStale=false  new=1\n"),
        "{page}"
    );
}

#[test]
fn c14_a_name_too_few_is_a_usage_error_and_no_answer_about_some_team() {
    let sandbox = crew();
    for line in [
        &["team", "status", "--json"][..],
        &["team", "shutdown", "--json"],
    ] {
        let answer = sandbox.call(line).ended(2).json();
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!("usage"))
        );
        assert!(answer["message"].is_string());
    }
    assert!(
        sandbox
            .call(["team", "status"])
            .ended(2)
            .stderr
            .contains("which team?")
    );
    assert!(
        sandbox
            .call(["team", "0:claude"])
            .ended(2)
            .stdout
            .is_empty()
    );
    // Who is a member has said which team: by its environment.
    sandbox.call_as("worker-1", ["team", "status"]).succeeded();
}

#[test]
fn team_collect_shows_a_delivery_folder_in_the_reference_s_words() {
    let Some(sandbox) = Sandbox::golden() else {
        return;
    };
    let page = "team collect: 1/3 delivered\n── lane-a (Math): done ──\n42\n\n── lane-b (Geo): working ──\n\n── lane-c: working ──\n";
    assert_eq!(
        sandbox
            .call(["team", "collect", "--dir", "delivery"])
            .succeeded()
            .stdout,
        page
    );
    let answer = sandbox
        .call(["team", "collect", "--dir", "delivery", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        answer,
        json!({
            "dir": "delivery",
            "lanes": [
                { "id": "lane-a", "name": "Math", "status": "done", "output": "42\n\n" },
                { "id": "lane-b", "name": "Geo", "status": "working", "output": "" },
                { "id": "lane-c", "status": "working", "output": "" },
            ],
            "total": 3, "doneCount": 1, "allDone": false,
        })
    );
    assert_eq!(
        keys(&answer),
        ["dir", "lanes", "total", "doneCount", "allDone"]
    );
    for lane in ["lane-b", "lane-c"] {
        fs::write(
            sandbox.root().join(format!("delivery/{lane}.result.md")),
            "x\n",
        )
        .unwrap();
    }
    let page = sandbox
        .call(["team", "collect", "--dir", "delivery"])
        .succeeded()
        .stdout;
    assert!(
        page.starts_with("team collect: 3/3 delivered — ALL DONE\n"),
        "{page}"
    );
}

#[test]
fn team_collect_without_a_folder_that_was_launched_says_so() {
    let sandbox = crew();
    let words = "team collect requires --dir <delivery-dir>";
    assert_eq!(
        sandbox.call(["team", "collect"]).ended(1).stdout,
        format!("{words}\n")
    );
    assert_eq!(
        sandbox.call(["team", "collect", "--json"]).ended(1).json()["message"],
        words
    );
    let words = "no manifest.json (or empty) in nowhere — was the team launched?";
    assert_eq!(
        sandbox
            .call(["team", "collect", "--dir", "nowhere"])
            .ended(1)
            .stdout,
        format!("{words}\n")
    );
    fs::create_dir(sandbox.root().join("odd")).unwrap();
    fs::write(
        sandbox.root().join("odd/manifest.json"),
        r#"[{"id":"../../etc/passwd"}]"#,
    )
    .unwrap();
    let answer = sandbox
        .call(["team", "collect", "--dir", "odd", "--json"])
        .succeeded()
        .json();
    assert_eq!(answer["lanes"][0]["status"], "damaged");
    assert_eq!(answer["allDone"], false);
}

#[test]
fn team_shutdown_answers_what_it_ended() {
    let sandbox = crew();
    sandbox
        .call_as("worker-1", ["task", "claim", "1"])
        .succeeded();
    let answer = sandbox
        .call(["team", "shutdown", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        answer,
        json!({ "ok": true, "killedPanes": 0, "killedSession": false, "clearedLocks": 1 })
    );
    let words = "shutdown team t killedPanes=0 killedSession=false\n";
    assert_eq!(
        sandbox.call(["team", "shutdown", "t"]).succeeded().stdout,
        words
    );
    let text = sandbox.read("t", "shutdown.json");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(keys(&value), ["shutdownAt"]);
    assert!(text.ends_with("Z\"}\n") && !text.contains(' '));

    let answer = sandbox
        .call(["team", "shutdown", "nope", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        keys(&answer)[..4],
        ["ok", "killedPanes", "killedSession", "clearedLocks"]
    );
    assert_eq!(answer["clearedLocks"], 0);
}

#[test]
fn a_folder_of_the_reference_is_read_and_changed_in_its_own_form() {
    let Some(sandbox) = Sandbox::golden() else {
        return;
    };
    // What a newer version of the reference, or somebody else, keeps in the same files.
    let config = sandbox.read("gold", "config.json").replacen(
        "\"tmuxSession\": \"omp-team-gold\",",
        "\"tmuxSession\": \"omp-team-gold\",\n  \"tmuxIdentity\": {\n    \"socketPath\": \"/tmp/s\",\n    \"serverPid\": 7\n  },",
        1,
    );
    fs::write(sandbox.team("gold", "config.json"), &config).unwrap();
    let four = sandbox.read("gold", "tasks/4.json").replacen(
        "\"status\"",
        "\"priority\": \"high\",\n  \"status\"",
        1,
    );
    fs::write(sandbox.team("gold", "tasks/4.json"), &four).unwrap();
    let mailbox = sandbox.read("gold", "mailbox/worker-1.jsonl");

    let list = json!({ "team_name": "gold", "worker": "worker-1" });
    let messages = sandbox.api("mailbox-list", &list).succeeded().json()["messages"].clone();
    let written: Vec<Value> = mailbox
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["type"] == "message")
        .collect();
    assert_eq!(messages.as_array().unwrap().len(), 4);
    assert_eq!(messages[1], written[1]);
    assert_eq!(messages[0]["deliveredAt"], "2026-11-30T16:22:30.537Z");
    let leader = json!({ "team_name": "gold", "worker": "leader" });
    let messages = sandbox.api("mailbox-list", &leader).succeeded().json()["messages"].clone();
    assert_eq!(messages[1]["body"], "nul \u{0} and lone \u{FFFD} surrogate");

    let claim = json!({ "team_name": "gold", "task_id": "4", "worker": "worker-1" });
    let claimed = sandbox.api("claim-task", &claim).succeeded().json();
    assert_eq!(claimed["task"]["priority"], "high");
    let text = sandbox.read("gold", "tasks/4.json");
    let head = four.replacen("\"pending\"", "\"in_progress\"", 1);
    let head = head.strip_suffix("\n}").unwrap();
    assert!(
        text.starts_with(&format!(
            "{head},\n  \"owner\": \"worker-1\",\n  \"startedAt\": \""
        )),
        "{text}"
    );
    assert!(text.ends_with("\n}"));

    // The token that the reference gave out is as good as one of ours.
    let done = json!({
        "team_name": "gold", "task_id": "2", "worker": "worker-2", "from": "in_progress", "to": "completed",
        "claim_token": "worker-2-1796055749275-533893", "result": "100%",
    });
    sandbox.api("transition-task-status", &done).succeeded();
    let outbox = sandbox.read("gold", "workers/worker-2/outbox.jsonl");
    assert_eq!(outbox.lines().count(), 2);

    let send = json!({ "team_name": "gold", "from": "leader", "to": "worker-1", "body": "ünï 🎉 \u{2028}/" });
    sandbox.api("send-message", &send).succeeded();
    let mark = json!({ "team_name": "gold", "worker": "worker-1", "message_id": "a9a24e80-9b87-470e-be6a-b75a4763d90d" });
    sandbox.api("mailbox-mark-delivered", &mark).succeeded();
    let now = sandbox.read("gold", "mailbox/worker-1.jsonl");
    let appended: Vec<&str> = now.strip_prefix(&mailbox).unwrap().lines().collect();
    assert_eq!(appended.len(), 2);
    assert!(
        appended[0].contains("\"body\":\"ünï 🎉 \u{2028}/\""),
        "{}",
        appended[0]
    );
    let receipt: Value = serde_json::from_str(appended[1]).unwrap();
    assert_eq!(keys(&receipt), ["type", "messageId", "deliveredAt"]);

    let status = sandbox
        .call(["team", "status", "gold", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        status["config"],
        serde_json::from_str::<Value>(&config).unwrap()
    );
    assert_eq!(
        keys(&status["config"])[..6],
        [
            "name",
            "task",
            "role",
            "workerCount",
            "tmuxSession",
            "tmuxIdentity"
        ]
    );
    assert_eq!(status["snapshot"]["tasks"][3]["priority"], "high");
    assert_eq!(status["snapshot"]["workers"][0]["outboxNewCount"], 0);
    assert_eq!(status["snapshot"]["workers"][1]["outboxNewCount"], 2);
    assert_eq!(status["snapshot"]["workers"][0]["paneId"], "%2");
    assert_eq!(sandbox.read("gold", "config.json"), config);

    sandbox
        .call(["team", "add-member", "worker-3:coder", "--team", "gold"])
        .succeeded();
    let text = sandbox.read("gold", "config.json");
    assert!(
        text.contains(
            "\"tmuxIdentity\": {\n    \"socketPath\": \"/tmp/s\",\n    \"serverPid\": 7\n  },"
        ),
        "{text}"
    );
    assert!(
        text.contains("\"workerCount\": 3,") && text.ends_with("\n}\n"),
        "{text}"
    );
}

#[test]
fn the_order_of_tasks_is_the_reference_s() {
    let sandbox = crew();
    for id in ["10", "9", "a", "B", "t1", "Z-1", "11"] {
        sandbox
            .call(["task", "add", "x", "--id", id, "--team", "t"])
            .succeeded();
    }
    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    let ids: Vec<&str> = status["snapshot"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["1", "10", "11", "2", "9", "a", "B", "t1", "Z-1"]);
}

#[test]
fn teams_members_and_waiting_are_requests_too() {
    let sandbox = Sandbox::new();
    let create = json!({
        "team_name": "u", "goal": "g", "members": ["a", { "name": "b", "role": "coder", "profile": "sh" }],
        "tasks": ["first", { "task_id": "x", "description": "second", "blocked_by": ["1"], "assignee": "b" }],
    });
    let answer = sandbox.api("create-team", &create).succeeded().json();
    assert_eq!(keys(&answer), ["ok", "config", "tasks", "folder"]);
    assert_eq!(answer["tasks"], json!(["1", "x"]));
    assert_eq!(answer["config"]["workers"][1]["profile"], "sh");
    refused(&sandbox, "create-team", &create, "reason", "team_exists");
    refused(
        &sandbox,
        "create-team",
        &json!({ "team_name": "../x" }),
        "reason",
        "invalid_name",
    );
    refused(
        &sandbox,
        "create-team",
        &json!({ "team_name": "v", "members": [7] }),
        "reason",
        "invalid_input",
    );
    refused(
        &sandbox,
        "create-team",
        &json!({ "team_name": "v", "tasks": "x" }),
        "reason",
        "invalid_input",
    );
    let of = |fields: Value| {
        let mut input = fields;
        input["team_name"] = "u".into();
        input
    };
    let listed = sandbox.api("list-teams", &json!({})).succeeded().json();
    assert_eq!(listed["teams"][0]["name"], "u");
    let status = sandbox
        .api("team-status", &of(json!({})))
        .succeeded()
        .json();
    assert_eq!(
        status,
        sandbox
            .call(["team", "status", "u", "--json"])
            .succeeded()
            .json()
    );
    let nobody = json!({ "team_name": "nope" });
    refused(
        &sandbox,
        "team-status",
        &nobody,
        "reason",
        "team nope not found",
    );
    sandbox
        .api("add-member", &of(json!({ "name": "c" })))
        .succeeded();
    refused(
        &sandbox,
        "add-member",
        &of(json!({ "name": "C" })),
        "reason",
        "member_exists",
    );
    sandbox
        .api("remove-member", &of(json!({ "name": "a" })))
        .succeeded();
    let members = sandbox
        .api("list-members", &of(json!({})))
        .succeeded()
        .json();
    let names: Vec<&str> = members["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["b", "c", "leader"]);

    let ready = sandbox
        .api("wait", &of(json!({ "worker": "c" })))
        .succeeded()
        .json();
    assert_eq!(
        (&ready["happened"], &ready["task"]["id"]),
        (&json!("task_ready"), &json!("1"))
    );
    let late = of(json!({ "worker": "c", "task_end": "1", "timeout_ms": 20 }));
    refused(&sandbox, "wait", &late, "reason", "timed_out");
    refused(
        &sandbox,
        "wait",
        &of(json!({ "worker": "c", "task_end": ["9"] })),
        "reason",
        "task 9 not found",
    );
    let ended = sandbox
        .api("shutdown-team", &of(json!({})))
        .succeeded()
        .json();
    assert_eq!(
        keys(&ended),
        ["ok", "killedPanes", "killedSession", "clearedLocks"]
    );
    let answer = refused_shut_down(&sandbox, &of(json!({ "worker": "c", "message": true })));
    assert_eq!(answer["happened"], "shut_down");
}

/// A wait in a team that was shut down.
fn refused_shut_down(sandbox: &Sandbox, input: &Value) -> Value {
    let answer = sandbox.api("wait", input).ended(1).json();
    assert_eq!(
        (&answer["ok"], &answer["reason"]),
        (&json!(false), &json!("shut_down"))
    );
    answer
}
