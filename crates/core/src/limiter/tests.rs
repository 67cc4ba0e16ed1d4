use super::*;
use crate::refusal::NameKind;
use alloc::string::ToString;
use alloc::vec;
use serde_json::json;

mod model;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000).plus_millis(ms)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn usd(text: &str) -> Micros {
    Micros::parse_usd(text).unwrap()
}

fn limiter(limits: Limits) -> Limiter {
    Limiter::new(limits).unwrap()
}

fn tpm(tpm: u64) -> Limiter {
    limiter(Limits {
        tpm: Some(tpm),
        ..Limits::default()
    })
}

fn budget(text: &str) -> Limiter {
    limiter(Limits {
        budget: Some(usd(text)),
        ..Limits::default()
    })
}

/// Asks for tokens and money in dollars; answers the reservation's number or the refusal's code.
#[track_caller]
fn ask(
    limiter: &mut Limiter,
    ms: i64,
    member: &str,
    tokens: u64,
    cost: Option<&str>,
) -> Result<u64, &'static str> {
    let before = limiter.clone();
    let member = name(member);
    let ask = Ask {
        cost: cost.map(usd),
        ..Ask::new(&member, tokens)
    };
    let answer = limiter.acquire(&ask, at(ms));
    if answer.is_err() {
        assert_eq!(*limiter, before, "a refusal leaves no trace");
    }
    answer
        .map(|grant| grant.id.0)
        .map_err(|refusal| refusal.code())
}

fn refusal(limiter: &mut Limiter, ms: i64, ask: &Ask<'_>) -> Refusal {
    limiter.acquire(ask, at(ms)).unwrap_err()
}

#[track_caller]
fn settle(
    limiter: &mut Limiter,
    ms: i64,
    member: &str,
    id: Option<u64>,
    tokens: u64,
    cost: Option<&str>,
) -> Result<Recorded, &'static str> {
    let before = limiter.clone();
    let member = name(member);
    let report = Report {
        member: &member,
        reservation: id.map(ReservationId),
        tokens,
        cost: cost.map(usd),
        task: None,
        model: None,
    };
    let answer = limiter.record(&report, at(ms));
    if answer.is_err() {
        assert_eq!(*limiter, before, "a refusal leaves no trace");
    }
    answer.map_err(|refusal| refusal.code())
}

fn wait(refusal: Refusal) -> (RateLimit, u64) {
    match refusal {
        Refusal::RateLimited(facts) => (facts.limit, facts.retry_after_ms),
        other => panic!("{other:?}"),
    }
}

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
fn without_an_estimate_the_budget_is_what_was_spent() {
    let mut limiter = budget("1.00");
    assert!(ask(&mut limiter, 0, "ada", 1, Some("1.00")).is_ok());
    assert!(ask(&mut limiter, 0, "ada", 1, None).is_ok());
    settle(&mut limiter, 1, "ada", Some(1), 1, Some("1.00")).unwrap();
    assert_eq!(ask(&mut limiter, 2, "ada", 1, None), Err("budget_exceeded"));
    assert_eq!(
        ask(&mut limiter, 2, "ada", 1, Some("0.01")),
        Err("budget_exceeded")
    );
    assert!(ask(&mut limiter, 2, "ada", 1, Some("0")).is_ok());
}

