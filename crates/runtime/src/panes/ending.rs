//! Ending: one life of a member with everything that it held, and the panes of a whole team.
//!
//! What always holds: only panes whose server, id and process are the recorded ones are ended, and a session only when
//! nothing but our panes is in it; a pane of the leader's is never ended, whoever registered it.

use std::collections::BTreeMap;

use pitcrew_core::claim::EndCause;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::task::Status;
use pitcrew_core::{Name, Refusal, TaskId};

use super::{PaneError, seat_of};
use crate::desk::{Desk, NotDone};
use crate::tmux::{Ended, PaneRecord, Tmux};

/// What a life gave back when it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LifeEnd {
    /// Tasks that are pending again.
    pub tasks: Vec<String>,
    /// How many claims of lines ended.
    pub claims: usize,
}

/// What came of ending a team's panes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PanesEnded {
    /// How many panes were ended.
    pub panes: usize,
    /// Whether the team's own session went with them.
    pub session: bool,
    /// Panes that are somebody else's now and were left alone, in words.
    pub left: Vec<String>,
}

/// Ends what a life of `member` held, once it is observed over or is about to be ended: its tasks go back, its claims
/// and reservations end, its token proves nothing any more.
///
/// # Errors
/// When something cannot be kept.
pub fn end_life(desk: &Desk<'_>, member: &Name, cause: EndCause) -> Result<LifeEnd, NotDone> {
    let mut end = LifeEnd::default();
    desk.retire_token(member.as_str())?;
    for task in desk.tasks()?.tasks {
        if task.status != Status::InProgress || task.owner.as_deref() != Some(member.as_str()) {
            continue;
        }
        let id = TaskId::new(&task.id)?;
        match desk.take_back(&id, task.claim_token.as_deref()) {
            Ok(_) => end.tasks.push(task.id),
            // It was ended or claimed anew in the meantime: nothing of this life's is left in it.
            Err(NotDone::Refused(
                Refusal::StaleToken { .. }
                | Refusal::UnexpectedStatus { .. }
                | Refusal::AlreadyTerminal { .. }
                | Refusal::NotPending { .. },
            )) => {}
            Err(not_done) => return Err(not_done),
        }
    }
    end.claims = desk.end_member(member, cause)?.claims.len();
    Ok(end)
}

/// Ends every pane of the team's members that is still ours.
///
/// # Errors
/// When a record cannot be read or tmux cannot be asked.
pub fn end_all(desk: &Desk<'_>, team: &Team, tmux: &Tmux) -> Result<PanesEnded, PaneError> {
    let mut ended = PanesEnded::default();
    let mut panes: Vec<(Name, PaneRecord)> = Vec::new();
    for member in &team.workers {
        if let Ok(name) = Name::new(NameKind::Member, &member.name)
            && let Some(seat) = seat_of(desk, &name)?
        {
            panes.push((name, seat.pane));
        }
    }
    for (name, pane) in &panes {
        match tmux.at(&pane.server.socket_path).end_pane(pane)? {
            Ended::Ended => ended.panes += 1,
            Ended::WasGone => {}
            Ended::NotOurs => ended.left.push(format!(
                "pane {} of {name} belongs to somebody else now",
                pane.pane_id
            )),
        }
    }
    let Some(identity) = &team.tmux_identity else {
        return Ok(ended);
    };
    // A session ends with its last pane. One that stays holds what somebody else has opened there.
    let sessions: BTreeMap<&str, &PaneRecord> = panes
        .iter()
        .map(|(_, pane)| (pane.session_id.as_str(), pane))
        .collect();
    if let Some(pane) = sessions.get(identity.session_id.as_str()) {
        let found = tmux.at(&pane.server.socket_path).panes()?;
        let stays = found.iter().any(|facts| {
            facts.session_id == identity.session_id && facts.server_pid == identity.server_pid
        });
        ended.session = ended.panes > 0 && !stays;
        if stays {
            ended
                .left
                .push("the session holds panes that pitcrew did not open".into());
        }
    }
    Ok(ended)
}
