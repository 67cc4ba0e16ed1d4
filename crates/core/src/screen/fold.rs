//! A screen prepared for search: each row without its frame, in small letters, with single blanks.
//!
//! Fragments are looked for in a row and in what a row becomes when it was wrapped: with the next two rows joined by a
//! blank, or without one where the row reaches the right edge. A blank row ends the join.

use alloc::string::String;
use alloc::vec::Vec;

use super::facts::Facts;

/// Signs that frame a row or scroll it; they are not part of what it says.
const FRAME: &[char] = &['│', '┃', '║', '╎', '┆', '▌', '▐', '|', '█'];

/// Signs of progress that some programs draw over words.
const PROGRESS: &[char] = &['⬝', '■'];

/// How many rows a wrapped phrase may span.
const SPAN: usize = 3;

/// One row.
#[derive(Debug)]
pub(super) struct Line {
    /// Its characters.
    pub signs: Vec<char>,
    /// The column of its first sign that is neither blank nor frame.
    pub first: Option<usize>,
    folded: String,
    /// Which letters occur in it.
    letters: u64,
    reaches_edge: bool,
}

/// All rows.
#[derive(Debug)]
pub(super) struct Page {
    pub lines: Vec<Line>,
}

/// Whether a character takes no room or is a blank of another kind.
pub(super) fn is_blank(sign: char) -> bool {
    sign.is_whitespace() || is_nothing(sign)
}

fn is_nothing(sign: char) -> bool {
    matches!(
        sign,
        '\u{200b}'..='\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{feff}'
    )
}

/// `text` in small letters, with single blanks, without signs that take no room.
pub(super) fn fold(text: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    let mut blank = false;
    for sign in text.filter(|sign| !is_nothing(*sign)) {
        if sign.is_whitespace() || PROGRESS.contains(&sign) {
            blank = true;
            continue;
        }
        if blank && !out.is_empty() {
            out.push(' ');
        }
        blank = false;
        out.extend(sign.to_lowercase());
    }
    out
}

/// Which bytes occur in `text`, a bit for each of their remainders by 64. A text that stands in another one has no bit that
/// the other has not.
pub(super) fn letters(text: &str) -> u64 {
    text.bytes()
        .fold(0, |letters, byte| letters | 1 << (byte % 64))
}

impl Line {
    fn new(text: &str, columns: usize) -> Self {
        let signs: Vec<char> = text.chars().collect();
        let framing = |sign: &char| is_blank(*sign) || FRAME.contains(sign);
        let first = signs.iter().position(|sign| !framing(sign));
        let last = signs.iter().rposition(|sign| !framing(sign));
        let inner = match (first, last) {
            (Some(first), Some(last)) => &signs[first..=last],
            _ => &[],
        };
        let folded = fold(inner.iter().copied());
        Self {
            letters: letters(&folded),
            folded,
            reaches_edge: columns > 0 && signs.len() + 1 >= columns,
            first,
            signs,
        }
    }

    /// What it says, from its first sign on.
    pub(super) fn said(&self) -> &[char] {
        self.first.map_or(&[], |first| &self.signs[first..])
    }

    /// Whether `piece` may start in this row: it stands there, or a beginning of it is the row's end. Cheap, so that rows
    /// are joined only where it matters. `letters` are the piece's.
    pub(super) fn may_start(&self, piece: &str, letters: u64) -> bool {
        let Some(last) = self.folded.as_bytes().last() else {
            return false;
        };
        let mut beginnings = piece.char_indices().skip(1).map(|(end, _)| &piece[..end]);
        (self.letters & letters == letters && self.folded.contains(piece))
            || beginnings
                .any(|start| start.as_bytes().last() == Some(last) && self.folded.ends_with(start))
    }

    /// Whether it has no sign at all, not even a frame.
    pub(super) fn is_blank(&self) -> bool {
        self.signs.iter().all(|sign| is_blank(*sign))
    }

    /// Its signs without blanks at both ends.
    pub(super) fn trimmed(&self) -> &[char] {
        let first = self.signs.iter().position(|sign| !is_blank(*sign));
        let last = self.signs.iter().rposition(|sign| !is_blank(*sign));
        match (first, last) {
            (Some(first), Some(last)) => &self.signs[first..=last],
            _ => &[],
        }
    }
}

impl Page {
    pub(super) fn new(facts: &Facts) -> Self {
        let columns = facts.columns();
        let rows = facts.rows.iter();
        Self {
            lines: rows.map(|row| Line::new(&row.text, columns)).collect(),
        }
    }

    /// The texts in which a phrase that starts in row `at` can stand; only rows that `takes` allows are joined.
    pub(super) fn readings(&self, at: usize, takes: impl Fn(usize) -> bool) -> Reading {
        let Some(line) = self.lines.get(at) else {
            return Reading::default();
        };
        let mut reading = Reading {
            starts_within: line.folded.len(),
            spaced: line.folded.clone(),
            tight: line.folded.clone(),
        };
        let mut edge = line.reaches_edge;
        for next in at + 1..at + SPAN {
            let Some(line) = self.lines.get(next).filter(|_| takes(next)) else {
                break;
            };
            if line.folded.is_empty() {
                break;
            }
            reading.spaced.push(' ');
            reading.spaced.push_str(&line.folded);
            if edge {
                reading.tight.push_str(&line.folded);
            }
            edge = edge && line.reaches_edge;
        }
        reading
    }
}

/// What a row and the rows that it may run on into say.
#[derive(Debug, Default)]
pub(super) struct Reading {
    starts_within: usize,
    spaced: String,
    tight: String,
}

impl Reading {
    /// Whether `fragment`, folded, starts in the row.
    pub(super) fn has(&self, fragment: &str) -> bool {
        let starts = |text: &str| {
            text.find(fragment)
                .is_some_and(|at| at < self.starts_within)
        };
        starts(&self.spaced) || starts(&self.tight)
    }
}
