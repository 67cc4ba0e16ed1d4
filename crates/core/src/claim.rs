//! Claims: who holds which lines of which file, until when, and who stands in line for them.
//!
//! ```text
//!            claim                        release, expiry, replaced, end of the holder
//!  (nothing) ─────▶ held ◀─┐ renew: the same lines again ──────────────▶ ended
//!      │              ▲    └┘
//!      │ claim, wait  │ granted, first come first
//!      └──────────▶ waiting ──▶ given up: withdrawn, timed out, replaced, end of the member
//! ```
//!
//! Always holds: no line of a file is held by two members at once; a claim whose deadline has come holds nothing, by
//! comparison, so no timer can end a claim that was renewed; nobody overtakes a member that waits for the same lines;
//! members never wait for each other in a circle. A refusal leaves everything as it was.
//!
//! Ended claims leave the document; that they ended is an event ([`ClaimEvent`]). Paths come in canonical
//! ([`FilePath`]). Where claimed lines are after the file has changed is told by their content ([`Anchor`]).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize, Serializer};

use crate::name::Name;
use crate::time::Timestamp;

mod anchor;
mod edit;
mod end;
mod event;
mod follow;
mod grant;
mod guard;
mod index;
mod lines;
mod patch;
mod path;
mod queue;
mod refused;
mod shift;
mod text;

pub use anchor::{Anchor, Lost};
pub use edit::{LooseFile, replaced};
pub use end::Move;
pub use event::{ClaimEvent, EndCause};
pub use follow::{Followed, Moved, Standing};
pub use guard::{Called, Compared, HeldLines, LinesHeld, Touched};
pub use lines::Lines;
pub use patch::{FilePatch, PatchError};
pub use path::{Case, FilePath, MOST_BYTES};
pub use refused::{Conflict, Deadlock, Holder, Link, NotClaimed, Waiter};
pub use shift::{Hunk, Span, back, decided, forward};
pub use text::FileLines;

use index::Index;

/// How long a claim lasts unless it says otherwise, in milliseconds.
pub const TTL_MS: u64 = 5 * 60 * 1_000;

/// The longest that a claim may last without being renewed, in milliseconds: a day.
pub const MOST_TTL_MS: u64 = 24 * 60 * 60 * 1_000;

/// The same as a span.
const LONGEST_MS: i64 = MOST_TTL_MS.cast_signed();

/// The most claims held at once, in one team.
pub const MOST_HELD: usize = 16_384;

/// The most claims that stand in line at once, in one team.
pub const MOST_WAITING: usize = 256;

/// One member's hold on a range of lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its number, counted from 1. A claim that was waited for has the number of its wait.
    pub id: u64,
    /// Who holds it.
    pub member: Name,
    /// In which file.
    pub file: FilePath,
    /// Which lines.
    pub lines: Lines,
    /// Since when.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// What is remembered of the content of these lines ([`Anchor`]); gone when the range is cut or grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

impl Claim {
    /// Whether it holds its lines at `now`. One that ends further ahead than any claim can was made under a clock that
    /// was wrong, and holds nothing.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.until.is_ahead(LONGEST_MS, now)
    }
}

/// A claim that stands in line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its number, and that of the claim that it becomes. Earlier ones go first.
    pub ticket: u64,
    /// Who waits.
    pub member: Name,
    /// For which file.
    pub file: FilePath,
    /// For which lines.
    pub lines: Lines,
    /// How long the claim lasts once it is granted, in milliseconds.
    pub ttl_ms: u64,
    /// What becomes of the member's other lines in that file.
    pub mode: Mode,
    /// Since when it waits.
    pub since: Timestamp,
    /// When it gives up.
    pub until: Timestamp,
    /// The anchor of the claim to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

impl Waiting {
    /// Whether it has not given up at `now`. As long as it was to wait it may; one that was begun under a clock that was
    /// ahead has given up.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        let length_ms = self.until.millis_since(self.since).max(0);
        self.until.is_ahead(length_ms, now)
    }
}

/// What becomes of the lines that a member holds already in the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The new claim takes their place.
    #[default]
    Replace,
    /// They stay, and ranges that touch become one.
    Extend,
}

/// What to do when the lines cannot be had at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patience {
    /// Refuse.
    #[default]
    None,
    /// Stand in line until then.
    Until(Timestamp),
}

/// A wish for lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Who.
    pub member: &'a Name,
    /// In which file.
    pub file: &'a FilePath,
    /// Which lines.
    pub lines: Lines,
    /// For how long, in milliseconds.
    pub ttl_ms: u64,
    /// What becomes of the member's other lines in that file.
    pub mode: Mode,
    /// What to do when they cannot be had at once.
    pub patience: Patience,
    /// What is known about the content of the lines.
    pub anchor: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A wish for lines for [`TTL_MS`], in the place of others in the same file, or not at all.
    #[must_use]
    pub fn new(member: &'a Name, file: &'a FilePath, lines: Lines) -> Self {
        Self {
            member,
            file,
            lines,
            ttl_ms: TTL_MS,
            mode: Mode::Replace,
            patience: Patience::None,
            anchor: None,
        }
    }
}

