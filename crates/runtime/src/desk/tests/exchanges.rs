//! Damping and waiting, over the desk.

use std::ops::ControlFlow;

use pitcrew_core::claim::{Case, FilePath, Lines, Patience, Request};
use pitcrew_core::event::Filter;
use pitcrew_core::exchange::TURNS;
use pitcrew_core::liveness::Wait;

use super::*;

fn words(crew: &Crew) -> Vec<String> {
    let mut words = Vec::new();
    let read = crew
        .desk()
        .events_from(0, &Filter::default(), &mut |event| {
            words.push(event.word().to_string());
            ControlFlow::Continue(())
        });
    read.unwrap();
    words
}

fn thank(crew: &Crew, n: usize) -> crate::desk::Sent {
    let (from, to) = if n.is_multiple_of(2) {
        ("ann", "bob")
    } else {
        ("bob", "ann")
    };
    let thanks = Draft::text(format!("thanks {n}"));
    crew.desk().send(&as_member(from), to, &thanks).unwrap()
}

#[test]
fn g10_two_members_that_thank_each_other_are_damped_and_the_leader_is_told_once() {
    let crew = Crew::of(&["ann", "bob"]);
    let damped: Vec<Option<u32>> = (0..30).map(|n| thank(&crew, n).damped).collect();
    let first = damped.iter().position(Option::is_some).unwrap();
    assert_eq!(first, 2 * TURNS as usize + 1);
    assert!(damped[first..].contains(&Some(TURNS)));
    // Nothing is lost: it only wakes nobody.
    let mail = crew.unread("ann");
    assert_eq!(mail.len() + crew.unread("bob").len(), 30);
    let quiet = mail
        .iter()
        .filter(|message| message.intent == Some(Intent::Inform));
    assert!(quiet.count() > 5);
    let told = crew.bodies("leader");
    assert_eq!(told.len(), 2, "once for each direction: {told:#?}");
    assert!(
        told[0].starts_with("bob has answered others 6 times"),
        "{}",
        told[0]
    );
    let events = words(&crew)
        .iter()
        .filter(|word| *word == "exchange_damped")
        .count();
    assert_eq!(events, 2);
}

#[test]
fn g10_broadcasts_between_two_members_are_damped_too() {
    let crew = Crew::of(&["ann", "bob"]);
    let last = (0..40).map(|n| {
        let from = if n % 2 == 0 { "ann" } else { "bob" };
        crew.desk()
            .broadcast(&as_member(from), &Draft::text("all hail"))
            .unwrap()
    });
    let last = last.last().unwrap();
    let damped = |to: &str| {
        let outcome = last.outcomes.iter().find(|(name, _)| name.as_str() == to);
        outcome.unwrap().1.as_ref().unwrap().damped
    };
    assert_eq!((damped("ann"), damped("leader")), (Some(TURNS), None));
}

#[test]
fn g10_work_or_a_word_of_the_leader_ends_the_damping() {
    for by in ["task", "leader"] {
        let crew = Crew::of(&["ann", "bob"]);
        let task = crew.task("one", &[]);
        (0..20).for_each(|n| drop(thank(&crew, n)));
        assert!(thank(&crew, 20).damped.is_some());
        match by {
            "task" => drop(crew.claim("ann", &task)),
            _ => drop(
                crew.desk()
                    .send(&as_member("leader"), "ann", &Draft::text("go"))
                    .unwrap(),
            ),
        }
        assert_eq!(thank(&crew, 22).damped, None, "{by}");
    }
}

#[test]
fn a_memory_of_exchanges_that_is_gone_or_broken_costs_no_message() {
    let crew = Crew::of(&["ann", "bob"]);
    (0..20).for_each(|n| drop(thank(&crew, n)));
    let gone = crew
        .store
        .update::<pitcrew_core::exchange::Exchanges, (), ()>(&(), |slot| {
            *slot = None;
            Ok(())
        });
    gone.unwrap().unwrap();
    assert_eq!(thank(&crew, 20).damped, None);
}

#[test]
fn who_waits_for_whom_and_why_is_told() {
    let crew = Crew::of(&["ann", "bob", "cy"]);
    let desk = crew.desk();
    let ask = Draft {
        intent: Some(Intent::Request),
        ..Draft::text("may I?")
    };
    let id = desk.send(&as_member("ann"), "bob", &ask).unwrap().id;
    let file = FilePath::canonical("a.rs", "/", Case::Kept).unwrap();
    let lines = Lines::new(1, 9).unwrap();
    let (ann, bob, cy) = (name("ann"), name("bob"), name("cy"));
    desk.claim_lines_as(&Request::new(&ann, &file, lines))
        .unwrap();
    let patience = Patience::Until(desk.now().plus_millis(60_000));
    desk.claim_lines_as(&Request {
        patience,
        ..Request::new(&bob, &file, lines)
    })
    .unwrap();
    let one = crew.task("one", &[]);
    crew.claim("bob", &one);
    let two = TaskPlan {
        description: "two".into(),
        assignee: Some("cy".into()),
        blocked_by: vec![one.clone()],
        ..TaskPlan::default()
    };
    desk.add_tasks(&[two]).unwrap();
    let waits = |reason: Wait| {
        let all = desk.waits().unwrap().waits;
        let found = all.into_iter().filter(move |wait| wait.reason == reason);
        found.map(|wait| (wait.member, wait.on)).collect::<Vec<_>>()
    };
    assert_eq!(waits(Wait::Reply), [(ann.clone(), vec![bob.clone()])]);
    assert_eq!(waits(Wait::Claim), [(bob.clone(), vec![ann.clone()])]);
    assert_eq!(waits(Wait::BlockedTask), [(cy.clone(), vec![bob.clone()])]);
    assert_eq!(waits(Wait::RateLimit), []);
    desk.pause_team(desk.now().plus_millis(5_000), "limit")
        .unwrap();
    assert_eq!(waits(Wait::RateLimit).len(), 3);
    desk.resume_team().unwrap();
    desk.release_lines(&ann, &file, None).unwrap();
    let answer = Draft {
        reply_to: Some(id),
        ..Draft::text("yes")
    };
    desk.send(&as_member("bob"), "ann", &answer).unwrap();
    assert_eq!((waits(Wait::Reply), waits(Wait::Claim)), (vec![], vec![]));
    let seen = words(&crew);
    let count = |word: &str| seen.iter().filter(|seen| *seen == word).count();
    assert_eq!(
        (count("wait_began"), count("wait_over")),
        (2, 2),
        "{seen:#?}"
    );
}

#[test]
fn nobody_waits_for_a_member_that_is_no_more_or_for_a_dead_letter() {
    let crew = Crew::of(&["ann", "bob", "cy"]);
    crew.settings(Settings {
        max_attempts: Some(1),
        ..Settings::default()
    });
    let ask = Draft {
        intent: Some(Intent::Request),
        ..Draft::text("may I?")
    };
    let desk = crew.desk();
    desk.send(&as_member("ann"), "bob", &ask).unwrap();
    desk.send(&as_member("ann"), "cy", &ask).unwrap();
    desk.remove_member("bob").unwrap();
    assert_eq!(desk.waits().unwrap().waits.len(), 1);
    desk.take(&name("cy"), "r", 0).unwrap();
    crew.clock.advance(1);
    desk.take(&name("cy"), "r", 0).unwrap();
    assert_eq!(desk.waits().unwrap().waits, []);
}
