//! Founds the team, or goes on with the one that is there; and sees to it that one run at a time drives it.
//!
//! | the team | what happens |
//! |---|---|
//! | is not there | it is founded |
//! | is there | it is gone on with: what the file adds or changes is taken, what failed is tried again, what is completed stays |
//! | is there, and is to be fresh | it is removed and founded, unless something of it still runs |
//!
//! What always holds: of several runs that begin at once one has the team, by a transaction on `run.json`; a record of
//! a run whose process is observed gone stops nobody; of a run that nobody can look at, a person decides.

use std::time::Duration;

use pitcrew_core::roster::{Member, Recruit, Seat, Team};
use pitcrew_core::task::Status;
use pitcrew_core::{Refusal, TaskId, Timestamp};
use pitcrew_store::documents::Shutdown;
use pitcrew_store::local::Creation;
use pitcrew_store::{LocalStore, Store, StoreExt};

use super::driver::notices::lost_in_words;
use super::event::{Fact, Founded};
use super::outfit::WORK;
use super::record::RunRecord;
use super::{Beginning, Doubt, RunError, Setup, Tools, Watcher, aftermath, own, own_identity};
use crate::clock::Entropy;
use crate::desk::{Desk, Founding, LimitChange, NotDone, Plan, Unsaid};
use crate::process::Presence;
use crate::teamfile::MemberEntry;

mod tasks;

/// A reservation is kept so much longer than its turn may take.
const TTL_SLACK_MS: u64 = 60_000;

/// The team that a run stands on.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) store: LocalStore,
    pub(super) run: String,
    pub(super) founded: Founded,
}

/// Makes the team ready, and this run the one that drives it.
///
/// # Errors
/// When another run drives it, or may; when the file's members or tasks cannot be.
pub(super) async fn ground(
    setup: &Setup<'_>,
    tools: &Tools,
    watcher: &mut dyn Watcher,
) -> Result<Ground, RunError> {
    let store = setup.project.team(&setup.file.name);
    let unsaid = Unsaid::new();
    let desk = Desk::new(&setup.file.name, &store, &*tools.clock, &tools.entropy).noting(&unsaid);
    if setup.beginning == Beginning::Fresh && store.view::<Team>(&())?.is_some() {
        // The old team's run must be over before its files may go.
        let run = drive_alone(&desk, setup, tools)?;
        let cleared = clear_the_ground(setup, &desk, tools, watcher).await;
        let_go_on_failure(&desk, &run, cleared)?;
        setup.project.remove_team(&setup.file.name)?;
    }
    let blueprint = desk.draw_up(&members_only(setup))?;
    let founded = match setup
        .project
        .create_team(&setup.file.name, &blueprint.team)?
    {
        Creation::Created(_) => {
            desk.tell_founded(&blueprint);
            Founded::Anew
        }
        Creation::Taken(there) if there == setup.file.name.as_str() => Founded::Before,
        Creation::Taken(there) => {
            return Err(NotDone::from(Refusal::TeamExists { team: there }).into());
        }
    };
    let run = drive_alone(&desk, setup, tools)?;
    let prepared = prepare(setup, &desk, &store, founded, tools, watcher).await;
    let_go_on_failure(&desk, &run, prepared)?;
    if let Some(lost) = unsaid.take() {
        let note = lost_in_words(&lost);
        tools.tell(watcher, &Fact::Noted { note });
    }
    Ok(Ground {
        store,
        run,
        founded,
    })
}

/// A run that cannot begin lets go of the team.
fn let_go_on_failure(
    desk: &Desk<'_>,
    run: &str,
    prepared: Result<(), RunError>,
) -> Result<(), RunError> {
    if prepared.is_err() {
        over(desk.store(), run, "refused", desk.now())?;
    }
    prepared
}

