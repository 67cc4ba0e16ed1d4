//! The requests about mail, case by case.

use super::*;

#[test]
fn send_message_case_by_case() {
    let sandbox = crew();
    let good = json!({ "team_name": "t", "from": "worker-1", "to": "worker-2", "body": "hi" });
    let with = |field, value| but(&good, field, value);
    let request = "send-message";
    let name = || No("invalid_recipient_name", "invalid_name");
    let refused = [
        (with("team_name", None), No(INPUT, INPUT)),
        (
            with("team_name", Some(json!("nope"))),
            No("unknown_recipient", "team_not_found"),
        ),
        (with("to", None), name()),
        (with("to", Some(json!(7))), name()),
        (with("to", Some(json!(""))), name()),
        (with("to", Some(json!("../leader"))), name()),
        (with("to", Some(json!("wörker"))), name()),
        (
            with("to", Some(json!("worker-3"))),
            No("unknown_recipient", "unknown_recipient"),
        ),
        (
            with("to", Some(json!("Leader"))),
            No("unknown_recipient", "unknown_recipient"),
        ),
        // The name is looked at before what is to be sent, and that before who sends it.
        (but(&with("to", None), "body", None), name()),
        (with("from", None), No(INPUT, INPUT)),
        (with("from", Some(json!(""))), No(INPUT, INPUT)),
        (with("from", Some(json!({}))), No(INPUT, INPUT)),
        (
            with("from", Some(json!("stranger"))),
            No("unknown_sender", "unknown_sender"),
        ),
        (with("body", None), No(INPUT, INPUT)),
        (with("body", Some(Value::Null)), No(INPUT, INPUT)),
        (with("body", Some(json!(""))), No(INPUT, INPUT)),
        (with("body", Some(json!(123))), No(INPUT, INPUT)),
        (with("body", Some(json!(["x"]))), No(INPUT, INPUT)),
    ];
    check_refusals(&sandbox, request, &refused);
    let answer = Done(&["ok", "messageId", "nudged"]);
    let bodies = [
        "hi",
        " ",
        "\u{0}",
        "a\nb\r\nc",
        "naïve 🎉 \u{2028}/\\\"",
        "`$(touch x)`;",
    ];
    for body in bodies {
        check(&sandbox, request, &with("body", Some(json!(body))), &answer);
    }
    check(
        &sandbox,
        request,
        &with("to", Some(json!("leader"))),
        &answer,
    );
    check(
        &sandbox,
        request,
        &with("to", Some(json!("worker-1"))),
        &answer,
    );
    let text = sandbox.read("t", "mailbox/worker-2.jsonl");
    assert!(
        text.contains("naïve 🎉 \u{2028}/") && text.contains("\\u0000"),
        "{text}"
    );
    let list = json!({ "team_name": "t", "worker": "worker-2" });
    let listed = sandbox.api("mailbox-list", &list).succeeded().json();
    let listed: Vec<&str> = listed["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["body"].as_str().unwrap())
        .collect();
    assert_eq!(listed, bodies);

    // Half of a pair of surrogates is a message too, and is kept and answered as it came.
    let half = r#"{"team_name":"t","from":"leader","to":"worker-1","body":"a\ud800b"}"#;
    sandbox
        .call(["team", "api", request, "--input", half])
        .succeeded();
    let kept = r#""a\ud800b""#;
    assert!(sandbox.read("t", "mailbox/worker-1.jsonl").contains(kept));
    let list = json!({ "team_name": "t", "worker": "worker-1" });
    let listed = sandbox.api("mailbox-list", &list).succeeded();
    assert!(listed.stdout.contains(kept), "{listed:?}");
    let shown = sandbox.call_as("worker-1", ["inbox"]).succeeded();
    assert!(shown.stdout.contains("a\u{FFFD}b"), "{shown:?}");
    let limit = 1 << 20;
    let line = ["team", "api", request, "--input", "-", "--json"];
    let big = |size: usize| with("body", Some(json!("x".repeat(size)))).to_string();
    sandbox.feed(line, big(limit).as_bytes()).succeeded();
    let before = files(&sandbox);
    let refused = sandbox
        .feed(line, big(limit + 1).as_bytes())
        .ended(1)
        .json();
    assert_eq!(
        (&refused["error"], &refused["limit"]),
        (&json!("body_too_large"), &json!(limit))
    );
    assert!(files(&sandbox) == before);
}

#[test]
fn broadcast_case_by_case() {
    let sandbox = crew();
    let good = json!({ "team_name": "t", "from": "leader", "body": "hi" });
    let with = |field, value| but(&good, field, value);
    let request = "broadcast";
    let refused = [
        (with("team_name", None), No(INPUT, INPUT)),
        (
            with("team_name", Some(json!("nope"))),
            No("team_not_found", "team_not_found"),
        ),
        (with("from", None), No(INPUT, INPUT)),
        (
            with("from", Some(json!("stranger"))),
            No("unknown_sender", "unknown_sender"),
        ),
        (with("body", Some(json!(7))), No(INPUT, INPUT)),
    ];
    check_refusals(&sandbox, request, &refused);
    let empty = sandbox
        .api(request, &with("body", Some(json!(""))))
        .succeeded()
        .json();
    assert_eq!(
        empty["errors"],
        json!(["worker-1: invalid_input", "worker-2: invalid_input"])
    );
    assert_eq!(
        (&empty["recipients"], &empty["messageIds"]),
        (&json!([]), &json!([]))
    );
    for (from, recipients) in [
        ("leader", json!(["worker-1", "worker-2"])),
        ("worker-2", json!(["worker-1", "leader"])),
    ] {
        let input = with("from", Some(json!(from)));
        check(
            &sandbox,
            request,
            &input,
            &Done(&["ok", "recipients", "messageIds"]),
        );
        let answer = sandbox.api(request, &input).succeeded().json();
        assert_eq!(answer["recipients"], recipients);
        assert_eq!(answer["messageIds"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn mailbox_list_case_by_case() {
    let sandbox = crew();
    sandbox.call(["send", "worker-1", "one"]).succeeded();
    let good = json!({ "team_name": "t", "worker": "worker-1" });
    let with = |field, value| but(&good, field, value);
    let request = "mailbox-list";
    let name = || No("invalid_recipient_name", "invalid_name");
    let refused = [
        (with("worker", None), name()),
        (with("worker", Some(json!(7))), name()),
        (with("worker", Some(json!("../worker-1"))), name()),
        (with("team_name", None), No(INPUT, INPUT)),
        (
            with("undelivered_only", Some(json!("yes"))),
            No(INPUT, INPUT),
        ),
    ];
    check_refusals(&sandbox, request, &refused);
    for (input, _) in &refused {
        let answer = sandbox.api(request, input).ended(1).json();
        assert_eq!(answer["messages"], json!([]));
    }
    let before = files(&sandbox);
    for (input, count) in [
        (good.clone(), 1),
        (with("undelivered_only", Some(json!(true))), 1),
        (with("undelivered_only", Some(Value::Null)), 1),
        (with("worker", Some(json!("leader"))), 0),
        (with("worker", Some(json!("worker-9"))), 0),
        (with("team_name", Some(json!("nope"))), 0),
    ] {
        check(&sandbox, request, &input, &Done(&["ok", "messages"]));
        let answer = sandbox.api(request, &input).succeeded().json();
        assert_eq!(
            answer["messages"].as_array().unwrap().len(),
            count,
            "{input}"
        );
    }
    assert!(files(&sandbox) == before);
}

#[test]
fn mailbox_mark_delivered_case_by_case() {
    let sandbox = crew();
    let id = sandbox.call(["send", "worker-1", "one"]).succeeded().stdout;
    let good = json!({ "team_name": "t", "worker": "worker-1", "message_id": id.trim() });
    let with = |field, value| but(&good, field, value);
    let request = "mailbox-mark-delivered";
    let name = || No("invalid_recipient_name", "invalid_name");
    let refused = [
        (with("worker", None), name()),
        (with("worker", Some(json!("a/b"))), name()),
        (
            with("worker", Some(json!("worker-2"))),
            No("message_not_found", "message_not_found"),
        ),
        (
            with("worker", Some(json!("worker-9"))),
            No("message_not_found", "unknown_member"),
        ),
        (
            with("team_name", Some(json!("nope"))),
            No("message_not_found", "team_not_found"),
        ),
        (
            with("message_id", Some(json!("none"))),
            No("message_not_found", "message_not_found"),
        ),
        (with("message_id", None), No(INPUT, INPUT)),
        (with("message_id", Some(json!(7))), No(INPUT, INPUT)),
    ];
    check_refusals(&sandbox, request, &refused);
    check(&sandbox, request, &good, &Done(&["ok"]));
    let delivered = files(&sandbox);
    // Again is one more receipt, as the reference writes it.
    check(&sandbox, request, &good, &Done(&["ok"]));
    assert!(files(&sandbox) != delivered);
    let text = sandbox.read("t", "mailbox/worker-1.jsonl");
    assert_eq!(text.matches("delivery-receipt").count(), 2, "{text}");
}
