//! The requests about teams and members, and waiting.

use std::time::Duration;

use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_core::{Name, Refusal};
use pitcrew_runtime::desk::{Founding, Plan, TaskPlan, Wanted};
use serde_json::{Map, Value, json};

use super::tasks::{self, task_id};
use super::{Answer, Call};
use crate::commands::team::{init, list as listing, shutdown as ending, status as looking};
use crate::commands::{wait as waiting, who};
use crate::halt::{Exit, Halt};

/// The role of members that have no other.
const ROLE: &str = "worker";

fn done(value: Value) -> Result<Answer, Halt> {
    Ok(Answer::Object(value, Exit::Done))
}

/// A member to be, from its name or from an object.
fn recruit(value: &Value, role: &str) -> Result<Recruit, Refusal> {
    let none = Map::new();
    let (name, fields) = match value {
        Value::String(name) => (name.as_str(), &none),
        Value::Object(fields) => match fields.get("name") {
            Some(Value::String(name)) => (name.as_str(), fields),
            _ => return Err(Refusal::input("name", "must be a string")),
        },
        _ => return Err(Refusal::input("members", "must be names or objects")),
    };
    let text = |field: &str| match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Refusal::input(field, "must be a string")),
    };
    Ok(Recruit {
        name: Name::new(NameKind::Member, name)?,
        role: text("role")?.unwrap_or_else(|| role.to_string()),
        seat: Seat::Headless,
        profile: text("profile")?,
        task_id: None,
    })
}

fn task(value: &Value) -> Result<TaskPlan, Refusal> {
    match value {
        Value::String(description) => Ok(TaskPlan {
            description: description.clone(),
            ..TaskPlan::default()
        }),
        Value::Object(fields) => tasks::plan(fields),
        _ => Err(Refusal::input("tasks", "must be descriptions or objects")),
    }
}

/// `create-team`
pub(super) fn create(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let name = Name::new(NameKind::Team, call.required("team_name")?)?;
    let role = call.optional("role")?.unwrap_or(ROLE).to_string();
    let goal = call.optional("goal")?.unwrap_or_default().to_string();
    let members = call.list("members")?.iter();
    let members = members.map(|member| recruit(member, &role));
    let members = members.collect::<Result<_, _>>()?;
    let tasks = call.list("tasks")?.iter().map(task);
    let tasks = tasks.collect::<Result<_, _>>()?;
    let start = call.optional("cwd")?.map(str::to_string);
    let project = call.context.project(start.as_deref())?;
    let founding = Founding {
        goal,
        role,
        team_name: None,
        cwd: project.root().to_string_lossy().into_owned(),
        settings: None,
    };
    let plan = Plan {
        founding,
        members,
        tasks,
    };
    done(init::found(&project, name, &plan)?.value())
}

/// `list-teams`
pub(super) fn list(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let start = call.optional("cwd")?.map(str::to_string);
    let project = call.context.project(start.as_deref())?;
    let root = project.root().display().to_string();
    done(json!({ "ok": true, "root": root, "teams": listing::teams(&project)? }))
}

/// `team-status`
pub(super) fn status(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let name = call.required("team_name")?.to_string();
    let start = call.optional("cwd")?.map(str::to_string);
    let (status, standings) = looking::look(call.context, &name, start.as_deref())?;
    done(looking::answer(&status, &standings))
}

/// `list-members`
pub(super) fn members(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let team = call.open_known()?;
    let members = who::members(call.context, &team)?;
    done(json!({ "ok": true, "team": team.name, "members": members }))
}

/// `add-member`
pub(super) fn add_member(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let fields = Value::Object(call.fields.clone());
    let team = call.open_known()?;
    call.context.leader_only(&team, "add a member")?;
    let recruit = recruit(&fields, &team.desk().roster()?.role)?;
    let roster = team.desk().add_member(&recruit)?;
    done(json!({ "ok": true, "member": roster.member(recruit.name.as_str()) }))
}

/// `remove-member`
pub(super) fn remove_member(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let name = call.required("name")?.to_string();
    let team = call.open_known()?;
    call.context.leader_only(&team, "remove a member")?;
    let removed = team.desk().remove_member(&name)?;
    let mut answer = json!({ "ok": true, "member": removed.member });
    if !removed.tasks.is_empty() {
        answer["givenBack"] = json!(removed.tasks);
    }
    done(answer)
}

/// `shutdown-team`
pub(super) fn shutdown(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let name = call.required("team_name")?.to_string();
    let start = call.optional("cwd")?.map(str::to_string);
    let ended = ending::shut_down(call.context, &name, start.as_deref(), ending::GRACE)?;
    done(ended.value())
}

/// `wait`
pub(super) fn wait(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let mut wanted = Vec::new();
    if call.flag("message")? {
        wanted.push(Wanted::Message);
    }
    for (field, make) in [
        ("task", Wanted::Task as fn(_) -> _),
        ("task_end", Wanted::End),
    ] {
        match call.fields.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Array(ids)) => {
                for id in ids {
                    wanted.push(make(task_id(id)?));
                }
            }
            Some(id) => wanted.push(make(task_id(id)?)),
        }
    }
    if call.flag("any_task")? {
        wanted.push(Wanted::AnyTask);
    }
    let wanted = waiting::or_anything(wanted);
    let timeout = call.span("timeout_ms")?;
    let timeout = timeout.map(|ms| Duration::from_millis(ms.unsigned_abs()));
    let team = call.open_known()?;
    let me = call.worker(&team)?;
    let me = team.desk().speaker(&team.desk().roster()?, &me)?.name;
    let end = waiting::wait(&team, &me, &wanted, timeout)?;
    let exit = end.exit();
    Ok(match end.value() {
        Some(answer) => Answer::Object(answer, exit),
        None => Answer::Written(exit),
    })
}
