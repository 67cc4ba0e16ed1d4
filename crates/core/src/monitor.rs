//! The monitor's decisions: from what one scan of a project saw to what is done about it.
//!
//! | seen | decided |
//! |---|---|
//! | no loop mode is active, and no live team starts its members again | the monitor ends |
//! | no live team, twice in a row | the monitor ends |
//! | a member's process is gone | it is buried, once: its tasks go back |
//! | its restart is due | it is started again |
//! | the same, while the clocks have just jumped | nothing |
//! | ready for 30 s | a prompt is asked for, which the ledger of [`crate::nudge`] may still refuse |
//! | ready, with mail | a wake is asked for: one may have been lost |
//! | anything else | nothing, and why |
//!
//! Always holds: nothing is asked for a pane that is not proved ready; a jump of the clocks buries nobody and starts every
//! idle time again; of decisions that follow each other and say the same, one is noted. Every decision has a reason, so
//! that "why was it not prompted?" has an answer.
//!
//! Not here: looking, typing, and the three prompts without progress, which processes share (the ledger's).

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::liveness::{Doubt, Grace, Loss, Moment, Verdict};
use crate::name::Name;
use crate::nudge::{IdleClock, Loops, Standing, Timing, Trigger};
use crate::screen::State;
use crate::time::Timestamp;

mod decided;

pub use decided::{Decided, Did};

/// One member of one team.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    /// The team.
    pub team: Name,
    /// The member.
    pub member: Name,
}

/// What a member's pane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shows {
    /// A screen, and the evidence for what it was judged to be.
    Screen(State, String),
    /// None that is the member's, or nobody could look: a stable code and the evidence.
    Nothing(&'static str, String),
}

/// One member as a scan saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Whose.
    pub who: Who,
    /// Its incarnation.
    pub incarnation: u32,
    /// What is to be made of its pane's process.
    pub life: Verdict,
    /// What its pane shows.
    pub shows: Shows,
    /// Its unread messages that are worth a wake.
    pub unread: u64,
    /// When the last line was typed for it.
    pub injected_at: Option<Timestamp>,
    /// When it is started again, once it is gone and that is known.
    pub due_at: Option<Timestamp>,
}

/// Whether a team has anything left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// It has, or it works without tasks.
    Open,
    /// Every task of it is completed.
    Done,
}

/// Whether the members of a team are started again when they are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lives {
    /// They are not.
    Single,
    /// They are, as far as the team's policy goes.
    Renewed,
}

/// One team as a scan saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamSight {
    /// Whether it was shut down.
    pub standing: Standing,
    /// Whether it has anything left to do.
    pub work: Work,
    /// Whether its members are started again.
    pub lives: Lives,
    /// Its members in panes, and the leader when its pane is known.
    pub members: Vec<Sight>,
}

/// What one scan saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Whether a loop mode is active.
    pub loops: Loops,
    /// The teams of the project.
    pub teams: Vec<TeamSight>,
}

/// Why a monitor ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// No loop mode is active any more.
    NoLoop,
    /// No team is live any more.
    NoLiveTeam,
    /// Somebody asked it to.
    Asked,
}

impl Ending {
    /// The code in events and JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NoLoop => "no_loop",
            Self::NoLiveTeam => "no_live_team",
            Self::Asked => "asked",
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Ask the member's ledger for a line; what came of it goes to [`Monitor::handle_answer`].
    Ring {
        /// Whom.
        who: Who,
        /// [`Trigger::Idle`] or [`Trigger::Sweep`].
        trigger: Trigger,
        /// Since when its pane is idle.
        idle_since: Option<Timestamp>,
        /// Its unread messages.
        unread: u64,
    },
    /// The member is gone: its tasks and claims go back, and the leader is told.
    Bury {
        /// Who.
        who: Who,
        /// Which life of it.
        incarnation: u32,
        /// What happened to its process.
        why: Loss,
    },
    /// The member is to be started again now.
    Renew {
        /// Who.
        who: Who,
        /// Which life of it is over.
        incarnation: u32,
    },
    /// Write this decision down.
    Note {
        /// About whom.
        who: Who,
        /// What was decided, and why.
        decided: Decided,
    },
    /// The monitor ends.
    End(Ending),
}

