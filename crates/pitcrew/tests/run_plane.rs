//! A run and what its members share: claims that end with their holders, findings, money, rates, pauses.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "crew/crew.rs"]
mod crew;

use crew::{Crew, facts, report};
use pitcrew_core::Timestamp;
use serde_json::{Value, json};

const SH: &str = "[defaults]\nprofile = 'sh'\n";

/// An agent for tests that reads what it does from a file called `say`: each line is a turn.
const SCRIPTED: &str = r#"version = 1
name = 'NAME'
program = 'sh'
[turn]
fresh = ['-c', 'cat >> prompts; n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count; eval "$(sed -n "$n"p say)"', 'agent']
[answer]
required = true
at = [{ from = 'stdout_lines', where = { type = 'result' }, field = 'text' }]
[usage]
at = { from = 'stdout_lines', where = { type = 'used' } }
input = ['in']
output = ['out']
cost_usd = 'usd'
[limits]
at = [{ from = 'stdout_lines', where = { type = 'limit' }, field = 'text' }]
resets = [{ at = { from = 'stdout_lines', where = { type = 'limit' }, field = 'after_ms' }, reads = 'delay_ms' }]
"#;

const FINE: &str = r#"echo '{"type":"used","in":900,"out":100,"usd":0.02}'; echo '{"type":"result","text":"fine"}'"#;

/// Members with the profiles `one` and `two`, which are the same but for their names.
fn scripted(file: &str, say: &[&str]) -> Crew {
    let crew = Crew::new(file);
    for name in ["one", "two"] {
        let path = format!(".pitcrew/profiles/{name}.toml");
        crew.write(&path, &SCRIPTED.replace("NAME", name));
    }
    crew.write("say", &format!("{}\n", say.join("\n")));
    crew
}

fn held(crew: &Crew) -> Vec<Value> {
    let ran = crew.call(["claims", "--team", "team", "--json"]).ended(0);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    answer["claims"].as_array().unwrap().clone()
}

fn limits(crew: &Crew) -> Value {
    let line = ["limits", "status", "--team", "team", "--json"];
    let ran = crew.call(line).ended(0);
    serde_json::from_str::<Value>(&ran.stdout).unwrap()["status"].clone()
}

fn at(fact: &Value, key: &str) -> i64 {
    let text = fact[key].as_str().unwrap();
    Timestamp::parse(text).unwrap().as_millis()
}

#[test]
fn e4_what_a_crashed_member_held_is_free_before_its_crash_is_told() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[tasks]]\nid = 't'\ndescription = 'x'\n\
         script = 'test -e up && exec sleep 300; touch up; pitcrew claim src/a.rs 1 9 > /dev/null; kill -9 $$'\n"
    ));
    let mut run = crew.start(&[]);
    run.until(|fact| fact["event"] == "turn_ended" && fact["outcome"] == "crashed");
    assert_eq!(held(&crew), [] as [Value; 0]);
}

#[test]
fn e4_what_members_held_is_free_when_their_time_is_up_and_when_the_run_ends() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'late'\n[[members]]\nname = 'done'\n\
         [[tasks]]\nid = 'slow'\nfor = 'late'\ntime_limit = '1s'\ndescription = 'x'\nscript = 'pitcrew claim src/a.rs 1 9 > /dev/null; exec sleep 300'\n\
         [[tasks]]\nid = 'quick'\nfor = 'done'\ndescription = 'x'\nscript = 'pitcrew claim src/b.rs 1 9 > /dev/null'\n\
         [[tasks]]\nid = 'after'\nfor = 'done'\nblocked_by = ['quick']\ndescription = 'x'\nscript = 'until test -e seen; do sleep 0.02; done'\n"
    ));
    let mut run = crew.start(&[]);
    run.until(|fact| fact["event"] == "turn_ended" && fact["outcome"] == "timed_out");
    let files: Vec<Value> = held(&crew)
        .iter()
        .map(|held| held["member"].clone())
        .collect();
    assert_eq!(
        files,
        ["done"],
        "it goes on in its next turn, with its lines"
    );
    crew.write("seen", "");
    assert_eq!(run.end().0, Some(5));
    assert_eq!(held(&crew), [] as [Value; 0]);
}

