//! The six requests of the reference, case by case: what stands on standard output, how the call ends and what it leaves.
//! A case is a line: the request, its input, `ok` (or the text of its refusal) and our code.

use super::*;

#[path = "recorded_mail.rs"]
mod mail;

/// What a case must answer.
enum Right {
    /// `ok: true`, status 0, and these keys.
    Done(&'static [&'static str]),
    /// `ok: false`, status 1, this text under the request's key, and this code.
    No(&'static str, &'static str),
}
use Right::{Done, No};

fn key(request: &str) -> &'static str {
    match request {
        "claim-task" | "transition-task-status" => "reason",
        _ => "error",
    }
}

/// Answers one case in both layouts and through standard input: the same object each time, apart from what is made anew.
#[track_caller]
fn check(sandbox: &Sandbox, request: &str, input: &Value, right: &Right) {
    let text = input.to_string();
    let answer = sandbox.api(request, input);
    let value = answer.json();
    let pretty = serde_json::to_string_pretty(&value).unwrap() + "\n";
    assert_eq!(answer.stdout, pretty, "{request} {input}");
    match right {
        Done(names) => {
            assert_eq!(answer.status, Some(0), "{request} {input}: {value}");
            assert_eq!(
                (&value["ok"], keys(&value)),
                (&json!(true), names.to_vec()),
                "{request} {input}"
            );
        }
        No(words, code) => {
            assert_eq!(answer.status, Some(1), "{request} {input}: {value}");
            assert_eq!(value["ok"], false, "{request} {input}: {value}");
            assert_eq!(
                (value[key(request)].as_str(), value["code"].as_str()),
                (Some(*words), Some(*code)),
                "{request} {input}: {value}"
            );
            assert!(
                value["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
                "{value}"
            );
            // A no changed nothing, so it can be asked again, in the other layout and from standard input.
            let line = ["team", "api", request, "--input"];
            let compact = sandbox
                .call(line.into_iter().chain([text.as_str()]))
                .ended(1);
            assert_eq!(
                compact.stdout,
                value.to_string() + "\n",
                "{request} {input}"
            );
            let fed = sandbox.feed(line.into_iter().chain(["-", "--json"]), text.as_bytes());
            assert_eq!(fed.ended(1).stdout, answer.stdout, "{request} {input}");
        }
    }
}

/// Every file of the team with its text.
fn files(sandbox: &Sandbox) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.root().join(".omp")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push((entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    found.sort();
    found
}

/// That every one of `cases` is refused as it says and that none of them changes a file.
#[track_caller]
fn check_refusals(sandbox: &Sandbox, request: &str, cases: &[(Value, Right)]) {
    let before = files(sandbox);
    for (input, right) in cases {
        check(sandbox, request, input, right);
        assert!(files(sandbox) == before, "{request} {input} changed a file");
    }
}

/// `input` with one field changed; `None` takes it away.
fn but(input: &Value, field: &str, value: Option<Value>) -> Value {
    let mut changed = input.clone();
    let fields = changed.as_object_mut().unwrap();
    match value {
        Some(value) => drop(fields.insert(field.to_string(), value)),
        None => drop(fields.shift_remove(field)),
    }
    changed
}

const INPUT: &str = "invalid_input";

#[test]
fn claim_task_case_by_case() {
    let sandbox = crew();
    let good = json!({ "team_name": "t", "task_id": "1", "worker": "worker-1" });
    let with = |field, value| but(&good, field, value);
    let request = "claim-task";
    let refused = [
        (with("team_name", None), No(INPUT, INPUT)),
        (with("team_name", Some(json!(7))), No(INPUT, INPUT)),
        (with("team_name", Some(json!(""))), No(INPUT, INPUT)),
        (
            with("team_name", Some(json!("../t"))),
            No("invalid_name", "invalid_name"),
        ),
        (
            with("team_name", Some(json!("nope"))),
            No("task 1 not found", "team_not_found"),
        ),
        (with("task_id", None), No("task undefined not found", INPUT)),
        (
            with("task_id", Some(Value::Null)),
            No("task null not found", INPUT),
        ),
        (
            with("task_id", Some(json!("99"))),
            No("task 99 not found", "task_not_found"),
        ),
        (
            with("task_id", Some(json!(99))),
            No("task 99 not found", "task_not_found"),
        ),
        (
            with("task_id", Some(json!(true))),
            No("task true not found", "task_not_found"),
        ),
        (
            with("task_id", Some(json!("á"))),
            No("task á not found", "task_not_found"),
        ),
        (
            with("task_id", Some(json!(""))),
            No("invalid_task_id", "invalid_task_id"),
        ),
        (
            with("task_id", Some(json!("../1"))),
            No("invalid_task_id", "invalid_task_id"),
        ),
        (
            with("task_id", Some(json!({}))),
            No("invalid_task_id", "invalid_task_id"),
        ),
        (
            with("task_id", Some(json!(["1"]))),
            No("invalid_task_id", "invalid_task_id"),
        ),
        (
            with("task_id", Some(json!("x".repeat(300)))),
            No("invalid_task_id", "invalid_task_id"),
        ),
        (with("worker", None), No(INPUT, INPUT)),
        (with("worker", Some(json!(""))), No(INPUT, INPUT)),
        (with("worker", Some(json!(7))), No(INPUT, INPUT)),
        (
            with("worker", Some(json!("../x"))),
            No("invalid_name", "invalid_name"),
        ),
        (
            with("worker", Some(json!("worker-9"))),
            No("unknown_member", "unknown_member"),
        ),
        (with("cwd", Some(json!(7))), No(INPUT, INPUT)),
    ];
    check_refusals(&sandbox, request, &refused);
    check(
        &sandbox,
        request,
        &good,
        &Done(&["ok", "task", "claimToken"]),
    );
    check(
        &sandbox,
        request,
        &with("task_id", Some(json!(2))),
        &Done(&["ok", "task", "claimToken"]),
    );
    let token = sandbox.task("t", "1")["claimToken"].clone();
    let held = [
        (good.clone(), No("task 1 status=in_progress", "not_pending")),
        (
            with("worker", Some(json!("worker-2"))),
            No("task 1 status=in_progress", "not_pending"),
        ),
    ];
    check_refusals(&sandbox, request, &held);
    let step = |id: &str, to: &str, token: &Value| json!({ "team_name": "t", "task_id": id, "from": "in_progress", "to": to, "claim_token": token });
    sandbox
        .api("transition-task-status", &step("1", "completed", &token))
        .succeeded();
    let token = sandbox.task("t", "2")["claimToken"].clone();
    sandbox
        .api("transition-task-status", &step("2", "failed", &token))
        .succeeded();
    let ended = [
        (good.clone(), No("task 1 status=completed", "not_pending")),
        (
            with("task_id", Some(json!("2"))),
            No("task 2 status=failed", "not_pending"),
        ),
    ];
    check_refusals(&sandbox, request, &ended);
}

#[test]
fn transition_task_status_case_by_case() {
    let sandbox = crew();
    sandbox
        .call_as("worker-1", ["task", "claim", "1"])
        .succeeded();
    let token = sandbox.task("t", "1")["claimToken"].clone();
    let good = json!({
        "team_name": "t", "task_id": "1", "worker": "worker-1", "from": "in_progress", "to": "completed",
        "claim_token": token, "result": "done",
    });
    let with = |field, value| but(&good, field, value);
    let request = "transition-task-status";
    let mismatch = || No("claim token mismatch", "stale_token");
    let status = |words| No(words, "invalid_status");
    let refused = [
        (with("team_name", None), No(INPUT, INPUT)),
        (
            with("team_name", Some(json!("nope"))),
            No("task 1 not found", "team_not_found"),
        ),
        (with("task_id", None), No("task undefined not found", INPUT)),
        (
            with("task_id", Some(json!(99))),
            No("task 99 not found", "task_not_found"),
        ),
        (
            with("task_id", Some(json!("a/b"))),
            No("invalid_task_id", "invalid_task_id"),
        ),
        (
            with("worker", Some(json!("../x"))),
            No("invalid_name", "invalid_name"),
        ),
        (
            with("worker", Some(json!("worker-9"))),
            No("unknown_member", "unknown_member"),
        ),
        (
            with("from", None),
            status("task 1 status=in_progress, expected undefined"),
        ),
        (
            with("from", Some(json!("pending"))),
            status("task 1 status=in_progress, expected pending"),
        ),
        (
            with("from", Some(json!("banana"))),
            status("task 1 status=in_progress, expected banana"),
        ),
        (with("from", Some(json!(7))), No(INPUT, INPUT)),
        (with("to", None), status("invalid_status")),
        (with("to", Some(json!("banana"))), status("invalid_status")),
        (with("to", Some(json!(["completed"]))), No(INPUT, INPUT)),
        (with("claim_token", None), mismatch()),
        (with("claim_token", Some(json!(""))), mismatch()),
        (with("claim_token", Some(json!("worker-1-1-1"))), mismatch()),
        (with("claim_token", Some(json!(7))), No(INPUT, INPUT)),
        (with("result", Some(json!({ "a": 1 }))), No(INPUT, INPUT)),
        (
            with("task_id", Some(json!("2"))),
            No(
                "task 2 status=pending, expected in_progress",
                "unexpected_status",
            ),
        ),
    ];
    check_refusals(&sandbox, request, &refused);
    let progress = but(
        &with("to", Some(json!("in_progress"))),
        "result",
        Some(json!("ünï ☃\u{2028}\n\u{0}")),
    );
    check(&sandbox, request, &progress, &Done(&["ok", "task"]));
    assert_eq!(sandbox.task("t", "1")["result"], "ünï ☃\u{2028}\n\u{0}");
    check(&sandbox, request, &good, &Done(&["ok", "task"]));
    let outbox = sandbox.read("t", "workers/worker-1/outbox.jsonl");
    assert!(
        outbox.lines().next().unwrap().contains("\\n\\u0000"),
        "{outbox}"
    );
    assert_eq!(outbox.lines().count(), 2);
    let over = |words| No(words, "already_terminal");
    let ended = [
        (
            good.clone(),
            over("task 1 status=completed, expected in_progress"),
        ),
        (
            with("from", Some(json!("pending"))),
            over("task 1 status=completed, expected pending"),
        ),
        (
            but(
                &with("from", Some(json!("failed"))),
                "to",
                Some(json!("pending")),
            ),
            over("task 1 status=completed, expected failed"),
        ),
    ];
    check_refusals(&sandbox, request, &ended);
}
