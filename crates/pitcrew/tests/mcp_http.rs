//! The door of `pitcrew mcp --http`: who comes in, who does not, and that nobody goes on with the session of another.
#![cfg(feature = "mcp")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "mcp/serving.rs"]
mod serving;

use std::io::Read;

use serde_json::json;
use serving::{Serving, in_time, sandbox::Sandbox, token};

fn initialize() -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    })
    .to_string()
}

fn call(tool: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": tool, "arguments": {} },
    })
    .to_string()
}

#[track_caller]
fn answered(response: &str, status: u16) {
    let wanted = format!("HTTP/1.1 {status} ");
    assert!(response.starts_with(&wanted), "{response}");
}

/// The session that a response began.
fn session(response: &str) -> String {
    let lines = response.lines().map(str::to_ascii_lowercase);
    let mut found =
        lines.filter_map(|line| line.strip_prefix("mcp-session-id: ").map(str::to_string));
    found.next().unwrap_or_else(|| panic!("{response}"))
}

#[test]
fn only_a_present_member_of_this_machine_comes_in() {
    let sandbox = Sandbox::with_team(&["alice", "bob"], &[]);
    let bob = format!("Bearer {}", token(&sandbox, "bob"));
    let serving = Serving::of(&sandbox);
    let bearer = ("Authorization", bob.as_str());
    answered(&serving.ask("POST", &[bearer], &initialize()), 200);
    let nobody = serving.ask("POST", &[], &initialize());
    answered(&nobody, 401);
    assert!(
        nobody
            .to_ascii_lowercase()
            .contains("www-authenticate: bearer"),
        "{nobody}"
    );
    let wrong = [("Authorization", "Bearer 0123")];
    answered(&serving.ask("POST", &wrong, &initialize()), 401);
    for (name, value) in [
        ("Origin", "http://localhost:3000"),
        ("Origin", "null"),
        ("Host", "rebound.example"),
        ("Host", "127.0.0.1:1"),
    ] {
        let response = serving.ask("POST", &[bearer, (name, value)], &initialize());
        answered(&response, 403);
    }
    // A member that was started anew has another token, and the old one opens nothing any more.
    let anew = format!("Bearer {}", token(&sandbox, "bob"));
    answered(&serving.ask("POST", &[bearer], &initialize()), 401);
    let anew = [("Authorization", anew.as_str())];
    answered(&serving.ask("POST", &anew, &initialize()), 200);
    serving.ends_well();
}

#[test]
fn nobody_goes_on_with_the_session_of_another() {
    let sandbox = Sandbox::with_team(&["alice", "bob"], &[]);
    let [alice, bob] = ["alice", "bob"].map(|member| format!("Bearer {}", token(&sandbox, member)));
    let serving = Serving::of(&sandbox);
    let begun = serving.ask("POST", &[("Authorization", &bob)], &initialize());
    let session = session(&begun);
    let own = [
        ("Authorization", bob.as_str()),
        ("Mcp-Session-Id", &session),
    ];
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    answered(&serving.ask("POST", &own, &initialized.to_string()), 202);
    let listed = serving.ask("POST", &own, &call("list_team"));
    assert!(listed.contains("bob (you)"), "{listed}");
    let other = [
        ("Authorization", alice.as_str()),
        ("Mcp-Session-Id", &session),
    ];
    answered(&serving.ask("POST", &other, &call("list_team")), 404);
    // Ending what one does not have is no error, and ends nothing.
    answered(&serving.ask("DELETE", &other, ""), 202);
    let still = serving.ask("POST", &own, &call("list_team"));
    assert!(still.contains("bob (you)"), "{still}");
    serving.ends_well();
}

#[test]
fn a_member_that_is_started_anew_leaves_no_stream_of_its_earlier_life_open() {
    let sandbox = Sandbox::with_team(&["alice", "bob"], &[]);
    let bob = format!("Bearer {}", token(&sandbox, "bob"));
    let serving = Serving::of(&sandbox);
    let begun = serving.ask("POST", &[("Authorization", &bob)], &initialize());
    let session = session(&begun);
    let own = [
        ("Authorization", bob.as_str()),
        ("Mcp-Session-Id", &session),
    ];
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    answered(&serving.ask("POST", &own, &initialized.to_string()), 202);
    // A call that was answered: the server has begun to look at the roster.
    answered(&serving.ask("POST", &own, &call("list_team")), 200);
    let mut stream = serving.send("GET", &own, "");
    let mut head = [0; 15];
    stream.read_exact(&mut head).expect("it answers");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    token(&sandbox, "bob");
    in_time(move || {
        stream
            .read_to_end(&mut Vec::new())
            .expect("it comes to its end")
    });
    serving.ends_well();
}

#[test]
fn a_team_that_is_not_there_and_a_member_that_wants_to_serve_all_are_refused() {
    let sandbox = Sandbox::with_team(&["alice"], &[]);
    sandbox.call(["mcp", "--team", "nope"]).ended(1);
    sandbox.call(["--as", "nobody", "mcp"]).ended(1);
    let denied = sandbox.call_as("alice", ["mcp", "--http"]).ended(1);
    assert!(
        denied
            .stderr
            .contains("only the leader may serve the whole team"),
        "{denied:#?}"
    );
    sandbox.call(["mcp", "--port", "1"]).ended(2);
    sandbox.call(["mcp", "config", "sh"]).ended(2);
    let denied = sandbox
        .call_as("alice", ["mcp", "config", "claude", "--new-token"])
        .ended(1);
    assert_eq!(denied.stdout, "");
}

#[test]
fn standard_output_holds_the_protocol_alone() {
    let sandbox = Sandbox::with_team(&["alice"], &[]);
    let mut input = initialize();
    input.push('\n');
    input.push_str("this is no JSON\n");
    input.push_str(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    input.push('\n');
    input.push_str(&call("list_team"));
    input.push('\n');
    let answer = sandbox
        .feed(["--as", "alice", "mcp"], input.as_bytes())
        .succeeded();
    let lines: Vec<serde_json::Value> = answer
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .collect();
    assert!(
        lines.iter().all(|line| line["jsonrpc"] == "2.0"),
        "{lines:#?}"
    );
    assert!(lines.iter().any(|line| line["id"] == 2), "{lines:#?}");
    assert!(answer.stderr.contains("serving alice of team t"));
}
