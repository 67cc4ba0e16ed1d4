//! Folders as strangers and accidents leave them, and answers that a program which knows the reference expects.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;

use sandbox::Sandbox;
use serde_json::{Value, json};

#[expect(
    clippy::disallowed_methods,
    reason = "a test of the binary starts the binary"
)]
fn shell_command() -> std::process::Command {
    std::process::Command::new("/bin/sh")
}

#[test]
fn a_last_message_without_its_line_end_is_listed_taken_and_acknowledged_once() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    sandbox.call(["send", "ann", "first"]).succeeded();
    let file = sandbox.team("t", "mailbox/ann.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.trim_end()).unwrap();
    let inbox = ["inbox", "--as", "ann", "--json"];
    let said = sandbox.call(inbox).succeeded().json();
    assert_eq!(said["messages"][0]["body"], "first", "{said}");
    assert!(said.get("damage").is_none(), "{said}");
    let next = ["inbox", "--as", "ann", "--next", "--json"];
    let said = sandbox.call(next).succeeded().json();
    let id = said["message"]["id"].as_str().unwrap().to_string();
    sandbox.call(["send", "ann", "second"]).succeeded();
    sandbox
        .call(["inbox", "--as", "ann", "--ack", &id])
        .succeeded();
    let said = sandbox.call(inbox).succeeded().json();
    assert_eq!(said["messages"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(said["messages"][0]["body"], "second");
    assert!(said.get("damage").is_none(), "{said}");
}

#[test]
fn a_hold_on_a_message_that_never_ends_ends() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    sandbox.call(["send", "ann", "x"]).succeeded();
    let next = ["inbox", "--as", "ann", "--next", "--json"];
    sandbox.call(next).succeeded();
    let index = sandbox.team("t", "mailbox/.ann.unread");
    let mut kept: Value = serde_json::from_slice(&fs::read(&index).unwrap()).unwrap();
    kept["unread"]["open"][0]["lease"]["until"] = "2099-01-01T00:00:00.000Z".into();
    fs::write(&index, kept.to_string()).unwrap();
    let said = sandbox.call(next).succeeded().json();
    assert_eq!(said["message"]["body"], "x", "{said}");
}

#[test]
fn every_list_of_a_cut_mailbox_says_that_it_was_cut() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    for body in ["first", "second"] {
        sandbox.call(["send", "ann", body]).succeeded();
    }
    sandbox.call(["inbox", "--as", "ann", "--next"]).succeeded();
    let file = sandbox.team("t", "mailbox/ann.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let first = whole.lines().next().unwrap().len() + 1;
    let lists = |what: &str| {
        let input = json!({ "team_name": "t", "worker": "ann" });
        for said in [
            sandbox.api("mailbox-list", &input),
            sandbox.call(["inbox", "--as", "ann", "--all", "--json"]),
            sandbox.call(["inbox", "--as", "ann", "--json"]),
        ] {
            let said = said.succeeded().json();
            let places = said["damage"]["places"].to_string();
            assert!(places.contains("was read up to byte"), "{what}: {said}");
        }
    };
    fs::write(&file, &whole[..first]).unwrap();
    lists("cut");
    fs::remove_file(&file).unwrap();
    lists("removed");
}

#[test]
fn claiming_the_next_task_does_not_hide_one_that_cannot_be_read() {
    let sandbox = Sandbox::with_team(&["ann"], &["x"]);
    fs::write(sandbox.team("t", "tasks/1.json"), "{").unwrap();
    let said = sandbox.call_as("ann", ["task", "claim"]).succeeded();
    assert!(said.stderr.contains("task 1 cannot be read"), "{said:?}");
    let said = sandbox
        .call_as("ann", ["task", "claim", "--json"])
        .succeeded()
        .json();
    assert_eq!(said["unreadable"][0]["id"], "1", "{said}");
    let input = json!({ "team_name": "t", "worker": "ann" });
    let said = sandbox.api("claim-next-task", &input).succeeded().json();
    assert_eq!(said["unreadable"][0]["id"], "1", "{said}");
}

#[test]
fn a_folder_without_a_team_is_named_by_everybody_who_meets_it() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    fs::create_dir_all(sandbox.team("ghost", "mailbox")).unwrap();
    fs::write(sandbox.team("ghost", "mailbox/leader.jsonl"), "").unwrap();
    let said = sandbox.call(["team", "list", "--json"]).succeeded().json();
    let ghost = said["teams"].as_array().unwrap();
    let ghost = ghost.iter().find(|team| team["name"] == "ghost").unwrap();
    assert_eq!(
        (&ghost["state"], &ghost["code"]),
        (&json!("damaged"), &json!("no_team_document"))
    );
    let doctor = sandbox.call(["doctor"]);
    assert!(format!("{}{}", doctor.stdout, doctor.stderr).contains("ghost"));
    for line in [&["team", "init", "ghost"][..], &["team", "rm", "ghost"]] {
        let said = sandbox.call(line).ended(1);
        let text = format!("{}{}", said.stdout, said.stderr);
        assert!(
            text.contains("config.json") && text.contains("--force"),
            "{text}"
        );
    }
    sandbox.call(["team", "rm", "ghost", "--force"]).succeeded();
    sandbox.call(["team", "init", "ghost"]).succeeded();
}

