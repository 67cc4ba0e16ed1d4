//! The order of task ids: the reference sorts them as text by the root rules of the Unicode collation, so `10` stands
//! before `2`, and `a`, `á`, `B` before `Z-1`.
//!
//! This is that order for what occurs in ids: punctuation, then digits, then letters without regard to accents and
//! case; accents decide next, and small letters stand before capital ones last.

use alloc::vec::Vec;
use core::cmp::Ordering;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Compares two ids as the reference orders them. Equal only for equal text.
#[must_use]
pub fn compare(a: &str, b: &str) -> Ordering {
    let primary = |text: &str| -> Vec<(u8, u32)> {
        text.nfd()
            .filter(|c| !is_combining_mark(*c))
            .flat_map(char::to_lowercase)
            .map(weight)
            .collect()
    };
    // A letter without an accent stands before the same letter with one, so letters count too.
    let accents = |text: &str| -> Vec<char> {
        let mark = |c| if is_combining_mark(c) { c } else { '\0' };
        text.nfd().map(mark).collect()
    };
    let capitals = |text: &str| -> Vec<bool> {
        text.nfd()
            .filter(|c| !is_combining_mark(*c))
            .map(char::is_uppercase)
            .collect()
    };
    primary(a)
        .cmp(&primary(b))
        .then_with(|| accents(a).cmp(&accents(b)))
        .then_with(|| capitals(a).cmp(&capitals(b)))
        .then_with(|| a.cmp(b))
}

/// The class of a character, then its place in the class.
fn weight(c: char) -> (u8, u32) {
    /// The punctuation that file names may hold, in the order of the collation.
    const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    match PUNCTUATION.chars().position(|known| known == c) {
        Some(place) => (1, u32::try_from(place).unwrap_or(u32::MAX)),
        None if c.is_whitespace() => (0, u32::from(c)),
        None if c.is_numeric() => (2, u32::from(c)),
        None if c.is_alphabetic() => (3, u32::from(c)),
        None => (1, u32::from(c) + 64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(mut ids: Vec<&str>) -> Vec<&str> {
        ids.sort_by(|a, b| compare(a, b));
        ids
    }

    /// That the ids, given in their right order, are put into it.
    fn check(right: &[&str]) {
        assert_eq!(sorted(right.iter().rev().copied().collect()), right);
        for pair in right.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn the_reference_s_examples_stand_in_its_order() {
        check(&["1", "10", "11", "12", "2", "3"]);
        check(&["_x", "10", "9", "a", "á", "B", "t1", "T1", "Z-1"]);
    }

    #[test]
    fn every_printable_ascii_character_has_the_place_that_the_collation_gives_it() {
        let order = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ";
        assert_eq!(order.len(), 95);
        let each: Vec<_> = order.split("").filter(|one| !one.is_empty()).collect();
        check(&each);
    }

    #[test]
    fn letters_decide_before_accents_and_accents_before_capitals() {
        check(&[
            "_x", "_y", "-x", "10", "9", "a", "A", "á", "Á", "ab", "aB", "Ab", "b", "B",
        ]);
        check(&[
            "task", "task_1", "task-1", "task1", "task10", "task2", "Task2", "tasks",
        ]);
        check(&["co-op", "coop", "resume", "Resume", "résumé", "Résumé"]);
        check(&["0", "00", "01", "1", "1_a", "1-a", "1a"]);
        check(&["eü", "Eü", "éu", "Éu"]);
    }

    proptest! {
        #[test]
        fn it_is_a_total_order(a in ".{0,6}", b in ".{0,6}", c in ".{0,6}") {
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            prop_assert_eq!(compare(&a, &b) == Ordering::Equal, a == b);
            if compare(&a, &b) != Ordering::Greater && compare(&b, &c) != Ordering::Greater {
                prop_assert!(compare(&a, &c) != Ordering::Greater);
            }
        }
    }
}
