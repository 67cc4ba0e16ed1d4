//! `task done | fail | release | retry`: the steps after a claim.

use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Refusal, TaskId};
use pitcrew_runtime::desk::Change;
use serde_json::json;

use crate::cli::{Entry, Run, failed_answer};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::Layout;

/// The row of `task done`.
pub(super) const DONE: Entry =
    Entry::new::<Done>("done", "Complete a task, or note progress on it");
/// The row of `task fail`.
pub(super) const FAIL: Entry = Entry::new::<Fail>("fail", "Give a task up as failed");
/// The row of `task release`.
pub(super) const RELEASE: Entry = Entry::new::<Release>(
    "release",
    "Give a task back, so that another member can take it",
);
/// The row of `task retry`.
pub(super) const RETRY: Entry =
    Entry::new::<Retry>("retry", "Put failed tasks back to be tried again");

/// Which claim of a task is meant.
#[derive(Debug, clap::Args)]
struct Claimed {
    /// The task
    #[arg(value_name = "ID")]
    id: String,
    /// The token of your claim; may be left out by the task's present owner
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

impl Claimed {
    /// The token that the caller has, or the present one when the caller is the present owner.
    fn token(&self, context: &Context<'_>, team: &OpenTeam, id: &TaskId) -> Result<String, Halt> {
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        let desk = team.desk();
        let speaker = desk.speaker(&desk.roster()?, &context.credentials(&team.name))?;
        let task = desk.task(id)?;
        match (&task.owner, &task.claim_token) {
            (Some(owner), Some(token)) if owner == speaker.name.as_str() => Ok(token.clone()),
            // A step that the task's status forbids is refused for that first.
            _ if task.status != Status::InProgress => Ok(String::new()),
            _ => Err(Refusal::StaleToken {
                id: task.id,
                owner: task.owner,
            }
            .into()),
        }
    }

    fn step(
        &self,
        context: &mut Context<'_>,
        to: Status,
        result: Option<&str>,
    ) -> Result<Exit, Halt> {
        let id = TaskId::new(&self.id)?;
        let team = context.open_team()?;
        let desk = team.desk();
        let token = self.token(context, &team, &id)?;
        let worker = desk.speaker(&desk.roster()?, &context.credentials(&team.name))?;
        let change = Change {
            from: Status::InProgress.word(),
            to: to.word(),
            token: &token,
            result,
        };
        let task = desk.transition(&id, Some(&worker.name), change)?;
        answer(context, &task)
    }
}

fn answer(context: &mut Context<'_>, task: &Task) -> Result<Exit, Halt> {
    if context.ui.json {
        context
            .ui
            .json(&json!({ "ok": true, "task": task }), Layout::Pretty);
    } else {
        context.ui.line(&format!("{}  {}", task.id, task.status));
    }
    Ok(Exit::Done)
}

/// Complete a task, or note progress on it
#[derive(Debug, clap::Args)]
pub(super) struct Done {
    #[command(flatten)]
    claimed: Claimed,
    /// What came of it
    #[arg(value_name = "RESULT")]
    result: Option<String>,
    /// Note the result so far and go on
    #[arg(long, requires = "result")]
    so_far: bool,
}

impl Run for Done {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let to = if self.so_far {
            Status::InProgress
        } else {
            Status::Completed
        };
        self.claimed.step(context, to, self.result.as_deref())
    }
}

/// Give a task up as failed
///
/// Tasks that wait for it become blocked, and the leader is told.
#[derive(Debug, clap::Args)]
pub(super) struct Fail {
    #[command(flatten)]
    claimed: Claimed,
    /// Why it failed
    #[arg(value_name = "REASON")]
    reason: Option<String>,
}

impl Run for Fail {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        self.claimed
            .step(context, Status::Failed, self.reason.as_deref())
    }
}

/// Give a task back, so that another member can take it
///
/// The leader may take a task back from its owner with --force; what the owner still does to it is then refused.
#[derive(Debug, clap::Args)]
pub(super) struct Release {
    #[command(flatten)]
    claimed: Claimed,
    /// As the leader: take it back from whoever has it
    #[arg(long)]
    force: bool,
}

impl Run for Release {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        if !self.force {
            return self.claimed.step(context, Status::Pending, None);
        }
        let id = TaskId::new(&self.claimed.id)?;
        let team = context.open_team()?;
        let desk = team.desk();
        context.leader_only(&team, "take back a task of another")?;
        let token = desk.task(&id)?.claim_token;
        let task = desk.take_back(&id, token.as_deref())?;
        answer(context, &task)
    }
}

/// Put failed tasks back to be tried again
///
/// Of several, each is put back by itself: one that cannot be keeps no other from it, and the answer says what came of
/// each.
#[derive(Debug, clap::Args)]
pub(super) struct Retry {
    /// The tasks
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl Run for Retry {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        team.desk().roster()?;
        let retry =
            |id: &String| -> Result<Task, Halt> { Ok(team.desk().retry(&TaskId::new(id)?)?) };
        if let [only] = self.ids.as_slice() {
            return answer(context, &retry(only)?);
        }
        let outcomes: Vec<_> = self.ids.iter().map(|id| (id, retry(id))).collect();
        Ok(answer_each(context, &outcomes))
    }
}

/// What came of several tasks: one answer with a part for each, and the status of the first that was not done.
fn answer_each(context: &mut Context<'_>, outcomes: &[(&String, Result<Task, Halt>)]) -> Exit {
    let mut exit = Exit::Done;
    let mut tasks = Vec::with_capacity(outcomes.len());
    for (id, outcome) in outcomes {
        match outcome {
            Ok(task) if context.ui.json => {
                tasks.push(json!({ "ok": true, "id": id, "task": task }))
            }
            Ok(task) => context.ui.line(&format!("{}  {}", task.id, task.status)),
            Err(halt) => {
                let row = hints::row(halt);
                if exit == Exit::Done {
                    exit = row.exit;
                }
                if context.ui.json {
                    let mut part = failed_answer("error", None, halt);
                    part["id"] = id.as_str().into();
                    tasks.push(part);
                } else {
                    context.ui.complain(&halt.message(), Some(&row.hint));
                }
            }
        }
    }
    if context.ui.json {
        let answer = json!({ "ok": exit == Exit::Done, "tasks": tasks });
        context.ui.json(&answer, Layout::Pretty);
    }
    exit
}
