//! What of a team is still at work, so that nobody pulls it away from under somebody, and so that a shutdown ends it.
//!
//! | at work | shown by |
//! |---|---|
//! | a run that drives the team | `run.json` without an end, and its process is the very one |
//! | a turn of a member | `workers/<name>/process.json` without an end, and its process is the very one |
//! | an agent in a pane | `workers/<name>/pane.json`, and the pane's process is the very one |
//! | whoever holds a task | the task in progress, however silent its owner is, until the team is shut down |
//!
//! A pid alone is no evidence: a process counts by its start time and boot. Where nobody can tell (another container),
//! it counts as at work for removing, and is left alone for stopping.

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::task::{Status, Task};
use pitcrew_runtime::panes::seat_of;
use pitcrew_runtime::process::{Identity, Ladder, Mark, Presence, Reclaimed, reclaim};
use pitcrew_runtime::run::record::{ProcessRecord, RunRecord};
use pitcrew_store::StoreExt;

use crate::context::OpenTeam;
use crate::halt::Halt;

/// A process that was started for a turn and may still run.
struct Started {
    member: Name,
    turn: String,
    process: Identity,
    presence: Presence,
}

/// What of `team` is still at work, in words; nothing when it may be removed.
pub(crate) fn at_work(team: &OpenTeam) -> Result<Vec<String>, Halt> {
    let desk = team.desk();
    let mut found: Vec<String> = driver(team)?
        .map(|process| format!("a run (process {})", process.pid))
        .into_iter()
        .collect();
    found.extend(started(team)?.iter().map(Started::words));
    found.extend(seated(team)?);
    // Nobody works on a task of a team that was shut down: that is what its leader has said.
    let tasks = match desk.shut_down_at()? {
        Some(_) => Vec::new(),
        None => desk.tasks()?.tasks,
    };
    let held = |task: &&Task| task.status == Status::InProgress;
    let held = tasks.iter().filter(held);
    found.extend(held.map(|task| match &task.owner {
        Some(owner) => format!("task {} of {owner}", task.id),
        None => format!("task {}", task.id),
    }));
    Ok(found)
}

/// The process of the run that drives `team`, when it may still do so.
pub(super) fn driver(team: &OpenTeam) -> Result<Option<Identity>, Halt> {
    let run = team.store.view::<RunRecord>(&())?;
    let open = run.filter(|run| run.ended_at.is_none());
    Ok(open
        .map(|run| run.process)
        .filter(|process| may_run(process.presence())))
}

/// Stops what turns have started and is certainly theirs; answers what it stopped, in words. A run that drives the team
/// stops its members itself.
pub(super) fn stop(team: &OpenTeam) -> Result<Vec<String>, Halt> {
    let started = started(team)?;
    if started.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|refused| Halt::System {
            what: "stop processes",
            why: refused.to_string(),
        })?;
    let mut stopped = Vec::new();
    for process in started {
        let Ok(mark) = Mark::new(&process.turn) else {
            continue;
        };
        let ended = runtime.block_on(reclaim(&process.process, &mark, &Ladder::default()));
        if matches!(ended, Reclaimed::Stopped { .. }) {
            stopped.push(process.words());
        }
    }
    Ok(stopped)
}

/// Whether what [`stop`] looks at can be looked at.
///
/// # Errors
/// Why it cannot.
pub(super) fn can_be_told(team: &OpenTeam) -> Result<(), Halt> {
    started(team).map(drop)
}

fn may_run(presence: Presence) -> bool {
    matches!(presence, Presence::Alive | Presence::CannotTell(_))
}

fn started(team: &OpenTeam) -> Result<Vec<Started>, Halt> {
    let mut found = Vec::new();
    for member in &team.desk().roster()?.workers {
        // A name that another program wrote and that breaks the naming rule has no files here.
        let Ok(member) = Name::new(NameKind::Member, &member.name) else {
            continue;
        };
        let Some(turn) = team.store.view::<ProcessRecord>(&member)? else {
            continue;
        };
        if let (Some(process), None) = (turn.process, turn.ended_at) {
            let presence = process.presence();
            found.extend(may_run(presence).then_some(Started {
                member,
                turn: turn.turn,
                process,
                presence,
            }));
        }
    }
    Ok(found)
}

/// The agents whose panes' processes are there, in words.
fn seated(team: &OpenTeam) -> Result<Vec<String>, Halt> {
    let desk = team.desk();
    let mut found = Vec::new();
    for member in &desk.roster()?.workers {
        let Ok(name) = Name::new(NameKind::Member, &member.name) else {
            continue;
        };
        if let Some(seat) = seat_of(&desk, &name)?
            && seat.pane.process.presence() == Presence::Alive
        {
            found.push(format!("{name} (pane {})", seat.pane.pane_id));
        }
    }
    Ok(found)
}

impl Started {
    fn words(&self) -> String {
        let doubt = match self.presence {
            Presence::CannotTell(why) => format!(", if it still runs: {why}"),
            _ => String::new(),
        };
        format!("{} (process {}{doubt})", self.member, self.process.pid)
    }
}
