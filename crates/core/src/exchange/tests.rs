use super::*;
use crate::refusal::NameKind;
use std::format;

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// Sends a message and answers what became of it, and what happened.
fn send(
    exchanges: &mut Exchanges,
    from: &str,
    to: &str,
    intent: Option<Intent>,
    now: i64,
) -> (Standing, Vec<ExchangeEvent>) {
    let (from, to) = (name(from), name(to));
    let id = format!("m{now}");
    let letter = Letter {
        id: &id,
        from: &from,
        to: &to,
        intent,
        reply_to: None,
    };
    let standing = exchanges.judge(&letter, at(now));
    (standing, exchanges.sent(&letter, standing, at(now)))
}

/// How many messages of a ring of members pass before one is damped.
fn passing(exchanges: &mut Exchanges, ring: &[&str], from: i64) -> usize {
    (0..200)
        .position(|n| {
            let (one, next) = (ring[n % ring.len()], ring[(n + 1) % ring.len()]);
            let (standing, _) = send(exchanges, one, next, None, from + n as i64);
            standing != Standing::Free
        })
        .unwrap()
}

#[test]
fn g10_two_that_thank_each_other_are_damped_after_six_turns_each() {
    let mut exchanges = Exchanges::default();
    // The first message answers nothing.
    assert_eq!(passing(&mut exchanges, &["ann", "bob"], 0), 13);
}

#[test]
fn g10_a_ring_of_three_is_damped_too() {
    let mut exchanges = Exchanges::default();
    let passed = passing(&mut exchanges, &["ann", "bob", "cy"], 0);
    assert_eq!(passed, 19);
}

#[test]
fn g10_many_that_thank_each_other_in_changing_pairs_are_damped() {
    let mut exchanges = Exchanges::default();
    let others: Vec<std::string::String> = (0..30).map(|n| format!("w{n}")).collect();
    let damped = others.iter().enumerate().any(|(n, other)| {
        let now = n as i64 * 2;
        send(&mut exchanges, other, "ann", None, now);
        send(&mut exchanges, "ann", other, None, now + 1).0 == Standing::Damped { turns: RING }
    });
    assert!(damped);
}

#[test]
fn g10_the_leader_is_told_once_for_each_time() {
    let mut exchanges = Exchanges::default();
    passing(&mut exchanges, &["ann", "bob"], 0);
    let told = |events: Vec<ExchangeEvent>| {
        events
            .iter()
            .any(|event| matches!(event, ExchangeEvent::Damped { .. }))
    };
    // Told by the message that was damped already, by bob here; each direction is one.
    let (standing, again) = send(&mut exchanges, "bob", "ann", None, 20);
    assert!(matches!(standing, Standing::Damped { turns: 6 }));
    let (_, once_more) = send(&mut exchanges, "bob", "ann", None, 21);
    assert_eq!((told(again), told(once_more)), (false, false));
    exchanges.progressed(&name("bob"));
    assert_eq!(passing(&mut exchanges, &["ann", "bob"], 30), 13);
}

#[test]
fn a_word_of_the_leader_a_task_or_a_quiet_while_ends_the_damping() {
    for end in 0..3 {
        let mut exchanges = Exchanges::default();
        passing(&mut exchanges, &["ann", "bob"], 0);
        let mut now = 100;
        match end {
            0 => drop(send(&mut exchanges, "leader", "bob", None, now)),
            1 => exchanges.progressed(&name("ann")),
            _ => now += QUIET_MS,
        }
        assert_eq!(
            send(&mut exchanges, "bob", "ann", None, now).0,
            Standing::Free,
            "{end}"
        );
    }
}

#[test]
fn words_that_wake_nobody_and_words_with_the_leader_are_no_turns() {
    let mut exchanges = Exchanges::default();
    for n in 0..100 {
        let ack = Some(if n % 3 == 0 {
            Intent::Ack
        } else {
            Intent::Inform
        });
        let (one, other) = if n % 2 == 0 {
            ("ann", "bob")
        } else {
            ("bob", "ann")
        };
        assert_eq!(send(&mut exchanges, one, other, ack, n).0, Standing::Free);
        let (one, other) = if n % 2 == 0 {
            ("ann", "leader")
        } else {
            ("leader", "ann")
        };
        assert_eq!(send(&mut exchanges, one, other, None, n).0, Standing::Free);
    }
    assert_eq!(exchanges, Exchanges::default());
}

#[test]
fn one_that_only_writes_and_hears_nothing_is_not_damped() {
    let mut exchanges = Exchanges::default();
    for n in 0..100 {
        assert_eq!(
            send(&mut exchanges, "ann", "bob", None, n).0,
            Standing::Free
        );
    }
}

#[test]
fn a_request_is_open_until_it_is_answered_given_up_or_nobody_is_there() {
    let ask = |exchanges: &mut Exchanges, now| {
        send(exchanges, "ann", "leader", Some(Intent::Request), now).1
    };
    let request = |now: i64| OpenRequest {
        id: format!("m{now}"),
        from: name("ann"),
        to: Name::leader(),
        since: at(now),
    };
    let mut exchanges = Exchanges::default();
    assert_eq!(ask(&mut exchanges, 1), [ExchangeEvent::Asked(request(1))]);
    ask(&mut exchanges, 2);
    assert_eq!(exchanges.open().count(), 2);
    // A reply to another message answers nothing.
    let (leader, ann) = (Name::leader(), name("ann"));
    let reply = |id| Letter {
        id: "r",
        from: &leader,
        to: &ann,
        intent: None,
        reply_to: Some(id),
    };
    assert_eq!(exchanges.sent(&reply("m9"), Standing::Free, at(3)), []);
    assert_eq!(
        exchanges.sent(&reply("m2"), Standing::Free, at(3)),
        [ExchangeEvent::Closed(request(2))]
    );
    // A notice that names no message is no answer, whoever it comes from.
    let (_, events) = send(&mut exchanges, "leader", "ann", Some(Intent::Inform), 4);
    assert_eq!(events, []);
    let (_, events) = send(&mut exchanges, "leader", "ann", None, 4);
    assert_eq!(events, [ExchangeEvent::Closed(request(1))]);
    ask(&mut exchanges, 5);
    assert_eq!(
        exchanges.given_up("m5"),
        [ExchangeEvent::Closed(request(5))]
    );
    ask(&mut exchanges, 6);
    assert_eq!(exchanges.gone(&ann), [ExchangeEvent::Closed(request(6))]);
    assert_eq!(exchanges, Exchanges::default());
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut exchanges = Exchanges::default();
    for n in 0..1_000 {
        send(&mut exchanges, "ann", "leader", Some(Intent::Request), n);
    }
    assert_eq!(exchanges.open().count(), MOST_OPEN);
    let first = exchanges.open().next().unwrap();
    assert_eq!(first.since, at(1_000 - MOST_OPEN as i64));
}
