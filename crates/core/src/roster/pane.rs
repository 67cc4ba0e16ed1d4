//! The tmux session of a team as the roster keeps it (`tmuxIdentity`).
//!
//! Another program may keep another shape under the same key. Then it counts as absent here, and what it wrote stays.

use alloc::string::String;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

/// One tmux session of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TmuxIdentity {
    /// The path of the server's socket.
    pub socket_path: String,
    /// The server's process id.
    pub server_pid: u32,
    /// When the server started, in seconds since the Unix epoch.
    pub server_started_at: i64,
    /// The session, such as `$3`.
    pub session_id: String,
    /// When the session was made, in seconds since the Unix epoch.
    pub session_created_at: i64,
    /// Its first window, such as `@4`.
    pub window_id: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    Ours(TmuxIdentity),
    Other(IgnoredAny),
}

/// Reads ours, and takes anything else for nothing.
pub(super) fn ours<'de, D: Deserializer<'de>>(text: D) -> Result<Option<TmuxIdentity>, D::Error> {
    Ok(match Option::<Kept>::deserialize(text)? {
        Some(Kept::Ours(identity)) => Some(identity),
        Some(Kept::Other(IgnoredAny)) | None => None,
    })
}
