use super::*;
use alloc::string::ToString;
use proptest::prelude::*;

fn text(lines: &[&str]) -> FileLines {
    FileLines::of(lines.join("\n").as_bytes())
}

fn lines(start: u64, end: u64) -> Lines {
    Lines::new(start, end).unwrap()
}

const BEFORE: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// Claims lines 4 to 6 (`d e f`) and looks for them after the change.
#[track_caller]
fn check(after: &[&str], expected: Result<(u64, u64), Lost>) {
    let anchor = Anchor::take(lines(4, 6), &text(&BEFORE)).unwrap();
    let written = Anchor::parse(&anchor.to_string());
    assert_eq!(written.as_ref(), Some(&anchor));
    let expected = expected.map(|(start, end)| lines(start, end));
    assert_eq!(anchor.locate(&text(after)), expected);
}

#[test]
fn a_claim_follows_its_lines_when_others_change_what_is_above() {
    check(&BEFORE, Ok((4, 6)));
    check(
        &["x", "y", "a", "b", "c", "d", "e", "f", "g", "h"],
        Ok((6, 8)),
    );
    check(&["d", "e", "f", "g", "h", "i", "j"], Ok((1, 3)));
    check(&["A", "B", "C", "x", "d", "e", "f", "g", "h"], Ok((5, 7)));
}

#[test]
fn what_its_holder_writes_inside_belongs_to_it() {
    check(
        &["a", "b", "c", "d", "e", "1", "2", "e", "f", "g"],
        Ok((4, 9)),
    );
    check(&["a", "b", "c", "D", "E", "F", "F2", "g", "h"], Ok((4, 7)));
    check(&["x", "a", "b", "c", "D", "e", "f", "g", "h"], Ok((5, 7)));
}

#[test]
fn what_stands_at_an_edge_of_whole_lines_is_no_claimed_line() {
    check(
        &["a", "b", "c", "x", "d", "e", "f", "y", "g", "h"],
        Ok((5, 7)),
    );
}

#[test]
fn lines_that_were_moved_as_a_whole_are_where_they_are() {
    check(
        &["d", "e", "f", "a", "b", "c", "g", "h", "i", "j"],
        Ok((1, 3)),
    );
}

#[test]
fn what_cannot_be_told_is_not_guessed() {
    check(&["a", "b", "c", "g", "h", "i", "j"], Err(Lost::Gone));
    check(&["a", "b", "X", "D", "e", "f", "g"], Err(Lost::Changed));
    check(&[], Err(Lost::Changed));
    // A copy of everything that tells where the claim begins.
    let copied = ["a", "b", "c", "d", "e", "f", "b", "c", "d", "e"];
    check(&copied, Err(Lost::Ambiguous));
}

#[test]
fn lines_that_repeat_are_followed_only_as_far_as_they_are_told_apart() {
    let same = ["}"; 40];
    let claimed = text(&same);
    let anchor = Anchor::take(lines(30, 31), &claimed).unwrap();
    assert_eq!(anchor.locate(&claimed), Ok(lines(30, 31)));
    let mut more = same.to_vec();
    more.insert(0, "}");
    // From the end of the file nothing has changed, and that is what its lower side holds on to.
    assert!(
        matches!(anchor.locate(&text(&more)), Ok(found) if found == lines(31, 32))
            || anchor.locate(&text(&more)) == Err(Lost::Ambiguous)
    );
    let middle = Anchor::take(lines(30, 31), &text(&["}"; 90])).unwrap();
    assert_eq!(middle.locate(&text(&["}"; 91])), Err(Lost::Ambiguous));
}

#[test]
fn the_ends_of_a_file_hold_a_claim_too() {
    let all = Anchor::take(lines(0, 100), &text(&BEFORE)).unwrap();
    assert_eq!(all.locate(&text(&["new"])), Ok(lines(0, 91)));
    assert_eq!(Anchor::take(lines(11, 20), &text(&BEFORE)), None);
    assert_eq!(Anchor::take(lines(1, 1), &text(&[])), None);
}

#[test]
fn an_anchor_is_small_whatever_the_file() {
    let file = "}\n".repeat(100_000);
    let anchor = Anchor::take(lines(5_000, 90_000), &FileLines::of(file.as_bytes())).unwrap();
    assert!(anchor.to_string().len() < 1_024);
}

#[test]
fn what_is_no_anchor_of_this_form_is_none() {
    for bad in [
        "",
        "3f2a",
        "2:1-2:0:00:::",
        "1:2-1:0:00::::",
        "1:1-2:0:00::::x",
        "1:1-2:0:00:::",
        "1:1-2:0:00:::é:",
    ] {
        assert_eq!(Anchor::parse(bad), None, "{bad}");
    }
}

proptest! {
    /// Every line of the text is another, so where a line is can be told by looking.
    #[test]
    fn what_is_found_is_never_wrong(
        count in 1usize..30,
        range in (0usize..30, 0usize..8),
        edits in proptest::collection::vec((0usize..40, 0usize..4, 0usize..4), 0..6),
    ) {
        let old: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
        let (first, last) = (range.0 % count, (range.0 % count + range.1).min(count - 1));
        let before = FileLines::of(old.join("\n").as_bytes());
        let anchor = Anchor::take(lines(first as u64 + 1, last as u64 + 1), &before).unwrap();
        let mut new = old.clone();
        for (round, (at, gone, come)) in edits.iter().enumerate() {
            let at = at % (new.len() + 1);
            let gone = (*gone).min(new.len() - at);
            new.splice(at..at + gone, (0..*come).map(|n| alloc::format!("x{round}-{n}")));
        }
        if let Ok(found) = anchor.locate(&FileLines::of(new.join("\n").as_bytes())) {
            let inside = &new[found.start() as usize - 1..(found.end() as usize).min(new.len())];
            for (at, line) in old.iter().enumerate() {
                let is_claimed = (first..=last).contains(&at);
                prop_assert!(!inside.contains(line) || is_claimed, "{} is in {}", line, found);
                prop_assert!(!is_claimed || !new.contains(line) || inside.contains(line), "{} is not in {}", line, found);
            }
        }
    }
}
