//! How things end in words that lead somewhere: a team that was shut down, a team that cannot be removed, a message that
//! could not be shown, a root that is not there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use sandbox::{Answer, Sandbox, answer};
use serde_json::json;

#[expect(
    clippy::disallowed_methods,
    reason = "a test of the binary starts the binary"
)]
fn shell(sandbox: &Sandbox, script: &str, line: &[&str]) -> Answer {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_pitcrew")])
        .args(line)
        .env_clear()
        .current_dir(sandbox.root())
        .stdin(Stdio::null());
    answer(command.output().unwrap())
}

#[test]
fn a_team_that_was_shut_down_takes_no_new_work_and_lets_what_was_begun_end() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &["one", "two", "three"]);
    sandbox.call_as("ann", ["task", "claim", "1"]).succeeded();
    sandbox.call_as("bob", ["task", "claim", "2"]).succeeded();
    sandbox
        .call_as("bob", ["task", "fail", "2", "no"])
        .succeeded();
    sandbox.call(["send", "ann", "stop"]).succeeded();
    sandbox.call(["team", "shutdown", "t"]).succeeded();
    let new_work: [&[&str]; 8] = [
        &["task", "add", "more"],
        &["task", "claim"],
        &["task", "claim", "3"],
        &["task", "retry", "2"],
        &["claim", "a.rs", "1", "2"],
        &["limits", "acquire", "--tokens", "1"],
        &["wait", "--any-task"],
        &["wait", "--task", "3"],
    ];
    for line in new_work {
        let said = sandbox
            .call_as("ann", line.iter().chain(&["--json"]))
            .ended(1)
            .json();
        assert_eq!(said["code"], "shut_down", "{line:?}: {said}");
    }
    sandbox.call(["team", "add-member", "cleo"]).ended(1);
    let said = sandbox.call_as("ann", ["task", "claim"]).ended(1).stderr;
    assert!(
        said.contains("team t was shut down at ") && said.contains("`pitcrew team collect t`"),
        "{said}"
    );
    for (request, input) in [
        (
            "claim-task",
            json!({ "team_name": "t", "task_id": "3", "worker": "ann" }),
        ),
        (
            "add-task",
            json!({ "team_name": "t", "description": "more" }),
        ),
    ] {
        let said = sandbox.api(request, &input).ended(1).json();
        assert_eq!(
            (&said["reason"], &said["code"]),
            (&json!("shut_down"), &json!("shut_down"))
        );
    }
    let going_on: [&[&str]; 8] = [
        &["wait", "--message"],
        &["wait", "--task-end", "2"],
        &["inbox", "--next", "--and-ack"],
        &["task", "done", "1", "as far as it went"],
        &["send", "leader", "that was all"],
        &["discover", "topic", "finding"],
        &["task", "list"],
        &["team", "collect", "t"],
    ];
    for line in going_on {
        sandbox.call_as("ann", line).succeeded();
    }
    // A task that was left in progress keeps nobody from removing the team.
    sandbox.call(["team", "rm", "t"]).succeeded();
}

#[test]
fn a_second_shutdown_keeps_the_time_of_the_first() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    sandbox.call(["team", "shutdown", "t"]).succeeded();
    let first = sandbox.read("t", "shutdown.json");
    sandbox.call(["team", "shutdown", "t"]).succeeded();
    assert_eq!(sandbox.read("t", "shutdown.json"), first);
}

#[test]
fn what_a_broken_removal_left_is_removed_by_the_next_one() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let remains = sandbox.team(".t.tmp", "");
    fs::rename(sandbox.team("t", ""), &remains).unwrap();
    let said = sandbox.call(["team", "rm", "t"]).succeeded();
    assert!(said.stdout.starts_with("removed team t "), "{said:?}");
    assert!(!remains.exists());
    let said = sandbox.call(["team", "rm", "t"]).ended(1);
    assert!(said.stdout.contains("team t not found"), "{said:?}");
}

/// The commands of the page for newcomers, in its order, without the one that installs and the one that runs for long.
fn commands_of_the_readme() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(2);
    let blocks = blocks.filter_map(|block| block.split_once("```"));
    blocks
        .flat_map(|(block, _)| block.lines().map(str::to_string))
        .collect()
}

#[test]
fn the_commands_of_the_readme_can_be_followed_to_their_end() {
    let sandbox = Sandbox::new();
    // Another team, as the page's first run leaves one.
    sandbox.call(["team", "init", "audit"]).succeeded();
    let lines = commands_of_the_readme();
    assert!(lines.len() > 12, "{lines:?}");
    let mut script = String::from("set -e; bin=$1; pitcrew() { \"$bin\" \"$@\"; }\n");
    for line in lines {
        let refused = line.contains("# refused");
        script.push_str(if refused { "! " } else { "" });
        script.push_str(&line);
        script.push('\n');
    }
    let said = shell(&sandbox, &script, &[]).succeeded();
    assert!(said.stdout.ends_with("/team/demo\n"), "{said:?}");
    assert!(!sandbox.team("demo", "").exists());
}

