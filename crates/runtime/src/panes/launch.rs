//! Launching a team in panes: whole, or nothing of it.
//!
//! | step | taken back by |
//! |---|---|
//! | programs, profiles and both names, the team's and the session's, are looked at | nothing was begun |
//! | panes are opened, each a gate | ending those panes |
//! | the team's folder is made, with members, tokens, panes and tasks, in one step | removing it |
//! | panes are recorded, pages written | with the folder |
//! | agents are let in, awaited and told their first line | ending the panes |
//!
//! What always holds: of several launches of one name one wins; a name that is in use is refused before anything is
//! written; a team of that name that was shut down is replaced in the same step that makes the new one. A launch that
//! somebody interrupts goes no further and is taken back as one that failed.

use std::path::PathBuf;

use pitcrew_core::identity::hash_token;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Team, TmuxIdentity};
use pitcrew_core::{Name, Refusal};
use pitcrew_store::StoreExt;
use pitcrew_store::documents::Shutdown;
use pitcrew_store::files::write_file;
use pitcrew_store::local::Creation;

use super::first_line::{Begun, Fresh, begin};
use super::{PaneError, Site, Start};
use crate::desk::{Blueprint, NotDone, Plan};
use crate::profile::PaneProfile;
use crate::tmux::{Ended, Opening, PaneRecord, Seat, Size, Tmux, TmuxError};
use crate::wake::PaneSeat;

/// What is to be launched.
#[derive(Debug, Clone)]
pub struct Crew<'a> {
    /// The team, its members and its tasks.
    pub plan: Plan,
    /// Where panes are opened.
    pub place: Place<'a>,
    /// The lanes with their names for people, when results are delivered into a folder of the team's.
    pub lanes: &'a [(Name, Option<String>)],
}

/// Where panes are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// In a session of the team's own.
    Own,
    /// Beside a pane of the user's, in its window, as the user asked for.
    Splits(&'a PaneRecord),
    /// In windows of the session of a pane of the user's, as the user asked for.
    Windows(&'a PaneRecord),
}

/// A team that was launched.
#[derive(Debug, Clone)]
pub struct Launched {
    /// The team as it is kept.
    pub team: Team,
    /// Its members, in order.
    pub members: Vec<Begun>,
}

/// The name of a team's own session.
#[must_use]
pub fn session_of(team: &Name) -> String {
    format!("omp-team-{team}")
}

/// A member on its way.
struct Newcomer<'a> {
    name: Name,
    profile: &'a PaneProfile,
    token: String,
}

/// What a launch has begun so far.
#[derive(Default)]
struct SoFar {
    opened: Vec<PaneRecord>,
    founded: bool,
}

/// Launches a team.
///
/// # Errors
/// [`PaneError`]; what was begun is taken back then, or [`PaneError::LeftBehind`] says what could not be.
pub fn launch(site: &Site<'_>, crew: &Crew<'_>) -> Result<Launched, PaneError> {
    let mut blueprint = site.desk.draw_up(&crew.plan)?;
    let newcomers = newcomers(site, &mut blueprint)?;
    site.tmux.version()?;
    let session = session_of(site.desk.team_id());
    refuse_taken_name(site)?;
    if crew.place == Place::Own && site.tmux.has_session(&session)? {
        return Err(taken(site, &session));
    }
    let mut so_far = SoFar::default();
    let launched = open_and_begin(site, crew, &mut blueprint, &newcomers, &mut so_far);
    launched.map_err(|why| take_back(site, &so_far, why))
}

/// Checks every member, and gives each its first token.
fn newcomers<'a>(
    site: &Site<'a>,
    blueprint: &mut Blueprint,
) -> Result<Vec<Newcomer<'a>>, PaneError> {
    let mut all = Vec::new();
    for member in blueprint.team.workers.clone() {
        let profile = site.profile(&member)?;
        site.locate(&member.name, profile)?;
        let token = fresh_token(site)?;
        blueprint
            .team
            .incarnate(&member.name, hash_token(&token))
            .map_err(NotDone::from)?;
        let name = Name::new(NameKind::Member, &member.name).map_err(NotDone::from)?;
        all.push(Newcomer {
            name,
            profile,
            token,
        });
    }
    Ok(all)
}

