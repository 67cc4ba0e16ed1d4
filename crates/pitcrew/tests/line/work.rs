//! Working by the short commands, and what ends with a team.

use super::*;

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
