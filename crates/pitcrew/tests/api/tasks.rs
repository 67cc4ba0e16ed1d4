//! Claiming and moving tasks.

use super::*;

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
