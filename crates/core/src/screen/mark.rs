//! A mark: one piece of evidence, described as data.
//!
//! A mark is seen when everything that it asks for holds at one place: a row, or the title. A mark that asks for
//! nothing is never seen. Fragments are short on purpose: programs wrap and cut their texts at other widths.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use serde::Deserialize;

use super::facts::Facts;
use super::fold::{Page, fold, is_blank, letters};

/// Where a mark is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Every visible row but the composer's.
    #[default]
    Screen,
    /// The rows above the composer; every row when there is none.
    Above,
    /// The rows below the composer; every row when there is none.
    Below,
    /// The row of the cursor.
    Cursor,
    /// The pane's title.
    Title,
}

/// Something that is there or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// It is there.
    Shown,
    /// It is not.
    Hidden,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mark {
    /// What it is, for the reason that is given.
    pub name: String,
    /// Where it is looked for.
    pub place: Place,
    /// Only so many rows of the place: those nearest to the composer, or the last of the screen. Without a composer,
    /// every row counts as above and as below.
    pub within: Option<usize>,
    /// The row says one of these.
    pub any: Vec<String>,
    /// The row says all of these.
    pub all: Vec<String>,
    /// The row says none of these.
    pub none: Vec<String>,
    /// The row starts with one of these, frames left out.
    pub starts: Vec<String>,
    /// The row starts with a sign between the two of one of these pairs, both included.
    pub starts_between: Vec<String>,
    /// The row's first sign stands in this column at most, from 0.
    pub column_most: Option<usize>,
    /// The row is a numbered choice behind one of these pointers, with another numbered choice near it.
    pub choices: Vec<String>,
    /// The row says the last part of the title; parts are divided by this.
    pub title_part: Option<String>,
    /// The cursor is shown or hidden.
    pub cursor: Option<Shown>,
    /// The alternate screen is on or off.
    pub alternate: Option<Shown>,
}

/// A place to look at, with the composer's rows known.
pub(super) struct Sight<'a> {
    pub facts: &'a Facts,
    pub page: &'a Page,
    /// First and last row of the composer.
    pub composer: Option<(usize, usize)>,
}

fn agrees(wanted: Option<Shown>, fact: Option<bool>) -> bool {
    wanted.is_none_or(|wanted| fact == Some(wanted == Shown::Shown))
}

impl Sight<'_> {
    fn is_composer(&self, row: usize) -> bool {
        self.composer
            .is_some_and(|(top, bottom)| (top..=bottom).contains(&row))
    }

    /// The rows of a place.
    fn rows(&self, mark: &Mark) -> Vec<usize> {
        let height = self.page.lines.len();
        let most = mark.within.unwrap_or(height);
        let composer = self.composer.filter(|(_, bottom)| *bottom < height);
        let range = match (mark.place, composer) {
            (Place::Title, _) => 0..0,
            (Place::Cursor, _) => match self.facts.cursor.map(|cursor| usize::from(cursor.y)) {
                Some(y) if y < height => y..y + 1,
                _ => 0..0,
            },
            (Place::Above, Some((top, _))) => top.saturating_sub(most)..top,
            (Place::Below, Some((_, bottom))) => {
                bottom + 1..height.min((bottom + 1).saturating_add(most))
            }
            (Place::Above | Place::Below, None) => 0..height,
            (Place::Screen, _) => height.saturating_sub(most)..height,
        };
        let inside = |row: &usize| mark.place == Place::Cursor || !self.is_composer(*row);
        range.filter(inside).collect()
    }

    /// Where `mark` is seen, in words; `None` when it is not.
    pub(super) fn sees(&self, mark: &Mark) -> Option<String> {
        if !agrees(mark.cursor, self.facts.cursor_visible)
            || !agrees(mark.alternate, self.facts.alternate_screen)
        {
            return None;
        }
        if mark.place == Place::Title {
            let title: Vec<char> = self.facts.title.as_ref()?.trim_start().chars().collect();
            let folded = fold(title.iter().copied());
            let pieces = Pieces::of(mark);
            let seen =
                mark.asks() && mark.opens(&title) && pieces.said(|piece, _| folded.contains(piece));
            return seen.then(|| format!("{} in the title", mark.name));
        }
        let (rows, pieces) = (self.rows(mark), Pieces::of(mark));
        let seen = rows
            .iter()
            .find(|row| self.row_shows(**row, mark, &pieces, &rows));
        seen.map(|row| format!("{} in row {row}", mark.name))
    }

    fn row_shows(&self, row: usize, mark: &Mark, pieces: &Pieces, rows: &[usize]) -> bool {
        let Some(line) = self.page.lines.get(row) else {
            return false;
        };
        let stands = match (mark.column_most, line.first) {
            (Some(most), Some(first)) => first <= most,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if !mark.asks() || !stands || !mark.opens(line.said()) {
            return false;
        }
        if let Some(between) = &mark.title_part
            && !self.says_title(row, between, rows)
        {
            return false;
        }
        if !mark.choices.is_empty() && !self.is_chosen(row, &mark.choices) {
            return false;
        }
        let reading = OnceCell::new();
        let joined = || self.page.readings(row, |next| rows.contains(&next));
        pieces.said(|piece, letters| {
            line.may_start(piece, letters) && reading.get_or_init(joined).has(piece)
        })
    }

    /// Whether `row` says the last part of the title, which a program may have cut with an ellipsis.
    fn says_title(&self, row: usize, between: &str, rows: &[usize]) -> bool {
        let title = self.facts.title.as_deref().unwrap_or_default();
        let part = title.rsplit(between).next().unwrap_or_default();
        let part = fold(part.trim().trim_end_matches(['…', '.']).chars());
        let reading = self.page.readings(row, |next| rows.contains(&next));
        !part.is_empty() && reading.has(&part)
    }

    /// Whether `row` is a numbered choice behind a pointer, with another number at most four rows away.
    fn is_chosen(&self, row: usize, pointers: &[String]) -> bool {
        let said = self.page.lines[row].said();
        let behind = pointers.iter().find_map(|pointer| strip(said, pointer));
        let Some(number) = behind.and_then(numbered) else {
            return false;
        };
        let near = row.saturating_sub(4)..self.page.lines.len().min(row + 5);
        let mut others = near.filter(|other| *other != row);
        others.any(|other| numbered(self.page.lines[other].said()).is_some_and(|n| n != number))
    }
}

