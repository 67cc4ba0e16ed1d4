//! What pitcrew itself puts into the background outlives the turn that asked for it; what only looks like it does not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]
#![allow(
    clippy::disallowed_methods,
    reason = "these tests start processes and look for them"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crew::{Crew, facts};
use serde_json::{Value, json};

/// A process of this test that ends with it.
struct Own(Child);

impl Own {
    fn sleeper() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("600").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let (Ok(()) | Err(_)) = self.0.kill();
        let (Ok(_) | Err(_)) = self.0.wait();
    }
}

/// Ends what the test put into the background.
struct After<'a>(&'a Crew, &'a [&'a str]);

impl Drop for After<'_> {
    fn drop(&mut self) {
        let _ended = self.0.command(self.1).output();
    }
}

fn identity(pid: u32) -> Value {
    serde_json::to_value(pitcrew_runtime::process::Identity::of(pid).unwrap()).unwrap()
}

fn notes(seen: &[Value]) -> Vec<&str> {
    let noted = facts(seen, "noted").into_iter();
    noted.map(|fact| fact["note"].as_str().unwrap()).collect()
}

/// Adds a team whose member sits in a pane, whose process is `agent`.
fn seat(crew: &Crew, agent: &Own) {
    crew.call(["team", "init", "panes", "--member", "w", "--task", "x"])
        .ended(0);
    let seat = json!({
        "profile": "bash", "incarnation": 1, "openedAt": "2026-01-01T00:00:00.000Z", "socketPath": "none",
        "serverPid": 1, "serverStartedAt": 0, "sessionId": "$0", "sessionCreatedAt": 0, "windowId": "@0",
        "paneId": "%0", "process": identity(agent.0.id()),
    });
    crew.write(
        ".omp/state/team/panes/workers/w/pane.json",
        &seat.to_string(),
    );
}

fn monitor(crew: &Crew) -> Value {
    let status = crew.call(["team", "monitor", "status", "--json"]);
    serde_json::from_str(&status.stdout).unwrap()
}

#[test]
fn a_monitor_that_a_member_starts_outlives_its_turn_and_the_run() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 'start'\ndescription = 'x'\nscript = 'pitcrew ralph start go'\n\
         [[tasks]]\nid = 'after'\nblocked_by = ['start']\ndescription = 'x'\nscript = 'pitcrew team monitor status'\n",
    );
    let agent = Own::sleeper();
    seat(&crew, &agent);
    let _stopped = After(&crew, &["team", "monitor", "stop"]);
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(notes(&seen), [""; 0]);
    let standing = monitor(&crew);
    assert_eq!(standing["running"], true, "{standing}");
    assert_eq!(crew.call(["ralph", "cancel"]).status.code(), Some(0));
}

#[test]
fn what_only_says_that_it_is_a_monitor_is_ended() {
    let seconds = format!("6793.{}", std::process::id());
    let lock = "$PITCREW_ROOT/.omp/state/monitor.lock";
    let record = "$PITCREW_ROOT/.omp/state/monitor.json";
    let script = format!(
        "cp $(command -v sleep) monitor; : > {lock}; \
         setsid env -i ./monitor {seconds} <{lock} >/dev/null 2>&1 & \
         while grep -q PITCREW /proc/$!/environ; do :; done; \
         start=$(cut -d\" \" -f22 /proc/$!/stat); \
         printf \"{{\\\"process\\\":{{\\\"pid\\\":%s,\\\"start_time\\\":%s}},\\\"startedAt\\\":\\\"2026-01-01T00:00:00.000Z\\\"}}\" $! $start > {record}; \
         setsid env -i bash -c \"exec -a pitcrew ./monitor {seconds}\" --root $PITCREW_ROOT team monitor run <{lock} >/dev/null 2>&1 & \
         while grep -q PITCREW /proc/$!/environ; do :; done; \
         setsid env -i $(command -v pitcrew) --root $PITCREW_ROOT --team team --as leader inbox --follow <{lock} >/dev/null 2>&1 & \
         while grep -q PITCREW /proc/$!/environ; do :; done"
    );
    let crew = Crew::new("");
    crew.write(
        "team.toml",
        &format!(
            "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
             [[tasks]]\nid = 't'\ndescription = 'x'\nscript = '{script}'\n"
        ),
    );
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    let told = notes(&seen);
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(
        told.iter().all(|note| note.contains("which was ended")),
        "{told:#?}"
    );
    assert!(!is_running(&seconds));
}

fn is_running(word: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let mut lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.any(|line| line.split('\0').any(|found| found == word))
}

#[test]
fn panes_that_a_member_opens_outlive_its_turn_and_the_run() {
    if Command::new("tmux").arg("-V").output().is_err() {
        let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|word| word == "tmux"),
            "tmux is required and missing"
        );
        eprintln!("skipped: there is no tmux");
        return;
    }
    let crew = Crew::new("");
    let sockets = crew.root().parent().unwrap().join("s");
    fs::create_dir(&sockets).unwrap();
    let sockets = sockets.display().to_string();
    crew.write(
        "team.toml",
        &format!(
            "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
             [[tasks]]\nid = 'open'\ndescription = 'x'\nscript = 'env -u PITCREW_TOKEN TMUX_TMPDIR={sockets} TERM=xterm pitcrew team 1:bash work --name panes'\n\
             [[tasks]]\nid = 'after'\nblocked_by = ['open']\ndescription = 'x'\nscript = 'echo done'\n"
        ),
    );
    let _server = Server(&sockets);
    let (status, seen, _) = crew.start(&[]).end();
    assert_eq!(status, Some(0), "{seen:#?}");
    assert_eq!(notes(&seen), [""; 0]);
    let seat = fs::read(
        crew.root()
            .join(".omp/state/team/panes/workers/worker-1/pane.json"),
    )
    .unwrap();
    let seat: Value = serde_json::from_slice(&seat).unwrap();
    for of in [&seat["process"], &seat["serverProcess"]] {
        let pid = of["pid"].as_u64().unwrap();
        assert!(Path::new(&format!("/proc/{pid}/exe")).exists(), "{seat}");
    }
}

/// The tmux server whose socket lies in that folder.
struct Server<'a>(&'a str);

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        command.env("TMUX_TMPDIR", self.0).env_remove("TMUX");
        let _ended = command.arg("kill-server").output();
    }
}

#[test]
fn a_run_that_cannot_take_in_orphans_says_so() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'a'\n\
         [[tasks]]\nid = 't'\ndescription = 'x'\nscript = 'echo done'\n",
    );
    // A shell that replaces itself leaves its children to its successor.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "sleep 30 2>/dev/null & exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_pitcrew"))
        .args(["run", "team.toml"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", crew.root())
        .current_dir(crew.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let told = String::from_utf8(shell.output().unwrap().stderr).unwrap();
    assert!(
        told.contains("what hides from its turn will not be found"),
        "{told}"
    );
}
