//! The composer: the place where a program takes text, found around the cursor.
//!
//! It counts as found only when its whole frame is there: the prompt in its column, the rows above and below as the
//! look says, and the cursor inside. It counts as empty only when the cursor stands where it stands in an empty one and
//! nothing but a proved placeholder stands behind it.

use alloc::string::String;
use alloc::vec::Vec;

use super::facts::{Facts, Row, Tint};
use super::fold::{Line, Page, is_blank};
use super::signature::{ComposerLook, Continued, Shape};

/// The most rows that a draft is followed over.
const MOST_ROWS: usize = 40;

/// What stands in the composer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Composer {
    /// There is none, or it cannot be found.
    Absent,
    /// Nothing that somebody wrote.
    Empty,
    /// Somebody's text, row by row.
    Draft(String),
    /// Text that may be a draft or the program's own.
    Unclear(String),
}

/// A composer that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub top: usize,
    pub bottom: usize,
    /// The column of the text.
    column: usize,
    /// Whether the cursor stands where it stands in an empty composer.
    cursor_home: bool,
}

/// Whether the composer's prompt is on the screen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prompt {
    Seen,
    Scrolled,
}

impl Shape {
    fn fits(&self, line: Option<&Line>) -> bool {
        let Some(line) = line else { return false };
        let trimmed = line.trimmed();
        let starts = |text: &str| {
            let length = text.chars().count();
            trimmed.len() >= length && text.chars().eq(trimmed[..length].iter().copied())
        };
        match self {
            Self::Blank => line.is_blank(),
            Self::Filled => !line.is_blank(),
            Self::Only(signs) => {
                !trimmed.is_empty() && trimmed.iter().all(|sign| signs.contains(*sign))
            }
            Self::Starts(text) => starts(text),
            Self::Lacks(text) => !starts(text),
            Self::OneOf(shapes) => shapes.iter().any(|shape| shape.fits(Some(line))),
        }
    }
}

impl ComposerLook {
    fn is_prompt(&self, line: &Line, column: usize) -> bool {
        let Some(sign) = line.signs.get(column) else {
            return false;
        };
        let mut buffer = [0; 4];
        let sign: &str = sign.encode_utf8(&mut buffer);
        self.prompts.iter().any(|prompt| prompt == sign)
            && line.signs[..column].iter().all(|sign| is_blank(*sign))
    }

    fn continues(&self, line: &Line, column: usize) -> bool {
        match self.continued {
            Continued::Prompt => self.is_prompt(line, column),
            Continued::Indent => {
                let mut head = line.signs.iter().take(column + self.cursor);
                head.all(|sign| is_blank(*sign))
            }
        }
    }

    /// The column of the prompt in `line`.
    fn prompt_column(&self, line: &Line) -> Option<usize> {
        let column = match self.column {
            Some(column) => column,
            None => line.signs.iter().position(|sign| !is_blank(*sign))?,
        };
        self.is_prompt(line, column).then_some(column)
    }

    fn framed_above(&self, page: &Page, top: usize) -> bool {
        let mut shapes = self.above.iter().enumerate();
        shapes.all(|(at, shape)| {
            let row = top.checked_sub(at + 1);
            shape.fits(row.and_then(|row| page.lines.get(row)))
        })
    }

    fn framed_below(&self, page: &Page, bottom: usize) -> bool {
        let mut shapes = self.below.iter().enumerate();
        shapes.all(|(at, shape)| shape.fits(page.lines.get(bottom + 1 + at)))
    }

