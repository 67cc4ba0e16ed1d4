//! What follows from a change of a task: the line in the member's outbox, its heartbeat, the word to the leader about
//! tasks that are blocked now.
//!
//! It comes after the change is durable. The change stands whatever becomes of it, so what cannot be done is noted for
//! whoever asks, never dropped in silence. What follows from an end is owed until it is done: the store knows which
//! ended tasks nobody has settled, and the next who claims or ends a task makes up for them, also where the process
//! that owed it was killed. It may come twice where two are at it, except the word to the leader, which has a key.
//!
//! Lines about progress and heartbeats are not made up for: later ones say more.

use pitcrew_core::event::Fact;
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::task::{Status, Task, dependants};
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_store::documents::Heartbeat;
use pitcrew_store::{Log, Reach, StoreExt};
use serde::{Deserialize, Serialize};

use super::work::named;
use super::{Desk, NotDone, TaskBoard};

/// How many bytes of an outbox are read at once.
const PAGE: usize = 64 * 1024;

/// A line of a member's outbox, in the reference's form.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutboxLine<'a> {
    r#type: &'static str,
    task_id: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    timestamp: String,
}

/// What an outbox says of a task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    task_id: String,
    status: Status,
    timestamp: String,
}

impl Desk<'_> {
    /// Does what follows from a change of `task` that `worker` made.
    pub(super) fn follow(&self, worker: Option<&Name>, task: &Task, result: Option<&str>) {
        let mut is_done = true;
        if let Some(worker) = worker {
            is_done &= self.noted(
                &format!("the outbox line of {worker} about task {}", task.id),
                self.report(worker, task, result, &self.now().to_string()),
            );
            self.noted(
                &format!("the heartbeat of {worker}"),
                self.beat(worker, 2, task.status == Status::InProgress),
            );
        }
        if task.status == Status::Failed {
            is_done &= self.tell_leader();
        }
        if is_done {
            self.settle(task);
        }
    }

    /// Does what others owed and cannot do any more, as far as `reach` says where to look.
    pub(super) fn make_up(&self, reach: Reach) {
        let owed = match self.store.take_over_ended(reach, self.now()) {
            Ok(owed) => owed,
            Err(why) => return self.note_undone("what follows from ended tasks", &why.into()),
        };
        for id in owed {
            // It may have been removed or put back since.
            let Ok(Some(task)) = self.store.view::<Task>(&id) else {
                continue;
            };
            let mut is_done = true;
            if let Some(owner) = named(task.owner.as_deref()) {
                is_done &= self.noted(
                    &format!("the outbox line of {owner} about task {id}"),
                    self.report_once(&owner, &task),
                );
            }
            if task.status == Status::Failed {
                is_done &= self.tell_leader();
            }
            if is_done {
                self.settle(&task);
            }
        }
    }

    fn settle(&self, task: &Task) {
        if !matches!(task.status, Status::Completed | Status::Failed) {
            return;
        }
        // A task that another program named breaks no rule of ours by having no mark.
        if let Ok(id) = TaskId::new(&task.id)
            && let Err(why) = self.store.settle(&id)
        {
            self.note_undone(&format!("the mark of task {id}"), &why.into());
        }
    }

    fn tell_leader(&self) -> bool {
        let told = self.tasks().and_then(|board| self.announce_blocked(&board));
        self.noted("the word to the leader about blocked tasks", told)
    }

    fn noted(&self, what: &str, result: Result<(), NotDone>) -> bool {
        match result {
            Ok(()) => true,
            Err(why) => {
                self.note_undone(what, &why);
                false
            }
        }
    }

    pub(super) fn note_undone(&self, what: &str, why: &NotDone) {
        if let Some(unsaid) = self.unsaid {
            unsaid.note_undone(what, why);
        }
    }

    /// As [`Desk::report`] for an end, unless the outbox tells of it already.
    fn report_once(&self, worker: &Name, task: &Task) -> Result<(), NotDone> {
        let ended = task.finished_at.clone().unwrap_or_default();
        let (log, mut at) = (Log::Outbox(worker.clone()), 0);
        loop {
            let page = self.store.read(&log, at, PAGE)?;
            let is_there = page.lines().any(|line| {
                pitcrew_core::json::read_object(line.bytes).is_ok_and(|said: Said| {
                    said.task_id == task.id && said.status == task.status && said.timestamp >= ended
                })
            });
            if is_there {
                return Ok(());
            }
            if page.at_end {
                return self.report(worker, task, task.result.as_deref(), &ended);
            }
            at = page.next;
        }
    }

    fn report(
        &self,
        worker: &Name,
        task: &Task,
        result: Option<&str>,
        timestamp: &str,
    ) -> Result<(), NotDone> {
        let kind = match task.status {
            Status::Completed => "task_complete",
            Status::Failed => "task_failed",
            Status::InProgress | Status::Pending => "progress",
        };
        let timestamp = timestamp.to_string();
        let line = OutboxLine {
            r#type: kind,
            task_id: &task.id,
            status: task.status,
            result,
            timestamp,
        };
        let line = serde_json::to_vec(&line)
            .map_err(|refused| Refusal::input("result", &refused.to_string()))?;
        self.store.append(&Log::Outbox(worker.clone()), &[&line])?;
        Ok(())
    }

    pub(super) fn beat(&self, worker: &Name, turn_count: u64, alive: bool) -> Result<(), NotDone> {
        let heartbeat = Heartbeat {
            pid: std::process::id(),
            worker_name: worker.to_string(),
            team_name: self.team.to_string(),
            last_poll_at: self.now().to_string(),
            turn_count,
            alive,
        };
        self.store
            .update::<Heartbeat, (), Refusal>(worker, |slot| {
                *slot = Some(heartbeat.clone());
                Ok(())
            })??;
        Ok(())
    }

    /// Tells the leader, once for each failure on `board`, that it blocks others.
    pub(super) fn announce_blocked(&self, board: &TaskBoard) -> Result<(), NotDone> {
        for failed in &board.tasks {
            if failed.status != Status::Failed {
                continue;
            }
            let waiting: Vec<&str> = dependants(&board.tasks, &failed.id)
                .into_iter()
                .filter(|task| task.status == Status::Pending)
                .map(|task| task.id.as_str())
                .collect();
            if !waiting.is_empty() {
                self.tell_of_blocked(failed, &waiting)?;
            }
        }
        Ok(())
    }

    fn tell_of_blocked(&self, failed: &Task, waiting: &[&str]) -> Result<(), NotDone> {
        let team = self.roster()?;
        let owner = failed
            .owner
            .as_deref()
            .and_then(|owner| team.sender(owner).ok())
            .unwrap_or_else(Name::leader);
        let notice = Draft {
            body: format!(
                "Task {} failed, so these tasks are blocked: {}. They can be claimed once it is completed: put it back \
                 with `pitcrew task retry {}`.",
                failed.id,
                waiting.join(", "),
                failed.id
            ).into(),
            intent: Some(Intent::Inform),
            reply_to: None,
            idempotency_key: Some(format!("blocked:{}:{}", failed.id, failed.attempts)),
        };
        let speaker = pitcrew_core::identity::Speaker {
            name: owner,
            verified: false,
        };
        let sent = self.send_as(&team, &speaker, pitcrew_core::name::LEADER, &notice)?;
        if !sent.again {
            let blocked = waiting.iter().map(|task| Fact::TaskBlocked {
                task: (*task).to_string(),
                by: failed.id.clone(),
            });
            self.announce(&blocked.collect::<Vec<_>>());
        }
        Ok(())
    }
}