async fn prepare(
    setup: &Setup<'_>,
    desk: &Desk<'_>,
    store: &LocalStore,
    founded: Founded,
    tools: &Tools,
    watcher: &mut dyn Watcher,
) -> Result<(), RunError> {
    if founded == Founded::Before {
        aftermath::clear(setup, desk, tools, watcher).await?;
        catch_up(setup, desk, tools, watcher)?;
    }
    set_limits(setup, desk)?;
    tasks::bring_up(setup, desk, tools, watcher)?;
    let names = ["pitcrew", "omp"];
    store.link_programs(&names, &setup.program)?;
    for member in &setup.file.members {
        let made = store.worker(&member.name).within(WORK);
        let made = made.and_then(|work| work.make_folder());
        if let Err(failed) = made.map_err(NotDone::from) {
            // Its turns cannot begin and say so; the others go on.
            let why = own::in_full(&failed);
            own::unless_a_members(failed)?;
            let note = format!("{} has no folder to work in: {why}", member.name);
            tools.tell(watcher, &Fact::Noted { note });
        }
    }
    Ok(())
}

/// Sets what the file says about limits. Where there are any, what a turn sets aside is kept for as long as the longest
/// turn may take, so that nothing lapses under a member that works.
fn set_limits(setup: &Setup<'_>, desk: &Desk<'_>) -> Result<(), NotDone> {
    let mut change = setup.file.limits.clone();
    let before = desk.limiter();
    if change == LimitChange::default() && !before.as_ref().is_ok_and(|kept| kept.limits().is_on())
    {
        return Ok(());
    }
    let kept = before?.limits().reservation_ttl_ms;
    let profile_limit = |member: &MemberEntry| {
        let profile = setup.profiles.get(&member.profile).ok();
        let ms = profile.map_or(0, |profile| profile.time_limit_ms());
        u64::try_from(ms).unwrap_or(0)
    };
    let ms = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let members = setup.file.members.iter();
    let turns = members.map(|member| member.turn_limit.map_or_else(|| profile_limit(member), ms));
    let tasks = setup
        .file
        .tasks
        .iter()
        .filter_map(|task| task.time_limit)
        .map(ms);
    let longest = turns.chain(tasks).max().unwrap_or(0);
    let ttl = longest
        .saturating_add(ms(setup.grace))
        .saturating_add(TTL_SLACK_MS);
    change.reservation_ttl_ms = Some(ttl.max(kept));
    desk.set_limits(&change)?;
    Ok(())
}

/// Ends what an earlier run left of a team that is to be removed, and refuses when somebody else is at work in it.
async fn clear_the_ground(
    setup: &Setup<'_>,
    desk: &Desk<'_>,
    tools: &Tools,
    watcher: &mut dyn Watcher,
) -> Result<(), RunError> {
    aftermath::clear(setup, desk, tools, watcher).await?;
    let mut running = Vec::new();
    if desk.shut_down_at()?.is_none() {
        for member in desk.roster()?.workers {
            if let Some(pane) = member.pane_id {
                running.push(format!("{} (pane {pane})", member.name));
            }
        }
        for task in desk.tasks()?.tasks {
            if task.status == Status::InProgress {
                let owner = task.owner.unwrap_or_default();
                running.push(format!("task {} of {owner}", task.id));
            }
        }
    }
    if running.is_empty() {
        return Ok(());
    }
    let team = setup.file.name.to_string();
    Err(NotDone::from(Refusal::TeamLive { team, running }).into())
}

fn members_only(setup: &Setup<'_>) -> Plan {
    let file = &setup.file;
    Plan {
        founding: Founding {
            goal: file.goal.clone(),
            role: file
                .members
                .first()
                .map(|member| member.role.name.clone())
                .unwrap_or_default(),
            team_name: None,
            cwd: setup.project.root().to_string_lossy().into_owned(),
            settings: None,
        },
        members: file.members.iter().map(recruit).collect(),
        tasks: Vec::new(),
    }
}

