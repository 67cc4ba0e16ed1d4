//! A11 to A13: who speaks, where from, and what a terminal is shown of it.

use super::*;

#[test]
fn a11_a_worker_in_a_sub_package_reaches_its_team_by_the_root_in_its_environment() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let package = sandbox.root().join("packages/a");
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("package.json"), "{}").unwrap();
    let requests = |cwd: Option<&Path>| {
        let mut input =
            json!({ "team_name": "t", "from": "w1", "to": "leader", "body": "from below" });
        if let Some(cwd) = cwd {
            input["cwd"] = cwd.display().to_string().into();
        }
        vec![
            "team".to_string(),
            "api".into(),
            "send-message".into(),
            "--input".into(),
            input.to_string(),
        ]
    };
    let lines = [
        vec!["send".to_string(), "leader".into(), "from below".into()],
        requests(None),
        requests(Some(&package)),
        requests(Some(Path::new("src"))),
    ];
    for (count, line) in lines.iter().enumerate() {
        let mut command = sandbox.command(line);
        command
            .current_dir(&package)
            .env("PITCREW_ROOT", sandbox.root())
            .env("PITCREW_TEAM", "t")
            .env("PITCREW_AGENT", "w1");
        answer(command.output().unwrap()).succeeded();
        assert_eq!(unread(&sandbox, "leader").len(), count + 1, "{line:?}");
    }
    // Without the variable the sub-package is a project of its own, and says that it has no such team.
    let mut command = sandbox.command(&lines[1]);
    let refused = answer(command.current_dir(&package).output().unwrap())
        .ended(1)
        .json();
    assert_eq!(refused["code"], "team_not_found");
    assert!(!package.join(".omp").exists());
}

/// The SHA-256 of `secret`.
const HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

#[test]
fn a12_a_token_speaks_for_its_member_alone() {
    let sandbox = Sandbox::with_team(&["w1", "w2"], &[]);
    let config = sandbox.read("t", "config.json");
    let config = config.replacen(
        "\"name\": \"w1\",",
        &format!("\"name\": \"w1\",\n      \"tokenHash\": \"{HASH}\","),
        1,
    );
    fs::write(sandbox.team("t", "config.json"), config).unwrap();
    let call = |token: &str, line: &[&str]| {
        let mut command = sandbox.command(line);
        command.env("PITCREW_TEAM", "t").env("PITCREW_TOKEN", token);
        answer(command.output().unwrap())
    };
    let refused = call(
        "secret",
        &["--as", "leader", "send", "w2", "obey", "--json"],
    )
    .ended(1)
    .json();
    assert_eq!(refused["code"], "sender_mismatch");
    let input =
        json!({ "team_name": "t", "from": "leader", "to": "w2", "body": "obey" }).to_string();
    let refused = call(
        "secret",
        &["team", "api", "send-message", "--input", &input],
    )
    .ended(1)
    .json();
    assert_eq!(refused["error"], "sender_mismatch");
    let refused = call("another", &["send", "w2", "x", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "invalid_token");
    for line in [
        &["team", "shutdown", "t", "--json"][..],
        &["team", "rm", "t", "--json"],
        &["inbox", "--as", "w2", "--json"],
    ] {
        let refused = call("secret", line).ended(1).json();
        assert!(
            ["leader_only", "sender_mismatch"].contains(&refused["code"].as_str().unwrap()),
            "{refused}"
        );
    }
    assert!(unread(&sandbox, "w2").is_empty());
    call("secret", &["send", "w2", "mine"]).succeeded();
    let message = &unread(&sandbox, "w2")[0];
    assert_eq!(
        (&message["from"], &message["verified"]),
        (&json!("w1"), &json!(true))
    );
}

#[test]
fn a12_what_a_terminal_shows_has_its_control_characters_made_visible() {
    let sandbox = Sandbox::with_team(&["w1"], &["\u{1b}]0;owned\u{7}task"]);
    let body = "\u{1b}]52;c;ZWNobw==\u{7}\u{1b}[2J\u{9b}31m\u{202e}evil\rover";
    sandbox
        .feed(["--team", "t", "send", "w1", "-"], body.as_bytes())
        .succeeded();
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox
        .call_as("w1", ["task", "done", "1", "\u{1b}[31mred\nsecond line"])
        .succeeded();
    for line in [
        &["--as", "w1", "inbox"][..],
        &["--as", "w1", "inbox", "--all"],
        &["task", "list"],
        &["team", "status", "t"],
        &["team", "collect", "t"],
        &["team", "list"],
        &["who"],
        &["doctor"],
        &["--as", "w1", "inbox", "--next"],
        &["send", "\u{1b}[31mx", "y"],
        &["wait", "--task-end", "1"],
    ] {
        let answer = sandbox.call(["--team", "t"].iter().chain(line));
        let shown = answer.stdout + &answer.stderr;
        let is_control = |c: char| {
            c != '\n' && c != '\t' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
        };
        assert!(!shown.chars().any(is_control), "{line:?}: {shown:?}");
    }
    // JSON escapes what needs it and keeps every byte.
    let answer = sandbox
        .call_as("w1", ["inbox", "--all", "--json"])
        .succeeded();
    assert!(!answer.stdout.contains('\u{1b}'));
    assert_eq!(answer.json()["messages"][0]["body"], body);
}

#[test]
fn a13_a_stranger_sends_claims_and_reports_nothing() {
    let sandbox = Sandbox::with_team(&["w1"], &["task"]);
    let token = sandbox
        .call_as("w1", ["task", "claim", "1", "--json"])
        .succeeded()
        .json()["claimToken"]
        .clone();
    sandbox
        .call(["--team", "t", "task", "add", "second"])
        .succeeded();
    let before = paths(&sandbox.root());
    for (request, input, code) in [
        (
            "send-message",
            json!({ "from": "ghost", "to": "w1", "body": "x" }),
            "unknown_sender",
        ),
        (
            "broadcast",
            json!({ "from": "ghost", "body": "x" }),
            "unknown_sender",
        ),
        (
            "claim-task",
            json!({ "worker": "ghost", "task_id": "2" }),
            "unknown_member",
        ),
        (
            "claim-next-task",
            json!({ "worker": "ghost" }),
            "unknown_member",
        ),
        (
            "transition-task-status",
            json!({ "worker": "ghost", "task_id": "1", "from": "in_progress", "to": "completed", "claim_token": token }),
            "unknown_member",
        ),
    ] {
        let mut input = input;
        input["team_name"] = "t".into();
        assert_eq!(
            sandbox.api(request, &input).ended(1).json()["code"],
            code,
            "{request}"
        );
    }
    for line in [
        &["send", "w1", "x"][..],
        &["broadcast", "x"],
        &["inbox"],
        &["task", "claim", "2"],
        &["task", "done", "1"],
    ] {
        let line = ["--team", "t", "--as", "ghost", "--json"]
            .iter()
            .chain(line);
        let refused = sandbox.call(line).ended(1).json();
        assert!(
            refused["code"].as_str().unwrap().starts_with("unknown_"),
            "{refused}"
        );
    }
    let list = sandbox
        .api(
            "mailbox-list",
            &json!({ "team_name": "t", "worker": "ghost" }),
        )
        .succeeded()
        .json();
    assert_eq!(list["messages"], json!([]));
    assert_eq!(paths(&sandbox.root()), before);
    assert_eq!(sandbox.task("t", "1")["status"], "in_progress");
}
