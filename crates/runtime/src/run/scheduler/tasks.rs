//! The tasks as the scheduler knows them, kept so that a change of one task costs what depends on it and not the whole
//! board.
//!
//! | asked | answered from |
//! |---|---|
//! | one task | where it stands on the board |
//! | what a member could begin | the open tasks of its kind: its own, then anybody's, in the order of the file |
//! | who works outside, whose lease ends | the tasks in progress |
//!
//! A task is *open* when it is pending, or in progress under a lease, and everything that it waits for is completed.
//!
//! Always holds: after any number of single changes it is what it would be if it had been handed the whole board.

use std::collections::{BTreeMap, BTreeSet};

use pitcrew_core::collate::{self, Key};
use pitcrew_core::task::{Readiness, Status, Task, readiness};
use pitcrew_core::{Name, Timestamp};

use super::TaskTerms;
use crate::desk::{Sight, TaskBoard, UnreadableTask};
use crate::teamfile::ProfileKind;

/// Who may take a task: members of a kind, and of these one or all.
type For = (ProfileKind, Option<String>);

/// Where a task stands among those that the same members may take: as in the file, then by id.
type Rank = (usize, Key);

/// The tasks of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    terms: BTreeMap<String, TaskTerms>,
    order: BTreeMap<String, usize>,
    board: TaskBoard,
    /// Where each task stands on the board.
    places: BTreeMap<String, usize>,
    /// Which tasks wait for a task.
    waiting: BTreeMap<String, BTreeSet<String>>,
    open: BTreeMap<For, BTreeSet<Rank>>,
    /// Where each open task is among them.
    opened: BTreeMap<String, (For, Rank)>,
    /// The tasks in progress.
    taken: BTreeSet<String>,
}

impl Tasks {
    /// No task yet, of which some have terms and an order.
    pub(super) fn new(terms: BTreeMap<String, TaskTerms>, order: Vec<String>) -> Self {
        let order = order.into_iter().enumerate().map(|(at, id)| (id, at));
        Self {
            terms,
            order: order.collect(),
            ..Self::default()
        }
    }

    pub(super) fn board(&self) -> &TaskBoard {
        &self.board
    }

    pub(super) fn terms(&self, id: &str) -> Option<&TaskTerms> {
        self.terms.get(id)
    }

    pub(super) fn find(&self, id: &str) -> Option<&Task> {
        self.board.tasks.get(*self.places.get(id)?)
    }

    /// The tasks in progress.
    pub(super) fn taken(&self) -> impl Iterator<Item = &Task> {
        self.taken.iter().filter_map(|id| self.find(id))
    }

    /// The open tasks that `member` of this kind may take at `now`, its own first, each list in its order.
    pub(super) fn open_for(
        &self,
        kind: ProfileKind,
        member: &Name,
        now: Timestamp,
    ) -> [impl Iterator<Item = &Task>; 2] {
        [Some(member.to_string()), None].map(|whose| {
            let open = self.open.get(&(kind, whose)).into_iter().flatten();
            let tasks = open.filter_map(|(_, key)| self.find(key.text()));
            tasks.filter(move |task| task.status == Status::Pending || task.has_lapsed(now))
        })
    }

    /// Whether `task` can be claimed, as far as the tasks that it waits for go.
    pub(super) fn readiness(&self, task: &Task) -> Readiness {
        readiness(task, |id| self.find(id).map(|other| other.status))
    }

    /// What kind of member does a task.
    pub(super) fn kind(&self, id: &str) -> ProfileKind {
        let terms = self.terms.get(id);
        terms.map_or(ProfileKind::Agent, |terms| terms.kind)
    }

    /// Takes in the whole board. Answers whether the status of any task is another.
    pub(super) fn see_all(&mut self, board: TaskBoard) -> bool {
        let standing = |board: &TaskBoard| -> Vec<(String, Status)> {
            let tasks = board.tasks.iter();
            tasks.map(|task| (task.id.clone(), task.status)).collect()
        };
        let moved = standing(&self.board) != standing(&board);
        self.board = board;
        self.find_places();
        (self.waiting, self.open, self.opened, self.taken) = Default::default();
        for at in 0..self.board.tasks.len() {
            self.enter(at);
        }
        for at in 0..self.board.tasks.len() {
            self.sort_in(at);
        }
        moved
    }

