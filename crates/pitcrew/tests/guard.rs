//! The guard on real repositories: what a commit, a range, a patch or an edit may touch.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "repository/repository.rs"]
mod repository;
#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use repository::Repository;
use serde_json::{Value, json};

fn held(answer: &Value) -> Vec<(String, String, u64, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let conflicts = answer["conflicts"].as_array().unwrap().iter();
    conflicts
        .map(|held| {
            let (start, end) = (&held["lines"]["start"], &held["lines"]["end"]);
            let lines = (start.as_u64().unwrap(), end.as_u64().unwrap());
            (text(&held["member"]), text(&held["file"]), lines.0, lines.1)
        })
        .collect()
}

#[test]
fn a_commit_on_held_lines_is_refused_and_others_pass() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    here.replace("a", "line 30", "thirty");
    here.commits_as("bob", "below").succeeded();
    here.replace("a", "line 12", "twelve");
    let refused = here.commits_as("bob", "inside").ended(1);
    assert!(
        refused.stderr.contains("ada holds a 10-20 for another"),
        "{refused:#?}"
    );
    assert!(refused.stderr.contains("ask ada"), "{refused:#?}");
    assert!(!refused.stderr.contains("no-verify"), "{refused:#?}");
    // A person is refused too, and told the way round.
    let refused = here.commits("inside").ended(1);
    assert!(
        refused.stderr.contains("git commit --no-verify"),
        "{refused:#?}"
    );
    here.commits_as("ada", "her own").succeeded();
    here.replace("a", "line 13", "thirteen");
    here.git(["commit", "-qam", "past it", "--no-verify"])
        .succeeded();
}

#[test]
fn lines_are_followed_when_others_insert_and_delete_above() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    let text = here.read("a");
    here.write("a", format!("new 1\nnew 2\nnew 3\n{text}"));
    here.commits_as("bob", "above").succeeded();
    // Her line 12 is line 15 now, and what is line 12 now is not hers.
    here.replace("a", "line 9\n", "nine\n");
    here.commits_as("bob", "line 12 of today").succeeded();
    here.replace("a", "line 18\n", "eighteen\n");
    let refused = here.commits_as("bob", "line 21 of today").ended(1);
    assert!(refused.stderr.contains("ada holds a 13-23"), "{refused:#?}");
    here.replace("a", "eighteen\n", "line 18\n");
    // Listing says where they are, and writes nothing.
    let listed = here.call(["claims", "--json"]).json();
    let claim = &listed["claims"][0];
    assert_eq!(
        (&claim["lines"]["start"], &claim["now"]["start"]),
        (&json!(10), &json!(13))
    );
    assert_eq!(claim["moved"], "yes");
    let listed = here.call(["claims"]).stdout;
    assert!(
        listed.contains("13-23") && listed.contains("was 10-20"),
        "{listed}"
    );
    here.write("a", here.read("a").replace("new 1\nnew 2\n", ""));
    here.commits_as("bob", "less above").succeeded();
    // Who claims is judged there, too.
    let taken = here
        .as_member("bob", ["claim", "a", "21", "22", "--json"])
        .ended(1);
    assert_eq!(taken.json()["holders"][0]["lines"]["start"], 11);
    here.as_member("bob", ["claim", "a", "22", "23"])
        .succeeded();
}

#[test]
fn deleted_lines_count_at_the_edge_of_a_claim_too() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    here.write("a", here.read("a").replace("line 19\nline 20\n", ""));
    here.commits_as("bob", "the last two").ended(1);
    here.git(["checkout", "-q", "HEAD", "--", "a"]).succeeded();
    here.write("a", here.read("a").replace("line 21\nline 22\n", ""));
    here.commits_as("bob", "the next two").succeeded();
    fs::remove_file(here.path("a")).unwrap();
    let refused = here.commits_as("bob", "all").ended(1);
    assert!(refused.stderr.contains("ada holds a"), "{refused:#?}");
}

