//! What of a team is still at work, so that nobody pulls it away from under somebody.
//!
//! A task in progress is work that somebody holds, whoever that is and however silent. A shutdown ends that: what was
//! claimed before it holds nothing any more.

use pitcrew_core::Timestamp;
use pitcrew_core::task::{Status, Task};

use crate::context::OpenTeam;
use crate::halt::Halt;

/// What of `team` is still at work, in words; nothing when it may be removed.
pub(super) fn at_work(team: &OpenTeam) -> Result<Vec<String>, Halt> {
    let desk = team.desk();
    let shut_down = desk.shut_down_at()?;
    let shut_down = shut_down.as_deref().and_then(Timestamp::parse);
    let tasks = desk.tasks()?.tasks;
    Ok(tasks
        .iter()
        .filter(|task| is_held(task, shut_down))
        .map(|task| match &task.owner {
            Some(owner) => format!("task {} of {owner}", task.id),
            None => format!("task {}", task.id),
        })
        .collect())
}

fn is_held(task: &Task, shut_down: Option<Timestamp>) -> bool {
    let started = task.started_at.as_deref().and_then(Timestamp::parse);
    let before = |end: Timestamp| started.is_none_or(|started| started <= end);
    task.status == Status::InProgress && !shut_down.is_some_and(before)
}
