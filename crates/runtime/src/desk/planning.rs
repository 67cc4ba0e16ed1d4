//! Adding tasks: numbered, checked against what is there, and written so that a crash leaves nothing half told.
//!
//! Several tasks are added together or not at all, as far as rules go. They are written one by one, what others wait
//! for first, so that a crash leaves no task that waits for nothing.

use std::cmp::Ordering;

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
            match self.write_tasks(tasks) {
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
        // What others wait for is written first, so that a crash leaves no task that waits for nothing.
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by(|a, b| waits_for(&tasks, *a, *b));
        let written = self.write_in_order(&tasks, &order);
        let count = match &written {
            Ok(()) => tasks.len(),
            Err(unwritten) => unwritten.written,
        };
        let added = order[..count].iter().map(|index| {
            let (id, task) = &tasks[*index];
            Fact::TaskAdded {
                task: id.to_string(),
                assignee: task.assignee.clone(),
                blocked_by: task.blocked_by.clone(),
            }
        });
        self.announce(&added.collect::<Vec<_>>());
        written?;
        Ok(tasks.into_iter().map(|(id, _)| id).collect())
    }

    fn write_in_order(&self, tasks: &[(TaskId, Task)], order: &[usize]) -> Result<(), Unwritten> {
        for (written, index) in order.iter().enumerate() {
            let (id, task) = &tasks[*index];
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
        Ok(())
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
        check_dependencies(&edges)?;
        Ok(tasks)
    }

    fn number(
        &self,
        team: &Team,
        board: &TaskBoard,
        plans: &[TaskPlan],
    ) -> Result<Vec<(TaskId, Task)>, NotDone> {
        let mut taken: Vec<String> = board.tasks.iter().map(|task| task.id.clone()).collect();
        taken.extend(board.unreadable.iter().map(|task| task.id.clone()));
        taken.extend(
            plans
                .iter()
                .filter_map(|plan| plan.id.as_ref().map(ToString::to_string)),
        );
        let mut named: Vec<String> = board.tasks.iter().map(|task| task.id.clone()).collect();
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
                None => TaskId::new(&next_number(&taken).to_string())?,
            };
            if let Some(double) = named
                .iter()
                .find(|known| known.eq_ignore_ascii_case(id.as_str()))
            {
                return Err(Refusal::TaskExists { id: double.clone() }.into());
            }
            named.push(id.to_string());
            taken.push(id.to_string());
            let mut task = Task::new(&id, &plan.description, self.now());
            task.assignee.clone_from(&plan.assignee);
            task.blocked_by = plan.blocked_by.iter().map(ToString::to_string).collect();
            tasks.push((id, task));
        }
        Ok(tasks)
    }
}

fn next_number(taken: &[String]) -> u64 {
    taken
        .iter()
        .filter_map(|id| id.parse::<u64>().ok())
        .filter(|number| *number < u64::MAX)
        .max()
        .unwrap_or(0)
        + 1
}

fn waits_for(tasks: &[(TaskId, Task)], a: usize, b: usize) -> Ordering {
    let depth = |index: usize| {
        let mut reached = 0;
        let mut layer = vec![index];
        // A new task is at most as deep as there are new tasks, since there is no cycle.
        while !layer.is_empty() && reached <= tasks.len() {
            let on: Vec<usize> = layer
                .iter()
                .flat_map(|index| &tasks[*index].1.blocked_by)
                .filter_map(|id| tasks.iter().position(|(other, _)| other.as_str() == id))
                .collect();
            layer = on;
            layer.sort_unstable();
            layer.dedup();
            reached += 1;
        }
        reached
    };
    depth(a).cmp(&depth(b))
}