#[test]
fn a_partly_staged_file_is_judged_by_what_is_staged() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    // Bob stages his line; then ada writes into hers, in the same work tree, and bob writes more above.
    here.replace("a", "line 30\n", "bob's\n");
    here.git(["add", "a"]).succeeded();
    here.replace("a", "line 15\n", "ada's\nada's too\n");
    here.write("a", format!("above\n{}", here.read("a")));
    here.git_as("bob", ["commit", "-qm", "his line"])
        .succeeded();
    here.git_as("bob", ["commit", "-qam", "everything"])
        .ended(1);
    // A commit of paths has an index of its own.
    here.write("b", "b\n");
    here.git(["add", "b"]).succeeded();
    here.git_as("bob", ["commit", "-qm", "b", "b"]).succeeded();
    here.git_as("bob", ["commit", "-qm", "a", "a"]).ended(1);
    // Staged in the middle of her lines, and taken back in the work tree.
    here.git(["checkout", "-q", "HEAD", "--", "a"]).succeeded();
    here.replace("a", "line 15\n", "bob's\n");
    here.git(["add", "a"]).succeeded();
    here.replace("a", "bob's\n", "line 15\n");
    here.git_as("bob", ["commit", "-qm", "staged"]).ended(1);
}

#[test]
fn a_first_commit_and_new_files_are_judged() {
    let here = Repository::new();
    here.numbered("new", 1..=9);
    here.claim("ada", "new", 3, 4);
    here.numbered("other", 1..=9);
    here.git(["add", "."]).succeeded();
    here.git_as("bob", ["commit", "-qm", "first"]).ended(1);
    here.git(["rm", "-q", "--cached", "new"]).succeeded();
    here.git_as("bob", ["commit", "-qm", "first"]).succeeded();
}

#[test]
fn a_rename_touches_both_names() {
    let here = Repository::new();
    here.numbered("old", 1..=40);
    here.numbered("free", 1..=30);
    here.commit("first");
    here.claim("ada", "old", 10, 20);
    here.git(["mv", "old", "new"]).succeeded();
    let refused = here.git_as("bob", ["commit", "-qm", "renamed"]).ended(1);
    assert!(
        refused.stderr.contains("ada holds old 10-20"),
        "{refused:#?}"
    );
    here.git(["mv", "new", "old"]).succeeded();
    // Over a name that is held.
    here.claim("ada", "to", 1, 5);
    here.git(["mv", "free", "to"]).succeeded();
    let refused = here.git_as("bob", ["commit", "-qm", "renamed"]).ended(1);
    assert!(refused.stderr.contains("ada holds to 1-5"), "{refused:#?}");
}

