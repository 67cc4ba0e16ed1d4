//! Members that hide what they leave behind or write over what they printed, and what a run tells of itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::fs;

use crew::{Crew, facts, report};
use serde_json::Value;

const SH: &str = "[defaults]\nprofile = 'sh'\n";

/// A process that nothing ties to its turn; `seconds` tells it from those of other tests.
fn hide(seconds: &str) -> String {
    format!(
        "setsid env -i sleep {seconds} >/dev/null 2>&1 </dev/null & while grep -q PITCREW /proc/$!/environ; do :; done"
    )
}

fn runs(seconds: &str) -> bool {
    let wanted = format!("sleep\0{seconds}\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line == wanted.as_bytes())
}

fn notes(seen: &[Value]) -> Vec<&str> {
    let noted = facts(seen, "noted").into_iter();
    noted.map(|fact| fact["note"].as_str().unwrap()).collect()
}

fn events(crew: &Crew) -> Vec<Value> {
    let lines = fs::read_to_string(crew.team("events.jsonl")).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn what_hides_from_its_turn_in_every_way_is_ended_with_it_and_told() {
    let seconds = format!("6791.{}", std::process::id());
    let script = hide(&seconds);
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = '{script}'\n\
         [[tasks]]\nid = 'after'\nblocked_by = ['t']\ndescription = 'x'\nscript = 'until test -e go; do sleep 0.02; done'\n"
    ));
    let mut run = crew.start(&[]);
    run.until(|fact| fact["event"] == "turn_started" && fact["task"] == "after");
    assert!(!runs(&seconds), "it is gone before the next turn begins");
    crew.write("go", "");
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let told = notes(&seen);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0].starts_with("a turn of a had left a process behind in hiding, which was ended: "),
        "{told:#?}"
    );
}

#[test]
fn what_another_turn_may_have_started_is_left_alone_until_that_one_is_over() {
    let seconds = format!("6792.{}", std::process::id());
    let script = hide(&seconds);
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
         [[tasks]]\nid = 'long'\nfor = 'b'\ndescription = 'x'\nscript = 'touch up; until test -e go; do sleep 0.02; done'\n\
         [[tasks]]\nid = 'hides'\nfor = 'a'\ndescription = 'x'\nscript = 'until test -e up; do sleep 0.02; done; {script}'\n"
    ));
    let mut run = crew.start(&[]);
    run.until(|fact| fact["event"] == "task_settled" && fact["member"] == "a");
    while !runs(&seconds) {
        std::thread::yield_now();
    }
    crew.write("go", "");
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert!(!runs(&seconds));
    let told = notes(&seen);
    assert!(
        told[0].starts_with("a turn of a or b had left"),
        "{told:#?}"
    );
}

#[test]
fn a_member_that_removes_or_forges_what_it_printed_fails_and_the_truth_is_kept() {
    let out = "$PITCREW_ROOT/.omp/state/team/team/workers/a/turn-0001/stdout";
    for (does, what) in [
        (format!("rm {out}"), "was removed"),
        (format!("rm {out}; echo FORGED > {out}"), "was changed"),
        (format!("echo FORGED > {out}"), "was changed"),
        (format!("echo more >> {out}"), "was changed"),
        (
            "rm -rf $PITCREW_ROOT/.omp/state/team/team/workers/a".to_string(),
            "was removed",
        ),
    ] {
        let crew = Crew::new(&format!(
            "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'echo the truth; sleep 0.3; {does}'\n"
        ));
        let (status, seen, _) = crew.start(&[]).end();
        assert_eq!(status, Some(5), "{does}: {seen:#?}");
        let task = crew.task("t");
        assert_eq!(task["status"], "failed", "{does}");
        let result = task["result"].as_str().unwrap();
        let told = format!("its stdout {what} while it ran");
        assert!(result.contains(&told), "{does}: {result}");
        assert!(
            result.contains("the truth") && !result.contains("FORGED"),
            "{result}"
        );
        let kept = fs::read_to_string(crew.team("workers/a/turn-0001/stdout")).unwrap();
        assert_eq!(kept, "the truth\n", "{does}");
    }
}

#[test]
fn what_stands_in_the_place_of_a_later_turns_output_is_not_taken_for_it() {
    let next = "$PITCREW_ROOT/.omp/state/team/team/workers/a/turn-0002";
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = '1'\ndescription = 'x'\nscript = 'mkdir {next}; echo FORGED > {next}/stdout'\n\
         [[tasks]]\nid = '2'\nblocked_by = ['1']\ndescription = 'x'\nscript = 'echo the truth'\n"
    ));
    crew.run(&[]).ended(0);
    assert_eq!(crew.task("2")["result"], "the truth\n");
}

#[test]
fn a_removed_record_of_a_process_is_written_anew_and_told() {
    let record = "$PITCREW_ROOT/.omp/state/team/team/workers/a/process.json";
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'until grep -q process {record}; do :; done; rm {record}'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let told = notes(&seen);
    assert!(
        told[0].contains("process.json of a was removed"),
        "{told:#?}"
    );
    let record: Value =
        serde_json::from_slice(&fs::read(crew.team("workers/a/process.json")).unwrap()).unwrap();
    assert_eq!(record["outcome"], "succeeded", "{record}");
}

#[test]
fn a_quit_kills_every_member_at_once_and_says_so() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'trap : TERM; touch up; while :; do sleep 0.1; done'\n"
    ));
    let mut run = crew.start(&["--grace", "1h"]);
    run.event("turn_started", "a");
    while !crew.root().join("up").exists() {
        std::thread::yield_now();
    }
    run.signal("QUIT");
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(130), "{seen:#?}");
    assert_eq!(report(&seen)["unfinished"][0]["outcome"], "killed");
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

#[test]
fn a_restart_that_never_came_is_not_told_as_one() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'kill -9 $$'\n"
    ));
    let mut run = crew.start(&[]);
    run.until(|fact| fact["event"] == "member_waits" && fact["restart"] == 1);
    run.signal("INT");
    let (_, seen, _) = run.end();
    assert_eq!(report(&seen)["members"][0]["restarts"], 0, "{seen:#?}");
}

#[test]
fn a_run_writes_down_its_turns_and_who_joins_leaves_and_crashes() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'test -e up && exit 0; touch up; kill -9 $$'\n"
    ));
    crew.run(&[]).ended(0);
    let told = [
        "run_started",
        "run_ended",
        "turn_started",
        "turn_ended",
        "agent_joined",
        "agent_left",
        "agent_crashed",
    ];
    let seen = events(&crew);
    let seen: Vec<&Value> = seen
        .iter()
        .filter(|event| told.contains(&event["type"].as_str().unwrap()))
        .collect();
    let words: Vec<&str> = seen
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        words,
        [
            "run_started",
            "agent_joined",
            "turn_started",
            "turn_ended",
            "agent_crashed",
            "agent_joined",
            "turn_started",
            "turn_ended",
            "agent_left",
            "run_ended"
        ],
        "{seen:#?}"
    );
    assert_eq!(seen[3]["outcome"], "crashed");
    assert_eq!(seen[3]["task"], "t");
    assert_eq!(seen[9]["outcome"], "completed");
}

#[test]
fn events_that_cannot_be_written_stop_no_run_and_are_told() {
    let events = "$PITCREW_ROOT/.omp/state/team/team/events.jsonl";
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'until rm -f {events} && mkdir {events}; do :; done'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let told = notes(&seen);
    assert!(
        told.iter()
            .any(|note| note.contains("events could not be written down")),
        "{told:#?}"
    );
}
