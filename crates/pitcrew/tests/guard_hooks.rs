//! The guard's hook in real repositories: where it goes, what it keeps, and what is left when it is taken out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "repository/repository.rs"]
mod repository;
#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use repository::Repository;

const HOOK: &str = ".git/hooks/pre-commit";

/// Every hook with what it says, its mode, and where it leads, but for the samples.
fn hooks(folder: &Path) -> Vec<(String, Vec<u8>, u32, bool)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let path = entry.path();
            let is_link = entry.file_type().unwrap().is_symlink();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(&path).unwrap(), mode, is_link)
        })
        .filter(|(name, ..)| !name.ends_with(".sample"))
        .collect();
    found.sort();
    found
}

fn script(here: &Repository, text: &str, mode: u32) {
    here.write(HOOK, text);
    fs::set_permissions(here.path(HOOK), fs::Permissions::from_mode(mode)).unwrap();
}

/// A repository with a hook, ada's claim on line 1 of `held`, and something to commit.
fn with_hook(prepare: impl FnOnce(&Repository)) -> Repository {
    let here = Repository::bare();
    here.numbered("held", 1..=9);
    here.numbered("free", 1..=9);
    here.commit("first");
    prepare(&here);
    here.claim("ada", "held", 1, 9);
    here
}

/// Puts the hook in beside the one that is there, and looks that both count and that nothing is left.
#[track_caller]
fn check(here: &Repository, old_runs: bool) {
    let folder = here.path(".git/hooks");
    let before = hooks(&folder);
    let said = here.call(["guard", "install"]).succeeded().stdout;
    assert!(said.contains("still runs"), "{said}");
    let installed = hooks(&folder);
    here.call(["guard", "install"]).succeeded();
    assert_eq!(hooks(&folder), installed, "once more changes nothing");

    here.write("free", "changed\n");
    here.commits_as("bob", "free").succeeded();
    assert_eq!(
        here.path("ran").exists(),
        old_runs,
        "the hook that was there runs"
    );
    here.write("held", "changed\n");
    here.commits_as("bob", "held").ended(1);
    here.git(["checkout", "-q", "HEAD", "--", "held"])
        .succeeded();
    if old_runs {
        here.write("refuse", "");
        here.write("free", "again\n");
        let refused = here.commits_as("bob", "free").ended(1);
        assert!(refused.stderr.contains("old says no"), "{refused:#?}");
    }
    here.call(["guard", "uninstall"]).succeeded();
    assert_eq!(hooks(&folder), before, "what was there is there again");
    here.call(["guard", "uninstall"]).succeeded();
    assert_eq!(hooks(&folder), before);
}

const OLD: &str = "touch ran\nif [ -e refuse ]; then echo old says no >&2; exit 3; fi\n[ \"$(basename \"$0\")\" = pre-commit ]";

#[test]
fn a_shell_hook_still_runs_under_its_own_name() {
    for first in ["#!/bin/sh\n", "#!/usr/bin/env bash\nset -euo pipefail\n"] {
        let here = with_hook(|here| script(here, &format!("{first}{OLD}"), 0o751));
        check(&here, true);
    }
}

#[test]
fn a_hook_that_is_no_shell_script_still_runs() {
    let perl = "#!/usr/bin/env perl\nopen(my $f, '>', 'ran');\nif (-e 'refuse') { print STDERR \"old says no\\n\"; exit 3; }\n";
    let here = with_hook(|here| script(here, perl, 0o755));
    check(&here, true);
}

