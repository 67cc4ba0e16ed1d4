//! Whether a change touches lines that somebody else holds, and what is said then.
//!
//! | what is known of the change | judged |
//! |---|---|
//! | lines of the present file | against where the claim is in the present file |
//! | two states of the file and what differs | on both: the claim is followed from the present file to the new state and on to the old one, and looked for in the old one by its content |
//! | nothing but that the file changes: binary, renamed, deleted, its kind changed | every claim on it is touched |
//!
//! A claim that cannot be found covers its whole file: nobody can say that a change leaves it alone.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::Serialize;

use super::shift::{self, Hunk, Span};
use super::{Claim, FileLines, FilePath, Lines, Lost, Moved, Standing};
use crate::name::Name;
use crate::span::span;
use crate::time::Timestamp;

/// What a change does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// All of it, and there is no present text to look for claims in.
    Whole,
    /// Some lines of the present file.
    Lines {
        /// Which.
        spans: Vec<Span>,
        /// The present file, if it is there and is text.
        text: Option<FileLines>,
    },
    /// What differs between two states of it.
    Compared(Compared),
}

/// Two states of a file, and how the present file differs from the new one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compared {
    /// The lines of the new state that the change decides.
    pub decided: Vec<Span>,
    /// From the old state to the new one. None for a merge, which has several old ones.
    pub hunks: Vec<Hunk>,
    /// From the new state to the present file.
    pub ahead: Vec<Hunk>,
    /// The old state.
    pub old: Option<FileLines>,
    /// The new state.
    pub new: Option<FileLines>,
    /// The present file, if it is there and is text.
    pub present: Option<FileLines>,
}

impl Compared {
    fn touches(&self, claim: &Claim) -> Option<Standing> {
        let standing = claim.standing(self.present.as_ref());
        let placed = match (standing, &self.present) {
            // The new state is all there is.
            (Standing::Taken(lines), None) => Some(lines.into()),
            (Standing::Found(lines) | Standing::Taken(lines), _) => {
                Some(shift::back(&self.ahead, lines.into()))
            }
            (Standing::Unknown(_), _) => found(claim, self.new.as_ref()),
        };
        let before = found(claim, self.old.as_ref());
        if placed.is_none() && before.is_none() {
            return (!self.decided.is_empty()).then_some(standing);
        }
        let decides = |claimed: Span| self.decided.iter().any(|span| span.touches(claimed));
        let replaces = |claimed: Span| self.hunks.iter().any(|hunk| hunk.old.touches(claimed));
        let touched = placed
            .is_some_and(|placed| decides(placed) || replaces(shift::back(&self.hunks, placed)));
        (touched || before.is_some_and(replaces)).then_some(standing)
    }
}

/// Where the content of a claim is in a state of its file, when that is known.
fn found(claim: &Claim, text: Option<&FileLines>) -> Option<Span> {
    match claim.standing(Some(text?)) {
        Standing::Found(lines) => Some(lines.into()),
        Standing::Taken(_) | Standing::Unknown(_) => None,
    }
}

impl Claim {
    /// Where the claim is in the present file, when a change of its file touches it; `None` when it does not.
    #[must_use]
    pub fn touched_by(&self, touched: &Touched) -> Option<Standing> {
        match touched {
            Touched::Whole => Some(Standing::Taken(self.lines)),
            Touched::Lines { spans, text } => {
                let standing = self.standing(text.as_ref());
                let touches = match standing {
                    Standing::Found(lines) | Standing::Taken(lines) => {
                        spans.iter().any(|span| span.touches(lines.into()))
                    }
                    Standing::Unknown(_) => !spans.is_empty(),
                };
                touches.then_some(standing)
            }
            Touched::Compared(compared) => compared.touches(self),
        }
    }
}

/// Lines of somebody else that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldLines {
    /// In which team.
    pub team: Name,
    /// Who holds them.
    pub member: Name,
    /// In which file.
    pub file: FilePath,
    /// Which lines of the present file; where they were last, when it cannot be said where they are.
    pub lines: Lines,
    /// Whether they are somewhere else than where the table of claims has them.
    pub moved: Moved,
    /// Why it cannot be said where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Lost>,
    /// Until when.
    pub until: Timestamp,
    /// How long that is, in milliseconds.
    pub left_ms: u64,
    /// How the holder is called in words.
    #[serde(skip)]
    pub called: Called,
}

/// How a member is called in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Called {
    /// By its name: there is one team.
    #[default]
    ByName,
    /// With its team, since another may have a member of the same name.
    WithTeam,
}

impl HeldLines {
    /// A claim of `team` that is touched, with where it stands.
    #[must_use]
    pub fn new(team: &Name, claim: &Claim, standing: Standing, now: Timestamp) -> Self {
        let (lines, why) = match standing {
            Standing::Found(lines) | Standing::Taken(lines) => (lines, None),
            Standing::Unknown(lost) => (claim.lines, Some(lost)),
        };
        Self {
            team: team.clone(),
            member: claim.member.clone(),
            file: claim.file.clone(),
            lines,
            moved: claim.moved(standing),
            why,
            until: claim.until,
            left_ms: u64::try_from(claim.until.millis_since(now)).unwrap_or(0),
            called: Called::ByName,
        }
    }

    /// The holder in words.
    #[must_use]
    pub fn holder(&self) -> String {
        match self.called {
            Called::ByName => self.member.to_string(),
            Called::WithTeam => format!("{} of team {}", self.member, self.team),
        }
    }
}

impl fmt::Display for HeldLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = span(self.left_ms);
        write!(f, "{} holds {} {}", self.holder(), self.file, self.lines)?;
        match self.why {
            None => write!(f, " for another {left}"),
            Some(why) => write!(
                f,
                " for another {left}, and where these lines are now cannot be told ({why}), so all of the file counts"
            ),
        }
    }
}

/// The facts of `lines_held`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinesHeld {
    /// Whose lines are touched.
    pub conflicts: Vec<HeldLines>,
    /// What to do next.
    pub next: String,
}

impl LinesHeld {
    /// What stops an edit by `who`.
    #[must_use]
    pub fn by_edit(conflicts: Vec<HeldLines>) -> Self {
        let holders = holders(&conflicts);
        let next = format!("ask {holders}, wait for it, or edit other lines");
        Self { conflicts, next }
    }

    /// What stops a commit by `who`. Whoever started the team is told the way round, too.
    #[must_use]
    pub fn by_commit(conflicts: Vec<HeldLines>, who: &Name) -> Self {
        let holders = holders(&conflicts);
        let mut next =
            format!("ask {holders}, wait for it, or leave these lines out of the commit");
        if let Some(first) = conflicts.first().filter(|_| who.is_leader()) {
            let (team, member) = (&first.team, &first.member);
            next.push_str(&format!(
                "; `pitcrew --team {team} --as {member} release <file>` ends a claim, `git commit --no-verify` goes past all of them"
            ));
        }
        Self { conflicts, next }
    }
}

fn holders(conflicts: &[HeldLines]) -> String {
    let mut names: Vec<String> = conflicts.iter().map(HeldLines::holder).collect();
    names.sort();
    names.dedup();
    names.join(" and ")
}

impl fmt::Display for LinesHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<String> = self.conflicts.iter().map(ToString::to_string).collect();
        f.write_str(&said.join("\n"))
    }
}

#[cfg(test)]
mod tests;
