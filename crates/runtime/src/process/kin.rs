//! Finds every process of one turn, and signals exactly those.
//!
//! A process belongs to a turn when it started no earlier than the turn's first process, and
//! 1. it is in the first process's group or session, or
//! 2. its start environment carries the turn's [`Mark`], or
//! 3. its parent belongs to the turn.
//!
//! What always holds: nobody else is hit. A signal goes through a pid descriptor that is opened first and checked
//! against the start time after, so a pid that was used again in between receives nothing.
//!
//! When the turn's output stays open although nobody of these runs, whoever holds it belongs to the turn as well, if it
//! started no earlier, and so do its children.
//!
//! What is not found here: a process that made a session of its own *and* hides its environment (cleaned it,
//! overwrote it, runs as another user or is not dumpable) *and* whose parent is gone by the time we look *and* that let
//! go of the turn's output (a run finds it as its orphan: the source of `orphans`); and what an outside service starts on request (`systemd-run`, `at`, a container engine, a
//! server that was running before). Without a process table only the group can be found.

use super::mark::Mark;
use super::table::{Entry, Stat, Table};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The processes of one turn, described by what they have in common.
#[derive(Clone, Debug)]
pub(super) struct Kin {
    pub(super) table: Table,
    pub(super) mark: Mark,
    /// The turn's first process, if it is known: leader of its group and session.
    pub(super) leader: Option<Stat>,
}

/// One look at the processes of a turn.
#[derive(Debug, Default)]
pub(super) struct Sight {
    /// Those that run, the leader included.
    pub(super) running: Vec<Stat>,
    /// Processes in the middle of `exec`, or started without any environment: they may be found next time.
    pub(super) unclear: usize,
}

/// What became of one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Hit,
    /// It had ended before.
    Ended,
    /// The system does not let us: another user's process.
    Denied,
}

impl Kin {
    /// Everybody who may belong to the turn by age. `None` when there is no table.
    fn candidates(&self) -> Option<BTreeMap<u32, Stat>> {
        let own = std::process::id();
        let since = self.leader.map_or(0, |leader| leader.start_time);
        let all = self.table.all().ok()?.into_iter();
        let young = all.filter(|stat| stat.start_time >= since && stat.pid != own);
        Some(young.map(|stat| (stat.pid, stat)).collect())
    }

    /// Those who hold one of these pipes open, with their children, as far as we may look. A process of another turn that
    /// is just being started holds them for an instant, too, and is nobody's to end.
    pub(super) fn holders(&self, pipes: &[PathBuf]) -> Vec<Stat> {
        let Some(candidates) = self.candidates().filter(|_| !pipes.is_empty()) else {
            return Vec::new();
        };
        let holds = |stat: &&Stat| {
            let files = self.table.open_files(stat.pid);
            stat.runs()
                && files.iter().any(|file| pipes.contains(file))
                && !self.table.is_being_started(stat)
        };
        let mut found = candidates
            .values()
            .filter(holds)
            .map(|stat| stat.pid)
            .collect();
        add_descendants(&candidates, &mut found);
        let found = found.iter().filter_map(|pid| candidates.get(pid));
        found.filter(|stat| stat.runs()).copied().collect()
    }

    /// Looks through the whole process table once. `None` when there is no table.
    pub(super) fn look(&self) -> Option<Sight> {
        let own = std::process::id();
        let candidates = self.candidates()?;
        let mut sight = Sight::default();
        let mut found = BTreeSet::new();
        // Its number stays the group's and the session's only as long as the leader itself is in the table.
        let led = self.leader.filter(|leader| {
            candidates
                .get(&leader.pid)
                .is_some_and(|stat| stat.start_time == leader.start_time)
        });
        for stat in candidates.values() {
            match self.kinship(stat, led.map(|leader| leader.pid)) {
                Kinship::Member => {
                    found.insert(stat.pid);
                }
                Kinship::Unclear => sight.unclear += 1,
                Kinship::Stranger => {}
            }
        }
        add_descendants(&candidates, &mut found);
        for stat in found.iter().filter_map(|pid| candidates.get(pid)) {
            if stat.runs() {
                sight.running.push(*stat);
            } else if stat.parent == own && !self.is_leader(stat) {
                collect(stat);
            }
        }
        Some(sight)
    }

    /// Looks at a few known processes only, which is cheaper than the whole table.
    pub(super) fn still_running(&self, known: &[Stat]) -> Vec<Stat> {
        let now = |known: &Stat| match self.table.entry(known.pid) {
            Entry::Found(stat) if stat.start_time == known.start_time && stat.runs() => Some(stat),
            _ => None,
        };
        known.iter().filter_map(now).collect()
    }

    pub(super) fn is_leader(&self, stat: &Stat) -> bool {
        self.leader
            .is_some_and(|leader| (leader.pid, leader.start_time) == (stat.pid, stat.start_time))
    }

    /// Whether a signal to the leader's group reaches this process.
    pub(super) fn is_asked_with_the_leader(&self, stat: &Stat) -> bool {
        self.leader
            .is_some_and(|leader| stat.group == leader.pid || stat.pid == leader.pid)
    }