#[test]
fn e4_what_a_killed_run_held_is_free_when_the_next_one_begins() {
    let crew = Crew::new(&format!(
        "{SH}[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n\
         [[tasks]]\nid = 't'\nfor = 'a'\ndescription = 'x'\nscript = 'test -e go && exit 0; pitcrew claim src/a.rs 1 9 > /dev/null; pitcrew limits acquire --tokens 10 > /dev/null; touch held; exec sleep 300'\n"
    ));
    let mut run = crew.start(&[]);
    run.event("turn_started", "a");
    while crew.read("held").is_empty() && !crew.root().join("held").exists() {
        std::thread::yield_now();
    }
    run.kill();
    assert_eq!(held(&crew).len(), 1);
    assert_eq!(limits(&crew)["reserved"]["requests"], 1);
    crew.write("go", "");
    let mut run = crew.start(&[]);
    run.event("reclaimed", "a");
    assert_eq!(held(&crew), [] as [Value; 0]);
    assert_eq!(limits(&crew)["reserved"]["requests"], 0);
    assert_eq!(run.end().0, Some(0));
}

#[test]
fn what_others_found_is_in_the_next_prompt_once_and_first_what_names_the_task() {
    let crew = scripted(
        "[[members]]\nname = 'a'\nprofile = 'one'\n[[members]]\nname = 'b'\nprofile = 'sh'\n\
         [[tasks]]\nid = 'finds'\nfor = 'b'\ndescription = 'x'\nscript = 'pitcrew discover style \"tabs everywhere\" > /dev/null; pitcrew discover plan \"about task build: use make\" --path src/a.rs > /dev/null'\n\
         [[tasks]]\nid = 'build'\nfor = 'a'\nblocked_by = ['finds']\ndescription = 'x'\n\
         [[tasks]]\nid = 'more'\nfor = 'a'\nblocked_by = ['build']\ndescription = 'y'\n",
        &[FINE, FINE],
    );
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let prompts = crew.read("prompts");
    for found in ["tabs everywhere", "about task build: use make"] {
        assert_eq!(prompts.matches(found).count(), 1, "{found}\n{prompts}");
    }
    let place = |text: &str| prompts.find(text).unwrap();
    assert!(place("use make") < place("tabs everywhere"), "{prompts}");
    assert!(place("tabs everywhere") < place("Task more is claimed"));
    assert!(prompts.contains("by=\"b\" topic=\"plan\"") && prompts.contains("paths=\"src/a.rs\""));
}

#[test]
fn a_spent_budget_stops_members_with_its_reason_and_the_results_say_so() {
    let crew = scripted(
        "[limits]\nbudget = 0.03\n[[members]]\nname = 'a'\nprofile = 'one'\n\
         [[tasks]]\nid = '1'\ndescription = 'x'\n[[tasks]]\nid = '2'\nblocked_by = ['1']\ndescription = 'y'\n",
        &[FINE, FINE, FINE],
    );
    let ran = crew.run(&[]).ended(5);
    for part in [
        "a: has too little left to spend: the team's budget of $0.03 does not allow it: $0.02 spent, $0.02 asked for",
        "spent    $0.02 and 1000 tokens in all, $0.01 left",
        "1 of 2 tasks completed in",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{ran:#?}");
    }
    assert_eq!(crew.read("count"), "1\n");
    assert_eq!(crew.task("2")["status"], "pending");
    let status = limits(&crew);
    assert_eq!(status["members"]["a"]["used"]["cost"], 20_000);
    let kept = &status["tasks"]["rows"]["1"];
    assert_eq!(
        (&kept["tokens"], &kept["cost"]),
        (&json!(1_000), &json!(20_000))
    );
    let ran = crew.call(["team", "status", "team"]).ended(0);
    assert!(
        ran.stdout
            .contains("limits: $0.02 spent, $0.00 reserved, $0.01 left"),
        "{ran:#?}"
    );
    // With more to spend, the same command goes on.
    crew.write("team.toml", &crew.read("team.toml").replace("0.03", "1"));
    crew.run(&[]).ended(0);
}

#[test]
fn a_model_without_a_word_of_cost_is_priced_and_booked_under_its_name() {
    let silent =
        r#"echo '{"type":"used","in":1000000,"out":0}'; echo '{"type":"result","text":"fine"}'"#;
    let crew = scripted(
        "[[members]]\nname = 'a'\nprofile = 'one'\nmodel = 'gpt-4o'\n[[tasks]]\nid = '1'\ndescription = 'x'\n",
        &[silent],
    );
    crew.run(&[]).ended(0);
    let model = limits(&crew)["models"]["rows"]["gpt-4o"].clone();
    assert_eq!(model["tokens"], 1_000_000);
    assert!(model["cost"].as_u64().unwrap() > 0, "{model}");
}

#[test]
fn a_rate_lets_members_wait_with_their_task_until_it_allows_them() {
    let crew = scripted(
        "[limits]\nrpm = 1\n[[members]]\nname = 'a'\nprofile = 'one'\nmax_turns = 2\n\
         [[tasks]]\nid = '1'\ndescription = 'x'\n[[tasks]]\nid = '2'\nblocked_by = ['1']\ndescription = 'y'\n",
        &[FINE, FINE],
    );
    let mut run = crew.start(&[]);
    let waits = run.event("member_waits", "a");
    assert_eq!(waits["reason"], "rate_limit");
    let left = at(&waits, "until") - at(&waits, "at");
    assert!((50_000..=60_000).contains(&left), "{left} ms");
    assert_eq!(crew.task("2")["status"], "in_progress");
    // The limit is lifted, and nobody waits for it any longer.
    let lift = ["limits", "set", "--team", "team", "--rpm", "none"];
    crew.call(lift).ended(0);
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(facts(&seen, "turn_ended").len(), 2, "{seen:#?}");
    assert!(crew.team("workers/a/turn-0002/stdout").exists());
    assert!(!crew.team("workers/a/turn-0003").exists());
}

#[test]
fn a_turn_that_can_never_fit_stops_its_member() {
    let crew = scripted(
        "[limits]\ntpm = 10\n[[members]]\nname = 'a'\nprofile = 'one'\n[[tasks]]\nid = '1'\ndescription = 'x'\n",
        &[FINE],
    );
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(5), "{seen:#?}");
    let stopped = &facts(&seen, "member_stopped")[0];
    assert_eq!(stopped["why"], "denied");
    assert!(
        stopped["detail"]
            .as_str()
            .unwrap()
            .contains("can never fit")
    );
    let task = &report(&seen)["tasks"][0];
    assert_eq!(task["status"], "pending", "{seen:#?}");
    assert_eq!(crew.read("count"), "");
}

