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

/// The tasks among `all` that wait for `id`, directly or over others, in their order. `id` itself is never one.
#[must_use]
pub fn dependants<'a>(all: &'a [Task], id: &str) -> Vec<&'a Task> {
    let mut waiting: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
    for task in all {
        for on in &task.blocked_by {
            waiting.entry(on).or_default().push(&task.id);
        }
    }
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut next: Vec<&str> = Vec::from([id]);
    while let Some(on) = next.pop() {
        for task in waiting.remove(on).unwrap_or_default() {
            if reached.insert(task) {
                next.push(task);
            }
        }
    }
    all.iter()
        .filter(|task| task.id != id && reached.contains(task.id.as_str()))
        .collect()
}

/// Decides whether the new tasks of a team may wait as they say: `(id, blocked_by)` of each, those that are there
/// first, which are `there` in number. What is wrong among those alone, whoever wrote them, refuses no new task.
///
/// # Errors
/// `invalid_dependency` for the first new task that waits for itself or for an unknown one, else for one on a cycle
/// that a new task is on or waits for.
pub fn check_dependencies(tasks: &[(&str, &[String])], there: usize) -> Result<(), Refusal> {
    let refuse = |id: &str, fault| {
        Err(Refusal::InvalidDependency {
            id: id.to_string(),
            fault,
        })
    };
    let places: BTreeMap<&str, usize> = (0..).zip(tasks).map(|(at, (id, _))| (*id, at)).collect();
    let mut edges: Vec<Vec<usize>> = Vec::with_capacity(tasks.len());
    for (at, (id, on)) in tasks.iter().enumerate() {
        let is_new = at >= there;
        if is_new && on.iter().any(|other| other == id) {
            return refuse(id, DependencyFault::Itself);
        }
        let mut leads_to = Vec::with_capacity(on.len());
        for other in *on {
            match places.get(other.as_str()) {
                Some(place) => leads_to.push(*place),
                None if is_new => return refuse(id, DependencyFault::Unknown(other.clone())),
                None => {}
            }
        }
        edges.push(leads_to);
    }
    match cycle(&edges, there) {
        Some(path) => {
            let name = |place: &usize| tasks[*place].0.to_string();
            let ids: Vec<String> = path.iter().chain(path.first()).map(name).collect();
            refuse(tasks[path[0]].0, DependencyFault::Cycle(ids))
        }
        None => Ok(()),
    }
}

/// The ids along a cycle among `all`, the first one again at the end, if there is one. None of those tasks, and none
/// that waits for them, can ever be claimed.
#[must_use]
pub fn dependency_cycle(all: &[Task]) -> Option<Vec<String>> {
    let ids = all.iter().map(|task| task.id.as_str());
    let places: BTreeMap<&str, usize> = ids.zip(0..).collect();
    let edges: Vec<Vec<usize>> = all
        .iter()
        .map(|task| {
            let on = task.blocked_by.iter();
            on.filter_map(|id| places.get(id.as_str()).copied())
                .collect()
        })
        .collect();
    let path = cycle(&edges, 0)?;
    let name = |place: &usize| all[*place].id.clone();
    Some(path.iter().chain(path.first()).map(name).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    NotYet,
    OnPath,
    Done,
}

/// The places along a cycle that the places from `from` on lead to, each once, if there is one. Looks at every place
/// and every edge once.
fn cycle(edges: &[Vec<usize>], from: usize) -> Option<Vec<usize>> {
    let mut visits = alloc::vec![Visit::NotYet; edges.len()];
    for start in from..edges.len() {
        if visits[start] != Visit::NotYet {
            continue;
        }
        visits[start] = Visit::OnPath;
        // The path from `start` and, for each place on it, which of its edges comes next.
        let mut path: Vec<(usize, usize)> = Vec::from([(start, 0)]);
        while let Some((place, edge)) = path.last_mut() {
            let Some(next) = edges[*place].get(*edge).copied() else {
                visits[*place] = Visit::Done;
                path.pop();
                continue;
            };
            *edge += 1;
            match visits[next] {
                Visit::Done => {}
                Visit::NotYet => {
                    visits[next] = Visit::OnPath;
                    path.push((next, 0));
                }
                Visit::OnPath => {
                    let path = path.into_iter().map(|(place, _)| place);
                    return Some(path.skip_while(|place| *place != next).collect());
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
