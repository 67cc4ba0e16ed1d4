//! A supervisor that was killed, and what its successor does with the processes it left.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const ROLE: &str = "PITCREW_TEST_ROLE";
const SCRIPT: &str = "PITCREW_TEST_SCRIPT";

/// The part of a supervisor that other tests start as a program of its own, and kill: it starts one group, says
/// which, and waits. Nobody plays it unless asked.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how a test hands its part to a copy of itself"
)]
fn supervisor() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let Ok(turn) = std::env::var(ROLE) else {
        return;
    };
    let mark = Mark::new(&turn).unwrap();
    runtime.block_on(async {
        let group = start(shell(&std::env::var(SCRIPT).unwrap(), &mark));
        first_line(&group).await;
        println!(
            "IDENTITY {}",
            serde_json::to_string(group.identity()).unwrap()
        );
        group.ended().await;
    });
}

/// The part of a program that runs inside the turn it is told to end. Nobody plays it unless asked.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how a test hands its part to a copy of itself"
)]
fn inhabitant() {
    let Ok(turn) = std::env::var(ROLE) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mark = Mark::new(&turn).unwrap();
    runtime.block_on(async {
        assert_eq!(sweep(&mark).await, Swept::OurOwnTurn);
        let own = Identity::own();
        assert_eq!(
            reclaim(&own, &mark, &Ladder::default()).await,
            Reclaimed::OurOwnTurn
        );
        let parent = Identity::of(std::os::unix::process::parent_id()).unwrap();
        assert_eq!(
            reclaim(&parent, &fresh_mark(), &Ladder::default()).await,
            Reclaimed::OurOwnTurn
        );
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "the killed supervisor is not one of our groups"
)]
fn part(name: &str, mark: &Mark) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            &format!("process::tests::reclaiming::{name}"),
            "--exact",
            "--nocapture",
        ])
        .env(ROLE, mark.turn())
        .stdout(Stdio::piped());
    command
}

/// Starts a supervisor of `script`, kills it, and answers the identity of what it left.
fn left_by_a_killed_supervisor(script: &str, mark: &Mark) -> Identity {
    let mut supervisor: Child = part("supervisor", mark)
        .env(SCRIPT, script)
        .spawn()
        .unwrap();
    let lines = BufReader::new(supervisor.stdout.take().unwrap()).lines();
    let identity = lines
        .map(Result::unwrap)
        .find_map(|line| Some(line.split_once("IDENTITY ")?.1.to_owned()))
        .unwrap();
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    serde_json::from_str(&identity).unwrap()
}

const QUICK: Ladder = Ladder {
    ask: Ask::Terminate,
    grace: SHORT,
};

#[tokio::test]
async fn what_a_killed_supervisor_left_is_asked_to_end() {
    let mark = fresh_mark();
    let script = "echo ready; sleep 1000";
    let identity = left_by_a_killed_supervisor(script, &mark);
    assert_eq!(identity.presence(), Presence::Alive);
    let patient = Ladder {
        grace: AN_HOUR,
        ..QUICK
    };
    let reclaimed = reclaim(&identity, &mark, &patient).await;
    assert_eq!(
        reclaimed,
        Reclaimed::Stopped {
            by: By::Ask,
            leftovers: Leftovers::default()
        }
    );
    assert_nothing_runs(&mark);
    assert_eq!(reclaim(&identity, &mark, &QUICK).await, Reclaimed::Gone);
}

#[tokio::test]
async fn what_a_killed_supervisor_left_is_killed_if_it_does_not_heed() {
    let mark = fresh_mark();
    let script = "trap '' TERM; setsid sleep 1000 & (env -i /bin/sleep 1000 &) ; echo ready; \
                  while :; do sleep 1000; done";
    let identity = left_by_a_killed_supervisor(script, &mark);
    let Reclaimed::Stopped { by, leftovers } = reclaim(&identity, &mark, &QUICK).await else {
        panic!("not stopped");
    };
    assert_eq!(by, By::Kill);
    assert_eq!(leftovers.remaining, 0);
    assert!(leftovers.killed >= 2, "{leftovers:?}");
    assert_nothing_runs(&mark);
    assert_eq!(identity.presence(), Presence::Gone);
}

#[tokio::test]
async fn a_recycled_pid_is_never_signalled() {
    let mark = fresh_mark();
    let identity = left_by_a_killed_supervisor("echo ready; exec sleep 1000", &mark);
    let doctored = |change: fn(&mut Identity)| {
        let mut doctored = identity.clone();
        change(&mut doctored);
        doctored
    };
    let earlier = doctored(|identity| identity.start_time = identity.start_time.map(|at| at - 1));
    assert_eq!(reclaim(&earlier, &mark, &QUICK).await, Reclaimed::Recycled);
    let other_boot = doctored(|identity| identity.boot_id = Some("another".to_owned()));
    assert_eq!(reclaim(&other_boot, &mark, &QUICK).await, Reclaimed::Gone);
    let elsewhere = doctored(|identity| identity.pid_namespace = Some(1));
    assert_eq!(
        reclaim(&elsewhere, &mark, &QUICK).await,
        Reclaimed::CannotTell(Blindness::OtherNamespace)
    );
    assert_eq!(identity.presence(), Presence::Alive);
    end_by_hand(&identity);
}

#[tokio::test]
async fn children_whose_first_process_is_gone_are_found_by_their_mark() {
    let mark = fresh_mark();
    let script = "setsid sleep 1000 & echo ready; exec sleep 1000";
    let identity = left_by_a_killed_supervisor(script, &mark);
    end_by_hand(&identity);
    assert_eq!(reclaim(&identity, &mark, &QUICK).await, Reclaimed::Gone);
    assert_eq!(marked(&mark).len(), 1);
    let Swept::Cleared(leftovers) = sweep(&mark).await else {
        panic!("not swept");
    };
    assert_eq!((leftovers.killed, leftovers.remaining), (1, 0));
    assert_nothing_runs(&mark);
}

#[test]
fn a_program_does_not_end_the_turn_it_runs_in() {
    let mark = fresh_mark();
    let status = part("inhabitant", &mark)
        .env(Mark::VARIABLE, mark.turn())
        .status()
        .unwrap();
    assert!(status.success());
}
