//! The faults of tasks that the field knows, each tried on the binary with real processes and files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};

use sandbox::{Answer, Sandbox, answer, rounds};
use serde_json::{Value, json};

/// Starts one request for each input, holds all of them until every process is there, and lets them go at once.
fn race(sandbox: &Sandbox, request: &str, inputs: &[Value]) -> Vec<Answer> {
    let mut children: Vec<Child> = inputs
        .iter()
        .map(|input| {
            let mut child = sandbox
                .command(["team", "api", request, "--input", "-", "--json"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // The input is there; that it has ended is not, so everybody waits.
            let stdin = child.stdin.as_mut().unwrap();
            stdin.write_all(input.to_string().as_bytes()).unwrap();
            child
        })
        .collect();
    children
        .iter_mut()
        .for_each(|child| drop(child.stdin.take()));
    let ends = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap());
    ends.map(answer).collect()
}

/// `count` processes race for one pending task, again and again.
fn b1(count: usize, rounds: usize, orphan: Option<&str>) {
    let names: Vec<String> = (1..=count).map(|n| format!("w{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    let sandbox = Sandbox::with_team(&members, &[]);
    for round in 1..=rounds {
        let id = round.to_string();
        let task = json!({ "id": id, "description": "x", "status": "pending", "createdAt": "2026-11-30T16:22:26.530Z" });
        let file = sandbox.team("t", &format!("tasks/{id}.json"));
        fs::write(&file, serde_json::to_string_pretty(&task).unwrap()).unwrap();
        if let Some(orphan) = orphan {
            fs::write(sandbox.team("t", &format!("tasks/{id}.lock")), orphan).unwrap();
        }
        let inputs: Vec<Value> = names
            .iter()
            .map(|name| json!({ "team_name": "t", "task_id": id, "worker": name }))
            .collect();
        let answers = race(&sandbox, "claim-task", &inputs);
        let (won, lost): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.status == Some(0));
        assert_eq!(won.len(), 1, "round {round}: {won:#?}");
        for answer in lost {
            let answer = answer.json();
            assert_eq!(answer["code"], "not_pending", "round {round}: {answer}");
            assert_eq!(answer["reason"], format!("task {id} status=in_progress"));
        }
        let won = won[0].json();
        let now = sandbox.task("t", &id);
        assert_eq!(now["claimToken"], won["claimToken"], "round {round}");
        assert_eq!(
            (&now["owner"], &now["status"]),
            (&won["task"]["owner"], &json!("in_progress"))
        );
        fs::remove_file(file).unwrap();
        fs::remove_file(sandbox.team("t", &format!("tasks/{id}.lock"))).unwrap();
    }
}

/// A mark that a claim of the reference left when it died.
const ORPHAN: &str = r#"{"owner":"w1","pid":999999999,"claimedAt":"2026-11-30T16:22:29.063Z"}"#;

#[test]
fn b1_of_8_processes_one_claims_the_task() {
    b1(8, rounds("PITCREW_ROUNDS", 20), None);
}

#[test]
fn b1_of_8_processes_one_claims_the_task_also_beside_an_orphan_mark() {
    b1(8, rounds("PITCREW_ROUNDS", 20), Some(ORPHAN));
    b1(8, 1, Some(""));
}

#[test]
fn b1_of_50_processes_one_claims_the_task() {
    b1(50, rounds("PITCREW_ROUNDS_OF_50", 3), None);
    b1(50, rounds("PITCREW_ROUNDS_OF_50", 3), Some(ORPHAN));
}

#[test]
fn b1_of_several_who_take_the_next_task_each_gets_another() {
    let names = ["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"];
    let sandbox = Sandbox::with_team(&names, &["a", "b", "c", "d", "e", "f", "g"]);
    let inputs = names.map(|name| json!({ "team_name": "t", "worker": name }));
    let answers = race(&sandbox, "claim-next-task", &inputs);
    let mut ids: Vec<String> = answers
        .iter()
        .filter_map(|answer| answer.json()["task"]["id"].as_str().map(str::to_string))
        .collect();
    ids.sort();
    assert_eq!(ids, ["1", "2", "3", "4", "5", "6", "7"]);
    assert!(answers.iter().all(|answer| answer.status == Some(0)));
}

#[test]
fn b2_of_two_ends_sent_at_once_one_counts() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    for round in 1..=rounds("PITCREW_ROUNDS", 20) {
        let id = round.to_string();
        sandbox
            .call(["--team", "t", "task", "add", "x", "--id", &id])
            .succeeded();
        let claim = json!({ "team_name": "t", "task_id": id, "worker": "w1" });
        let token = sandbox.api("claim-task", &claim).succeeded().json()["claimToken"].clone();
        let ends = ["completed", "failed"].map(|end| {
            json!({ "team_name": "t", "task_id": id, "from": "in_progress", "to": end, "claim_token": token, "result": end })
        });
        let answers = race(&sandbox, "transition-task-status", &ends);
        let won: Vec<usize> = (0..2)
            .filter(|place| answers[*place].status == Some(0))
            .collect();
        assert_eq!(won.len(), 1, "round {round}: {answers:#?}");
        let lost = answers[1 - won[0]].json();
        assert_eq!(lost["code"], "already_terminal", "round {round}: {lost}");
        let now = sandbox.task("t", &id);
        assert_eq!(
            (&now["status"], &now["result"]),
            (&ends[won[0]]["to"], &ends[won[0]]["to"])
        );
        fs::remove_file(sandbox.team("t", &format!("tasks/{id}.json"))).unwrap();
    }
}

#[test]
fn b3_steps_that_do_not_exist_and_old_tokens_leave_the_file_untouched() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &["a", "b", "c"]);
    let claim = |id: &str| {
        let input = json!({ "team_name": "t", "task_id": id, "worker": "w1" });
        sandbox.api("claim-task", &input).succeeded().json()["claimToken"].clone()
    };
    let step = |id: &str, from: Value, to: Value, token: &Value| json!({ "team_name": "t", "task_id": id, "from": from, "to": to, "claim_token": token });
    let request = "transition-task-status";
    let token = claim("1");
    sandbox
        .api(
            request,
            &step("1", "in_progress".into(), "completed".into(), &token),
        )
        .succeeded();
    let open = claim("2");
    let old = claim("3");
    sandbox
        .call(["--team", "t", "task", "release", "3", "--force"])
        .succeeded();
    sandbox.call_as("w2", ["task", "claim", "3"]).succeeded();
    let files = || ["1", "2", "3"].map(|id| sandbox.read("t", &format!("tasks/{id}.json")));
    let before = files();
    for (id, from, to, token, code) in [
        (
            "2",
            json!("in_progress"),
            json!("banana"),
            &open,
            "invalid_status",
        ),
        (
            "2",
            json!("in_progress"),
            Value::Null,
            &open,
            "invalid_status",
        ),
        (
            "2",
            json!("banana"),
            json!("completed"),
            &open,
            "invalid_status",
        ),
        (
            "2",
            Value::Null,
            json!("completed"),
            &open,
            "invalid_status",
        ),
        (
            "2",
            json!("pending"),
            json!("completed"),
            &open,
            "invalid_status",
        ),
        (
            "1",
            json!("completed"),
            json!("pending"),
            &token,
            "already_terminal",
        ),
        (
            "1",
            json!("completed"),
            json!("in_progress"),
            &token,
            "already_terminal",
        ),
        (
            "1",
            json!("in_progress"),
            json!("failed"),
            &token,
            "already_terminal",
        ),
        (
            "1",
            json!("failed"),
            json!("pending"),
            &token,
            "already_terminal",
        ),
        (
            "3",
            json!("in_progress"),
            json!("completed"),
            &old,
            "stale_token",
        ),
        (
            "3",
            json!("in_progress"),
            json!("in_progress"),
            &old,
            "stale_token",
        ),
        (
            "3",
            json!("in_progress"),
            json!("pending"),
            &old,
            "stale_token",
        ),
        (
            "2",
            json!("in_progress"),
            json!("completed"),
            &json!(""),
            "stale_token",
        ),
    ] {
        let input = step(id, from, to, token);
        let answer = sandbox.api(request, &input).ended(1).json();
        assert_eq!(answer["code"], code, "{input}");
    }
    assert_eq!(files(), before);
    // A pending task has no token that could be right.
    sandbox
        .call(["--team", "t", "task", "add", "x", "--id", "4"])
        .succeeded();
    let any = step("4", "in_progress".into(), "completed".into(), &json!("any"));
    assert_eq!(
        sandbox.api(request, &any).ended(1).json()["code"],
        "unexpected_status"
    );
}