#[test]
fn a_finding_is_noted_as_shown_only_when_the_turn_was_started() {
    let crew = scripted(
        "[limits]\ntpm = 10\n[[members]]\nname = 'a'\nprofile = 'one'\n[[tasks]]\nid = '1'\ndescription = 'x'\n",
        &[FINE],
    );
    crew.run(&[]).ended(5);
    let line = ["discover", "style", "tabs everywhere", "--team", "team"];
    crew.call(line).ended(0);
    crew.run(&[]).ended(5);
    let prompt = std::fs::read_to_string(crew.team("workers/a/turn-0002/prompt.md")).unwrap();
    assert!(prompt.contains("tabs everywhere"), "{prompt}");
    crew.write(
        "team.toml",
        &crew.read("team.toml").replace("tpm = 10", "tpm = 100000"),
    );
    crew.run(&[]).ended(0);
    assert!(crew.read("prompts").contains("tabs everywhere"));
    let line = ["discoveries", "--new", "--as", "a", "--team", "team"];
    let ran = crew.call(line).ended(0);
    assert!(!ran.stdout.contains("tabs everywhere"), "{ran:#?}");
}

#[test]
fn f8_turns_are_refused_while_the_limits_cannot_be_read_unless_the_team_goes_on_without() {
    let crew = scripted(
        "[[members]]\nname = 'a'\nprofile = 'one'\n[[tasks]]\nid = '0'\ndescription = 'x'\n",
        &[FINE, FINE],
    );
    crew.run(&[]).ended(0);
    let more = "[[tasks]]\nid = '1'\ndescription = 'y'\n";
    crew.write("team.toml", &format!("{}{more}", crew.read("team.toml")));
    let torn = || std::fs::write(crew.team("limits.json"), "{\"limits\":").unwrap();
    torn();
    let ran = crew.run(&[]).ended(5);
    assert!(
        ran.stdout.contains("a: is refused by the team's limits: "),
        "{ran:#?}"
    );
    std::fs::remove_file(crew.team("limits.json")).unwrap();
    let line = [
        "limits",
        "set",
        "--when-unreachable",
        "admit",
        "--team",
        "team",
    ];
    crew.call(line).ended(0);
    torn();
    let ran = crew.run(&[]).ended(0);
    assert!(ran.stderr.contains("turns are not counted"), "{ran:#?}");
}

