//! Who was shown what: each finding to each member once, and first what concerns it.
//!
//! Per member the document holds how far it was shown everything, and the places of up to [`AHEAD`] findings beyond
//! that which it was shown earlier because they concern it. When that many are ahead, findings are shown in order
//! until the others have caught up. Its own findings and those not worth knowing any more are passed over.
//!
//! A member that the board does not know starts with the last [`NEWCOMER`] findings, not with all of them.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use super::index::{Board, Mark};
use super::{Discovery, Interest};
use crate::name::Name;
use crate::time::Timestamp;

/// The most findings that a member is shown out of order before the ones in between.
pub const AHEAD: usize = 64;

/// How many findings a new member is shown of those that came before it.
pub const NEWCOMER: usize = 50;

/// How far one member was shown things.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Everything before it was shown or passed over.
    to: Mark,
    /// What was shown beyond that, by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ahead: Vec<u64>,
}

/// A finding, as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its first byte.
    pub at: u64,
    /// The byte after it.
    pub end: u64,
    /// The finding.
    pub discovery: Discovery,
}

/// What a member is to be shown now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Which of the findings that were offered, by their index, in the order in which to show them.
    pub picks: Vec<usize>,
    /// How many of those that were offered it was not shown yet.
    pub left: usize,
    /// How many are kept no longer and were never shown to it; its own may be among them.
    pub missed: u64,
}

impl Board {
    /// Where in the log the findings start that this member was not shown yet.
    #[must_use]
    pub fn reading_from(&self, member: &Name) -> u64 {
        self.seen(member).0.to.at
    }

    /// How far the member was shown things, lifted to the floor, and how many it missed by that.
    fn seen(&self, member: &Name) -> (Seen, u64) {
        let floor = self.floor_mark();
        let Some(seen) = self.members.get(member) else {
            let to = self.first_recent();
            return (
                Seen {
                    to,
                    ahead: Vec::new(),
                },
                0,
            );
        };
        let mut seen = seen.clone();
        if seen.to.number >= floor.number {
            return (seen, 0);
        }
        let known = seen.ahead.iter().filter(|at| **at < floor.at).count() as u64;
        let missed = (floor.number - seen.to.number).saturating_sub(known);
        seen.to = floor;
        seen.ahead.retain(|at| *at >= floor.at);
        (seen, missed)
    }

    /// What to show `member` next, at most `limit` findings of `window`, without noting that it was shown.
    ///
    /// `window` is the log's findings from [`Board::reading_from`] on, without a gap, as many as the caller cares to
    /// look ahead.
    #[must_use]
    pub fn preview(
        &self,
        member: &Name,
        interest: &Interest,
        window: &[Found],
        limit: usize,
        now: Timestamp,
    ) -> Shown {
        let (seen, missed) = self.seen(member);
        let open = |found: &Found| seen.is_open(found, member, now);
        let open: Vec<usize> = (0..window.len()).filter(|at| open(&window[*at])).collect();
        let room = AHEAD.saturating_sub(seen.ahead.len()).min(limit);
        let meets = |at: &usize| interest.meets(&window[*at].discovery);
        let mut picks: Vec<usize> = open.iter().copied().filter(meets).take(room).collect();
        let first = picks.len();
        for at in &open {
            if picks.len() >= limit {
                break;
            }
            if !picks[..first].contains(at) {
                picks.push(*at);
            }
        }
        Shown {
            left: open.len() - picks.len(),
            picks,
            missed,
        }
    }

    /// What to show `member` next, noted as shown. Asked by two processes of one member at once, each finding is
    /// given to one of them.
    pub fn show(
        &mut self,
        member: &Name,
        interest: &Interest,
        window: &[Found],
        limit: usize,
        now: Timestamp,
    ) -> Shown {
        let shown = self.preview(member, interest, window, limit, now);
        self.note_shown(member, window, &shown.picks, now);
        shown
    }

    /// Notes that `member` was shown the findings of `window` that `picks` names, as [`Board::preview`] named them.
    /// What was noted in between stays noted.
    pub fn note_shown(&mut self, member: &Name, window: &[Found], picks: &[usize], now: Timestamp) {
        let (mut seen, _) = self.seen(member);
        let picked = picks.iter().filter_map(|at| Some(window.get(*at)?.at));
        seen.ahead.extend(picked);
        seen.ahead.sort_unstable();
        seen.ahead.dedup();
        for found in window {
            if found.at < seen.to.at {
                continue;
            }
            if seen.is_open(found, member, now) {
                break;
            }
            seen.to = Mark {
                at: found.end,
                number: seen.to.number.saturating_add(1),
            };
        }
        let to = seen.to.at;
        seen.ahead.retain(|at| *at >= to);
        match self.members.get_mut(member) {
            Some(known) => *known = seen,
            None => {
                self.members.insert(member.clone(), seen);
            }
        }
    }
}

impl Board {
    /// Takes back that `member` was shown the findings at `given`: whoever was to show them could not. `window` is the
    /// log's findings from `from` on, where [`Board::reading_from`] stood before, so everything in between that was
    /// shown stays shown. Where the window does not reach as far as the member has read since, nothing is taken back:
    /// then others would come twice.
    pub fn take_back(&mut self, member: &Name, from: (u64, u64), window: &[Found], given: &[u64]) {
        let Some(seen) = self.members.get_mut(member) else {
            return;
        };
        let from = Mark::from(from);
        let reaches = window.last().is_some_and(|last| last.end >= seen.to.at);
        if seen.to.at > from.at && reaches {
            let passed = window.iter().map(|found| found.at);
            seen.ahead.extend(passed.filter(|at| *at < seen.to.at));
            seen.to = from;
        }
        seen.ahead.retain(|at| !given.contains(at));
        seen.ahead.sort_unstable();
        seen.ahead.dedup();
    }

    /// Where the findings start that this member was not shown yet, and the number of the first: what
    /// [`Board::take_back`] asks for.
    #[must_use]
    pub fn place_of(&self, member: &Name) -> (u64, u64) {
        self.seen(member).0.to.into()
    }
}

impl Seen {
    /// Whether the member is still to be shown it. Places further on are passed in order, so `ahead` is in order too.
    fn is_open(&self, found: &Found, member: &Name, now: Timestamp) -> bool {
        found.at >= self.to.at
            && self.ahead.binary_search(&found.at).is_err()
            && found.discovery.agent != *member
            && found.discovery.is_live(now)
    }
}
