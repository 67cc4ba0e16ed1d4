//! Literal times, whole values, and the laws as properties.

use super::*;
use alloc::vec;
use proptest::prelude::*;

const POLICY: Policy = Policy {
    when: When::AfterFailure,
    first_ms: 1_000,
    longest_ms: 8_000,
    most: 5,
    within_ms: 60_000,
    settle_ms: 10_000,
};

fn wanted(policy: Policy) -> Restart {
    let mut member = Restart::new(policy);
    member.want(Wanted::Up, 0);
    member
}

/// Runs the member from `at` for `lasted` and lets it end.
fn run(member: &mut Restart, at: i64, lasted: i64, end: End) -> Order {
    assert_eq!(member.next(at), Order::Start);
    let number = member.handle_started(at);
    assert_eq!(member.next(at), Order::Nothing);
    member.handle_ended(number, end, at + lasted, 0);
    member.next(at + lasted)
}

#[test]
fn a_member_is_started_once_it_is_wanted() {
    let mut member = Restart::new(POLICY);
    assert_eq!(member.next(0), Order::Nothing);
    member.want(Wanted::Up, 7);
    assert_eq!(member.next(7), Order::Start);
    member.handle_started(8);
    assert_eq!(member.standing(), Standing::Up { since: 8 });
    member.want(Wanted::Down, 9);
    assert_eq!(member.next(9), Order::Stop);
}

#[test]
fn delays_double_up_to_the_longest() {
    let mut member = wanted(POLICY);
    let mut at = 0;
    for delay in [1_000, 2_000, 4_000, 8_000, 8_000] {
        let order = run(&mut member, at, 10, End::Failed);
        assert_eq!(order, Order::WaitUntil(at + 10 + delay));
        at += 10 + delay;
    }
    assert_eq!(
        run(&mut member, at, 10, End::Failed),
        Order::GiveUp(Reason::TooManyRestarts {
            restarts: 5,
            within_ms: 60_000
        })
    );
}

#[test]
fn a_run_that_settled_begins_with_the_first_delay_again() {
    let mut member = wanted(POLICY);
    run(&mut member, 0, 10, End::Failed);
    run(&mut member, 1_010, 10, End::Failed);
    assert_eq!(
        run(&mut member, 3_020, 10_000, End::Failed),
        Order::WaitUntil(3_020 + 10_000 + 1_000)
    );
}

#[test]
fn restarts_that_left_the_window_do_not_count() {
    let mut member = wanted(Policy {
        most: 1,
        within_ms: 20_000,
        ..POLICY
    });
    run(&mut member, 0, 10, End::Failed);
    assert!(matches!(
        run(&mut member, 1_010, 30_000, End::Failed),
        Order::WaitUntil(_)
    ));
}

#[test]
fn what_finished_is_repeated_only_by_policy() {
    assert_eq!(
        run(&mut wanted(POLICY), 0, 5, End::Finished),
        Order::Nothing
    );
    let always = Policy {
        when: When::Always,
        ..POLICY
    };
    assert_eq!(
        run(&mut wanted(always), 0, 5, End::Finished),
        Order::WaitUntil(1_005)
    );
    let never = Policy {
        when: When::Never,
        ..POLICY
    };
    assert_eq!(
        run(&mut wanted(never), 0, 5, End::Failed),
        Order::GiveUp(Reason::NeverRestarted)
    );
}

#[test]
fn what_is_not_wanted_is_not_restarted() {
    let mut member = wanted(POLICY);
    let number = member.handle_started(0);
    member.want(Wanted::Down, 1);
    member.handle_ended(number, End::Failed, 2, 0);
    assert_eq!(member.standing(), Standing::Down);

    let mut waiting = wanted(POLICY);
    run(&mut waiting, 0, 5, End::Failed);
    waiting.want(Wanted::Down, 6);
    assert_eq!(waiting.next(100_000), Order::Nothing);
}

#[test]
fn wanting_what_was_given_up_begins_anew() {
    let mut member = wanted(Policy { most: 0, ..POLICY });
    assert!(matches!(
        run(&mut member, 0, 5, End::Failed),
        Order::GiveUp(_)
    ));
    member.want(Wanted::Up, 50);
    assert_eq!(member.next(50), Order::Start);
}

