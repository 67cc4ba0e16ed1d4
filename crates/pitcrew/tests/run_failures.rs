//! Teams in which something goes wrong: errors, crashes, time limits, limits of a provider, floods of output.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::fs;

use crew::{Crew, facts, report};
use pitcrew_core::Timestamp;
use serde_json::{Value, json};

const SH: &str = "[defaults]\nprofile = 'sh'\n";

fn at(fact: &Value, key: &str) -> i64 {
    Timestamp::parse(fact[key].as_str().unwrap())
        .unwrap()
        .as_millis()
}

fn outcomes(seen: &[Value]) -> Vec<&str> {
    let turns = facts(seen, "turn_ended").into_iter();
    turns
        .map(|turn| turn["outcome"].as_str().unwrap())
        .collect()
}

#[test]
fn a_failed_task_is_tried_again_and_what_waits_for_it_is_done() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'flaky'\nretries = 2\ndescription = 'x'\nscript = 'echo try >> log; echo not yet >&2; test $(wc -l < log) -ge 3 && echo at last'\n\
         [[tasks]]\nid = 'next'\nblocked_by = ['flaky']\ndescription = 'y'\nscript = 'echo fine'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(crew.read("log"), "try\ntry\ntry\n");
    assert_eq!(
        outcomes(&seen),
        ["failed", "failed", "succeeded", "succeeded"]
    );
    let ended = facts(&seen, "turn_ended");
    let started = facts(&seen, "turn_started");
    for (turn, least_ms) in [(1, 500), (2, 1_000)] {
        let pause = at(started[turn], "at") - at(ended[turn - 1], "at");
        assert!(pause >= least_ms, "pause {turn}: {pause} ms");
    }
    assert_eq!(ended[0]["why"], "exit status 1: not yet");
    // Nobody is told that others are blocked by what is going to be tried again.
    assert!(!crew.team("mailbox/leader.jsonl").exists());
}

#[test]
fn a_silent_success_has_an_empty_result_and_not_an_earlier_failure() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\nretries = 1\ndescription = 'x'\nscript = 'test -e tried || {{ touch tried; exit 1; }}'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(crew.task("t")["result"], "");
    assert_eq!(report(&seen)["tasks"][0]["result"], Value::Null);
}

#[test]
fn a_task_that_failed_for_good_blocks_others_and_the_run_says_so() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'bad'\nretries = 1\ndescription = 'x'\nscript = 'echo half a result; exit 7'\n\
         [[tasks]]\nid = 'next'\nblocked_by = ['bad']\ndescription = 'y'\nscript = 'echo never'\n\
         [[tasks]]\nid = 'other'\ndescription = 'z'\nscript = 'echo fine'\n"
    ));
    let ran = crew.run(&[]).ended(5);
    for part in [
        "blocked by bad, which failed",
        "failed: exit status 7",
        "1 of 3 tasks completed in",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    assert_eq!(
        crew.task("bad")["result"],
        "failed: exit status 7\n\nhalf a result\n"
    );
    let mail = fs::read_to_string(crew.team("mailbox/leader.jsonl")).unwrap();
    assert_eq!(mail.lines().count(), 1, "the leader is told once: {mail}");
    assert!(mail.contains("Task bad failed, so these tasks are blocked: next"));
}

