//! Adding tasks: numbered, checked against what is there, and written so that a crash leaves nothing half told.
//!
//! Several tasks are added together or not at all, as far as rules go. They are written one by one, what others wait
//! for first, so that a crash leaves no task that waits for nothing.

use std::collections::BTreeMap;

use pitcrew_core::event::Fact;
use pitcrew_core::roster::Team;
use pitcrew_core::task::{Task, check_dependencies};
use pitcrew_core::{Refusal, TaskId};
use pitcrew_store::StoreExt;

use super::{Desk, NotDone, TaskBoard};

/// A task to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskPlan {
    /// Its id; `None` is the next free number.
    pub id: Option<TaskId>,
    /// What is to be done.
    pub description: String,
    /// The member that it is meant for.
    pub assignee: Option<String>,
    /// The tasks that must be completed first.
    pub blocked_by: Vec<TaskId>,
}

/// How often a number for a task is looked for, at the most.
const ROUNDS: usize = 256;

/// That a task was added.
pub(super) fn added((id, task): &(TaskId, Task)) -> Fact {
    Fact::TaskAdded {
        task: id.to_string(),
        assignee: task.assignee.clone(),
        blocked_by: task.blocked_by.clone(),
    }
}

/// Tasks that were not all written.
#[derive(Debug)]
pub(super) struct Unwritten {
    /// How many were.
    written: usize,
    /// Why not the next.
    pub(super) why: NotDone,
}

impl Desk<'_> {
    /// Adds tasks: all of them, or none when one of them cannot be. Answers their ids in the order given.
    ///
    /// # Errors
    /// `invalid_input` for an empty description, `invalid_task_id`, `unknown_member`, `task_exists`,
    /// `invalid_dependency`, `shut_down`.
    pub fn add_tasks(&self, plans: &[TaskPlan]) -> Result<Vec<TaskId>, NotDone> {
        let team = self.open_roster()?;
        let numbers_itself = plans.iter().any(|plan| plan.id.is_none());
        for _ in 0..ROUNDS {
            let tasks = self.lay_out(&team, &self.tasks()?, plans)?;
            let facts: Vec<Fact> = in_order(&tasks)
                .into_iter()
                .map(|index| added(&tasks[index]))
                .collect();
            let written = self.write_tasks(tasks);
            let count = match &written {
                Ok(_) => facts.len(),
                Err(unwritten) => unwritten.written,
            };
            self.announce(&facts[..count]);
            match written {
                // Somebody else took the number that was free just now; the next one is tried.
                Err(Unwritten {
                    written: 0,
                    why: NotDone::Refused(Refusal::TaskExists { .. }),
                }) if numbers_itself => {}
                Err(unwritten) => return Err(unwritten.why),
                Ok(ids) => return Ok(ids),
            }
        }
        Err(Refusal::TaskExists {
            id: "of the next number".to_string(),
        }
        .into())
    }

    pub(super) fn write_tasks(&self, tasks: Vec<(TaskId, Task)>) -> Result<Vec<TaskId>, Unwritten> {
        for (written, index) in in_order(&tasks).into_iter().enumerate() {
            let (id, task) = &tasks[index];
            let kept = self
                .store
                .update::<Task, (), Refusal>(id, |slot| match slot {
                    Some(_) => Err(Refusal::TaskExists { id: id.to_string() }),
                    None => {
                        *slot = Some(task.clone());
                        Ok(())
                    }
                });
            match kept {
                Ok(Ok(())) => {}
                Ok(Err(refused)) => {
                    return Err(Unwritten {
                        written,
                        why: refused.into(),
                    });
                }
                Err(failed) => {
                    return Err(Unwritten {
                        written,
                        why: failed.into(),
                    });
                }
            }
        }
        Ok(tasks.into_iter().map(|(id, _)| id).collect())
    }

    /// Decides what `plans` become beside what is on `board`, or that they cannot be.
    pub(super) fn lay_out(
        &self,
        team: &Team,
        board: &TaskBoard,
        plans: &[TaskPlan],
    ) -> Result<Vec<(TaskId, Task)>, NotDone> {
        let tasks = self.number(team, board, plans)?;
        let all = board.tasks.iter().chain(tasks.iter().map(|(_, task)| task));
        let edges: Vec<(&str, &[String])> = all
            .map(|task| (task.id.as_str(), task.blocked_by.as_slice()))
            .collect();
        check_dependencies(&edges, board.tasks.len())?;
        Ok(tasks)
    }

    fn number(
        &self,
        team: &Team,
        board: &TaskBoard,
        plans: &[TaskPlan],
    ) -> Result<Vec<(TaskId, Task)>, NotDone> {
        let there = board.tasks.iter().map(|task| task.id.as_str());
        let taken = there
            .clone()
            .chain(board.unreadable.iter().map(|task| task.id.as_str()))
            .chain(
                plans
                    .iter()
                    .filter_map(|plan| plan.id.as_ref().map(TaskId::as_str)),
            );
        let mut next = next_number(taken);
        let mut named: BTreeMap<String, String> = there
            .map(|id| (id.to_ascii_lowercase(), id.to_string()))
            .collect();
        let mut tasks = Vec::with_capacity(plans.len());
        for plan in plans {
            if plan.description.trim().is_empty() {
                return Err(Refusal::input("description", "must not be empty").into());
            }
            if let Some(assignee) = &plan.assignee {
                team.worker(assignee)?;
            }
            let id = match &plan.id {
                Some(id) => TaskId::fresh(id.as_str())?,
                None => {
                    next += 1;
                    TaskId::new(&(next - 1).to_string())?
                }
            };
            if let Some(double) = named.insert(id.as_str().to_ascii_lowercase(), id.to_string()) {
                return Err(Refusal::TaskExists { id: double }.into());
            }
            let mut task = Task::new(&id, &plan.description, self.now());
            task.assignee.clone_from(&plan.assignee);
            task.blocked_by = plan.blocked_by.iter().map(ToString::to_string).collect();
            tasks.push((id, task));
        }
        Ok(tasks)
    }
}

fn next_number<'a>(taken: impl Iterator<Item = &'a str>) -> u64 {
    taken
        .filter_map(|id| id.parse::<u64>().ok())
        .filter(|number| *number < u64::MAX)
        .max()
        .unwrap_or(0)
        + 1
}

/// The places of `tasks`, those first that others wait for, so that a crash leaves no task that waits for nothing.
/// Looks at every task and everything that it waits for once; what is on a cycle, which the rules refuse, comes last.
fn in_order(tasks: &[(TaskId, Task)]) -> Vec<usize> {
    let places: BTreeMap<&str, usize> = (0..)
        .zip(tasks)
        .map(|(place, (id, _))| (id.as_str(), place))
        .collect();
    let mut waiting = vec![Vec::new(); tasks.len()];
    let mut left = vec![0_usize; tasks.len()];
    for (place, (_, task)) in tasks.iter().enumerate() {
        for on in task
            .blocked_by
            .iter()
            .filter_map(|id| places.get(id.as_str()))
        {
            waiting[*on].push(place);
            left[place] += 1;
        }
    }
    let mut order: Vec<usize> = (0..tasks.len()).filter(|place| left[*place] == 0).collect();
    let mut next = 0;
    while let Some(done) = order.get(next).copied() {
        next += 1;
        for place in &waiting[done] {
            left[*place] -= 1;
            if left[*place] == 0 {
                order.push(*place);
            }
        }
    }
    order.extend((0..tasks.len()).filter(|place| left[*place] > 0));
    order
}
