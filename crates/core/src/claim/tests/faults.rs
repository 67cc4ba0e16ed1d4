//! What goes wrong in the field, E2 to E6. E1 and the rest of E2 stand with paths and lines.

use super::*;

#[test]
fn e2_ranges_that_share_a_line_conflict() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    assert_eq!(code(story.claim(0, "bob", (20, 30))), "claim_conflict");
    assert_eq!(code(story.claim(0, "bob", (0, 10))), "claim_conflict");
    assert_eq!(code(story.claim(0, "bob", (15, 15))), "claim_conflict");
    assert_eq!(code(story.claim(0, "bob", (0, 100))), "claim_conflict");
    assert_eq!(code(story.claim(0, "bob", (0, 5))), "ok");
    assert_eq!(code(story.claim(0, "cy", (21, 30))), "ok");
    assert_eq!(code(story.claim_in(0, "cy", "src/b.rs", (10, 20))), "ok");
}

#[test]
fn e3_a_claim_renewed_a_millisecond_before_its_end_is_never_lost() {
    let mut story = Story::default();
    let id = story.claim(0, "ada", (10, 20)).unwrap();
    let mut now = 0;
    for _ in 0..500 {
        now += 299_999;
        assert_eq!(code(story.claim(now, "bob", (20, 30))), "claim_conflict");
        assert_eq!(story.claims.sweep(at(now)), []);
        assert_eq!(story.claim(now, "ada", (10, 20)), Ok(id));
    }
    assert_eq!(
        code(story.claim(now + 299_999, "bob", (20, 30))),
        "claim_conflict"
    );
    assert_eq!(code(story.claim(now + 300_000, "bob", (20, 30))), "ok");
}

#[test]
fn e4_every_end_of_a_holder_is_an_event_per_claim() {
    for cause in [EndCause::Stopped, EndCause::Crashed, EndCause::Dissolved] {
        let mut story = Story::default();
        story.claim(0, "ada", (1, 2)).unwrap();
        story.claim_in(0, "ada", "src/b.rs", (3, 4)).unwrap();
        story.claim(0, "bob", (5, 6)).unwrap();
        let events = story.claims.end_member(&name("ada"), cause, at(1));
        assert_eq!(ends(&events), [("ada", 1, 2, cause), ("ada", 3, 4, cause)]);
        story.holds_in_a(1, &[("bob", 5, 6)]);
    }
}

#[test]
fn e4_an_expired_claim_is_collected_with_an_event() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    assert_eq!(story.claims.next_deadline(), Some(at(300_000)));
    assert_eq!(story.claims.sweep(at(299_999)), []);
    let events = story.claims.sweep(at(300_000));
    assert_eq!(ends(&events), [("ada", 10, 20, EndCause::Expired)]);
    assert_eq!(
        story.claims,
        Claims {
            next: 2,
            ..Claims::default()
        }
    );

    story.claim(0, "ada", (10, 20)).unwrap();
    let answer = story
        .ask(300_000, "bob", "src/b.rs", (1, 1), |wish| wish)
        .unwrap();
    assert_eq!(ends(&answer.events), [("ada", 10, 20, EndCause::Expired)]);
}

#[test]
fn e5_twenty_five_race_for_one_region_and_ten_for_their_own() {
    let mut story = Story::default();
    let won = (0..25)
        .filter(|i| story.claim(0, &alloc::format!("w{i}"), (100, 200)).is_ok())
        .count();
    assert_eq!(won, 1);
    let won = (0..10)
        .filter(|i| {
            story
                .claim(0, &alloc::format!("x{i}"), (i * 10, i * 10 + 9))
                .is_ok()
        })
        .count();
    assert_eq!(won, 10);
}

#[test]
fn e6_a_conflict_says_who_which_lines_how_long_and_what_next() {
    let mut story = Story::default();
    story.claim(0, "ada", (10, 20)).unwrap();
    let refused = story.claim(1_000, "bob", (15, 30)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "src/a.rs 15-30 cannot be claimed: ada holds 10-20 for another 4 min 59 s"
    );
    assert_eq!(
        serde_json::to_value(&refused).unwrap(),
        json!({
            "code": "claim_conflict",
            "file": "src/a.rs",
            "lines": {"start": 15, "end": 30},
            "holders": [{
                "member": "ada", "lines": {"start": 10, "end": 20},
                "until": at(300_000).to_string(), "left_ms": 299_000,
            }],
            "waiting": [],
            "free": [{"start": 21, "end": 30}],
            "next": "claim only 21-30, which can be had now, or ask ada, or wait for it",
        })
    );
    let refused = story.claim(1_000, "bob", (12, 14)).unwrap_err();
    let Refusal::ClaimConflict(facts) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(facts.next, "ask ada, wait for it, or work on other lines");
}
