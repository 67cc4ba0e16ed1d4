//! The board's document: how much of the log there is, and where the kept part starts.
//!
//! The log is kept as it is; what is too old is *left out*, oldest first, by moving the floor up. So that this needs
//! no second look at the log, the place of every so-many-th finding is remembered: about [`MARKS`] places,
//! however long the log is.
//!
//! Always holds: at most `cap` findings are kept; the floor only moves up; whatever is left out is reported.

use alloc::collections::{BTreeMap, VecDeque};
use serde::{Deserialize, Serialize};

use super::Discovery;
use super::cursor::{NEWCOMER, Seen};
use crate::name::Name;

/// How many findings are kept unless the board says otherwise.
pub const CAP: u64 = 100_000;

/// Into how many parts the kept findings are divided; the oldest part is left out at once.
pub(super) const MARKS: u64 = 64;

/// Where the finding with this number starts in the log. Written as `[byte, number]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub(super) struct Mark {
    pub(super) at: u64,
    pub(super) number: u64,
}

impl From<(u64, u64)> for Mark {
    fn from((at, number): (u64, u64)) -> Self {
        Self { at, number }
    }
}

impl From<Mark> for (u64, u64) {
    fn from(mark: Mark) -> Self {
        (mark.at, mark.number)
    }
}

/// Findings that are kept no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Evicted {
    /// How many.
    pub count: u64,
    /// The first byte of the log that is kept.
    pub floor: u64,
}

/// What absorbing lines brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Absorbed {
    /// New findings.
    pub found: u64,
    /// Lines that are no finding.
    pub damaged: u64,
    /// Findings that are kept no longer.
    pub evicted: Option<Evicted>,
}

/// The board of one team: one small document beside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Board {
    cap: u64,
    /// Everything before this byte has been looked at.
    scanned: u64,
    /// How many findings there ever were up to there.
    count: u64,
    /// The places of some findings, oldest first; the first is the floor.
    marks: VecDeque<Mark>,
    /// The places of the last [`NEWCOMER`] findings.
    recent: VecDeque<u64>,
    pub(super) members: BTreeMap<Name, Seen>,
}

impl Default for Board {
    fn default() -> Self {
        Self::with_cap(CAP)
    }
}

impl Board {
    /// An empty board that keeps at most `cap` findings, at least one.
    #[must_use]
    pub fn with_cap(cap: u64) -> Self {
        Self {
            cap: cap.max(1),
            scanned: 0,
            count: 0,
            marks: VecDeque::new(),
            recent: VecDeque::new(),
            members: BTreeMap::new(),
        }
    }

    /// How many findings are kept at most.
    #[must_use]
    pub fn cap(&self) -> u64 {
        self.cap
    }

    /// Changes how many findings are kept. Fewer are left out with the next one that comes.
    pub fn set_cap(&mut self, cap: u64) {
        self.cap = cap.max(1);
    }

    /// Everything before this byte of the log has been looked at.
    #[must_use]
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// The first byte of the log that is kept.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor_mark().at
    }

    /// How many findings are kept.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.count.saturating_sub(self.floor_mark().number)
    }

    pub(super) fn floor_mark(&self) -> Mark {
        let end = Mark {
            at: self.scanned,
            number: self.count,
        };
        self.marks.front().copied().unwrap_or(end)
    }

    /// Where the last few findings start, or the floor.
    pub(super) fn first_recent(&self) -> Mark {
        let recent = self.recent.front().map(|at| Mark {
            at: *at,
            number: self.count.saturating_sub(self.recent.len() as u64),
        });
        recent.unwrap_or_default().max(self.floor_mark())
    }

    fn part(&self) -> u64 {
        (self.cap / MARKS).max(1)
    }

    /// Takes in lines of the log, in order, each as its first byte, the byte after it, and its text. Lines before
    /// [`Board::scanned`] are known already and change nothing, so a line may be offered again.
    pub fn absorb<'a>(
        &mut self,
        lines: impl IntoIterator<Item = (u64, u64, &'a [u8])>,
    ) -> Absorbed {
        let mut answer = Absorbed::default();
        let mut evicted = 0;
        for (at, end, line) in lines {
            if at < self.scanned {
                continue;
            }
            self.scanned = end;
            if line.trim_ascii().is_empty() {
                continue;
            }
            if Discovery::decode(line).is_err() {
                answer.damaged += 1;
                continue;
            }
            answer.found += 1;
            evicted += self.count_one(at);
        }
        answer.evicted = (evicted > 0).then(|| Evicted {
            count: evicted,
            floor: self.floor(),
        });
        answer
    }

    /// Counts the finding that starts at `at`. Answers how many are kept no longer.
    fn count_one(&mut self, at: u64) -> u64 {
        let since = self.marks.back().map(|mark| self.count - mark.number);
        if since.is_none_or(|since| since >= self.part()) {
            self.marks.push_back(Mark {
                at,
                number: self.count,
            });
        }
        self.recent.push_back(at);
        if self.recent.len() > NEWCOMER {
            self.recent.pop_front();
        }
        self.count = self.count.saturating_add(1);
        let before = self.floor_mark().number;
        while self.kept() > self.cap && self.marks.len() > 1 {
            self.marks.pop_front();
        }
        self.floor_mark().number - before
    }

    /// Starts from an empty log, because the log was cut or replaced from outside. Everybody is shown what is there
    /// now, once.
    pub fn restart(&mut self) {
        *self = Self::with_cap(self.cap);
    }

    /// Forgets what a member was shown, because it is gone or starts with an empty memory.
    pub fn forget(&mut self, member: &Name) {
        self.members.remove(member);
    }
}
