//! What tasks wait for: whether one is ready, and whether a set of dependencies can be.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Status, Task};
use crate::refusal::{DependencyFault, Refusal};

/// What the tasks that a task waits for say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// All of them are completed, or there are none.
    Ready,
    /// Some are not.
    Blocked {
        /// Those that are not completed, failed ones included.
        on: Vec<String>,
        /// Those that failed: waiting alone will not help.
        failed: Vec<String>,
    },
}

/// Whether `task` can be claimed, as far as the tasks that it waits for go. `status_of` answers `None` for a task
/// that cannot be read, which blocks like one that is not completed.
pub fn readiness(task: &Task, mut status_of: impl FnMut(&str) -> Option<Status>) -> Readiness {
    let mut on = Vec::new();
    let mut failed = Vec::new();
    for id in &task.blocked_by {
        match status_of(id) {
            Some(Status::Completed) => {}
            Some(Status::Failed) => {
                failed.push(id.clone());
                on.push(id.clone());
            }
            _ => on.push(id.clone()),
        }
    }
    if on.is_empty() {
        Readiness::Ready
    } else {
        Readiness::Blocked { on, failed }
    }
}

/// The tasks among `all` that wait for `id`, directly or over others, in their order.
#[must_use]
pub fn dependants<'a>(all: &'a [Task], id: &str) -> Vec<&'a Task> {
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut grew = true;
    while grew {
        grew = false;
        for task in all.iter().filter(|task| task.id != id) {
            let waits = task
                .blocked_by
                .iter()
                .any(|on| on == id || reached.contains(on.as_str()));
            grew |= waits && reached.insert(task.id.as_str());
        }
    }
    all.iter()
        .filter(|task| reached.contains(task.id.as_str()))
        .collect()
}

/// Decides whether all tasks of a team may wait for each other as they say: `(id, blocked_by)` of each.
///
/// # Errors
/// `invalid_dependency` for the first task at fault, with the fault.
pub fn check_dependencies(tasks: &[(&str, &[String])]) -> Result<(), Refusal> {
    let graph: BTreeMap<&str, &[String]> = tasks.iter().copied().collect();
    let refuse = |id: &str, fault| {
        Err(Refusal::InvalidDependency {
            id: id.to_string(),
            fault,
        })
    };
    for (id, on) in tasks {
        if on.iter().any(|other| other == id) {
            return refuse(id, DependencyFault::Itself);
        }
        if let Some(unknown) = on.iter().find(|other| !graph.contains_key(other.as_str())) {
            return refuse(id, DependencyFault::Unknown(unknown.clone()));
        }
    }
    match cycle(&graph) {
        Some(ids) => refuse(&ids[0].clone(), DependencyFault::Cycle(ids)),
        None => Ok(()),
    }
}

/// A cycle in `graph`, its first id repeated at the end, if there is one. Every edge leads to a known task.
fn cycle(graph: &BTreeMap<&str, &[String]>) -> Option<Vec<String>> {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in graph.keys() {
        // The path from `start` and, for each task on it, which of its edges comes next.
        let mut path: Vec<(&str, usize)> = Vec::from([(*start, 0)]);
        while let Some((id, edge)) = path.last().copied() {
            if done.contains(id) {
                path.pop();
                continue;
            }
            let Some(next) = graph.get(id).and_then(|on| on.get(edge)) else {
                done.insert(id);
                path.pop();
                continue;
            };
            if let Some(top) = path.last_mut() {
                top.1 += 1;
            }
            if let Some(begin) = path.iter().position(|(on_path, _)| on_path == next) {
                let ids = path[begin..].iter().map(|(id, _)| (*id).to_string());
                return Some(ids.chain([next.clone()]).collect());
            }
            path.push((next.as_str(), 0));
        }
    }
    None
}
