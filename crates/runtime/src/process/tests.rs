//! Groups of real processes: shell scripts that behave, misbehave and hide.
//!
//! Every test gives its processes a mark of their own and looks for that mark with [`marked`], which reads `/proc`
//! in the plainest way and shares no code with what it checks.

#![cfg(target_os = "linux")]

mod ending;
mod reclaiming;
mod signals;
mod starting;
mod stopping;
mod strays;
mod streaming;

use super::*;
use crate::clock::{Entropy, SystemClock, SystemEntropy};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn fresh_mark() -> Mark {
    Mark::new(&SystemEntropy.id().unwrap()).unwrap()
}

fn launch(program: &str, mark: &Mark) -> Launch {
    Launch::new(
        program,
        "/",
        Environment::empty().set("PATH", PATH),
        mark.clone(),
    )
}

fn shell(script: &str, mark: &Mark) -> Launch {
    launch("sh", mark).args(["-c", script])
}

fn start(launch: Launch) -> Group {
    Group::spawn(launch, Arc::new(SystemClock)).unwrap()
}

fn with_grace(launch: Launch, grace: Duration) -> Launch {
    launch.ladder(Ladder {
        ask: Ask::Terminate,
        grace,
    })
}

const AN_HOUR: Duration = Duration::from_secs(3_600);
const SHORT: Duration = Duration::from_millis(40);

/// Waits until the group has printed a whole line.
async fn first_line(group: &Group) -> String {
    let mut seen = 0;
    loop {
        seen = group.printed_beyond(Stream::Stdout, seen).await;
        let text = printed(group);
        if let Some((line, _)) = text.split_once('\n') {
            return line.to_owned();
        }
        assert_ne!(group.observe().stage, Stage::Ended, "no line: {text:?}");
    }
}

fn printed(group: &Group) -> String {
    String::from_utf8(group.tail(Stream::Stdout, usize::MAX)).unwrap()
}

/// The running processes whose start environment carries the mark.
fn marked(mark: &Mark) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let name = entry.unwrap().file_name();
        let Ok(pid) = name.to_str().unwrap().parse::<u32>() else {
            continue;
        };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(mark.turn()) {
            found.push(pid);
        }
    }
    found
}

fn assert_nothing_runs(mark: &Mark) {
    assert_eq!(
        marked(mark),
        Vec::<u32>::new(),
        "processes of the turn run on"
    );
}

fn assert_collected(group: &Control) {
    let pid = group.identity().pid;
    assert!(
        !fs::exists(format!("/proc/{pid}")).unwrap(),
        "{pid} was not collected"
    );
}

/// The end of a group, after which nothing of it may be left in any state.
async fn ended_for_good(group: &Control, mark: &Mark) -> Ended {
    let ended = group.ended().await;
    assert_eq!(group.observe().stage, Stage::Ended);
    assert_nothing_runs(mark);
    assert_collected(group);
    ended
}

/// Kills one process that no group owns, and waits until it is gone.
fn end_by_hand(identity: &Identity) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(identity.pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    while identity.presence() == Presence::Alive {
        std::thread::yield_now();
    }
}