/// The mail of `ann` that is open and that nobody holds.
fn open_mail(sandbox: &Sandbox) -> usize {
    let listed = sandbox.call_as("ann", ["inbox"]).succeeded().stdout;
    assert!(!listed.contains("held by"), "{listed}");
    listed.matches("from leader").count()
}

/// The binary with its standard output in a pipe that nobody reads any more.
fn unread(sandbox: &Sandbox, line: &[&str]) -> Answer {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = sandbox.command(line);
    let output = command.stdout(writer).stderr(Stdio::piped()).output();
    answer(output.unwrap())
}

#[test]
fn a_message_that_could_not_be_shown_is_neither_acknowledged_nor_held() {
    let input = r#"{"team_name":"t","worker":"ann"}"#;
    let lines: [&[&str]; 4] = [
        &["--as", "ann", "inbox", "--next", "--and-ack"],
        &["--as", "ann", "inbox", "--next", "--and-ack", "--json"],
        &["--as", "ann", "inbox", "--next"],
        &["team", "api", "mailbox-next", "--input", input],
    ];
    let (closed, full) = ("exec \"$@\" >&-", "exec \"$@\" >/dev/full");
    for line in lines {
        let sandbox = Sandbox::with_team(&["ann"], &[]);
        sandbox.call(["send", "ann", "hello"]).succeeded();
        let said = [
            shell(&sandbox, closed, line),
            shell(&sandbox, full, line),
            unread(&sandbox, line),
        ];
        for said in said {
            assert_ne!(said.status, Some(0), "{line:?}: {said:?}");
        }
        assert_eq!(open_mail(&sandbox), 1, "{line:?}");
        let said = shell(&sandbox, closed, lines[0]);
        assert!(
            said.stderr.contains("standard output is closed"),
            "{said:?}"
        );
        // Who wants it to go nowhere has said so.
        let said = shell(&sandbox, "exec \"$@\" >/dev/null", lines[0]);
        assert_eq!(said.status, Some(0));
        assert_eq!(open_mail(&sandbox), 0);
    }
}

#[test]
fn findings_are_not_noted_as_shown_where_nothing_can_be_shown() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    sandbox
        .call_as("bob", ["discover", "topic", "finding"])
        .succeeded();
    let line = ["--as", "ann", "discoveries", "--new"];
    assert_eq!(shell(&sandbox, "exec \"$@\" >&-", &line).status, Some(3));
    let said = sandbox.call_as("ann", ["discoveries", "--new"]).succeeded();
    assert!(said.stdout.contains("finding"), "{said:?}");
}

#[test]
fn a_root_may_have_any_bytes_and_has_to_be_there() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let odd = sandbox.root().join(OsStr::from_bytes(b"odd-\xff"));
    fs::create_dir(&odd).unwrap();
    let at = |root: &Path, line: &[&str]| {
        let mut command = sandbox.command(["--root"]);
        answer(command.arg(root).args(line).output().unwrap())
    };
    at(&odd, &["team", "init", "u", "--member", "ann"]).succeeded();
    at(&odd, &["send", "ann", "hello"]).succeeded();
    assert!(at(&odd, &["team", "list"]).succeeded().stdout.contains('u'));

    let nowhere = sandbox.root().join("nowhere");
    fs::write(sandbox.root().join("file"), "").unwrap();
    for line in [
        &["team", "list"][..],
        &["doctor"],
        &["send", "ann", "x"],
        &["team", "init", "v"],
    ] {
        let said = at(&nowhere, line).ended(2);
        assert!(
            said.stdout.is_empty() && said.stderr.contains("nowhere: no such folder"),
            "{said:?}"
        );
        let said = at(&sandbox.root().join("file"), line).ended(2);
        assert!(said.stderr.contains("not a folder"), "{said:?}");
    }
    let mut command = sandbox.command(["team", "list", "--json"]);
    let said = answer(command.env("PITCREW_ROOT", &nowhere).output().unwrap())
        .ended(2)
        .json();
    assert_eq!(said["code"], "unreadable_input");
    assert!(!nowhere.exists());
}