fn recruit(member: &MemberEntry) -> Recruit {
    Recruit {
        name: member.name.clone(),
        role: member.role.name.clone(),
        seat: Seat::Headless,
        profile: Some(member.profile.clone()),
        task_id: None,
    }
}

/// Makes this run the one that drives the team, and answers its id.
fn drive_alone(desk: &Desk<'_>, setup: &Setup<'_>, tools: &Tools) -> Result<String, RunError> {
    let record = RunRecord {
        run: tools.entropy.id()?,
        process: own_identity(),
        started_at: desk.now(),
        ended_at: None,
        outcome: None,
    };
    loop {
        let seen = desk.store().view::<RunRecord>(&())?;
        if let Some(before) = &seen {
            judge(before, setup)?;
        }
        let ours = desk.store().update::<RunRecord, bool, ()>(&(), |slot| {
            let unchanged = *slot == seen;
            if unchanged {
                *slot = Some(record.clone());
            }
            if unchanged { Ok(true) } else { Err(()) }
        })?;
        // Another run began in between: look at that one.
        if ours.is_ok() {
            return Ok(record.run);
        }
    }
}

fn judge(before: &RunRecord, setup: &Setup<'_>) -> Result<(), RunError> {
    if before.ended_at.is_some() || before.process == own_identity() {
        return Ok(());
    }
    let team = setup.file.name.clone();
    match (before.process.presence(), setup.doubt) {
        (Presence::Alive, _) => Err(RunError::AlreadyRunning {
            team,
            pid: before.process.pid,
            since: before.started_at,
        }),
        (Presence::CannotTell(why), Doubt::Refuse) => Err(RunError::MayStillRun {
            team,
            what: "the run".to_string(),
            pid: before.process.pid,
            why,
        }),
        (Presence::Gone | Presence::Recycled | Presence::CannotTell(_), _) => Ok(()),
    }
}

/// Brings a team that was there before up to what the file says about it and its members.
fn catch_up(
    setup: &Setup<'_>,
    desk: &Desk<'_>,
    tools: &Tools,
    watcher: &mut dyn Watcher,
) -> Result<(), RunError> {
    let file = &setup.file;
    desk.store()
        .update::<Shutdown, (), Refusal>(&(), |slot| {
            *slot = None;
            Ok(())
        })?
        .map_err(NotDone::from)?;
    let changed = desk.store().update::<Team, (), Refusal>(&(), |slot| {
        let Some(team) = slot else {
            return Err(Refusal::TeamNotFound {
                given: file.name.to_string(),
                valid: Vec::new(),
                nearest: None,
            });
        };
        team.task.clone_from(&file.goal);
        for entry in &file.members {
            let known = |member: &&mut Member| entry.name.as_str() == member.name;
            match team.workers.iter_mut().find(known) {
                Some(member) => {
                    member.role.clone_from(&entry.role.name);
                    member.profile = Some(entry.profile.clone());
                    member.seat = Some(Seat::Headless);
                }
                None => team.add(recruit(entry))?,
            }
        }
        Ok(())
    })?;
    changed.map_err(NotDone::from)?;
    for task in desk.tasks()?.tasks {
        if task.status == Status::Failed {
            let id = TaskId::new(&task.id).map_err(NotDone::from)?;
            desk.retry(&id)?;
            let why = "it failed in an earlier run".to_string();
            tools.tell(watcher, &Fact::PutBack { task: task.id, why });
        }
    }
    Ok(())
}

/// Writes down that the run is over.
///
/// # Errors
/// When that cannot be kept.
pub(super) fn over(
    store: &dyn Store,
    run: &str,
    outcome: &str,
    now: Timestamp,
) -> Result<(), NotDone> {
    let _another_run_has_it = store.update::<RunRecord, (), ()>(&(), |slot| match slot {
        Some(record) if record.run == run => {
            record.ended_at = Some(now);
            record.outcome = Some(outcome.to_string());
            Ok(())
        }
        _ => Err(()),
    })?;
    Ok(())
}
