//! Clears away what a run left behind that did not end in good order: processes, claims, and mail that was being shown.
//!
//! What is looked for stands in each member's `process.json`: a turn without an end. Its processes are ended first,
//! so that nobody is in the middle of anything when its task is taken back.
//!
//! A task in progress is taken back from its owner when the owner's latest turn is over and the claim is that turn's
//! own, or was made while the turn ran: then nobody works on it. A claim from outside a turn is somebody's at a
//! keyboard, and stays.

use std::time::Duration;

use pitcrew_core::claim::EndCause;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Seat;
use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, Refusal, TaskId, Timestamp};
use pitcrew_store::StoreExt;
use tokio::task::JoinSet;

use super::event::Fact;
use super::post::{self, READER};
use super::record::ProcessRecord;
use super::{Doubt, RunError, Setup, Tools, Watcher, own};
use crate::desk::{Desk, NotDone};
use crate::process::{
    Blindness, Identity, Ladder, Mark, Presence, Reclaimed, Swept, reclaim, sweep,
};

/// How long the processes of a run that was killed may take to end when asked.
const GRACE: Duration = Duration::from_secs(5);

/// Clearing that takes longer than this is told.
const UNTOLD: Duration = Duration::from_millis(500);

/// Clears away what any member's unfinished turn left.
///
/// # Errors
/// `MayStillRun` for a turn whose processes cannot be looked at, unless a person said that they are gone.
pub(super) async fn clear(
    setup: &Setup<'_>,
    desk: &Desk<'_>,
    tools: &Tools,
    watcher: &mut dyn Watcher,
) -> Result<(), RunError> {
    let mut left: Vec<(Name, ProcessRecord)> = Vec::new();
    for member in desk.roster()?.workers {
        // What runs inside another program is that program's, and no turn of a run.
        if member.seat == Some(Seat::Model) {
            continue;
        }
        // A name that another program wrote and that breaks the naming rule has no files here.
        let Ok(name) = Name::new(NameKind::Member, &member.name) else {
            continue;
        };
        match desk
            .store()
            .view::<ProcessRecord>(&name)
            .map_err(NotDone::from)
        {
            Ok(record) => left.extend(record.map(|record| (name, record))),
            Err(failed) => {
                let why = own::in_full(&failed);
                own::unless_a_members(failed)?;
                let note = format!("what an earlier run left of {name} cannot be told: {why}");
                tools.tell(watcher, &Fact::Noted { note });
            }
        }
    }
    for (name, record) in &left {
        if record.ended_at.is_none() {
            can_be_judged(setup, name, record)?;
        }
    }
    let mut endings = JoinSet::new();
    for (place, (_, record)) in left.iter().enumerate() {
        if record.ended_at.is_none() {
            let (process, turn) = (record.process.clone(), record.turn.clone());
            endings.spawn(async move { (place, end(process, &turn).await) });
        }
    }
    let mut ended = vec![0; left.len()];
    let mut slow = std::pin::pin!(tokio::time::sleep(UNTOLD));
    let mut told = false;
    loop {
        let done = tokio::select! {
            done = endings.join_next() => done,
            () = &mut slow, if !told => {
                told = true;
                let note = "ending what an earlier run left".to_string();
                tools.tell(watcher, &Fact::Noted { note });
                continue;
            }
        };
        let Some(done) = done else { break };
        let (place, outcome) = done.map_err(|broken| RunError::System {
            what: "end what an earlier run left",
            why: broken.to_string(),
        })?;
        ended[place] = outcome;
    }
    for ((name, record), ended) in left.into_iter().zip(ended) {
        if record.ended_at.is_none() {
            // What could not be ended can speak for nobody from here on.
            desk.retire_token(name.as_str())?;
            // Its lines, its waits and what it had set aside are free before anybody is told.
            if let Err(failed) = desk.end_member(&name, EndCause::Crashed) {
                let why = own::in_full(&failed);
                let note =
                    format!("what {name} held ends by its deadline, for it cannot be ended: {why}");
                tools.tell(watcher, &Fact::Noted { note });
            }
        }
        let tasks = take_back(desk, &name, &record)?;
        // What the turn was showing is shown again by the next.
        post::let_go(desk, &name, |reader| reader == READER)?;
        if record.ended_at.is_none() {
            close(desk, &name, &record)?;
        }
        if ended > 0 || !tasks.is_empty() {
            let fact = Fact::Reclaimed {
                member: name,
                ended,
                tasks,
            };
            tools.tell(watcher, &fact);
        }
    }
    Ok(())
}

