//! What each request answers, as the reference does.

use serde_json::{Value, json};

use crate::sandbox::{Answer, Sandbox, keys};

fn check(answer: Answer, status: i32, stdout: &str) {
    assert_eq!(
        (answer.status, answer.stdout.as_str()),
        (Some(status), stdout),
        "{answer:?}"
    );
}

fn file(sandbox: &Sandbox, mode: &str) -> Option<Value> {
    let path = sandbox.root().join(format!(".omp/state/{mode}.json"));
    let text = std::fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn ralph_answers_in_words() {
    let sandbox = Sandbox::new();
    check(sandbox.call(["ralph", "status"]), 1, "ralph inactive\n");
    check(
        sandbox.call(["ralph", "tick"]),
        1,
        "ralph tick failed: not active\n",
    );
    check(
        sandbox.call(["ralph", "start", "fix auth"]),
        0,
        "ralph started iter=0/10\n",
    );
    check(
        sandbox.call([
            "ralph",
            "start",
            "fix auth",
            "--max-iterations",
            "3",
            "--force",
        ]),
        0,
        "ralph started iter=0/3\n",
    );
    check(
        sandbox.call(["ralph", "status"]),
        0,
        "ralph active iter=0/3 prompt=fix auth\n",
    );
    check(
        sandbox.call(["ralph", "tick"]),
        0,
        "ralph tick → completedSlices=1 (iter 0/3 is hook-owned)\n",
    );
    check(sandbox.call(["ralph", "tick", "--quiet"]), 0, "");
    assert_eq!(file(&sandbox, "ralph").unwrap()["completedSlices"], 2);
    check(sandbox.call(["ralph", "cancel"]), 0, "ralph cancelled\n");
    check(sandbox.call(["ralph", "cancel"]), 0, "ralph cancelled\n");
    check(sandbox.call(["ralph", "tick", "--quiet"]), 1, "");
    assert_eq!(file(&sandbox, "ralph"), None);
}

#[test]
fn ralph_answers_in_json() {
    let sandbox = Sandbox::new();
    let call = |line: &[&str]| sandbox.call([&["--json", "ralph"], line].concat());
    assert_eq!(
        call(&["status"]).ended(1).json(),
        json!({ "active": false })
    );
    let started = call(&[
        "start",
        "x",
        "--session-id",
        "sess-1",
        "--max-iterations",
        "4",
    ])
    .succeeded()
    .json();
    assert_eq!(
        keys(&started),
        [
            "active",
            "iteration",
            "maxIterations",
            "completedSlices",
            "startedAt",
            "prompt",
            "sessionId",
            "projectPath"
        ]
    );
    assert_eq!(file(&sandbox, "ralph"), Some(started.clone()));
    assert_eq!(
        started["projectPath"],
        sandbox.root().canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(call(&["status"]).succeeded().json(), started);
    let ticked = call(&["tick"]).succeeded().json();
    assert_eq!(keys(&ticked), ["ok", "state"]);
    assert_eq!(ticked["state"]["completedSlices"], 1);
    assert_eq!(
        call(&["cancel"]).succeeded().json()["cancelled"],
        json!(true)
    );
    let refused = call(&["tick"]).ended(1).json();
    assert_eq!(
        (&refused["ok"], &refused["reason"], &refused["code"]),
        (&json!(false), &json!("not active"), &json!("loop_inactive"))
    );
}

#[test]
fn ultrawork_answers_as_the_reference() {
    let sandbox = Sandbox::new();
    check(
        sandbox.call(["ultrawork", "status"]),
        1,
        "ultrawork inactive\n",
    );
    check(
        sandbox.call([
            "ultrawork",
            "start",
            "process tickets",
            "--task-count",
            "7",
            "--task-summary",
            "sum",
        ]),
        0,
        "ultrawork started: process tickets\n",
    );
    let state = file(&sandbox, "ultrawork").unwrap();
    assert_eq!(
        keys(&state),
        [
            "active",
            "objective",
            "taskSummary",
            "startedAt",
            "projectPath",
            "taskCount"
        ]
    );
    assert_eq!(state["taskCount"], 7);
    check(
        sandbox.call(["ultrawork", "status"]),
        0,
        "ultrawork active: process tickets\n",
    );
    check(
        sandbox.call(["ultrawork", "cancel"]),
        0,
        "ultrawork cancelled\n",
    );
}

#[test]
fn ultraqa_answers_as_the_reference() {
    let sandbox = Sandbox::new();
    check(
        sandbox.call(["ultraqa", "cycle", "fail"]),
        1,
        "ultraqa cycle: not active\n",
    );
    check(
        sandbox.call(["ultraqa", "start", "tests pass", "--max-cycles", "2"]),
        0,
        "ultraqa started cycle=0/2\n",
    );
    check(
        sandbox.call(["ultraqa", "status"]),
        0,
        "ultraqa active cycle=0/2 verdict=pending\n",
    );
    check(
        sandbox.call(["ultraqa", "cycle", "fail"]),
        0,
        "ultraqa cycle → 0/2 verdict=fail\n",
    );
    check(
        sandbox.call(["ultraqa", "cycle", "banana"]),
        1,
        "ultraqa cycle expects pass|fail|pending, got banana\n",
    );
    let passed = sandbox
        .call(["ultraqa", "cycle", "pass", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        (&passed["state"]["active"], &passed["state"]["lastVerdict"]),
        (&json!(false), &json!("pass"))
    );
    assert_eq!(file(&sandbox, "ultraqa"), None);
    check(sandbox.call(["ultraqa", "status"]), 1, "ultraqa inactive\n");
}

#[test]
fn c14_what_is_no_request_is_said_in_the_words_of_the_reference() {
    let sandbox = Sandbox::new();
    let ralph = "Unknown ralph subcommand. Try: ralph start \"<task>\" | status | cancel | tick";
    for line in [&["ralph"][..], &["ralph", "start"], &["ralph", "banana"]] {
        check(sandbox.call(line), 1, &format!("{ralph}\n"));
        let answer = sandbox.call([line, &["--json"]].concat()).ended(1).json();
        assert_eq!(
            (&answer["ok"], &answer["message"]),
            (&json!(false), &json!(ralph))
        );
    }
    check(
        sandbox.call(["ultraqa", "cycle"]),
        1,
        "Unknown ultraqa subcommand. Try: ultraqa start \"<task>\" | status | cancel | cycle pass|fail|pending\n",
    );
    for bad in ["abc", "-5", "0"] {
        let limit = format!("--max-iterations={bad}");
        sandbox.call(["ralph", "start", "x", &limit]).ended(2);
    }
    sandbox.call(["ralph", "start", "  "]).ended(1);
    sandbox.call(["ralph", "start", "--help"]).succeeded();
    assert!(!sandbox.root().join(".omp").exists());
}

#[test]
fn d7_starting_over_a_running_loop_needs_force() {
    let sandbox = Sandbox::new();
    for mode in ["ralph", "ultrawork", "ultraqa"] {
        sandbox.call([mode, "start", "one"]).succeeded();
        let before = file(&sandbox, mode);
        let refused = sandbox
            .call([mode, "start", "two", "--json"])
            .ended(1)
            .json();
        assert_eq!(
            (&refused["ok"], &refused["code"], &refused["aim"]),
            (&json!(false), &json!("loop_active"), &json!("one"))
        );
        assert!(refused["hint"].as_str().unwrap().contains("--force"));
        assert_eq!(file(&sandbox, mode), before);
        sandbox.call([mode, "start", "two", "--force"]).succeeded();
        assert_ne!(file(&sandbox, mode), before);
    }
}

#[test]
fn loops_of_the_reference_go_on_here() {
    let Some(sandbox) = Sandbox::golden() else {
        return;
    };
    check(
        sandbox.call(["ralph", "status"]),
        0,
        "ralph active iter=0/4 prompt=fix auth\n",
    );
    check(
        sandbox.call(["ultrawork", "status"]),
        0,
        "ultrawork active: process tickets\n",
    );
    check(
        sandbox.call(["ultraqa", "status"]),
        0,
        "ultraqa active cycle=0/3 verdict=fail\n",
    );
    let path = sandbox.root().join(".omp/state/ralph.json");
    let before = std::fs::read_to_string(&path).unwrap();
    sandbox.call(["ralph", "tick"]).succeeded();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        before.replace("\"completedSlices\": 1", "\"completedSlices\": 2")
    );
    sandbox.call(["ralph", "start", "other"]).ended(1);
    sandbox.call(["ultraqa", "cycle", "pass"]).succeeded();
    assert_eq!(file(&sandbox, "ultraqa"), None);
}

#[test]
fn a_loop_that_cannot_be_read_can_be_cancelled() {
    let sandbox = Sandbox::new();
    sandbox.call(["ralph", "start", "x"]).succeeded();
    let path = sandbox.root().join(".omp/state/ralph.json");
    std::fs::write(&path, "{\"active\": tr").unwrap();
    for line in [&["ralph", "status"][..], &["ralph", "tick"]] {
        let answer = sandbox.call([line, &["--json"]].concat()).ended(3).json();
        assert_eq!(answer["code"], "corrupt_document", "{line:?}");
    }
    check(sandbox.call(["ralph", "cancel"]), 0, "ralph cancelled\n");
    assert!(!path.exists());
}
