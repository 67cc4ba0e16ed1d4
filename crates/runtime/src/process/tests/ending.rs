//! A group that ends by itself.

use super::*;
use crate::clock::ManualClock;

async fn check(script: &str, how: How, status: Status) {
    let mark = fresh_mark();
    let group = start(shell(script, &mark));
    let ended = ended_for_good(&group, &mark).await;
    assert_eq!((ended.how, ended.status), (how, Some(status)), "{script}");
    assert_eq!(ended.leftovers, Leftovers::default(), "{script}");
    assert_eq!(ended.streams, Streams::Closed, "{script}");
}

#[tokio::test]
async fn an_exit_code_is_told_as_it_is() {
    for code in [0, 1, 7, 126, 127, 255] {
        check(
            &format!("exit {code}"),
            How::Exited(code),
            Status::Exited(code),
        )
        .await;
    }
}

#[tokio::test]
async fn a_signal_from_elsewhere_is_told_from_an_exit_code() {
    for signal in [1, 9, 11, 15] {
        check(
            &format!("kill -{signal} $$"),
            How::Signaled(signal),
            Status::Signaled(signal),
        )
        .await;
    }
    check("exit 137", How::Exited(137), Status::Exited(137)).await;
}

#[tokio::test]
async fn a_group_that_ended_before_it_was_told_to_stop_was_not_stopped() {
    let mark = fresh_mark();
    let group = start(shell("exit 3", &mark));
    // The task of the group cannot run before this test awaits.
    while group.identity().presence() == Presence::Alive {
        std::thread::yield_now();
    }
    group.stop();
    assert_eq!(ended_for_good(&group, &mark).await.how, How::Exited(3));
}

#[tokio::test]
async fn many_hear_of_the_same_end_before_and_after() {
    let mark = fresh_mark();
    let group = start(shell("echo out; echo err >&2", &mark));
    let (one, other) = (group.control(), group.control());
    let (first, second) = tokio::join!(one.ended(), other.ended());
    assert_eq!(first, second);
    assert_eq!(group.ended().await, first);
    assert!(first.is_success());
    assert_eq!((first.stdout.printed, first.stderr.printed), (4, 4));
}

#[tokio::test]
async fn fifty_groups_at_once_each_end_with_their_own_code() {
    let groups: Vec<(i32, Mark, Group)> = (0..50)
        .map(|code| {
            let mark = fresh_mark();
            let group = start(shell(&format!("exit {code}"), &mark));
            (code, mark, group)
        })
        .collect();
    for (code, mark, group) in &groups {
        assert_eq!(ended_for_good(group, mark).await.how, How::Exited(*code));
    }
}

#[tokio::test]
async fn what_can_be_seen_is_timed_by_the_clock_it_was_given() {
    let clock = Arc::new(ManualClock::at(5_000));
    let mark = fresh_mark();
    let group = Group::spawn(
        shell("read go; echo now; sleep 1000", &mark).input(Input::Bytes(b"go\n".to_vec())),
        Arc::clone(&clock) as Arc<dyn crate::clock::Clock>,
    )
    .unwrap();
    let at_start = group.observe();
    assert_eq!(
        (at_start.stage, at_start.started_at, at_start.last_output_at),
        (Stage::Running, 5_000, None)
    );
    clock.advance(1_234);
    first_line(&group).await;
    let seen = group.observe();
    assert_eq!((seen.last_output_at, seen.stdout_bytes), (Some(6_234), 4));
    group.kill();
    assert_eq!(ended_for_good(&group, &mark).await.wall_ms, 1_234);
}

#[tokio::test]
async fn an_end_is_written_down_in_words() {
    let mark = fresh_mark();
    let ended = start(shell("exit 4", &mark)).ended().await;
    let mut value = serde_json::to_value(&ended).unwrap();
    value["wall_ms"] = 0.into();
    assert_eq!(
        value,
        serde_json::json!({
            "how": {"exited": 4}, "status": {"exited": 4}, "wall_ms": 0,
            "leftovers": {"killed": 0, "remaining": 0},
            "stdout": {"printed": 0, "left_out": 0}, "stderr": {"printed": 0, "left_out": 0},
            "streams": "closed", "input_left": 0
        })
    );
}