#[test]
fn b4_dependencies_block_and_unblock_and_the_leader_is_told_once() {
    let sandbox = Sandbox::with_team(&["w1"], &["base"]);
    let add = |line: &[&str]| {
        sandbox.call(
            ["--team", "t", "--json", "task", "add", "x"]
                .iter()
                .chain(line),
        )
    };
    for (line, why) in [
        (&["--id", "self", "--blocked-by", "self"][..], "itself"),
        (&["--id", "x", "--blocked-by", "nobody"], "nobody"),
    ] {
        let refused = add(line).ended(1).json();
        assert_eq!(refused["code"], "invalid_dependency");
        assert!(
            refused["message"].as_str().unwrap().contains(why),
            "{refused}"
        );
    }
    let cycle = "[[tasks]]\nid = 'a'\ndescription = 'a'\nblocked_by = ['b']\n[[tasks]]\nid = 'b'\ndescription = 'b'\nblocked_by = ['a']\n";
    fs::write(sandbox.root().join("cycle.toml"), cycle).unwrap();
    let refused = sandbox
        .call(["team", "init", "u", "--tasks", "cycle.toml", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "invalid_dependency");
    assert!(!sandbox.team("u", "").exists());

    add(&["--id", "next", "--blocked-by", "1"]).succeeded();
    let refused = sandbox
        .call_as("w1", ["task", "claim", "next", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (&refused["code"], &refused["on"]),
        (&json!("blocked"), &json!(["1"]))
    );
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox
        .call_as("w1", ["task", "fail", "1", "no luck"])
        .succeeded();
    let refused = sandbox
        .call_as("w1", ["task", "claim", "next", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["failed"], json!(["1"]));
    let list = sandbox
        .call(["--team", "t", "task", "list"])
        .succeeded()
        .stdout;
    assert!(
        list.lines()
            .any(|line| line.starts_with("next") && line.contains("blocked")),
        "{list}"
    );
    let mail = || {
        sandbox
            .call(["--team", "t", "inbox", "--json"])
            .succeeded()
            .json()["messages"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(mail(), 1);
    sandbox
        .call(["--team", "t", "task", "retry", "1"])
        .succeeded();
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox.call_as("w1", ["task", "done", "1"]).succeeded();
    sandbox.call_as("w1", ["task", "claim", "next"]).succeeded();
    assert_eq!(mail(), 1);
}

#[test]
fn b5_a_task_that_cannot_be_read_is_reported_and_all_is_not_done() {
    let sandbox = Sandbox::with_team(&["w1"], &["a"]);
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox.call_as("w1", ["task", "done", "1"]).succeeded();
    let status = || {
        sandbox
            .call(["team", "status", "t", "--json"])
            .succeeded()
            .json()["snapshot"]
            .clone()
    };
    assert_eq!(status()["allDone"], true);
    let broken = sandbox.team("t", "tasks/2.json");
    for text in [
        "",
        "{\"id\":\"2\",",
        "null",
        "[]",
        "{\"id\":\"2\",\"status\":\"banana\"}",
    ] {
        fs::write(&broken, text).unwrap();
        let snapshot = status();
        assert_eq!(
            (&snapshot["allDone"], &snapshot["unreadable"][0]["id"]),
            (&json!(false), &json!("2")),
            "{text}"
        );
        let page = sandbox.call(["team", "status", "t"]).succeeded();
        assert!(
            page.stdout.contains("allDone=false") && page.stderr.contains("task 2 cannot be read"),
            "{page:?}"
        );
        let refused = sandbox
            .call_as("w1", ["task", "claim", "2", "--json"])
            .ended(3)
            .json();
        assert_eq!(refused["code"], "corrupt_document");
        assert_eq!(
            fs::read_to_string(&broken).unwrap(),
            text,
            "it is left as it is"
        );
        let found = sandbox.call(["doctor"]).ended(3).stdout;
        assert!(found.contains("✗ team t: task 2 cannot be read"), "{found}");
    }
    // A number that is taken by a broken file is not given out again.
    assert_eq!(
        sandbox
            .call(["--team", "t", "task", "add", "x"])
            .succeeded()
            .stdout,
        "3\n"
    );
}

#[test]
fn b6_silence_takes_nothing_from_an_owner_but_a_lease_that_ran_out_does() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &["long", "leased"]);
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox
        .call_as("w1", ["task", "claim", "2", "--lease", "1ms"])
        .succeeded();
    let hour_ago = "2020-01-01T00:00:00.000Z";
    let mut task = sandbox.task("t", "1");
    task["startedAt"] = hour_ago.into();
    fs::write(sandbox.team("t", "tasks/1.json"), task.to_string()).unwrap();
    let beat = json!({ "pid": 1, "workerName": "w1", "teamName": "t", "lastPollAt": hour_ago, "turnCount": 1, "alive": true });
    fs::write(
        sandbox.team("t", "workers/w1/heartbeat.json"),
        beat.to_string(),
    )
    .unwrap();
    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(status["snapshot"]["workers"][0]["heartbeatStale"], true);
    let refused = sandbox
        .call_as("w2", ["task", "claim", "1", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "not_pending");
    sandbox.call_as("w2", ["task", "claim", "2"]).succeeded();
    sandbox
        .call_as("w1", ["task", "done", "1", "still here"])
        .succeeded();
    let refused = sandbox
        .call_as("w1", ["task", "done", "2", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "stale_token");
}