#[test]
fn f9_a_limit_with_a_reset_pauses_the_whole_team_and_it_resumes_then() {
    let limit = r#"echo '{"type":"limit","text":"usage limit","after_ms":2500}'; exit 1"#;
    let crew = scripted(
        "[[members]]\nname = 'a'\nprofile = 'one'\n[[members]]\nname = 'b'\nprofile = 'two'\n[[members]]\nname = 'c'\nprofile = 'sh'\n\
         [[tasks]]\nid = '1'\nfor = 'a'\ndescription = 'x'\n\
         [[tasks]]\nid = 'go'\nfor = 'c'\ndescription = 'x'\nscript = 'until grep -q usage $PITCREW_ROOT/.omp/state/team/team/limits.json; do sleep 0.02; done'\n\
         [[tasks]]\nid = '2'\nfor = 'b'\nblocked_by = ['go']\ndescription = 'y'\n",
        &[limit, FINE, FINE],
    );
    let mut run = crew.start(&[]);
    let paused = run.until(|fact| fact["event"] == "team_paused");
    assert_eq!(paused["reason"], "usage limit");
    let ran = crew.call(["team", "status", "team"]).ended(0);
    assert!(
        ran.stdout.contains("paused for another ") && ran.stdout.contains("usage limit"),
        "{ran:#?}"
    );
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let until = at(&paused, "until");
    let waits = facts(&seen, "member_waits");
    for member in ["a", "b"] {
        assert!(
            waits.iter().any(|wait| wait["member"] == member),
            "{member} {waits:#?}"
        );
    }
    let started = facts(&seen, "turn_started");
    for turn in started.iter().filter(|turn| turn["member"] != "c").skip(1) {
        assert!(at(turn, "at") >= until, "{turn}: before {until}");
    }
    assert_eq!(facts(&seen, "team_resumed").len(), 1, "{seen:#?}");
    // The turn that was turned away cost nothing.
    assert_eq!(limits(&crew)["used"]["requests"], 2);
}

#[test]
fn f9_whoever_ends_a_pause_wakes_the_run() {
    let limit = r#"echo '{"type":"limit","text":"usage limit","after_ms":3600000}'; exit 1"#;
    let crew = scripted(
        "[[members]]\nname = 'a'\nprofile = 'one'\n[[tasks]]\nid = '1'\ndescription = 'x'\n",
        &[limit, FINE],
    );
    let mut run = crew.start(&[]);
    run.event("member_waits", "a");
    crew.call(["limits", "resume", "--team", "team"]).ended(0);
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(0), "{seen:#?}");
}

/// A member `m1`, `m2`, … each of the profile `one`, and tasks for whoever is free.
fn crowd(limits: &str, members: usize, tasks: usize, say: &[&str]) -> Crew {
    let members: String = (1..=members)
        .map(|n| format!("[[members]]\nname = 'm{n}'\nprofile = 'one'\nrestarts = 0\n"))
        .collect();
    let tasks: String = (1..=tasks)
        .map(|n| format!("[[tasks]]\nid = 't{n}'\ndescription = 'x'\n"))
        .collect();
    scripted(&format!("[limits]\n{limits}\n{members}{tasks}"), say)
}

#[test]
fn f4_a_report_that_is_missing_negative_or_no_number_is_booked_as_estimated() {
    for used in [
        r#"{"type":"used"}"#,
        r#"{"type":"used","usd":"free","in":"many","out":1}"#,
        r#"{"type":"used","usd":-5,"in":-100,"out":1e30}"#,
        r#"{"type":"used","in":null,"out":null}"#,
        r#"{"type":"other"}"#,
    ] {
        let turn = format!("echo '{used}'; echo '{{\"type\":\"result\",\"text\":\"fine\"}}'");
        let crew = crowd("tpm = 100000", 1, 1, &[&turn]);
        let (status, seen, _) = crew.start(&[]).end();
        assert_eq!(status, Some(0), "{used}: {seen:#?}");
        let booked = limits(&crew)["used"]["tokens"].as_u64().unwrap();
        assert!(booked > 4_000, "{used}: {booked}");
        let noted = facts(&seen, "noted");
        assert_eq!(
            noted.len(),
            usize::from(!used.contains("other")),
            "{noted:#?}"
        );
    }
}

#[test]
fn f4_a_budget_does_not_go_on_with_turns_that_say_no_price() {
    for usd in ["-5", "\"free\"", "null", "1e300"] {
        let turn = format!(
            "echo '{{\"type\":\"used\",\"in\":100,\"out\":50,\"usd\":{usd}}}'; echo '{{\"type\":\"result\",\"text\":\"fine\"}}'"
        );
        let crew = crowd("budget = 1.0", 2, 4, &[&turn, &turn, &turn, &turn]);
        let (status, seen, _) = crew.start(&[]).end();
        assert_eq!(status, Some(5), "{usd}: {seen:#?}");
        assert_eq!(facts(&seen, "turn_started").len(), 1, "{usd}: {seen:#?}");
        let stopped = facts(&seen, "member_stopped");
        assert_eq!(stopped.len(), 2, "{usd}: {seen:#?}");
        let detail = stopped[0]["detail"].as_str().unwrap();
        assert!(detail.contains("no budget can hold it"), "{detail}");
        assert_eq!(limits(&crew)["reserved"]["cost"], 0);
    }
}