    fn kinship(&self, stat: &Stat, led_by: Option<u32>) -> Kinship {
        if led_by.is_some_and(|leader| stat.group == leader || stat.session == leader) {
            return Kinship::Member;
        }
        if !stat.runs() || is_kernel_thread(stat) {
            return Kinship::Stranger;
        }
        match self.table.environment(stat.pid) {
            Ok(environment) if environment.is_empty() => Kinship::Unclear,
            Ok(environment) if self.mark.is_in(&environment) => Kinship::Member,
            // Not readable: ended meanwhile, or another user's. Neither carries a mark that we could see.
            Ok(_) | Err(_) => Kinship::Stranger,
        }
    }

    /// Sends a signal to this very process, or to nobody.
    pub(super) fn signal(&self, target: &Stat, signal: Signal) -> Sent {
        signal_one(&self.table, target, signal)
    }
}

/// Sends a signal to this very process, or to nobody.
pub(super) fn signal_one(table: &Table, target: &Stat, signal: Signal) -> Sent {
    let Some(pid) = to_pid(target.pid) else {
        return Sent::Ended;
    };
    let result = match open(pid) {
        Ok(descriptor) => match table.entry(target.pid) {
            Entry::Found(stat) if stat.start_time == target.start_time && stat.runs() => {
                send(descriptor, pid, signal)
            }
            _ => return Sent::Ended,
        },
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => Sent::Hit,
        Err(Errno::SRCH) => Sent::Ended,
        Err(_) => Sent::Denied,
    }
}

enum Kinship {
    Member,
    Stranger,
    Unclear,
}

/// Children of members are members, to any depth.
pub(super) fn add_descendants(candidates: &BTreeMap<u32, Stat>, found: &mut BTreeSet<u32>) {
    loop {
        let children: Vec<u32> = candidates
            .values()
            .filter(|stat| !found.contains(&stat.pid) && found.contains(&stat.parent))
            .map(|stat| stat.pid)
            .collect();
        if children.is_empty() {
            return;
        }
        found.extend(children);
    }
}

/// Kernel threads have an empty environment and are children of thread 2.
fn is_kernel_thread(stat: &Stat) -> bool {
    const KTHREADD: u32 = 2;
    stat.parent == KTHREADD || stat.pid == KTHREADD
}

/// Takes the exit status of a member that was handed to us when its parent ended (we may be the first process of
/// a container), so that it does not stay as a zombie. One that is not our child after all is somebody else's.
pub(super) fn collect(stat: &Stat) {
    if let Some(pid) = to_pid(stat.pid) {
        let _not_ours: Result<_, Errno> = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

pub(super) fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(target_os = "linux")]
fn open(pid: Pid) -> Result<Option<rustix::fd::OwnedFd>, Errno> {
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(descriptor) => Ok(Some(descriptor)),
        Err(Errno::SRCH) => Err(Errno::SRCH),
        // An old kernel, a sandbox that forbids the call, no descriptor left: the start time is checked all the same.
        Err(_) => Ok(None),
    }
}

#[cfg(not(target_os = "linux"))]
fn open(_pid: Pid) -> Result<Option<rustix::fd::OwnedFd>, Errno> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn send(descriptor: Option<rustix::fd::OwnedFd>, pid: Pid, signal: Signal) -> Result<(), Errno> {
    match descriptor {
        Some(descriptor) => rustix::process::pidfd_send_signal(&descriptor, signal),
        None => rustix::process::kill_process(pid, signal),
    }
}

#[cfg(not(target_os = "linux"))]
fn send(_descriptor: Option<rustix::fd::OwnedFd>, pid: Pid, signal: Signal) -> Result<(), Errno> {
    rustix::process::kill_process(pid, signal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A process of a table in `root`, which runs `program` with `words` and holds `pipe:[7]`.
    fn enter(root: &std::path::Path, pid: u32, parent: u32, program: &str, words: &str) {
        let folder = root.join(pid.to_string());
        fs::create_dir_all(folder.join("fd")).unwrap();
        let stat =
            format!("{pid} (x) S {parent} {pid} {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 50 1000 2 1");
        fs::write(folder.join("stat"), stat).unwrap();
        fs::write(folder.join("cmdline"), words).unwrap();
        fs::write(folder.join("environ"), "").unwrap();
        symlink(root.join(program), folder.join("exe")).unwrap();
        symlink("pipe:[7]", folder.join("fd/1")).unwrap();
    }

    #[test]
    fn a_process_that_is_just_being_started_is_no_holder_of_another_turns_output() {
        let folder = tempfile::tempdir().unwrap();
        let (root, own) = (folder.path(), std::process::id());
        fs::write(root.join("pitcrew"), "").unwrap();
        fs::write(root.join("sleep"), "").unwrap();
        enter(root, own, 1, "pitcrew", "pitcrew\0run\0");
        let [newborn, hidden, twin, member] = [1, 2, 3, 4].map(|n| u32::MAX - n);
        enter(root, newborn, own, "pitcrew", "pitcrew\0run\0");
        enter(root, hidden, own, "sleep", "sleep\x001000\0");
        enter(root, twin, 1, "pitcrew", "pitcrew\0run\0");
        enter(root, member, own, "pitcrew", "pitcrew\0inbox\0");
        symlink(root.join(own.to_string()), root.join("self")).unwrap();
        let kin = Kin {
            table: Table::at(root),
            mark: Mark::new(&"t".repeat(Mark::SHORTEST)).unwrap(),
            leader: None,
        };
        let mut found: Vec<u32> = kin
            .holders(&[PathBuf::from("pipe:[7]")])
            .iter()
            .map(|stat| stat.pid)
            .collect();
        found.sort_unstable();
        assert_eq!(found, [member, twin, hidden]);
    }
}