#[test]
fn a_binary_file_counts_as_a_whole_and_a_mode_as_nothing() {
    let here = Repository::new();
    fs::write(here.path("image"), [0, 1, 2, 3]).unwrap();
    here.numbered("script", 1..=9);
    here.commit("first");
    here.claim("ada", "image", 100, 100);
    here.claim("ada", "script", 1, 9);
    fs::write(here.path("image"), [0, 1, 2, 4]).unwrap();
    let refused = here.commits_as("bob", "image").ended(1);
    assert!(
        refused.stderr.contains("ada holds image 100"),
        "{refused:#?}"
    );
    here.git(["checkout", "-q", "HEAD", "--", "image"])
        .succeeded();
    fs::set_permissions(here.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    here.commits_as("bob", "mode").succeeded();
}

#[test]
fn a_merge_is_judged_by_what_it_decides_itself() {
    let here = Repository::new();
    here.numbered("a", 1..=60);
    here.commit("first");
    here.git(["checkout", "-qb", "side"]).succeeded();
    here.replace("a", "line 12\n", "side 12\n");
    here.replace("a", "line 50\n", "side 50\n");
    here.commit("side");
    here.git(["checkout", "-q", "-"]).succeeded();
    here.replace("a", "line 50\n", "main 50\n");
    here.commit("main");
    here.claim("ada", "a", 10, 20);
    here.git(["merge", "-q", "side"]).ended(1);
    // Line 12 comes from the side as it is; line 50 is decided here.
    let text = here.read("a");
    let (before, rest) = text.split_once("<<<<<<<").unwrap();
    let (_, after) = rest.split_once(">>>>>>> side\n").unwrap();
    here.write("a", format!("{before}both 50\n{after}"));
    here.git(["add", "a"]).succeeded();
    here.git_as("bob", ["commit", "-qm", "merged"]).succeeded();

    here.git(["reset", "-q", "--hard", "HEAD~1"]).succeeded();
    here.git(["merge", "-q", "side"]).ended(1);
    here.write(
        "a",
        format!("{before}both 50\n{after}").replace("line 13\n", "merge 13\n"),
    );
    here.git(["add", "a"]).succeeded();
    let refused = here.git_as("bob", ["commit", "-qm", "merged"]).ended(1);
    assert!(refused.stderr.contains("ada holds a 10-20"), "{refused:#?}");
}

#[test]
fn a_merge_of_several_is_judged_by_all_of_its_parents() {
    let here = Repository::new();
    here.numbered("a", 1..=90);
    here.commit("first");
    for (branch, line) in [("one", 12), ("two", 40), ("three", 70)] {
        here.git(["checkout", "-qb", branch, "master"]).succeeded();
        here.replace("a", &format!("line {line}\n"), &format!("{branch}\n"));
        here.commit(branch);
    }
    here.git(["checkout", "-q", "master"]).succeeded();
    here.claim("ada", "a", 10, 20);
    let merge = ["merge", "-q", "--no-commit", "two", "three", "one"];
    // Line 12 comes from the third parent as it is; line 80 is decided here.
    here.git(merge).succeeded();
    here.replace("a", "line 80\n", "merged\n");
    here.git(["add", "a"]).succeeded();
    here.git_as("bob", ["commit", "-qm", "merged"]).succeeded();

    here.git(["reset", "-q", "--hard", "HEAD~1"]).succeeded();
    here.git(merge).succeeded();
    here.replace("a", "line 13\n", "merged\n");
    here.git(["add", "a"]).succeeded();
    let refused = here.git_as("bob", ["commit", "-qm", "merged"]).ended(1);
    assert!(refused.stderr.contains("ada holds a 10-20"), "{refused:#?}");
}

#[test]
fn a_linked_work_tree_is_judged_by_the_claims_of_the_main_one() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    for linked in ["../linked", ".trees/linked"] {
        here.git(["worktree", "add", "-q", "--detach", linked])
            .succeeded();
        let there = here.path(linked);
        let file = there.join("a");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("above\n{text}")).unwrap();
        here.git_in(&there, "bob", ["commit", "-qam", "above"])
            .succeeded();
        fs::write(
            &file,
            format!("above\n{}", text.replace("line 12\n", "twelve\n")),
        )
        .unwrap();
        let refused = here
            .git_in(&there, "bob", ["commit", "-qam", "inside"])
            .ended(1);
        assert!(refused.stderr.contains("ada holds a 11-21"), "{refused:#?}");
    }
}

#[test]
fn a_checkout_elsewhere_is_a_copy_of_the_project() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    here.git(["clone", "-q", ".", "../checkout"]).succeeded();
    let there = here.path("../checkout");
    let text = fs::read_to_string(there.join("a")).unwrap();
    fs::write(there.join("a"), text.replace("line 20\n", "twenty\n")).unwrap();
    here.git_in(&there, "bob", ["commit", "-qam", "inside"])
        .succeeded();
    let check = |range: &str| {
        let mut command = here
            .sandbox
            .command(["guard", "check", "--range", range, "--root"]);
        command
            .arg(here.root())
            .current_dir(&there)
            .env("PATH", repository::search_path());
        sandbox::answer(command.output().unwrap()).status
    };
    assert_eq!(check("HEAD~1..HEAD"), Some(1));
    assert_eq!(check("HEAD..HEAD"), Some(0));
    // What a member is about to commit there counts; in another repository it is nobody's business.
    let other = here.path("../other");
    fs::create_dir(&other).unwrap();
    here.git_in(&other, "bob", ["init", "-q"]).succeeded();
    fs::write(other.join("a"), "a\n").unwrap();
    here.git_in(&other, "bob", ["add", "a"]).succeeded();
    fs::write(there.join("a"), text.replace("line 12\n", "")).unwrap();
    here.git_in(&there, "bob", ["add", "a"]).succeeded();
    for (folder, status) in [(&there, Some(1)), (&other, Some(0))] {
        let mut command = here.sandbox.command(["guard", "check", "--staged"]);
        command
            .envs([("PITCREW_TEAM", "t"), ("PITCREW_AGENT", "bob")])
            .env("PITCREW_ROOT", here.root())
            .env("PATH", repository::search_path())
            .current_dir(folder);
        assert_eq!(
            sandbox::answer(command.output().unwrap()).status,
            status,
            "{folder:?}"
        );
    }
}