    /// The first row of the composer whose row `y` has the cursor, its prompt's column, and whether the prompt is in
    /// sight: a long draft scrolls it out of a small composer.
    fn top(&self, page: &Page, y: usize) -> Option<(usize, usize, Prompt)> {
        for top in (y.saturating_sub(MOST_ROWS)..=y).rev() {
            let line = page.lines.get(top)?;
            let above = top.checked_sub(1).and_then(|row| page.lines.get(row));
            let (column, prompt) = match (self.prompt_column(line), self.column) {
                (Some(column), _) => (column, Prompt::Seen),
                (None, Some(column)) => (column, Prompt::Scrolled),
                (None, None) => return None,
            };
            // A blank row above is no frame: it may be one of the draft's own.
            let framed = prompt == Prompt::Seen || above.is_some_and(|line| !line.is_blank());
            if framed && self.framed_above(page, top) {
                let first = top + usize::from(prompt == Prompt::Seen);
                let mut rest = page.lines[first..=y].iter();
                let whole = rest.all(|line| self.continues(line, column));
                return whole.then_some((top, column, prompt));
            }
        }
        None
    }

    fn bottom(&self, page: &Page, y: usize, column: usize) -> Option<usize> {
        for bottom in y..page.lines.len().min(y + MOST_ROWS) {
            if self.framed_below(page, bottom) {
                return Some(bottom);
            }
            if !self.continues(page.lines.get(bottom + 1)?, column) {
                return None;
            }
        }
        None
    }

    /// Finds the composer around the cursor.
    pub(super) fn find(&self, facts: &Facts, page: &Page) -> Option<Found> {
        let cursor = facts.cursor?;
        if self.cursor_shown && facts.cursor_visible == Some(false) {
            return None;
        }
        let (x, y) = (usize::from(cursor.x), usize::from(cursor.y));
        let (top, column, prompt) = self.top(page, y)?;
        let bottom = self.bottom(page, y, column)?;
        let column = column + self.cursor;
        (x >= column).then_some(Found {
            top,
            bottom,
            column,
            cursor_home: x == column && y == top && prompt == Prompt::Seen,
        })
    }

    /// What stands in it. `proved` says whether text like a placeholder may be taken for one.
    pub(super) fn content(
        &self,
        facts: &Facts,
        page: &Page,
        found: &Found,
        proved: bool,
    ) -> Composer {
        let rows = found.top..=found.bottom;
        let text = rows
            .map(|row| tail(&page.lines[row].signs, found.column))
            .collect::<Vec<String>>()
            .join("\n");
        let single = found.top == found.bottom;
        if text.chars().all(is_blank) {
            return if found.cursor_home && single {
                Composer::Empty
            } else {
                Composer::Draft(text)
            };
        }
        if !found.cursor_home {
            return Composer::Draft(text);
        }
        let ghostly = self.is_ghost(&facts.rows[found.top..=found.bottom], found.column);
        let looks = single
            && self
                .placeholders
                .iter()
                .any(|start| text.starts_with(start));
        match (ghostly, looks) {
            (Some(true), _) => Composer::Empty,
            (_, true) if proved => Composer::Empty,
            (_, true) => Composer::Unclear(text),
            (None, false) if self.suggests => Composer::Unclear(text),
            (_, false) => Composer::Draft(text),
        }
    }

    /// Whether all text is drawn as a placeholder; `None` when the look has no colours. The first sign may be drawn
    /// otherwise, because the cursor stands on it.
    fn is_ghost(&self, rows: &[Row], column: usize) -> Option<bool> {
        if self.ghosts.is_empty() {
            return None;
        }
        let mut tints: Vec<Tint> = Vec::new();
        for row in rows {
            let row_tints = row.tints.as_ref()?;
            let signs = row.text.chars().zip(row_tints).skip(column);
            tints.extend(
                signs
                    .filter(|(sign, _)| !is_blank(*sign))
                    .map(|(_, tint)| *tint),
            );
        }
        let ghostly = |tint: &Tint| self.ghosts.contains(tint);
        let rest = tints.get(1..).unwrap_or_default();
        let first = tints.first().is_some_and(ghostly);
        Some(rest.iter().all(ghostly) && (first || !rest.is_empty()))
    }
}

fn tail(signs: &[char], column: usize) -> String {
    let text: String = signs.iter().skip(column).collect();
    let kept = text.trim_end_matches(is_blank).len();
    text[..kept].into()
}