pub(super) fn fresh_token(site: &Site<'_>) -> Result<String, PaneError> {
    let mut bytes = [0; 32];
    site.desk.entropy().fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A name that is in use is refused before anything is opened; whoever comes in between is met when the team is made.
fn refuse_taken_name(site: &Site<'_>) -> Result<(), PaneError> {
    if site.store.view::<Team>(&())?.is_some() && site.desk.shut_down_at()?.is_none() {
        let team = site.desk.team_id().to_string();
        return Err(NotDone::from(Refusal::TeamExists { team }).into());
    }
    Ok(())
}

fn taken(site: &Site<'_>, session: &str) -> PaneError {
    PaneError::SessionExists {
        session: session.to_owned(),
        team: site.desk.team_id().to_string(),
    }
}

/// Makes the team's folder; one that was shut down makes room.
fn found(site: &Site<'_>, blueprint: &Blueprint) -> Result<(), PaneError> {
    let created = site.project.create_team_over(
        site.desk.team_id(),
        &blueprint.team,
        &blueprint.tasks,
        |before| Ok(before.view::<Shutdown>(&())?.is_some()),
    )?;
    match created {
        Creation::Created(_) => Ok(()),
        Creation::Taken(there) => Err(NotDone::from(Refusal::TeamExists { team: there }).into()),
    }
}

fn open_and_begin(
    site: &Site<'_>,
    crew: &Crew<'_>,
    blueprint: &mut Blueprint,
    newcomers: &[Newcomer<'_>],
    so_far: &mut SoFar,
) -> Result<Launched, PaneError> {
    let seats: Vec<Seat> = newcomers
        .iter()
        .map(|newcomer| site.seat(&newcomer.name))
        .collect();
    so_far.opened = open(site, crew, &seats)?;
    let opened = &so_far.opened;
    let Some(first) = opened.first() else {
        return Err(NotDone::from(Refusal::input("members", "there must be one at least")).into());
    };
    let tmux = site.tmux.at(&first.server.socket_path);
    write_down(site, crew, &mut blueprint.team, newcomers, opened)?;
    tmux.heed()?;
    found(site, blueprint)?;
    so_far.founded = true;
    write_manifest(site, crew, opened)?;
    let team = &blueprint.team;
    let mut fresh = Vec::new();
    for (newcomer, pane) in newcomers.iter().zip(opened) {
        keep_seat(site, &newcomer.name, newcomer.profile, 1, pane)?;
        let Some(member) = team.member(newcomer.name.as_str()) else {
            let member = newcomer.name.to_string();
            return Err(PaneError::NoPane { member });
        };
        site.furnish(team, member)?;
        let task = site.task_of(member)?;
        fresh.push(Fresh {
            member: newcomer.name.clone(),
            pane: pane.clone(),
            profile: newcomer.profile,
            line: site.first_line(&newcomer.name, newcomer.profile, task.as_ref()),
        });
    }
    for newcomer in newcomers {
        site.let_in(
            &newcomer.name,
            newcomer.profile,
            &newcomer.token,
            Start::Fresh,
        )?;
    }
    let members = begin(site, &tmux, &fresh)?;
    tmux.heed()?;
    Ok(Launched {
        team: team.clone(),
        members,
    })
}

fn open(site: &Site<'_>, crew: &Crew<'_>, seats: &[Seat]) -> Result<Vec<PaneRecord>, PaneError> {
    let session = session_of(site.desk.team_id());
    let opening = match crew.place {
        Place::Splits(of) => Opening::Splits { of: &of.pane_id },
        Place::Windows(beside) => Opening::Windows { beside },
        Place::Own => Opening::Session {
            name: &session,
            size: Size::default(),
        },
    };
    match site.tmux.open(opening, seats) {
        Err(TmuxError::NameTaken { session }) => Err(taken(site, &session)),
        opened => Ok(opened?),
    }
}

/// Puts into the team who sits where, before any agent runs.
fn write_down(
    site: &Site<'_>,
    crew: &Crew<'_>,
    team: &mut Team,
    newcomers: &[Newcomer<'_>],
    opened: &[PaneRecord],
) -> Result<(), PaneError> {
    for (newcomer, pane) in newcomers.iter().zip(opened) {
        team.sit(newcomer.name.as_str(), Some(pane.pane_id.clone()))
            .map_err(NotDone::from)?;
    }
    if crew.place == Place::Own {
        team.tmux_session = Some(session_of(site.desk.team_id()));
        team.tmux_identity = opened.first().map(|first| TmuxIdentity {
            socket_path: first.server.socket_path.to_string_lossy().into_owned(),
            server_pid: first.server.server_pid,
            server_started_at: first.server.server_started_at,
            session_id: first.session_id.clone(),
            session_created_at: first.session_created_at,
            window_id: first.window_id.clone(),
        });
    }
    Ok(())
}

/// The folder of a team into which its lanes deliver.
#[must_use]
pub fn delivery_folder(site: &Site<'_>) -> PathBuf {
    site.store.folder().join("delivery")
}

/// Makes the delivery folder with its list of lanes, where there are any.
fn write_manifest(
    site: &Site<'_>,
    crew: &Crew<'_>,
    opened: &[PaneRecord],
) -> Result<(), PaneError> {
    if crew.lanes.is_empty() {
        return Ok(());
    }
    let lanes = crew.lanes.iter().zip(opened);
    let rows: Vec<serde_json::Value> = lanes
        .map(|((id, name), pane)| {
            let mut row = serde_json::json!({ "id": id.as_str() });
            if let Some(name) = name {
                row["name"] = name.as_str().into();
            }
            row["paneId"] = pane.pane_id.as_str().into();
            row
        })
        .collect();
    let text = serde_json::Value::from(rows).to_string();
    write_file(&delivery_folder(site), "manifest.json", text.as_bytes())?;
    Ok(())
}

/// Writes down in which pane a member's agent sits.
pub(super) fn keep_seat(
    site: &Site<'_>,
    member: &Name,
    profile: &PaneProfile,
    incarnation: u32,
    pane: &PaneRecord,
) -> Result<(), PaneError> {
    let seat = PaneSeat {
        profile: profile.name.clone(),
        incarnation,
        opened_at: site.desk.now(),
        pane: pane.clone(),
    };
    site.store.change(member, |slot: &mut Option<PaneSeat>| {
        *slot = Some(seat.clone());
    })?;
    Ok(())
}

/// Ends what was opened and removes what was written.
fn take_back(site: &Site<'_>, so_far: &SoFar, why: PaneError) -> PaneError {
    let mut left = Vec::new();
    for pane in &so_far.opened {
        let tmux: Tmux = site.tmux.unheeding().at(&pane.server.socket_path);
        match tmux.end_pane(pane) {
            Ok(Ended::Ended | Ended::WasGone | Ended::NotOurs) => {}
            Err(error) => left.push(format!("pane {}: {error}", pane.pane_id)),
        }
    }
    if so_far.founded
        && let Err(failure) = site.project.remove_team(site.desk.team_id())
    {
        left.push(failure.in_words());
    }
    match left.is_empty() {
        true => why,
        false => PaneError::LeftBehind {
            why: Box::new(why),
            left: left.join("; "),
        },
    }
}
