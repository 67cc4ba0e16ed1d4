//! Folders with links, pipes, damage and hostile names in them.

use super::*;

#[test]
fn a_team_folder_that_is_a_link_is_not_followed() {
    let sandbox = Sandbox::with_team(&["w1"], &["first"]);
    let elsewhere = sandbox.root().join("elsewhere");
    fs::rename(sandbox.team("t", ""), &elsewhere).unwrap();
    symlink(&elsewhere, sandbox.team("t", "").components().as_path()).unwrap();
    let before = outside(&sandbox);
    for (request, input) in [
        (
            "send-message",
            json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }),
        ),
        (
            "broadcast",
            json!({ "team_name": "t", "from": "leader", "body": "x" }),
        ),
        (
            "claim-task",
            json!({ "team_name": "t", "task_id": "1", "worker": "w1" }),
        ),
        ("mailbox-list", json!({ "team_name": "t", "worker": "w1" })),
        ("add-task", json!({ "team_name": "t", "description": "x" })),
    ] {
        let answer = in_shape(&sandbox.api(request, &input));
        assert_eq!(
            (&answer["ok"], &answer["code"]),
            (&json!(false), &json!("escapes_team_folder")),
            "{request}"
        );
    }
    sandbox.call(["team", "status", "t"]).ended(3);
    sandbox.call(["doctor"]);
    assert_eq!(outside(&sandbox), before);
    assert!(!elsewhere.join("mailbox/w1.jsonl").exists());
    // Removing the team removes the link and nothing behind it.
    sandbox.call(["team", "rm", "t", "--force"]).succeeded();
    assert!(elsewhere.join("config.json").exists() && !sandbox.team("t", "").exists());
}

#[test]
fn links_and_other_things_inside_a_team_are_not_followed() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &["first"]);
    let secret = sandbox.root().join("secret");
    fs::write(&secret, "{}").unwrap();
    symlink(&secret, sandbox.team("t", "mailbox/w1.jsonl")).unwrap();
    fs::remove_file(sandbox.team("t", "tasks/1.json")).unwrap();
    symlink(&secret, sandbox.team("t", "tasks/1.json")).unwrap();
    fs::remove_dir(sandbox.team("t", "workers")).unwrap();
    symlink(sandbox.root(), sandbox.team("t", "workers")).unwrap();
    for (request, input) in [
        (
            "send-message",
            json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }),
        ),
        ("mailbox-list", json!({ "team_name": "t", "worker": "w1" })),
        (
            "claim-task",
            json!({ "team_name": "t", "task_id": "1", "worker": "w1" }),
        ),
    ] {
        let answer = in_shape(&sandbox.api(request, &input));
        assert_eq!(answer["code"], "escapes_team_folder", "{request}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "{}");
    let status = sandbox.call(["team", "status", "t", "--json"]);
    assert!(!status.stderr.contains("panicked"));
}

#[test]
fn things_in_the_place_of_folders_and_documents_are_refused() {
    for (place, is_folder) in [
        (".omp", false),
        (".omp/state", false),
        (".omp/state/team", false),
        (".omp/state/team/t/config.json", true),
    ] {
        let sandbox = Sandbox::with_team(&["w1"], &["first"]);
        let path = sandbox.root().join(place);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        if is_folder {
            fs::create_dir(&path).unwrap();
        } else {
            fs::write(&path, "in the way").unwrap();
        }
        for (request, input) in [
            (
                "send-message",
                json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }),
            ),
            (
                "claim-task",
                json!({ "team_name": "t", "task_id": "1", "worker": "w1" }),
            ),
            ("list-tasks", json!({ "team_name": "t" })),
        ] {
            assert_eq!(
                in_shape(&sandbox.api(request, &input))["ok"],
                false,
                "{place} {request}"
            );
        }
        for line in [
            &["team", "init", "new"][..],
            &["team", "list"],
            &["team", "status", "t"],
            &["doctor"],
            &["team", "rm", "t"],
        ] {
            let answer = sandbox.call(line);
            assert!(
                !answer.stderr.contains("panicked")
                    && answer.status.is_some_and(|status| status <= 3),
                "{place} {line:?}: {answer:?}"
            );
        }
    }
}

#[test]
fn documents_of_every_bad_kind_are_left_as_they_are() {
    let huge = "[".repeat(100_000);
    let wrong_workers = r#"{"name":"t","workers":[{"name":7}]}"#;
    for text in [
        "",
        "null",
        "[]",
        "{",
        "{\"name\":",
        "{\"name\":\"t\",\"workers\":7}",
        wrong_workers,
        "\u{feff}",
        huge.as_str(),
        "\0\0\0",
    ] {
        let sandbox = Sandbox::with_team(&["w1"], &["first"]);
        fs::write(sandbox.team("t", "config.json"), text).unwrap();
        let input = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" });
        let answer = in_shape(&sandbox.api("send-message", &input));
        assert_eq!(
            answer["code"],
            "corrupt_document",
            "{:?}",
            &text[..text.len().min(20)]
        );
        sandbox.call(["team", "status", "t"]).ended(3);
        sandbox
            .call(["team", "add-member", "w2", "--team", "t"])
            .ended(3);
        let list = sandbox.call(["team", "list", "--json"]).succeeded().json();
        assert_eq!(list["teams"][0]["state"], "damaged");
        sandbox.call(["doctor"]).ended(3);
        assert_eq!(
            fs::read_to_string(sandbox.team("t", "config.json")).unwrap(),
            text
        );
    }
}

/// Names that another program gave its members and that could lead out.
#[test]
fn a_roster_with_hostile_names_is_shown_and_opens_nothing() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let config = sandbox
        .read("t", "config.json")
        .replace("\"w1\"", "\"../../../escape\"");
    fs::write(sandbox.team("t", "config.json"), config).unwrap();
    let before = outside(&sandbox);
    let status = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(status["snapshot"]["workers"][0]["name"], "../../../escape");
    let input = json!({ "team_name": "t", "from": "leader", "body": "x" });
    let answer = in_shape(&sandbox.api("broadcast", &input));
    assert_eq!(answer["recipients"], json!([]));
    for line in [
        &["who"][..],
        &["team", "collect", "t"],
        &["inbox"],
        &["doctor"],
    ] {
        let answer = sandbox.call(["--team", "t"].iter().chain(line));
        assert!(!answer.stderr.contains("panicked"), "{line:?}: {answer:?}");
    }
    assert_eq!(outside(&sandbox), before);
}
