//! Orphans: processes whose parent is gone and that the system hands to this program instead of to the first process of
//! the machine (`PR_SET_CHILD_SUBREAPER`), so that not even one with a session of its own, an empty environment and no
//! open pipe gets out of sight.
//!
//! What always holds: whoever is a child of this program is either the first process of a group that it started or an
//! orphan of one; where that is not known (it had children before), nothing is adopted and nobody is ended. Orphans
//! that have ended are collected. A signal reaches the process that was meant or nobody.
//!
//! Not here: whose turn left an orphan behind, and which are meant to stay (what a file says of a process is easily
//! forged; which file it runs and holds open is the system's word). Only Linux hands over orphans; elsewhere there are none to be found.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::process::Signal;

use super::identity::{Identity, Presence};
use super::kin::{Sent, add_descendants, collect, signal_one};
use super::table::{FileKey, Stat, Table};

/// The orphans of this program, from its making until it is dropped.
#[derive(Debug)]
pub struct Orphanage {
    table: Table,
}

/// Why no orphans are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The system hands over none.
    #[error("this system hands over no orphans")]
    NotHere,
    /// This program had children before: theirs could not be told from ours.
    #[error("this program had other processes as its children before it began")]
    HasChildren,
}

/// A process that was left behind.
#[derive(Debug, Clone)]
pub struct Orphan {
    stat: Stat,
    /// Its program and arguments, as far as they can be read.
    pub command: String,
    words: Vec<OsString>,
    table: Table,
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

    /// The words it was started with, its program's among them.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Whether this very process was written down as `recorded`.
    #[must_use]
    pub fn is(&self, recorded: &Identity) -> bool {
        (recorded.pid, recorded.start_time) == (self.stat.pid, Some(self.stat.start_time))
            && recorded.presence() == Presence::Alive
    }

    /// Whether it runs the very file that this program was started from, whatever its words say.
    #[must_use]
    pub fn is_this_program(&self) -> bool {
        let own = self.table.program(std::process::id());
        own.is_some() && own == self.table.program(self.stat.pid)
    }

    /// Whether it runs the file at `path`.
    #[must_use]
    pub fn runs(&self, path: &Path) -> bool {
        let wanted = FileKey::at(path);
        wanted.is_some() && wanted == self.table.program(self.stat.pid)
    }

    /// Whether its standard input is the file at `path`.
    #[must_use]
    pub fn reads_from(&self, path: &Path) -> bool {
        let wanted = FileKey::at(path);
        wanted.is_some() && wanted == self.table.standard_input(self.stat.pid)
    }

    /// Whether the process `leader`, or what it started, can have started it.
    #[must_use]
    pub fn can_be_of(&self, leader: &Identity) -> bool {
        let start = leader.start_time;
        start.is_some_and(|start| start <= self.stat.start_time)
    }
}

impl Orphanage {
    /// Takes in orphans from now on.
    ///
    /// # Errors
    /// [`Closed`], and nothing is taken in.
    pub fn open() -> Result<Self, Closed> {
        let table = Table::default();
        let own = std::process::id();
        let all = table.all().map_err(|_| Closed::NotHere)?;
        if all.iter().any(|stat| stat.parent == own) {
            return Err(Closed::HasChildren);
        }
        match adopt(true_pid()) {
            true => Ok(Self { table }),
            false => Err(Closed::NotHere),
        }
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
        let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
        let command = words.join(OsStr::new(" ")).to_string_lossy().into_owned();
        let command = match command.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &command[..end]),
            None => command,
        };
        Orphan {
            stat,
            command,
            words,
            table: self.table.clone(),
        }
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