#[test]
fn f1_first_turns_without_a_price_do_not_overrun_the_budget_together() {
    let turn = r#"echo x >> began; until test -e go; do sleep 0.02; done; echo '{"type":"used","in":900,"out":100,"usd":0.4}'; echo '{"type":"result","text":"fine"}'"#;
    let crew = crowd("budget = 1.0", 8, 24, &[turn; 24]);
    let mut run = crew.start(&[]);
    run.until(|fact| fact["event"] == "turn_started");
    for _ in 0..7 {
        run.until(|fact| fact["event"] == "member_waits" && fact["reason"] == "rate_limit");
    }
    while crew.read("began").is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(crew.read("began"), "x\n");
    crew.write("go", "");
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(5), "{seen:#?}");
    assert_eq!(facts(&seen, "turn_started").len(), 2, "{seen:#?}");
    assert_eq!(limits(&crew)["used"]["cost"], 800_000);
}

#[test]
fn a_price_that_one_member_showed_lets_the_others_of_its_kind_run_beside_each_other() {
    let first = r#"echo '{"type":"used","in":900,"out":100,"usd":0.1}'; echo '{"type":"result","text":"fine"}'"#;
    let beside = r#"echo x >> began; until test "$(wc -l < began)" = 2; do sleep 0.02; done; echo '{"type":"used","in":900,"out":100,"usd":0.1}'; echo '{"type":"result","text":"fine"}'"#;
    let crew = crowd("budget = 1.0", 2, 3, &[first, beside, beside]);
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(limits(&crew)["used"]["cost"], 300_000);
}

#[test]
fn f1_a_budget_that_is_set_while_turns_of_unknown_price_run_lets_nothing_begin_beside_them() {
    let turn = r#"echo x >> began; until test -e "go-$PITCREW_AGENT"; do sleep 0.02; done; echo '{"type":"used","in":900,"out":100,"usd":0.4}'; echo '{"type":"result","text":"fine"}'"#;
    // Three are at work, each with a second task to come.
    let crew = crowd("tpm = 1000000", 3, 6, &[turn; 6]);
    let mut run = crew.start(&[]);
    for _ in 0..3 {
        run.until(|fact| fact["event"] == "turn_started");
    }
    while crew.read("began").lines().count() < 3 {
        std::thread::yield_now();
    }
    crew.call(["limits", "set", "--team", "team", "--budget", "1.0"])
        .ended(0);
    let reserved = || limits(&crew)["reserved"]["cost"].as_u64().unwrap();
    while reserved() != 1_000_000 {
        std::thread::yield_now();
    }
    // The first price that is seen is what the two others hold from then on, and there is no room for a fourth.
    crew.write("go-m1", "");
    run.until(|fact| fact["event"] == "member_waits" && fact["reason"] == "rate_limit");
    assert_eq!(reserved(), 600_000);
    crew.write("go-m2", "");
    crew.write("go-m3", "");
    let (status, seen, _) = run.end();
    assert_eq!(status, Some(5), "{seen:#?}");
    assert_eq!(facts(&seen, "turn_started").len(), 3, "{seen:#?}");
    assert_eq!(limits(&crew)["used"]["cost"], 1_200_000);
}

#[test]
fn prices_of_the_project_count_in_a_run() {
    let turn =
        r#"echo '{"type":"used","in":900,"out":100}'; echo '{"type":"result","text":"fine"}'"#;
    let crew = scripted(
        "[limits]\nbudget = 0.5\n[[members]]\nname = 'a'\nprofile = 'one'\nmodel = 'house-1'\n\
         [[tasks]]\nid = 't1'\ndescription = 'x'\n[[tasks]]\nid = 't2'\ndescription = 'x'\n",
        &[turn, turn],
    );
    let prices = "dated = '2026-11-30'\nsource = 'ours'\n[[models]]\nmodel = 'house-1'\n";
    crew.write(
        ".pitcrew/prices.toml",
        &format!("{prices}input = 100\noutput = 200\n"),
    );
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(limits(&crew)["used"]["cost"], 2 * 110_000);
    crew.write(".pitcrew/prices.toml", prices);
    let refused = crew.run(&["--fresh"]);
    assert!(refused.status.code() != Some(0), "{refused:?}");
    assert!(refused.stderr.contains("prices.toml"), "{refused:?}");
}
