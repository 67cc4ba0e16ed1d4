//! Runs that somebody ends, or that a second one meets: Ctrl-C once and twice, SIGTERM, a shutdown, two at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::fs;

use crew::{Crew, Watched, facts, report};
use serde_json::{Value, json};

const TWO: &str = "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'polite'\n[[members]]\nname = 'stubborn'\n\
    [[tasks]]\nid = 'p'\nfor = 'polite'\ndescription = 'x'\nscript = 'trap \"echo bye > said; exit 0\" TERM; touch p-up; while :; do sleep 0.02; done'\n\
    [[tasks]]\nid = 's'\nfor = 'stubborn'\ndescription = 'x'\nscript = 'trap \"\" TERM INT; touch s-up; while :; do sleep 0.02; done'\n\
    [[tasks]]\nid = 'later'\nfor = 'polite'\ndescription = 'x'\nscript = 'touch later'\n";

/// Runs the two members until both have set up what they do with signals.
fn two(options: &[&str]) -> (Crew, Watched) {
    let crew = Crew::new(
        &TWO.replace("touch p-up", "pitcrew task add --id p-up x > /dev/null")
            .replace("touch s-up", "pitcrew task add --id s-up x > /dev/null"),
    );
    let run = crew.start(options);
    // Both say so by adding a task, which can be waited for.
    for id in ["p-up", "s-up"] {
        while !crew.team(&format!("tasks/{id}.json")).exists() {
            let waited = crew.call(["wait", "--team", "team", "--any-task", "--timeout", "50ms"]);
            assert!(
                matches!(waited.status.code(), Some(0 | 1 | 2 | 4)),
                "{waited:#?}"
            );
        }
    }
    (crew, run)
}

#[track_caller]
fn check_end(crew: &Crew, run: Watched) -> Vec<Value> {
    check_ended(crew, run, "interrupted", 130)
}

#[track_caller]
fn check_ended(crew: &Crew, run: Watched, outcome: &str, code: i32) -> Vec<Value> {
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(code), "{seen:#?}");
    assert_eq!(report(&seen)["outcome"], outcome);
    for id in ["p", "s", "later"] {
        assert_eq!(crew.task(id)["status"], "pending", "{id}");
    }
    assert_eq!(crew.processes(), [] as [u32; 0]);
    let record: Value = serde_json::from_slice(&fs::read(crew.team("run.json")).unwrap()).unwrap();
    assert_eq!(record["outcome"], outcome);
    seen
}

#[test]
fn one_interrupt_asks_waits_and_kills_and_says_who_did_not_finish() {
    let (crew, run) = two(&["--grace", "500ms"]);
    run.signal("INT");
    let seen = check_end(&crew, run);
    assert_eq!(crew.read("said"), "bye\n");
    let unfinished = &report(&seen)["unfinished"];
    assert_eq!(
        unfinished,
        &json!([
            { "member": "polite", "task": "p", "outcome": "stopped" },
            { "member": "stubborn", "task": "s", "outcome": "killed" },
        ])
    );
    let ending = facts(&seen, "ending");
    assert_eq!(
        (&ending[0]["why"], &ending[0]["running"]),
        (&json!("interrupted"), &json!(["polite", "stubborn"]))
    );
    assert!(
        !crew.root().join("later").exists(),
        "nothing starts after the first interrupt"
    );
}

#[test]
fn a_second_interrupt_kills_at_once() {
    let (crew, mut run) = two(&["--grace", "10m"]);
    run.signal("INT");
    run.event("turn_ended", "polite");
    run.signal("INT");
    let seen = check_end(&crew, run);
    let whys: Vec<&Value> = facts(&seen, "ending")
        .iter()
        .map(|ending| &ending["why"])
        .collect();
    assert_eq!(whys, [&json!("interrupted"), &json!("interrupted_twice")]);
}

#[test]
fn sigterm_is_an_interrupt_too() {
    let (crew, run) = two(&["--grace", "200ms"]);
    run.signal("TERM");
    check_end(&crew, run);
}

