//! The roll: every agent of the team in this process, with what is wanted of it and what was observed.
//!
//! It outlives the Coordinator's own restarts: the next Coordinator brings up again whoever is wanted up.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use pitcrew_core::Name;
use pitcrew_core::name::nearest;
use pitcrew_core::restart::{Restart, Standing, Wanted};
use tokio::task::{AbortHandle, Id};

use super::Explanation;
use crate::team::agent::{Activity, Cell};
use crate::team::error::TeamError;
use crate::team::fence::Fence;

/// A life of an agent: the task that it is, and the fence around it.
pub(crate) struct Life {
    pub(crate) run: u32,
    pub(crate) abort: AbortHandle,
    pub(crate) fence: Arc<Fence>,
}

/// One agent on the roll.
pub(crate) struct Entry {
    pub(crate) cell: Arc<Cell>,
    pub(crate) restart: Restart,
    pub(crate) life: Option<Life>,
    /// Why its last life ended.
    pub(crate) last_end: Option<Box<str>>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Roll {
    entries: HashMap<Box<str>, Entry>,
    tasks: HashMap<Id, Name>,
    /// When who is to be started again.
    due: BTreeSet<(i64, Name)>,
}

fn folded(name: &str) -> Box<str> {
    name.to_ascii_lowercase().into_boxed_str()
}

impl Roll {
    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(&folded(name))
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Entry> {
        self.entries.get_mut(&folded(name))
    }

    /// The agent called exactly `name`.
    pub(crate) fn find(&self, name: &str) -> Result<&Entry, TeamError> {
        self.get(name)
            .filter(|entry| entry.cell.name.as_str() == name)
            .ok_or_else(|| self.stranger(name))
    }

    pub(crate) fn stranger(&self, name: &str) -> TeamError {
        let mut valid: Vec<String> = self.names().iter().map(ToString::to_string).collect();
        valid.sort();
        let nearest = nearest(name, valid.iter().map(String::as_str));
        TeamError::NotFound {
            name: name.to_string(),
            valid,
            nearest,
        }
    }

    pub(crate) fn put(&mut self, cell: Arc<Cell>, restart: Restart) {
        let entry = Entry {
            restart,
            life: None,
            last_end: None,
            cell: Arc::clone(&cell),
        };
        self.entries.insert(folded(cell.name.as_str()), entry);
    }

    pub(crate) fn remove(&mut self, name: &Name) -> Option<Entry> {
        let entry = self.entries.remove(&folded(name.as_str()));
        if let Some(Standing::Due { at }) = entry.as_ref().map(|entry| entry.restart.standing()) {
            self.due.remove(&(at, name.clone()));
        }
        entry
    }

    /// Every name, in no order.
    pub(crate) fn names(&self) -> Vec<Name> {
        let cells = self.entries.values().map(|entry| &entry.cell);
        cells.map(|cell| cell.name.clone()).collect()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// A life has begun.
    pub(crate) fn begun(&mut self, name: &Name, life: Life) {
        self.tasks.insert(life.abort.id(), name.clone());
        if let Some(entry) = self.get_mut(name.as_str()) {
            entry.life = Some(life);
        }
    }

    /// A task has ended: whose, and its life.
    pub(crate) fn ended(&mut self, id: Id) -> Option<(Name, Life)> {
        let name = self.tasks.remove(&id)?;
        let entry = self.get_mut(name.as_str())?;
        let is_it = |life: &mut Life| life.abort.id() == id;
        let life = entry.life.take_if(is_it)?;
        Some((name, life))
    }

    /// A task whose end was seen, or is waited for no longer.
    pub(crate) fn forget_task(&mut self, id: Id) {
        self.tasks.remove(&id);
    }

    /// It is to be started again at that time.
    pub(crate) fn wait(&mut self, name: &Name, at: i64) {
        self.due.insert((at, name.clone()));
    }

    /// When the next one is to be started again.
    pub(crate) fn next_due(&self) -> Option<i64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Those who are to be started again by `now`.
    pub(crate) fn take_due(&mut self, now: i64) -> Vec<Name> {
        let mut due = Vec::new();
        while self.next_due().is_some_and(|at| at <= now) {
            due.extend(self.due.pop_first().map(|(_, name)| name));
        }
        due
    }

    /// Those who are wanted up and have no task: after a restart of the Coordinator.
    pub(crate) fn orphans(&self) -> Vec<Name> {
        let is_orphan = |entry: &&Entry| {
            entry.life.is_none()
                && entry.restart.wanted() == Wanted::Up
                && !matches!(
                    entry.restart.standing(),
                    Standing::GivenUp(_) | Standing::Done
                )
        };
        let mut names: Vec<Name> = self
            .entries
            .values()
            .filter(is_orphan)
            .map(|entry| entry.cell.name.clone())
            .collect();
        names.sort();
        names
    }
}

impl Entry {
    /// Why it runs or does not.
    pub(crate) fn explain(&self, now: i64) -> Explanation {
        let (wanted, standing) = (self.restart.wanted(), self.restart.standing());
        let activity = self.cell.activity();
        let name = &self.cell.name;
        let after = match &self.last_end {
            Some(why) => format!(" after {why}"),
            None => String::new(),
        };
        let why = match (standing, &activity) {
            (Standing::Up { .. }, Activity::Idle) => {
                format!("{name} runs and waits for a message")
            }
            (Standing::Up { .. }, Activity::Waiting { why, for_ms }) => {
                format!("{name} runs and calls its model again in {for_ms} ms: {why}")
            }
            (Standing::Up { .. }, Activity::UsingTools { names }) => {
                format!("{name} runs and uses {}", names.join(", "))
            }
            (Standing::Up { .. }, _) => format!("{name} runs"),
            (Standing::Due { at }, _) => {
                let left = at.saturating_sub(now).max(0);
                format!("{name} is started again in {left} ms{after}")
            }
            (Standing::GivenUp(reason), _) => match reason {
                pitcrew_core::restart::Reason::NeverRestarted => {
                    format!("{name} stays down{after}: its policy is never to restart it")
                }
                pitcrew_core::restart::Reason::TooManyRestarts {
                    restarts,
                    within_ms,
                } => format!(
                    "{name} stays down{after}: it was restarted {restarts} times within {within_ms} ms. \
                     restart_agent begins anew"
                ),
            },
            (Standing::Done, _) => format!("{name} has finished"),
            (Standing::Down, _) => format!("{name} is not wanted up"),
        };
        Explanation {
            name: name.clone(),
            wanted,
            standing,
            activity,
            last_end: self.last_end.as_deref().map(str::to_string),
            why,
        }
    }
}
