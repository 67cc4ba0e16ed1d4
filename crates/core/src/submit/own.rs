//! Whether text on a screen is ours, whatever blanks and line ends a program put into it.
//!
//! Programs wrap long lines at any width, so texts are compared without blanks.

use alloc::string::String;
use alloc::vec::Vec;

use super::keys::Keys;
use crate::screen::{Composer, Facts};

/// The shortest piece that is taken for ours when a composer shows only the end of a long text.
const PIECE: usize = 48;

/// How many signs must follow right after a gap in an echo.
const PACE: usize = 8;

/// The longest gap in an echo, in signs.
const GAP: usize = 12;

/// The most gaps in an echo.
const GAPS: usize = 8;

/// Signs that frame rows; they are no part of what a row says.
const FRAME: &[char] = &['│', '┃', '║', '╎', '┆', '▌', '▐'];

/// How a composer's text relates to ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// Exactly ours.
    Ours,
    /// The first part of ours: it is still being drawn.
    Partly,
    /// Ours and something else.
    Mixed,
    /// Something else.
    Foreign,
    /// Nothing.
    Nothing,
    /// It cannot be told.
    Unknown,
}

fn takes_room(sign: char) -> bool {
    !sign.is_whitespace()
        && !matches!(
            sign,
            '\u{200b}'..='\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{feff}'
        )
}

fn squashed(text: &str) -> String {
    text.chars().filter(|sign| takes_room(*sign)).collect()
}

/// How what stands in the composer relates to `ours`.
pub(super) fn held(composer: &Composer, ours: &str, keys: &Keys) -> Held {
    let text = match composer {
        Composer::Absent => return Held::Unknown,
        Composer::Empty => return Held::Nothing,
        Composer::Draft(text) | Composer::Unclear(text) => squashed(text),
    };
    let ours = squashed(ours);
    let marked = |marker: &String| {
        let marker = squashed(marker);
        !marker.is_empty() && text.starts_with(&marker) && text.ends_with(']')
    };
    let tail = text.chars().count() >= PIECE && ours.ends_with(&text);
    if text == ours || tail {
        Held::Ours
    } else if text.is_empty() || keys.paste_markers.iter().any(marked) {
        if text.is_empty() {
            Held::Foreign
        } else {
            Held::Ours
        }
    } else if ours.starts_with(&text) {
        Held::Partly
    } else if text.contains(&ours) {
        Held::Mixed
    } else {
        Held::Foreign
    }
}

/// How often `ours` stands on the screen outside the composer.
///
/// Rows are read one after the other without blanks. A program may put something of its own between two rows of a
/// message, a time for instance, so a few short gaps are allowed; every sign of `ours` must be there in order.
pub(super) fn echoes(facts: &Facts, composer: &Composer, ours: &str) -> usize {
    let mut screen: Vec<char> = Vec::new();
    for row in &facts.rows {
        let row = row.text.trim().trim_matches(FRAME);
        screen.extend(row.chars().filter(|sign| takes_room(*sign)));
    }
    let ours: Vec<char> = squashed(ours).chars().collect();
    let inside: Vec<char> = match composer {
        Composer::Draft(text) | Composer::Unclear(text) => squashed(text).chars().collect(),
        Composer::Absent | Composer::Empty => Vec::new(),
    };
    count(&screen, &ours).saturating_sub(count(&inside, &ours))
}

fn count(screen: &[char], ours: &[char]) -> usize {
    let head = &ours[..ours.len().min(PACE)];
    if head.is_empty() {
        return 0;
    }
    let starts = (0..screen.len()).filter(|at| screen[*at..].starts_with(head));
    starts.filter(|at| follows(&screen[*at..], ours)).count()
}

/// Whether `screen` starts with `ours`, short gaps left out.
fn follows(mut screen: &[char], mut ours: &[char]) -> bool {
    let mut gaps = 0;
    loop {
        let same = screen.iter().zip(ours).take_while(|(a, b)| a == b).count();
        (screen, ours) = (&screen[same..], &ours[same..]);
        if ours.is_empty() {
            return true;
        }
        gaps += 1;
        let ahead = &ours[..ours.len().min(PACE)];
        let skipped = (1..=GAP).find(|gap| {
            screen
                .get(*gap..)
                .is_some_and(|rest| rest.starts_with(ahead))
        });
        match skipped {
            Some(gap) if gaps <= GAPS => screen = &screen[gap..],
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Row;
    use alloc::borrow::ToOwned;
    use alloc::vec;

    const OURS: &str = "You have 3 new message(s). Read your mailbox: pitcrew inbox --next";

    fn screen(rows: &[&str]) -> Facts {
        Facts {
            rows: rows.iter().map(|row| Row::plain(*row)).collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn wraps_do_not_make_a_text_foreign() {
        let held = |text: &str| held(&Composer::Draft(text.into()), OURS, &Keys::default());
        assert_eq!(
            held("You have 3 new message(s). Read\nyour mailbox: pitcrew in\nbox --next\n"),
            Held::Ours
        );
        assert_eq!(held("You have 3 new"), Held::Partly);
        assert_eq!(held(&(OURS.to_owned() + "x")), Held::Mixed);
        assert_eq!(held(&("x".to_owned() + OURS)), Held::Mixed);
        assert_eq!(held("something else"), Held::Foreign);
        assert_eq!(held(" "), Held::Foreign);
    }

    #[test]
    fn a_marker_of_a_long_paste_is_ours() {
        let keys = Keys {
            paste_markers: vec!["[Pasted".into()],
            ..Keys::default()
        };
        let marker = Composer::Draft("[Pasted text #1 +3 lines]".into());
        assert_eq!(held(&marker, OURS, &keys), Held::Ours);
        assert_eq!(held(&marker, OURS, &Keys::default()), Held::Foreign);
    }

    #[test]
    fn an_echo_is_seen_through_wraps_times_and_frames() {
        let seen = |rows: &[&str]| echoes(&screen(rows), &Composer::Empty, OURS);
        assert_eq!(seen(&[&("> ".to_owned() + OURS)]), 1);
        assert_eq!(
            seen(&[
                "❯ You have 3 new message(s). Read your mailb  17:21",
                "  ox: pitcrew inbox --next"
            ]),
            1
        );
        assert_eq!(
            seen(&[
                "┃  You have 3 new message(s). Read",
                "┃  your mailbox: pitcrew inbox --next"
            ]),
            1
        );
        assert_eq!(
            seen(&["> You have 3 new message(s). Read your mailbox: pitcrew inbox --nex"]),
            0
        );
        assert_eq!(
            seen(&["> You have 2 new message(s). Read your mailbox: pitcrew inbox --next"]),
            0
        );
    }

    #[test]
    fn what_the_composer_holds_is_no_echo() {
        let facts = screen(&["> ", OURS]);
        assert_eq!(echoes(&facts, &Composer::Draft(OURS.into()), OURS), 0);
    }
}