/// What the monitor remembers from scan to scan. It ends with its process.
#[derive(Debug, Clone)]
pub struct Monitor {
    timing: Timing,
    last: Moment,
    grace: Grace,
    clocks: BTreeMap<Who, (u32, IdleClock)>,
    buried: BTreeSet<(Who, u32)>,
    noted: BTreeMap<Who, (Did, Cow<'static, str>)>,
    /// Scans in a row without a live team.
    forsaken: u32,
}

/// After how many scans without a live team it ends: a team that is being started again is not gone.
const FORSAKEN: u32 = 2;

impl Monitor {
    /// One that begins at `now`.
    #[must_use]
    pub fn begin(now: Moment, timing: Timing) -> Self {
        Self {
            timing,
            last: now,
            grace: Grace::watching(now),
            clocks: BTreeMap::new(),
            buried: BTreeSet::new(),
            noted: BTreeMap::new(),
            forsaken: 0,
        }
    }

    /// Decides what one scan leads to. The end, if it has come, is the last order.
    pub fn handle_scan(&mut self, now: Moment, scan: &Scan) -> Vec<Order> {
        if self.has_jumped(now) {
            self.clocks.clear();
        }
        let grace = self.grace.look(now);
        let mut orders = Vec::new();
        let (mut live, mut renewed) = (false, false);
        for team in &scan.teams {
            let is_open = team.standing == Standing::Live && team.work == Work::Open;
            for sight in &team.members {
                let life = match sight.life {
                    Verdict::Gone { .. } if grace => Verdict::Unknown { why: Doubt::Grace },
                    life => life,
                };
                let is_gone = matches!(life, Verdict::Gone { .. });
                let counts = is_open && !sight.who.member.is_leader();
                let goes_on = !is_gone || sight.due_at.is_some();
                live |= counts && goes_on;
                // What becomes of one that is seen to be gone only now is not known yet.
                let is_news = !self.is_buried(sight);
                renewed |= counts && team.lives == Lives::Renewed && (goes_on || is_news);
                if team.standing == Standing::Live {
                    orders.extend(self.of_member(now.wall, sight, life, (scan.loops, team.work)));
                }
            }
        }
        self.forget(scan);
        self.forsaken = if live { 0 } else { self.forsaken + 1 };
        if scan.loops == Loops::Inactive && !renewed {
            orders.push(Order::End(Ending::NoLoop));
        } else if self.forsaken >= FORSAKEN {
            orders.push(Order::End(Ending::NoLiveTeam));
        }
        orders
    }

    /// What came of a [`Order::Ring`]; answers what is to be noted of it.
    pub fn handle_answer(&mut self, who: &Who, decided: Decided) -> Option<Order> {
        self.note(who, decided)
    }

    /// A member could not be buried: the next scan orders it again.
    pub fn handle_failure(&mut self, who: &Who, incarnation: u32) {
        self.buried.remove(&(who.clone(), incarnation));
    }

    /// Whether the clocks moved apart since the last scan: the machine slept, or somebody set one.
    fn has_jumped(&mut self, now: Moment) -> bool {
        let by_wall = now.wall.millis_since(self.last.wall);
        let awake = now.monotonic_ms.saturating_sub(self.last.monotonic_ms);
        self.last = now;
        by_wall.saturating_sub(awake).unsigned_abs() > Grace::TOLERANCE_MS.unsigned_abs()
    }

    fn is_buried(&self, sight: &Sight) -> bool {
        self.buried
            .contains(&(sight.who.clone(), sight.incarnation))
    }

