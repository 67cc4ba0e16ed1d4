use alloc::string::ToString;
use alloc::vec::Vec;
use proptest::prelude::*;

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn process(pid: u32, start_time: u64, boot_id: &str) -> Process {
    let (start_time, boot_id) = (Some(start_time), Some(boot_id.to_string()));
    Process {
        pid,
        start_time,
        boot_id,
    }
}

fn recorded() -> Process {
    process(7, 500, "boot-1")
}

fn check(seen: Observation, expected: Verdict) {
    assert_eq!(judge(&recorded(), &seen), expected, "{seen:?}");
}

fn gone(why: Loss) -> Verdict {
    Verdict::Gone { why }
}

fn unknown(why: Doubt) -> Verdict {
    Verdict::Unknown { why }
}

#[test]
fn the_very_same_process_is_alive() {
    check(Observation::Alive(recorded()), Verdict::Alive);
    check(
        Observation::Alive(Process {
            boot_id: None,
            ..recorded()
        }),
        Verdict::Alive,
    );
}

#[test]
fn b6_a_recycled_pid_is_noticed_by_its_start_time() {
    for start_time in [0, 499, 501, u64::MAX] {
        check(
            Observation::Alive(process(7, start_time, "boot-1")),
            gone(Loss::Recycled),
        );
    }
}

#[test]
fn b6_an_owner_whose_process_ended_is_gone_at_the_first_look() {
    check(Observation::NoSuchProcess, gone(Loss::Ended));
    let mut grace = Grace::watching(moment(0, 0));
    let verdict = grace.judge(
        &recorded(),
        &Observation::NoSuchProcess,
        moment(5_000, 5_000),
    );
    assert_eq!(verdict, gone(Loss::Ended));
}

#[test]
fn another_boot_ends_every_process_of_the_one_before() {
    check(
        Observation::Alive(process(7, 500, "boot-2")),
        gone(Loss::Rebooted),
    );
    check(
        Observation::Alive(process(7, 501, "boot-2")),
        gone(Loss::Rebooted),
    );
}

#[test]
fn who_cannot_see_says_so() {
    for why in [Doubt::NoTable, Doubt::OtherNamespace] {
        check(Observation::CannotTell(why), unknown(why));
    }
    check(
        Observation::Alive(process(8, 501, "boot-1")),
        unknown(Doubt::OtherProcess),
    );
    check(
        Observation::Alive(Process {
            start_time: None,
            ..recorded()
        }),
        unknown(Doubt::NoStartTime),
    );
    let bare = Process {
        start_time: None,
        boot_id: None,
        ..recorded()
    };
    assert_eq!(
        judge(&bare, &Observation::Alive(recorded())),
        unknown(Doubt::NoStartTime)
    );
    assert_eq!(judge(&bare, &Observation::NoSuchProcess), gone(Loss::Ended));
}

fn moment(wall: i64, monotonic_ms: i64) -> Moment {
    Moment {
        wall: at(wall),
        monotonic_ms,
    }
}

/// Whether there is grace at each of the moments, one after the other from 0.
fn check_grace(moments: &[(i64, i64, bool)]) {
    let mut grace = Grace::watching(moment(0, 0));
    for (wall, monotonic_ms, expected) in moments {
        assert_eq!(
            grace.look(moment(*wall, *monotonic_ms)),
            *expected,
            "{moments:?} at {wall}"
        );
    }
}

#[test]
fn b6_a_suspended_machine_gives_grace_before_anybody_is_called_gone() {
    check_grace(&[
        (5_000, 5_000, false),
        (605_000, 10_000, true),
        (634_999, 39_999, true),
        (635_000, 40_000, false),
    ]);
    let mut grace = Grace::watching(moment(0, 0));
    let mut judged = |seen: &Observation, wall, monotonic_ms| {
        grace.judge(&recorded(), seen, moment(wall, monotonic_ms))
    };
    assert_eq!(
        judged(&Observation::NoSuchProcess, 600_000, 1_000),
        unknown(Doubt::Grace)
    );
    assert_eq!(
        judged(&Observation::Alive(recorded()), 610_000, 11_000),
        Verdict::Alive
    );
    assert_eq!(
        judged(&Observation::CannotTell(Doubt::NoTable), 611_000, 12_000),
        unknown(Doubt::NoTable)
    );
    assert_eq!(
        judged(&Observation::NoSuchProcess, 630_000, 31_000),
        gone(Loss::Ended)
    );
}

