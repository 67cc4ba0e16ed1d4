//! What goes wrong in the field, F1 to F9.

use super::*;
use proptest::prelude::*;

#[test]
fn f1_ten_calls_of_sixty_cents_share_one_dollar_and_one_is_admitted() {
    let mut limiter = budget("1.00");
    let admitted = (0..10)
        .filter(|i| ask(&mut limiter, *i, "ada", 100, Some("0.60")).is_ok())
        .count();
    assert_eq!(admitted, 1);
    let member = name("ada");
    let next = Ask {
        cost: Some(usd("0.60")),
        ..Ask::new(&member, 1)
    };
    let refused = refusal(&mut limiter, 20, &next);
    assert_eq!(
        refused.to_string(),
        "the team's budget of $1.00 does not allow it: $0.00 spent, $0.60 reserved, $0.60 asked for"
    );
    assert_eq!(
        serde_json::to_value(&refused).unwrap(),
        json!({
            "code": "budget_exceeded", "member": null, "budget": 1_000_000, "spent": 0,
            "reserved": 600_000, "estimate": 600_000,
            "next": "try again when running calls have been settled, or with a smaller estimate",
        })
    );
}

#[test]
fn f2_settling_gives_no_credit_later() {
    let mut limiter = tpm(1_000);
    assert_eq!(ask(&mut limiter, 0, "ada", 1_000, None), Ok(1));
    settle(&mut limiter, 59_000, "ada", Some(1), 100, None).unwrap();
    assert_eq!(
        ask(&mut limiter, 60_500, "ada", 1_900, None),
        Err("never_fits")
    );
    assert_eq!(ask(&mut limiter, 60_500, "ada", 1_000, None), Ok(2));
    assert_eq!(
        ask(&mut limiter, 60_501, "ada", 1, None),
        Err("rate_limited")
    );
}

#[test]
fn f2_an_entry_that_left_the_window_only_ever_adds() {
    let mut limiter = tpm(1_000);
    assert_eq!(ask(&mut limiter, 0, "ada", 500, None), Ok(1));
    assert_eq!(ask(&mut limiter, 0, "ada", 500, None), Ok(2));
    assert_eq!(ask(&mut limiter, 61_000, "ada", 400, None), Ok(3));
    settle(&mut limiter, 61_000, "ada", Some(1), 100, None).unwrap();
    settle(&mut limiter, 61_000, "ada", Some(2), 800, None).unwrap();
    assert_eq!(limiter.status(at(61_000)).window.tokens, 400 + 300);
}

#[test]
fn f3_a_reservation_is_settled_once() {
    let mut limiter = budget("1.00");
    ask(&mut limiter, 0, "ada", 100, Some("0.60")).unwrap();
    settle(&mut limiter, 1, "ada", Some(1), 100, Some("0.50")).unwrap();
    assert_eq!(
        settle(&mut limiter, 2, "ada", Some(1), 100, Some("0.50")),
        Err("already_settled")
    );
    ask(&mut limiter, 3, "ada", 100, Some("0.10")).unwrap();
    limiter
        .release(ReservationId(2), &name("ada"), at(4))
        .unwrap();
    assert_eq!(
        settle(&mut limiter, 5, "ada", Some(2), 100, Some("0.50")),
        Err("already_settled")
    );
    let again = limiter.release(ReservationId(2), &name("ada"), at(6));
    assert_eq!(again.unwrap_err().code(), "already_settled");
    assert_eq!(limiter.status(at(6)).used.cost, usd("0.50"));
    assert_eq!(limiter.status(at(6)).reserved, Reserved::default());
}

#[test]
fn f3_another_s_reservation_is_booked_to_its_owner_with_a_warning() {
    let mut limiter = budget("1.00");
    ask(&mut limiter, 0, "ada", 100, Some("0.60")).unwrap();
    let recorded = settle(&mut limiter, 1, "bob", Some(1), 100, Some("0.50")).unwrap();
    let warning = LimitEvent::SettledByAnother {
        id: ReservationId(1),
        owner: name("ada"),
        by: name("bob"),
    };
    assert_eq!(recorded.owner, name("ada"));
    assert_eq!(recorded.events, [warning]);
    let status = limiter.status(at(1));
    assert_eq!(status.members[&name("ada")].used.cost, usd("0.50"));
    assert!(!status.members.contains_key(&name("bob")));
}

