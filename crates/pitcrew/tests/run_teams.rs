//! Teams that come to a good end: the example, dependencies, mail between members, what members do themselves, and what
//! a run shows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::fs;
use std::path::Path;

use crew::{Crew, Watched, facts, report};
use serde_json::{Value, json};

const SH: &str = "[defaults]\nprofile = 'sh'\n";

fn example() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(here.join("../../examples/audit.toml")).unwrap()
}

/// Runs the example on what `prepare` makes of a folder, and answers the report that it wrote.
fn audit(prepare: impl Fn(&Crew)) -> String {
    let crew = Crew::at("it's a project", &example());
    prepare(&crew);
    let ran = crew.run(&[]).ended(0);
    assert!(
        ran.stdout.contains("4 of 4 tasks completed in "),
        "{ran:#?}"
    );
    assert!(
        ran.stdout
            .contains("unread   you 5 (pitcrew inbox --team audit)"),
        "{ran:#?}"
    );
    let folder = crew.root().join(".omp/state/team/audit");
    let mail = fs::read_to_string(folder.join("mailbox/leader.jsonl")).unwrap();
    assert!(
        mail.contains("marks has read the mail of its teammates"),
        "{mail}"
    );
    fs::read_to_string(folder.join("workers/sizes/work/report.md")).unwrap()
}

const PAGES: [(&str, &str); 4] = [
    ("src/main.rs", "fn main() {} // TODO: more\n"),
    (
        "README.md",
        "# Hello\n[there](src/main.rs) [gone](missing.md) [out](https://example.org)\n```\n[code](no.md)\n```\n",
    ),
    (
        "docs/with blank.md",
        "[up](../README.md) [down](nowhere.md#part)\n",
    ),
    ("notes", "FIXME later\nXXX\n"),
];

#[track_caller]
fn check_report(report: &str) {
    for part in [
        "# Audit of it's a project\n",
        "## size-by-language\n",
        "1 lines in 1 files: rs",
        "## marks-in-code\n\n    3 marks\n",
        "## broken-links\n\n    2 broken links\n",
        "README.md -> missing.md",
        "docs/with blank.md -> nowhere.md",
    ] {
        assert!(report.contains(part), "{part}\n---\n{report}");
    }
}

#[test]
fn the_example_audits_a_folder_without_git() {
    let report = audit(|crew| {
        fs::remove_dir(crew.root().join(".git")).unwrap();
        for (name, text) in PAGES {
            crew.write(name, text);
        }
    });
    // The team file itself lies in the folder and speaks of marks.
    let marks = report
        .lines()
        .find(|line| line.ends_with(" marks"))
        .unwrap();
    assert!(report.contains("2 broken links"), "{report}");
    assert_ne!(marks.trim(), "0 marks");
}

#[test]
fn the_example_audits_a_git_repository() {
    if git(Path::new("/"), &["--version"]).is_none() {
        return;
    }
    let report = audit(|crew| {
        fs::remove_dir(crew.root().join(".git")).unwrap();
        git(crew.root(), &["init", "-q"]).unwrap();
        for (name, text) in PAGES {
            crew.write(name, text);
        }
        git(crew.root(), &["add", "src", "README.md", "docs", "notes"]).unwrap();
        // Not part of the repository, so not part of the audit.
        crew.write("untracked.md", "TODO [x](y.md)\n");
    });
    check_report(&report);
}

#[expect(clippy::disallowed_methods, reason = "a test needs a repository")]
fn git(folder: &Path, line: &[&str]) -> Option<()> {
    let done = std::process::Command::new("git")
        .args(line)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .status()
        .ok()?;
    assert!(done.success(), "git {line:?}");
    Some(())
}

#[test]
fn tasks_run_in_the_order_of_what_they_wait_for_and_see_the_results() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
         [[tasks]]\nid = 'third'\ndescription = 'x'\nblocked_by = ['second']\nscript = 'cat; echo third >> order'\n\
         [[tasks]]\nid = 'second'\ndescription = 'y'\nblocked_by = ['first']\nscript = 'cat > prompt; echo second >> order; echo from second'\n\
         [[tasks]]\nid = 'first'\ndescription = 'z'\nscript = 'echo first >> order; echo from first'\n"
    ));
    crew.run(&[]).ended(0);
    assert_eq!(crew.read("order"), "first\nsecond\nthird\n");
    let prompt = crew.read("prompt");
    assert!(
        prompt.contains("Task second is claimed for you"),
        "{prompt}"
    );
    assert!(prompt.contains("task=\"first\" by=\""), "{prompt}");
    assert!(prompt.contains("\nfrom first\n</result-"), "{prompt}");
    let third = crew.task("third");
    assert!(
        third["result"]
            .as_str()
            .unwrap()
            .contains("\nfrom second\n"),
        "{third}"
    );
}

