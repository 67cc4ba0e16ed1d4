//! Where claimed lines are now, told by their content.
//!
//! When a claim is made, four short runs of lines are remembered, as numbers: those above the claim, its first, its
//! last, and those below it. Each run is as short as it can be and still be the only one of its kind in the file.
//!
//! ```text
//!   above │ first … last │ below          a run that is found once says where its edge is
//! ```
//!
//! A claim's own lines say where it is; where those were edited, its neighbours do. A run that is gone or is there
//! twice says nothing, and an edge of which nothing says anything makes the place unknown. Nothing is guessed: no
//! nearest match, no likely one. What was inserted right at an edge, outside of a run that is whole, is no claimed line.
//!
//! An anchor stays as it was when its lines were claimed, however often they move; claiming again makes a new one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::Serialize;

use super::{FileLines, Lines};

/// The most lines of one run. A file in which no such run is alone has lines that cannot be followed once it changes.
const LONGEST: usize = 24;

/// The fewest, where the file has so many: one line alone is too easily written again.
const SHORTEST: usize = 2;

/// What the text of an anchor begins with.
const FORM: &str = "1";

/// Why it cannot be said where claimed lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// They were deleted.
    Gone,
    /// Text like them is in several places.
    Ambiguous,
    /// They and their neighbours have changed.
    Changed,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "they were deleted",
            Self::Ambiguous => "text like them is in several places",
            Self::Changed => "they and their neighbours have changed",
        })
    }
}

/// What is remembered of claimed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    lines: Lines,
    whole: u64,
    /// How many lines of the claim were not there yet: it reached so far beyond the end of the file.
    beyond: u64,
    above: Vec<u32>,
    first: Vec<u32>,
    last: Vec<u32>,
    below: Vec<u32>,
}

/// What one run says.
enum Told {
    At(usize),
    Several,
    Nothing,
}

impl Anchor {
    /// Remembers `lines` of a text. `None` when none of them is there, so that there is nothing to hold on to.
    #[must_use]
    pub fn take(lines: Lines, text: &FileLines) -> Option<Self> {
        let marks = text.marks();
        let start = usize::try_from(lines.start().max(1)).ok()?;
        let end = usize::try_from(lines.end().min(text.count())).ok()?;
        if start > end {
            return None;
        }
        let beyond = lines.end() - lines.end().min(text.count());
        let up = |end: usize| alone(marks, |len| end.checked_sub(len).map(|start| start..end));
        let down = |start: usize| alone(marks, |len| Some(start..start + len));
        Some(Self {
            lines,
            whole: text.whole(),
            beyond,
            above: up(start),
            first: down(start),
            last: up(end + 1),
            below: down(end + 1),
        })
    }

    /// The anchor that a text says, if it is one that this version can read.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        if parts.next() != Some(FORM) {
            return None;
        }
        let mut next = || parts.next();
        let (start, end) = next()?.split_once('-')?;
        let lines = Lines::parse(start, end).ok()?;
        let beyond = next()?.parse().ok()?;
        let whole = u64::from_str_radix(next()?, 16).ok()?;
        let (above, first) = (run(next()?)?, run(next()?)?);
        let (last, below) = (run(next()?)?, run(next()?)?);
        parts.next().is_none().then_some(Self {
            lines,
            whole,
            beyond,
            above,
            first,
            last,
            below,
        })
    }

    /// Where the lines are in `text`.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn locate(&self, text: &FileLines) -> Result<Lines, Lost> {
        if text.whole() == self.whole {
            return Ok(self.lines);
        }
        let marks = text.marks();
        let (above, first) = (told(marks, &self.above), told(marks, &self.first));
        let (last, below) = (told(marks, &self.last), told(marks, &self.below));
        let whole = matches!((&first, &last), (Told::At(_), Told::At(_)));
        let before = |at: &usize| at + self.above.len();
        let start = match (&first, &above) {
            // Its first lines are above what stood above them, and the last ones did not come along.
            (Told::At(first), Told::At(above)) if !whole && *first < before(above) => {
                return Err(Lost::Changed);
            }
            (Told::At(first), _) => *first,
            (_, Told::At(above)) => before(above),
            (first, above) => return Err(why(first, above)),
        };
        // One after the last line.
        let after = |at: &usize| at + self.last.len();
        let end = match (&last, &below) {
            (Told::At(last), Told::At(below)) if !whole && after(last) > *below => {
                return Err(Lost::Changed);
            }
            (Told::At(last), _) => after(last),
            (_, Told::At(below)) => *below,
            (last, below) => return Err(why(last, below)),
        };
        if start == end {
            return Err(Lost::Gone);
        }
        let first = if self.lines.start() == 0 && start == 1 {
            0
        } else {
            start
        };
        let last = end.saturating_sub(1) as u64;
        Lines::new(first as u64, last + self.beyond).map_err(|_| Lost::Changed)
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex =
            |run: &[u32]| -> String { run.iter().map(|mark| format!("{mark:08x}")).collect() };
        let (start, end) = (self.lines.start(), self.lines.end());
        write!(
            f,
            "{FORM}:{start}-{end}:{}:{:016x}",
            self.beyond, self.whole
        )?;
        [&self.above, &self.first, &self.last, &self.below]
            .iter()
            .try_for_each(|run| write!(f, ":{}", hex(run)))
    }
}

/// The marks of a run as they are written.
fn run(text: &str) -> Option<Vec<u32>> {
    if text.len() > LONGEST * 8 || !text.is_ascii() || !text.len().is_multiple_of(8) {
        return None;
    }
    let marks =
        (0..text.len() / 8).map(|at| u32::from_str_radix(&text[at * 8..at * 8 + 8], 16).ok());
    marks.collect()
}

/// The shortest run that is alone in its file, from the edge on. Empty when there is none.
fn alone(marks: &[u32], range: impl Fn(usize) -> Option<core::ops::Range<usize>>) -> Vec<u32> {
    for len in 1..=LONGEST {
        let Some(run) = range(len).and_then(|range| marks.get(range)) else {
            break;
        };
        // A run that reaches the end of the file cannot be longer.
        let ends = range(len + 1).and_then(|range| marks.get(range)).is_none();
        if (len >= SHORTEST || ends) && occurrences(marks, run).nth(1).is_none() {
            return run.to_vec();
        }
    }
    Vec::new()
}

fn occurrences<'a>(marks: &'a [u32], run: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let windows = marks.windows(run.len().max(1)).enumerate();
    windows
        .filter(move |(_, window)| *window == run)
        .map(|(at, _)| at)
}

fn told(marks: &[u32], run: &[u32]) -> Told {
    let mut found = occurrences(marks, run);
    match (found.next(), found.next()) {
        (Some(at), None) => Told::At(at),
        (Some(_), Some(_)) => Told::Several,
        (None, _) if run.is_empty() => Told::Several,
        (None, _) => Told::Nothing,
    }
}

/// Why an edge cannot be told, of which neither side says anything.
fn why(inside: &Told, outside: &Told) -> Lost {
    match (inside, outside) {
        (Told::Several, _) | (_, Told::Several) => Lost::Ambiguous,
        _ => Lost::Changed,
    }
}

#[cfg(test)]
mod tests;
