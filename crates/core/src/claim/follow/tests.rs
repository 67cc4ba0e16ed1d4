use super::super::{Case, Mode, Outcome, Patience, Request};
use super::*;
use crate::refusal::NameKind;
use alloc::vec::Vec;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000 + ms)
}

fn file() -> FilePath {
    FilePath::canonical("src/a.rs", "/p", Case::Kept).unwrap()
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).unwrap()
}

fn numbered(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|n| alloc::format!("line {n}")).collect()
}

fn text(lines: &[String]) -> FileLines {
    FileLines::of(lines.join("\n").as_bytes())
}

fn take(
    claims: &mut Claims,
    who: &str,
    range: (u64, u64),
    now: &FileLines,
    patience: Patience,
) -> Outcome {
    let member = Name::new(NameKind::Member, who).unwrap();
    let anchor = Anchor::take(lines(range.0, range.1), now)
        .unwrap()
        .to_string();
    let file = file();
    let wish = Request {
        anchor: Some(&anchor),
        patience,
        mode: Mode::Extend,
        ..Request::new(&member, &file, lines(range.0, range.1))
    };
    claims.claim(&wish, at(0)).unwrap().outcome
}

fn held(claims: &Claims) -> Vec<String> {
    let held = claims.held(at(1));
    held.map(|claim| alloc::format!("{} {}", claim.member, claim.lines))
        .collect()
}

#[test]
fn claims_and_waits_of_a_file_move_together() {
    let mut claims = Claims::default();
    let before = numbered(1, 40);
    take(&mut claims, "ada", (10, 20), &text(&before), Patience::None);
    take(&mut claims, "bob", (21, 30), &text(&before), Patience::None);
    take(
        &mut claims,
        "cy",
        (15, 25),
        &text(&before),
        Patience::Until(at(60_000)),
    );
    let mut after = numbered(101, 105);
    after.extend(before.clone());
    let followed = claims.follow(&file(), &text(&after), at(1));
    assert_eq!(held(&claims), ["ada 15-25", "bob 26-35"]);
    assert_eq!(claims.waiting(at(1)).next().unwrap().lines, lines(20, 30));
    assert_eq!((followed.events.len(), followed.lost.len()), (2, 0));
    // Again changes nothing, and back is back.
    assert_eq!(
        claims.follow(&file(), &text(&after), at(1)),
        Followed::default()
    );
    claims.follow(&file(), &text(&before), at(1));
    assert_eq!(held(&claims), ["ada 10-20", "bob 21-30"]);
}

#[test]
fn a_claim_that_cannot_be_found_stays_and_is_named() {
    let mut claims = Claims::default();
    let before = numbered(1, 40);
    take(&mut claims, "ada", (10, 12), &text(&before), Patience::None);
    let mut gone = before.clone();
    gone.drain(9..12);
    let followed = claims.follow(&file(), &text(&gone), at(1));
    assert_eq!(followed.lost, [(1, Lost::Gone)]);
    assert_eq!(held(&claims), ["ada 10-12"]);
    let claim = claims.held(at(1)).next().unwrap();
    assert_eq!(
        claim.moved(claim.standing(Some(&text(&gone)))),
        Moved::Unknown
    );
    assert_eq!(claim.standing(None), Standing::Unknown(Lost::Gone));
}

#[test]
fn claims_that_would_collide_are_not_moved() {
    let mut claims = Claims::default();
    let before = numbered(1, 40);
    take(&mut claims, "ada", (10, 12), &text(&before), Patience::None);
    take(&mut claims, "bob", (20, 22), &text(&before), Patience::None);
    // Bob's lines now stand in the middle of ada's.
    let mut mixed = before.clone();
    let bobs: Vec<String> = mixed.drain(19..22).collect();
    mixed.splice(10..10, bobs);
    let followed = claims.follow(&file(), &text(&mixed), at(1));
    assert_eq!(held(&claims), ["ada 10-12", "bob 20-22"]);
    assert!(!followed.lost.is_empty());
}

#[test]
fn what_grew_is_remembered_anew() {
    let mut claims = Claims::default();
    let before = text(&numbered(1, 40));
    take(&mut claims, "ada", (10, 12), &before, Patience::None);
    take(&mut claims, "ada", (13, 15), &before, Patience::None);
    assert_eq!(claims.held(at(0)).next().unwrap().anchor, None);
    let ada = Name::new(NameKind::Member, "ada").unwrap();
    claims.remember(&ada, &file(), &before);
    let kept = claims.held(at(0)).next().unwrap().anchor.clone().unwrap();
    assert_eq!(
        Anchor::parse(&kept).unwrap().locate(&before),
        Ok(lines(10, 15))
    );
}

#[test]
fn an_anchor_that_nobody_here_wrote_is_left_alone() {
    let mut claims = Claims::default();
    let member = Name::new(NameKind::Member, "ada").unwrap();
    let file = file();
    let wish = Request {
        anchor: Some("9:what"),
        ..Request::new(&member, &file, lines(1, 2))
    };
    claims.claim(&wish, at(0)).unwrap();
    let now = text(&numbered(1, 9));
    assert_eq!(claims.follow(&file, &now, at(1)), Followed::default());
    claims.remember(&member, &file, &now);
    let claim = claims.held(at(1)).next().unwrap();
    assert_eq!(claim.anchor.as_deref(), Some("9:what"));
    assert_eq!(claim.standing(Some(&now)), Standing::Taken(lines(1, 2)));
}