#[test]
fn a_clock_that_was_set_gives_grace_in_both_directions() {
    check_grace(&[(7_001, 5_000, true)]);
    check_grace(&[(2_999, 5_000, true)]);
    check_grace(&[(7_000, 5_000, false)]);
    check_grace(&[(3_000, 5_000, false)]);
}

#[test]
fn a_second_sleep_starts_the_grace_again_and_uses_none_of_it_up() {
    check_grace(&[
        (600_000, 0, true),
        (1_200_000, 29_999, true),
        (1_230_000, 59_998, true),
        (1_230_001, 59_999, false),
    ]);
}

#[test]
fn absurd_clocks_neither_panic_nor_call_anybody_gone() {
    let mut grace = Grace::watching(Moment {
        wall: at(i64::MIN),
        monotonic_ms: i64::MAX,
    });
    let now = Moment {
        wall: at(i64::MAX),
        monotonic_ms: i64::MIN,
    };
    assert_eq!(
        grace.judge(&recorded(), &Observation::NoSuchProcess, now),
        unknown(Doubt::Grace)
    );
}

fn life(state: State, since: i64, reason: Option<&str>) -> Life {
    Life {
        state,
        since: at(since),
        reason: reason.map(ToString::to_string),
    }
}

fn check_report(before: Life, state: State, after: Option<Life>) {
    let mut changed = before.clone();
    assert_eq!(
        changed.report(state, None, at(9)),
        after.is_some(),
        "{before:?} {state:?}"
    );
    assert_eq!(changed, after.unwrap_or(before));
}

#[test]
fn a_state_is_told_with_its_since_and_reason() {
    let (ready, busy) = (State::Ready, State::Busy);
    let waiting = |on| State::Waiting { on };
    check_report(Life::starting(at(1)), ready, Some(life(ready, 9, None)));
    check_report(life(ready, 1, None), busy, Some(life(busy, 9, None)));
    check_report(life(busy, 1, Some("old")), busy, Some(life(busy, 1, None)));
    let permission = life(waiting(Wait::Permission), 1, None);
    check_report(
        permission,
        waiting(Wait::Reply),
        Some(life(waiting(Wait::Reply), 9, None)),
    );
    check_report(
        Life::starting(at(1)),
        State::Starting,
        Some(Life::starting(at(1))),
    );

    let mut life = Life::starting(at(1));
    assert!(life.report(busy, Some("task 1".into()), at(2)));
    assert_eq!(life.reason.as_deref(), Some("task 1"));
}

#[test]
fn a_life_that_is_over_takes_nothing_more() {
    let gone = |why| life(State::Gone { why }, 1, None);
    let exited = |code| life(State::Exited { code }, 1, None);
    for state in [
        State::Starting,
        State::Ready,
        State::Gone {
            why: Loss::Recycled,
        },
    ] {
        check_report(gone(Loss::Ended), state, None);
        check_report(exited(0), state, None);
    }
    check_report(exited(0), State::Exited { code: 1 }, None);
    check_report(life(State::Ready, 1, None), State::Starting, None);
}

#[test]
fn how_a_lost_member_ended_may_become_known_later() {
    let gone = life(State::Gone { why: Loss::Ended }, 1, None);
    check_report(
        gone,
        State::Exited { code: 137 },
        Some(life(State::Exited { code: 137 }, 1, None)),
    );
}

#[test]
fn b6_silence_is_not_death() {
    let busy = life(State::Busy, 0, Some("one long tool call"));
    let mut after = busy.clone();
    assert!(!after.judged(Verdict::Alive, at(600_000)));
    assert!(!after.judged(unknown(Doubt::Grace), at(600_000)));
    assert_eq!(after, busy);
    assert!(after.judged(gone(Loss::Ended), at(600_001)));
    assert_eq!(after, life(State::Gone { why: Loss::Ended }, 600_001, None));
    assert!(
        !after.judged(gone(Loss::Ended), at(600_002)),
        "it is told once"
    );
}

