//! Runs that are killed with SIGKILL at any point, and go on when they are started again.
//!
//! Each task appends a line to a file when it starts and when it is done. What the team's files called completed at
//! some point must never start again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "how often to repeat is a matter of the machine that runs the tests"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::collections::BTreeMap;
use std::time::Duration;

use crew::{Crew, facts};
use serde_json::json;

/// Six tasks with dependencies, mail between the members, and children that would outlive their parent.
fn file() -> String {
    let mut file = String::from(
        "[defaults]\nprofile = 'sh'\nretries = 1\n[[members]]\nname = 'a'\non_mail = 'cat >> mail-a; sleep 0.02'\n[[members]]\nname = 'b'\n[[members]]\nname = 'c'\n",
    );
    for (id, on) in [
        ("t1", ""),
        ("t2", ""),
        ("t3", "'t1'"),
        ("t4", "'t1', 't2'"),
        ("t5", "'t3'"),
        ("t6", "'t4', 't5'"),
    ] {
        file.push_str(&format!(
            "[[tasks]]\nid = '{id}'\nblocked_by = [{on}]\ndescription = 'x'\nscript = '''\n\
             echo \"start {id}\" >> log\n(setsid sleep 300 &)\nsleep 300 &\n\
             pitcrew send a \"about {id}\" > /dev/null\nsleep 0.03\necho \"end {id}\" >> log\necho {id}\n'''\n"
        ));
    }
    file
}

fn starts(crew: &Crew) -> BTreeMap<String, usize> {
    let mut starts = BTreeMap::new();
    for line in crew.read("log").lines() {
        if let Some(id) = line.strip_prefix("start ") {
            *starts.entry(id.to_string()).or_default() += 1;
        }
    }
    starts
}

/// What stands as completed, with how often it had been started by then.
fn completed(crew: &Crew) -> BTreeMap<String, usize> {
    let starts = starts(crew);
    let done = crew
        .statuses()
        .into_iter()
        .filter(|(_, status)| status == "completed");
    done.map(|(id, _)| {
        let count = starts.get(&id).copied().unwrap_or(0);
        (id, count)
    })
    .collect()
}

fn rounds() -> u64 {
    let asked = std::env::var("PITCREW_KILL_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(20)
}

/// A number that differs from round to round and is the same in each repetition of the test.
fn scatter(round: u64, below: u64) -> u64 {
    let mut mixed = round.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) % below.max(1)
}

#[test]
fn a_run_killed_at_any_point_goes_on_and_repeats_nothing_that_was_done() {
    let crew = Crew::new(&file());
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    let mut kills = 0;
    for round in 0..rounds() {
        // A fresh team each time that the last one came to its end.
        let options: &[&str] = if done.len() == 6 { &["--fresh"] } else { &[] };
        if !options.is_empty() {
            done.clear();
            std::fs::remove_file(crew.root().join("log")).unwrap();
        }
        let mut run = crew.start(options);
        let facts = usize::try_from(scatter(round, 9)).unwrap();
        run.for_a_while(facts, Duration::from_millis(scatter(round + 1_000, 120)));
        run.kill();
        kills += 1;
        for (id, count) in &done {
            assert_eq!(
                starts(&crew).get(id),
                Some(count),
                "round {round}: {id} was done and ran again"
            );
        }
        done = completed(&crew);
    }
    let (status, seen, stderr) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "after {kills} kills: {stderr}\n{seen:#?}");
    for (id, count) in &done {
        assert_eq!(
            starts(&crew).get(id),
            Some(count),
            "{id} was done and ran again"
        );
    }
    assert_eq!(completed(&crew).len(), 6);
    assert_eq!(crew.processes(), [] as [u32; 0], "nobody is left");
    // A message whose turn was killed as often as it may be delivered is a dead letter, which is listed and told.
    let dead = crew.call(["inbox", "--dead", "--team", "team", "--as", "a"]);
    for id in ["t1", "t2", "t3", "t4", "t5", "t6"] {
        let mail = crew.read("mail-a");
        assert!(
            mail.contains(&format!("\nabout {id}\n"))
                || dead.stdout.contains(&format!("about {id}")),
            "the mail about {id} was shown"
        );
    }
    let unread = &crew::report(&seen)["members"][0]["unread"];
    assert_eq!(unread, &json!(0));
}