#[test]
fn mail_that_comes_during_a_turn_brings_a_next_turn_and_information_brings_none() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'asks'\n[[members]]\nname = 'answers'\non_mail = 'cat >> seen; pitcrew send asks --intent inform received > /dev/null'\n\
         [[tasks]]\nid = 'q'\nfor = 'asks'\ndescription = 'x'\nscript = 'pitcrew send answers \"the question\" >/dev/null; pitcrew broadcast --intent inform \"by the way\" > /dev/null; touch sent'\n\
         [[tasks]]\nid = 'w'\nfor = 'answers'\ndescription = 'y'\nscript = 'while ! test -e sent; do sleep 0.02; done'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0));
    let turns: Vec<&Value> = facts(&seen, "turn_started")
        .into_iter()
        .filter(|turn| turn["task"].is_null())
        .collect();
    assert_eq!(turns.len(), 1, "{seen:#?}");
    assert_eq!(
        (&turns[0]["member"], &turns[0]["mail"]),
        (&json!("answers"), &json!(2))
    );
    let shown = crew.read("seen");
    for part in [
        "the question",
        "by the way",
        "from=\"asks\" standing=\"peer\" verified=\"yes\"",
    ] {
        assert!(shown.contains(part), "{part}\n---\n{shown}");
    }
    let members = &report(&seen)["members"];
    assert_eq!(
        (&members[0]["unread"], &members[0]["unanswered"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        (&members[1]["unread"], &members[1]["unanswered"]),
        (&json!(0), &json!(0))
    );
}

#[test]
fn a_script_without_on_mail_keeps_its_mail_unread_and_the_table_says_so() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'asks'\n[[members]]\nname = 'mute'\n\
         [[tasks]]\nfor = 'asks'\ndescription = 'x'\nscript = 'pitcrew send mute hello > /dev/null'\n"
    ));
    let ran = crew.run(&[]).ended(0);
    assert!(ran.stdout.contains("unread   mute 1\n"), "{ran:#?}");
    assert!(
        ran.stdout
            .contains("mute has not answered 1 message: it has no on_mail script"),
        "{ran:#?}"
    );
}

#[test]
fn mail_that_a_member_took_itself_and_did_not_acknowledge_comes_back_at_its_turns_end() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\non_mail = 'cat >> shown'\n\
         [[tasks]]\nid = 'takes'\nfor = 'b'\ndescription = 'x'\nscript = 'pitcrew send leader up >/dev/null; pitcrew wait --message --timeout 30s > /dev/null && pitcrew inbox --next'\n\
         [[tasks]]\nid = 'sends'\nfor = 'a'\ndescription = 'x'\nscript = 'pitcrew wait --as leader --message --timeout 30s > /dev/null; pitcrew send b precious > /dev/null'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let takes = crew.task("takes");
    assert!(
        takes["result"].as_str().unwrap().contains("precious"),
        "{takes}"
    );
    assert!(crew.read("shown").contains("\nprecious\n"));
    assert_eq!(report(&seen)["members"][1]["unread"], 0);
}

#[test]
fn what_a_member_records_itself_stands() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'done'\ndescription = 'x'\nscript = 'pitcrew task done done \"by myself\" > /dev/null; echo other words; exit 3'\n\
         [[tasks]]\nid = 'failed'\ndescription = 'x'\nscript = 'pitcrew task fail failed \"I cannot\" > /dev/null; echo fine'\n\
         [[tasks]]\nid = 'more'\ndescription = 'x'\nscript = 'pitcrew task add --id extra \"left open\" > /dev/null; pitcrew task claim extra > /dev/null'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(5));
    let task = |id: &str| {
        let task = crew.task(id);
        (
            task["status"].clone(),
            task["result"].clone(),
            task["attempts"].clone(),
        )
    };
    assert_eq!(
        task("done"),
        (json!("completed"), json!("by myself"), json!(1))
    );
    assert_eq!(
        task("failed"),
        (json!("failed"), json!("I cannot"), json!(1))
    );
    assert_eq!(
        task("extra").0,
        json!("pending"),
        "nobody works on what a turn left open"
    );
    let extra = report(&seen)["tasks"].as_array().unwrap().last().unwrap();
    assert_eq!(extra["why"], "nobody in this run can do it");
}

