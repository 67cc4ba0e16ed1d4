//! Hooks of agent CLIs: what is put into their settings and taken out, and what the hooks answer to recorded inputs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use sandbox::{Answer, Reaped, Sandbox, answer};
use serde_json::{Value, json};

const CLIS: [(&str, &str); 4] = [
    ("claude", ".claude/settings.local.json"),
    ("codex", ".codex/hooks.json"),
    ("copilot", ".github/hooks/pitcrew.json"),
    ("gemini", ".gemini/settings.json"),
];

/// Calls a hook as the program of a member does.
fn hook(here: &Sandbox, member: &str, cli: &str, act: &str, said: &Value) -> Answer {
    let mut command = here.command(["hook", "run", cli, act]);
    command
        .env("PITCREW_TEAM", "t")
        .env("PITCREW_AGENT", member)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let _ = stdin.write_all(said.to_string().as_bytes());
    drop(stdin);
    answer(child.wait_with_output().expect("the binary ends"))
}

/// What Claude Code tells, as recorded, without what does not matter here.
fn said(event: &str) -> Value {
    json!({
        "session_id": "a69f9574-5fb2-4a2d-87e2-c2aaf416af3b", "transcript_path": "x.jsonl",
        "cwd": ".", "permission_mode": "default", "hook_event_name": event, "prompt": "hello",
        "stop_hook_active": false,
    })
}

/// What stands in the input of the model.
#[track_caller]
fn context(answer: &Answer) -> String {
    let output = answer.json();
    let text = output["hookSpecificOutput"]["additionalContext"].as_str();
    text.unwrap_or_else(|| panic!("{output}")).to_string()
}

fn send(here: &Sandbox, body: &str) {
    here.call(["--team", "t", "send", "ann", body]).succeeded();
}