fn can_be_judged(setup: &Setup<'_>, name: &Name, record: &ProcessRecord) -> Result<(), RunError> {
    let Some(process) = &record.process else {
        return Ok(());
    };
    match (process.presence(), setup.doubt) {
        (Presence::CannotTell(why), Doubt::Refuse) => Err(may_still_run(setup, name, process, why)),
        _ => Ok(()),
    }
}

fn may_still_run(setup: &Setup<'_>, name: &Name, process: &Identity, why: Blindness) -> RunError {
    RunError::MayStillRun {
        team: setup.file.name.clone(),
        what: format!("member {name}"),
        pid: process.pid,
        why,
    }
}

/// Ends every process of a turn, and answers how many there were.
async fn end(process: Option<Identity>, turn: &str) -> u32 {
    // A record that we did not write marks nothing of ours.
    let Ok(mark) = Mark::new(turn) else { return 0 };
    let ladder = Ladder {
        grace: GRACE,
        ..Ladder::default()
    };
    let mut ended = 0;
    if let Some(process) = process
        && let Reclaimed::Stopped { leftovers, .. } = reclaim(&process, &mark, &ladder).await
    {
        ended += 1 + leftovers.killed;
    }
    // What the first process left running when it ended before us.
    if let Swept::Cleared(leftovers) = sweep(&mark).await {
        ended += leftovers.killed;
    }
    ended
}

/// Takes back what a member claimed in its latest turn and did not end.
fn take_back(
    desk: &Desk<'_>,
    name: &Name,
    record: &ProcessRecord,
) -> Result<Vec<String>, RunError> {
    let mut taken = Vec::new();
    for task in desk.tasks()?.tasks {
        let own = task.claim_token.is_some() && task.claim_token == record.claim_token;
        let was_in_it = claimed_since(&task, record.started_at)
            && record.ended_at.is_none_or(|end| !claimed_since(&task, end));
        if is_held_by(&task, name) && (own || was_in_it) {
            let id = TaskId::new(&task.id).map_err(NotDone::from)?;
            match desk.take_back(&id, task.claim_token.as_deref()) {
                Ok(_) => taken.push(task.id),
                // Somebody else changed it in between, so it is not that turn's any more.
                Err(NotDone::Refused(_)) => {}
                Err(failed) => return Err(failed.into()),
            }
        }
    }
    Ok(taken)
}

/// Whether a task is in progress and a member's.
pub(super) fn is_held_by(task: &Task, name: &Name) -> bool {
    task.status == Status::InProgress && task.owner.as_deref() == Some(name.as_str())
}

/// Whether a task was claimed at that time or later.
pub(super) fn claimed_since(task: &Task, at: Timestamp) -> bool {
    let started = task.started_at.as_deref().and_then(Timestamp::parse);
    started.is_some_and(|started| started >= at)
}

fn close(desk: &Desk<'_>, name: &Name, record: &ProcessRecord) -> Result<(), RunError> {
    let now = desk.now();
    desk.store()
        .update::<ProcessRecord, (), Refusal>(name, |slot| {
            if let Some(found) = slot.as_mut().filter(|found| found.turn == record.turn) {
                found.ended_at = Some(now);
                found.outcome = Some("reclaimed".to_string());
            }
            Ok(())
        })?
        .map_err(NotDone::from)?;
    Ok(())
}
