//! Whether an agent holds the lines that it is about to change, and letting its claims follow its own change.
//!
//! Claims are looked for where their lines are in the present text. A claim whose lines cannot be found any more counts as
//! none: nobody can say that it covers the change.

use pitcrew_core::Name;
use pitcrew_core::claim::{
    Anchor, FileLines, FilePath, Lines, Mode, Patience, Request, Span, Standing, TTL_MS,
};

use super::Bench;
use crate::desk::NotDone;
use crate::model::ToolAnswer;

/// One place of a change: the lines that it replaces, and how many lines more the file has afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) lines: Lines,
    pub(super) grows: i64,
}

impl Place {
    /// The place of a text of some lines that gives way to another.
    pub(super) fn new(span: Span, old: &str, new: &str) -> Option<Self> {
        let breaks = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
        // A file has at most as many lines as it has bytes, and those are few millions.
        let grows = breaks(new) as i64 - breaks(old) as i64;
        let last = span.end().saturating_sub(1).max(span.start);
        let lines = Lines::new(span.start, last).ok()?;
        Some(Self { lines, grows })
    }
}

impl Bench {
    /// The lines of `file` that `member` holds, where they are in `text`.
    pub(super) fn held_by(
        &self,
        member: &Name,
        file: &FilePath,
        text: Option<&FileLines>,
    ) -> Result<Vec<Lines>, NotDone> {
        let desk = self.desk();
        let (claims, now) = (desk.claims()?, desk.now());
        let own = claims
            .held(now)
            .filter(|claim| claim.member == *member && claim.file == *file);
        let mut lines: Vec<Lines> = own
            .filter_map(|claim| match claim.standing(text) {
                Standing::Found(lines) | Standing::Taken(lines) => Some(lines),
                Standing::Unknown(_) => None,
            })
            .collect();
        lines.sort();
        Ok(lines)
    }

    /// Renews the claims of `member` on `file` and lets them follow its own change of it, whose present text is `text`.
    /// `held` is what it held before.
    pub(super) fn follow_own(
        &self,
        member: &Name,
        file: &FilePath,
        held: &[Lines],
        places: &[Place],
        text: &str,
    ) -> Result<(), NotDone> {
        let text = FileLines::of_text(text.as_bytes());
        for (at, lines) in merged(held, places).into_iter().enumerate() {
            let anchor = text.as_ref().and_then(|text| Anchor::take(lines, text));
            let anchor = anchor.map(|anchor| anchor.to_string());
            let wish = Request {
                member,
                file,
                lines,
                ttl_ms: TTL_MS,
                mode: match at {
                    0 => Mode::Replace,
                    _ => Mode::Extend,
                },
                patience: Patience::None,
                anchor: anchor.as_deref(),
            };
            self.desk().claim_lines_on(&wish, text.as_ref())?;
        }
        Ok(())
    }
}

/// Where `held` is after the change.
fn merged(held: &[Lines], places: &[Place]) -> Vec<Lines> {
    let moved = held.iter().filter_map(|lines| {
        let sum = |counts: &dyn Fn(&Place) -> bool| -> i64 {
            places
                .iter()
                .filter(|place| counts(place))
                .map(|place| place.grows)
                .sum()
        };
        let start = lines
            .start()
            .saturating_add_signed(sum(&|place| place.lines.end() < lines.start()));
        let end = lines
            .end()
            .saturating_add_signed(sum(&|place| place.lines.start() <= lines.end()));
        Lines::new(start, end.max(start)).ok()
    });
    moved.collect()
}

/// The refusal of a change of lines that are not all held.
pub(super) fn unless_held(file: &FilePath, wanted: Lines, held: &[Lines]) -> Option<ToolAnswer> {
    let missing = wanted.without_all(held.iter().copied());
    if missing.is_empty() {
        return None;
    }
    let words = |lines: &[Lines]| {
        let words: Vec<String> = lines.iter().map(Lines::to_string).collect();
        words.join(" and ")
    };
    let yours = match held.is_empty() {
        true => "you hold none".to_string(),
        false => format!("you hold {}", words(held)),
    };
    Some(ToolAnswer::refused(format!(
        "Not done: lines {} of {file} are not claimed by you ({yours}). Next: claim_region file {file}, start_line {}, \
         end_line {}, then call this again; on a conflict ask the holder or take other work.",
        words(&missing),
        wanted.start(),
        wanted.end(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(start: u64, end: u64) -> Lines {
        Lines::new(start, end).unwrap()
    }

    #[test]
    fn claims_follow_a_change_above_inside_and_below_them() {
        let place = |start, end, grows| Place {
            lines: lines(start, end),
            grows,
        };
        let held = [lines(10, 20), lines(30, 40)];
        assert_eq!(
            merged(&held, &[place(12, 13, 5)]),
            [lines(10, 25), lines(35, 45)]
        );
        assert_eq!(
            merged(&held, &[place(30, 40, -10), place(41, 41, 9)]),
            [lines(10, 20), lines(30, 30)]
        );
        assert_eq!(merged(&held, &[]), held);
    }
}
