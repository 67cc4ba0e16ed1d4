//! The command line as people and agents meet it: the first team of the help page, refusals with a next step, usage
//! errors in JSON, the second name, completions and manual pages.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::os::unix::fs::symlink;

use sandbox::{Sandbox, answer, keys};
use serde_json::{Value, json};

#[test]
fn the_first_team_of_the_help_page_can_be_followed_to_its_end() {
    let sandbox = Sandbox::new();
    let call = |line: &[&str]| sandbox.call(line).succeeded().stdout;
    let founded = call(&[
        "team",
        "init",
        "demo",
        "--member",
        "ann",
        "--member",
        "bob",
        "--task",
        "Read the README",
        "--task",
        "List what it leaves out",
    ]);
    assert!(
        founded.starts_with("founded team demo members=2 tasks=2 in "),
        "{founded}"
    );
    let claimed = call(&["--as", "ann", "task", "claim"]);
    assert!(
        claimed.starts_with("1  ann-") && claimed.ends_with("\nRead the README\n"),
        "{claimed}"
    );
    let id = call(&["--as", "ann", "send", "bob", "I have the README"]);
    let inbox = call(&["--as", "bob", "inbox"]);
    assert!(
        inbox.starts_with(&format!("{}  from ann, not verified  ", id.trim())),
        "{inbox}"
    );
    assert!(inbox.ends_with("Z\n    I have the README\n"), "{inbox}");
    assert_eq!(
        call(&["--as", "ann", "task", "done", "1", "Two parts"]),
        "1  completed\n"
    );
    let page = call(&["team", "status", "demo"]);
    assert!(
        page.contains("  1  completed  ann  Two parts\n  2  pending  -  \n"),
        "{page}"
    );
    let collected = call(&["team", "collect", "demo"]);
    assert!(
        collected.starts_with("team collect demo: 1/2 ended\n"),
        "{collected}"
    );
    assert!(
        collected.contains("── 1 (ann): completed ──\ntask: Read the README\nTwo parts\n"),
        "{collected}"
    );
    let listed = call(&["team", "list"]);
    assert!(
        listed.lines().any(|line| line.starts_with("demo ")),
        "{listed}"
    );
    let who = call(&["who"]);
    assert!(who.contains("ann") && who.contains("leader"), "{who}");

    call(&["--as", "bob", "task", "claim"]);
    let refused = sandbox
        .call(["team", "rm", "demo", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (&refused["code"], &refused["running"]),
        (&json!("team_live"), &json!(["task 2 of bob"]))
    );
    assert_eq!(
        refused["hint"],
        "end it with `pitcrew team shutdown demo` first"
    );
    call(&["team", "shutdown", "demo"]);
    let removed = call(&["team", "rm", "demo"]);
    assert!(
        removed.starts_with("removed team demo members=2 tasks=2 unread=1 from "),
        "{removed}"
    );
    assert!(!sandbox.team("demo", "").exists());
    assert_eq!(
        sandbox.call(["team", "status", "demo"]).ended(1).stdout,
        "team status: team demo not found\n"
    );
}

#[test]
fn the_first_help_page_names_every_command_exit_status_and_variable() {
    let sandbox = Sandbox::new();
    let page = sandbox.call(["--help"]).succeeded().stdout;
    for word in [
        "send",
        "broadcast",
        "inbox",
        "task",
        "wait",
        "team",
        "who",
        "doctor",
        "completions",
        "man",
    ] {
        assert!(
            page.lines()
                .any(|line| line.starts_with(&format!("  {word} "))),
            "{word}: {page}"
        );
    }
    for heading in [
        "Messages:",
        "Work:",
        "Teams:",
        "This machine:",
        "A first team, by hand:",
        "Exit status:",
        "Environment:",
    ] {
        assert!(
            page.lines().any(|line| line == heading),
            "{heading}: {page}"
        );
    }
    for status in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "130 "] {
        assert!(
            page.lines()
                .any(|line| line.trim_start().starts_with(status)),
            "{status}: {page}"
        );
    }
    assert_eq!(sandbox.call(["help"]).succeeded().stdout, page);
    assert_eq!(sandbox.call::<&str>([]).ended(2).stderr, page);
}

