//! The faults of claims, discoveries and limits that the field knows, each tried on the binary with real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};

use sandbox::{Answer, Reaped, Sandbox, answer};
use serde_json::{Value, json};

/// Starts one command for each line, all of them before any is waited for.
fn race(sandbox: &Sandbox, lines: &[Vec<String>]) -> Vec<Answer> {
    let children: Vec<Child> = lines
        .iter()
        .map(|line| {
            let mut command = sandbox.command(line);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let ends = children.into_iter();
    ends.map(|child| answer(child.wait_with_output().unwrap()))
        .collect()
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_string).collect()
}

fn won(answers: &[Answer]) -> usize {
    let done = answers.iter().filter(|answer| answer.status == Some(0));
    let done = done.count();
    let refused = answers.iter().filter(|answer| answer.status == Some(1));
    assert_eq!(done + refused.count(), answers.len(), "{answers:#?}");
    done
}

fn members(count: usize) -> Sandbox {
    let names: Vec<String> = (1..=count).map(|n| format!("w{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Sandbox::with_team(&names, &[])
}

#[test]
fn e1_one_file_by_every_name() {
    let sandbox = members(2);
    fs::create_dir_all(sandbox.root().join("src")).unwrap();
    fs::write(sandbox.root().join("src/\u{e9}.rs"), "").unwrap();
    symlink("src", sandbox.root().join("source")).unwrap();
    let absolute = sandbox.root().join("src/\u{e9}.rs");
    sandbox
        .call_as("w1", ["claim", "src/\u{e9}.rs", "1", "9"])
        .succeeded();
    for name in [
        "./src/\u{e9}.rs",
        "src/../src/e\u{301}.rs",
        "source/\u{e9}.rs",
        absolute.to_str().unwrap(),
    ] {
        let refused = sandbox
            .call_as("w2", ["claim", name, "9", "9", "--json"])
            .ended(1)
            .json();
        assert_eq!(refused["code"], "claim_conflict", "{name}");
        assert_eq!(refused["file"], "src/\u{e9}.rs");
    }
    let mut below = sandbox.command(["--team", "t", "--as", "w2", "claim", "\u{e9}.rs", "1", "2"]);
    below.current_dir(sandbox.root().join("src"));
    answer(below.output().unwrap()).ended(1);
    let out = sandbox.call_as("w2", ["claim", "../x", "1", "2", "--json"]);
    assert_eq!(out.ended(1).json()["code"], "outside_root");
}

#[test]
fn e2_ranges_that_overlap_and_ranges_that_are_none() {
    let sandbox = members(2);
    let claim = |who: &str, start: &str, end: &str| {
        let answer = sandbox.call_as(who, ["claim", "a", start, end, "--json"]);
        let code = answer.json()["code"].as_str().map(str::to_string);
        (answer.status, code)
    };
    let refused = |code: &str| (Some(1), Some(code.to_string()));
    assert_eq!(claim("w1", "10", "20"), (Some(0), None));
    assert_eq!(claim("w2", "20", "30"), refused("claim_conflict"));
    assert_eq!(claim("w2", "0", "5"), (Some(0), None));
    for (start, end) in [
        ("20", "10"),
        ("-1", "5"),
        ("1.5", "2"),
        ("a", "2"),
        ("1", "99999999999999999999"),
    ] {
        assert_eq!(
            claim("w2", start, end),
            refused("invalid_range"),
            "{start} {end}"
        );
    }
    for (start, end) in [
        (json!(1.5), json!(2)),
        (json!("1"), json!(2)),
        (json!(-1), json!(2)),
        (json!(null), json!(2)),
    ] {
        let input = json!({ "team_name": "t", "worker": "w1", "file": "a", "start_line": start, "end_line": end });
        let refused = sandbox.api("claim-region", &input).ended(1).json();
        assert_eq!(refused["code"], "invalid_range", "{input}");
    }
}

#[test]
fn e4_a_claim_ends_with_its_holder_and_its_time() {
    let sandbox = members(3);
    sandbox.call_as("w1", ["claim", "a", "1", "9"]).succeeded();
    sandbox
        .call_as("w2", ["claim", "b", "1", "9", "--ttl", "1ms"])
        .succeeded();
    sandbox.call(["team", "remove-member", "w1"]).succeeded();
    sandbox.call_as("w3", ["claim", "a", "1", "9"]).succeeded();
    sandbox.call_as("w3", ["claim", "b", "1", "9"]).succeeded();
    let told = sandbox.call_as("w2", ["inbox"]).succeeded().stdout;
    assert!(told.contains("Your claim on b 1-9 ran out at "), "{told}");
    sandbox.call(["team", "shutdown", "t"]).succeeded();
    let left = sandbox.call(["claims", "--json"]).succeeded().json();
    assert_eq!(left["claims"], json!([]));
}

#[test]
fn e5_of_25_processes_that_race_for_a_region_one_wins() {
    let sandbox = members(25);
    for round in 0..3 {
        let lines: Vec<Vec<String>> = (1..=25)
            .map(|n| words(&format!("--as w{n} claim file{round} 10 20")))
            .collect();
        assert_eq!(won(&race(&sandbox, &lines)), 1);
    }
    let disjoint: Vec<Vec<String>> = (1..=10)
        .map(|n| words(&format!("--as w{n} claim b {} {}", 10 * n, 10 * n + 9)))
        .collect();
    assert_eq!(won(&race(&sandbox, &disjoint)), 10);
    let held = sandbox.call(["claims", "b", "--json"]).succeeded().json();
    assert_eq!(held["claims"].as_array().map(Vec::len), Some(10));
}

#[test]
fn e6_a_conflict_is_one_sentence_with_a_next_step_and_the_facts() {
    let sandbox = members(2);
    sandbox
        .call_as("w1", ["claim", "a", "10", "20", "--ttl", "1h"])
        .succeeded();
    let refused = sandbox.call_as("w2", ["claim", "a", "15", "30"]).ended(1);
    assert_eq!(
        refused.stderr,
        "error: a 15-30 cannot be claimed: w1 holds 10-20 for another 1 h\n \
         hint: claim only 21-30, which can be had now, or ask w1, or wait for it\n"
    );
    let facts = sandbox
        .call_as("w2", ["claim", "a", "15", "30", "--json"])
        .ended(1)
        .json();
    assert_eq!(facts["holders"][0]["member"], "w1");
    assert_eq!(
        facts["holders"][0]["lines"],
        json!({ "start": 10, "end": 20 })
    );
    assert!(facts["holders"][0]["left_ms"].as_u64() > Some(3_500_000));
    assert_eq!(facts["free"], json!([{ "start": 21, "end": 30 }]));
}

/// A process that waits for lines, once it is in line.
fn in_line(sandbox: &Sandbox, who: &str) -> Reaped {
    let mut command = sandbox.command(["--as", who, "claim", "a", "1", "9", "--wait", "60s"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Reaped(command.spawn().unwrap());
    let mut said = String::new();
    let stderr = child.0.stderr.as_mut().unwrap();
    BufReader::new(stderr).read_line(&mut said).unwrap();
    assert!(
        said.starts_with("waiting: a 1-9 cannot be claimed: w1 holds"),
        "{said}"
    );
    child
}

fn end(mut child: Reaped) -> (Option<i32>, String) {
    use std::io::Read;
    let mut out = String::new();
    let stdout = child.0.stdout.as_mut().unwrap();
    stdout.read_to_string(&mut out).unwrap();
    (child.0.wait().unwrap().code(), out)
}

#[test]
fn who_waits_gets_the_lines_when_they_are_released() {
    let sandbox = members(2);
    sandbox.call_as("w1", ["claim", "a", "5", "6"]).succeeded();
    let waiting = in_line(&sandbox, "w2");
    let listed = sandbox.call(["claims"]).succeeded().stdout;
    assert!(listed.contains("w2               waits since"), "{listed}");
    let released = sandbox.call_as("w1", ["release", "a"]).succeeded().stdout;
    assert_eq!(released, "released 5-6 of a\n");
    let (status, out) = end(waiting);
    assert_eq!(status, Some(0));
    assert!(out.starts_with("claimed a 1-9 until "), "{out}");
}

#[test]
fn who_waits_gets_the_lines_when_the_holder_is_gone() {
    let sandbox = members(2);
    sandbox.call_as("w1", ["claim", "a", "5", "6"]).succeeded();
    let waiting = in_line(&sandbox, "w2");
    sandbox.call(["team", "remove-member", "w1"]).succeeded();
    assert_eq!(end(waiting).0, Some(0));
}

#[test]
fn who_waits_gets_the_lines_when_they_run_out_and_not_before() {
    let sandbox = members(2);
    sandbox
        .call_as("w1", ["claim", "a", "5", "6", "--ttl", "700ms"])
        .succeeded();
    let waiting = in_line(&sandbox, "w2");
    let (status, out) = end(waiting);
    assert_eq!(status, Some(0), "{out}");
    let held = sandbox.call(["claims", "--json"]).succeeded().json();
    assert_eq!(held["claims"][0]["member"], "w2");
}

#[test]
fn a_wait_that_finds_no_end_says_who_is_in_the_way() {
    let sandbox = members(2);
    sandbox.call_as("w1", ["claim", "a", "1", "9"]).succeeded();
    let refused = sandbox
        .call_as("w2", ["claim", "a", "1", "9", "--wait", "100ms", "--json"])
        .ended(1);
    let refused: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(refused["code"], "claim_conflict");
    assert_eq!(refused["waiting"], json!([]));
    let input = json!({ "team_name": "t", "worker": "w2", "file": "a", "start_line": 1, "end_line": 2, "wait_ms": 50 });
    let refused = sandbox.api("claim-region", &input).ended(1).json();
    assert_eq!(refused["code"], "claim_conflict");
}

#[test]
fn a_circle_of_waits_is_refused_and_named() {
    let sandbox = members(2);
    sandbox.call_as("w1", ["claim", "a", "1", "9"]).succeeded();
    sandbox.call_as("w2", ["claim", "b", "1", "9"]).succeeded();
    let _waiting = in_line(&sandbox, "w2");
    let refused = sandbox
        .call_as("w1", ["claim", "b", "3", "4", "--wait", "60s", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "deadlock");
    assert_eq!(
        refused["message"],
        "waiting would never end: w1 waits for w2 over b 3-4, w2 waits for w1 over a 1-9"
    );
}

#[test]
fn lines_are_kept_extended_given_back_in_part_and_shown() {
    let sandbox = members(1);
    let call = |line: &str| sandbox.call_as("w1", words(line)).succeeded().stdout;
    assert!(call("claim a 1 9").starts_with("claimed a 1-9 until "));
    assert!(call("claim a 1 9").starts_with("renewed a 1-9 until "));
    call("claim a 20 29 --extend");
    assert_eq!(call("release a 4 25"), "released 4-9, 20-25 of a\n");
    let who = call("who");
    assert!(
        who.contains("  holds a 1-3 until ") && who.contains("  holds a 26-29 until "),
        "{who}"
    );
    let refused = sandbox.call_as("w1", ["release", "a", "10", "12"]).ended(1);
    assert!(
        refused
            .stderr
            .contains("hint: it holds lines 1-3 and 26-29"),
        "{refused:?}"
    );
    let replaced = call("claim a 50 60");
    assert!(replaced.starts_with("claimed a 50-60"), "{replaced}");
    let listed = sandbox
        .api("list-claims", &json!({ "team_name": "t", "file": "a" }))
        .json();
    assert_eq!(listed["claims"].as_array().map(Vec::len), Some(1));
    let input = json!({ "team_name": "t", "worker": "w1", "file": "a" });
    let released = sandbox.api("release-region", &input).succeeded().json();
    assert_eq!(
        released["released"][0]["lines"],
        json!({ "start": 50, "end": 60 })
    );
}

#[test]
fn discoveries_are_shared_listed_and_shown_once() {
    let sandbox = members(2);
    sandbox
        .call_as("w1", ["discover", "build", "needs redis", "--path", "src"])
        .succeeded();
    let mut fed = sandbox.command(["--as", "leader", "discover", "style", "-", "--ttl", "1h"]);
    fed.stdin(fs::File::open(sandbox.team("t", "config.json")).unwrap());
    answer(fed.output().unwrap()).succeeded();
    let refused = sandbox.call_as("w1", ["discover", "build"]).ended(2);
    assert!(refused.stderr.contains("what was found?"), "{refused:?}");
    let hint = sandbox.call_as("w2", ["inbox"]).succeeded().stderr;
    assert!(
        hint.contains("2 new findings of the team: pitcrew discoveries --new"),
        "{hint}"
    );
    let new = |who: &str| {
        let line = ["discoveries", "--new", "--json"];
        let news = sandbox.call_as(who, line).succeeded().json();
        let found = news["discoveries"].as_array().unwrap().iter();
        found
            .map(|found| found["topic"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(new("w2"), ["build", "style"]);
    assert!(new("w2").is_empty());
    assert_eq!(new("w1"), ["style"]);
    let listed = sandbox
        .call_as("w1", ["discoveries", "--path", "src/a.rs"])
        .succeeded()
        .stdout;
    assert!(
        listed.starts_with("build  w1  2") && listed.ends_with("  src\nneeds redis\n"),
        "{listed}"
    );
    let since = sandbox.call(["discoveries", "--since", "2030-01-01T00:00:00Z", "--json"]);
    assert_eq!(since.succeeded().json()["discoveries"], json!([]));
    let wrong = sandbox
        .call(["discoveries", "--since", "yesterday", "--json"])
        .ended(1);
    assert_eq!(wrong.json()["code"], "invalid_input");
    let input =
        json!({ "team_name": "t", "from": "w2", "topic": "api", "content": "x", "paths": ["src"] });
    let shared = sandbox.api("share-discovery", &input).succeeded().json();
    assert_eq!(shared["discovery"]["agent"], "w2");
    let input = json!({ "team_name": "t", "topic": "API" });
    let read = sandbox.api("read-discoveries", &input).succeeded().json();
    assert_eq!(read["discoveries"].as_array().map(Vec::len), Some(1));
    let input = json!({ "team_name": "t", "worker": "w1", "new_only": true });
    let read = sandbox.api("read-discoveries", &input).succeeded().json();
    assert_eq!(read["discoveries"][0]["topic"], "api");
}

#[test]
fn a_discovery_does_not_speak_to_the_terminal() {
    let sandbox = members(2);
    sandbox
        .call_as("w1", ["discover", "t", "\u{1b}]52;c;eA==\u{7}\u{1b}[2J"])
        .succeeded();
    let listed = sandbox
        .call_as("w2", ["discoveries", "--new"])
        .succeeded()
        .stdout;
    assert!(
        !listed.contains('\u{1b}') && !listed.contains('\u{7}'),
        "{listed:?}"
    );
}

#[test]
fn f1_of_ten_processes_that_want_60_cents_of_a_dollar_one_is_admitted() {
    let sandbox = members(10);
    sandbox
        .call(["limits", "set", "--budget", "1.00"])
        .succeeded();
    let lines: Vec<Vec<String>> = (1..=10)
        .map(|n| words(&format!("--as w{n} limits acquire --tokens 10 --cost 0.60")))
        .collect();
    let answers = race(&sandbox, &lines);
    assert_eq!(won(&answers), 1);
    for refused in answers.iter().filter(|answer| answer.status == Some(1)) {
        assert!(
            refused.stderr.contains("$0.60 reserved, $0.60 asked for"),
            "{refused:?}"
        );
    }
}

#[test]
fn f3_a_reservation_is_settled_once() {
    let sandbox = members(2);
    sandbox.call(["limits", "set", "--budget", "5"]).succeeded();
    let id = sandbox
        .call_as("w1", ["limits", "acquire", "--tokens", "10", "--cost", "1"])
        .succeeded()
        .stdout;
    let id = id.trim();
    let booked = sandbox
        .call_as(
            "w2",
            ["limits", "record", id, "--tokens", "7", "--cost", "0.25"],
        )
        .succeeded();
    assert_eq!(booked.stdout, "booked 7 tokens and $0.25 to w1\n");
    assert!(
        booked.stderr.contains("is of w1, so it was booked to w1"),
        "{booked:?}"
    );
    for line in [
        vec!["limits", "record", id, "--tokens", "7", "--json"],
        vec!["limits", "release", id, "--json"],
    ] {
        assert_eq!(
            sandbox.call_as("w1", line).ended(1).json()["code"],
            "already_settled"
        );
    }
    let unknown = sandbox
        .call_as("w1", ["limits", "release", "99", "--json"])
        .ended(1);
    assert_eq!(unknown.json()["code"], "unknown_reservation");
    let status = sandbox
        .call(["limits", "status", "--json"])
        .succeeded()
        .json();
    assert_eq!(status["status"]["used"]["cost"], 250_000);
    assert_eq!(status["status"]["left"], 4_750_000);
    let page = sandbox.call(["team", "status", "t"]).succeeded().stdout;
    assert!(
        page.ends_with("allDone=false\nlimits: $0.25 spent, $0.00 reserved, $4.75 left\n"),
        "{page}"
    );
    let page = sandbox
        .call(["team", "status", "t", "--json"])
        .succeeded()
        .json();
    assert_eq!(page["snapshot"]["limits"]["used"]["tokens"], 7);
}

#[test]
fn f4_numbers_that_cannot_be_are_refused_and_the_limiter_lives() {
    let sandbox = members(1);
    sandbox.call(["limits", "set", "--tpm", "1000"]).succeeded();
    for (tokens, cost) in [
        (json!(-5), json!(1)),
        (json!(null), json!(1)),
        (json!("5"), json!(1)),
        (json!(1.5), json!(1)),
        (json!(5), json!(null)),
        (json!(5), json!(-1)),
        (json!(5), json!("NaN")),
    ] {
        for request in ["limit-acquire", "limit-record"] {
            let input = json!({ "team_name": "t", "worker": "w1", "tokens": tokens, "cost": cost });
            let refused = sandbox.api(request, &input).ended(1).json();
            assert_eq!(refused["code"], "invalid_usage", "{request} {input}");
        }
    }
    let missing = json!({ "team_name": "t", "worker": "w1" });
    let refused = sandbox.api("limit-acquire", &missing).ended(1).json();
    assert_eq!(refused["code"], "invalid_usage");
    for line in [
        "limits acquire --tokens -5",
        "limits acquire",
        "limits acquire --tokens 5 --cost NaN",
    ] {
        sandbox.call_as("w1", words(line)).ended(2);
    }
    let input = json!({ "team_name": "t", "worker": "w1", "tokens": 5, "cost": 0.5 });
    let admitted = sandbox.api("limit-acquire", &input).succeeded().json();
    assert_eq!(admitted["reservation"], 1);
}

#[test]
fn f5_and_f6_rates_alone_switch_the_limiter_on() {
    let sandbox = members(1);
    let set = sandbox
        .call(["limits", "set", "--rpm", "2", "--tpm", "1000"])
        .succeeded();
    assert_eq!(
        set.stdout,
        "limits: 2 requests a minute, 1000 tokens a minute\n"
    );
    let acquire =
        |tokens: &str| sandbox.call_as("w1", ["limits", "acquire", "--tokens", tokens, "--json"]);
    assert_eq!(acquire("1001").ended(1).json()["code"], "never_fits");
    acquire("600").succeeded();
    let limited = acquire("600").ended(1).json();
    assert_eq!(limited["code"], "rate_limited");
    assert!((1..=60_500).contains(&limited["retry_after_ms"].as_u64().unwrap()));
    acquire("1").succeeded();
    assert_eq!(acquire("1").ended(1).json()["limit"], "requests");
    let lifted = sandbox.call(["limits", "set", "--rpm", "none"]).succeeded();
    assert_eq!(lifted.stdout, "limits: 1000 tokens a minute\n");
    acquire("1").succeeded();
    sandbox
        .call_as("w1", ["limits", "set", "--rpm", "9"])
        .ended(1);
}

#[test]
fn f8_a_limiter_that_cannot_be_read_refuses_unless_the_team_chose_otherwise() {
    let sandbox = members(1);
    sandbox.call(["limits", "set", "--budget", "1"]).succeeded();
    fs::write(sandbox.team("t", "limits.json"), "{\"limits\":").unwrap();
    let run = ["limits", "run", "--tokens", "5", "--", "echo", "ran"];
    let refused = sandbox.call_as("w1", run).ended(1);
    assert!(!refused.stdout.contains("ran"));
    assert!(
        refused.stderr.contains("the limiter cannot be reached: "),
        "{refused:?}"
    );
    let page = sandbox.call(["team", "status", "t"]).succeeded().stdout;
    assert!(page.contains("limits: cannot be read: "), "{page}");
    fs::remove_file(sandbox.team("t", "limits.json")).unwrap();
    sandbox
        .call([
            "limits",
            "set",
            "--budget",
            "1",
            "--when-unreachable",
            "admit",
        ])
        .succeeded();
    fs::write(sandbox.team("t", "limits.json"), "{\"limits\":").unwrap();
    let admitted = sandbox.call_as(
        "w1",
        [
            "limits", "run", "--tokens", "5", "--", "sh", "-c", "echo ran",
        ],
    );
    assert_eq!(admitted.status, Some(3), "no PATH, no sh: {admitted:?}");
    let admitted = sandbox
        .call_as(
            "w1",
            [
                "limits", "run", "--tokens", "5", "--", "/bin/sh", "-c", "echo ran",
            ],
        )
        .succeeded();
    assert_eq!(admitted.stdout, "ran\n");
    assert!(admitted.stderr.contains("is not counted"), "{admitted:?}");
}

#[test]
fn f9_a_providers_limit_pauses_everybody_and_mail_goes_on() {
    let sandbox = members(2);
    let paused = sandbox
        .call_as("w1", ["limits", "pause", "1h", "usage limit, resets 15:00"])
        .succeeded();
    assert!(paused.stdout.starts_with("paused until 2"), "{paused:?}");
    for who in ["w1", "w2"] {
        let refused = sandbox
            .call_as(who, ["limits", "acquire", "--tokens", "1"])
            .ended(1);
        assert!(
            refused
                .stderr
                .starts_with("error: the team is paused: usage limit, resets 15:00"),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("hint: wait 1 h"), "{refused:?}");
    }
    sandbox
        .call_as("w1", ["send", "w2", "still here"])
        .succeeded();
    sandbox.call_as("w1", ["limits", "resume"]).ended(1);
    sandbox.call(["limits", "resume"]).succeeded();
    sandbox
        .call_as("w2", ["limits", "acquire", "--tokens", "1"])
        .succeeded();
    sandbox
        .call(["limits", "pause", "1970-01-01T00:00:00Z"])
        .ended(1);
}

/// Runs a shell line inside the limits, as w1.
fn run(sandbox: &Sandbox, script: &str) -> Answer {
    let line = [
        "limits", "run", "--tokens", "100", "--cost", "0.50", "--", "/bin/sh", "-c", script,
    ];
    sandbox.call_as("w1", line)
}

#[test]
fn what_a_command_reports_is_booked() {
    let sandbox = members(1);
    sandbox.call(["limits", "set", "--budget", "2"]).succeeded();
    let last_line = run(
        &sandbox,
        "echo working; echo '{\"tokens\":60,\"cost\":0.25}'",
    )
    .succeeded();
    assert_eq!(last_line.stdout, "working\n{\"tokens\":60,\"cost\":0.25}\n");
    assert_eq!(last_line.stderr, "booked 60 tokens and $0.25 to w1\n");
    let file = run(
        &sandbox,
        "echo '{\"tokens\":7,\"cost\":0.01}' > \"$PITCREW_USAGE\"; echo done",
    )
    .succeeded();
    assert_eq!(
        (file.stdout.as_str(), file.stderr.as_str()),
        ("done\n", "booked 7 tokens and $0.01 to w1\n")
    );
    let nothing = run(&sandbox, "echo words >&2; exit 3").ended(5);
    assert_eq!(
        nothing.stderr,
        "words\nbooked 100 tokens and $0.50 (the estimate) to w1\n"
    );
    let nonsense = run(&sandbox, "echo '{\"tokens\":-1}'").succeeded();
    assert!(
        nonsense.stderr.contains("makes no sense")
            && nonsense.stderr.contains("$0.50 (the estimate)"),
        "{nonsense:?}"
    );
    let left = fs::read_dir(sandbox.team("t", "workers/w1")).unwrap();
    assert_eq!(left.count(), 0, "no report stays");
    let status = sandbox
        .call(["limits", "status", "--json"])
        .succeeded()
        .json();
    assert_eq!(status["status"]["used"]["cost"], 1_260_000);
    assert_eq!(status["status"]["reserved"]["requests"], 0);
}

#[test]
fn a_command_that_cannot_be_started_costs_nothing_and_one_too_many_does_not_run() {
    let sandbox = members(1);
    sandbox
        .call(["limits", "set", "--budget", "0.60"])
        .succeeded();
    let line = [
        "limits",
        "run",
        "--tokens",
        "1",
        "--cost",
        "0.50",
        "--",
        "/no/such/program",
    ];
    let failed = sandbox.call_as("w1", line).ended(3);
    assert!(failed.stderr.contains("/no/such/program"), "{failed:?}");
    let line = [
        "limits", "run", "--tokens", "9", "--cost", "0.50", "--json", "--", "/bin/sh", "-c",
        "echo one",
    ];
    let ran = sandbox.call_as("w1", line).succeeded();
    let (said, booked) = ran.stdout.split_once('\n').unwrap();
    assert_eq!(said, "one");
    let booked: Value = serde_json::from_str(booked).unwrap();
    assert_eq!(booked["recorded"]["cost"], 500_000);
    assert_eq!(booked["reported"], false);
    let refused = run(&sandbox, "touch ran").ended(1);
    assert!(refused.stderr.contains("budget"), "{refused:?}");
    assert!(!sandbox.root().join("ran").exists());
}

#[test]
fn e7_a_claim_never_looks_at_discoveries_however_many_there_are() {
    let sandbox = members(2);
    // Where the log and the board would be stands what nobody can read.
    fs::create_dir(sandbox.team("t", "discoveries.jsonl")).unwrap();
    fs::write(sandbox.team("t", ".board.json"), "{").unwrap();
    sandbox.call_as("w1", ["claim", "a", "1", "9"]).succeeded();
    sandbox.call_as("w2", ["claim", "a", "9", "9"]).ended(1);
    sandbox.call(["claims"]).succeeded();
    sandbox.call_as("w1", ["release", "a"]).succeeded();
    let failed = sandbox.call(["discoveries", "--json"]).ended(3).json();
    assert_eq!(failed["code"], "escapes_team_folder");
}

#[test]
fn a_price_of_the_project_counts_and_a_model_without_one_is_refused_where_money_counts() {
    let sandbox = members(1);
    let ask = |line: &str| sandbox.call_as("w1", words(line));
    let shown = ask("limits prices gpt-4o --json").succeeded().json();
    assert_eq!(shown["prices"][0]["from"], "built in");
    assert_eq!(shown["prices"][0]["input"], 2_500_000);
    fs::create_dir_all(sandbox.root().join(".pitcrew")).unwrap();
    let file = sandbox.root().join(".pitcrew/prices.toml");
    let prices = "dated = '2026-11-30'\nsource = 'ours'\n[[models]]\nmodel = 'house-1'\ninput = 1\noutput = 2\n";
    fs::write(&file, prices).unwrap();
    let shown = ask("limits prices house-1 --json").succeeded().json();
    assert_eq!(shown["prices"][0]["source"], "ours");
    assert!(
        shown["prices"][0]["from"]
            .as_str()
            .unwrap()
            .ends_with("prices.toml")
    );
    let all = ask("limits prices").succeeded().stdout;
    assert!(
        all.contains("house-1") && all.contains("gpt-4o-mini"),
        "{all}"
    );
    // Without a budget nobody needs the price.
    ask("limits acquire --tokens 5 --model hous-1").succeeded();
    sandbox.call(words("limits set --budget 1")).succeeded();
    let refused = ask("limits acquire --tokens 5 --model hous-1 --json")
        .ended(1)
        .json();
    assert_eq!(refused["code"], "unknown_model");
    assert_eq!(refused["nearest"][0], "house-1");
    ask("limits prices hous-1").ended(1);
    ask("limits acquire --tokens 5 --model hous-1 --cost 0.1").succeeded();
    // Half a million tokens can cost a dollar, more is more than there is.
    ask("limits acquire --tokens 600000 --model house-1").ended(1);
    ask("limits acquire --tokens 400000 --model house-1").succeeded();
    fs::write(&file, "models = 7").unwrap();
    let broken = ask("limits acquire --tokens 5 --model house-1");
    assert!(
        broken.status != Some(0) && broken.stderr.contains("prices.toml"),
        "{broken:?}"
    );
    ask("limits acquire --tokens 5 --cost 0.01").succeeded();
}

#[test]
fn a_command_that_runs_longer_than_reservations_last_keeps_its_own() {
    let sandbox = members(2);
    let ttl = "limits set --budget 1 --reservation-ttl 3s";
    sandbox.call(words(ttl)).succeeded();
    let line = [
        "limits",
        "run",
        "--tokens",
        "5",
        "--cost",
        "0.9",
        "--",
        "sh",
        "-c",
        "read _ < gate; echo '{\"tokens\":4,\"cost\":0.5}'",
    ];
    make_pipe(&sandbox.root().join("gate"));
    let mut run = sandbox.command(["--team", "t", "--as", "w1"].iter().chain(&line));
    let mut run = Reaped(
        run.stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let held = || {
        let status = sandbox
            .call_as("w1", ["limits", "status", "--json"])
            .succeeded()
            .json();
        status["status"]["reserved"]["cost"].as_u64().unwrap()
    };
    while held() == 0 {}
    let begun = std::time::Instant::now();
    while begun.elapsed().as_millis() < 4_500 {
        let refused = sandbox.call_as(
            "w2",
            ["limits", "acquire", "--tokens", "1", "--cost", "0.2"],
        );
        refused.ended(1);
        assert_eq!(
            held(),
            900_000,
            "the reservation lapsed while its command ran"
        );
    }
    fs::write(sandbox.root().join("gate"), "go\n").unwrap();
    assert!(run.0.wait().unwrap().success());
    let seen = sandbox
        .call(["--team", "t", "events", "--json"])
        .succeeded()
        .json();
    let kinds: Vec<&str> = seen["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["type"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"usage_recorded") && !kinds.contains(&"reservation_lapsed"),
        "{kinds:?}"
    );
}

/// A pipe that a command reads from until the test writes to it.
#[expect(clippy::disallowed_methods, reason = "a test makes a pipe")]
fn make_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}
