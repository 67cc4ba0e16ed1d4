//! `limits run` that is interrupted: its command ends with it, and the books are right.

use std::process::Child;

use super::*;

/// Starts a shell line inside the limits, as w1, and waits until it has said that it is up.
fn begun(sandbox: &Sandbox, script: &str) -> Child {
    let script = format!("echo $$ > pid.tmp; {script}");
    let line = [
        "--team", "t", "--as", "w1", "limits", "run", "--tokens", "100", "--cost", "0.50", "--",
        "/bin/sh", "-c", &script,
    ];
    let mut command = sandbox.command(line);
    command
        .env("PATH", "/usr/bin:/bin")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    while !sandbox.root().join("pid").exists() {
        std::thread::yield_now();
    }
    child
}

#[expect(clippy::disallowed_methods, reason = "a signal is sent by a program")]
fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-s", name, &pid]).status().unwrap().success());
}

fn used_and_reserved(sandbox: &Sandbox) -> (Value, Value) {
    let status = sandbox.call(["limits", "status", "--json"]).succeeded();
    let status = status.json()["status"].clone();
    (
        status["used"]["cost"].clone(),
        status["reserved"]["requests"].clone(),
    )
}

fn is_gone(sandbox: &Sandbox) -> bool {
    let pid = fs::read_to_string(sandbox.root().join("pid")).unwrap();
    !std::path::Path::new("/proc").join(pid.trim()).exists()
}

#[test]
fn whoever_interrupts_has_the_command_end_and_what_it_reports_booked() {
    for name in ["INT", "TERM", "HUP"] {
        let sandbox = members(1);
        sandbox.call(["limits", "set", "--budget", "2"]).succeeded();
        let child = begun(
            &sandbox,
            "exec 2>/dev/null; trap 'echo \"{\\\"tokens\\\":40,\\\"cost\\\":0.2}\"; exit 0' TERM; mv pid.tmp pid; \
             while :; do sleep 0.05; done",
        );
        signal(&child, name);
        let ended = answer(child.wait_with_output().unwrap()).ended(130);
        assert_eq!(
            ended.stderr,
            "interrupted: the command is asked to end; once more kills it\n\
             booked 40 tokens and $0.20 to w1\n",
            "{name}"
        );
        assert_eq!(used_and_reserved(&sandbox), (200_000.into(), 0.into()));
        assert!(is_gone(&sandbox), "{name}");
    }
}

#[test]
fn a_quit_kills_the_command_at_once_and_the_estimate_is_booked() {
    let sandbox = members(1);
    sandbox.call(["limits", "set", "--budget", "2"]).succeeded();
    let child = begun(
        &sandbox,
        "trap : TERM; mv pid.tmp pid; while :; do sleep 0.05; done",
    );
    signal(&child, "QUIT");
    let ended = answer(child.wait_with_output().unwrap()).ended(130);
    assert_eq!(
        ended.stderr,
        "interrupted: the command is killed\nbooked 100 tokens and $0.50 (the estimate) to w1\n"
    );
    assert_eq!(used_and_reserved(&sandbox), (500_000.into(), 0.into()));
    assert!(is_gone(&sandbox));
}
