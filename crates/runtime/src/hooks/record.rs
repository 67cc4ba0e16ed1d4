//! `workers/<name>/.hook.json`: what the hooks of one life of a member have told and shown.

use pitcrew_core::hook::Told;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Document, Place, StoreExt, StoreFailure};
use serde::{Deserialize, Serialize};

use crate::desk::Desk;
use crate::process::{Identity, Presence};

/// What they have told and shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HookRecord {
    /// The profile whose hooks spoke last.
    #[serde(default)]
    pub profile: String,
    /// The member's incarnation that they spoke for.
    #[serde(default)]
    pub incarnation: u32,
    /// What they told and showed.
    #[serde(flatten)]
    pub told: Told,
    /// The process that waits beside the idle program and begins a turn when there is mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiter: Option<Identity>,
    /// When it began a turn: it ends then, and the turn's own hook shows the mail a moment later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rang_at: Option<Timestamp>,
}

/// For so long a turn that was rung for may take to begin.
const BEGINNING_MS: i64 = 5_000;

impl Document for HookRecord {
    type Id = Name;

    fn place(member: &Name) -> Place {
        Place::Hook(member.clone())
    }
}

/// What the hooks of this life of `member` have told; `None` when none has spoken.
///
/// # Errors
/// When it cannot be read.
pub fn told(
    desk: &Desk<'_>,
    member: &Name,
    incarnation: u32,
) -> Result<Option<HookRecord>, StoreFailure> {
    let record = match desk.store().view::<HookRecord>(member) {
        // It is rebuilt by the next hook; until then nothing was told.
        Err(StoreFailure::CorruptDocument { .. }) => None,
        record => record?,
    };
    Ok(record.filter(|record| record.incarnation == incarnation))
}

/// Whether a process waits beside the idle program of this life of `member`, or has just begun a turn of it, so that its
/// mail needs no key.
///
/// # Errors
/// When it cannot be read.
pub fn is_waiting(desk: &Desk<'_>, member: &Name, incarnation: u32) -> Result<bool, StoreFailure> {
    let record = told(desk, member, incarnation)?;
    Ok(record.is_some_and(|record| {
        let begins = |at: Timestamp| desk.now().millis_since(at) < BEGINNING_MS;
        record.rang_at.is_some_and(begins)
            || record
                .waiter
                .is_some_and(|waiter| waiter.presence() == Presence::Alive)
    }))
}
