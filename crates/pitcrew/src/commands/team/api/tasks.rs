//! The requests about tasks.

use pitcrew_core::refusal::NameKind;
use pitcrew_core::task::Task;
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_runtime::desk::{Change, Credentials, TaskPlan};
use serde_json::{Map, Value, json};

use super::{Answer, Call};
use crate::context::OpenTeam;
use crate::halt::{Exit, Halt};

fn done(value: Value) -> Result<Answer, Halt> {
    Ok(Answer::Object(value, Exit::Done))
}

/// A task id; a number will do, as it does for the reference.
pub(super) fn task_id(value: &Value) -> Result<TaskId, Refusal> {
    match value {
        Value::String(id) => TaskId::new(id),
        Value::Number(id) => TaskId::new(&id.to_string()),
        Value::Null => Err(Refusal::input("task_id", "is missing")),
        other => TaskId::new(&other.to_string()),
    }
}

impl Call<'_, '_> {
    /// The task that is meant.
    pub(super) fn task_id(&self) -> Result<TaskId, Refusal> {
        task_id(self.fields.get("task_id").unwrap_or(&Value::Null))
    }

    pub(super) fn worker(&self, team: &OpenTeam) -> Result<Credentials, Refusal> {
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
        None => {
            let mut answer = json!({ "ok": true, "task": null });
            let unreadable = team.desk().tasks()?.unreadable;
            if !unreadable.is_empty() {
                answer["unreadable"] = json!(unreadable);
            }
            done(answer)
        }
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

/// What is wrong with a list of task ids.
const IDS: &str = "must be a list of task ids";

/// A task to be, from the fields of a request or of an element of `tasks`.
pub(super) fn plan(fields: &Map<String, Value>) -> Result<TaskPlan, Refusal> {
    let text = |field: &str| match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(Refusal::input(field, "must be a string")),
    };
    let id = match fields.get("task_id") {
        None | Some(Value::Null) => None,
        Some(id) => Some(task_id(id)?),
    };
    let blocked_by = match fields.get("blocked_by") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(ids)) => ids
            .iter()
            .map(|id| id.as_str().ok_or(Refusal::input("blocked_by", IDS)))
            .map(|id| id.and_then(TaskId::new))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(Refusal::input("blocked_by", IDS)),
    };
    let description = text("description")?.filter(|text| !text.is_empty());
    Ok(TaskPlan {
        id,
        description: description
            .ok_or(Refusal::input("description", "must not be empty"))?
            .to_string(),
        assignee: text("assignee")?.map(str::to_string),
        blocked_by,
    })
}

/// `add-task`
pub(super) fn add(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let plan = plan(&call.fields)?;
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
