use super::*;
use crate::refusal::NameKind;
use alloc::string::ToString;
use alloc::vec;
use serde_json::json;

mod faults;
mod model;
mod repricing;

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
fn settling_for_less_makes_room_at_once() {
    let mut limiter = tpm(1_000);
    assert_eq!(ask(&mut limiter, 0, "ada", 1_000, None), Ok(1));
    assert_eq!(ask(&mut limiter, 1, "ada", 900, None), Err("rate_limited"));
    settle(&mut limiter, 2, "ada", Some(1), 100, None).unwrap();
    assert_eq!(ask(&mut limiter, 3, "ada", 900, None), Ok(2));
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