#[test]
fn the_first_failure_ends_a_run_that_does_not_keep_going() {
    let crew = Crew::new(&format!(
        "keep_going = false\n{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
         [[tasks]]\nid = 'bad'\nfor = 'a'\ndescription = 'x'\nscript = 'while ! test -e up; do sleep 0.02; done; exit 1'\n\
         [[tasks]]\nid = 'long'\nfor = 'b'\ndescription = 'x'\nscript = 'touch up; exec sleep 300'\n\
         [[tasks]]\nid = 'later'\nfor = 'a'\ndescription = 'x'\nscript = 'touch later'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(5));
    assert_eq!(report(&seen)["outcome"], "first_failure");
    assert_eq!(crew.task("long")["status"], "pending");
    assert!(!crew.root().join("later").exists());
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

#[test]
fn a_crashed_member_is_started_again_with_growing_pauses_and_keeps_its_task() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'echo start >> log; test $(wc -l < log) -ge 3 || kill -9 $$; echo survived'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(outcomes(&seen), ["crashed", "crashed", "succeeded"]);
    let waits = facts(&seen, "member_waits");
    assert_eq!(waits.len(), 2);
    assert!(waits.iter().all(|wait| wait["reason"] == "restart"));
    let ended = facts(&seen, "turn_ended");
    let pause = |turn: usize| at(waits[turn], "until") - at(ended[turn], "at");
    assert!((450..1_100).contains(&pause(0)), "{}", pause(0));
    assert!((950..2_100).contains(&pause(1)), "{}", pause(1));
    let task = crew.task("t");
    assert_eq!(
        (&task["attempts"], &task["result"]),
        (&json!(1), &json!("survived\n")),
        "one claim"
    );
    let team: Value = serde_json::from_slice(&fs::read(crew.team("config.json")).unwrap()).unwrap();
    assert_eq!(
        team["workers"][0]["incarnation"], 3,
        "each life has its own token"
    );
}

#[test]
fn a_member_that_crashes_too_often_is_given_up_and_another_takes_its_task() {
    let crew = Crew::new(&format!(
        "{SH}restarts = 0\n[[members]]\nname = 'bad'\nenv = {{ MODE = 'crash' }}\n[[members]]\nname = 'good'\n\
         [[tasks]]\nid = 'hold'\nfor = 'good'\ndescription = 'x'\nscript = 'while ! test -e crashed; do sleep 0.02; done'\n\
         [[tasks]]\nid = 'mine'\nfor = 'bad'\nblocked_by = ['shared']\ndescription = 'x'\nscript = 'echo never'\n\
         [[tasks]]\nid = 'shared'\ndescription = 'x'\nscript = 'if test \"$MODE\" = crash; then touch crashed; kill -9 $$; fi; echo fine'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(5), "{seen:#?}");
    assert_eq!(crew.task("shared")["owner"], "good");
    let mine = &report(&seen)["tasks"][1];
    assert_eq!(
        (&mine["status"], &mine["why"]),
        (
            &json!("pending"),
            &json!("bad takes no more turns in this run")
        )
    );
    let stopped = facts(&seen, "member_stopped");
    assert_eq!(
        (&stopped[0]["member"], &stopped[0]["why"]),
        (&json!("bad"), &json!("gave_up"))
    );
    let mail = fs::read_to_string(crew.team("mailbox/leader.jsonl")).unwrap();
    assert!(
        mail.contains("bad crashed once more after 0 restarts"),
        "{mail}"
    );
}

#[test]
fn a_turn_that_takes_too_long_fails_its_task_and_nothing_of_it_runs_on() {
    let crew = Crew::new(&format!(
        "{SH}turn_limit = '1h'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'slow'\ntime_limit = '300ms'\ndescription = 'x'\nscript = 'sleep 300 & (setsid sleep 300 &) ; sleep 300'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(5));
    assert_eq!(outcomes(&seen), ["timed_out"]);
    assert_eq!(crew.task("slow")["status"], "failed");
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

#[test]
fn the_run_ends_at_its_own_time_limit() {
    let crew = Crew::new(&format!(
        "time_limit = '500ms'\n{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'sleep 300'\n"
    ));
    let ran = crew.run(&[]).ended(5);
    assert!(
        ran.stdout.contains("a did not finish t: it was stopped"),
        "{ran:#?}"
    );
    assert!(ran.stdout.contains("out of time after "), "{ran:#?}");
    assert_eq!(crew.task("t")["status"], "pending");
    assert_eq!(crew.processes(), [] as [u32; 0]);
}

#[test]
fn a_member_that_prints_without_end_is_kept_within_bounds() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'flood'\ndescription = 'x'\nscript = 'echo first; yes 0123456789abcdef | head -c 52428800; echo; echo last'\n\
         [[tasks]]\nid = 'next'\nblocked_by = ['flood']\ndescription = 'x'\nscript = 'cat'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{:#?}", report(&seen));
    let kept = fs::metadata(crew.team("workers/a/turn-0001/stdout"))
        .unwrap()
        .len();
    assert!((4 << 20..8 << 20).contains(&kept), "{kept} bytes");
    let task = crew.task("flood");
    let result = task["result"].as_str().unwrap();
    assert!(result.len() < 100_000, "{} bytes", result.len());
    assert!(result.ends_with("\nlast\n") && result.contains(" bytes are left out here; see "));
    let next = crew.task("next");
    assert!(
        next["result"]
            .as_str()
            .unwrap()
            .contains("task show flood --result")
    );
}

/// An agent for tests that reads what it does from a file called `say`: each line is a turn.
const SCRIPTED: &str = r#"version = 1
name = 'scripted'
program = 'sh'
[turn]
fresh = ['-c', 'cat >> prompts; n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count; eval "$(sed -n "$n"p say)"', 'agent', '{new_session}']
resume = ['-c', 'cat >> prompts; n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count; echo "resumed $1" >> resumed; eval "$(sed -n "$n"p say)"', 'agent', '{session}']
[answer]
required = true
at = [{ from = 'stdout_lines', where = { type = 'result' }, field = 'text' }]
[session]
at = [{ from = 'stdout_lines', where = { type = 'session' }, field = 'id' }]
lost = [{ from = 'stderr', text = 'no such session' }]
[refusals]
at = [{ from = 'stdout_lines', where = { type = 'denied' }, field = 'tool' }]
[limits]
at = [{ from = 'stdout_lines', where = { type = 'limit' }, field = 'text' }]
resets = [{ at = { from = 'stdout_lines', where = { type = 'limit' }, field = 'after_ms' }, reads = 'delay_ms' }]
"#;

const FINE: &str = r#"echo '{"type":"result","text":"fine"}'"#;

fn scripted(file: &str, say: &[&str]) -> Crew {
    let crew = Crew::new(file);
    crew.write(".pitcrew/profiles/scripted.toml", SCRIPTED);
    crew.write("say", &format!("{}\n", say.join("\n")));
    crew
}

#[test]
fn f9_a_limit_of_the_provider_is_waited_for_by_everybody_of_the_profile_and_is_no_failure() {
    let limit = r#"echo '{"type":"limit","text":"usage limit","after_ms":1500}'; exit 1"#;
    let crew = scripted(
        "[defaults]\nprofile = 'scripted'\n[[members]]\nname = 'a'\nmax_turns = 1\n[[members]]\nname = 'b'\n[[members]]\nname = 'c'\nprofile = 'sh'\n\
         [[tasks]]\nid = 'one'\nfor = 'a'\ndescription = 'x'\n\
         [[tasks]]\nid = 'go'\nfor = 'c'\ndescription = 'x'\nscript = 'until test -e count; do sleep 0.02; done; pitcrew send a \"while you wait\" > /dev/null'\n\
         [[tasks]]\nid = 'two'\nfor = 'b'\nblocked_by = ['go']\ndescription = 'y'\n",
        &[limit, FINE, FINE],
    );
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let ended = facts(&seen, "turn_ended");
    let limited = ended
        .iter()
        .find(|turn| turn["outcome"] == "limited")
        .unwrap();
    assert_eq!(
        (&limited["member"], &limited["why"]),
        (&json!("a"), &json!("usage limit"))
    );
    let again: Vec<i64> = facts(&seen, "turn_started")
        .into_iter()
        .filter(|turn| turn["member"] != "c")
        .skip(1)
        .map(|turn| at(turn, "at") - at(limited, "at"))
        .collect();
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|wait| *wait >= 1_400), "{again:?}");
    assert!(
        facts(&seen, "member_waits")
            .iter()
            .any(|wait| wait["member"] == "b" && wait["reason"] == "limit")
    );
    assert_eq!(crew.task("one")["attempts"], 1, "it kept its claim");
    // The mail that came meanwhile is in the turn after the limit, and the limit cost no turn.
    assert!(crew.read("prompts").contains("while you wait"));
    assert_eq!(report(&seen)["members"][0]["unread"], 0);
}

#[test]
fn refused_tools_fail_the_task_and_say_how_to_allow_them() {
    let denied =
        r#"echo '{"type":"denied","tool":"Bash"}'; echo '{"type":"result","text":"I may not"}'"#;
    let crew = scripted(
        "[[members]]\nname = 'a'\nprofile = 'scripted'\n[[tasks]]\nid = 't'\nretries = 3\ndescription = 'x'\n",
        &[denied],
    );
    let ran = crew.run(&[]).ended(5);
    assert!(ran.stderr.contains("was refused tools after "), "{ran:#?}");
    let result = crew.task("t")["result"].clone();
    let result = result.as_str().unwrap();
    assert!(
        result.contains("tools were refused: Bash; allow_tools = true"),
        "{result}"
    );
    assert!(result.ends_with("\n\nI may not"), "{result}");
    assert_eq!(
        crew.read("count"),
        "1\n",
        "trying again would change nothing"
    );
}

#[test]
fn a_lost_session_is_gone_on_with_in_a_fresh_one() {
    let session =
        r#"echo '{"type":"session","id":"s-1"}'; echo '{"type":"result","text":"first"}'"#;
    let lost = "echo 'no such session' >&2; exit 1";
    let crew = scripted(
        "[[members]]\nname = 'a'\nprofile = 'scripted'\n[[tasks]]\nid = '1'\ndescription = 'x'\n\
         [[tasks]]\nid = '2'\nblocked_by = ['1']\ndescription = 'y'\n",
        &[session, lost, FINE],
    );
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(outcomes(&seen), ["succeeded", "session_lost", "succeeded"]);
    assert_eq!(crew.read("resumed"), "resumed s-1\n");
    assert_eq!(crew.task("2")["attempts"], 1);
}

#[test]
fn mail_that_a_crashed_turn_was_shown_is_shown_again() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\non_mail = 'cat >> shown; echo turn >> log; test $(wc -l < log) -ge 2 || kill -9 $$'\n\
         [[tasks]]\nfor = 'a'\ndescription = 'x'\nscript = 'pitcrew send b precious > /dev/null'\n"
    ));
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(crew.read("shown").matches("\nprecious\n").count(), 2);
    assert_eq!(report(&seen)["members"][1]["unread"], 0);
}

#[test]
fn a10_mail_that_no_turn_can_cope_with_becomes_a_dead_letter_and_its_sender_is_told() {
    let crew = Crew::new(&format!(
        "{SH}restarts = 20\n[[members]]\nname = 'a'\n[[members]]\nname = 'b'\non_mail = 'echo turn >> log; exit 1'\n\
         [[tasks]]\nfor = 'a'\ndescription = 'x'\nscript = 'pitcrew send b poison > /dev/null'\n"
    ));
    let (status, _, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0));
    assert_eq!(crew.read("log").lines().count(), 5);
    let mail = fs::read_to_string(crew.team("mailbox/a.jsonl")).unwrap();
    assert!(
        mail.contains("was delivered 5 times and never acknowledged"),
        "{mail}"
    );
}

#[test]
fn a_limit_that_should_be_over_is_not_met_every_second_and_its_member_is_not_given_up() {
    let limit = r#"echo '{"type":"limit","text":"usage limit","after_ms":0}'; exit 1"#;
    let crew = scripted(
        "time_limit = '6s'\n[[members]]\nname = 'a'\nprofile = 'scripted'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\n[[tasks]]\nid = 'u'\ndescription = 'y'\n",
        &[limit; 9],
    );
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(5), "{seen:#?}");
    assert_eq!(crew.read("count"), "2\n", "{seen:#?}");
    assert_eq!(facts(&seen, "member_waits").len(), 2, "{seen:#?}");
    assert_eq!(facts(&seen, "ending").len(), 1, "{seen:#?}");
    for task in report(&seen)["tasks"].as_array().unwrap() {
        assert_eq!(task["why"], "the run ended before", "{seen:#?}");
    }
}

