//! The order of task ids: the reference sorts them as text by the root rules of the Unicode collation, so `10` stands
//! before `2`, and `a`, `á`, `B` before `Z-1`.
//!
//! This is that order for what occurs in ids: punctuation, then digits, then letters without regard to accents and
//! case; accents decide next, and small letters stand before capital ones last.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// An id in the reference's order, worked out once: keys compare much faster than [`compare`] does, so that many ids are
/// sorted by them. Equal only for equal text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its characters without accents and capitals, by class and place.
    primary: Vec<(u8, u32)>,
    /// A letter without an accent stands before the same letter with one, so letters count too.
    accents: Vec<char>,
    capitals: Vec<bool>,
    text: String,
}

impl Key {
    /// The key of an id.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let plain = || text.nfd().filter(|c| !is_combining_mark(*c));
        let mark = |c| if is_combining_mark(c) { c } else { '\0' };
        Self {
            primary: plain().flat_map(char::to_lowercase).map(weight).collect(),
            accents: text.nfd().map(mark).collect(),
            capitals: plain().map(char::is_uppercase).collect(),
            text: text.into(),
        }
    }

    /// The id.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Compares two ids as the reference orders them. Equal only for equal text.
#[must_use]
pub fn compare(a: &str, b: &str) -> Ordering {
    Key::of(a).cmp(&Key::of(b))
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
