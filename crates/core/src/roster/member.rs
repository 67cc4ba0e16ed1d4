//! One member of a team as the roster keeps it: present, former, and to be.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::time::Timestamp;

/// Where a member sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    /// An interactive agent CLI in a tmux pane.
    #[default]
    Pane,
    /// An agent CLI run turn by turn.
    Headless,
    /// An agent inside a Rust program.
    Model,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Unique in the team without regard to case. Free text when another program wrote it.
    pub name: String,
    /// The role's name.
    #[serde(default)]
    pub role: String,
    /// The tmux pane, while it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<String>,
    /// The task that it was started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Where it sits; `pane` when the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<Seat>,
    /// The profile of its agent CLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// 1 for the first life of this name, one more for each respawn.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub incarnation: u32,
    /// SHA-256 of the token of this incarnation, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hash: Option<String>,
}

/// A member that is no more: its name may be used again, its incarnations go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Former {
    /// The name that it had.
    pub name: String,
    /// Its last incarnation.
    pub incarnation: u32,
    /// When it left.
    pub left_at: Timestamp,
}

/// A member to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recruit {
    /// Its name.
    pub name: Name,
    /// Its role.
    pub role: String,
    /// Where it will sit.
    pub seat: Seat,
    /// The profile of its agent CLI.
    pub profile: Option<String>,
    /// The task that it is started for.
    pub task_id: Option<String>,
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_first(n: &u32) -> bool {
    *n == 1
}
