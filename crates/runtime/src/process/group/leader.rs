//! The first process of a group: its end is seen without collecting it, and collected last.
//!
//! As long as the exit status of a process was not collected, the kernel gives its number to nobody, neither as a
//! process nor as a group. So the end is observed with `WNOWAIT`, everything else of the group is killed, and only
//! then is the status taken. The [`Pin`] is that right to signal the group by its number, shared with the handle.
//!
//! What always holds: a leader that is dropped before it was collected kills its group and every marked process,
//! and is collected by a thread of its own, so dropping never blocks.

use super::super::ended::Status;
use super::super::identity::Identity;
use super::super::kin::{Kin, to_pid};
use super::super::mark::Mark;
use super::super::table::{Entry, Table};
use super::streams::Pipes;
use process_wrap::std::ChildWrapper;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{Signal as Changes, SignalKind, signal};

/// A stream that wakes whenever a child of this program changes.
pub(super) fn changes_of_children() -> io::Result<Changes> {
    signal(SignalKind::child())
}

/// The right to signal a group by its number: there until its leader is collected.
#[derive(Debug)]
pub(super) struct Pin {
    group: Mutex<Option<Pid>>,
}

impl Pin {
    pub(super) fn new(group: Pid) -> Self {
        Self {
            group: Mutex::new(Some(group)),
        }
    }

    /// Signals the whole group at once. Its members may all have ended: that is no error, and one that the system
    /// does not let us signal is found again, and counted, when the group is cleared.
    pub(super) fn signal(&self, signal: Signal) {
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = *group {
            let _found_again_by_clearing: Result<(), Errno> =
                rustix::process::kill_process_group(group, signal);
        }
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn release(&self) {
        *self.group.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What is known of the end of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaderEnd {
    Status(Status),
    /// Somebody else collected it.
    Lost,
    /// It was killed and does not end: it is stuck in the kernel.
    Stuck,
}

pub(super) struct Leader {
    child: Option<Box<dyn ChildWrapper>>,
    pid: Pid,
    identity: Identity,
    changes: Changes,
    pin: Arc<Pin>,
    kin: Kin,
}

impl Leader {
    /// Takes charge of a process that was just started as the leader of its session.
    pub(super) fn adopt(
        mut child: Box<dyn ChildWrapper>,
        changes: Changes,
        mark: Mark,
    ) -> io::Result<Self> {
        let id = child.id();
        let Some(pid) = to_pid(id) else {
            child.kill()?;
            return Err(io::Error::other("the process id is out of range"));
        };
        let table = Table::default();
        Ok(Self {
            child: Some(child),
            pid,
            // It was not collected, so it is in the table, if there is one.
            identity: Identity::read(&table, id).unwrap_or_else(|| Identity::bare(id)),
            changes,
            pin: Arc::new(Pin::new(pid)),
            kin: Kin {
                leader: match table.entry(id) {
                    Entry::Found(stat) => Some(stat),
                    Entry::Absent | Entry::Unreadable => None,
                },
                table,
                mark,
            },
        })
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn pin(&self) -> &Arc<Pin> {
        &self.pin
    }

    pub(super) fn kin(&self) -> &Kin {
        &self.kin
    }

    /// Its input, output and error pipes, those that it has.
    pub(super) fn pipes(&mut self) -> Pipes {
        match &mut self.child {
            Some(child) => (
                child.stdin().take(),
                child.stdout().take(),
                child.stderr().take(),
            ),
            None => (None, None, None),
        }
    }

    /// Waits for the end and leaves the status where it is. Can be dropped and called again.
    pub(super) async fn ended(&mut self) -> LeaderEnd {
        loop {
            if let Some(end) = self.ended_already() {
                return end;
            }
            if self.changes.recv().await.is_none() {
                return self.ended_already().unwrap_or_else(|| self.lose());
            }
        }
    }

    /// The end, if it came by now, whether or not we were told of a change.
    pub(super) fn ended_already(&mut self) -> Option<LeaderEnd> {
        let end = self.look()?;
        Some(match end {
            LeaderEnd::Lost => self.lose(),
            end => end,
        })
    }

    /// Whoever collected it freed its number for others.
    fn lose(&mut self) -> LeaderEnd {
        self.pin.release();
        self.child = None;
        LeaderEnd::Lost
    }

    fn look(&self) -> Option<LeaderEnd> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            match rustix::process::waitid(WaitId::Pid(self.pid), options) {
                Ok(Some(status)) => return Some(read_status(status)),
                Ok(None) => return None,
                Err(Errno::INTR) => {}
                Err(_) => return Some(LeaderEnd::Lost),
            }
        }
    }

    /// Takes the exit status; the group's number is no longer ours.
    pub(super) fn collect(&mut self) {
        self.pin.release();
        if let Some(mut child) = self.child.take()
            && !matches!(child.try_wait(), Ok(Some(_)))
        {
            collect_in_background(child);
        }
    }

    /// Kills whatever of the turn can be found, without waiting.
    fn strike(&self) {
        const PASSES: usize = 5;
        let mut struck = BTreeSet::new();
        for _ in 0..PASSES {
            let running = self.kin.look().map(|sight| sight.running);
            let fresh: Vec<_> = running
                .into_iter()
                .flatten()
                .filter(|stat| struck.insert((stat.pid, stat.start_time)))
                .collect();
            for stat in &fresh {
                self.kin.signal(stat, Signal::KILL);
            }
            self.pin.kill();
            if fresh.is_empty() {
                return;
            }
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.strike();
            self.collect();
        }
    }
}

/// A killed process ends in its own time: a thread waits for it, so that nobody else has to.
fn collect_in_background(mut child: Box<dyn ChildWrapper>) {
    let waiting = std::thread::Builder::new()
        .name("pitcrew-collect".to_owned())
        .stack_size(64 << 10)
        .spawn(move || child.wait());
    // Without a thread the zombie stays until this program ends; there is nobody left to tell.
    drop(waiting);
}

fn read_status(status: WaitIdStatus) -> LeaderEnd {
    if let Some(code) = status.exit_status() {
        return LeaderEnd::Status(Status::Exited(code));
    }
    match status.terminating_signal() {
        Some(signal) => LeaderEnd::Status(Status::Signaled(signal)),
        None => LeaderEnd::Lost,
    }
}