#[test]
fn what_is_kept_is_written_in_plain_words() {
    let json = |value: &Life| serde_json::to_string(value).unwrap();
    for (life, text) in [
        (
            life(
                State::Waiting {
                    on: Wait::BlockedTask,
                },
                0,
                Some("task 2"),
            ),
            r#"{"state":"waiting","on":"blocked_task","since":"1970-01-01T00:00:00.000Z","reason":"task 2"}"#,
        ),
        (
            life(State::Exited { code: -1 }, 0, None),
            r#"{"state":"exited","code":-1,"since":"1970-01-01T00:00:00.000Z"}"#,
        ),
        (
            life(
                State::Gone {
                    why: Loss::Rebooted,
                },
                0,
                None,
            ),
            r#"{"state":"gone","why":"rebooted","since":"1970-01-01T00:00:00.000Z"}"#,
        ),
        (
            Life::starting(at(0)),
            r#"{"state":"starting","since":"1970-01-01T00:00:00.000Z"}"#,
        ),
    ] {
        assert_eq!(json(&life), text);
        assert_eq!(serde_json::from_str::<Life>(text).unwrap(), life);
    }
    assert_eq!(
        serde_json::to_string(&recorded()).unwrap(),
        r#"{"pid":7,"start_time":500,"boot_id":"boot-1"}"#
    );
    assert_eq!(
        serde_json::to_string(&gone(Loss::Ended)).unwrap(),
        r#"{"verdict":"gone","why":"ended"}"#
    );
    let verdict = r#"{"verdict":"unknown","why":"no_start_time"}"#;
    assert_eq!(
        serde_json::from_str::<Verdict>(verdict).unwrap(),
        unknown(Doubt::NoStartTime)
    );
}

fn processes() -> impl Strategy<Value = Process> {
    let boot = proptest::option::of("boot-[12]");
    (1..3_u32, proptest::option::of(1..3_u64), boot).prop_map(|(pid, start_time, boot_id)| {
        Process {
            pid,
            start_time,
            boot_id,
        }
    })
}

fn states() -> impl Strategy<Value = State> {
    let waits = [
        Wait::Permission,
        Wait::Reply,
        Wait::BlockedTask,
        Wait::RateLimit,
        Wait::Draft,
    ];
    let losses = [Loss::Ended, Loss::Recycled, Loss::Rebooted];
    prop_oneof![
        Just(State::Starting),
        Just(State::Ready),
        Just(State::Busy),
        proptest::sample::select(waits.to_vec()).prop_map(|on| State::Waiting { on }),
        (0..2_i32).prop_map(|code| State::Exited { code }),
        proptest::sample::select(losses.to_vec()).prop_map(|why| State::Gone { why }),
    ]
}

proptest! {
    #[test]
    fn gone_is_said_on_evidence_only(recorded in processes(), found in processes()) {
        let differ = found.pid == recorded.pid
            && (matches!((&recorded.boot_id, &found.boot_id), (Some(then), Some(now)) if then != now)
                || matches!((recorded.start_time, found.start_time), (Some(then), Some(now)) if then != now));
        let verdict = judge(&recorded, &Observation::Alive(found.clone()));
        prop_assert_eq!(matches!(verdict, Verdict::Gone { .. }), differ);
        prop_assert!(verdict != Verdict::Alive || (found.pid == recorded.pid && found.start_time == recorded.start_time));
    }

    #[test]
    fn a_life_ends_once_and_what_is_refused_changes_nothing(reports in proptest::collection::vec(states(), 0..20)) {
        let mut life = Life::starting(at(0));
        let mut ends = Vec::new();
        for (n, state) in (1..).zip(reports) {
            let before = life.clone();
            if life.report(state, None, at(n)) {
                prop_assert_eq!(life.state, state);
                let changed = before.state != state && !before.state.is_over();
                prop_assert_eq!(life.since, if changed { at(n) } else { before.since });
            } else {
                prop_assert_eq!(&life, &before);
            }
            if life.state.is_over() && life.state != before.state {
                ends.push(life.state);
            }
            prop_assert!(life.state.is_over() || !before.state.is_over());
            let json = serde_json::to_string(&life).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Life>(&json).unwrap(), &life);
        }
        let is_exit = |end: &State| matches!(end, State::Exited { .. });
        prop_assert!(ends.len() <= 2 && ends.iter().skip(1).all(is_exit));
    }
}
