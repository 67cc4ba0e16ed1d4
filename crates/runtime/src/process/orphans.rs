//! Orphans: processes whose parent is gone and that the system hands to this program instead of to the first process of
//! the machine (`PR_SET_CHILD_SUBREAPER`), so that not even one with a session of its own, an empty environment and no
//! open pipe gets out of sight.
//!
//! What always holds: whoever is a child of this program is either the first process of a group that it started or an
//! orphan of one; where that is not known (it had children before), nothing is adopted and nobody is ended. Orphans
//! that have ended are collected. A signal reaches the process that was meant or nobody.
//!
//! Not here: whose turn left an orphan behind. Only Linux hands over orphans; elsewhere there are none to be found.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;

use super::identity::Identity;
use super::kin::{Sent, add_descendants, collect, signal_one};
use super::table::{Stat, Table};

/// The orphans of this program, from its making until it is dropped.
#[derive(Debug)]
pub struct Orphanage {
    table: Table,
}

/// A process that was left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    stat: Stat,
    /// Its program and arguments, as far as they can be read.
    pub command: String,
}

impl Orphan {
    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.stat.pid
    }

    /// What tells it from every other process of this boot.
    #[must_use]
    pub fn key(&self) -> (u32, u64) {
        (self.stat.pid, self.stat.start_time)
    }

    /// Whether the process `leader`, or what it started, can have started it.
    #[must_use]
    pub fn can_be_of(&self, leader: &Identity) -> bool {
        let start = leader.start_time;
        start.is_some_and(|start| start <= self.stat.start_time)
    }
}

impl Orphanage {
    /// Takes in orphans from now on. `None` where the system does not hand them over, or when this program has
    /// children already: theirs could not be told from ours.
    #[must_use]
    pub fn open() -> Option<Self> {
        let table = Table::default();
        let own = std::process::id();
        let all = table.all().ok()?;
        let has_children = all.iter().any(|stat| stat.parent == own);
        if has_children || !adopt(true_pid()) {
            return None;
        }
        Some(Self { table })
    }

    /// Everybody who runs, is handed to us and is none of the `led`, the first processes of the groups that are not
    /// over. Those that have ended are collected.
    #[must_use]
    pub fn look(&self, led: &[Identity]) -> Vec<Orphan> {
        let own = std::process::id();
        let Ok(all) = self.table.all() else {
            return Vec::new();
        };
        let is_led = |stat: &Stat| {
            let same =
                |led: &&Identity| (led.pid, led.start_time) == (stat.pid, Some(stat.start_time));
            led.iter().any(|led| same(&led))
        };
        let ours = all
            .iter()
            .filter(|stat| stat.parent == own && !is_led(stat));
        let (running, ended): (Vec<&Stat>, Vec<&Stat>) = ours.partition(|stat| stat.runs());
        ended.into_iter().for_each(collect);
        running.into_iter().map(|stat| self.orphan(*stat)).collect()
    }

    fn orphan(&self, stat: Stat) -> Orphan {
        const LONGEST: usize = 80;
        let words = self.table.command_line(stat.pid).unwrap_or_default();
        let words: Vec<_> = words
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        let command = words.join(" ");
        let command = match command.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &command[..end]),
            None => command,
        };
        Orphan { stat, command }
    }

    /// Kills an orphan with all that it started. Answers whether the system let us.
    #[must_use]
    pub fn end(&self, orphan: &Orphan) -> bool {
        let all: BTreeMap<u32, Stat> = self
            .table
            .all()
            .unwrap_or_default()
            .into_iter()
            .map(|stat| (stat.pid, stat))
            .collect();
        let mut family = BTreeSet::from([orphan.stat.pid]);
        add_descendants(&all, &mut family);
        let mut allowed = true;
        for pid in family {
            let target = match all.get(&pid) {
                Some(stat) if pid != orphan.stat.pid => *stat,
                _ => orphan.stat,
            };
            allowed &= signal_one(&self.table, &target, Signal::KILL) != Sent::Denied;
        }
        allowed
    }
}

impl Drop for Orphanage {
    fn drop(&mut self) {
        let _cannot_be_refused = adopt(None);
    }
}

fn true_pid() -> Option<rustix::process::Pid> {
    Some(rustix::process::getpid())
}

#[cfg(target_os = "linux")]
fn adopt(whether: Option<rustix::process::Pid>) -> bool {
    rustix::process::set_child_subreaper(whether).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn adopt(_whether: Option<rustix::process::Pid>) -> bool {
    false
}
