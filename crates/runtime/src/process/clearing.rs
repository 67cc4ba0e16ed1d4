//! Ends every process of a turn: look, kill, look again, until a look finds nothing.
//!
//! A process that forks between look and kill is found by the next look, so the passes converge. Whoever was seen
//! once is remembered with its start time and stays a target even when what tied it to the turn is gone.
//!
//! What always holds: each killed process is counted once, and the turn's first process is not counted. It gives
//! up after [`PATIENCE`] and then says how many run on: those of another user, or stuck in the kernel.

use super::ended::Leftovers;
use super::kin::{Kin, Sent};
use super::table::Stat;
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// How long killed processes may take to disappear.
const PATIENCE: Duration = Duration::from_secs(3);

/// The killing of one turn's processes, with its count.
#[derive(Debug)]
pub(super) struct Clearing<'a> {
    kin: &'a Kin,
    seen: BTreeMap<(u32, u64), Stat>,
    killed: BTreeSet<(u32, u64)>,
}

/// What one pass found.
enum Pass {
    Running(usize),
    /// Nothing runs, but some process could not be judged.
    Unclear,
    Empty,
    /// There is no process table.
    Blind,
}

impl<'a> Clearing<'a> {
    pub(super) fn of(kin: &'a Kin) -> Self {
        Self {
            kin,
            seen: BTreeMap::new(),
            killed: BTreeSet::new(),
        }
    }

    /// Looks for the turn's processes, the first one included, and remembers them. `None` without a table.
    pub(super) fn look(&mut self) -> Option<Vec<Stat>> {
        self.sight().map(|(running, _)| running)
    }

    fn sight(&mut self) -> Option<(Vec<Stat>, usize)> {
        let sight = self.kin.look()?;
        self.seen
            .extend(sight.running.iter().map(|stat| (key(stat), *stat)));
        let seen: Vec<Stat> = self.seen.values().copied().collect();
        let running = self.kin.still_running(&seen);
        self.seen = running.iter().map(|stat| (key(stat), *stat)).collect();
        Some((running, sight.unclear))
    }

    /// Kills everything that can be found, without waiting for it to be gone.
    pub(super) fn strike(&mut self, kill_group: impl Fn()) {
        let _looked_again_by_whoever_waits = self.pass(&kill_group);
    }

    /// Kills until nothing is left. `kill_group` is called in each pass, after the single processes were counted.
    pub(super) async fn finish(mut self, kill_group: impl Fn()) -> Leftovers {
        const UNCLEAR_LOOKS: u32 = 3;
        let start = Instant::now();
        let mut pace = Pace::default();
        let mut unclear = 0;
        loop {
            match self.pass(&kill_group) {
                Pass::Running(remaining) if start.elapsed() > PATIENCE => {
                    return self.count(remaining);
                }
                Pass::Unclear if unclear < UNCLEAR_LOOKS => unclear += 1,
                Pass::Running(_) => {}
                Pass::Unclear | Pass::Empty | Pass::Blind => return self.count(0),
            }
            pace.pause().await;
        }
    }

    fn pass(&mut self, kill_group: &impl Fn()) -> Pass {
        let Some((running, unclear)) = self.sight() else {
            kill_group();
            return Pass::Blind;
        };
        for stat in &running {
            if self.kin.signal(stat, Signal::KILL) == Sent::Hit {
                self.killed.insert(key(stat));
            }
        }
        kill_group();
        match (running.len(), unclear) {
            (0, 0) => Pass::Empty,
            (0, _) => Pass::Unclear,
            (running, _) => Pass::Running(running),
        }
    }

    fn count(&self, remaining: usize) -> Leftovers {
        let leader = self.kin.leader.as_ref().map(key);
        let killed = self
            .killed
            .iter()
            .filter(|killed| Some(**killed) != leader)
            .count();
        Leftovers {
            killed: u32::try_from(killed).unwrap_or(u32::MAX),
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
        }
    }
}

/// Ends whoever holds one of these pipes open. Those whom we may not look at are not found.
pub(super) async fn end_holders(kin: &Kin, pipes: &[PathBuf]) -> Leftovers {
    let start = Instant::now();
    let mut pace = Pace::default();
    let mut killed = BTreeSet::new();
    loop {
        let holders = kin.holders(pipes);
        let hit = |stat: &&Stat| kin.signal(stat, Signal::KILL) == Sent::Hit;
        killed.extend(holders.iter().filter(hit).map(key));
        if holders.is_empty() || start.elapsed() > PATIENCE {
            return Leftovers {
                killed: u32::try_from(killed.len()).unwrap_or(u32::MAX),
                remaining: u32::try_from(holders.len()).unwrap_or(u32::MAX),
            };
        }
        pace.pause().await;
    }
}

/// So long from now. A span that is meant as "for ever" becomes a very long one.
pub(super) fn after(span: Duration) -> Instant {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
    Instant::now() + span.min(A_YEAR)
}

fn key(stat: &Stat) -> (u32, u64) {
    (stat.pid, stat.start_time)
}

/// Pauses between looks: short at first, since most processes end at once, then longer.
#[derive(Debug)]
pub(super) struct Pace {
    next: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            next: Duration::from_millis(1),
        }
    }
}

impl Pace {
    pub(super) async fn pause(&mut self) {
        const LONGEST: Duration = Duration::from_millis(50);
        tokio::time::sleep(self.next).await;
        self.next = LONGEST.min(self.next * 2);
    }
}
