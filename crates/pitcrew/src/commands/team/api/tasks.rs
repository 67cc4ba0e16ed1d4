//! The requests about tasks.

use pitcrew_core::refusal::NameKind;
use pitcrew_core::task::Task;
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_runtime::desk::{Change, Credentials, TaskPlan};
use serde_json::{Value, json};

use super::{Answer, Call};
use crate::context::OpenTeam;
use crate::halt::{Exit, Halt};

fn done(value: Value) -> Result<Answer, Halt> {
    Ok(Answer::Object(value, Exit::Done))
}

impl Call<'_, '_> {
    /// The task that is meant; a whole number will do, as it does for the reference.
    pub(super) fn task_id(&self) -> Result<TaskId, Refusal> {
        match self.fields.get("task_id") {
            Some(Value::String(id)) => TaskId::new(id),
            Some(Value::Number(id)) => TaskId::new(&id.to_string()),
            Some(other) if !other.is_null() => Err(Refusal::InvalidTaskId {
                given: other.to_string(),
            }),
            _ => Err(Refusal::InvalidTaskId {
                given: String::new(),
            }),
        }
    }

    fn worker(&self, team: &OpenTeam) -> Result<Credentials, Refusal> {
        let worker = self.required("worker")?;
        Name::new(NameKind::Member, worker)?;
        Ok(Credentials {
            claimed: Some(worker.to_string()),
            ..self.context.credentials(&team.name)
        })
    }
}

/// `claim-task`
pub(super) fn claim(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let id = call.task_id()?;
    let lease = call.span("lease_ms")?;
    let team = call.open()?;
    let task = team.desk().claim(&call.worker(&team)?, &id, lease)?;
    claimed(&team, &task)
}

fn claimed(team: &OpenTeam, task: &Task) -> Result<Answer, Halt> {
    let written = team.desk().task_as_written(task)?;
    done(json!({ "ok": true, "task": written, "claimToken": task.claim_token }))
}

fn changed(team: &OpenTeam, task: &Task) -> Result<Answer, Halt> {
    let written = team.desk().task_as_written(task)?;
    done(json!({ "ok": true, "task": written }))
}

/// `claim-next-task`
pub(super) fn claim_next(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let lease = call.span("lease_ms")?;
    let team = call.open()?;
    match team.desk().claim_next(&call.worker(&team)?, lease)? {
        Some(task) => claimed(&team, &task),
        None => done(json!({ "ok": true, "task": null })),
    }
}

/// `transition-task-status`
pub(super) fn transition(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let id = call.task_id()?;
    let team = call.open()?;
    let desk = team.desk();
    let roster = desk.roster()?;
    let worker = match call.optional("worker")? {
        Some(given) => {
            let who = call.worker(&team)?;
            if who.token.is_none() {
                roster.worker(given)?;
            }
            Some(desk.speaker(&roster, &who)?.name)
        }
        None => None,
    };
    let change = Change {
        from: call.optional("from")?.unwrap_or_default(),
        to: call.optional("to")?.unwrap_or_default(),
        token: call.optional("claim_token")?.unwrap_or_default(),
        result: call.optional("result")?,
    };
    let task = desk.transition(&id, worker.as_ref(), change)?;
    changed(&team, &task)
}

/// `release-task`
pub(super) fn release(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let id = call.task_id()?;
    let team = call.open_known()?;
    let token = call.required("claim_token")?;
    let change = Change {
        from: "in_progress",
        to: "pending",
        token,
        result: None,
    };
    let task = team.desk().transition(&id, None, change)?;
    changed(&team, &task)
}

/// `retry-task`
pub(super) fn retry(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let id = call.task_id()?;
    let team = call.open_known()?;
    let desk = team.desk();
    let task = match call.optional("claim_token")? {
        Some(token) => desk.transition(
            &id,
            None,
            Change {
                from: "failed",
                to: "pending",
                token,
                result: None,
            },
        )?,
        None => desk.retry(&id)?,
    };
    changed(&team, &task)
}

/// `add-task`
pub(super) fn add(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let id = if call.fields.get("task_id").is_none_or(Value::is_null) {
        None
    } else {
        Some(call.task_id()?)
    };
    let blocked_by = match call.fields.get("blocked_by") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(ids)) => ids
            .iter()
            .map(|id| {
                id.as_str()
                    .ok_or(Refusal::input("blocked_by", "must be a list of task ids"))
            })
            .map(|id| id.and_then(TaskId::new))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(Refusal::input("blocked_by", "must be a list of task ids").into()),
    };
    let plan = TaskPlan {
        id,
        description: call.required("description")?.to_string(),
        assignee: call.optional("assignee")?.map(str::to_string),
        blocked_by,
    };
    let team = call.open()?;
    let desk = team.desk();
    let ids = desk.add_tasks(&[plan])?;
    let task = ids.first().map(|id| desk.task(id)).transpose()?;
    done(json!({ "ok": true, "task": task }))
}

/// `list-tasks`
pub(super) fn list(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let team = call.open_known()?;
    let board = team.desk().tasks()?;
    let mut answer = json!({ "ok": true, "tasks": board.tasks, "allDone": board.all_done() });
    if !board.unreadable.is_empty() {
        answer["unreadable"] = json!(board.unreadable);
    }
    done(answer)
}
