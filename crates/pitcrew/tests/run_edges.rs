//! A run at its edges: hidden processes, edits between runs, broken places, long names, and what is said about all that.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::fs;

use crew::{Crew, facts, report};
use serde_json::{Value, json};

const SH: &str = "[defaults]\nprofile = 'sh'\n";

#[test]
fn a_process_that_hides_and_holds_the_output_is_ended_with_its_turn() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\n\
         script = '(env -i /usr/bin/setsid /bin/sh -c \"echo \\$\\$ > hidden; exec /bin/sleep 300\" &); until test -s hidden; do sleep 0.02; done; echo done'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let hidden = crew.read("hidden");
    let hidden = hidden.trim();
    assert!(!hidden.is_empty());
    // Nobody may have collected it yet, which makes it a zombie.
    let stat = fs::read_to_string(format!("/proc/{hidden}/stat")).unwrap_or_default();
    let runs = stat.contains("(sleep)") && !stat.contains("(sleep) Z");
    assert!(!runs, "process {hidden} runs on: {stat}");
    let page: Value =
        serde_json::from_slice(&fs::read(crew.team("workers/a/turn-0001/turn.json")).unwrap())
            .unwrap();
    assert_eq!(page["process"]["streams"], "closed");
    assert_eq!(page["process"]["leftovers"]["killed"], 1);
    assert_eq!(report(&seen)["left_running"], Value::Null);
}

#[test]
fn dead_letters_stand_in_the_results_with_the_command_that_lists_them() {
    let crew = Crew::new(&format!(
        "{SH}restarts = 20\n[[members]]\nname = 'a'\n[[members]]\nname = 'b'\non_mail = 'exit 1'\n\
         [[tasks]]\nfor = 'a'\ndescription = 'x'\nscript = 'pitcrew send b poison > /dev/null'\n"
    ));
    let ran = crew.run(&[]).ended(0);
    let command = "pitcrew inbox --dead --as b --team team";
    assert!(
        ran.stdout
            .contains(&format!("b could not cope with 1 message: {command}")),
        "{ran:#?}"
    );
    let listed = crew.call(command.split(' ').skip(1)).ended(0);
    assert!(listed.stdout.contains("poison"), "{listed:#?}");
}

#[test]
fn a_token_proves_nothing_after_its_turn() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\n\
         script = 'echo $PITCREW_TOKEN > token; pitcrew send leader inside > /dev/null'\n"
    ));
    crew.run(&[]).ended(0);
    let mut late = crew.command(["send", "leader", "late", "--team", "team"]);
    let late = late
        .env("PITCREW_TOKEN", crew.read("token").trim())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert_eq!(late.status.code(), Some(1), "{said}");
    assert!(said.contains("token"), "{said}");
    let mail = fs::read_to_string(crew.team("mailbox/leader.jsonl")).unwrap();
    assert!(mail.contains("inside") && !mail.contains("late"), "{mail}");
}

#[test]
fn edits_of_a_pending_task_are_taken_and_of_a_completed_one_are_told() {
    let file = |changed: &str, next: &str| {
        format!(
            "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
             [[tasks]]\nid = 'one'\ndescription = '{changed}'\nfor = 'a'\nscript = 'true'\n\
             [[tasks]]\nid = 'bad'\ndescription = 'x'\nscript = 'exit 1'\n\
             [[tasks]]\nid = 'next'\ndescription = 'y'\n{next}script = 'echo done'\n"
        )
    };
    let crew = Crew::new(&file("x", "for = 'a'\nblocked_by = ['bad']\n"));
    crew.run(&[]).ended(5);
    assert_eq!(crew.task("next")["status"], "pending");
    crew.write("team.toml", &file("z", "for = 'b'\nblocked_by = ['one']\n"));
    let ran = crew.run(&[]).ended(5);
    for part in [
        "task next has the file's new for and blocked_by",
        "task one is completed, so what the file says by now about its description is not taken",
    ] {
        assert!(ran.stderr.contains(part), "{part}\n{ran:#?}");
    }
    let next = crew.task("next");
    assert_eq!(
        (&next["owner"], &next["status"]),
        (&json!("b"), &json!("completed"))
    );
    assert_eq!(crew.task("one")["description"], "x");
}

#[test]
fn a_bad_folder_of_one_member_before_the_run_costs_that_member_only() {
    let crew = Crew::new(&format!(
        "{SH}restarts = 0\n[[members]]\nname = 'bad'\n[[members]]\nname = 'good'\n\
         [[tasks]]\nid = 'mine'\nfor = 'bad'\ndescription = 'x'\nscript = 'true'\n\
         [[tasks]]\nid = 'fine'\nfor = 'good'\ndescription = 'x'\nscript = 'echo fine'\n"
    ));
    for spoil in ["link", "torn"] {
        crew.run(&["--fresh"]).ended(0);
        if spoil == "link" {
            fs::remove_dir_all(crew.team("workers/bad")).unwrap();
            std::os::unix::fs::symlink("/tmp", crew.team("workers/bad")).unwrap();
        } else {
            fs::write(crew.team("workers/bad/process.json"), "{\"turn\":").unwrap();
        }
        for id in ["mine", "fine"] {
            fs::remove_file(crew.team(&format!("tasks/{id}.json"))).unwrap();
        }
        let (status, seen, stderr) = crew.start(&[]).end();
        assert_eq!(status, Some(5), "{spoil}: {seen:#?} {stderr}");
        assert_eq!(crew.task("fine")["status"], "completed", "{spoil}");
        assert!(!facts(&seen, "noted").is_empty(), "{spoil}: {seen:#?}");
        if spoil == "link" {
            fs::remove_file(crew.team("workers/bad")).unwrap();
        }
    }
}