#[test]
fn f3_a_lapsed_reservation_that_is_settled_late_is_counted_once() {
    let mut limiter = budget("1.00");
    ask(&mut limiter, 0, "ada", 100, Some("0.60")).unwrap();
    let events = limiter.sweep(at(300_000));
    assert!(matches!(
        &events[..],
        [LimitEvent::ReservationLapsed { .. }]
    ));
    assert_eq!(limiter.status(at(300_000)).left, Some(usd("1.00")));
    let recorded = settle(&mut limiter, 300_001, "ada", Some(1), 150, Some("0.50")).unwrap();
    assert!(matches!(
        &recorded.events[..],
        [LimitEvent::SettledLate { .. }]
    ));
    assert_eq!(limiter.status(at(300_001)).used.cost, usd("0.50"));
    assert_eq!(limiter.status(at(300_001)).window.tokens, 50);
    assert_eq!(
        settle(&mut limiter, 300_002, "ada", Some(1), 150, Some("0.50")),
        Err("already_settled")
    );
}

#[test]
fn f3_a_reservation_that_was_never_given_is_unknown() {
    let mut limiter = budget("1.00");
    ask(&mut limiter, 0, "ada", 100, None).unwrap();
    assert_eq!(
        settle(&mut limiter, 1, "ada", Some(9), 1, None),
        Err("unknown_reservation")
    );
    assert_eq!(
        settle(&mut limiter, 1, "ada", Some(0), 1, None),
        Err("unknown_reservation")
    );
    let refused = limiter
        .release(ReservationId(9), &name("ada"), at(1))
        .unwrap_err();
    assert_eq!(
        refused,
        Refusal::UnknownReservation {
            id: 9,
            open: vec![1]
        }
    );
}

#[test]
fn f4_numbers_that_cannot_be_are_refused_and_the_limiter_lives() {
    for report in [
        json!({"tokens": -5}),
        json!({"tokens": 1.5}),
        json!({"tokens": "100"}),
        json!({"tokens": null}),
        json!({"tokens": 1e300}),
        json!({"cost": 0.1}),
        json!({}),
        json!([]),
        json!(null),
        json!({"tokens": 1, "cost": null}),
        json!({"tokens": 1, "cost": -0.1}),
        json!({"tokens": 1, "cost": "0.1"}),
        json!({"tokens": 1, "cost": "NaN"}),
        json!({"tokens": 1, "cost": 1e12}),
    ] {
        let refused = input::Usage::from_json(&report).unwrap_err();
        assert_eq!(refused.code(), "invalid_usage", "{report}");
    }
    assert_eq!(
        input::Usage::from_json(&json!({"tokens": 100.0, "cost": 0.6, "other": 1})),
        Ok(input::Usage {
            tokens: 100,
            cost: Some(usd("0.60")),
        })
    );
    let mut limiter = tpm(1_000);
    assert_eq!(
        ask(&mut limiter, 0, "ada", u64::MAX, None),
        Err("invalid_usage")
    );
    assert_eq!(
        settle(&mut limiter, 0, "ada", None, u64::MAX, None),
        Err("invalid_usage")
    );
    assert_eq!(ask(&mut limiter, 0, "ada", 1_000, None), Ok(1));
}

#[test]
fn f5_more_tokens_than_a_minute_has_can_never_fit() {
    let mut limiter = tpm(1_000);
    let member = name("ada");
    let refused = refusal(&mut limiter, 0, &Ask::new(&member, 1_001));
    assert_eq!(
        refused.to_string(),
        "1001 tokens can never fit: the limit is 1000 tokens a minute"
    );
    assert_eq!(refused.code(), "never_fits");
}

#[test]
fn f6_any_limit_switches_it_on() {
    let on = |limits: Limits| limits.is_on();
    assert!(!on(Limits::default()));
    assert!(on(Limits {
        rpm: Some(1),
        ..Limits::default()
    }));
    assert!(on(Limits {
        tpm: Some(1),
        ..Limits::default()
    }));
    assert!(on(Limits {
        budget: Some(Micros::ZERO),
        ..Limits::default()
    }));
    assert!(on(Limits {
        member_budget: Some(Micros::ZERO),
        ..Limits::default()
    }));
    let own = [(name("ada"), Micros::ZERO)].into();
    assert!(on(Limits {
        member_budgets: own,
        ..Limits::default()
    }));

    let mut limiter = limiter(Limits {
        rpm: Some(2),
        tpm: Some(100),
        ..Limits::default()
    });
    assert!(ask(&mut limiter, 0, "ada", 10, None).is_ok());
    assert_eq!(ask(&mut limiter, 0, "ada", 91, None), Err("rate_limited"));
    assert!(ask(&mut limiter, 0, "ada", 10, None).is_ok());
    assert_eq!(ask(&mut limiter, 0, "ada", 10, None), Err("rate_limited"));
}

