//! Claims and waits that were made while the clock was ahead.

use super::*;
use proptest::prelude::*;

/// A year, in milliseconds.
const YEAR: i64 = 365 * 24 * 60 * 60 * 1_000;

#[test]
fn a_claim_of_a_clock_that_was_ahead_holds_nothing_and_ends_with_an_event() {
    let mut story = Story::default();
    story.claim(YEAR, "ada", (10, 20)).unwrap();
    story.holds_in_a(0, &[]);
    let (path, lines) = (file("src/a.rs"), lines(10, 20));
    assert!(
        story
            .claims
            .in_the_way(&name("bob"), &path, lines, at(0))
            .is_empty()
    );
    let events = story.claims.sweep(at(0));
    assert!(
        matches!(
            &events[..],
            [ClaimEvent::ClaimEnded {
                cause: EndCause::Expired,
                ..
            }]
        ),
        "{events:?}"
    );
    assert_eq!(code(story.claim(0, "bob", (15, 16))), "ok");
    story.holds_in_a(0, &[("bob", 15, 16)]);
}

#[test]
fn a_clock_that_was_put_right_by_a_little_takes_no_claim_away() {
    let mut story = Story::default();
    story.claim(60 * 60 * 1_000, "ada", (10, 20)).unwrap();
    assert_eq!(code(story.claim(0, "bob", (15, 16))), "claim_conflict");
    assert!(story.claims.sweep(at(0)).is_empty());
}

#[test]
fn a_wait_of_a_clock_that_was_ahead_keeps_nobody_back() {
    let mut story = Story::default();
    story.claim(YEAR, "ada", (10, 20)).unwrap();
    let bob = story.wait(YEAR, "bob", "src/a.rs", (10, 20)).unwrap();
    assert_eq!(story.claims.waiting(at(0)).count(), 0);
    assert_eq!(story.claims.turn(bob, at(0)), Turn::Over);
    assert_eq!(code(story.claim(0, "cy", (15, 16))), "ok");
    assert_eq!(
        story.claims.waiting(at(YEAR)).count(),
        0,
        "it was taken out"
    );
}

#[test]
fn who_waits_again_after_the_clock_was_put_right_waits_as_long_as_it_says() {
    let mut story = Story::default();
    story.claim(YEAR, "ada", (10, 20)).unwrap();
    story.wait(YEAR, "bob", "src/a.rs", (10, 20)).unwrap();
    assert_eq!(code(story.claim(0, "cy", (10, 20))), "ok");
    let bob = story.wait(1, "bob", "src/a.rs", (10, 20)).unwrap();
    let Turn::Waiting(wait) = story.claims.turn(bob, at(1)) else {
        panic!("bob waits");
    };
    assert!(wait.until.millis_since(at(1)) < YEAR);
}

proptest! {
    #[test]
    fn no_claim_holds_for_longer_than_twice_the_longest_from_any_instant(
        made in -3 * YEAR..3 * YEAR,
        looked in -3 * YEAR..3 * YEAR,
        ttl_ms in 1..=MOST_TTL_MS,
    ) {
        let mut claims = Claims::default();
        let (ada, path) = (name("ada"), file("src/a.rs"));
        let wish = Request {
            ttl_ms,
            ..Request::new(&ada, &path, lines(1, 2))
        };
        let Ok(Answer { outcome: Outcome::Held { claim }, .. }) = claims.claim(&wish, at(made)) else {
            panic!("nobody is in the way");
        };
        let longest = 2 * MOST_TTL_MS.cast_signed() + 60_000;
        if claim.is_live(at(looked)) {
            prop_assert!(claim.until > at(looked));
            prop_assert!(claim.until.millis_since(at(looked)) <= longest);
        } else {
            claims.sweep(at(looked));
            prop_assert_eq!(claims, Claims { next: 2, ..Claims::default() });
        }
        // Under the clock that it was made under, it holds as long as it was to.
        prop_assert!(claim.is_live(at(made)));
        prop_assert!(claim.is_live(claim.until.plus_millis(-1)));
        prop_assert!(!claim.is_live(claim.until));
    }
}
