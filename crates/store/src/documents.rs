//! Small documents of the reference that have no rules of their own.

use pitcrew_core::name::Name;
use serde::{Deserialize, Serialize};

use crate::port::{Document, Place};

/// `mailbox/.<recipient>.offset`: how far a reader of the reference's kind has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offset {
    /// Bytes from the start of the log.
    pub bytes_read: u64,
}

/// `workers/<name>/heartbeat.json`: when a member was last heard of through a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// The process of the command.
    pub pid: u64,
    /// The member.
    pub worker_name: String,
    /// Its team.
    pub team_name: String,
    /// When.
    pub last_poll_at: String,
    /// 1 after a claim, 2 after a transition.
    pub turn_count: u64,
    /// Whether it has work.
    pub alive: bool,
}

/// `shutdown.json`: the team was shut down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shutdown {
    /// When.
    pub shutdown_at: String,
}

impl Document for Offset {
    type Id = Name;

    fn place(owner: &Name) -> Place {
        Place::Offset(owner.clone())
    }
}

impl Document for Heartbeat {
    type Id = Name;

    fn place(member: &Name) -> Place {
        Place::Heartbeat(member.clone())
    }
}

impl Document for Shutdown {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Shutdown
    }
}