#[test]
fn what_a_killed_run_left_is_ended_and_told() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'echo start >> log; test -e go && exit 0; (setsid sleep 300 &); pitcrew task add --id mine x > /dev/null; pitcrew task claim mine > /dev/null; pitcrew send leader up > /dev/null; exec sleep 300'\n",
    );
    let mut run = crew.start(&[]);
    run.event("turn_started", "a");
    while !crew.team("mailbox/leader.jsonl").exists() {
        crew.call(["wait", "--team", "team", "--message", "--timeout", "1s"]);
    }
    run.kill();
    assert!(crew.processes().len() >= 2, "the members run on");
    crew.write("go", "");
    let (status, seen, _) = crew.start(&[]).end();
    let reclaimed = facts(&seen, "reclaimed");
    assert_eq!(reclaimed.len(), 1, "{seen:#?}");
    assert!(reclaimed[0]["ended"].as_u64().unwrap() >= 2);
    assert_eq!(reclaimed[0]["tasks"], json!(["mine", "t"]));
    assert_eq!(status, Some(5), "nobody can do what has no script");
    assert_eq!(crew.task("t")["status"], "completed");
    assert_eq!(crew.task("mine")["status"], "pending");
    assert_eq!(crew.read("log"), "start\nstart\n");
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

#[test]
fn b6_a_claim_from_outside_a_turn_is_not_taken_back() {
    let crew = Crew::new(
        "time_limit = '300ms'\n[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
         [[tasks]]\nid = 'one'\nfor = 'a'\ndescription = 'x'\nscript = 'echo one'\n\
         [[tasks]]\nid = 'two'\nfor = 'b'\nblocked_by = ['gate']\ndescription = 'x'\nscript = 'echo two'\n\
         [[tasks]]\nid = 'gate'\nfor = 'a'\nblocked_by = ['one']\ndescription = 'x'\nscript = 'exec sleep 300'\n",
    );
    crew.run(&[]).ended(5);
    // Somebody at a keyboard speaks as a member between two runs.
    crew.call(["task", "claim", "gate", "--as", "a"]).ended(0);
    let token = crew.task("gate")["claimToken"].clone();
    let ran = crew.run(&[]).ended(5);
    assert!(
        ran.stdout.contains("a has it, outside of this run"),
        "{ran:#?}"
    );
    assert_eq!(crew.task("gate")["claimToken"], token);
    assert_eq!(crew.task("gate")["status"], "in_progress");
    let refused = crew.run(&["--fresh"]).ended(1);
    assert!(
        refused.stderr.contains("team team is live: task gate of a"),
        "{refused:#?}"
    );
    crew.call(["team", "shutdown", "team"]).ended(0);
    let (_, seen, _) = crew.start(&["--fresh"]).end();
    assert_eq!(facts(&seen, "run_started")[0]["founding"], "anew");
}

#[test]
fn a_fresh_run_ends_what_a_killed_one_left_before_it_removes_the_team() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'test -e go && exit 0; exec sleep 300'\n",
    );
    let mut run = crew.start(&[]);
    run.event("turn_started", "a");
    run.kill();
    crew.write("go", "");
    let (status, seen, _) = crew.start(&["--fresh"]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(facts(&seen, "run_started")[0]["founding"], "anew");
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

#[test]
fn an_interrupt_while_an_earlier_run_is_cleared_away_is_followed_after_that() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = '''\ntrap \"\" TERM INT\ntouch up\nwhile :; do sleep 0.1; done'''\n",
    );
    let mut first = crew.start(&[]);
    first.event("turn_started", "a");
    while !crew.root().join("up").exists() {
        std::thread::yield_now();
    }
    first.kill();
    let mut second = crew.start(&[]);
    second.until(|fact| fact["note"] == "ending what an earlier run left");
    second.signal("INT");
    let (status, seen, _) = second.end();
    assert_eq!(status, Some(130), "{seen:#?}");
    assert!(
        seen.iter().all(|fact| fact["event"] != "turn_started"),
        "{seen:#?}"
    );
    assert_eq!(crew.processes(), [] as [u32; 0]);
    assert_eq!(crew.task("t")["status"], "pending");
}
