//! The documents that no rule of core owns: the reference's small files, in its keys and their order.

use pitcrew_core::name::Name;
use pitcrew_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::port::{Document, Place};

/// `mailbox/.<recipient>.offset`: how far the reference has read a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offset {
    /// Bytes from the start of the log.
    pub bytes_read: u64,
}

/// `workers/<name>/.outbox-offset`: how far a worker's outbox was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxOffset {
    /// Bytes from the start of the log.
    pub bytes_read: u64,
}

/// `workers/<name>/heartbeat.json`: when a worker last did something with its task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// The process that wrote it, which may have ended since.
    pub pid: u32,
    /// The worker.
    pub worker_name: String,
    /// Its team.
    pub team_name: String,
    /// When, as it was written.
    pub last_poll_at: String,
    /// How many steps it took: the reference counts the claim as 1 and every later step as 2.
    pub turn_count: u64,
    /// Whether it still works on its task.
    pub alive: bool,
}

/// `shutdown.json`: the team was shut down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shutdown {
    /// When, as it was written.
    pub shutdown_at: String,
}

impl Shutdown {
    /// A team shut down at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self {
            shutdown_at: now.to_string(),
        }
    }
}

impl Document for Offset {
    type Id = Name;

    fn place(owner: &Name) -> Place {
        Place::Offset(owner.clone())
    }
}

impl Document for OutboxOffset {
    type Id = Name;

    fn place(worker: &Name) -> Place {
        Place::OutboxOffset(worker.clone())
    }
}

impl Document for Heartbeat {
    type Id = Name;

    fn place(worker: &Name) -> Place {
        Place::Heartbeat(worker.clone())
    }
}

impl Document for Shutdown {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Shutdown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_written_with_the_keys_of_the_reference() {
        let offset = serde_json::to_string(&Offset { bytes_read: 604 }).unwrap();
        assert_eq!(offset, r#"{"bytesRead":604}"#);
        let text = r#"{"pid":18901,"workerName":"worker-1","teamName":"gold","lastPollAt":"2026-11-30T16:22:29.488Z","turnCount":2,"alive":false}"#;
        let heartbeat: Heartbeat = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&heartbeat).unwrap(), text);
        let shutdown = Shutdown::at(Timestamp::from_millis(0));
        assert_eq!(
            serde_json::to_string(&shutdown).unwrap(),
            r#"{"shutdownAt":"1970-01-01T00:00:00.000Z"}"#
        );
    }
}
