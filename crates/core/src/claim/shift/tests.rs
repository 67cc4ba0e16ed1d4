use super::*;
use alloc::vec;
use proptest::prelude::*;

fn at(start: u64, count: u64) -> Span {
    Span { start, count }
}

fn hunk(old: (u64, u64), new: (u64, u64)) -> Hunk {
    Hunk {
        old: at(old.0, old.1),
        new: at(new.0, new.1),
    }
}

#[test]
fn a_header_is_read_as_it_is_written() {
    let parse = |text| Hunk::parse(text);
    assert_eq!(parse("@@ -1 +1,2 @@ fn a()"), Some(hunk((1, 1), (1, 2))));
    // Without lines, the number is the line in front.
    assert_eq!(parse("@@ -3,0 +4,2 @@"), Some(hunk((4, 0), (4, 2))));
    assert_eq!(parse("@@ -0,0 +1,5 @@"), Some(hunk((1, 0), (1, 5))));
    for bad in [
        "@@ -1 @@",
        "@@ -a +1 @@",
        "@@@ -1 -1 +1 @@@",
        "-1 +1",
        "@@ -1 +1",
    ] {
        assert_eq!(parse(bad), None, "{bad}");
    }
}

#[test]
fn an_insertion_touches_a_claim_only_from_inside() {
    let claim = at(10, 3);
    for (span, touches) in [
        (at(10, 0), false),
        (at(11, 0), true),
        (at(12, 0), true),
        (at(13, 0), false),
        (at(9, 1), false),
        (at(9, 2), true),
        (at(12, 5), true),
        (at(13, 1), false),
    ] {
        assert_eq!(span.touches(claim), touches, "{span:?}");
    }
    assert!(!at(10, 3).touches(at(11, 0)));
}

#[test]
fn lines_follow_what_was_inserted_and_deleted_above() {
    let hunks = [hunk((3, 0), (3, 5)), hunk((20, 4), (25, 0))];
    assert_eq!(forward(&hunks, at(10, 5)), at(15, 5));
    assert_eq!(back(&hunks, at(15, 5)), at(10, 5));
    assert_eq!(forward(&hunks, at(1, 2)), at(1, 2));
    // Across the insertion, it belongs to the range; across the deletion, the range is shorter.
    assert_eq!(forward(&hunks, at(2, 2)), at(2, 7));
    assert_eq!(forward(&hunks, at(19, 10)), at(24, 6));
    // Inserted lines were nothing before.
    assert_eq!(back(&hunks, at(4, 2)), at(3, 0));
    assert_eq!(forward(&hunks, at(0, 1)), at(0, 1));
}

#[test]
fn a_replacement_of_equal_length_is_taken_line_by_line() {
    let hunks = [hunk((5, 3), (7, 3))];
    assert_eq!(forward(&hunks, at(6, 1)), at(8, 1));
    let unequal = [hunk((5, 3), (7, 4))];
    assert_eq!(forward(&unequal, at(6, 1)), at(7, 4));
}

#[test]
fn a_merge_decides_only_what_differs_from_all() {
    let ours = vec![at(1, 3), at(10, 2), at(20, 0)];
    let theirs = vec![at(3, 5), at(12, 2), at(18, 4)];
    assert_eq!(decided(&[ours.clone(), theirs]), [at(3, 1), at(20, 0)]);
    assert_eq!(decided(core::slice::from_ref(&ours)), ours);
    assert_eq!(decided(&[ours, vec![]]), []);
}

/// A naive text: lines by number, so that one line is told from every other.
fn edited(old: &[u32], edits: &[(usize, usize, usize)]) -> Vec<u32> {
    let mut new = old.to_vec();
    let mut fresh = 1_000;
    for (at, gone, come) in edits {
        let at = at % (new.len() + 1);
        let gone = (*gone).min(new.len() - at);
        let lines: Vec<u32> = (0..*come).map(|n| fresh + n as u32).collect();
        fresh += *come as u32;
        new.splice(at..at + gone, lines);
    }
    new
}

/// What differs, by the lines that both have: they keep their order, so every gap between them is a hunk.
fn hunks_between(old: &[u32], new: &[u32]) -> Vec<Hunk> {
    let kept: Vec<(usize, usize)> = old
        .iter()
        .enumerate()
        .filter_map(|(o, line)| Some((o, new.iter().position(|n| n == line)?)))
        .collect();
    let ends = kept.iter().copied().chain([(old.len(), new.len())]);
    let (mut o, mut n) = (0, 0);
    let mut hunks = Vec::new();
    for (to_o, to_n) in ends {
        if to_o > o || to_n > n {
            let span = |from: usize, to: usize| at(from as u64 + 1, (to - from) as u64);
            hunks.push(Hunk {
                old: span(o, to_o),
                new: span(n, to_n),
            });
        }
        (o, n) = (to_o + 1, to_n + 1);
    }
    hunks
}

proptest! {
    #[test]
    fn lines_that_stay_are_found_and_nothing_else_is_let_in(
        count in 1usize..30,
        edits in proptest::collection::vec((0usize..40, 0usize..5, 0usize..5), 0..6),
        range in (0usize..30, 0usize..10),
    ) {
        let old: Vec<u32> = (1..=count as u32).collect();
        let new = edited(&old, &edits);
        let hunks = hunks_between(&old, &new);
        let first = range.0 % count;
        let last = (first + range.1).min(count - 1);
        let to = forward(&hunks, at(first as u64 + 1, (last - first) as u64 + 1));
        let inside: Vec<u32> = new.iter().copied().skip(to.start as usize - 1).take(to.count as usize).collect();
        for line in &old[first..=last] {
            // Every claimed line that is still there is in the range.
            prop_assert_eq!(new.contains(line), inside.contains(line), "{:?}", to);
        }
        for line in &inside {
            // Every other old line is outside of it.
            prop_assert!(!old.contains(line) || old[first..=last].contains(line), "{} in {:?}", line, to);
        }
        if let (Some(one), Some(two)) = (new.iter().position(|n| *n == old[first]), new.iter().position(|n| *n == old[last])) {
            // Ends that are still there are the ends.
            prop_assert_eq!(to, at(one as u64 + 1, (two - one) as u64 + 1));
            prop_assert_eq!(back(&hunks, to), at(first as u64 + 1, (last - first) as u64 + 1));
        }
    }

    #[test]
    fn no_header_makes_it_panic(text in "@@ -[0-9]{0,21},?[0-9]{0,3} \\+[0-9]{0,21} @@.{0,3}") {
        if let Some(hunk) = Hunk::parse(&text) {
            let _ = (forward(&[hunk], at(1, 3)), back(&[hunk], at(u64::MAX, 1)));
        }
    }
}
