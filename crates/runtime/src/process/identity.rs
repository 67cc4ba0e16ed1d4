//! Who a process is, beyond its number: a pid is used again, a pid with its start time on one boot is not.
//!
//! An [`Identity`] is taken while the process is known to be ours, written down, and compared later, perhaps by
//! another program. [`Identity::presence`] answers with one of four words, and only `Alive` ever leads to a
//! signal. What is seen is gathered here; what it means is core's rule ([`pitcrew_core::liveness::judge`]).
//!
//! | found | answer |
//! |---|---|
//! | same pid, same start time, same boot | `Alive` |
//! | no such pid, a zombie, or another boot | `Gone` |
//! | same pid, another start time | `Recycled` |
//! | another pid namespace, no process table, no start time recorded | `CannotTell`, with the reason |
//!
//! What always holds: `Gone` and `Recycled` are said on evidence only. Inside a sandbox that hides other
//! processes the answer is `CannotTell`, so nobody loses a task because the observer was blind.

use super::table::{Entry, Table};
use pitcrew_core::liveness::{Doubt, Loss, Observation, Process, Verdict, judge};
use serde::{Deserialize, Serialize};

/// One process, told from every other that had or will have its pid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot. Absent where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<u64>,
    /// The boot that `start_time` counts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The pid namespace in which `pid` means this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<u64>,
}

/// What became of a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The very same process runs.
    Alive,
    /// It has ended.
    Gone,
    /// It has ended, and its pid now belongs to somebody else.
    Recycled,
    /// There is no evidence either way.
    CannotTell(Blindness),
}

/// Why there is no evidence about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blindness {
    /// The record comes from another container or sandbox, where the pid means another process.
    #[error("the process was recorded in another pid namespace")]
    OtherNamespace,
    /// This system has no process table that we can read.
    #[error("this system has no readable process table")]
    NoTable,
    /// The record has no start time to compare.
    #[error("the record has no start time")]
    NoStartTime,
}

impl Identity {
    /// The identity of a running process, or of one that ended and was not collected yet. `None` when there is no
    /// such process. Where the system tells no start time, the pid is all that is recorded.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Self::read(&Table::default(), pid)
    }

    /// This process.
    #[must_use]
    pub fn own() -> Self {
        let pid = std::process::id();
        Self::of(pid).unwrap_or_else(|| Self::bare(pid))
    }

    /// Looks whether the process of this identity still runs.
    #[must_use]
    pub fn presence(&self) -> Presence {
        self.presence_in(&Table::default())
    }

    /// Whether its pid is known to belong to another process now. As [`Identity::presence`] would say, but one look at the
    /// table is enough where it is the same one.
    pub(crate) fn is_recycled(&self) -> bool {
        let table = Table::default();
        let same = match table.entry(self.pid) {
            Entry::Found(stat) => Some(stat.start_time) == self.start_time,
            Entry::Absent | Entry::Unreadable => false,
        };
        !same && self.presence_in(&table) == Presence::Recycled
    }

    pub(super) fn read(table: &Table, pid: u32) -> Option<Self> {
        let start_time = match table.entry(pid) {
            Entry::Found(stat) => stat.start_time,
            Entry::Absent => return None,
            Entry::Unreadable => return Some(Self::bare(pid)),
        };
        Some(Self {
            pid,
            start_time: Some(start_time),
            boot_id: table.boot_id(),
            pid_namespace: table.pid_namespace(),
        })
    }

    pub(super) fn presence_in(&self, table: &Table) -> Presence {
        let recorded = Process {
            pid: self.pid,
            start_time: self.start_time,
            boot_id: self.boot_id.clone(),
        };
        match judge(&recorded, &self.look(table)) {
            Verdict::Alive => Presence::Alive,
            Verdict::Gone { why } => match why {
                Loss::Ended | Loss::Rebooted => Presence::Gone,
                Loss::Recycled => Presence::Recycled,
            },
            Verdict::Unknown { why } => Presence::CannotTell(match why {
                Doubt::OtherNamespace => Blindness::OtherNamespace,
                Doubt::NoStartTime => Blindness::NoStartTime,
                Doubt::NoTable | Doubt::OtherProcess | Doubt::Grace => Blindness::NoTable,
            }),
        }
    }

    /// What there is to see of this process, for the rule of core to judge.
    fn look(&self, table: &Table) -> Observation {
        let boot_id = table.boot_id();
        let rebooted = differ(self.boot_id.as_ref(), boot_id.as_ref());
        let elsewhere = differ(self.pid_namespace.as_ref(), table.pid_namespace().as_ref());
        if elsewhere && !rebooted {
            return Observation::CannotTell(Doubt::OtherNamespace);
        }
        match table.entry(self.pid) {
            Entry::Absent => Observation::NoSuchProcess,
            Entry::Found(stat) if self.start_time == Some(stat.start_time) && !stat.runs() => {
                Observation::NoSuchProcess
            }
            Entry::Found(stat) => Observation::Alive(Process {
                pid: self.pid,
                start_time: Some(stat.start_time),
                boot_id,
            }),
            Entry::Unreadable if no_such_process(self.pid) => Observation::NoSuchProcess,
            Entry::Unreadable => Observation::CannotTell(Doubt::NoTable),
        }
    }

    pub(super) fn bare(pid: u32) -> Self {
        Self {
            pid,
            start_time: None,
            boot_id: None,
            pid_namespace: None,
        }
    }
}