#[test]
fn a_submodule_counts_as_everything_below_it() {
    let here = Repository::new();
    here.numbered("a", 1..=9);
    here.commit("first");
    let inner = here.path("inner");
    fs::create_dir(&inner).unwrap();
    here.git_in(&inner, "bob", ["init", "-q"]).succeeded();
    fs::write(inner.join("x"), "x\n").unwrap();
    here.git_in(&inner, "bob", ["add", "x"]).succeeded();
    here.git_in(&inner, "bob", ["commit", "-qm", "x"])
        .succeeded();
    here.claim("ada", "inner/x", 1, 1);
    here.git(["-c", "advice.addEmbeddedRepo=false", "add", "inner"])
        .succeeded();
    let refused = here.git_as("bob", ["commit", "-qm", "submodule"]).ended(1);
    assert!(
        refused.stderr.contains("ada holds inner/x 1"),
        "{refused:#?}"
    );
}

#[test]
fn odd_names_are_files_like_others() {
    let here = Repository::new();
    let names = [
        "a b",
        "-dash",
        "qu\"o'te",
        "tab\there",
        "line\nbreak",
        ":(top)x",
        "*",
        "caf\u{e9}",
    ];
    for name in names {
        here.numbered(name, 1..=30);
    }
    fs::write(here.root().join(OsStr::from_bytes(b"no\xfftext")), "x\n").unwrap();
    here.commit("first");
    for name in names {
        here.as_member("ada", ["claim", "--", name, "10", "20"])
            .succeeded();
    }
    fs::write(here.root().join(OsStr::from_bytes(b"no\xfftext")), "y\n").unwrap();
    here.commits_as("bob", "no text").succeeded();
    for name in names {
        here.replace(name, "line 25\n", "below\n");
        here.commits_as("bob", "below").succeeded();
        here.replace(name, "line 15\n", "inside\n");
        here.commits_as("bob", "inside").ended(1);
        here.git(["checkout", "-q", "HEAD", "--", "."]).succeeded();
    }
}

#[test]
fn settings_of_git_do_not_change_what_is_seen() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    for (name, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "/bin/false"),
        ("color.ui", "always"),
        ("diff.context", "9"),
        ("diff.interHunkContext", "99"),
        ("diff.renames", "copies"),
        ("core.quotePath", "true"),
        ("core.autocrlf", "input"),
    ] {
        here.git(["config", name, value]).succeeded();
    }
    here.claim("ada", "a", 10, 20);
    here.write("a", here.read("a").replace('\n', "\r\n"));
    here.replace("a", "line 9\r\n", "nine\r\n");
    here.replace("a", "line 21\r\n", "more\r\n");
    here.commits_as("bob", "around").succeeded();
    here.replace("a", "line 10\r\n", "ten\r\n");
    here.commits_as("bob", "inside").ended(1);
}

#[test]
fn what_cannot_be_found_counts_as_its_whole_file() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 12);
    here.numbered("a", 100..=140);
    let refused = here
        .as_member("bob", ["guard", "check", "a", "--lines", "40", "--json"])
        .ended(1);
    let answer = refused.json();
    assert_eq!(held(&answer), [("ada".into(), "a".into(), 10, 12)]);
    assert_eq!(answer["conflicts"][0]["moved"], "unknown");
    assert_eq!(answer["conflicts"][0]["why"], "changed");
    let listed = here.call(["claims"]).stdout;
    assert!(listed.contains("where they are now is unknown"), "{listed}");
    // Claiming again says where they are.
    here.as_member("ada", ["claim", "a", "10", "12"])
        .succeeded();
    here.as_member("bob", ["guard", "check", "a", "--lines", "40"])
        .succeeded();
}

