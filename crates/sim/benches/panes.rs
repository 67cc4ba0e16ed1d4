//! What panes cost: `cargo bench -p pitcrew-sim --bench panes`. Needs tmux.
//!
//! | part | what is timed |
//! |---|---|
//! | scan | one look at 5 and at 50 panes with full screens, judged; promised: less than 3 times as long |
//! | wake | one line submitted to a ready agent, beside the delays of its profile; promised: less than 1.2 times |
//! | send | the whole command `send` to a member in a pane, beside the same delays and the time for gathering |
//!
//! The median of the rounds counts.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, starts processes, prints, and may fail"
)]
#![allow(dead_code, reason = "the tests' equipment has more than is used here")]

#[path = "../tests/crew/camp.rs"]
mod camp;
#[path = "../tests/tmux/yard.rs"]
mod yard;

use std::time::{Duration, Instant};

use pitcrew_runtime::tmux::{Opening, PaneRecord, Size};
use yard::{Yard, until, yard};

fn main() {
    let Some(yard) = yard() else { return };
    scans(&yard);
    wakes(&yard);
    sends();
}

fn median(mut spans: Vec<Duration>) -> Duration {
    spans.sort();
    spans[spans.len() / 2]
}

fn scans(yard: &Yard) {
    let names: Vec<String> = (0..50).map(|at| format!("w{at}")).collect();
    let (seats, files): (Vec<_>, Vec<_>) = names.iter().map(|name| yard.seat(name)).unzip();
    let opening = Opening::Session {
        name: "omp-team-x",
        size: Size::default(),
    };
    let panes = yard.tmux.open(opening, &seats).unwrap();
    let mut switches = Vec::new();
    let rows: Vec<String> = (0..40)
        .map(|at| format!("row {at} of a full screen, {}", "x".repeat(60)))
        .collect();
    rows.iter()
        .for_each(|row| switches.extend(["--before", row]));
    for ((name, file), pane) in names.iter().zip(&files).zip(&panes) {
        yard.release(name, file, pane.clone(), &switches);
    }
    let profile = yard::profile("claude");
    let judged = |records: &[&PaneRecord]| {
        let agents: Vec<_> = records.iter().map(|pane| (*pane, &profile)).collect();
        let seen = yard.tmux.scan(&agents).unwrap();
        seen.iter()
            .filter(|(_, reading)| reading.state.word() == "ready")
            .count()
    };
    let all: Vec<&PaneRecord> = panes.iter().collect();
    until("fifty ready agents", || (judged(&all) == 50).then_some(()));
    let time = |records: &[&PaneRecord]| {
        let rounds = (0..40).map(|_| {
            let start = Instant::now();
            assert_eq!(judged(records), records.len());
            start.elapsed()
        });
        median(rounds.collect())
    };
    // Five panes are looked at while the other 45 are there, as in a server that others use too.
    let (few, many) = (time(&all[..5]), time(&all));
    println!("scan of  5 panes  {few:?}");
    println!(
        "scan of 50 panes  {many:?}  ({:.2} times)",
        many.as_secs_f64() / few.as_secs_f64()
    );
    yard.tmux.end_session(&panes[0]).unwrap();
}

fn wakes(yard: &Yard) {
    for skin in ["claude", "codex", "copilot", "gemini", "opencode"] {
        let fake = yard.ready(skin, &["--skin", skin, "--turn-ms", "250"]);
        let keys = fake.profile().submit;
        let delays = Duration::from_millis(u64::from(keys.burst_ms + keys.verify_ms));
        let rounds = (0..9).map(|at| {
            until("a ready agent", || {
                (yard.state(&fake).word() == "ready").then_some(())
            });
            let start = Instant::now();
            let outcome = yard.submit(&fake, &format!("You have {at} new message(s)."));
            assert_eq!(outcome.word(), "submitted", "{outcome:?}");
            start.elapsed()
        });
        let took = median(rounds.collect());
        let ratio = took.as_secs_f64() / delays.as_secs_f64();
        println!(
            "wake of {skin:<9} {took:?}, delays of its profile {delays:?}  ({ratio:.2} times)"
        );
    }
}

fn sends() {
    let Some(camp) = camp::camp() else { return };
    camp.profile("fake", "--turn-ms 50");
    camp.call(&["team", "1:fake", "x", "--name", "t"]).ended(0);
    let keys = yard::profile("claude").submit;
    let delays = u64::from(keys.gather_ms + keys.burst_ms + keys.verify_ms);
    let delays = Duration::from_millis(delays);
    let rounds = (0..9).map(|_| {
        camp.await_ready("t", "worker-1");
        // What was read is progress, so that the next message is told at once.
        camp.call(&["--team", "t", "--as", "worker-1", "inbox", "--ack", "all"])
            .ended(0);
        let start = Instant::now();
        let sent = camp.call(&["--team", "t", "send", "worker-1", "hello", "--json"]);
        let took = start.elapsed();
        assert_eq!(sent.json()["wake"]["outcome"], "submitted", "{sent:?}");
        took
    });
    let took = median(rounds.collect());
    let ratio = took.as_secs_f64() / delays.as_secs_f64();
    println!("send to a pane    {took:?}, delays of its profile {delays:?}  ({ratio:.2} times)");
}