/// What came of a wish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The lines are held.
    Held {
        /// The claim.
        claim: Claim,
    },
    /// It stands in line.
    Waiting {
        /// Its place.
        waiting: Waiting,
        /// Who is in the way.
        behind: Conflict,
    },
}

/// What came of a wish, and what happened beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What came of it.
    pub outcome: Outcome,
    /// What happened, in order.
    pub events: Vec<ClaimEvent>,
}

/// Where a wait stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn<'a> {
    /// Still in line.
    Waiting(&'a Waiting),
    /// It has become this claim.
    Held(&'a Claim),
    /// Neither: given up, or granted and ended since.
    Over,
}

/// All claims of a team: one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct Claims {
    /// The number of the next claim or wait.
    next: u64,
    #[serde(serialize_with = "as_list")]
    held: BTreeMap<u64, Claim>,
    waiting: Vec<Waiting>,
    #[serde(skip)]
    index: Index,
}

fn as_list<S: Serializer>(held: &BTreeMap<u64, Claim>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(held.values())
}

/// The claims as they are kept: the index follows.
#[derive(Deserialize)]
struct Saved {
    #[serde(default)]
    next: u64,
    #[serde(default)]
    held: Vec<Claim>,
    #[serde(default)]
    waiting: Vec<Waiting>,
}

impl TryFrom<Saved> for Claims {
    type Error = String;

    /// Claims that overlap were not written by these rules, and nobody can say whose the lines are.
    fn try_from(saved: Saved) -> Result<Self, String> {
        let mut claims = Self {
            waiting: saved.waiting,
            ..Self::default()
        };
        claims.waiting.sort_by_key(|wait| wait.ticket);
        let tickets = claims.waiting.iter().map(|wait| wait.ticket);
        let ids = saved.held.iter().map(|claim| claim.id).chain(tickets);
        claims.next = ids
            .map(|id| id.saturating_add(1))
            .fold(saved.next.max(1), u64::max);
        for claim in saved.held {
            let other = claims.index.overlapping(&claim.file, claim.lines).next();
            let other = other.or(claims.held.contains_key(&claim.id).then_some(claim.id));
            if let Some(other) = other {
                return Err(alloc::format!("claims {other} and {} collide", claim.id));
            }
            claims.index.insert(&claim);
            claims.held.insert(claim.id, claim);
        }
        Ok(claims)
    }
}

impl Default for Claims {
    fn default() -> Self {
        Self {
            next: 1,
            held: BTreeMap::new(),
            waiting: Vec::new(),
            index: Index::default(),
        }
    }
}

impl Claims {
    /// The claims that hold their lines at `now`, oldest first.
    pub fn held(&self, now: Timestamp) -> impl Iterator<Item = &Claim> {
        self.held.values().filter(move |claim| claim.is_live(now))
    }

    /// The waits that have not given up at `now`, first come first.
    pub fn waiting(&self, now: Timestamp) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter().filter(move |wait| wait.is_live(now))
    }

    /// Who has a claim or a wait here, each once, whether it is over or not.
    #[must_use]
    pub fn members(&self) -> BTreeSet<&Name> {
        let held = self.held.values().map(|claim| &claim.member);
        held.chain(self.waiting.iter().map(|wait| &wait.member))
            .collect()
    }

    /// Who other than `member` holds lines of a range at `now`: what an edit of these lines would run into.
    #[must_use]
    pub fn in_the_way(
        &self,
        member: &Name,
        file: &FilePath,
        lines: Lines,
        now: Timestamp,
    ) -> Vec<&Claim> {
        let found = self.index.overlapping(file, lines);
        found
            .filter_map(|id| self.held.get(&id))
            .filter(|claim| claim.member != *member && claim.is_live(now))
            .collect()
    }

    /// Where the wait with this ticket stands.
    #[must_use]
    pub fn turn(&self, ticket: u64, now: Timestamp) -> Turn<'_> {
        let held = self.held.get(&ticket).filter(|claim| claim.is_live(now));
        let mut waiting = self.waiting(now);
        match (held, waiting.find(|wait| wait.ticket == ticket)) {
            (Some(claim), _) => Turn::Held(claim),
            (None, Some(wait)) => Turn::Waiting(wait),
            (None, None) => Turn::Over,
        }
    }

    /// When the next thing happens by itself: a claim expires or a wait gives up.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let expiry = self.index.first_deadline().map(|(until, _)| until);
        let waits = self.waiting.iter().map(|wait| wait.until);
        waits.chain(expiry).min()
    }
}

#[cfg(test)]
mod tests;
