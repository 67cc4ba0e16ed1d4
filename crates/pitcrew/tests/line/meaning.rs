//! Which project, team and member a line means, and what a mistake in it answers.

use super::*;

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