#[test]
fn a_hook_that_is_a_link_still_runs_and_stays_one() {
    let here = with_hook(|here| {
        here.write(
            "scripts/hook",
            "#!/bin/sh\ntouch ran\nif [ -e refuse ]; then echo old says no >&2; exit 3; fi\n",
        );
        fs::set_permissions(here.path("scripts/hook"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(here.path(".git/hooks")).unwrap();
        symlink("../../scripts/hook", here.path(HOOK)).unwrap();
    });
    check(&here, true);
    assert!(fs::symlink_metadata(here.path(HOOK)).unwrap().is_symlink());
}

#[test]
fn a_hook_that_git_does_not_run_is_kept_and_not_run() {
    let here = with_hook(|here| script(here, "#!/bin/sh\ntouch ran\n", 0o644));
    check(&here, false);
}

#[test]
fn without_a_hook_nothing_is_left() {
    let here = with_hook(|_| {});
    let before = hooks(&here.path(".git/hooks"));
    let json = here.call(["guard", "install", "--json"]).succeeded().json();
    assert_eq!(
        (&json["changed"], &json["beside_another"]),
        (&true.into(), &false.into())
    );
    here.write("held", "changed\n");
    here.commits_as("bob", "held").ended(1);
    here.call(["guard", "uninstall"]).succeeded();
    assert_eq!(hooks(&here.path(".git/hooks")), before);
}

#[test]
fn what_somebody_wrote_behind_ours_stays() {
    let here = with_hook(|here| script(here, "#!/bin/sh\n", 0o755));
    here.call(["guard", "install"]).succeeded();
    here.write(HOOK, format!("{}echo more\n", here.read(HOOK)));
    here.call(["guard", "uninstall"]).succeeded();
    assert_eq!(here.read(HOOK), "#!/bin/sh\necho more\n");
}

#[test]
fn the_folder_that_git_runs_hooks_from_is_used() {
    let here = with_hook(|_| {});
    here.git(["config", "core.hooksPath", "my hooks"])
        .succeeded();
    let below = here.path("deep/er");
    fs::create_dir_all(&below).unwrap();
    here.call(["guard", "install"]).succeeded();
    assert!(here.path("my hooks/pre-commit").exists());
    assert!(!here.path(HOOK).exists());
    here.write("held", "changed\n");
    here.git_as("bob", ["commit", "-qm", "held", "held"])
        .ended(1);
    // Work trees share their hooks.
    here.git(["config", "--unset", "core.hooksPath"])
        .succeeded();
    here.git(["worktree", "add", "-q", ".trees/x"]).succeeded();
    let mut there = here.sandbox.command(["guard", "install"]);
    there
        .current_dir(here.path(".trees/x"))
        .env("PATH", repository::search_path());
    sandbox::answer(there.output().unwrap()).succeeded();
    assert!(here.path(HOOK).exists());
}

#[test]
fn where_it_cannot_be_safe_it_is_refused() {
    let here = with_hook(|_| {});
    let refused = |code: &str| {
        let answer = here.call(["guard", "install", "--json"]).ended(1).json();
        assert_eq!(answer["code"], code, "{answer}");
        assert!(!answer["hint"].as_str().unwrap().is_empty());
    };
    // Hooks of every repository of the user.
    let shared = here.root().parent().unwrap().join("shared hooks");
    here.git(["config", "core.hooksPath", shared.to_str().unwrap()])
        .succeeded();
    refused("shared_hooks");
    assert!(!shared.exists());
    // A hook that others would get with the next commit.
    here.git(["config", "core.hooksPath", "hooks"]).succeeded();
    here.write("hooks/pre-commit", "#!/bin/sh\n");
    here.commit("hooks");
    refused("hook_tracked");
    assert_eq!(here.read("hooks/pre-commit"), "#!/bin/sh\n");
    // The place where the old one would be kept is taken.
    here.git(["config", "--unset", "core.hooksPath"])
        .succeeded();
    script(&here, "no script", 0o755);
    here.write(".git/hooks/pre-commit.before-pitcrew", "mine\n");
    refused("hook_in_the_way");
    assert_eq!(here.read(HOOK), "no script");
}

#[test]
fn a_folder_without_a_repository_is_told_apart() {
    let sandbox = sandbox::Sandbox::with_team(&["ada", "bob"], &[]);
    fs::remove_dir_all(sandbox.root().join(".git")).unwrap();
    for line in [
        &["guard", "install"][..],
        &["guard", "uninstall"],
        &["guard", "check", "--staged"],
    ] {
        let mut command = sandbox.command(line.iter().chain(&["--json"]));
        command.env("PATH", repository::search_path());
        let answer = sandbox::answer(command.output().unwrap()).ended(1);
        assert_eq!(answer.json()["code"], "no_work_tree", "{answer:#?}");
        // Without git there is no repository either.
        let mut command = sandbox.command(line.iter().chain(&["--json"]));
        let answer = sandbox::answer(command.env("PATH", "/nowhere").output().unwrap()).ended(1);
        assert_eq!(answer.json()["code"], "git_not_found", "{answer:#?}");
    }
    // An edit can be judged all the same.
    sandbox.call_as("ada", ["claim", "a", "1", "9"]).succeeded();
    sandbox.call_as("bob", ["guard", "check", "a"]).ended(1);
}

#[test]
fn the_hook_finds_its_program_at_any_path_and_says_when_it_is_gone() {
    let here = with_hook(|_| {});
    let odd = here.root().parent().unwrap().join("it's $HOME \"here\"");
    fs::create_dir(&odd).unwrap();
    let program = odd.join("pitcrew");
    fs::hard_link(env!("CARGO_BIN_EXE_pitcrew"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_pitcrew"), &program).map(|_| ()))
        .unwrap();
    here.run(&program, ["guard", "install"]).succeeded();
    here.write("held", "changed\n");
    here.commits_as("bob", "held").ended(1);
    fs::remove_file(&program).unwrap();
    let passed = here.commits_as("bob", "held").succeeded();
    assert!(passed.stderr.contains("is gone"), "{passed:#?}");
    // Installing again puts it right.
    let said = here.call(["guard", "install"]).succeeded().stdout;
    assert!(said.contains("now"), "{said}");
    here.write("held", "changed more\n");
    here.commits_as("bob", "held").ended(1);
}

#[test]
fn a_project_inside_a_repository_is_guarded_from_its_top() {
    let here = Repository::bare();
    here.write("packages/one/package.json", "{}");
    here.numbered("packages/one/a", 1..=9);
    here.commit("first");
    let one = here.path("packages/one");
    let call = |line: &[&str]| {
        let mut command = here.sandbox.command(line);
        command
            .current_dir(&one)
            .env("PATH", repository::search_path());
        sandbox::answer(command.output().unwrap())
    };
    call(&["team", "init", "u", "--member", "cy"]).succeeded();
    call(&["--as", "cy", "claim", "a", "1", "9"]).succeeded();
    call(&["guard", "install"]).succeeded();
    here.write(".git/info/exclude", ".omp\n");
    here.write("packages/one/a", "changed\n");
    let refused = here.commits("a").ended(1);
    assert!(refused.stderr.contains("cy holds a 1 for"), "{refused:#?}");
}
