//! The leader's pane: one that pitcrew did not open and that somebody registered, so that it may be woken.
//!
//! What always holds: only mail wakes it, never idling; it is typed into through the same gates as any other; it is never
//! ended, resized or started anew.

use pitcrew_core::Name;
use pitcrew_store::StoreExt;

use super::launch::keep_seat;
use super::{PaneError, Site};
use crate::tmux::PaneRecord;
use crate::wake::{NudgeRecord, PaneSeat};

/// Notes that the leader sits in the pane `pane_id` of the caller's tmux server, and that `profile` describes its program.
///
/// # Errors
/// When there is no such pane, or the profile is not known.
pub fn register_leader(
    site: &Site<'_>,
    pane_id: &str,
    profile: &str,
) -> Result<PaneRecord, PaneError> {
    let leader = Name::leader();
    let profile = site
        .profiles
        .get(profile)
        .map_err(|absent| PaneError::Profile {
            member: leader.to_string(),
            why: absent.to_string(),
        })?;
    site.desk.roster()?;
    let pane = site.tmux.record_of(pane_id)?.ok_or(PaneError::NoPane {
        member: format!("nobody: there is no pane {pane_id}; the leader"),
    })?;
    keep_seat(site, &leader, profile, 1, &pane)?;
    site.desk.change_roster(|team| {
        team.leader_pane_id = Some(pane.pane_id.clone());
        Ok(())
    })?;
    Ok(pane)
}

/// Forgets the leader's pane; answers whether there was one.
///
/// # Errors
/// When that cannot be kept.
pub fn forget_leader(site: &Site<'_>) -> Result<bool, PaneError> {
    let leader = Name::leader();
    site.desk.change_roster(|team| {
        team.leader_pane_id = None;
        Ok(())
    })?;
    let had = site
        .store
        .change(&leader, |slot: &mut Option<PaneSeat>| slot.take().is_some())?;
    site.store
        .change(&leader, |slot: &mut Option<NudgeRecord>| *slot = None)?;
    Ok(had)
}
