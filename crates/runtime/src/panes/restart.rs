//! A member anew: a new incarnation in a new pane, and the old one fenced.
//!
//! The new pane is opened first, so that the session stays; its gate is closed until the old agent has ended, its tasks
//! have gone back and its token proves nothing any more. So two lives of one member never work side by side.
//!
//! A person asks with [`restart`], whatever happened before; the monitor with [`renew`], when the member's policy says that
//! it is due. Of several who ask at once one starts it.

use pitcrew_core::Name;
use pitcrew_core::claim::EndCause;
use pitcrew_core::event::Fact;
use pitcrew_store::StoreExt;

use super::first_line::{Begun, Fresh, begin};
use super::launch::{keep_seat, session_of};
use super::lives::{self, By, Turn};
use super::{LifeEnd, PaneError, Site, Start, end_life, seat_of};
use crate::tmux::{Ended, Opening, PaneRecord, Size, Tmux};
use crate::wake::NudgeRecord;

/// What a restart did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restarted {
    /// How the new life began.
    pub begun: Begun,
    /// Its number.
    pub incarnation: u32,
    /// Whether the old pane was still there and was ended.
    pub ended: Ended,
    /// What the old life gave back.
    pub before: LifeEnd,
}

/// Starts `member` anew.
///
/// # Errors
/// [`PaneError`]. The new pane is ended again then; the old life is over all the same, once its end had begun.
pub fn restart(site: &Site<'_>, member: &Name, start: Start) -> Result<Restarted, PaneError> {
    let seat = seat_of(&site.desk, member)?;
    let Some(seat) = seat else {
        return Err(PaneError::NoPane {
            member: member.to_string(),
        });
    };
    site.desk.open_roster()?;
    match lives::begin(&site.desk, member, seat.incarnation, By::Request)? {
        Turn::Mine => {}
        Turn::Theirs | Turn::NotDue => {
            return Err(PaneError::BeingStarted {
                member: member.to_string(),
            });
        }
    }
    let restarted = start_anew(site, member, start, By::Request);
    lives::end_start(&site.desk, member, seat.incarnation, None)?;
    restarted
}

/// Starts `member` anew whose life `incarnation` is over, if that is due by its policy; `None` when it is not. A start that
/// fails is counted as a restart, and what the policy says to that is kept.
///
/// # Errors
/// As [`restart`].
pub fn renew(
    site: &Site<'_>,
    member: &Name,
    incarnation: u32,
) -> Result<Option<Restarted>, PaneError> {
    match lives::begin(&site.desk, member, incarnation, By::Policy)? {
        Turn::Mine => {}
        Turn::Theirs | Turn::NotDue => return Ok(None),
    }
    let restarted = start_anew(site, member, Start::Fresh, By::Policy);
    let latest = seat_of(&site.desk, member)?.map_or(incarnation, |seat| seat.incarnation);
    let failed = restarted.as_ref().err().map(ToString::to_string);
    lives::end_start(&site.desk, member, latest, failed.as_deref())?;
    restarted.map(Some)
}

fn start_anew(
    site: &Site<'_>,
    member: &Name,
    start: Start,
    by: By,
) -> Result<Restarted, PaneError> {
    let team = site.desk.open_roster()?;
    let known = team.member(member.as_str()).cloned();
    let (Some(known), Some(seat)) = (known, seat_of(&site.desk, member)?) else {
        return Err(PaneError::NoPane {
            member: member.to_string(),
        });
    };
    let profile = site.profile(&known)?;
    site.locate(&known.name, profile)?;
    let tmux = site.tmux.at(&seat.pane.server.socket_path);
    site.shut_out(member)?;
    let pane = open_beside(site, &tmux, member, &seat.pane)?;
    let renewed = replace(site, &tmux, member, &seat.pane, &pane, start);
    if renewed.is_err() {
        // A gate without a file gives up by itself; the reason that counts is the first one.
        let _ = tmux.end_pane(&pane);
    }
    let renewed = renewed?;
    site.desk.announce(&[Fact::AgentRestarted {
        member: member.clone(),
        incarnation: renewed.incarnation,
        by: by.word().to_string(),
    }]);
    Ok(renewed)
}

fn replace(
    site: &Site<'_>,
    tmux: &Tmux,
    member: &Name,
    old: &PaneRecord,
    pane: &PaneRecord,
    start: Start,
) -> Result<Restarted, PaneError> {
    let before = end_life(&site.desk, member, EndCause::Stopped)?;
    let ended = tmux.end_pane(old)?;
    let (token, incarnation) = site.desk.issue_token(member.as_str())?;
    let team = site.desk.change_roster(|team| {
        team.sit(member.as_str(), Some(pane.pane_id.clone()))?;
        Ok(team.clone())
    })?;
    let Some(known) = team.member(member.as_str()) else {
        return Err(PaneError::NoPane {
            member: member.to_string(),
        });
    };
    let profile = site.profile(known)?;
    keep_seat(site, member, profile, incarnation, pane)?;
    // A shutdown that has not seen this seat was written down before it, and ends the new life here.
    site.desk.open_roster()?;
    forget_lines(site, member)?;
    site.furnish(&team, known)?;
    let task = site.task_of(known)?;
    site.let_in(member, profile, &token, start)?;
    let fresh = Fresh {
        member: member.clone(),
        pane: pane.clone(),
        profile,
        line: site.first_line(member, profile, task.as_ref()),
    };
    let begun = begin(site, tmux, &[fresh])?.remove(0);
    Ok(Restarted {
        begun,
        incarnation,
        ended,
        before,
    })
}

/// A new window in the session of the team, which is made again where it is gone.
fn open_beside(
    site: &Site<'_>,
    tmux: &Tmux,
    member: &Name,
    old: &PaneRecord,
) -> Result<PaneRecord, PaneError> {
    let is_ours = tmux.has_session_of(old)?;
    let name = session_of(site.desk.team_id());
    let opening = match is_ours {
        true => Opening::Windows { beside: old },
        false => Opening::Session {
            name: &name,
            size: Size::default(),
        },
    };
    let mut opened = tmux.open(opening, &[site.seat(member)])?;
    Ok(opened.remove(0))
}

/// What was typed for the old life was typed into another pane.
fn forget_lines(site: &Site<'_>, member: &Name) -> Result<(), PaneError> {
    site.store
        .change(member, |slot: &mut Option<NudgeRecord>| *slot = None)?;
    Ok(())
}
