//! What a run sees of the team's files: by a watch, and by looking again after each thing that it did itself.

use std::collections::BTreeSet;
use std::time::Duration;

use pitcrew_core::{Name, TaskId};
use pitcrew_store::{Change, LocalStore, Log, Place, Store, StoreFailure};
use tokio::sync::mpsc;

use super::super::event::Fact;
use super::super::post;
use super::super::scheduler::{Event, MailSeen, SeatNo};
use super::{CHANGES, Driver};
use crate::clock::Disturbance;
use crate::desk::{NotDone, Sight, TaskBoard};

/// How long the watching thread sits in one call.
const SITTING: Duration = Duration::from_secs(1);

/// So many times the changed tasks, and the whole board is looked at instead of each of them.
const WHOLE_BOARD: usize = 4;

impl Driver<'_> {
    pub(super) fn changed(&mut self, changes: Result<Vec<Change>, StoreFailure>) {
        let changes = match changes {
            Ok(changes) => changes,
            Err(failed) => {
                let failed: Result<(), NotDone> = Err(failed.into());
                let Err(Some(why)) = self.attempt_for_member(failed) else {
                    return;
                };
                self.note(format!("a change cannot be looked at: {why}"));
                vec![Change::Lagged]
            }
        };
        let all = changes.contains(&Change::Lagged);
        let touched = |wanted: &dyn Fn(&Change) -> bool| all || changes.iter().any(wanted);
        let mut tasks: Vec<TaskId> = Vec::new();
        for change in &changes {
            if let Change::Document(Place::Task(id)) = change
                && !tasks.contains(id)
            {
                tasks.push(id.clone());
            }
        }
        let known = self.scheduler.board().tasks.len();
        if all || tasks.len().saturating_mul(WHOLE_BOARD) > known.max(WHOLE_BOARD * 8) {
            self.look_at_board();
        } else {
            self.look_at_tasks(&tasks);
        }
        let mailbox = |change: &Change, owner: &Name| match change {
            Change::Log(Log::Mailbox(name)) | Change::Document(Place::Unread(name)) => {
                name == owner
            }
            _ => false,
        };
        for seat in 0..self.gears.len() {
            let name = self.gears[seat].name().clone();
            if touched(&|change| mailbox(change, &name)) {
                self.look_at_mail(seat);
            }
        }
        if touched(&|change| mailbox(change, &Name::leader())) {
            let unread = self.desk().count_unread(&Name::leader());
            if let Some(unread) = self.attempt(unread) {
                self.leader_unread = unread;
            }
        }
        if touched(&|change| matches!(change, Change::Document(Place::Limits))) {
            self.look_at_limits();
        }
        let team = touched(&|change| matches!(change, Change::Document(Place::Shutdown)));
        if team && self.ending.is_none() {
            match self.desk().shut_down_at() {
                Ok(Some(at)) => {
                    self.shut_down_at = Some(at);
                    self.handle(Event::ShutDown);
                }
                Ok(None) => {}
                Err(failed) => self.broke(failed),
            }
        }
    }

    pub(super) fn look_at_everything(&mut self) {
        self.look_at_board();
        for seat in 0..self.gears.len() {
            self.look_at_mail(seat);
        }
        self.handle(Event::Looked);
    }

    pub(super) fn look_at_board(&mut self) {
        let board = self.desk().tasks();
        if let Some(board) = self.attempt(board) {
            self.see(board);
        }
    }

    /// Takes in a board, and remembers the tasks that are not there any more: somebody may be removing the whole team.
    fn see(&mut self, board: TaskBoard) {
        let before = &self.scheduler.board().tasks;
        if board.tasks.len() + board.unreadable.len() < before.len() {
            let there: BTreeSet<&str> = board.tasks.iter().map(|task| task.id.as_str()).collect();
            let gone = before
                .iter()
                .filter(|task| !there.contains(task.id.as_str()));
            self.vanished.extend(gone.cloned());
        }
        self.handle(Event::Board(board));
    }

    /// Looks at some tasks only, which costs the same however many there are.
    pub(super) fn look_at_tasks(&mut self, tasks: &[TaskId]) {
        for id in tasks {
            let sight = self.desk().look_at_task(id);
            let Some(sight) = self.attempt(sight) else {
                return;
            };
            if sight == Sight::Gone {
                let gone = self.scheduler.task(id.as_str()).cloned();
                self.vanished.extend(gone);
            }
            self.handle(Event::Task(id.to_string(), sight));
        }
    }

    pub(super) fn look_at_mail(&mut self, seat: SeatNo) {
        let seen = post::seen(&self.desk(), self.gears[seat].name());
        let seen = match self.attempt_for_member(seen) {
            Ok(seen) => seen,
            Err(None) => return,
            Err(Some(why)) => {
                let name = self.gears[seat].name();
                self.note(format!("{name} gets no mail: {why}"));
                MailSeen::default()
            }
        };
        if seen.unread > self.unread[seat] {
            let member = self.gears[seat].name().clone();
            let unread = seen.unread;
            self.tell(&Fact::MailArrived { member, unread });
        }
        self.unread[seat] = seen.unread;
        self.handle(Event::Mail(seat, seen));
    }

    pub(super) fn notice_sleep(&mut self) {
        let slept = match self.clocks.look(&*self.tools.clock) {
            Some(Disturbance::Slept { for_ms } | Disturbance::SleptAndJumped { for_ms, .. }) => {
                for_ms
            }
            Some(Disturbance::Jumped { .. }) | None => return,
        };
        self.handle(Event::Slept(slept));
    }
}

pub(super) type Changes = mpsc::Receiver<Result<Change, StoreFailure>>;

/// Watches the team's files on a thread of its own, which ends soon after nobody listens any more.
#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own, with nothing else to wait for"
)]
pub(super) fn listen(store: &LocalStore) -> Result<std::io::Result<Changes>, StoreFailure> {
    let mut watch = store.watch()?;
    let (sender, receiver) = mpsc::channel(CHANGES);
    let sit = move || {
        while !sender.is_closed() {
            let change = match watch.next(SITTING) {
                Ok(None) => continue,
                Ok(Some(change)) => Ok(change),
                Err(failed) => Err(failed),
            };
            // What stands in the way of one look may be gone at the next, and is told no more often than that.
            let pause = change.is_err();
            if sender.blocking_send(change).is_err() {
                return;
            }
            if pause {
                std::thread::sleep(SITTING);
            }
        }
    };
    let thread = std::thread::Builder::new().name("watch".to_string());
    Ok(thread.spawn(sit).map(|_| receiver))
}
