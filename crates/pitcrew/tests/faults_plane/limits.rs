//! F: what a team may spend.

use super::*;

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
#[expect(
    clippy::disallowed_methods,
    reason = "the reservation lapses by the machine's clock"
)]
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
        "/bin/sh",
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
    while held() == 0 {
        assert_eq!(run.0.try_wait().unwrap(), None, "it has ended");
    }
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

#[test]
fn limits_that_cannot_be_read_are_set_anew_with_a_word_and_what_stood_there_is_kept() {
    let sandbox = members(1);
    sandbox.call(["limits", "set", "--budget", "1"]).succeeded();
    fs::write(sandbox.team("t", "limits.json"), "{\"limits\":").unwrap();
    // What to do without limits is chosen without them.
    let choice = ["limits", "set", "--when-unreachable", "admit", "--json"];
    let chosen = sandbox.call(choice).succeeded().json();
    assert_eq!(chosen["limits"], Value::Null);
    assert_eq!(sandbox.read("t", "limits.json"), "{\"limits\":");
    // Nothing was asked to be set, so nothing is begun anew.
    assert_ne!(sandbox.call(["limits", "set"]).status, Some(0));
    let set = sandbox.call(["limits", "set", "--rpm", "9"]).succeeded();
    assert_eq!(set.stdout, "limits: 9 requests a minute\n");
    assert!(
        set.stderr
            .contains("is kept as limits.json.unreadable-1: what was spent so far is not counted"),
        "{set:?}"
    );
    assert_eq!(
        sandbox.read("t", "limits.json.unreadable-1"),
        "{\"limits\":"
    );
    sandbox
        .call_as("w1", ["limits", "acquire", "--tokens", "5"])
        .succeeded();
}

#[test]
fn who_is_told_of_waits_where_claims_and_limits_cannot_be_read() {
    let sandbox = members(2);
    sandbox
        .call_as("w1", ["send", "w2", "may I?", "--intent", "request"])
        .succeeded();
    fs::write(sandbox.team("t", "claims.json"), "{").unwrap();
    fs::write(sandbox.team("t", "limits.json"), "{").unwrap();
    let answer = sandbox.call(["who", "--json"]).succeeded().json();
    let row = &answer["members"][0];
    assert_eq!(row["waiting"][0]["reason"], "reply");
    let why = row["unreadable"].as_array().unwrap();
    assert_eq!(why.len(), 2, "{why:?}");
    let said = sandbox.call(["who"]).succeeded();
    assert_eq!(said.stderr.matches("limits.json").count(), 1, "{said:?}");
}
