//! Limits at the desk: hard ceilings, settling once, pauses, and a limiter that cannot be reached.

use pitcrew_core::limiter::{
    LimitEvent, Limiter, Recorded, Report, ReservationId, WhenUnreachable,
};
use pitcrew_core::price::Micros;

use super::*;
use crate::desk::{Admission, LimitChange, Setting, Spending};

fn dollars(text: &str) -> Micros {
    Micros::parse_usd(text).unwrap()
}

fn call<'a>(member: &'a Name, tokens: u64, cost: Option<&str>) -> Spending<'a> {
    Spending {
        member,
        tokens,
        cost: cost.map(dollars),
        task: None,
        model: None,
    }
}

impl Crew {
    fn limit(&self, change: LimitChange) {
        self.desk().set_limits(&change).unwrap();
    }

    fn acquire(
        &self,
        who: &str,
        tokens: u64,
        cost: Option<&str>,
    ) -> Result<ReservationId, NotDone> {
        match self.desk().acquire(&call(&name(who), tokens, cost))? {
            Admission::Reserved { id, .. } => Ok(id),
            other @ Admission::Uncounted { .. } => panic!("{other:?}"),
        }
    }

    fn record(
        &self,
        who: &str,
        id: Option<ReservationId>,
        tokens: u64,
        cost: &str,
    ) -> Result<Recorded, NotDone> {
        self.desk().record(&Report {
            member: &name(who),
            reservation: id,
            tokens,
            cost: Some(dollars(cost)),
            task: None,
            model: None,
        })
    }
}

fn budget(text: &str) -> LimitChange {
    LimitChange {
        budget: Setting::To(dollars(text)),
        ..LimitChange::default()
    }
}

#[test]
fn f1_of_ten_calls_of_60_cents_a_dollar_admits_one() {
    let crew = Crew::of(&["w1"]);
    crew.limit(budget("1.00"));
    let admitted = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..10)
            .map(|_| scope.spawn(|| crew.acquire("w1", 10, Some("0.60")).is_ok()))
            .collect();
        let answers = callers.into_iter().map(|caller| caller.join().unwrap());
        answers.filter(|admitted| *admitted).count()
    });
    assert_eq!(admitted, 1);
}

#[test]
fn f2_settling_gives_no_credit_that_appears_later() {
    let crew = Crew::of(&["w1"]);
    crew.limit(LimitChange {
        tpm: Setting::To(1_000),
        ..LimitChange::default()
    });
    let first = crew.acquire("w1", 1_000, None).unwrap();
    crew.clock.advance(59_000);
    crew.record("w1", Some(first), 100, "0").unwrap();
    crew.clock.advance(1_500);
    assert_eq!(code(crew.acquire("w1", 1_900, None)), "never_fits");
    assert!(crew.acquire("w1", 1_000, None).is_ok());
}

#[test]
fn f3_a_reservation_counts_once_and_for_its_owner() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.limit(budget("5"));
    let id = crew.acquire("w1", 10, Some("1")).unwrap();
    let recorded = crew.record("w2", Some(id), 10, "0.50").unwrap();
    assert_eq!(recorded.owner, name("w1"));
    assert!(matches!(
        &recorded.events[..],
        [LimitEvent::SettledByAnother { .. }]
    ));
    assert_eq!(
        code(crew.record("w1", Some(id), 10, "1")),
        "already_settled"
    );
    let released = crew.acquire("w1", 10, Some("1")).unwrap();
    let desk = crew.desk();
    desk.release_reservation(released, &name("w1")).unwrap();
    assert_eq!(
        code(desk.release_reservation(released, &name("w1"))),
        "already_settled"
    );
    let late = crew.acquire("w1", 10, Some("1")).unwrap();
    crew.clock.advance(300_000);
    let recorded = crew.record("w1", Some(late), 10, "0.25").unwrap();
    assert!(
        recorded
            .events
            .iter()
            .any(|event| matches!(event, LimitEvent::SettledLate { .. }))
    );
    assert_eq!(
        code(crew.record("w1", Some(ReservationId(99)), 1, "0")),
        "unknown_reservation"
    );
    let limiter = desk.limiter().unwrap();
    let status = limiter.status(desk.now());
    assert_eq!(status.used.cost, dollars("0.75"));
    assert_eq!(status.left, Some(dollars("4.25")));
}

#[test]
fn f5_a_call_larger_than_the_limit_is_told_that_it_never_fits() {
    let crew = Crew::of(&["w1"]);
    crew.limit(LimitChange {
        tpm: Setting::To(1_000),
        ..LimitChange::default()
    });
    let refused = refusal(crew.acquire("w1", 1_001, None));
    assert!(refused.to_string().contains("can never fit"), "{refused}");
}

