//! Claims that follow their lines.
//!
//! What is kept of a claim's content ([`Anchor`]) says where its lines are in the present state of their file. The
//! table is brought up with that before anybody claims or gives back lines of the file, so that a conflict is judged
//! where the lines are. A claim whose lines cannot be found stays where it was, and that is said.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Serialize;

use super::anchor::Anchor;
use super::{Claim, ClaimEvent, Claims, FileLines, FilePath, Lines, Lost, Move};
use crate::name::Name;
use crate::time::Timestamp;

/// Where a claim's lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Found there.
    Found(Lines),
    /// Nothing is known of their content, so they are taken where they were claimed.
    Taken(Lines),
    /// It cannot be said.
    Unknown(Lost),
}

/// Whether claimed lines have moved, as answers say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// They are where they were.
    No,
    /// They are somewhere else now.
    Yes,
    /// It cannot be said where they are.
    Unknown,
    /// They are not followed: nothing of their content is known.
    Untracked,
}

/// What came of following.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// What moved, and what that let others have.
    pub events: Vec<ClaimEvent>,
    /// Claims and waits whose lines cannot be found, with the reason.
    pub lost: Vec<(u64, Lost)>,
}

impl Claim {
    /// Where its lines are in a state of its file; `None` is a file that is not there or is no text.
    #[must_use]
    pub fn standing(&self, text: Option<&FileLines>) -> Standing {
        match (self.anchor.as_deref().and_then(Anchor::parse), text) {
            (None, _) => Standing::Taken(self.lines),
            (Some(_), None) => Standing::Unknown(Lost::Gone),
            (Some(anchor), Some(text)) => match anchor.locate(text) {
                Ok(lines) => Standing::Found(lines),
                Err(lost) => Standing::Unknown(lost),
            },
        }
    }

    /// Whether that is somewhere else than where the table has it.
    #[must_use]
    pub fn moved(&self, standing: Standing) -> Moved {
        match standing {
            Standing::Found(lines) if lines == self.lines => Moved::No,
            Standing::Found(_) => Moved::Yes,
            Standing::Taken(_) => Moved::Untracked,
            Standing::Unknown(_) => Moved::Unknown,
        }
    }
}

impl Claims {
    /// Brings the claims and waits of one file to where their lines are in `text`, its present state. When two of them
    /// would share a line, none is moved, because then the content tells no truth.
    pub fn follow(&mut self, file: &FilePath, text: &FileLines, now: Timestamp) -> Followed {
        let claims = self.held(now).filter(|claim| claim.file == *file);
        let claims = claims.map(|claim| (claim.id, claim.lines, claim.anchor.as_deref()));
        let waits = self.waiting(now).filter(|wait| wait.file == *file);
        let waits = waits.map(|wait| (wait.ticket, wait.lines, wait.anchor.as_deref()));
        let (mut moves, mut followed) = (Vec::new(), Followed::default());
        for (id, from, kept) in claims.chain(waits) {
            let Some(anchor) = kept.and_then(Anchor::parse) else {
                continue;
            };
            match anchor.locate(text) {
                Ok(lines) if lines == from => {}
                Ok(lines) => moves.push(Move {
                    id,
                    lines,
                    anchor: kept.map(String::from),
                }),
                Err(lost) => followed.lost.push((id, lost)),
            }
        }
        if moves.is_empty() {
            return followed;
        }
        match self.relocate(file, &moves, now) {
            Ok(events) => followed.events = events,
            Err(_) => {
                let lost = moves.iter().map(|to| (to.id, Lost::Ambiguous));
                followed.lost.extend(lost);
            }
        }
        followed
    }

    /// Remembers the content of those lines of a member in one file of which nothing is remembered: what was taken in
    /// by another claim, or is left of one that was partly given back. Their lines are those of `text`.
    pub fn remember(&mut self, member: &Name, file: &FilePath, text: &FileLines) {
        let own: Vec<u64> = self.index.of_member(file, member).to_vec();
        for id in own {
            if let Some(claim) = self.held.get_mut(&id)
                && claim.anchor.is_none()
            {
                let anchor = Anchor::take(claim.lines, text);
                claim.anchor = anchor.as_ref().map(ToString::to_string);
            }
        }
    }
}

#[cfg(test)]
mod tests;
