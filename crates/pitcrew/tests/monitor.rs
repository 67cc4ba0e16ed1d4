//! The monitor as a process: one for each project, started where it is needed, gone when it is not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use pitcrew_core::Timestamp;
use pitcrew_runtime::process::Identity;
use pitcrew_runtime::tmux::{PaneRecord, ServerRecord};
use pitcrew_runtime::wake::PaneSeat;
use sandbox::{Reaped, Sandbox};
use serde_json::{Value, json};

/// A project whose team `t` has the member `w1` in a pane whose process runs, as long as this does.
struct Project {
    sandbox: Sandbox,
    agent: Reaped,
}

impl Project {
    fn new() -> Self {
        let sandbox = Sandbox::with_team(&["w1", "w2"], &["a", "b"]);
        let agent = Reaped(sleeper());
        let project = Self { sandbox, agent };
        project.seat("w1", project.agent.0.id());
        project
    }

    fn seat(&self, member: &str, pid: u32) {
        let seat = PaneSeat {
            profile: "bash".to_string(),
            incarnation: 1,
            opened_at: Timestamp::from_millis(0),
            pane: PaneRecord {
                server: ServerRecord {
                    socket_path: self.sandbox.root().join("no-socket"),
                    server_pid: 1,
                    server_started_at: 0,
                    server_process: None,
                },
                session_id: "$0".to_string(),
                session_created_at: 0,
                window_id: "@0".to_string(),
                pane_id: "%0".to_string(),
                process: Identity::of(pid).unwrap(),
            },
        };
        let folder = self.sandbox.team("t", &format!("workers/{member}"));
        std::fs::create_dir_all(&folder).unwrap();
        let text = serde_json::to_string(&seat).unwrap();
        std::fs::write(folder.join("pane.json"), text).unwrap();
    }

    fn status(&self) -> Value {
        self.sandbox
            .call(["team", "monitor", "status", "--json"])
            .json()
    }

    /// The process of the monitor, once it has written down who it is.
    fn monitor(&self) -> u32 {
        until("a monitor", || {
            let status = self.status();
            let pid = status["process"].as_u64()?;
            u32::try_from(pid).ok()
        })
    }

    fn is_running(&self) -> bool {
        self.status()["running"] == true
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let events = self
            .sandbox
            .call(["events", "--team", "t", "--type", kind, "--json"])
            .json();
        events["events"].as_array().unwrap().clone()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.sandbox.root().join(".omp/state").join(file)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        self.sandbox.call(["team", "monitor", "stop"]);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process that runs is what a pane has"
)]
fn sleeper() -> Child {
    std::process::Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

/// Sends a signal to a process that this test has started.
#[expect(
    clippy::disallowed_methods,
    reason = "`kill` is how a test sends a signal without unsafe code"
)]
fn signal(name: &str, pid: u32) {
    let sent = std::process::Command::new("kill")
        .args([name, &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process of its own tells nobody when it has begun or ended"
)]
fn until<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not come");
}

/// How many processes watch the project, by what the system says of their command lines.
fn watchers(project: &Project) -> usize {
    let root = project.sandbox.root().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else {
            continue;
        };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        found += usize::from(line.contains(root) && line.contains("team monitor run"));
    }
    found
}

