//! Whose pane it is: what is written down at launch and compared before every key.
//!
//! A pane id is unique for the life of one server, and a server is one process with one start time. Inside a server the
//! id belongs to the process whose pid tmux has for it. So server, id and pid together name one agent, and tmux can
//! compare all three in the step that sends a key. What tmux cannot see, the start times of both processes, is
//! compared at every look.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::facts::PaneFacts;
use crate::process::Identity;

/// One tmux server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerRecord {
    /// The path of its socket.
    pub socket_path: PathBuf,
    /// Its process id.
    pub server_pid: u32,
    /// When it started, in seconds since the Unix epoch, as tmux tells.
    pub server_started_at: i64,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_process: Option<Identity>,
}

/// One pane and the process that it was opened for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaneRecord {
    /// The server.
    #[serde(flatten)]
    pub server: ServerRecord,
    /// The session, such as `$3`.
    pub session_id: String,
    /// When the session was made, in seconds since the Unix epoch.
    pub session_created_at: i64,
    /// The window, such as `@4`.
    pub window_id: String,
    /// The pane, such as `%5`.
    pub pane_id: String,
    /// The pane's own process.
    pub process: Identity,
}

/// Whether `id` is an id of tmux: its sign and a number. A record comes from a file, so an id is checked before it
/// becomes a target.
pub(super) fn is_id(sign: char, id: &str) -> bool {
    let digits = id.strip_prefix(sign).unwrap_or_default();
    !digits.is_empty() && digits.len() < 12 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl ServerRecord {
    /// Whether the server that answered with `facts` is this one.
    pub(super) fn is_of(&self, facts: &PaneFacts) -> bool {
        let same = self.server_pid == facts.server_pid
            && self.server_started_at == facts.server_started_at;
        same && !is_other(self.server_process.as_ref())
    }
}

impl PaneRecord {
    /// Whether every id has its form.
    pub(super) fn is_sound(&self) -> bool {
        is_id('%', &self.pane_id) && is_id('@', &self.window_id) && is_id('$', &self.session_id)
    }

    /// Whether the pane that `facts` tell of is this one.
    pub(super) fn is_of(&self, facts: &PaneFacts) -> bool {
        self.pane_id == facts.pane_id
            && self.process.pid == facts.pane_pid
            && (facts.is_dead || !is_other(Some(&self.process)))
    }
}

/// Whether the process is known to be another one than was recorded.
fn is_other(recorded: Option<&Identity>) -> bool {
    recorded.is_some_and(Identity::is_recycled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_become_targets() {
        for (sign, id, good) in [
            ('%', "%5", true),
            ('%', "%", false),
            ('%', "5", false),
            ('%', "%5:0", false),
            ('%', "%-1", false),
            ('$', "$12", true),
            ('$', "main", false),
        ] {
            assert_eq!(is_id(sign, id), good, "{id}");
        }
    }

    #[test]
    fn a_record_is_flat_in_its_file() {
        let record = PaneRecord {
            server: ServerRecord {
                socket_path: "s".into(),
                server_pid: 7,
                server_started_at: 9,
                server_process: None,
            },
            session_id: "$1".into(),
            session_created_at: 8,
            window_id: "@2".into(),
            pane_id: "%3".into(),
            process: Identity::own(),
        };
        let value = serde_json::to_value(&record).unwrap();
        assert_eq!(value["serverPid"], 7);
        assert_eq!(value["paneId"], "%3");
        assert_eq!(serde_json::from_value::<PaneRecord>(value).unwrap(), record);
    }
}