#[test]
fn a_project_whose_path_no_search_path_can_hold_is_refused_before_anything_is_written() {
    let crew = Crew::at(
        "pro:ject",
        &format!("{SH}[[members]]\nname = 'a'\n[[tasks]]\ndescription = 'x'\nscript = 'true'\n"),
    );
    let ran = crew.run(&[]).ended(1);
    assert!(
        ran.stderr.contains("has a `:` in it") && ran.stderr.contains("rename the folder"),
        "{ran:#?}"
    );
    assert!(!crew.root().join(".omp").exists());
}

#[test]
fn a_run_with_nothing_to_do_says_so() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\ndescription = 'x'\nscript = 'true'\n"
    ));
    crew.run(&[]).ended(0);
    let ran = crew.run(&[]).ended(0);
    assert!(
        ran.stdout
            .contains("nothing was left to do: 1 of 1 task completed before this run"),
        "{ran:#?}"
    );
}

#[test]
fn a_long_answer_is_one_short_line_where_it_is_told() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'head -c 49000 /dev/zero | tr \"\\\\0\" x'\n"
    ));
    let ran = crew.run(&[]).ended(0);
    let longest = ran.stderr.lines().map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 240, "{longest:?}");
    assert_eq!(crew.task("t")["result"].as_str().unwrap().len(), 49_000);
}

#[test]
fn restarts_are_counted_where_they_are_told() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'test -e up || {{ touch up; kill -9 $$; }}'\n"
    ));
    let ran = crew.run(&[]).ended(0);
    assert!(ran.stderr.contains("(restart 1)"), "{ran:#?}");
    assert!(
        ran.stdout
            .contains("a: crashed and was started again 1 time"),
        "{ran:#?}"
    );
}

#[test]
fn a_member_whose_turn_died_with_its_run_is_shown_as_dead() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'exec sleep 300'\n"
    ));
    let mut run = crew.start(&[]);
    run.event("turn_started", "a");
    let status = || crew.call(["team", "status", "team"]).ended(0);
    assert!(status().stdout.contains("dead=false"));
    run.kill();
    assert!(
        status().stdout.contains("dead=false"),
        "its process runs on"
    );
    for pid in crew.processes() {
        crew::signal(pid, "KILL");
    }
    while !crew.processes().is_empty() {
        std::thread::yield_now();
    }
    let ran = status();
    assert!(ran.stdout.contains("dead=true"), "{ran:#?}");
    assert!(ran.stderr.contains("the run was killed"), "{ran:#?}");
}

#[test]
fn a_member_that_removes_the_teams_folder_ends_the_run_with_a_word_and_nothing_runs_on() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
         [[tasks]]\nid = 'spoils'\nfor = 'a'\ndescription = 'x'\nscript = 'until test -e up; do sleep 0.02; done; rm -rf \"$PITCREW_ROOT/.omp/state/team/team\"'\n\
         [[tasks]]\nid = 'long'\nfor = 'b'\ndescription = 'x'\nscript = 'touch up; exec sleep 300'\n"
    ));
    let ran = crew.run(&[]);
    assert_eq!(ran.status.code(), Some(3), "{ran:#?}");
    let removed = "was removed while it ran";
    assert!(ran.stderr.contains(removed), "{ran:#?}");
    assert!(ran.stdout.contains("0 of 2 tasks completed"), "{ran:#?}");
    for dead_end in ["outputs ", "results ", "--team"] {
        assert!(!ran.stdout.contains(dead_end), "{dead_end}: {ran:#?}");
    }
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

#[test]
fn results_point_to_no_output_that_is_not_there() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n[[members]]\nname = 'idle'\n\
         [[tasks]]\nid = 'x'\nfor = 'a'\ndescription = 'x'\nscript = 'echo one'\n\
         [[tasks]]\nid = 'y'\nfor = 'b'\nblocked_by = ['x']\ndescription = 'x'\n\
         script = 'cd \"$PITCREW_ROOT/.omp/state/team/team\"; rm -r workers/a; echo two'\n\
         [[tasks]]\nid = 'z'\nfor = 'b'\nblocked_by = ['y']\ndescription = 'x'\n\
         script = 'rm -r \"$PITCREW_ROOT/.omp/state/team/team/workers/b/turn-0001\"'\n"
    ));
    let ran = crew.run(&[]).ended(0);
    let outputs = "outputs  .omp/state/team/team/workers/<member>/turn-*\n\
                   a: nothing that it printed is there any more\n";
    assert!(ran.stdout.contains(outputs), "{ran:#?}");
    assert!(!ran.stdout.contains("idle: nothing"), "{ran:#?}");
}
