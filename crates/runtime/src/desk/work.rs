//! Claiming and moving tasks.
//!
//! A claim reads the tasks that it waits for inside the transaction on its own task, so what it decides on is current.
//! What follows a decision comes after it is durable: see `desk/owed.rs`.

use pitcrew_core::event::Fact;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::task::{Claimant, Readiness, Status, Task, claim_token, readiness};
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_store::{Reach, StoreExt};

use super::{Credentials, Desk, NotDone};

/// A change of a task's status, as a caller words it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The status that the caller believes it has.
    pub from: &'a str,
    /// The status that it is to have.
    pub to: &'a str,
    /// The claim token.
    pub token: &'a str,
    /// What came of it.
    pub result: Option<&'a str>,
}

impl Desk<'_> {
    /// One task.
    ///
    /// # Errors
    /// `task_not_found`.
    pub fn task(&self, id: &TaskId) -> Result<Task, NotDone> {
        self.store
            .view::<Task>(id)?
            .ok_or_else(|| not_found(id).into())
    }

    /// Gives a task to a member. `lease_ms` bounds how long the claim is safe from being taken over.
    ///
    /// # Errors
    /// As [`Desk::speaker`] and [`Task::claim`] say, `task_not_found` and `shut_down`.
    pub fn claim(
        &self,
        who: &Credentials,
        id: &TaskId,
        lease_ms: Option<i64>,
    ) -> Result<Task, NotDone> {
        let team = self.open_roster()?;
        let name = self.worker(&team, who)?;
        self.make_up(Reach::Listed);
        self.claim_as(&team, &name, id, lease_ms)
    }

    /// As [`Desk::claim`], for a member that is known already.
    ///
    /// # Errors
    /// As [`Task::claim`] says, and `task_not_found`.
    pub fn claim_as(
        &self,
        team: &Team,
        name: &Name,
        id: &TaskId,
        lease_ms: Option<i64>,
    ) -> Result<Task, NotDone> {
        let token = claim_token(name, self.now(), self.random_u32()?);
        let task = self.store.update::<Task, Task, NotDone>(id, |slot| {
            let task = slot.as_mut().ok_or_else(|| not_found(id))?;
            let holding = match team.claim_limit() {
                Some(_) => self.holding(name)?,
                None => 0,
            };
            let ready = self.readiness_of(task)?;
            let claimant = Claimant {
                name,
                token: token.clone(),
                lease_ms,
                holding,
                limit: team.claim_limit(),
            };
            task.claim(&claimant, &ready, self.now())?;
            Ok(task.clone())
        })??;
        self.announce(&[Fact::TaskClaimed {
            task: task.id.clone(),
            member: name.clone(),
        }]);
        self.note_progress(name);
        // The claim is durable and is the answer. The heartbeat only repeats it for programs that look there.
        if let Err(why) = self.beat(name, 1, true) {
            self.note_undone(&format!("the heartbeat of {name}"), &why);
        }
        Ok(task)
    }

    /// Gives the first task that a member may have to it, as [`TaskBoard::is_free_for`](super::TaskBoard::is_free_for) says.
    ///
    /// # Errors
    /// As [`Desk::claim`]. `None` when there is no such task now.
    pub fn claim_next(
        &self,
        who: &Credentials,
        lease_ms: Option<i64>,
    ) -> Result<Option<Task>, NotDone> {
        let team = self.open_roster()?;
        let name = self.worker(&team, who)?;
        self.make_up(Reach::Everywhere);
        let board = self.tasks()?;
        // Whoever could not tell the leader of a failure left that to the next who looks. This claim stands either way.
        if let Err(why) = self.announce_blocked(&board) {
            self.note_undone("the word to the leader about blocked tasks", &why);
        }
        for task in board.by_age() {
            if !board.is_free_for(task, &name, self.now()) {
                continue;
            }
            match self.claim_as(&team, &name, &TaskId::new(&task.id)?, lease_ms) {
                Ok(task) => return Ok(Some(task)),
                // Somebody was faster; the next one may still be free.
                Err(NotDone::Refused(
                    Refusal::NotPending { .. } | Refusal::TaskNotFound { .. },
                )) => {}
                Err(not_done) => return Err(not_done),
            }
        }
        Ok(None)
    }

    fn worker(&self, team: &Team, who: &Credentials) -> Result<Name, NotDone> {
        if who.token.is_none()
            && let Some(claimed) = &who.claimed
        {
            team.worker(claimed)?;
        }
        Ok(self.speaker(team, who)?.name)
    }

    fn holding(&self, name: &Name) -> Result<u32, NotDone> {
        let mine = |task: &&Task| {
            task.status == Status::InProgress && task.owner.as_deref() == Some(name.as_str())
        };
        Ok(u32::try_from(self.tasks()?.tasks.iter().filter(mine).count()).unwrap_or(u32::MAX))
    }

    fn readiness_of(&self, task: &Task) -> Result<Readiness, NotDone> {
        let mut failure = None;
        let ready = readiness(task, |id| {
            match TaskId::new(id).map(|id| self.store.view::<Task>(&id)) {
                Ok(Ok(Some(other))) => Some(other.status),
                Ok(Ok(None)) | Err(_) => None,
                Ok(Err(failure)) if failure.is_of_one_file() => None,
                Ok(Err(other)) => {
                    failure = Some(other);
                    None
                }
            }
        });
        match failure {
            Some(failure) => Err(failure.into()),
            None => Ok(ready),
        }
    }

    /// Changes a task's status as a caller words it: progress, an end, a release or a retry.
    ///
    /// # Errors
    /// `invalid_status` for a step that does not exist, as the steps of [`Task`] say, and `shut_down` for a task that is
    /// to be tried again.
    pub fn transition(
        &self,
        id: &TaskId,
        worker: Option<&Name>,
        change: Change<'_>,
    ) -> Result<Task, NotDone> {
        if change.from == Status::Failed.word() {
            self.takes_work()?;
        }
        let now = self.now();
        let (_, task) = self.change(id, |task| {
            let result = change.result.map(str::to_string);
            task.transition(change.from, change.to, change.token, result, now)
        })?;
        self.announce(&[moved(&task, change)]);
        if let Some(owner) = named(task.owner.as_deref()) {
            self.note_progress(&owner);
        }
        // The change is durable and is the answer; what follows only repeats it.
        self.follow(worker, &task, change.result);
        self.make_up(match task.status {
            Status::Completed | Status::Failed => Reach::Everywhere,
            Status::Pending | Status::InProgress => Reach::Listed,
        });
        Ok(task)
    }

    /// Takes a task back from its owner on the leader's word or because the owner was observed gone. `token` is the
    /// claim that was looked at.
    ///
    /// # Errors
    /// As [`Task::take_back`] says.
    pub fn take_back(&self, id: &TaskId, token: Option<&str>) -> Result<Task, NotDone> {
        let (owner, task) = self.change(id, |task| task.take_back(token))?;
        self.announce(&[Fact::TaskTakenBack {
            task: task.id.clone(),
            owner: named(owner.as_deref()),
        }]);
        Ok(task)
    }

    /// Puts a failed task back on the leader's word.
    ///
    /// # Errors
    /// As [`Task::retry`] says, and `shut_down`.
    pub fn retry(&self, id: &TaskId) -> Result<Task, NotDone> {
        self.takes_work()?;
        let (_, task) = self.change(id, |task| task.retry(None))?;
        let retried = task.id.clone();
        self.announce(&[Fact::TaskRetried { task: retried }]);
        Ok(task)
    }

    /// Changes a task and answers it with whose it was before.
    fn change(
        &self,
        id: &TaskId,
        mut step: impl FnMut(&mut Task) -> Result<(), Refusal>,
    ) -> Result<(Option<String>, Task), NotDone> {
        let changed = self.store.update::<Task, _, Refusal>(id, |slot| {
            let task = slot.as_mut().ok_or_else(|| not_found(id))?;
            let owner = task.owner.clone();
            step(task)?;
            Ok((owner, task.clone()))
        })?;
        Ok(changed?)
    }
}

pub(super) fn named(name: Option<&str>) -> Option<Name> {
    name.and_then(|name| Name::new(NameKind::Member, name).ok())
}

/// What became of a task by a change that was made.
fn moved(task: &Task, change: Change<'_>) -> Fact {
    let (id, owner) = (task.id.clone(), named(task.owner.as_deref()));
    let length = task.result.as_ref().map_or(0, String::len) as u64;
    match task.status {
        Status::InProgress => Fact::TaskProgressed { task: id, owner },
        Status::Completed => Fact::TaskCompleted {
            task: id,
            owner,
            length,
        },
        Status::Failed => Fact::TaskFailed {
            task: id,
            owner,
            length,
        },
        Status::Pending if change.from == Status::Failed.word() => Fact::TaskRetried { task: id },
        Status::Pending => Fact::TaskReleased { task: id },
    }
}

fn not_found(id: &TaskId) -> Refusal {
    Refusal::TaskNotFound { id: id.to_string() }
}