#[test]
fn a_shutdown_of_the_team_ends_its_run() {
    let (crew, run) = two(&["--grace", "200ms"]);
    crew.call(["team", "shutdown", "team"]).ended(0);
    let seen = check_ended(&crew, run, "shut_down", 5);
    assert_eq!(facts(&seen, "ending")[0]["why"], "shut_down");
    assert!(report(&seen)["shut_down_at"].is_string());
    assert!(crew.team("shutdown.json").exists());
    // The next run takes the team up again.
    let mut again = crew.start(&["--grace", "200ms"]);
    again.event("turn_started", "polite");
    assert!(!crew.team("shutdown.json").exists());
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'done'\ndescription = 'x'\nscript = 'echo done >> log'\n\
         [[tasks]]\nid = 'waits'\nblocked_by = ['done']\ndescription = 'x'\nscript = 'echo start >> log; test -e go || exec sleep 300; echo end >> log'\n",
    );
    let mut run = crew.start(&[]);
    run.until(|fact| fact["event"] == "turn_started" && fact["task"] == "waits");
    run.signal("INT");
    assert_eq!(run.end().0, Some(130));
    crew.write("go", "");
    crew.run(&[]).ended(0);
    let log = crew.read("log");
    assert_eq!(log.matches("done\n").count(), 1, "{log}");
    assert!(log.ends_with("start\nend\n"), "{log}");
}

#[test]
fn two_runs_of_one_team_at_once_are_one_and_a_refusal_with_its_process() {
    let (crew, run) = two(&["--grace", "100ms"]);
    let pid = run.pid().to_string();
    for options in [&[][..], &["--fresh"][..]] {
        let second = crew.run(options).ended(1);
        let said = format!("team team is live: a run (process {pid}, since ");
        assert!(second.stderr.contains(&said), "{second:#?}");
    }
    assert_eq!(crew.task("p")["status"], "in_progress");
    run.signal("INT");
    check_end(&crew, run);
}

#[test]
fn of_many_runs_that_begin_at_once_one_has_the_team() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'echo start >> log; while ! test -e go; do sleep 0.02; done'\n",
    );
    let runs: Vec<Watched> = (0..6).map(|_| crew.start(&[])).collect();
    let mut winners = Vec::new();
    let mut refused = 0;
    for mut run in runs {
        let first =
            run.until(|fact| fact["event"] == "run_started" || fact["event"] == "run_refused");
        if first["event"] == "run_refused" {
            assert_eq!(first["code"], "team_live", "{first}");
            refused += 1;
        } else {
            winners.push(run);
        }
    }
    assert_eq!((winners.len(), refused), (1, 5));
    crew.write("go", "");
    assert_eq!(winners.remove(0).end().0, Some(0));
    assert_eq!(crew.read("log"), "start\n");
}

#[test]
fn a_record_of_a_run_that_is_gone_stops_nobody() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'echo fine'\n",
    );
    crew.run(&[]).ended(0);
    let path = crew.team("run.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    // The pid is this test's own, but the process that had it started at another time.
    record["process"]["pid"] = std::process::id().into();
    record["process"]["start_time"] = 1.into();
    for key in ["endedAt", "outcome"] {
        record.as_object_mut().unwrap().remove(key);
    }
    fs::write(&path, record.to_string()).unwrap();
    crew.run(&[]).ended(0);
    // Where nobody can look, a person decides.
    record["process"]["pid_namespace"] = 1.into();
    fs::write(&path, record.to_string()).unwrap();
    let refused = crew.run(&[]).ended(1);
    assert!(
        refused.stderr.contains("the run of team team"),
        "{refused:#?}"
    );
    assert!(refused.stderr.contains("--take-over"), "{refused:#?}");
    crew.run(&["--take-over"]).ended(0);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "real processes stand still for a real while: no clock can be passed to them"
)]
fn a_turn_that_ended_while_the_run_was_held_still_has_ended_by_itself() {
    let crew = Crew::new(
        "time_limit = '1500ms'\n[defaults]\nprofile = 'sh'\nturn_limit = '1s'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'touch up; until test -e go; do sleep 0.02; done; echo well'\n\
         [[tasks]]\nid = 'then'\nblocked_by = ['t']\ndescription = 'x'\nscript = 'echo too'\n",
    );
    let mut run = crew.start(&[]);
    run.event("turn_started", "a");
    run.signal("STOP");
    crew.write("go", "");
    // Both limits pass while nothing looks, so this is time that must pass.
    std::thread::sleep(std::time::Duration::from_secs(5));
    run.signal("CONT");
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(crew.task("t")["result"], "well\n");
    assert_eq!(crew.task("then")["status"], "completed");
}