impl Mark {
    /// Whether it asks for anything beyond the cursor and the kind of screen.
    fn asks(&self) -> bool {
        if self.title_part.is_some() {
            return true;
        }
        let lists = [
            &self.any,
            &self.all,
            &self.starts,
            &self.starts_between,
            &self.choices,
        ];
        lists.iter().any(|list| !list.is_empty())
    }

    /// Whether what is `said` opens as asked.
    fn opens(&self, said: &[char]) -> bool {
        let with = |start: &String| strip(said, start).is_some();
        let between = |pair: &String| {
            let mut ends = pair.chars();
            match (ends.next(), ends.next(), said.first()) {
                (Some(low), Some(high), Some(sign)) => (low..=high).contains(sign),
                _ => false,
            }
        };
        let free = self.starts.is_empty() && self.starts_between.is_empty();
        free || self.starts.iter().any(with) || self.starts_between.iter().any(between)
    }
}

/// The fragments of a mark as they are compared: in small letters, with single blanks, each with its letters.
struct Pieces {
    any: Vec<(String, u64)>,
    all: Vec<(String, u64)>,
    none: Vec<(String, u64)>,
}

impl Pieces {
    fn of(mark: &Mark) -> Self {
        let folded = |piece: &String| {
            let piece = fold(piece.chars());
            let letters = letters(&piece);
            (piece, letters)
        };
        let all = |pieces: &[String]| pieces.iter().map(folded).collect();
        Self {
            any: all(&mark.any),
            all: all(&mark.all),
            none: all(&mark.none),
        }
    }

    /// Whether the fragments are `found` as asked.
    fn said(&self, found: impl Fn(&str, u64) -> bool) -> bool {
        let found = |(piece, letters): &(String, u64)| !piece.is_empty() && found(piece, *letters);
        (self.any.is_empty() || self.any.iter().any(found))
            && self.all.iter().all(found)
            && !self.none.iter().any(found)
    }
}

/// What follows `start` and the blanks behind it, when `said` starts with it. Small and capital letters are the same.
fn strip<'a>(said: &'a [char], start: &str) -> Option<&'a [char]> {
    let length = start.chars().count();
    let head = said.get(..length).filter(|head| !head.is_empty())?;
    let same = |(a, b): (&char, char)| *a == b || a.to_lowercase().eq(b.to_lowercase());
    head.iter().zip(start.chars()).all(same).then(|| {
        let rest = &said[length..];
        let blanks = rest.iter().take_while(|sign| is_blank(**sign)).count();
        &rest[blanks..]
    })
}

/// The number that opens a choice such as `2. No`.
fn numbered(said: &[char]) -> Option<u32> {
    let digits: String = said
        .iter()
        .take_while(|sign| sign.is_ascii_digit())
        .collect();
    let dotted = matches!(said.get(digits.len()), Some('.' | ')'));
    let spaced = said
        .get(digits.len() + 1)
        .is_none_or(|sign| is_blank(*sign));
    if dotted && spaced && digits.len() <= 2 {
        digits.parse().ok()
    } else {
        None
    }
}
