//! Many processes at once, and processes that are killed.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::sandbox::{Reaped, Sandbox, rounds};

fn begin(sandbox: &Sandbox, line: &[&str]) -> Child {
    sandbox
        .command(line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn state(sandbox: &Sandbox, mode: &str) -> Value {
    let path = sandbox.root().join(format!(".omp/state/{mode}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn is_there(sandbox: &Sandbox, mode: &str) -> bool {
    let path = sandbox.root().join(format!(".omp/state/{mode}.json"));
    path.exists()
}

/// Ticks in `processes` threads, each one process after the other; answers how many were counted.
fn tick(sandbox: &Sandbox, processes: usize, each: usize) -> usize {
    std::thread::scope(|scope| {
        let one = || {
            (0..each)
                .filter(|_| sandbox.call(["ralph", "tick", "-q"]).status == Some(0))
                .count()
        };
        let threads: Vec<_> = (0..processes).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    })
}

#[test]
fn d1_real_every_tick_of_eight_processes_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.call(["ralph", "start", "x"]).succeeded();
    let each = rounds("PITCREW_TICKS", 25);
    assert_eq!(tick(&sandbox, 8, each), 8 * each);
    assert_eq!(state(&sandbox, "ralph")["completedSlices"], 8 * each);
}

#[test]
fn d1_real_a_cancelled_loop_never_comes_back() {
    for _ in 0..rounds("PITCREW_ROUNDS", 10) {
        let sandbox = Sandbox::new();
        sandbox.call(["ralph", "start", "x"]).succeeded();
        std::thread::scope(|scope| {
            let ticking = scope.spawn(|| tick(&sandbox, 4, 10));
            sandbox.call(["ralph", "cancel"]).succeeded();
            assert!(!is_there(&sandbox, "ralph"));
            ticking.join().unwrap();
        });
        assert!(!is_there(&sandbox, "ralph"));
        sandbox.call(["ralph", "status"]).ended(1);
    }
}

#[test]
fn real_of_starts_at_once_one_wins() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..8).map(|n| format!("loop {n}")).collect();
    let children: Vec<_> = names
        .iter()
        .map(|name| (name, begin(&sandbox, &["ralph", "start", name])))
        .collect();
    let won: Vec<&String> = children
        .into_iter()
        .filter(|(_, child)| child.id() > 0)
        .filter_map(|(name, child)| {
            let output = child.wait_with_output().unwrap();
            output.status.success().then_some(name)
        })
        .collect();
    assert_eq!(won.len(), 1, "{won:?}");
    assert_eq!(state(&sandbox, "ralph")["prompt"], won[0].as_str());
}

#[test]
fn real_of_passes_at_once_one_ends_the_loop() {
    let sandbox = Sandbox::new();
    sandbox.call(["ultraqa", "start", "x"]).succeeded();
    let children: Vec<_> = (0..8)
        .map(|_| begin(&sandbox, &["ultraqa", "cycle", "pass"]))
        .collect();
    let ended = children
        .into_iter()
        .filter(|child| child.id() > 0)
        .map(|child| child.wait_with_output().unwrap().status.success());
    assert_eq!(ended.filter(|ended| *ended).count(), 1);
    assert!(!is_there(&sandbox, "ultraqa"));
}

#[test]
fn real_killed_ticks_leave_a_whole_loop_and_no_tick_is_counted_twice() {
    let sandbox = Sandbox::new();
    sandbox.call(["ralph", "start", "x"]).succeeded();
    let begun = rounds("PITCREW_KILLS", 40);
    for round in 0..begun {
        let mut child = Reaped(begin(&sandbox, &["ralph", "tick", "-q"]));
        // From before its first system call to after its last.
        for _ in 0..round * 40 {
            std::thread::yield_now();
        }
        let _ = child.0.kill();
        child.0.wait().unwrap();
        let counted = state(&sandbox, "ralph")["completedSlices"]
            .as_u64()
            .unwrap();
        assert!(counted <= round as u64 + 1);
    }
    let before = state(&sandbox, "ralph")["completedSlices"]
        .as_u64()
        .unwrap();
    sandbox.call(["ralph", "tick"]).succeeded();
    assert_eq!(state(&sandbox, "ralph")["completedSlices"], before + 1);
    let left = std::fs::read_dir(sandbox.root().join(".omp/state")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["ralph.json"], "no draft is left");
}