#[test]
fn an_end_of_an_older_run_changes_nothing() {
    let mut member = wanted(POLICY);
    let older = member.handle_started(0);
    member.handle_ended(older, End::Failed, 5, 0);
    let newer = member.handle_started(2_000);
    member.handle_ended(older, End::Failed, 2_001, 0);
    assert_eq!(member.standing(), Standing::Up { since: 2_000 });
    member.handle_ended(newer, End::Finished, 2_002, 0);
    member.handle_ended(newer, End::Failed, 2_003, 0);
    assert_eq!(member.standing(), Standing::Done);
}

#[test]
fn a_policy_is_read_with_its_defaults_and_without_surprises() {
    let read = |text| serde_json::from_str::<Policy>(text);
    assert_eq!(read("{}").unwrap(), Policy::default());
    assert_eq!(
        read(r#"{"when":"always","most":9}"#).unwrap(),
        Policy {
            when: When::Always,
            most: 9,
            ..Policy::default()
        }
    );
    assert!(read(r#"{"mots":9}"#).is_err());
}

#[test]
fn state_survives_being_written_down() {
    let mut member = wanted(POLICY);
    run(&mut member, 0, 5, End::Failed);
    member.handle_started(1_005);
    let text = serde_json::to_string(&member).unwrap();
    assert_eq!(serde_json::from_str::<Restart>(&text).unwrap(), member);
}

fn policies() -> impl Strategy<Value = Policy> {
    let when = prop_oneof![
        Just(When::Never),
        Just(When::AfterFailure),
        Just(When::Always)
    ];
    (
        when,
        0_i64..5_000,
        0_i64..60_000,
        0_u32..6,
        1_i64..120_000,
        0_i64..30_000,
    )
        .prop_map(
            |(when, first_ms, longest_ms, most, within_ms, settle_ms)| Policy {
                when,
                first_ms,
                longest_ms,
                most,
                within_ms,
                settle_ms,
            },
        )
}

fn lives() -> impl Strategy<Value = Vec<(i64, i64, bool, u16)>> {
    proptest::collection::vec(
        (0_i64..500, 0_i64..40_000, any::<bool>(), 0_u16..1_200),
        1..60,
    )
}

/// Lives through every run and answers when each restart happened, with the nominal bounds of its delay checked.
fn restarts_of(policy: Policy, lives: &[(i64, i64, bool, u16)]) -> Vec<i64> {
    let mut member = wanted(policy);
    let (mut now, mut started, mut restarts) = (0, false, vec![]);
    for (late, lasted, failed, jitter) in lives {
        match member.next(now) {
            Order::Start => {}
            Order::WaitUntil(at) => {
                assert!(at > now && at - now <= policy.longest_ms);
                assert_eq!(member.next(at - 1), Order::WaitUntil(at));
                now = at;
            }
            Order::Nothing | Order::GiveUp(_) | Order::Stop => break,
        }
        now += late;
        if started {
            restarts.push(now);
        }
        started = true;
        let number = member.handle_started(now);
        now += lasted;
        let end = if *failed { End::Failed } else { End::Finished };
        member.handle_ended(number, end, now, *jitter);
    }
    restarts
}

proptest! {
    #[test]
    fn no_window_holds_more_restarts_than_allowed(policy in policies(), lives in lives()) {
        let restarts = restarts_of(policy, &lives);
        for (index, first) in restarts.iter().enumerate() {
            let within = restarts[index..]
                .iter()
                .filter(|restart| **restart < first + policy.within_ms)
                .count();
            prop_assert!(within <= policy.most as usize, "{restarts:?}");
        }
    }

    #[test]
    fn jitter_takes_at_most_half_of_a_delay(streak in 0_u32..80, jitter: u16, policy in policies()) {
        let mut member = wanted(policy);
        member.streak = streak;
        let (shortest, chosen, nominal) = (member.delay(1_000), member.delay(jitter), member.delay(0));
        prop_assert!(shortest <= chosen && chosen <= nominal);
        prop_assert!(nominal <= policy.longest_ms && shortest >= nominal / 2);
    }

    #[test]
    fn extreme_times_do_not_overflow(now: i64, later: i64, first_ms: i64, longest_ms: i64, settle_ms: i64, within_ms: i64) {
        let mut member = wanted(Policy { first_ms, longest_ms, settle_ms, within_ms, ..POLICY });
        for at in [now, later, i64::MIN, i64::MAX] {
            let number = member.handle_started(at);
            member.handle_ended(number, End::Failed, later, 500);
            let _order = member.next(at);
        }
    }
}
