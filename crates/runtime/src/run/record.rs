//! What a run writes down beside tasks and mail, so that another program can tell how things stand, and another run
//! can go on after this one was killed.
//!
//! | document | written | read by |
//! |---|---|---|
//! | `run.json` | when a run begins and when it ends | a second run (is the first alive?), status |
//! | `workers/<name>/process.json` | before a turn's claim, after its process started, after its end | the next run |
//! | `workers/<name>/session.json` | after a turn | the member's next turn |
//!
//! What always holds: a turn's id is on disk before anything of the turn happens, so whatever it claimed, leased or
//! started can be found again by it.

use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Document, Place};
use serde::{Deserialize, Serialize};

use crate::process::Identity;
use crate::profile::Usage;

/// The run that drives a team, or drove it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// Its id.
    pub run: String,
    /// The process that drives it.
    pub process: Identity,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended in good order. Absent while it goes on, and for ever when it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// The latest turn of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessRecord {
    /// The turn's id: the mark that all its processes carry.
    pub turn: String,
    /// Its number among the member's turns, which also names its folder.
    pub number: u32,
    /// The run that it belongs to.
    pub run: String,
    /// The task that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The token of that task's claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_token: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// Its first process, once that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Identity>,
    /// When it was over, with all that came of it recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// What a member's agent needs to go on where it stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    /// The profile whose session it is.
    pub profile: String,
    /// Its id, as the agent names it.
    pub session: String,
    /// The turn that reported it.
    pub turn: u32,
    /// What the agent had counted by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Usage>,
}

impl Document for RunRecord {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Run
    }
}

impl Document for ProcessRecord {
    type Id = Name;

    fn place(member: &Name) -> Place {
        Place::Process(member.clone())
    }
}

impl Document for SessionRecord {
    type Id = Name;

    fn place(member: &Name) -> Place {
        Place::Session(member.clone())
    }
}