#[test]
fn a11_a_member_in_a_sub_package_reaches_its_team_and_is_known_by_its_token() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'deep'\nfolder = 'packages/a'\nenv = {{ GREETING = 'hi' }}\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = '''\n\
         pitcrew send leader \"$GREETING from $(basename \"$PWD\")\" > /dev/null\n\
         omp team api send-message --input '{{\"team_name\":\"team\",\"from\":\"deep\",\"to\":\"leader\",\"body\":\"as a request\"}}' > /dev/null\n\
         pitcrew send --as leader leader forged > /dev/null 2>&1; echo $?\n\
         (unset PITCREW_TEAM PITCREW_AGENT; pitcrew task list --team team | grep -c in_progress)\n\
         test -d \"$PITCREW_WORK\" && echo \"$OMP_TEAM_WORKER\"\n'''\n"
    ));
    crew.write("packages/a/package.json", "{}");
    crew.run(&[]).ended(0);
    assert!(!crew.root().join("packages/a/.omp").exists());
    let mail = fs::read_to_string(crew.team("mailbox/leader.jsonl")).unwrap();
    let mail: Vec<Value> = mail
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let bodies: Vec<&str> = mail
        .iter()
        .map(|line| line["body"].as_str().unwrap())
        .collect();
    assert_eq!(bodies, ["hi from a", "as a request"]);
    assert!(
        mail.iter().all(|line| line["verified"] == true),
        "{mail:#?}"
    );
    assert_eq!(crew.task("t")["result"], "1\n1\n1\n");
}

#[test]
fn a_second_run_goes_on_and_a_fresh_one_begins_anew() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'once'\ndescription = 'x'\nscript = 'echo once >> log'\n\
         [[tasks]]\nid = 'flaky'\ndescription = 'x'\nscript = 'echo flaky >> log; test -e ready'\n"
    ));
    crew.run(&[]).ended(5);
    crew.write("ready", "");
    let ran = crew.run(&[]).ended(0);
    assert!(
        ran.stderr.contains("1 of them completed already"),
        "{ran:#?}"
    );
    assert!(
        ran.stderr
            .contains("task flaky is put back: it failed in an earlier run"),
        "{ran:#?}"
    );
    assert_eq!(crew.read("log"), "once\nflaky\nflaky\n");
    let ran = crew.run(&[]).ended(0);
    assert!(ran.stderr.contains("--fresh begins anew"), "{ran:#?}");
    assert_eq!(crew.read("log"), "once\nflaky\nflaky\n");
    crew.run(&["--fresh"]).ended(0);
    assert_eq!(crew.read("log"), "once\nflaky\nflaky\nonce\nflaky\n");
    assert!(!crew.team("workers/a/turn-0003").exists());
}

#[test]
fn a_file_that_grew_adds_its_members_and_tasks_to_the_team() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 'one'\ndescription = 'x'\nscript = 'echo one'\n"
    ));
    crew.run(&[]).ended(0);
    crew.write(
        "team.toml",
        &format!(
            "goal = 'more'\n{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
             [[tasks]]\nid = 'one'\ndescription = 'changed'\nscript = 'echo one'\n\
             [[tasks]]\nid = 'two'\nfor = 'b'\nblocked_by = ['one']\ndescription = 'y'\nscript = 'echo two'\n"
        ),
    );
    crew.run(&[]).ended(0);
    assert_eq!(crew.task("two")["owner"], "b");
    let team: Value = serde_json::from_slice(&fs::read(crew.team("config.json")).unwrap()).unwrap();
    assert_eq!(
        (&team["task"], &team["workerCount"]),
        (&json!("more"), &json!(2))
    );
}

