//! Sending, listing and acknowledging mail.

use super::*;

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
    let answer = sandbox.api("broadcast", &empty).succeeded().json();
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
