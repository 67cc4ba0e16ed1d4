//! What of an agent outlives its lives: its name, what it is made of, its inbox, and how it is.

use std::sync::{Arc, Mutex, PoisonError};

use pitcrew_core::Name;

use super::inbox::Inbox;
use super::report::Activity;
use super::spec::AgentSpec;

/// One agent, through all its lives.
pub(crate) struct Cell {
    pub(crate) name: Name,
    pub(crate) spec: AgentSpec,
    pub(crate) inbox: Arc<Inbox>,
    activity: Mutex<Activity>,
}

impl Cell {
    pub(crate) fn new(name: Name, spec: AgentSpec) -> Arc<Self> {
        Arc::new(Self {
            name,
            spec,
            inbox: Arc::default(),
            activity: Mutex::default(),
        })
    }

    pub(crate) fn activity(&self) -> Activity {
        self.activity
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set_activity(&self, activity: Activity) {
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner) = activity;
    }
}
