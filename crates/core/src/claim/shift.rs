//! Lines through a change of their file: which lines of one state are which of the other.
//!
//! A change is a list of hunks, as every tool that compares texts says it. Lines outside of all hunks are the same on
//! both sides. A hunk with as many lines on both sides is taken line by line; in any other hunk a line of one side is
//! all of the other side. So what comes out covers what it stands for, and is exact wherever nothing changed.

use alloc::vec::Vec;
use serde::Serialize;

use super::Lines;

/// Some lines, or none: then the place in front of line `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The first line, counted from 1.
    pub start: u64,
    /// How many.
    pub count: u64,
}

impl From<Lines> for Span {
    fn from(lines: Lines) -> Self {
        Self {
            start: lines.start(),
            count: (lines.end() - lines.start()).saturating_add(1),
        }
    }
}

impl Span {
    /// Every line that there can be.
    pub const EVERYTHING: Self = Self {
        start: 0,
        count: u64::MAX,
    };

    /// The line after the last.
    #[must_use]
    pub fn end(self) -> u64 {
        self.start.saturating_add(self.count)
    }

    /// Whether a change of these lines is a change of those of `claim`: they share a line, or what is inserted stands
    /// between two claimed ones.
    #[must_use]
    pub fn touches(self, claim: Self) -> bool {
        match (self.count, claim.count) {
            (_, 0) => false,
            (0, _) => claim.start < self.start && self.start < claim.end(),
            _ => self.start < claim.end() && claim.start < self.end(),
        }
    }

    /// What both have. A place without lines is in whatever it stands in or beside.
    fn common(self, other: Self) -> Option<Self> {
        let start = self.start.max(other.start);
        let end = self.end().min(other.end());
        let empty = self.count == 0 || other.count == 0;
        (start < end || (start == end && empty)).then(|| Self {
            start,
            count: end - start,
        })
    }
}

/// One place where two states differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hunk {
    /// The lines before.
    pub old: Span,
    /// The lines after.
    pub new: Span,
}

/// A side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
}

impl Hunk {
    fn of(self, side: Side) -> Span {
        match side {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }

    /// The hunk that a line `@@ -start[,count] +start[,count] @@` begins, if it is one.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let ranges = line.strip_prefix("@@ -")?;
        let (ranges, _) = ranges.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        Some(Self {
            old: span(old)?,
            new: span(new)?,
        })
    }
}

/// `start[,count]`. Without lines, the start is the line in front of the place.
fn span(text: &str) -> Option<Span> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    let (start, count): (u64, u64) = (start.parse().ok()?, count.parse().ok()?);
    let start = if count == 0 {
        start.checked_add(1)?
    } else {
        start
    };
    start.checked_add(count)?;
    Some(Span { start, count })
}

/// What became of `lines` of the old state, by `hunks` in their order.
#[must_use]
pub fn forward(hunks: &[Hunk], lines: Span) -> Span {
    through(hunks, lines, (Side::Old, Side::New))
}

/// What `lines` of the new state were before, by `hunks` in their order.
#[must_use]
pub fn back(hunks: &[Hunk], lines: Span) -> Span {
    through(hunks, lines, (Side::New, Side::Old))
}

fn through(hunks: &[Hunk], lines: Span, (from, to): (Side, Side)) -> Span {
    if lines.count == 0 {
        let (start, _) = line(hunks, lines.start, (from, to));
        return Span { start, count: 0 };
    }
    let (start, _) = line(hunks, lines.start, (from, to));
    let (_, end) = line(hunks, lines.end() - 1, (from, to));
    Span {
        start,
        count: end.saturating_sub(start),
    }
}

/// The lines on the other side that one line is: the first, and the one after the last.
fn line(hunks: &[Hunk], line: u64, (from, to): (Side, Side)) -> (u64, u64) {
    // The end of the last hunk that lies before the line, on both sides.
    let mut passed = (1, 1);
    for hunk in hunks {
        let (here, there) = (hunk.of(from), hunk.of(to));
        if line < here.start {
            break;
        }
        if line < here.end() {
            if here.count == there.count {
                let at = there.start + (line - here.start);
                return (at, at + 1);
            }
            return (there.start, there.end());
        }
        passed = (here.end(), there.end());
    }
    // Line 0 is in front of everything, on both sides.
    let at = match line.checked_sub(passed.0) {
        Some(further) => passed.1.saturating_add(further),
        None => 0,
    };
    (at, at.saturating_add(1))
}

/// The lines of one state that differ from every one of several others: what a merge decided itself. Each list has
/// the new side of the hunks against one of them.
#[must_use]
pub fn decided(against: &[Vec<Span>]) -> Vec<Span> {
    let Some((first, others)) = against.split_first() else {
        return Vec::new();
    };
    others.iter().fold(first.clone(), |left, other| {
        let pairs = left
            .iter()
            .flat_map(|one| other.iter().filter_map(|two| one.common(*two)));
        let mut pairs: Vec<Span> = pairs.collect();
        pairs.sort();
        pairs.dedup();
        pairs
    })
}

#[cfg(test)]
mod tests;
