use super::super::anchor::Anchor;
use super::super::{Case, decided};
use super::*;
use crate::refusal::NameKind;
use alloc::vec;

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn numbered(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|n| format!("line {n}")).collect()
}

fn text(lines: &[String]) -> FileLines {
    FileLines::of(lines.join("\n").as_bytes())
}

fn at(start: u64, count: u64) -> Span {
    Span { start, count }
}

fn hunk(old: (u64, u64), new: (u64, u64)) -> Hunk {
    Hunk {
        old: at(old.0, old.1),
        new: at(new.0, new.1),
    }
}

/// Ada's claim on lines 10 to 20 of forty numbered lines.
fn claim() -> Claim {
    let lines = Lines::new(10, 20).unwrap();
    Claim {
        id: 1,
        member: name("ada"),
        file: FilePath::canonical("a", "/p", Case::Kept).unwrap(),
        lines,
        since: Timestamp::from_millis(0),
        until: Timestamp::from_millis(60_000),
        anchor: Anchor::take(lines, &text(&numbered(1, 40))).map(|anchor| anchor.to_string()),
    }
}

/// A commit of `hunks`, after which the present file is as it was committed.
fn committed(old: &[String], new: &[String], hunks: Vec<Hunk>) -> Compared {
    Compared {
        decided: hunks.iter().map(|hunk| hunk.new).collect(),
        hunks,
        ahead: vec![],
        old: Some(text(old)),
        new: Some(text(new)),
        present: Some(text(new)),
    }
}

#[test]
fn a_commit_above_touches_nothing_and_shifts_the_claim() {
    let old = numbered(1, 40);
    let mut new = numbered(101, 103);
    new.extend(old.clone());
    let compared = committed(&old, &new, vec![hunk((1, 0), (1, 3))]);
    assert_eq!(claim().touched_by(&Touched::Compared(compared)), None);
}

#[test]
fn deleted_lines_at_the_edge_of_a_claim_are_still_its_lines() {
    let old = numbered(1, 40);
    let mut new = old.clone();
    new.drain(17..20);
    let compared = committed(&old, &new, vec![hunk((18, 3), (18, 0))]);
    let standing = claim().touched_by(&Touched::Compared(compared)).unwrap();
    assert_eq!(standing, Standing::Found(Lines::new(10, 17).unwrap()));
    // Those below are nobody's.
    let mut new = old.clone();
    new.drain(20..25);
    let compared = committed(&old, &new, vec![hunk((21, 5), (21, 0))]);
    assert_eq!(claim().touched_by(&Touched::Compared(compared)), None);
}

#[test]
fn only_what_is_staged_counts() {
    // Bob staged a change of line 30; ada's lines are changed and not staged.
    let old = numbered(1, 40);
    let mut staged = old.clone();
    staged[29] = "bob".into();
    let mut present = staged.clone();
    present.splice(11..12, ["ada 1".into(), "ada 2".into()]);
    let mut compared = committed(&old, &staged, vec![hunk((30, 1), (30, 1))]);
    compared.ahead = vec![hunk((12, 1), (12, 2))];
    compared.present = Some(text(&present));
    assert_eq!(
        claim().touched_by(&Touched::Compared(compared.clone())),
        None
    );
    // The same with ada's lines staged too.
    compared.ahead = vec![];
    compared.new = Some(text(&present));
    compared.hunks = vec![hunk((12, 1), (12, 2)), hunk((30, 1), (31, 1))];
    compared.decided = compared.hunks.iter().map(|hunk| hunk.new).collect();
    let standing = claim().touched_by(&Touched::Compared(compared));
    assert_eq!(standing, Some(Standing::Found(Lines::new(10, 21).unwrap())));
}

#[test]
fn a_claim_that_cannot_be_found_covers_its_file() {
    let old = numbered(201, 240);
    let mut new = old.clone();
    new[0] = "x".into();
    let compared = committed(&old, &new, vec![hunk((1, 1), (1, 1))]);
    let standing = claim().touched_by(&Touched::Compared(compared));
    assert_eq!(standing, Some(Standing::Unknown(Lost::Changed)));
    let touched = Touched::Lines {
        spans: vec![at(1, 1)],
        text: Some(text(&new)),
    };
    assert_eq!(
        claim().touched_by(&touched),
        Some(Standing::Unknown(Lost::Changed))
    );
}

#[test]
fn a_merge_is_judged_by_what_it_decides_itself() {
    let old = numbered(1, 40);
    let against = [vec![at(12, 1), at(30, 1)], vec![at(30, 1)]];
    let compared = Compared {
        decided: decided(&against),
        new: Some(text(&old)),
        present: Some(text(&old)),
        ..Compared::default()
    };
    assert_eq!(claim().touched_by(&Touched::Compared(compared)), None);
}

#[test]
fn an_edit_is_judged_where_the_lines_are_now() {
    let mut present = numbered(101, 105);
    present.extend(numbered(1, 40));
    let edit = |start, count| Touched::Lines {
        spans: vec![at(start, count)],
        text: Some(text(&present)),
    };
    assert_eq!(claim().touched_by(&edit(10, 5)), None);
    assert!(claim().touched_by(&edit(15, 1)).is_some());
    assert!(claim().touched_by(&edit(25, 1)).is_some());
    assert_eq!(claim().touched_by(&edit(26, 9)), None);
    assert!(claim().touched_by(&Touched::Whole).is_some());
}

#[test]
fn e6_a_conflict_is_a_sentence_with_the_next_step() {
    let (team, now) = (name("crew"), Timestamp::from_millis(0));
    let found = Standing::Found(Lines::new(15, 25).unwrap());
    let held = HeldLines::new(&team, &claim(), found, now);
    assert_eq!(held.to_string(), "ada holds a 15-25 for another 1 min");
    assert_eq!(held.moved, Moved::Yes);
    let lost = HeldLines::new(&team, &claim(), Standing::Unknown(Lost::Gone), now);
    assert_eq!(
        lost.to_string(),
        "ada holds a 10-20 for another 1 min, and where these lines are now cannot be told (they were deleted), so \
         all of the file counts"
    );
    let facts = LinesHeld::by_commit(vec![held.clone(), lost], &name("bob"));
    assert_eq!(
        facts.next,
        "ask ada, wait for it, or leave these lines out of the commit"
    );
    let human = LinesHeld::by_commit(vec![held], &Name::leader());
    assert!(human.next.contains("--no-verify") && human.next.contains("--as ada release"));
}
