//! E: lines of files, from one holder to the next.

use super::*;

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