#[test]
fn a_bad_file_of_one_member_costs_that_member_and_nobody_else() {
    let team = "$PITCREW_ROOT/.omp/state/team/team";
    // `None`: what the turn left may be read before or after its folder is gone.
    for (bad, costs_the_task, ends) in [
        (
            "ln -s /dev/null W/workers/bad/heartbeat.json",
            Some(false),
            0,
        ),
        ("mkfifo W/workers/bad/outbox.jsonl", Some(false), 0),
        (
            "rm -f W/mailbox/bad.jsonl; mkfifo W/mailbox/bad.jsonl",
            Some(false),
            0,
        ),
        (
            "rm W/workers/bad/turn-0001/stdout; mkfifo W/workers/bad/turn-0001/stdout",
            Some(true),
            5,
        ),
        (
            // Whatever comes after it has nowhere to begin.
            "mv W/workers/bad W/workers/away; ln -s away W/workers/bad",
            None,
            5,
        ),
    ] {
        let bad = bad.replace('W', team);
        let crew = Crew::new(&format!(
            "[defaults]\nprofile = 'sh'\nrestarts = 1\n[[members]]\nname = 'bad'\n[[members]]\nname = 'good'\n\
             [[tasks]]\nid = 'spoils'\nfor = 'bad'\ndescription = 'x'\nscript = '{bad}; touch spoiled'\n\
             [[tasks]]\nid = 'more'\nfor = 'bad'\nblocked_by = ['spoils']\ndescription = 'x'\nscript = 'true'\n\
             [[tasks]]\nid = 'waits'\nfor = 'good'\ndescription = 'x'\nscript = 'until test -e spoiled; do sleep 0.02; done; sleep 1'\n\
             [[tasks]]\nid = 'goes-on'\nfor = 'good'\nblocked_by = ['waits']\ndescription = 'x'\nscript = 'echo fine'\n"
        ));
        let (status, seen, _) = crew.start(&[]).end();
        let told = report(&seen);
        assert!(told["broke"].is_null(), "{bad}: {seen:#?}");
        assert_eq!(
            crew.task("goes-on")["status"],
            "completed",
            "{bad}: {seen:#?}"
        );
        let spoils = crew.task("spoils")["status"].clone();
        if let Some(costs) = costs_the_task {
            assert_eq!(spoils != "completed", costs, "{bad}: {spoils} {seen:#?}");
        }
        assert_eq!(status, Some(ends), "{bad}: {seen:#?}");
    }
}

#[test]
fn whatever_breaks_a_run_its_results_are_told() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 'first'\ndescription = 'x'\nscript = 'echo well'\n\
         [[tasks]]\nid = 'breaks'\nblocked_by = ['first']\ndescription = 'x'\n\
         script = 'cd \"$PITCREW_ROOT/.omp/state/team/team\"; ln -s away link; mv link run.json'\n"
    ));
    let ran = crew.run(&[]).ended(3);
    assert!(ran.stdout.contains("first   a       completed"), "{ran:#?}");
    assert!(ran.stderr.contains("the run broke: "), "{ran:#?}");
}