#[test]
fn f6_without_limits_everything_is_admitted_and_counted() {
    let mut limiter = Limiter::default();
    for i in 0..100 {
        assert!(ask(&mut limiter, i, "ada", 1_000_000, Some("1000")).is_ok());
    }
    assert_eq!(limiter.status(at(100)).reserved.requests, 100);
}

#[test]
fn f7_a_hundred_thousand_entries_take_no_more_room_than_a_few() {
    let mut limiter = tpm(u64::MAX);
    for i in 0..100_000 {
        let id = ask_fast(&mut limiter, i * 59_999 / 100_000);
        settle(
            &mut limiter,
            i * 59_999 / 100_000,
            "ada",
            Some(id),
            10,
            None,
        )
        .unwrap();
    }
    assert_eq!(limiter.status(at(59_999)).window.requests, 100_000);
    assert!(limiter.window.buckets() <= 121);
    assert!(serde_json::to_vec(&limiter).unwrap().len() < 5_000);
}

fn ask_fast(limiter: &mut Limiter, ms: i64) -> u64 {
    let member = name("ada");
    limiter
        .acquire(&Ask::new(&member, 10), at(ms))
        .unwrap()
        .id
        .0
}

#[test]
fn f8_an_unreachable_limiter_refuses_unless_the_team_goes_on_without() {
    let refused = WhenUnreachable::default().decide("locked").unwrap_err();
    assert_eq!(refused.code(), "limiter_unreachable");
    assert_eq!(WhenUnreachable::Admit.decide("locked"), Ok(()));
}

#[test]
fn f9_a_provider_s_limit_pauses_the_team_until_it_resets() {
    let mut limiter = Limiter::default();
    let events = limiter.pause(at(60_000), "usage limit, resets 15:00", at(0));
    assert!(matches!(&events[..], [LimitEvent::TeamPaused { .. }]));
    let (ada, bob) = (name("ada"), name("bob"));
    let slow = Ask {
        jitter_ms: 700,
        ..Ask::new(&bob, 1)
    };
    assert_eq!(
        wait(refusal(&mut limiter, 10_000, &Ask::new(&ada, 1))),
        (RateLimit::Pause, 50_000)
    );
    assert_eq!(
        wait(refusal(&mut limiter, 10_000, &slow)),
        (RateLimit::Pause, 50_700)
    );
    // A shorter pause does not shorten it.
    assert_eq!(limiter.pause(at(30_000), "again", at(10_000)), []);

    let granted = limiter.acquire(&Ask::new(&ada, 1), at(60_000)).unwrap();
    assert_eq!(
        granted.events,
        [LimitEvent::TeamResumed { until: at(60_000) }]
    );
    assert_eq!(
        wait(refusal(&mut limiter, 60_000, &slow)),
        (RateLimit::Pause, 700)
    );
    assert!(limiter.acquire(&slow, at(60_700)).is_ok());
}

#[test]
fn f9_a_pause_can_be_ended_by_hand() {
    let mut limiter = Limiter::default();
    limiter.pause(at(60_000), "usage limit", at(0));
    assert_eq!(
        limiter.resume(at(1)),
        [LimitEvent::TeamResumed { until: at(60_000) }]
    );
    assert!(ask(&mut limiter, 2, "ada", 1, None).is_ok());
    assert_eq!(limiter.resume(at(3)), []);
}

#[test]
fn f9_the_jitter_is_spread_and_always_the_same() {
    let waits: Vec<u64> = (0..50)
        .map(|i| jitter_ms(&name(&alloc::format!("worker-{i}")), at(0), 10_000))
        .collect();
    assert!(waits.iter().all(|ms| *ms <= 10_000));
    let mut spread = waits.clone();
    spread.sort_unstable();
    spread.dedup();
    assert!(spread.len() > 45, "{spread:?}");
    assert!(
        spread[0] < 2_000 && spread[spread.len() - 1] > 8_000,
        "{spread:?}"
    );
    assert_eq!(waits[7], jitter_ms(&name("worker-7"), at(0), 10_000));
    assert_eq!(jitter_ms(&name("ada"), at(0), 0), 0);
}