#[test]
fn d2_real_six_loop_starts_at_once_make_one_monitor() {
    let project = Project::new();
    let starts: Vec<Child> = ["ralph", "ultrawork", "ultraqa", "ralph", "ralph", "ralph"]
        .iter()
        .map(|mode| {
            project
                .sandbox
                .command([mode, "start", "x", "--force"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut said = 0;
    for start in starts {
        let output = start.wait_with_output().unwrap();
        assert!(output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        said += usize::from(stderr.contains("a monitor prompts idle panes"));
    }
    assert_eq!(said, 1);
    let pid = project.monitor();
    assert_eq!(watchers(&project), 1);
    project
        .sandbox
        .call(["ralph", "start", "y", "--force"])
        .succeeded();
    assert_eq!(project.monitor(), pid);
    assert_eq!(project.events("monitor_started").len(), 1);
}

#[test]
fn d3_real_after_a_killed_monitor_the_next_loop_start_makes_a_new_one_at_once() {
    let project = Project::new();
    project.sandbox.call(["ralph", "start", "x"]).succeeded();
    let first = project.monitor();
    signal("-KILL", first);
    until("the end of the monitor", || {
        (!project.is_running()).then_some(())
    });
    let answer = project
        .sandbox
        .call(["ultrawork", "start", "y"])
        .succeeded();
    assert!(answer.stderr.contains("a monitor prompts"), "{answer:?}");
    let second = until("another monitor", || {
        Some(project.monitor()).filter(|pid| *pid != first)
    });
    assert_eq!((watchers(&project), second == first), (1, false));
}

#[test]
fn d5_real_the_last_cancelled_loop_ends_the_monitor() {
    let project = Project::new();
    project.sandbox.call(["ralph", "start", "x"]).succeeded();
    project.sandbox.call(["ultraqa", "start", "y"]).succeeded();
    project.monitor();
    project.sandbox.call(["ralph", "cancel"]).succeeded();
    assert!(project.is_running());
    project
        .sandbox
        .call(["ultraqa", "cycle", "pass"])
        .succeeded();
    until("the end of the monitor", || {
        (!project.is_running()).then_some(())
    });
    let status = project.status();
    assert_eq!(
        (&status["reason"], &status["running"]),
        (&json!("no_loop"), &json!(false))
    );
    until("the end of its process", || {
        (watchers(&project) == 0).then_some(())
    });
    assert_eq!(project.events("monitor_ended").len(), 1);
}

#[test]
fn d5_b6_real_a_member_whose_process_ended_gives_its_task_back_and_the_last_one_ends_the_monitor() {
    let mut project = Project::new();
    let sandbox = &project.sandbox;
    sandbox.call_as("w1", ["task", "claim", "1"]).succeeded();
    sandbox.call_as("w2", ["task", "claim", "2"]).succeeded();
    sandbox.call(["ralph", "start", "x"]).succeeded();
    project.monitor();
    project.agent.0.kill().unwrap();
    project.agent.0.wait().unwrap();
    until("the task", || {
        (project.sandbox.task("t", "1")["status"] == "pending").then_some(())
    });
    assert_eq!(project.sandbox.task("t", "2")["status"], "in_progress");
    until("the end of the monitor", || {
        (!project.is_running()).then_some(())
    });
    assert_eq!(project.status()["reason"], "no_live_team");
    let inbox = project.sandbox.call(["inbox", "--json"]).json().to_string();
    assert!(inbox.contains("w1 is gone: its tmux server is gone. Its task 1 is pending again."));
}

#[test]
fn a_monitor_can_be_stopped_and_comes_back_with_the_next_start() {
    let project = Project::new();
    let stop = || {
        project
            .sandbox
            .call(["team", "monitor", "stop"])
            .succeeded()
    };
    assert_eq!(stop().stdout, "monitor was not running\n");
    project.sandbox.call(["ralph", "start", "x"]).succeeded();
    project.monitor();
    assert_eq!(stop().stdout, "monitor stopped\n");
    let status = project.sandbox.call(["team", "monitor", "status"]).ended(1);
    assert_eq!(
        status.stdout,
        "monitor not running: it was ended, or was killed\n"
    );
    project
        .sandbox
        .call(["ralph", "start", "x", "--force"])
        .succeeded();
    let pid = project.monitor();
    // One that is held fast does not answer.
    signal("-STOP", pid);
    let stopped = stop();
    assert!(stopped.stdout.contains("was killed"), "{stopped:?}");
    assert!(!project.is_running());
}

#[test]
fn without_a_loop_or_a_live_team_there_is_no_monitor() {
    let alone = Sandbox::with_team(&["w1"], &[]);
    alone.call(["ralph", "start", "x"]).succeeded();
    let status = alone.call(["team", "monitor", "status", "--json"]).ended(1);
    assert_eq!(
        (&status.json()["running"], &status.json()["liveTeam"]),
        (&json!(false), &json!(false))
    );
    let project = Project::new();
    for line in [
        &["team", "status", "t"][..],
        &["team", "collect", "t"],
        &["ralph", "status"],
        &["team", "monitor", "status"],
        &["team", "explain", "w1"],
    ] {
        project.sandbox.call(line);
        assert!(!project.path("monitor.lock").exists(), "{line:?}");
    }
}

#[test]
fn a_second_monitor_by_hand_is_refused() {
    let project = Project::new();
    project.sandbox.call(["ralph", "start", "x"]).succeeded();
    let pid = project.monitor();
    let answer = project
        .sandbox
        .call(["team", "monitor", "run", "--json"])
        .ended(1)
        .json();
    assert_eq!(answer["code"], "monitor_running");
    assert_eq!(project.monitor(), pid);
}

#[test]
fn explain_says_why_a_member_was_not_nudged() {
    let project = Project::new();
    let explain = |member: &str| {
        let answer = project
            .sandbox
            .call(["team", "explain", member, "--team", "t", "--json"])
            .succeeded()
            .json();
        answer["code"].as_str().unwrap().to_string()
    };
    assert_eq!(
        (explain("w1"), explain("w2")),
        ("loop_inactive".to_string(), "no_pane".to_string())
    );
    project.sandbox.call(["ralph", "start", "x"]).succeeded();
    project.monitor();
    until("a decision", || {
        (explain("w1") == "pane_gone").then_some(())
    });
    let words = project
        .sandbox
        .call(["team", "explain", "w1"])
        .succeeded()
        .stdout;
    assert!(
        words.starts_with("w1 is not prompted since ") && words.contains("pane_gone"),
        "{words}"
    );
    project
        .sandbox
        .call(["team", "monitor", "stop"])
        .succeeded();
    assert_eq!(explain("w1"), "no_monitor");
    project.sandbox.call(["team", "shutdown", "t"]).succeeded();
    assert_eq!(explain("w1"), "shut_down");
    let refused = project
        .sandbox
        .call(["team", "explain", "w9", "--json"])
        .ended(1)
        .json();
    assert_eq!(refused["code"], "unknown_member");
}

#[test]
fn real_an_idle_monitor_costs_next_to_nothing() {
    let project = Project::new();
    project.sandbox.call(["ralph", "start", "x"]).succeeded();
    let pid = project.monitor();
    // The code of a debug build alone is larger than all of a release build.
    let key = match cfg!(debug_assertions) {
        true => "RssAnon",
        false => "VmHWM",
    };
    let resident = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024
    };
    until("a decision", || {
        (!project.events("nudge_decided").is_empty()).then_some(())
    });
    assert!(resident() < 20, "{} MiB", resident());
}
