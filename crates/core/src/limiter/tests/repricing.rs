use super::*;

fn reprice(limiter: &mut Limiter, id: u64, hold: Hold) -> Option<Micros> {
    let repriced = limiter.reprice(ReservationId(id), &name("ada"), hold, at(10));
    repriced.unwrap().cost
}

#[track_caller]
fn set_aside(limiter: &Limiter, dollars: &str) {
    assert_eq!(limiter.status(at(10)).reserved.cost, usd(dollars));
}

#[test]
fn a_call_whose_price_becomes_known_holds_that_price_and_gives_the_rest_back() {
    let mut limiter = budget("1.00");
    let first = ask(&mut limiter, 0, "ada", 1, Some("1.00")).unwrap();
    assert_eq!(
        ask(&mut limiter, 1, "bob", 1, Some("0.10")),
        Err("budget_exceeded")
    );
    let held = reprice(&mut limiter, first, Hold::Money(usd("0.40")));
    assert_eq!(held, Some(usd("0.40")));
    set_aside(&limiter, "0.40");
    assert!(ask(&mut limiter, 1, "bob", 1, Some("0.60")).is_ok());
    assert_eq!(
        ask(&mut limiter, 1, "bob", 1, Some("0.01")),
        Err("budget_exceeded")
    );
}

#[test]
fn a_call_never_holds_more_than_is_left_beside_it_and_never_less_for_being_raised() {
    let mut limiter = budget("1.00");
    let first = ask(&mut limiter, 0, "ada", 1, Some("0.20")).unwrap();
    ask(&mut limiter, 0, "bob", 1, Some("0.50")).unwrap();
    assert_eq!(
        reprice(&mut limiter, first, Hold::Money(usd("9.00"))),
        Some(usd("0.50"))
    );
    set_aside(&limiter, "1.00");
    settle(&mut limiter, 5, "bob", Some(2), 1, Some("0.90")).unwrap();
    assert_eq!(
        reprice(&mut limiter, first, Hold::Money(usd("9.00"))),
        Some(usd("0.50"))
    );
    assert_eq!(
        reprice(&mut limiter, first, Hold::Everything),
        Some(usd("0.10"))
    );
    set_aside(&limiter, "0.10");
}

#[test]
fn a_budget_that_is_set_while_calls_of_unknown_price_run_lets_nothing_begin_beside_them() {
    let mut limiter = Limiter::default();
    let first = ask(&mut limiter, 0, "ada", 1, None).unwrap();
    assert_eq!(reprice(&mut limiter, first, Hold::Everything), None);
    limiter
        .set_limits(Limits {
            budget: Some(usd("1.00")),
            ..Limits::default()
        })
        .unwrap();
    assert_eq!(
        reprice(&mut limiter, first, Hold::Everything),
        Some(usd("1.00"))
    );
    assert_eq!(
        ask(&mut limiter, 1, "bob", 1, Some("0.01")),
        Err("budget_exceeded")
    );
    let text = serde_json::to_string(&limiter).unwrap();
    assert_eq!(serde_json::from_str::<Limiter>(&text).unwrap(), limiter);
}

#[test]
fn the_members_own_budget_bounds_it_too_and_a_settled_call_has_no_price() {
    let ada = name("ada");
    let mut limiter = limiter(Limits {
        budget: Some(usd("5.00")),
        member_budget: Some(usd("1.00")),
        ..Limits::default()
    });
    let first = ask(&mut limiter, 0, "ada", 1, Some("0.10")).unwrap();
    assert_eq!(
        reprice(&mut limiter, first, Hold::Everything),
        Some(usd("1.00"))
    );
    settle(&mut limiter, 5, "ada", Some(first), 1, Some("0.30")).unwrap();
    let refused = limiter.reprice(ReservationId(first), &ada, Hold::Everything, at(10));
    assert_eq!(refused.unwrap_err().code(), "already_settled");
    set_aside(&limiter, "0");
}
