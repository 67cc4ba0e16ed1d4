//! `pitcrew mcp` driven by clients that others wrote: the official SDKs for TypeScript and Python, over standard input
//! and output and over HTTP, and what is left when such a client is killed.
//!
//! The SDKs stand in `target/tools/mcp`, where `.ci/run` puts them. Without them these tests pass and say that they were
//! skipped, unless the variable `PITCREW_REQUIRE` names `mcp`.
#![cfg(feature = "mcp")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "mcp/serving.rs"]
mod serving;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use pitcrew_runtime::tools::TOOLS;
use serde_json::Value;
use serving::{Serving, in_time, sandbox::Sandbox, sandbox::skipped};

/// One of the SDKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sdk {
    TypeScript,
    Python,
}

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Stdio,
    Http,
}

/// The SDKs' folder, if it is there.
#[expect(
    clippy::disallowed_methods,
    reason = "whether something may be missing is a matter of the machine that runs the tests"
)]
fn sdks() -> Option<std::path::PathBuf> {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../target/tools/mcp");
    let is_there = folder.join("installed").is_file();
    let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
    assert!(
        is_there || !required.split(',').any(|word| word == "mcp"),
        "the SDKs are required and missing: .ci/run puts them into target/tools/mcp"
    );
    if !is_there {
        skipped("there are no MCP SDKs in target/tools/mcp");
    }
    is_there.then_some(folder)
}

/// A team with two tasks, and bob's token.
fn team() -> (Sandbox, String) {
    let sandbox = Sandbox::with_team(&["alice", "bob"], &["count it", "write it"]);
    let token = serving::token(&sandbox, "bob");
    (sandbox, token)
}

/// The client of bob, to be started.
#[expect(
    clippy::disallowed_methods,
    reason = "the client is a program of its own, found on the caller's PATH"
)]
fn client(sdk: Sdk, mode: &str, sandbox: &Sandbox, token: &str, url: &str) -> Option<Command> {
    let sdks = sdks()?;
    let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    let mut command = match sdk {
        Sdk::TypeScript => {
            let mut command = Command::new("node");
            command
                .arg(scripts.join("client.mjs"))
                .arg(mode)
                .arg(sdks.join("js"));
            command
        }
        Sdk::Python => {
            let mut command = Command::new(sdks.join("py/bin/python"));
            command.arg(scripts.join("client.py")).arg(mode);
            command
        }
    };
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", sandbox.root().join("../home"))
        .env("PITCREW_BIN", env!("CARGO_BIN_EXE_pitcrew"))
        .env("PITCREW_ROOT", sandbox.root())
        .env("PITCREW_TEAM", "t")
        .env("PITCREW_AGENT", "bob")
        .env("PITCREW_TOKEN", token)
        .env("PITCREW_URL", url)
        .current_dir(sandbox.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(command)
}

/// A client goes through all that there is, and calls every tool.
fn does_everything(sdk: Sdk, over: Over) {
    let (sandbox, token) = team();
    let serving = (over == Over::Http).then(|| Serving::of(&sandbox));
    let url = serving.as_ref().map_or("", |serving| &serving.url);
    let mode = match over {
        Over::Stdio => "stdio",
        Over::Http => "http",
    };
    let Some(mut command) = client(sdk, mode, &sandbox, &token, url) else {
        return;
    };
    let output = in_time(move || command.output().expect("the client starts"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let said: Value = serde_json::from_slice(&output.stdout).expect("the client says what it did");
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let offered: Vec<&str> = texts(&said["offered"]);
    assert_eq!(offered, names);
    let called = texts(&said["called"]);
    let missed = names.iter().filter(|name| !called.contains(name));
    assert_eq!(missed.collect::<Vec<_>>(), Vec::<&&str>::new());
    if let Some(serving) = serving {
        serving.ends_well();
    }
}

fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

#[test]
fn the_typescript_sdk_does_everything_over_stdio() {
    does_everything(Sdk::TypeScript, Over::Stdio);
}

#[test]
fn the_typescript_sdk_does_everything_over_http() {
    does_everything(Sdk::TypeScript, Over::Http);
}

#[test]
fn the_python_sdk_does_everything_over_stdio() {
    does_everything(Sdk::Python, Over::Stdio);
}

#[test]
fn the_python_sdk_does_everything_over_http() {
    does_everything(Sdk::Python, Over::Http);
}

/// Starts a client that waits in a call, and kills it there. Answers the client's standard error, which its server
/// has too.
fn killed_while_it_waits(mut command: Command) -> impl Read + Send + 'static {
    let mut child: Child = command.spawn().expect("the client starts");
    let stdout = child.stdout.take().expect("a pipe");
    let mut stderr = child.stderr.take().expect("a pipe");
    let line = in_time(move || {
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        line
    });
    if line.trim() != "waits" {
        let mut said = String::new();
        let _ = stderr.read_to_string(&mut said);
        panic!("{line}{said}");
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    stderr
}

#[test]
fn the_server_ends_with_a_client_that_is_killed_and_holds_nothing() {
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        let (sandbox, token) = team();
        let Some(command) = client(sdk, "wait", &sandbox, &token, "") else {
            return;
        };
        let mut stderr = killed_while_it_waits(command);
        // The server has the same standard error, so that comes to its end only with the server.
        in_time(move || std::io::copy(&mut stderr, &mut std::io::sink()).expect("an end"));
        sandbox
            .call_as("alice", ["send", "bob", "are you there?"])
            .succeeded();
        let next = sandbox.call_as("bob", ["inbox", "--next", "--json"]);
        assert_eq!(
            next.succeeded().json()["message"]["body"],
            "are you there?",
            "{sdk:?}"
        );
    }
}