    /// Takes in one task. Answers whether its status is another.
    pub(super) fn see(&mut self, id: &str, sight: Sight) -> bool {
        let before = self.find(id).map(|task| task.status);
        self.board.unreadable.retain(|task| task.id != id);
        let task = match sight {
            Sight::There(task) => Some(*task),
            Sight::Gone => None,
            Sight::Unreadable(why) => {
                let id = id.to_string();
                self.board.unreadable.push(UnreadableTask { id, why });
                let key = |task: &UnreadableTask| Key::of(&task.id);
                self.board.unreadable.sort_by_cached_key(key);
                None
            }
        };
        let after = task.as_ref().map(|task| task.status);
        self.put(id, task);
        self.reconsider(id);
        before != after
    }

    /// How a task stands until it is seen again.
    pub(super) fn expect(&mut self, id: &str, status: Status) {
        let Some(at) = self.places.get(id).copied() else {
            return;
        };
        self.leave(at);
        self.board.tasks[at].status = status;
        self.enter(at);
        self.reconsider(id);
    }

    /// Puts a task in its place on the board, or takes it from there.
    fn put(&mut self, id: &str, task: Option<Task>) {
        let known = self.places.get(id).copied();
        if let Some(at) = known {
            self.leave(at);
        }
        match (known, task) {
            (Some(at), Some(task)) => {
                self.board.tasks[at] = task;
                self.enter(at);
            }
            (None, Some(task)) => {
                let before = |other: &Task| collate::compare(&other.id, id).is_lt();
                let at = self.board.tasks.partition_point(before);
                self.board.tasks.insert(at, task);
                self.find_places();
                self.enter(at);
            }
            (Some(at), None) => {
                self.board.tasks.remove(at);
                self.find_places();
            }
            (None, None) => {}
        }
    }

    fn find_places(&mut self) {
        let tasks = self.board.tasks.iter().enumerate();
        self.places = tasks.map(|(at, task)| (task.id.clone(), at)).collect();
    }

    /// Notes who waits for whom and who is at work.
    fn enter(&mut self, at: usize) {
        let task = &self.board.tasks[at];
        for on in &task.blocked_by {
            let waiting = self.waiting.entry(on.clone()).or_default();
            waiting.insert(task.id.clone());
        }
        if task.status == Status::InProgress {
            self.taken.insert(task.id.clone());
        }
    }

    /// Takes back what [`Self::enter`] noted.
    fn leave(&mut self, at: usize) {
        let task = &self.board.tasks[at];
        for on in &task.blocked_by {
            if let Some(waiting) = self.waiting.get_mut(on) {
                waiting.remove(&task.id);
            }
        }
        self.taken.remove(&task.id);
    }

    /// Opens or closes a task that changed, and those that wait for it.
    fn reconsider(&mut self, id: &str) {
        let waiting = self.waiting.get(id).into_iter().flatten();
        let all: Vec<String> = waiting.cloned().chain([id.to_string()]).collect();
        for id in all {
            match self.places.get(&id).copied() {
                Some(at) => self.sort_in(at),
                None => self.close(&id),
            }
        }
    }

    fn sort_in(&mut self, at: usize) {
        let id = self.board.tasks[at].id.clone();
        self.close(&id);
        let task = &self.board.tasks[at];
        let may_begin = match task.status {
            Status::Pending => true,
            Status::InProgress => task.lease_until.is_some(),
            Status::Completed | Status::Failed => false,
        };
        if !may_begin || self.readiness(task) != Readiness::Ready {
            return;
        }
        let whose = (self.kind(&id), task.assignee.clone());
        let place = self.order.get(&id).copied().unwrap_or(usize::MAX);
        let rank = (place, Key::of(&id));
        let open = self.open.entry(whose.clone()).or_default();
        open.insert(rank.clone());
        self.opened.insert(id, (whose, rank));
    }

    fn close(&mut self, id: &str) {
        if let Some((whose, rank)) = self.opened.remove(id)
            && let Some(open) = self.open.get_mut(&whose)
        {
            open.remove(&rank);
        }
    }
}