#[test]
fn an_edit_a_range_and_a_patch_are_judged_too() {
    let here = Repository::new();
    here.numbered("src/a", 1..=40);
    here.commit("first");
    here.claim("ada", "src/a", 10, 20);
    let check = |words: &[&str]| {
        let line = ["guard", "check"].iter().chain(words);
        here.as_member("bob", line).status
    };
    assert_eq!(check(&["src/a"]), Some(1));
    assert_eq!(check(&["src/b"]), Some(0));
    assert_eq!(
        check(&["src/a", "--lines", "1-9", "--lines", "21-40"]),
        Some(0)
    );
    assert_eq!(check(&["src/a", "--lines", "20"]), Some(1));
    assert_eq!(check(&["src/a", "--lines", "20-1"]), Some(1));
    assert_eq!(check(&["src/a", "--staged"]), Some(2));
    assert_eq!(check(&[]), Some(2));

    here.replace("src/a", "line 23\n", "23\n");
    let near = here.git(["diff"]).stdout;
    here.replace("src/a", "line 20\n", "20\n");
    let inside = here.git(["diff"]).stdout;
    here.git(["commit", "-qam", "inside", "--no-verify"])
        .succeeded();
    assert_eq!(check(&["--range", "HEAD~1..HEAD"]), Some(1));
    assert_eq!(check(&["--range", "HEAD~1..."]), Some(1));
    assert_eq!(check(&["--range", "HEAD..HEAD"]), Some(0));
    for wrong in ["HEAD", "no..HEAD", "--output=x..HEAD"] {
        let range = format!("--range={wrong}");
        let refused = here
            .as_member("bob", ["guard", "check", &range, "--json"])
            .ended(1);
        assert_eq!(refused.json()["code"], "invalid_input", "{wrong}");
    }
    here.git(["reset", "-q", "--hard", "HEAD~1"]).succeeded();
    let feed = |text: &str| {
        let line = [
            "--team", "t", "--as", "bob", "guard", "check", "--diff", "-",
        ];
        here.sandbox.feed(line, text.as_bytes()).status
    };
    // What a diff shows around a change is not changed.
    assert_eq!(feed(&near), Some(0));
    assert_eq!(feed(&inside), Some(1));
    assert_eq!(feed("no diff"), Some(1));
    assert_eq!(feed(""), Some(0));
}

