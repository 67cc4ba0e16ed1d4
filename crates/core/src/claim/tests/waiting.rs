//! Standing in line.

use super::*;

#[test]
fn waits_are_granted_in_the_order_in_which_they_came() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let bob = story.wait(1, "bob", "src/a.rs", (15, 30)).unwrap();
    let cy = story.wait(2, "cy", "src/a.rs", (25, 40)).unwrap();
    let dan = story.wait(3, "dan", "src/a.rs", (10, 12)).unwrap();
    let events = story.release(1_000, "ada", "src/a.rs");
    // cy waits behind bob for 25-30; nobody is in dan's way.
    assert_eq!(grants(&events), [(bob, 999), (dan, 997)]);
    assert_eq!(
        story.claims.turn(bob, at(1_000)),
        Turn::Held(&story.claims.held[&bob])
    );
    assert!(matches!(story.claims.turn(cy, at(1_000)), Turn::Waiting(_)));
    let events = story.release(2_000, "bob", "src/a.rs");
    assert_eq!(grants(&events), [(cy, 1_998)]);
    story.holds_in_a(2_000, &[("dan", 10, 12), ("cy", 25, 40)]);
}

#[test]
fn nobody_overtakes_a_member_that_waits() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    story.wait(1, "bob", "src/a.rs", (15, 30)).unwrap();
    let refused = story.claim(2, "cy", (28, 40)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "src/a.rs 28-40 cannot be claimed: bob waits for 15-30"
    );
    assert_eq!(code(story.claim(2, "cy", (31, 40))), "ok");
    // What ada holds already it may renew, but not reach for more.
    assert_eq!(code(story.claim(2, "ada", (10, 20))), "ok");
    assert_eq!(code(story.claim(2, "ada", (12, 18))), "ok");
    assert_eq!(code(story.claim(3, "ada", (12, 25))), "claim_conflict");
}

#[test]
fn a_wait_is_granted_when_the_holder_expires_or_ends() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let bob = story.wait(290_000, "bob", "src/a.rs", (10, 20)).unwrap();
    assert_eq!(story.claims.next_deadline(), Some(at(300_000)));
    assert_eq!(grants(&story.claims.sweep(at(300_000))), [(bob, 10_000)]);
    let cy = story.wait(301_000, "cy", "src/a.rs", (10, 20)).unwrap();
    let events = story
        .claims
        .end_member(&name("bob"), EndCause::Crashed, at(301_500));
    assert_eq!(grants(&events), [(cy, 500)]);
}

#[test]
fn a_wait_gives_up_at_its_end_or_by_word() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let bob = story.wait(0, "bob", "src/a.rs", (10, 20)).unwrap();
    let cy = story.wait(1, "cy", "src/a.rs", (20, 30)).unwrap();
    let events = story.claims.withdraw(&name("bob"), cy, at(2));
    assert_eq!(events, [], "only its own member may");
    let events = story.claims.withdraw(&name("cy"), cy, at(2));
    assert!(matches!(
        &events[..],
        [ClaimEvent::WaitEnded {
            cause: EndCause::Released,
            ..
        }]
    ));
    assert_eq!(story.claims.turn(cy, at(2)), Turn::Over);
    let events = story.claims.sweep(at(60_000));
    assert!(matches!(
        &events[..],
        [ClaimEvent::WaitEnded {
            cause: EndCause::Expired,
            ..
        }]
    ));
    assert_eq!(story.claims.turn(bob, at(60_000)), Turn::Over);
}

#[test]
fn a_wait_asked_for_again_keeps_its_place() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let bob = story.wait(0, "bob", "src/a.rs", (10, 20)).unwrap();
    story.wait(1, "cy", "src/a.rs", (10, 20)).unwrap();
    assert_eq!(story.wait(30_000, "bob", "src/a.rs", (10, 20)), Ok(bob));
    let events = story.release(70_000, "ada", "src/a.rs");
    assert_eq!(grants(&events), [(bob, 70_000)]);
}