    fn of_member(
        &mut self,
        now: Timestamp,
        sight: &Sight,
        life: Verdict,
        (loops, work): (Loops, Work),
    ) -> Option<Order> {
        let who = &sight.who;
        let kept = self.clocks.entry(who.clone()).or_default();
        if kept.0 != sight.incarnation {
            *kept = (sight.incarnation, IdleClock::default());
        }
        let state = match &sight.shows {
            Shows::Screen(state, _) => *state,
            Shows::Nothing(..) => State::Unknown,
        };
        let idle_since = kept.1.handle_scan(now, state, sight.injected_at);
        let quiet = |reason: &'static str, why: String| Decided {
            trigger: Trigger::Idle,
            did: Did::Nothing,
            reason: reason.into(),
            why,
            unread: sight.unread,
            idle_ms: idle_since.map(|since| now.millis_since(since)),
        };
        match (life, &sight.shows) {
            (Verdict::Gone { why }, _) => {
                let (who, incarnation) = (who.clone(), sight.incarnation);
                if self.buried.insert((who.clone(), incarnation)) {
                    return Some(Order::Bury {
                        who,
                        incarnation,
                        why,
                    });
                }
                let is_due = sight.due_at.is_some_and(|at| at <= now) && work == Work::Open;
                is_due.then_some(Order::Renew { who, incarnation })
            }
            (Verdict::Unknown { why: Doubt::Grace }, _) => {
                let why = "the clocks have just jumped".to_string();
                self.note(who, quiet("grace", why))
            }
            (_, Shows::Nothing(code, why)) => self.note(who, quiet(code, why.clone())),
            (_, Shows::Screen(State::Ready, _)) => self.of_ready(now, sight, loops, idle_since),
            (_, Shows::Screen(state, why)) => self.note(who, quiet(state.word(), why.clone())),
        }
    }

    /// For a pane that is proved ready.
    fn of_ready(
        &mut self,
        now: Timestamp,
        sight: &Sight,
        loops: Loops,
        idle_since: Option<Timestamp>,
    ) -> Option<Order> {
        let idle_ms = idle_since.map_or(0, |since| now.millis_since(since));
        let quiet = |reason: &'static str, why: String| Decided {
            trigger: Trigger::Idle,
            did: Did::Nothing,
            reason: reason.into(),
            why,
            unread: sight.unread,
            idle_ms: Some(idle_ms),
        };
        let is_leader = sight.who.member.is_leader();
        // Mail is no prompt for idling: a wake that was lost is made good without a loop, too.
        if loops == Loops::Inactive && sight.unread == 0 {
            return self.note(&sight.who, quiet("loop_inactive", String::new()));
        }
        let is_idle = loops == Loops::Active && idle_ms >= i64::from(self.timing.idle_ms);
        let trigger = match (is_idle && !is_leader, sight.unread) {
            (true, _) => Trigger::Idle,
            (false, 0) if is_leader => {
                return self.note(&sight.who, quiet("leader_never_prompted", String::new()));
            }
            (false, 0) => {
                let after = self.timing.idle_ms / 1_000;
                let why = format!("it is ready, and is prompted after {after} s of that");
                return self.note(&sight.who, quiet("not_idle", why));
            }
            (false, _) => Trigger::Sweep,
        };
        Some(Order::Ring {
            who: sight.who.clone(),
            trigger,
            idle_since,
            unread: sight.unread,
        })
    }

    /// What was typed is always noted; what was not, when it is another decision than before.
    fn note(&mut self, who: &Who, decided: Decided) -> Option<Order> {
        let said = (decided.did, decided.reason.clone());
        let is_news = decided.did != Did::Nothing || self.noted.get(who) != Some(&said);
        self.noted.insert(who.clone(), said);
        is_news.then(|| Order::Note {
            who: who.clone(),
            decided,
        })
    }

    /// Forgets members that are there no more.
    fn forget(&mut self, scan: &Scan) {
        let there = scan.teams.iter().flat_map(|team| &team.members);
        let there: BTreeSet<&Who> = there.map(|sight| &sight.who).collect();
        self.clocks.retain(|who, _| there.contains(who));
        self.noted.retain(|who, _| there.contains(who));
        self.buried.retain(|(who, _)| there.contains(who));
    }
}

#[cfg(test)]
mod tests;
