//! Discoveries, and that they cost a claim nothing.

use super::*;

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