fn differ<T: PartialEq>(recorded: Option<&T>, present: Option<&T>) -> bool {
    matches!((recorded, present), (Some(recorded), Some(present)) if recorded != present)
}

/// Whether the kernel says that no process has this pid: the one thing that can be told without a table.
fn no_such_process(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return true;
    };
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[cfg(target_os = "linux")]
    fn check(change: impl Fn(&mut Identity), expected: Presence) {
        let mut identity = Identity::own();
        change(&mut identity);
        assert_eq!(identity.presence(), expected, "{identity:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_alive_only_with_its_own_start_time_and_boot() {
        check(|_| {}, Presence::Alive);
        let shifted = |by: i64| {
            move |identity: &mut Identity| {
                identity.start_time = identity.start_time.map(|start| start.strict_add_signed(by));
            }
        };
        check(shifted(1), Presence::Recycled);
        check(shifted(-1), Presence::Recycled);
        check(
            |identity| identity.boot_id = Some("another boot".to_owned()),
            Presence::Gone,
        );
        check(|identity| identity.pid = u32::MAX, Presence::Gone);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_record_from_another_namespace_is_no_evidence() {
        check(
            |identity| {
                identity.pid_namespace = identity.pid_namespace.map(|namespace| namespace + 1);
            },
            Presence::CannotTell(Blindness::OtherNamespace),
        );
        check(
            |identity| identity.start_time = None,
            Presence::CannotTell(Blindness::NoStartTime),
        );
    }

    #[test]
    fn without_a_table_only_an_absent_pid_is_certain() {
        let empty = tempfile::tempdir().unwrap();
        let table = Table::at(empty.path());
        let own = Identity::read(&table, std::process::id()).unwrap();
        assert_eq!(own, Identity::bare(std::process::id()));
        assert_eq!(
            own.presence_in(&table),
            Presence::CannotTell(Blindness::NoTable)
        );
        assert_eq!(Identity::bare(u32::MAX).presence_in(&table), Presence::Gone);
        assert_eq!(Identity::bare(0).presence_in(&table), Presence::Gone);
    }

    #[test]
    fn a_zombie_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, state) in [("self", 'S'), ("31", 'Z'), ("32", 'T')] {
            fs::create_dir_all(folder.path().join(pid)).unwrap();
            fs::write(
                folder.path().join(pid).join("stat"),
                format!(
                    "{} (x) {state} 1 31 31 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0",
                    pid.parse().unwrap_or(9)
                ),
            )
            .unwrap();
        }
        let table = Table::at(folder.path());
        let presence = |pid| Identity::read(&table, pid).unwrap().presence_in(&table);
        assert_eq!(presence(31), Presence::Gone);
        assert_eq!(presence(32), Presence::Alive);
        assert_eq!(Identity::read(&table, 33), None);
    }

    #[test]
    fn a_record_survives_its_file() {
        let identity = Identity::own();
        let text = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity);
        let bare: Identity = serde_json::from_str(r#"{"pid":7}"#).unwrap();
        assert_eq!(bare, Identity::bare(7));
    }
}