#[test]
fn f6_requests_or_tokens_alone_switch_the_limiter_on() {
    let crew = Crew::of(&["w1"]);
    assert!(!crew.desk().limiter().unwrap().limits().is_on());
    crew.acquire("w1", 1_000_000, None).unwrap();
    crew.limit(LimitChange {
        rpm: Setting::To(2),
        ..LimitChange::default()
    });
    assert!(crew.desk().limiter().unwrap().limits().is_on());
    crew.acquire("w1", 1, None).unwrap();
    assert_eq!(code(crew.acquire("w1", 1, None)), "rate_limited");
    crew.limit(LimitChange {
        rpm: Setting::Lift,
        ..LimitChange::default()
    });
    crew.acquire("w1", 1, None).unwrap();
}

#[test]
fn f8_a_limiter_that_cannot_be_reached_refuses_unless_the_team_chose_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let store = super::claims::on_disk(&folder, &["w1"]);
    let (team, clock, entropy) = (name("t"), ManualClock::at(0), SeededEntropy::new(1));
    let desk = Desk::new(&team, &store, &clock, &entropy);
    desk.set_limits(&budget("1")).unwrap();
    std::fs::write(store.folder().join("limits.json"), "{\"limits\":").unwrap();
    let w1 = name("w1");
    let refused = refusal(desk.acquire(&call(&w1, 1, None)));
    assert_eq!(refused.code(), "limiter_unreachable");
    desk.set_limiter_unreachable(WhenUnreachable::Admit)
        .unwrap();
    let admitted = desk.acquire(&call(&w1, 1, None)).unwrap();
    assert!(matches!(admitted, Admission::Uncounted { .. }));
    desk.set_limiter_unreachable(WhenUnreachable::Refuse)
        .unwrap();
    assert_eq!(
        code(desk.acquire(&call(&w1, 1, None))),
        "limiter_unreachable"
    );
}

#[test]
fn f9_a_providers_limit_pauses_everybody_while_mail_goes_on_and_ends_with_jitter() {
    let crew = Crew::of(&["w1", "w2"]);
    let desk = crew.desk();
    let reset = desk.now().plus_millis(60_000);
    desk.pause_team(reset, "usage limit, resets 15:00").unwrap();
    for who in ["w1", "w2"] {
        let refused = refusal(crew.acquire(who, 1, None));
        let Refusal::RateLimited(facts) = refused else {
            panic!("{refused:?}");
        };
        assert!((60_000..=65_000).contains(&facts.retry_after_ms));
        assert_eq!(facts.why.as_deref(), Some("usage limit, resets 15:00"));
    }
    desk.send(&as_member("w1"), "w2", &Draft::text("still here"))
        .unwrap();
    crew.clock.advance(60_000);
    let back = |who: &str| crew.acquire(who, 1, None).is_ok();
    let at_once = [back("w1"), back("w2")];
    assert_ne!(at_once, [true, true], "not all at the same instant");
    crew.clock.advance(5_001);
    assert_eq!([back("w1"), back("w2")], [true, true]);
    desk.pause_team(desk.now().plus_millis(60_000), "again")
        .unwrap();
    desk.resume_team().unwrap();
    assert!(back("w1"));
}

#[test]
fn what_a_member_set_aside_ends_with_it() {
    let crew = Crew::of(&["w1", "w2"]);
    crew.limit(budget("1"));
    crew.acquire("w1", 10, Some("0.90")).unwrap();
    assert_eq!(
        code(crew.acquire("w2", 10, Some("0.90"))),
        "budget_exceeded"
    );
    crew.desk().remove_member("w1").unwrap();
    crew.acquire("w2", 10, Some("0.90")).unwrap();
    crew.desk().mark_shut_down().unwrap();
    assert_eq!(crew.desk().limiter().unwrap().open().len(), 0);
}

#[test]
fn the_leader_is_told_once_when_a_budget_is_spent() {
    let crew = Crew::of(&["w1"]);
    crew.limit(LimitChange {
        member_budgets: vec![(name("w1"), Setting::To(dollars("1")))],
        ..LimitChange::default()
    });
    crew.record("w1", None, 10, "0.90").unwrap();
    assert!(crew.bodies("leader").is_empty());
    crew.record("w1", None, 10, "0.20").unwrap();
    crew.record("w1", None, 10, "0.20").unwrap();
    let mail = crew.bodies("leader");
    assert_eq!(mail.len(), 1);
    assert!(mail[0].starts_with("The budget of w1 of $1.00 is spent ($1.10)"));
    let stranger = LimitChange {
        member_budgets: vec![(name("w9"), Setting::To(dollars("1")))],
        ..LimitChange::default()
    };
    assert_eq!(code(crew.desk().set_limits(&stranger)), "unknown_sender");
}

#[test]
fn a_refused_call_leaves_no_document_behind() {
    let crew = Crew::of(&["w1"]);
    assert_eq!(code(crew.acquire("w1", u64::MAX, None)), "invalid_usage");
    assert_eq!(crew.store.view::<Limiter>(&()).unwrap(), None);
}
