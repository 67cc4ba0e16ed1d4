//! One folder under both programs: read, changed and written in its own form.

use super::*;

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