#[test]
fn leader_and_device_names_are_refused_with_the_reason() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    for (line, word) in [
        (&["team", "init", "leader"][..], "started the team"),
        (&["task", "add", "x", "--id", "leader"], "started the team"),
        (&["team", "init", "CON"], "Windows"),
        (&["task", "add", "x", "--id", "nul"], "Windows"),
    ] {
        let said = sandbox.call(line).ended(1);
        assert!(said.stderr.contains(word), "{line:?} {said:?}");
    }
}

#[test]
fn hints_name_the_step_that_helps() {
    let sandbox = Sandbox::with_team(&["ann"], &["x"]);
    sandbox.call_as("ann", ["task", "claim"]).succeeded();
    let said = sandbox.call(["task", "retry", "1"]).ended(1);
    assert!(said.stderr.contains("only a failed task"), "{said:?}");
    let said = sandbox
        .call(["task", "add", "y", "--blocked-by", "nope"])
        .ended(1);
    assert!(said.stderr.contains("task list"), "{said:?}");
    let said = sandbox.call(["team", "collect", "--dir"]).ended(1);
    assert!(
        said.stdout
            .contains("team collect requires --dir <delivery-dir>"),
        "{said:?}"
    );
}

#[test]
fn what_misleads_and_harms_nobody_is_answered_as_the_reference_does() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    let input = json!({ "team_name": "t", "from": "ann", "body": "" });
    let said = sandbox.api("broadcast", &input).succeeded().json();
    assert_eq!(
        said,
        json!({ "ok": true, "recipients": [], "messageIds": [],
            "errors": ["bob: invalid_input", "leader: invalid_input"] })
    );
    let input = json!({ "team_name": "t", "from": "ann", "to": "bob", "body": "x" });
    let id = sandbox.api("send-message", &input).succeeded().json()["messageId"].clone();
    let input = json!({ "team_name": "t", "worker": "bob", "message_id": id });
    for _ in 0..2 {
        sandbox.api("mailbox-mark-delivered", &input).succeeded();
    }
    let text = sandbox.read("t", "mailbox/bob.jsonl");
    assert_eq!(text.matches("delivery-receipt").count(), 2, "{text}");
}

#[test]
fn the_doctor_names_what_nobody_else_can_work_out() {
    let sandbox = Sandbox::with_team(&["ann"], &["x", "y"]);
    for (id, on) in [("1", "2"), ("2", "1")] {
        let mut task = sandbox.task("t", id);
        task["blocked_by"] = json!([on]);
        fs::write(
            sandbox.team("t", &format!("tasks/{id}.json")),
            task.to_string(),
        )
        .unwrap();
    }
    let config = sandbox.team("t", "config.json");
    let mut team: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
    team["name"] = "other".into();
    team["workers"][0]["name"] = "../../x".into();
    fs::write(&config, team.to_string()).unwrap();
    let said = sandbox.call(["doctor"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    for words in ["1 -> 2 -> 1", "\"other\"", "../../x"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = sandbox.call(["team", "status", "t", "--json"]).succeeded();
    assert!(said.stdout.contains("its name is"), "{said:?}");
}

#[test]
fn teams_that_are_kept_elsewhere_are_there_for_every_command() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let teams = sandbox.root().join(".omp/state/team");
    let away = sandbox.root().join("away");
    fs::rename(&teams, &away).unwrap();
    std::os::unix::fs::symlink(&away, &teams).unwrap();
    sandbox.call(["send", "ann", "x"]).succeeded();
    let said = sandbox.call(["team", "list"]).succeeded();
    assert!(said.stdout.contains('t'), "{said:?}");
    sandbox.call(["team", "init", "u"]).succeeded();
    sandbox.call(["team", "rm", "u"]).succeeded();
}

#[test]
fn a_message_with_an_empty_id_can_be_acknowledged() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let line =
        r#"{"type":"message","id":"","from":"leader","to":"ann","body":"x","timestamp":"t"}"#;
    fs::write(sandbox.team("t", "mailbox/ann.jsonl"), format!("{line}\n")).unwrap();
    let input = json!({ "team_name": "t", "worker": "ann", "message_id": "" });
    sandbox.api("mailbox-mark-delivered", &input).succeeded();
    let said = sandbox
        .call(["inbox", "--as", "ann", "--json"])
        .succeeded()
        .json();
    assert_eq!(said["messages"], json!([]), "{said}");
}

#[test]
fn pages_and_completions_are_json_where_json_is_asked_for() {
    let sandbox = Sandbox::new();
    for line in [&["completions", "bash", "--json"][..], &["man", "--json"]] {
        let said = sandbox.call(line).succeeded().json();
        assert!(said["text"].as_str().unwrap().len() > 1_000);
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_said_and_takes_no_token_with_it() {
    let sandbox = Sandbox::with_team(&["ann"], &["x"]);
    let shell = |script: &str, line: &[&str]| {
        let mut command = shell_command();
        command
            .args(["-c", script, "sh", env!("CARGO_BIN_EXE_pitcrew")])
            .args(line)
            .env_clear()
            .current_dir(sandbox.root());
        sandbox::answer(command.output().unwrap())
    };
    for line in [&["--help"][..], &["--version"]] {
        let said = shell("exec \"$@\" >/dev/full", line).ended(3);
        assert!(said.stderr.contains("cannot write"), "{said:?}");
    }
    let said = shell("exec \"$@\" >/dev/full", &["send", "ann", "x"]).ended(3);
    assert!(said.stderr.contains("stays changed"), "{said:?}");
    shell("exec \"$@\" >&-", &["task", "claim", "--as", "ann"]).ended(3);
    assert_eq!(sandbox.task("t", "1")["status"], "pending");
}
