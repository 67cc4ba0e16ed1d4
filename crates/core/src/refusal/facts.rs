//! Facts of refusals that have a shape of their own.

use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// What a name was meant to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NameKind {
    /// A team id.
    Team,
    /// A member of a team.
    Member,
    /// The recipient of a message or the owner of a mailbox.
    Recipient,
    /// A delivery lane.
    Lane,
}

impl NameKind {
    /// The kind as a word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Team => "team",
            Self::Member => "member",
            Self::Recipient => "recipient",
            Self::Lane => "lane",
        }
    }
}

/// Why a dependency cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DependencyFault {
    /// A task waits for itself.
    Itself,
    /// It waits for a task that does not exist.
    Unknown(String),
    /// It waits for a task that, over others, waits for it; the ids in order.
    Cycle(Vec<String>),
}

impl DependencyFault {
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Itself => "it waits for itself".into(),
            Self::Unknown(id) => alloc::format!("there is no task {id}"),
            Self::Cycle(ids) => alloc::format!("cycle {}", ids.join(" -> ")),
        }
    }
}