#[test]
fn a_member_has_a_budget_of_its_own_beside_the_team_s() {
    let mut limiter = limiter(Limits {
        budget: Some(usd("10")),
        member_budget: Some(usd("1")),
        member_budgets: [(name("bob"), usd("2"))].into(),
        ..Limits::default()
    });
    assert!(ask(&mut limiter, 0, "ada", 1, Some("1")).is_ok());
    assert_eq!(
        ask(&mut limiter, 0, "ada", 1, Some("0.01")),
        Err("budget_exceeded")
    );
    assert!(ask(&mut limiter, 0, "bob", 1, Some("2")).is_ok());
    assert!(ask(&mut limiter, 0, "cy", 1, Some("1")).is_ok());
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
fn settling_for_less_makes_room_at_once() {
    let mut limiter = tpm(1_000);
    assert_eq!(ask(&mut limiter, 0, "ada", 1_000, None), Ok(1));
    assert_eq!(ask(&mut limiter, 1, "ada", 900, None), Err("rate_limited"));
    settle(&mut limiter, 2, "ada", Some(1), 100, None).unwrap();
    assert_eq!(ask(&mut limiter, 3, "ada", 900, None), Ok(2));
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
fn retry_after_is_exact() {
    let mut limiter = limiter(Limits {
        rpm: Some(2),
        tpm: Some(100),
        ..Limits::default()
    });
    ask(&mut limiter, 0, "ada", 60, None).unwrap();
    ask(&mut limiter, 1_000, "ada", 10, None).unwrap();
    let member = name("ada");
    // One request must go, and 60 tokens with it.
    let small = wait(refusal(&mut limiter, 2_000, &Ask::new(&member, 1)));
    assert_eq!(small, (RateLimit::Requests, 58_000));
    // Both must go for this many tokens.
    let large = wait(refusal(&mut limiter, 2_000, &Ask::new(&member, 91)));
    assert_eq!(large, (RateLimit::Requests, 59_000));
    assert_eq!(
        ask(&mut limiter, 60_999, "ada", 91, None),
        Err("rate_limited")
    );
    assert_eq!(ask(&mut limiter, 61_000, "ada", 91, None), Ok(3));
}

#[test]
fn a_released_call_was_never_asked_for() {
    let mut limiter = limiter(Limits {
        rpm: Some(1),
        tpm: Some(100),
        budget: Some(usd("1")),
        ..Limits::default()
    });
    ask(&mut limiter, 0, "ada", 100, Some("1")).unwrap();
    assert_eq!(
        limiter.release(ReservationId(1), &name("ada"), at(1)),
        Ok(vec![])
    );
    assert_eq!(ask(&mut limiter, 2, "ada", 100, Some("1")), Ok(2));
    let events = limiter
        .release(ReservationId(2), &name("bob"), at(3))
        .unwrap();
    assert!(matches!(&events[..], [LimitEvent::SettledByAnother { .. }]));
}

#[test]
fn a_member_that_ends_takes_its_reservations_with_it() {
    let mut limiter = tpm(100);
    ask(&mut limiter, 0, "ada", 40, None).unwrap();
    ask(&mut limiter, 0, "bob", 40, None).unwrap();
    let events = limiter.end_member(&name("ada"), at(1));
    assert!(matches!(
        &events[..],
        [LimitEvent::ReservationDropped { .. }]
    ));
    assert_eq!(limiter.status(at(1)).window.tokens, 40);
    assert_eq!(limiter.open().len(), 1);
    assert_eq!(
        settle(&mut limiter, 2, "ada", Some(1), 40, None),
        Err("already_settled")
    );
}

#[test]
fn a_cost_that_is_not_reported_is_what_was_estimated() {
    let mut limiter = budget("1.00");
    ask(&mut limiter, 0, "ada", 10, Some("0.40")).unwrap();
    ask(&mut limiter, 0, "ada", 10, None).unwrap();
    let estimated = settle(&mut limiter, 1, "ada", Some(1), 10, None).unwrap();
    assert_eq!(
        (estimated.cost, estimated.basis),
        (usd("0.40"), Basis::Estimated)
    );
    let unpriced = settle(&mut limiter, 1, "ada", Some(2), 10, None).unwrap();
    assert_eq!(
        (unpriced.cost, unpriced.basis),
        (Micros::ZERO, Basis::Unpriced)
    );
}

#[test]
fn a_budget_that_is_reached_is_told_once() {
    let mut limiter = limiter(Limits {
        budget: Some(usd("1")),
        member_budget: Some(usd("0.50")),
        ..Limits::default()
    });
    let told = |events: Vec<LimitEvent>| -> Vec<Option<Name>> {
        let reached = events.into_iter().filter_map(|event| match event {
            LimitEvent::BudgetReached { member, .. } => Some(member),
            _ => None,
        });
        reached.collect()
    };
    let mut spend = |member: &str, cost: &str| {
        told(
            settle(&mut limiter, 0, member, None, 1, Some(cost))
                .unwrap()
                .events,
        )
    };
    assert_eq!(spend("ada", "0.40"), []);
    assert_eq!(spend("ada", "0.20"), [Some(name("ada"))]);
    assert_eq!(spend("bob", "0.40"), [None]);
    assert_eq!(spend("bob", "0.40"), [Some(name("bob"))]);
    assert_eq!(spend("bob", "0.40"), []);
}

#[test]
fn use_is_counted_per_member_task_and_model() {
    let mut limiter = Limiter::default();
    let (ada, task) = (name("ada"), TaskId::new("t1").unwrap());
    let ask = Ask {
        task: Some(&task),
        model: Some("gpt-4o"),
        ..Ask::new(&ada, 100)
    };
    let id = limiter.acquire(&ask, at(0)).unwrap().id;
    let report = Report {
        member: &ada,
        reservation: Some(id),
        tokens: 70,
        cost: Some(usd("0.10")),
        task: None,
        model: Some("gpt-4o-2024-08-06"),
    };
    limiter.record(&report, at(1)).unwrap();
    let used = Used::call(70, usd("0.10"));
    let status = limiter.status(at(1));
    assert_eq!(status.used, used);
    assert_eq!(status.members[&ada].used, used);
    assert_eq!(status.tasks.of("t1"), Some(used));
    assert_eq!(status.models.of("gpt-4o-2024-08-06"), Some(used));
    assert_eq!(status.models.of("gpt-4o"), None);
}

#[test]
fn tasks_beyond_the_last_few_are_one_sum() {
    let mut limiter = Limiter::default();
    let ada = name("ada");
    for i in 0..1_000 {
        let task = TaskId::new(&i.to_string()).unwrap();
        let report = Report {
            member: &ada,
            reservation: None,
            tokens: 1,
            cost: None,
            task: Some(&task),
            model: None,
        };
        limiter.record(&report, at(i)).unwrap();
    }
    let status = limiter.status(at(1_000));
    assert_eq!(status.tasks.rows().count(), TASKS);
    assert_eq!(status.tasks.earlier().tokens, 1_000 - TASKS as u64);
    assert_eq!(status.tasks.of("999").map(|used| used.tokens), Some(1));
}

#[test]
fn open_reservations_are_bounded() {
    let mut limiter = Limiter::default();
    for i in 0..MOST_OPEN as i64 {
        ask(&mut limiter, i, "ada", 1, None).unwrap();
    }
    let member = name("ada");
    let refused = refusal(&mut limiter, 2_000, &Ask::new(&member, 1));
    assert_eq!(
        refused,
        Refusal::TableFull {
            what: "open reservations".into(),
            limit: MOST_OPEN as u64,
            retry_after_ms: Some(298_000),
        }
    );
    assert!(ask(&mut limiter, 300_000, "ada", 1, None).is_ok());
}

#[test]
fn a_denial_does_not_even_sweep() {
    let mut limiter = limiter(Limits {
        rpm: Some(1),
        ..Limits::default()
    });
    ask(&mut limiter, 0, "ada", 1, Some("1")).unwrap();
    limiter
        .set_limits(Limits {
            rpm: Some(0),
            ..Limits::default()
        })
        .unwrap();
    assert_eq!(
        ask(&mut limiter, 400_000, "ada", 1, None),
        Err("never_fits")
    );
    assert_eq!(limiter.open().len(), 1);
    limiter
        .set_limits(Limits {
            rpm: Some(1),
            ..Limits::default()
        })
        .unwrap();
    let ada = name("ada");
    let granted = limiter.acquire(&Ask::new(&ada, 1), at(400_000)).unwrap();
    assert!(matches!(
        &granted.events[..],
        [LimitEvent::ReservationLapsed { .. }]
    ));
}

#[test]
fn a_clock_that_steps_back_a_little_stands_still() {
    let mut limiter = tpm(100);
    ask(&mut limiter, 10_000, "ada", 60, None).unwrap();
    ask(&mut limiter, 9_000, "ada", 40, None).unwrap();
    let member = name("ada");
    assert_eq!(
        wait(refusal(&mut limiter, 9_000, &Ask::new(&member, 1))),
        (RateLimit::Tokens, 61_000)
    );
    assert_eq!(limiter.status(at(69_999)).window.tokens, 100);
    assert_eq!(limiter.status(at(70_000)).window.tokens, 0);
}

#[test]
fn a_clock_that_steps_back_far_starts_the_minute_again() {
    let mut limiter = tpm(100);
    ask(&mut limiter, 3_500_000, "ada", 30, None).unwrap();
    ask(&mut limiter, 3_600_000, "ada", 60, None).unwrap();
    let events = limiter.sweep(at(0));
    let step = LimitEvent::ClockStepped {
        from: at(3_600_000),
        to: at(0),
    };
    assert_eq!(events, [step]);
    assert_eq!(limiter.status(at(0)).window.tokens, 60);
    // The first one had left the window: settling it takes nothing from what the other counts.
    settle(&mut limiter, 1, "ada", Some(1), 0, None).unwrap();
    assert_eq!(limiter.status(at(1)).window.tokens, 60);
    settle(&mut limiter, 2, "ada", Some(2), 50, None).unwrap();
    assert_eq!(limiter.status(at(2)).window.tokens, 50);
    assert_eq!(
        ask(&mut limiter, 59_999, "ada", 60, None),
        Err("rate_limited")
    );
    assert!(ask(&mut limiter, 60_000, "ada", 60, None).is_ok());
}

#[test]
fn the_next_deadline_is_a_lapse_or_the_end_of_a_pause() {
    let mut limiter = Limiter::default();
    assert_eq!(limiter.next_deadline(), None);
    ask(&mut limiter, 0, "ada", 1, None).unwrap();
    assert_eq!(limiter.next_deadline(), Some(at(300_000)));
    limiter.pause(at(5_000), "x", at(1));
    assert_eq!(limiter.next_deadline(), Some(at(5_000)));
}

#[test]
fn limits_without_sense_are_refused() {
    for ttl in [0, 999, 86_400_001] {
        let limits = Limits {
            reservation_ttl_ms: ttl,
            ..Limits::default()
        };
        assert_eq!(Limiter::new(limits).unwrap_err().code(), "invalid_input");
    }
}

#[test]
fn an_empty_or_hostile_document_is_read() {
    assert_eq!(
        serde_json::from_str::<Limiter>("{}").unwrap(),
        Limiter::default()
    );
    let hostile = json!({
        "next": 0, "clock": "9998-01-01T00:00:00Z",
        "window": [[i64::MAX, u64::MAX, u64::MAX], [i64::MIN, u64::MAX, 3]],
        "open": [{"id": u64::MAX, "member": "ada", "at": "0001-01-01T00:00:00Z", "tokens": u64::MAX, "cost": u64::MAX}],
    });
    let mut limiter: Limiter = serde_json::from_value(hostile).unwrap();
    limiter
        .set_limits(Limits {
            tpm: Some(5),
            ..Limits::default()
        })
        .unwrap();
    limiter.sweep(at(0));
    ask(&mut limiter, 1, "ada", 1, Some("1")).ok();
    settle(&mut limiter, 2, "ada", Some(u64::MAX), 1, None).ok();
}