#[test]
fn the_hook_of_an_agent_cli_is_answered_in_its_way() {
    let here = Repository::bare();
    here.numbered("src/a", 1..=40);
    here.commit("first");
    here.claim("ada", "src/a", 10, 20);
    let root = here.root();
    let absolute = root.join("src/a");
    let absolute = absolute.to_str().unwrap();
    let cwd = root.join("src");
    let hook = |input: Value| {
        let line = ["--team", "t", "--as", "bob", "guard", "check", "--hook"];
        let answer = here.sandbox.feed(line, input.to_string().as_bytes());
        assert_eq!(answer.stdout, "");
        if answer.status == Some(2) {
            assert!(
                answer.stderr.contains("ada holds src/a 10-20"),
                "{answer:#?}"
            );
            assert!(answer.stderr.contains("ask ada"), "{answer:#?}");
        }
        answer.status
    };
    let claude = |old: &str| json!({ "hook_event_name": "PreToolUse", "cwd": root, "tool_name": "Edit", "tool_input": { "file_path": absolute, "old_string": old, "new_string": "x" } });
    assert_eq!(hook(claude("line 15\n")), Some(2));
    assert_eq!(hook(claude("line 9\n")), Some(0));
    assert_eq!(hook(claude("line 20\nline 21\n")), Some(2));
    assert_eq!(hook(claude("not there")), Some(2));
    let several = json!({ "cwd": root, "tool_input": { "file_path": "src/a", "edits": [{ "old_string": "line 30" }, { "old_string": "line 12\n" }] } });
    assert_eq!(hook(several), Some(2));
    let written = json!({ "cwd": root, "tool_name": "Write", "tool_input": { "file_path": "src/a", "content": "x" } });
    assert_eq!(hook(written), Some(2));
    let read = json!({ "cwd": root, "tool_name": "Read", "tool_input": { "file_path": "src/a" } });
    assert_eq!(hook(read), Some(0));
    let args = json!({ "path": "a", "old_str": "line 11\n" }).to_string();
    assert_eq!(
        hook(json!({ "cwd": cwd, "toolName": "edit", "toolArgs": args })),
        Some(2)
    );
    let patch = |line: u32| {
        format!("*** Begin Patch\n*** Update File: src/a\n@@\n-line {line}\n+x\n*** End Patch\n")
    };
    let codex = |line| json!({ "cwd": root, "tool_name": "apply_patch", "tool_input": { "command": patch(line) } });
    assert_eq!(hook(codex(13)), Some(2));
    assert_eq!(hook(codex(33)), Some(0));
    assert_eq!(
        hook(json!({ "cwd": root, "tool_name": "Bash", "tool_input": { "command": "ls" } })),
        Some(0)
    );
    assert_eq!(
        hook(json!({ "cwd": root, "tool_input": { "file_path": "/etc/passwd" } })),
        Some(0)
    );
    assert_eq!(hook(json!([])), Some(1));
}

#[test]
fn looking_changes_nothing_and_a_project_without_a_team_holds_nothing() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    here.write("a", format!("above\n{}", here.read("a")));
    let before = here.sandbox.read("t", "claims.json");
    here.as_member("bob", ["guard", "check", "a", "--lines", "11"])
        .ended(1);
    assert_eq!(here.sandbox.read("t", "claims.json"), before);
    here.sandbox.call(["team", "rm", "t"]).succeeded();
    here.sandbox.call(["guard", "check", "a"]).succeeded();
    here.commits("everything").succeeded();
}

#[test]
fn every_team_of_the_project_is_asked() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.sandbox
        .call(["team", "init", "other", "--member", "bob"])
        .succeeded();
    here.sandbox
        .call(["--team", "other", "--as", "bob", "claim", "a", "5", "6"])
        .succeeded();
    here.replace("a", "line 5\n", "five\n");
    // Bob of team t is not bob of the other.
    here.commits_as("bob", "five").ended(1);
    here.sandbox
        .call(["--team", "t", "guard", "check", "a"])
        .succeeded();
}

#[test]
fn where_teams_share_a_project_a_member_is_named_with_its_team_and_a_claim_tells_of_theirs() {
    let here = Repository::new();
    here.numbered("a", 1..=40);
    here.commit("first");
    here.claim("ada", "a", 10, 20);
    here.call(["team", "init", "u", "--member", "ada"])
        .succeeded();
    let line = ["--team", "u", "--as", "ada", "claim", "a", "15", "16"];
    let claimed = here.call(line).succeeded();
    let words = "ada of team t holds a 10-20 for another";
    assert!(claimed.stderr.contains(words), "{claimed:#?}");
    let apart = [
        "--team", "u", "--as", "ada", "claim", "a", "30", "31", "--json",
    ];
    assert_eq!(here.call(apart).succeeded().json().get("other_teams"), None);
    let again = here.call(line.iter().chain(&["--json"])).succeeded().json();
    assert_eq!(again["other_teams"][0]["team"], "t");
    assert_eq!(
        again["other_teams"][0]["lines"],
        json!({"start": 10, "end": 20})
    );

    here.replace("a", "line 12\n", "twelve\n");
    let refused = here.commits("inside").ended(1);
    assert!(refused.stderr.contains(words), "{refused:#?}");
    assert!(refused.stderr.contains("ask ada of team t"), "{refused:#?}");
}