fn stands(here: &Sandbox) -> Vec<String> {
    let sent = here
        .call(["--team", "t", "inbox", "--sent", "--json"])
        .json();
    let rows = sent["messages"].as_array().unwrap().iter();
    rows.map(|row| row["stands"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn hooks_go_in_beside_what_is_there_and_leave_no_trace() {
    for (cli, file) in CLIS {
        let here = Sandbox::new();
        let path = here.root().join(file);
        here.call(["hook", "check", cli]).ended(1);
        here.call(["hook", "install", cli]).succeeded();
        let installed = fs::read(&path).unwrap();
        here.call(["hook", "install", cli]).succeeded();
        assert_eq!(
            fs::read(&path).unwrap(),
            installed,
            "once more changes nothing"
        );
        assert!(serde_json::from_slice::<Value>(&installed).is_ok(), "{cli}");
        here.call(["hook", "check", cli]).succeeded();
        here.call(["hook", "uninstall", cli]).succeeded();
        assert!(!path.exists(), "{cli}: it was ours alone");

        let theirs = "{\n\t// mine\n\t\"z\": [1,2,],\n\t\"hooks\": {\n\t\t\"Stop\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"beep\"}]}] // loud\n\t},\n\t\"a\": 1\n}";
        fs::write(&path, theirs).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let printed = here.call(["hook", "install", cli, "--print"]).succeeded();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            theirs,
            "a print writes nothing"
        );
        here.call(["hook", "install", cli]).succeeded();
        let now = fs::read_to_string(&path).unwrap();
        assert_eq!(now, printed.stdout);
        assert!(now.contains("// loud") && now.contains("\"command\":\"beep\""));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        here.call(["hook", "uninstall", cli]).succeeded();
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs, "{cli}");
        here.call(["hook", "uninstall", cli]).succeeded();
    }
}

#[test]
fn hooks_of_another_version_are_renewed_in_their_places() {
    let here = Sandbox::new();
    here.call(["hook", "install", "claude"]).succeeded();
    let path = here.root().join(CLIS[0].1);
    let whole = fs::read_to_string(&path).unwrap();
    let older = whole.replacen("\"timeout\": 10", "\"timeout\": 99", 1);
    fs::write(&path, &older).unwrap();
    let word = here.call(["hook", "check", "claude"]).ended(1).stdout;
    assert!(word.starts_with("outdated"), "{word}");
    here.call(["hook", "install", "claude"]).succeeded();
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
}

#[test]
fn what_cannot_be_kept_is_refused_and_stays() {
    let here = Sandbox::new();
    here.call(["hook", "install", "claude"]).succeeded();
    let path = here.root().join(CLIS[0].1);
    let whole = fs::read_to_string(&path).unwrap();
    let own =
        "\"hooks\": [\n          {\n            \"command\": \"beep\"\n          },\n          {";
    let mixed = whole.replacen("\"hooks\": [\n          {", own, 1);
    assert_ne!(mixed, whole);
    for (text, code) in [
        (mixed.as_str(), "hooks_mixed"),
        ("{\"hooks\": []}", "settings_unclear"),
        ("{\"hooks\": {}, \"hooks\": {}}", "settings_unclear"),
        ("not JSON", "settings_unclear"),
        ("", "settings_unclear"),
    ] {
        fs::write(&path, text).unwrap();
        for word in ["install", "uninstall"] {
            let refused = here
                .call(["hook", word, "claude", "--json"])
                .ended(1)
                .json();
            assert_eq!(refused["code"], code, "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
    here.call(["hook", "install", "sh"]).ended(2);
}

#[test]
fn the_user_s_settings_are_found_where_the_cli_looks() {
    let here = Sandbox::new();
    let home = here.root().parent().unwrap().join("home");
    for (cli, file) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("copilot", ".copilot/hooks/pitcrew.json"),
        ("gemini", ".gemini/settings.json"),
    ] {
        here.call(["hook", "install", cli, "--user"]).succeeded();
        assert!(home.join(file).is_file(), "{cli}");
    }
    let other = here.root().join("elsewhere");
    let mut command = here.command(["hook", "install", "claude", "--user"]);
    command.env("CLAUDE_CONFIG_DIR", &other);
    answer(command.output().unwrap()).succeeded();
    assert!(other.join("settings.json").is_file());
}

#[test]
fn mail_stands_in_the_turn_that_begins_and_is_used_when_it_has_ended() {
    let here = Sandbox::with_team(&["ann", "bob"], &[]);
    hook(&here, "ann", "claude", "begin", &said("SessionStart")).succeeded();
    send(&here, "the body of it");
    here.call([
        "--team",
        "t",
        "--as",
        "bob",
        "discover",
        "tabs",
        "it drops tabs",
    ])
    .succeeded();
    let shown = hook(&here, "ann", "claude", "prompt", &said("UserPromptSubmit")).succeeded();
    assert_eq!(
        shown.json()["hookSpecificOutput"]["hookEventName"],
        "UserPromptSubmit"
    );
    let text = context(&shown);
    for part in [
        "1 new message",
        "the body of it",
        "from=\"leader\"",
        "it drops tabs",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(stands(&here), ["shown"]);
    assert_eq!(
        hook(&here, "ann", "claude", "end", &said("Stop"))
            .succeeded()
            .stdout,
        ""
    );
    assert_eq!(stands(&here), ["delivered"]);
    let again = hook(&here, "ann", "claude", "prompt", &said("UserPromptSubmit")).succeeded();
    assert_eq!(again.stdout, "", "nothing is new");
}

#[test]
fn a_turn_that_was_broken_off_is_shown_its_mail_again() {
    let here = Sandbox::with_team(&["ann"], &[]);
    send(&here, "the body of it");
    for _ in 0..2 {
        let shown = hook(&here, "ann", "claude", "prompt", &said("UserPromptSubmit")).succeeded();
        assert!(context(&shown).contains("the body of it"));
    }
    assert_eq!(stands(&here), ["shown"]);
}

#[test]
fn new_mail_makes_a_turn_go_on_once_and_what_only_informs_does_not() {
    for (cli, key, word) in [
        ("codex", "decision", "block"),
        ("copilot", "decision", "block"),
        ("gemini", "decision", "deny"),
    ] {
        let here = Sandbox::with_team(&["ann"], &[]);
        hook(&here, "ann", cli, "prompt", &said("x")).succeeded();
        here.call(["--team", "t", "send", "ann", "thanks", "--intent", "ack"])
            .succeeded();
        assert_eq!(
            hook(&here, "ann", cli, "end", &said("Stop"))
                .succeeded()
                .stdout,
            ""
        );
        hook(&here, "ann", cli, "prompt", &said("x")).succeeded();
        hook(&here, "ann", cli, "end", &said("Stop")).succeeded();

        hook(&here, "ann", cli, "prompt", &said("x")).succeeded();
        send(&here, "the body of it");
        let forced = hook(&here, "ann", cli, "end", &said("Stop"))
            .succeeded()
            .json();
        assert_eq!(forced[key], word, "{cli}");
        assert!(
            forced["reason"]
                .as_str()
                .unwrap()
                .contains("the body of it")
        );
        // Copilot and Gemini tell of the forced turn as of one that the user began.
        let again = hook(&here, "ann", cli, "prompt", &said("x")).succeeded();
        assert_eq!(again.stdout, "", "{cli}");
        let ended = hook(&here, "ann", cli, "end", &said("Stop")).succeeded();
        assert_eq!(ended.stdout, "", "{cli}: it is not forced twice");
        assert_eq!(stands(&here).last().map(String::as_str), Some("delivered"));
    }
}

#[test]
fn a_message_that_is_too_long_is_spoken_of_and_stays() {
    let here = Sandbox::with_team(&["ann"], &[]);
    let long = "long ".repeat(4_000);
    here.feed(["--team", "t", "send", "ann", "-"], long.as_bytes())
        .succeeded();
    let shown = hook(&here, "ann", "claude", "prompt", &said("UserPromptSubmit")).succeeded();
    let text = context(&shown);
    assert_eq!(
        text.trim_end(),
        "1 more message waits: pitcrew inbox --next"
    );
    for _ in 0..2 {
        let ended = hook(&here, "ann", "claude", "end", &said("Stop")).succeeded();
        assert_eq!(ended.stdout, "", "it forces no turn");
    }
    assert_eq!(stands(&here), ["stored"]);
}

#[test]
fn a_session_that_is_no_member_s_hears_nothing() {
    let here = Sandbox::with_team(&["ann"], &[]);
    send(&here, "the body of it");
    for act in ["begin", "prompt", "work", "ask", "end", "wait", "leave"] {
        let quiet = here.feed(["hook", "run", "claude", act], b"{}").succeeded();
        assert_eq!((quiet.stdout, quiet.stderr), (String::new(), String::new()));
    }
    let mut command = here.command(["hook", "run", "claude", "prompt"]);
    command
        .env("PITCREW_TEAM", "t")
        .env("PITCREW_AGENT", "ann")
        .env("PITCREW_WORK", "/x");
    let quiet = answer(command.output().unwrap()).succeeded();
    assert_eq!(
        quiet.stdout, "",
        "a headless turn has its mail in its prompt"
    );
}

#[test]
fn what_goes_wrong_is_written_down_and_breaks_no_turn() {
    let here = Sandbox::with_team(&["ann"], &[]);
    let mut command = here.command(["hook", "run", "claude", "prompt"]);
    command
        .env("PITCREW_TEAM", "t")
        .env("PITCREW_AGENT", "ann")
        .env("PITCREW_TOKEN", "of another life");
    let quiet = answer(command.output().unwrap()).succeeded();
    assert_eq!((quiet.stdout, quiet.stderr), (String::new(), String::new()));
    let log = here.read("t", "workers/ann/hooks.log");
    assert!(log.contains("claude prompt: "), "{log}");
    let lost = hook(
        &here,
        "nobody",
        "claude",
        "prompt",
        &said("UserPromptSubmit"),
    )
    .succeeded();
    assert_eq!(lost.stdout, "");
    assert!(lost.stderr.contains("nobody"), "{}", lost.stderr);
}

#[test]
fn an_edit_of_lines_that_others_hold_is_refused_before_it_happens() {
    let here = Sandbox::with_team(&["ann", "bob"], &[]);
    fs::write(here.root().join("a.rs"), "one\ntwo\nthree\n").unwrap();
    here.call(["--team", "t", "--as", "bob", "claim", "a.rs", "1", "3"])
        .succeeded();
    let edit = json!({
        "cwd": here.root(), "tool_name": "Edit",
        "tool_input": { "file_path": here.root().join("a.rs"), "old_string": "two", "new_string": "2" },
    });
    let refused = hook(&here, "ann", "claude", "guard", &edit).ended(2);
    assert!(
        refused.stderr.contains("bob holds a.rs"),
        "{}",
        refused.stderr
    );
    hook(&here, "bob", "claude", "guard", &edit).succeeded();
    // Copilot CLI shows its model no standard error.
    let denied = hook(&here, "ann", "copilot", "guard", &edit)
        .succeeded()
        .json();
    assert_eq!(denied["permissionDecision"], "deny");
    let reason = denied["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("bob holds a.rs"), "{reason}");
}

#[test]
fn real_waiting_beside_an_idle_program_ends_when_mail_comes() {
    let here = Sandbox::with_team(&["ann"], &[]);
    let waiter = || {
        let mut command = here.command(["hook", "run", "claude", "wait"]);
        command
            .env("PITCREW_TEAM", "t")
            .env("PITCREW_AGENT", "ann")
            .stderr(Stdio::piped());
        Reaped(command.spawn().unwrap())
    };
    hook(&here, "ann", "claude", "begin", &said("SessionStart")).succeeded();
    let mut first = waiter();
    until("somebody waits", || {
        here.read("t", "workers/ann/.hook.json").contains("waiter")
    });
    // A turn that begins another way ends it.
    hook(&here, "ann", "claude", "prompt", &said("UserPromptSubmit")).succeeded();
    assert_eq!(first.0.wait().unwrap().code(), Some(0));
    hook(&here, "ann", "claude", "end", &said("Stop")).succeeded();
    let second = waiter();
    until("somebody waits", || {
        here.read("t", "workers/ann/.hook.json").contains("waiter")
    });
    send(&here, "the body of it");
    let mut second = second;
    let mut text = String::new();
    let mut stderr = second.0.stderr.take().unwrap();
    std::io::Read::read_to_string(&mut stderr, &mut text).unwrap();
    assert_eq!(second.0.wait().unwrap().code(), Some(2));
    assert_eq!(
        text,
        "You have 1 new message(s). Read your mailbox: pitcrew inbox\n"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process is waited for in real time"
)]
fn until(what: &str, mut seen: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !seen() {
        assert!(begun.elapsed().as_secs() < 20, "never seen: {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn the_page_of_commands_goes_where_each_cli_looks_and_is_never_taken_from_others() {
    let here = Sandbox::new();
    let pages = [".claude", ".github", ".agents"]
        .map(|folder| here.root().join(folder).join("skills/team/SKILL.md"));
    here.call(["skill", "install"]).succeeded();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        assert!(text.starts_with("---\nname: team\ndescription: "), "{text}");
    }
    here.call(["skill", "install"]).succeeded();
    fs::write(&pages[0], "mine").unwrap();
    let refused = here.call(["skill", "install", "--json"]).ended(1).json();
    assert_eq!(refused["code"], "page_in_the_way");
    here.call(["skill", "uninstall"]).ended(1);
    assert!(pages.iter().all(|page| page.is_file()), "nothing was begun");
    here.call(["skill", "uninstall", "copilot", "codex"])
        .succeeded();
    assert_eq!(fs::read_to_string(&pages[0]).unwrap(), "mine");
    assert!(!pages[1].exists() && !pages[2].parent().unwrap().exists());
}
