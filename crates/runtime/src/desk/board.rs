//! The tasks of a team side by side: which there are, which can be claimed, and which cannot be read.
//!
//! A task file that makes no sense is part of the answer, never left out in silence: a board with one on it is not done.

use pitcrew_core::collate::Key;
use pitcrew_core::task::{Readiness, Status, Task, readiness};
use pitcrew_core::{Name, TaskId, Timestamp};
use pitcrew_store::{Kind, StoreExt, StoreFailure};
use serde::Serialize;
use serde_json::Value;

use super::{Desk, NotDone};

/// A task file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableTask {
    /// Its id, from its file name.
    pub id: String,
    /// What is wrong with it.
    pub why: String,
}

/// What one look at a task showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// The task.
    There(Box<Task>),
    /// It cannot be read, and why.
    Unreadable(String),
    /// There is none.
    Gone,
}

/// Every task of a team.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskBoard {
    /// Those that can be read, in the reference's order.
    pub tasks: Vec<Task>,
    /// Those that cannot.
    pub unreadable: Vec<UnreadableTask>,
}

impl TaskBoard {
    /// Whether there are tasks, all of them can be read, and all are completed or failed.
    #[must_use]
    pub fn all_done(&self) -> bool {
        let ended = |task: &Task| matches!(task.status, Status::Completed | Status::Failed);
        self.unreadable.is_empty() && !self.tasks.is_empty() && self.tasks.iter().all(ended)
    }

    /// The tasks as they were added: by time, then numbers by value, then the reference's order.
    #[must_use]
    pub fn by_age(&self) -> Vec<&Task> {
        let mut tasks: Vec<&Task> = self.tasks.iter().collect();
        let number = |task: &Task| task.id.parse::<u64>().ok();
        tasks.sort_by(|a, b| {
            a.created_at
                .cmp(&b.created_at)
                .then_with(|| number(a).cmp(&number(b)))
        });
        tasks
    }

    /// Whether `member` can claim `task` now: nobody has it or its lease ran out, it is ready, and it is meant for
    /// that member or for anybody.
    #[must_use]
    pub fn is_free_for(&self, task: &Task, member: &Name, now: Timestamp) -> bool {
        let open = match task.status {
            Status::Pending => true,
            Status::InProgress => task.has_lapsed(now),
            Status::Completed | Status::Failed => false,
        };
        let mine = task
            .assignee
            .as_deref()
            .is_none_or(|assignee| assignee == member.as_str());
        open && mine && self.readiness(task) == Readiness::Ready
    }

    /// Whether `task` can be claimed, as far as the tasks that it waits for go.
    #[must_use]
    pub fn readiness(&self, task: &Task) -> Readiness {
        readiness(task, |id| {
            self.tasks
                .iter()
                .find(|other| other.id == id)
                .map(|other| other.status)
        })
    }
}

impl Desk<'_> {
    /// Every task of the team, in the reference's order.
    ///
    /// # Errors
    /// When the tasks cannot be listed. One that cannot be read is part of the answer.
    pub fn tasks(&self) -> Result<TaskBoard, NotDone> {
        let mut board = TaskBoard::default();
        self.each_task(&mut board.unreadable, |id| {
            let task = self.store.view::<Task>(id)?;
            board.tasks.extend(task);
            Ok(())
        })?;
        board.tasks.sort_by_cached_key(|task| Key::of(&task.id));
        Ok(board)
    }

    /// Looks at one task.
    ///
    /// # Errors
    /// When it cannot be looked at. That it cannot be read is an answer.
    pub fn look_at_task(&self, id: &TaskId) -> Result<Sight, NotDone> {
        match self.store.view::<Task>(id) {
            Ok(Some(task)) => Ok(Sight::There(Box::new(task))),
            Ok(None) => Ok(Sight::Gone),
            Err(StoreFailure::CorruptDocument { why, .. }) => Ok(Sight::Unreadable(why)),
            Err(failure) if failure.is_of_one_file() => Ok(Sight::Unreadable(failure.in_words())),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The tasks that somebody works on now, and perhaps some others: without reading all the others.
    ///
    /// # Errors
    /// When the tasks cannot be listed. One that cannot be read is left out.
    pub fn tasks_in_hand(&self) -> Result<Vec<Task>, NotDone> {
        let mut found = Vec::new();
        for id in self.store.list(Kind::ClaimedTask)? {
            if let Ok(id) = TaskId::new(&id)
                && let Sight::There(task) = self.look_at_task(&id)?
            {
                found.push(*task);
            }
        }
        Ok(found)
    }

    /// As [`Desk::tasks`], and every task that can be read as it is written, in the same order.
    pub(super) fn board_as_written(&self) -> Result<(TaskBoard, Vec<Value>), NotDone> {
        let mut board = TaskBoard::default();
        let mut both = Vec::new();
        self.each_task(&mut board.unreadable, |id| {
            both.extend(self.written::<Task>(id)?);
            Ok(())
        })?;
        both.sort_by_cached_key(|(task, _)| Key::of(&task.id));
        let written;
        (board.tasks, written) = both.into_iter().unzip();
        Ok((board, written))
    }

    /// Takes in the tasks one by one with `read`. What cannot be read goes to `unreadable`.
    fn each_task(
        &self,
        unreadable: &mut Vec<UnreadableTask>,
        mut read: impl FnMut(&TaskId) -> Result<(), StoreFailure>,
    ) -> Result<(), NotDone> {
        for id in self.store.list(Kind::Task)? {
            let why = match TaskId::new(&id) {
                Ok(known) => match read(&known) {
                    Ok(()) => continue,
                    Err(StoreFailure::CorruptDocument { why, .. }) => why,
                    Err(failure) if failure.is_of_one_file() => failure.in_words(),
                    Err(failure) => return Err(failure.into()),
                },
                Err(refused) => refused.to_string(),
            };
            unreadable.push(UnreadableTask { id, why });
        }
        unreadable.sort_by_cached_key(|task| Key::of(&task.id));
        Ok(())
    }
}