#[test]
fn a_renewed_reservation_outlives_its_time_and_those_around_it_do_not() {
    let ttl = i64::try_from(RESERVATION_TTL_MS).unwrap();
    let (w1, w2) = (name("w1"), name("w2"));
    let mut limiter = Limiter::default();
    let mut ask = |member: &Name, now| limiter.acquire(&Ask::new(member, 5), at(now)).unwrap().id;
    let (long, short) = (ask(&w1, 0), ask(&w2, 10));
    let late = ask(&w2, 20);
    assert_eq!(limiter.renew(long, &w1, at(ttl - 1)), Ok(Vec::new()));
    assert_eq!(limiter.next_deadline(), Some(at(ttl + 10)));
    let lapsed = |events: Vec<LimitEvent>| -> Vec<ReservationId> {
        let ids = events.into_iter().filter_map(|event| match event {
            LimitEvent::ReservationLapsed { reservation } => Some(reservation.id),
            _ => None,
        });
        ids.collect()
    };
    assert_eq!(lapsed(limiter.sweep(at(ttl + 15))), [short]);
    assert_eq!(lapsed(limiter.sweep(at(ttl + 25))), [late]);
    assert_eq!(
        limiter.renew(short, &w2, at(ttl + 30)).unwrap_err().code(),
        "already_settled"
    );
    assert_eq!(lapsed(limiter.sweep(at(2 * ttl - 1))), [long]);
    let text = serde_json::to_string(&limiter).unwrap();
    assert_eq!(serde_json::from_str::<Limiter>(&text).unwrap(), limiter);
}

#[test]
fn a_pause_of_a_clock_that_was_ahead_holds_nobody() {
    const YEAR: i64 = 365 * 24 * 60 * 60 * 1_000;
    let mut limiter = tpm(100);
    limiter.pause(at(YEAR + 3_600_000), "usage limit", at(YEAR));
    assert_eq!(limiter.status(at(0)).pause, None);
    // The minute that counts starts anew as well, so the clock is noticed first.
    assert_eq!(ask(&mut limiter, 0, "ada", 1, None), Ok(1));
    let bob = name("bob");
    let late = Ask {
        jitter_ms: 60_000,
        ..Ask::new(&bob, 1)
    };
    let refused = refusal(&mut limiter, 30_000, &late);
    assert_eq!(
        refused.code(),
        "rate_limited",
        "who comes back waits its own while"
    );
    // A pause as long as a provider says holds, however long that is.
    let mut limiter = tpm(100);
    limiter.pause(at(YEAR), "usage limit", at(0));
    assert_eq!(
        ask(&mut limiter, 1_000, "ada", 1, None),
        Err("rate_limited")
    );
    assert_eq!(
        ask(&mut limiter, YEAR - 1, "ada", 1, None),
        Err("rate_limited")
    );
    // So does one under a clock that was put right by a little.
    assert_eq!(
        ask(&mut limiter, -3_600_000, "ada", 1, None),
        Err("rate_limited")
    );
}

#[test]
fn a_reservation_of_a_clock_that_was_ahead_lapses_in_its_time() {
    const YEAR: i64 = 365 * 24 * 60 * 60 * 1_000;
    let mut limiter = budget("1.00");
    assert_eq!(ask(&mut limiter, YEAR, "ada", 1, Some("0.90")), Ok(1));
    assert_eq!(
        ask(&mut limiter, 0, "bob", 1, Some("0.50")),
        Err("budget_exceeded")
    );
    let lapses = i64::try_from(limiter.limits().reservation_ttl_ms).unwrap();
    limiter.sweep(at(0));
    assert_eq!(ask(&mut limiter, lapses, "bob", 1, Some("0.50")), Ok(2));
}

proptest! {
    #[test]
    fn no_pause_holds_for_longer_than_twice_its_length_from_any_instant(
        since in any::<i32>(), length in 1_i64..10_000_000_000, looked in any::<i32>(),
    ) {
        let (since, looked) = (at(i64::from(since) * 1_000), at(i64::from(looked) * 1_000));
        let until = since.plus_millis(length);
        let pause = Pause { since, until, why: String::new() };
        if pause.holds(looked) {
            prop_assert!(until.millis_since(looked) <= 2 * length + 60_000);
        } else {
            prop_assert!(looked >= until || since.millis_since(looked) > length);
        }
        prop_assert!(pause.holds(since) && !pause.holds(until));
    }
}