#[test]
fn a_new_claim_takes_the_place_of_the_member_s_waits_in_that_file() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let bob = story.wait(0, "bob", "src/a.rs", (10, 20)).unwrap();
    story.claim(1, "bob", (30, 40)).unwrap();
    assert_eq!(story.claims.turn(bob, at(1)), Turn::Over);
}

#[test]
fn a_member_keeps_what_it_holds_while_it_waits_for_more() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    story.claim(0, "bob", (30, 40)).unwrap();
    story.wait(1, "bob", "src/a.rs", (15, 25)).unwrap();
    story.holds_in_a(1, &[("ada", 10, 20), ("bob", 30, 40)]);
    story.release(2, "ada", "src/a.rs");
    story.holds_in_a(2, &[("bob", 15, 25)]);
}

#[test]
fn a_circle_of_waits_is_refused_and_named() {
    let mut story = Story::default();
    story.claim_in(0, "ada", "a", (1, 10)).unwrap();
    story.claim_in(0, "bob", "b", (1, 10)).unwrap();
    story.claim_in(0, "cy", "c", (1, 10)).unwrap();
    story.wait(1, "ada", "b", (5, 6)).unwrap();
    story.wait(2, "bob", "c", (7, 8)).unwrap();
    let refused = story.wait(3, "cy", "a", (9, 9)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "waiting would never end: cy waits for ada over a 9, ada waits for bob over b 5-6, \
         bob waits for cy over c 7-8"
    );
    let Refusal::Deadlock(facts) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        facts.next,
        "release what bob waits for in c, or work on something else until the others are done"
    );
    // Without patience it is a plain conflict, and giving up what is waited for opens the circle.
    assert_eq!(code(story.claim_in(3, "cy", "a", (9, 9))), "claim_conflict");
    story.release(4, "cy", "c");
    assert_eq!(code(story.wait(5, "cy", "a", (9, 9))), "ok");
}

#[test]
fn two_who_want_each_other_s_lines_are_a_circle() {
    let mut story = Story::default();
    story.claim(0, "ada", (1, 10)).unwrap();
    story.claim(0, "bob", (11, 20)).unwrap();
    story.wait(1, "ada", "src/a.rs", (5, 15)).unwrap();
    assert_eq!(code(story.wait(2, "bob", "src/a.rs", (5, 15))), "deadlock");
}

#[test]
fn waiting_behind_a_wait_counts_for_a_circle() {
    let mut story = Story::default();
    story.claim_in(0, "ada", "a", (1, 10)).unwrap();
    story.claim_in(0, "cy", "c", (1, 10)).unwrap();
    story.wait(1, "bob", "a", (1, 10)).unwrap();
    story.wait(2, "cy", "a", (5, 5)).unwrap();
    assert_eq!(code(story.wait(3, "bob", "c", (1, 1))), "deadlock");
}

#[test]
fn tables_are_bounded() {
    let mut story = Story::default();
    story.claim(0, "ada", (0, 1_000_000)).unwrap();
    for i in 0..MOST_WAITING as u64 {
        story
            .wait(0, &alloc::format!("w{i}"), "src/a.rs", (i, i))
            .unwrap();
    }
    assert_eq!(
        code(story.wait(0, "late", "src/a.rs", (5_000, 5_000))),
        "table_full"
    );
    let mut story = Story::default();
    for i in 0..MOST_HELD as u64 {
        let claim = Claim {
            id: i + 1,
            member: name("ada"),
            file: file("src/a.rs"),
            lines: lines(2 * i, 2 * i),
            since: at(0),
            until: at(1_000),
            anchor: None,
        };
        story.claims.put(claim);
    }
    let refused = story.claim_in(0, "bob", "b", (1, 1)).unwrap_err();
    let full = Refusal::TableFull {
        what: "claims".into(),
        limit: MOST_HELD as u64,
        retry_after_ms: Some(1_000),
    };
    assert_eq!(refused, full);
    assert_eq!(code(story.claim_in(1_000, "bob", "b", (1, 1))), "ok");
}