#[test]
fn an_environment_that_names_somebody_in_bytes_that_are_no_text_is_refused() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    for name in ["PITCREW_AGENT", "PITCREW_TOKEN", "PITCREW_TEAM"] {
        let call = |line: &[&str]| {
            let mut command = sandbox.command(line);
            answer(
                command
                    .env(name, OsStr::from_bytes(b"ann\xff"))
                    .output()
                    .unwrap(),
            )
        };
        let said = call(&["send", "bob", "hi"]).ended(2);
        assert!(said.stderr.contains(name), "{said:?}");
        let said = call(&["who", "--json"]).ended(2).json();
        assert_eq!(said["code"], "unreadable_input", "{said}");
    }
    assert!(!sandbox.team("t", "mailbox/bob.jsonl").exists());
}

#[test]
fn a_list_of_at_most_none_is_a_mistake() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    sandbox.call(["send", "ann", "hello"]).succeeded();
    let said = sandbox.call_as("ann", ["inbox", "--limit", "0"]).ended(2);
    assert!(
        said.stdout.is_empty() && said.stderr.contains("--limit"),
        "{said:?}"
    );
    sandbox
        .call_as("ann", ["inbox", "--limit", "1"])
        .succeeded();
}

#[test]
fn the_doctor_tries_to_write_and_leaves_nothing() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let said = sandbox.call(["doctor"]).stdout;
    assert!(said.contains("✓ write: works in "), "{said}");
    let full = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let said = shell(&sandbox, full, &["doctor"]).ended(3).stdout;
    assert!(said.contains("✗ write: "), "{said}");
    let names = fs::read_dir(sandbox.root().join(".omp/state"))
        .unwrap()
        .flatten();
    let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["team"]);
}

#[test]
fn a_stranger_is_told_names_and_a_hint_that_it_may_follow() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let input = json!({ "team_name": "t", "worker": "nobody", "message_id": "x" });
    for request in [
        "mailbox-mark-delivered",
        "mailbox-next",
        "mailbox-give-back",
        "mailbox-redeliver",
    ] {
        let said = sandbox.api(request, &input).ended(1).json();
        assert_eq!(said["code"], "unknown_member", "{request}: {said}");
        assert_eq!(said["hint"], "valid names: ann, leader", "{request}");
    }
    assert!(!sandbox.team("t", "mailbox/.nobody.unread").exists());
    let input = json!({ "team_name": "t", "worker": "ann", "message_id": "x" });
    let said = sandbox
        .api("mailbox-mark-delivered", &input)
        .ended(1)
        .json();
    let hint = said["hint"].as_str().unwrap();
    let command = hint
        .split('`')
        .nth(1)
        .unwrap()
        .strip_prefix("pitcrew ")
        .unwrap();
    shell(&sandbox, &format!("\"$1\" {command}"), &[]).succeeded();
}

#[test]
fn what_only_the_leader_may_do_names_the_member_and_the_way() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let said = sandbox.call_as("ann", ["team", "rm", "t"]).ended(1);
    assert_eq!(
        said.stdout,
        "team rm: only the leader may remove the team, and this is ann\n"
    );
    assert!(
        said.stderr.contains("`pitcrew send leader <text>`"),
        "{said:?}"
    );
}

#[test]
fn a_task_with_an_id_of_the_reference_is_worked_on_like_any_other() {
    let sandbox = Sandbox::with_team(&["ann"], &["one"]);
    for id in ["_x", "á"] {
        let task = sandbox
            .read("t", "tasks/1.json")
            .replace("\"id\": \"1\"", &format!("\"id\": \"{id}\""));
        fs::write(sandbox.team("t", &format!("tasks/{id}.json")), task).unwrap();
    }
    let page = sandbox.call(["team", "status", "t"]).succeeded().stdout;
    assert!(
        page.contains("  _x  pending  -  \n  1  pending  -  \n  á  pending  -  \n"),
        "{page}"
    );
    for id in ["á", "_x"] {
        sandbox.call_as("ann", ["task", "claim", id]).succeeded();
        sandbox
            .call_as("ann", ["task", "done", id, "yes"])
            .succeeded();
    }
    // A task of ours gets no such id.
    let said = sandbox
        .call(["task", "add", "x", "--id", "é", "--json"])
        .ended(1)
        .json();
    assert_eq!(said["reason"], "invalid_task_id");
}

#[test]
fn a_finding_that_could_not_be_written_comes_again() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    sandbox
        .call_as("bob", ["discover", "topic", "the finding"])
        .succeeded();
    let api = [
        "team",
        "api",
        "read-discoveries",
        "--input",
        r#"{"team_name":"t","worker":"ann","new_only":true}"#,
    ];
    for line in [&["--as", "ann", "discoveries", "--new"][..], &api] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = sandbox.command(line).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    }
    let said = sandbox.call_as("ann", ["discoveries", "--new"]).succeeded();
    assert!(said.stdout.contains("the finding"), "{said:?}");
    let said = sandbox.call(api).succeeded();
    assert_eq!(said.json()["discoveries"], serde_json::json!([]));
}
