//! The layouts of an answer, and calls that are no request.

use super::*;

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