#[test]
fn a_team_can_be_looked_at_during_its_run_and_afterwards() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'while ! test -e go; do sleep 0.02; done; echo fine'\n"
    ));
    let mut run = crew.start(&[]);
    run.event("turn_started", "a");
    let status = crew.call(["team", "status", "team"]).ended(0);
    assert!(status.stdout.contains("  t  in_progress  a"), "{status:#?}");
    let removed = crew.call(["team", "rm", "team"]).ended(1);
    assert!(removed.stdout.contains("team team is live"), "{removed:#?}");
    crew.write("go", "");
    let (status, seen, _) = run.end();
    assert_eq!(
        (status, &report(&seen)["outcome"]),
        (Some(0), &json!("completed"))
    );
    let status = crew.call(["team", "status", "team"]).ended(0);
    assert!(
        status.stdout.contains("  t  completed  a  fine"),
        "{status:#?}"
    );
    let show = crew.call(["task", "show", "t", "--result"]).ended(0);
    assert_eq!(show.stdout, "fine\n");
    let record: Value = serde_json::from_slice(&fs::read(crew.team("run.json")).unwrap()).unwrap();
    assert_eq!(record["outcome"], "completed");
}

#[test]
fn what_happens_is_told_in_lines_without_colours_where_no_terminal_is() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'printf \"\\033[31mred\\033[0m\\n\"; echo more'\n"
    ));
    for (options, variables) in [
        (&[][..], &[][..]),
        (&[][..], &[("NO_COLOR", "1"), ("TERM", "xterm")][..]),
    ] {
        let mut command = crew.command(["run", "team.toml", "--fresh"].iter().chain(options));
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        let (out, err) = (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        );
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(
            !out.contains('\u{1b}') && !err.contains('\u{1b}'),
            "{out}\n{err}"
        );
        assert!(
            err.contains(" a: begins t\n") && err.contains(" a: completed t: "),
            "{err}"
        );
        assert!(
            out.starts_with("task  member  status     time  result\nt     a       completed"),
            "{out}"
        );
    }
    let quiet = crew.run(&["--fresh", "--quiet"]).ended(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn every_line_of_json_is_a_fact_and_the_last_one_tells_what_came_of_it() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'echo fine'\n"
    ));
    let (status, seen, stderr) = crew.start(&[]).end();
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let names: Vec<&str> = seen
        .iter()
        .map(|fact| fact["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "run_started",
            "turn_started",
            "turn_ended",
            "task_settled",
            "run_ended"
        ]
    );
    assert!(
        seen.iter()
            .all(|fact| fact["at"].as_str().is_some_and(|at| at.ends_with('Z')))
    );
    let report = report(&seen);
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["tasks"][0]["result"], "fine");
    assert_eq!(report["members"][0]["turns"], 1);
}

#[test]
fn a_file_with_mistakes_is_refused_with_all_of_them_and_nothing_is_written() {
    let crew = Crew::new(
        "[[members]]\nname = 'a b'\nprofile = 'claudee'\n[[tasks]]\ndescription = 'x'\nfor = 'c'\n",
    );
    let ran = crew.run(&[]).ended(2);
    for part in [
        "team.toml:2:8: members.name: \"a b\"",
        "team.toml:3:11: members.profile: no profile is called `claudee` (did you mean `claude`?)",
        "team.toml:6:7: tasks.for: no member \"c\"",
    ] {
        assert!(ran.stderr.contains(part), "{part}\n{}", ran.stderr);
    }
    let ran = crew.call(["run", "nowhere.toml"]).ended(2);
    assert!(ran.stderr.starts_with("error: nowhere.toml: "), "{ran:#?}");
    assert!(!crew.root().join(".omp").exists());
}