#[test]
fn every_command_describes_itself_in_its_own_words() {
    let sandbox = Sandbox::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(line) = open.pop() {
        let asked = line.iter().cloned().chain(["--help".to_string()]);
        let page = sandbox.call(asked).succeeded().stdout;
        seen += 1;
        let first = page.lines().next().unwrap_or_default();
        assert!(
            first.len() >= 10 && !first.starts_with("Usage"),
            "{line:?}: {page}"
        );
        assert!(
            !page.contains("The text of a message and what belongs to it"),
            "{line:?} shows a part's comment"
        );
        let mut below = page
            .split_once("\nCommands:\n")
            .map_or("", |(_, rest)| rest)
            .lines();
        if line.is_empty() {
            open.extend(
                [
                    "team",
                    "task",
                    "send",
                    "broadcast",
                    "inbox",
                    "wait",
                    "who",
                    "doctor",
                    "completions",
                    "man",
                ]
                .map(|word| vec![word.to_string()]),
            );
            continue;
        }
        for row in below.by_ref().take_while(|row| !row.is_empty()) {
            let word = row.split_whitespace().next().unwrap();
            if word != "help" {
                open.push(line.iter().cloned().chain([word.to_string()]).collect());
            }
        }
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn it_answers_under_its_second_name() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let other = sandbox.root().parent().unwrap().join("omp");
    symlink(env!("CARGO_BIN_EXE_pitcrew"), &other).unwrap();
    let call = |line: &[&str]| {
        let mut command = other_command(&other);
        command.args(line).env_clear().current_dir(sandbox.root());
        answer(command.output().unwrap())
    };
    let input = json!({ "team_name": "t", "from": "leader", "to": "w1", "body": "x" }).to_string();
    let sent = call(&["team", "api", "send-message", "--input", &input, "--json"])
        .succeeded()
        .json();
    assert_eq!(keys(&sent), ["ok", "messageId", "nudged"]);
    assert_eq!(
        call(&["team", "status", "t"]).succeeded().stdout,
        sandbox.call(["team", "status", "t"]).succeeded().stdout
    );
    assert!(
        call(&["send", "--help"])
            .succeeded()
            .stdout
            .contains("Usage: omp send")
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test of the binary starts the binary"
)]
fn other_command(program: &std::path::Path) -> std::process::Command {
    std::process::Command::new(program)
}

#[test]
fn with_json_every_usage_error_is_one_object_on_standard_output() {
    let sandbox = Sandbox::new();
    for line in [
        &["--json"][..],
        &["bogus", "--json"],
        &["send", "--json"],
        &["send", "w1", "--json"],
        &["--json", "inbox", "--next", "--all"],
        &["wait", "--timeout", "soon", "--json"],
        &["wait", "--bogus", "--json"],
        &["task", "--json"],
        &["task", "list", "--status", "banana", "--json"],
        &["team", "status", "--json"],
        &["team", "init", "--json"],
        &["team", "init", "x", "--member", "a:b:c:d", "--json"],
        &["completions", "klingon", "--json"],
        &["who", "--json"],
    ] {
        let said = sandbox.call(line).ended(2);
        let value = said.json();
        assert_eq!(keys(&value)[..2], ["ok", "message"], "{line:?}");
        assert_eq!(
            (&value["ok"], &value["code"]),
            (&json!(false), &json!("usage")),
            "{line:?}"
        );
        assert!(
            !value["message"].as_str().unwrap().contains('\u{1b}'),
            "{line:?}"
        );
        assert!(said.stderr.is_empty(), "{line:?}: {said:?}");
    }
    // Behind `--` a word is a word.
    assert!(
        sandbox
            .call(["bogus", "--", "--json"])
            .ended(2)
            .stdout
            .is_empty()
    );
}

#[test]
fn a_refusal_says_what_to_do_next_on_standard_error() {
    let sandbox = Sandbox::with_team(&["ann"], &["x"]);
    let said = sandbox.call(["--team", "t", "send", "an", "x"]).ended(1);
    assert!(said.stdout.is_empty());
    assert_eq!(
        said.stderr,
        "error: no recipient named \"an\" in team t\n hint: did you mean ann? valid names: ann, leader\n"
    );
    let said = sandbox.call(["--team", "tt", "inbox"]).ended(1);
    assert_eq!(
        said.stderr,
        "error: team tt not found\n hint: did you mean t? valid names: t\n"
    );
    let value = sandbox
        .call(["--team", "t", "--as", "ann", "task", "done", "1", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        keys(&value)[..5],
        ["ok", "reason", "code", "message", "hint"]
    );
}

#[test]
fn which_team_is_meant_is_said_or_clear() {
    let sandbox = Sandbox::new();
    assert!(
        sandbox
            .call(["inbox"])
            .ended(2)
            .stderr
            .contains("no team here; found one")
    );
    sandbox.call(["team", "init", "one"]).succeeded();
    sandbox.call(["inbox"]).succeeded();
    sandbox.call(["team", "init", "two"]).succeeded();
    let said = sandbox.call(["inbox"]).ended(2).stderr;
    assert!(
        said.contains("which team? name one with --team or PITCREW_TEAM: one, two"),
        "{said}"
    );
    sandbox.call(["--team", "two", "inbox"]).succeeded();
    let mut command = sandbox.command(["inbox"]);
    answer(command.env("PITCREW_TEAM", "one").output().unwrap()).succeeded();
    let refused = sandbox
        .call(["team", "init", "ONE", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (&refused["code"], &refused["team"]),
        (&json!("team_exists"), &json!("one"))
    );
    for name in ["../x", "", "a b", "CON"] {
        assert_eq!(
            sandbox
                .call(["team", "init", name, "--json"])
                .ended(1)
                .json()["code"],
            "invalid_name"
        );
    }
    let refused = sandbox
        .call(["team", "init", "x", "--member", "leader", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "invalid_name");
    assert!(!sandbox.team("x", "").exists());
}

#[test]
fn the_project_is_found_from_below_or_named() {
    let sandbox = Sandbox::with_team(&["w1"], &[]);
    let below = sandbox.root().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let listed = |command: &mut std::process::Command| {
        let value = answer(command.output().unwrap()).succeeded().json();
        value["teams"].as_array().unwrap().len()
    };
    assert_eq!(
        listed(
            sandbox
                .command(["team", "list", "--json"])
                .current_dir(&below)
        ),
        1
    );
    let elsewhere = sandbox.root().parent().unwrap().join("home");
    assert_eq!(
        listed(
            sandbox
                .command(["team", "list", "--json"])
                .current_dir(&elsewhere)
        ),
        0
    );
    let root = sandbox.root();
    let root = root.to_str().unwrap();
    assert_eq!(
        listed(
            sandbox
                .command(["--root", root, "team", "list", "--json"])
                .current_dir(&elsewhere)
        ),
        1
    );
    let named = sandbox
        .command(["team", "list", "--json"])
        .env("PITCREW_ROOT", root)
        .current_dir(&elsewhere)
        .output();
    assert_eq!(
        answer(named.unwrap()).json()["teams"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let found = sandbox.call(["--root", root, "doctor"]);
    assert!(
        found
            .stdout
            .contains(&format!("✓ root: {root} (named by --root)")),
        "{found:?}"
    );
}

#[test]
fn completions_and_manual_pages_name_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.call(["completions", shell]).succeeded().stdout;
        for word in ["broadcast", "remove-member", "idempotency-key"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
    assert!(
        sandbox
            .call(["man"])
            .succeeded()
            .stdout
            .contains(".TH pitcrew 1")
    );
    let written = sandbox
        .call(["man", "--dir", "pages", "--json"])
        .succeeded()
        .json();
    let pages: Vec<&str> = written["pages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for page in [
        "pitcrew",
        "pitcrew-send",
        "pitcrew-team-api",
        "pitcrew-task-claim",
    ] {
        assert!(pages.contains(&page), "{pages:?}");
        let text = fs::read_to_string(sandbox.root().join(format!("pages/{page}.1"))).unwrap();
        assert!(
            text.contains(".SH NAME") && text.contains(".SH OPTIONS"),
            "{page}"
        );
    }
}

#[test]
fn a_member_works_through_its_tasks_by_the_short_commands() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &["a"]);
    let call = |member: &str, line: &[&str]| sandbox.call_as(member, line).succeeded();
    call("leader", &["task", "add", "for bob", "--for", "bob"]);
    call("leader", &["task", "add", "later", "--blocked-by", "1"]);
    let refused = sandbox
        .call_as("ann", ["task", "claim", "2", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (&refused["code"], &refused["member"]),
        (&json!("assigned_elsewhere"), &json!("bob"))
    );
    let claimed = call("ann", &["task", "claim", "--json"]).stdout;
    let claimed: Value = serde_json::from_str(&claimed).unwrap();
    assert_eq!(claimed["task"]["id"], "1");
    let none = call("ann", &["task", "claim", "--json"]).json();
    assert_eq!(none, json!({ "ok": true, "task": null }));
    assert!(
        call("ann", &["task", "claim"])
            .stderr
            .contains("pitcrew wait")
    );
    call("ann", &["task", "done", "1", "half", "--so-far"]);
    let ready = call("bob", &["task", "list", "--ready"]).stdout;
    assert_eq!(ready.lines().count(), 2, "{ready}");
    call("ann", &["task", "release", "1"]);
    assert_eq!(sandbox.task("t", "1")["status"], "pending");
    call("bob", &["task", "claim", "1", "--lease", "10m"]);
    let refused = sandbox
        .call_as("ann", ["task", "release", "1", "--force", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "leader_only");
    let refused = sandbox
        .call_as("ann", ["task", "done", "1", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "stale_token");
    call("bob", &["task", "fail", "1", "no luck"]);
    call("leader", &["task", "retry", "1"]);
    let token = claimed["claimToken"].as_str().unwrap();
    let refused = sandbox
        .call_as("ann", ["task", "done", "1", "--token", token, "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "unexpected_status");
    let members = call("leader", &["who", "--json"]).json();
    assert_eq!(members["members"][2]["name"], "leader");
    assert_eq!(
        members["members"][2]["unread"], 1,
        "the leader was told of the failure"
    );
}

#[test]
fn several_founders_of_one_name_have_one_winner() {
    let sandbox = Sandbox::new();
    let children: Vec<_> = (0..4)
        .map(|n| {
            let member = format!("m{n}");
            let line = [
                "team", "init", "race", "--member", &member, "--task", "x", "--json",
            ];
            let mut command = sandbox.command(line);
            command
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let answers: Vec<Value> = children
        .into_iter()
        .map(|child| answer(child.wait_with_output().unwrap()).json())
        .collect();
    let won: Vec<&Value> = answers
        .iter()
        .filter(|answer| answer["ok"] == true)
        .collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    assert!(
        answers
            .iter()
            .filter(|answer| answer["ok"] == false)
            .all(|answer| answer["code"] == "team_exists")
    );
    let config: Value = serde_json::from_str(&sandbox.read("race", "config.json")).unwrap();
    assert_eq!(config, won[0]["config"]);
}

/// What a run writes down of a process, by the process table.
#[cfg(target_os = "linux")]
fn identity(pid: u32, start_time_off_by: u64) -> Value {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let start_time: u64 = after_name.split(' ').nth(19).unwrap().parse().unwrap();
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    json!({ "pid": pid, "start_time": start_time + start_time_off_by, "boot_id": boot_id.trim() })
}

#[test]
#[cfg(target_os = "linux")]
fn a_shutdown_stops_what_a_turn_left_running_and_never_somebody_with_its_number() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    let start = || {
        let mut command = other_command(std::path::Path::new("cat"));
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null());
        sandbox::Reaped(command.spawn().unwrap())
    };
    let record = |member: &str, process: Value| {
        fs::create_dir_all(sandbox.team("t", &format!("workers/{member}"))).unwrap();
        let record = json!({
            "turn": format!("turn-of-{member}-0123456789"), "number": 1, "run": "r",
            "startedAt": "2026-11-30T16:22:29.063Z", "process": process,
        });
        fs::write(
            sandbox.team("t", &format!("workers/{member}/process.json")),
            record.to_string(),
        )
        .unwrap();
    };
    let (mut turn, mut stranger) = (start(), start());
    record("ann", identity(turn.0.id(), 0));
    record("bob", identity(stranger.0.id(), 7));
    let refused = sandbox.call(["team", "rm", "t", "--json"]).ended(1).json();
    assert_eq!(
        refused["running"],
        json!([format!("ann (process {})", turn.0.id())])
    );
    let answer = sandbox
        .call(["team", "shutdown", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        answer["stopped"],
        json!([format!("ann (process {})", turn.0.id())])
    );
    turn.0.wait().unwrap();
    assert_eq!(
        stranger.0.try_wait().unwrap(),
        None,
        "it has only the number in common"
    );
    sandbox.call(["team", "rm", "t"]).succeeded();
}

#[test]
fn a_shutdown_ends_the_run_that_drives_the_team() {
    let sandbox = Sandbox::new();
    let file = "name = 't'\n[[members]]\nname = 'ann'\nprofile = 'sh'\n[[tasks]]\nid = 'long'\nfor = 'ann'\n\
                description = 'x'\nscript = 'while :; do read nothing || exec tail -f /dev/null; done'\n";
    fs::write(sandbox.root().join("t.toml"), file).unwrap();
    let mut command = sandbox.command(["run", "t.toml", "--quiet"]);
    // What members are started with: a shell and its tools.
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let mut run = sandbox::Reaped(command.spawn().unwrap());
    // The run founds the team; until then there is nothing to wait for.
    let mut waited = sandbox.call([
        "--team",
        "t",
        "wait",
        "--task-end",
        "long",
        "--timeout",
        "10ms",
    ]);
    while waited.status != Some(4) {
        waited = sandbox.call([
            "--team",
            "t",
            "wait",
            "--task-end",
            "long",
            "--timeout",
            "10ms",
        ]);
    }
    let ended = sandbox
        .call(["team", "shutdown", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        ended["run"],
        json!({ "process": run.0.id(), "ended": true })
    );
    run.0.wait().unwrap();
    sandbox.call(["team", "rm", "t"]).succeeded();
}

#[test]
fn the_doctor_says_which_agents_are_there_and_which_profile_is_broken() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let programs = sandbox.root().join("bin");
    fs::create_dir(&programs).unwrap();
    for (name, text) in [
        ("claude", "#!/bin/sh\necho '9.9.9 (Claude Code)'\n"),
        ("codex", "#!/bin/sh\nexit 3\n"),
        ("tmux", "#!/bin/sh\necho 'tmux 3.3a'\n"),
    ] {
        fs::write(programs.join(name), text).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let look = || {
        let mut command = sandbox.command(["doctor"]);
        answer(
            command
                .env("PATH", format!("{}:/bin", programs.display()))
                .output()
                .unwrap(),
        )
    };
    let found = look().succeeded().stdout;
    let has = |found: &str, line: &str| {
        assert!(
            found.lines().any(|known| known.starts_with(line)),
            "{line}: {found}"
        )
    };
    has(&found, "✓ profile claude: claude 9.9.9, tried with ");
    has(&found, "· profile codex: `codex --version` failed");
    has(&found, "· profile gemini: gemini is not on PATH");
    has(&found, "✓ tmux: tmux 3.3a");
    let folder = sandbox.root().join(".pitcrew/profiles");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("mine.toml"),
        "version = 1\nname = 'mine'\nprogam = 'x'\n",
    )
    .unwrap();
    let found = look().ended(3).stdout;
    has(&found, "✗ profiles: ");
    has(&found, "✓ profile claude: ");
    let checks = sandbox.call(["doctor", "--json"]).ended(3).json();
    assert_eq!(keys(&checks), ["ok", "checks"]);
    assert_eq!(
        keys(&checks["checks"][0]),
        ["check", "state", "message", "hint"]
    );
}