#[test]
fn programs_that_are_not_there_are_all_named_before_anything_starts() {
    let crew = Crew::new(
        "[[members]]\nname = 'a'\nprofile = 'sh'\n[[members]]\nname = 'b'\nprofile = 'ghost'\n\
         [[members]]\nname = 'c'\nprofile = 'ghost'\n[[members]]\nname = 'd'\nprofile = 'sh'\nfolder = 'nowhere'\n\
         [[tasks]]\nfor = 'a'\ndescription = 'x'\nscript = 'touch started'\n",
    );
    crew.write(
        ".pitcrew/profiles/ghost.toml",
        "version = 1\nname = 'ghost'\nprogram = 'no-such-agent'\n[turn]\nfresh = ['-p']\n[answer]\nat = [{ from = 'stdout' }]\n",
    );
    let ran = crew.run(&[]).ended(1);
    for part in [
        "program \"no-such-agent\" not found in ",
        "(profile ghost, needed by b, c)",
        "not found (profile sh, needed by d)",
    ] {
        assert!(ran.stderr.contains(part), "{part}\n{}", ran.stderr);
    }
    assert!(!crew.root().join(".omp").exists() && !crew.root().join("started").exists());
    let mut run = Watched::of(crew.command(["run", "team.toml", "--json"]));
    let answer = run.until(|answer| answer["ok"] == false);
    assert_eq!(answer["code"], "cannot_start");
}

/// An agent for tests: it answers with what it was asked, and with its session.
const ECHO: &str = r#"version = 1
name = 'echo'
program = 'sh'
[turn]
fresh = ['-c', 'cat > "prompt-$1"; echo "session new"; echo "answer:I have read it"', 'echo', '{new_session}']
resume = ['-c', 'cat > prompt-resumed; echo "session $1"; echo "answer:Again"', 'echo', '{session}']
[answer]
at = [{ from = 'stdout', text = 'answer:' }]
[session]
at = [{ from = 'stdout', text = 'session ' }]
"#;

#[test]
fn an_agent_answers_whoever_asked_and_goes_on_with_its_session() {
    let crew = Crew::new(
        "goal = 'talk'\n[[members]]\nname = 'asks'\nprofile = 'sh'\non_mail = 'cat >/dev/null'\n\
         [[members]]\nname = 'agent'\nprofile = 'echo'\nprompt = 'You are terse'\n\
         [[tasks]]\nid = 'a'\nfor = 'agent'\ndescription = 'First of all'\n\
         [[tasks]]\nid = 'q'\nfor = 'asks'\nblocked_by = ['a']\ndescription = 'x'\nscript = 'pitcrew send agent \"what is it\" >/dev/null'\n",
    );
    crew.write(".pitcrew/profiles/echo.toml", ECHO);
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let session: Value =
        serde_json::from_slice(&fs::read(crew.team("workers/agent/session.json")).unwrap())
            .unwrap();
    assert_eq!(session["profile"], "echo");
    let resumed = crew.read("prompt-resumed");
    assert!(
        resumed.starts_with("## This turn\n") && resumed.contains("what is it"),
        "{resumed}"
    );
    let mail = fs::read_to_string(crew.team("mailbox/asks.jsonl")).unwrap();
    let answer: Value = serde_json::from_str(mail.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&answer["from"], &answer["body"]),
        (&json!("agent"), &json!("answer:Again"))
    );
    assert!(answer["reply_to"].is_string(), "{answer}");
    let fresh: Vec<String> = fs::read_dir(crew.root())
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("prompt-") && name != "prompt-resumed")
        .collect();
    let page = crew.read(&fresh[0]);
    for part in [
        "# agent of team team",
        "talk",
        "You are terse",
        "First of all",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn an_answer_that_a_mail_turn_brought_is_read_before_the_run_ends() {
    let crew = Crew::new(
        "[[members]]\nname = 'a'\nprofile = 'asking'\n[[members]]\nname = 'b'\nprofile = 'echo'\n\
         [[tasks]]\nfor = 'a'\ndescription = 'Ask b'\n",
    );
    let asking = ECHO.replace("'echo'", "'asking'").replace(
        "cat > \"prompt-$1\";",
        "cat > \"prompt-$1\"; pitcrew send b \"what is it\" > /dev/null;",
    );
    crew.write(".pitcrew/profiles/echo.toml", ECHO);
    crew.write(".pitcrew/profiles/asking.toml", &asking);
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let turns: Vec<&Value> = facts(&seen, "turn_started")
        .into_iter()
        .map(|turn| &turn["member"])
        .collect();
    assert_eq!(turns, ["a", "b", "a"], "{seen:#?}");
    assert!(crew.read("prompt-resumed").contains("I have read it"));
    let members = &report(&seen)["members"];
    // The answer to the answer is information, and brings no turn.
    assert_eq!(
        (&members[0]["unanswered"], &members[1]["unanswered"]),
        (&json!(0), &json!(0))
    );
}
