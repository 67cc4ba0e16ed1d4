//! Records what came of a turn: the end of its token, then task, mail, session, and the turn itself. What its process
//! left behind is read before (`run/ending/reading.rs`).
//!
//! The order matters when the run is killed in between: a task whose result is recorded is not run again, and mail
//! that was not acknowledged by then is shown again.
//!
//! What a member did to its task itself stands. A transition of ours that is refused changes nothing, and the task is
//! looked at again to see how it stands.

use std::collections::BTreeMap;

use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_store::StoreExt;

use super::aftermath::{claimed_since, is_held_by};
use super::event::TurnOutcome;
use super::outfit::Gear;
use super::post;
use super::post::READER;
use super::record::{ProcessRecord, SessionRecord};
use super::scheduler::{MailSettlement, Settlement};
use super::turn::{Bench, Claim, Turn};
use crate::desk::{Change, Desk, NotDone, Sight};
use crate::profile::Usage;

mod reading;

pub(super) use reading::{TurnResult, read};

/// The longest result that a task keeps, in bytes: the rest stands in the turn's output.
const RESULT_HEAD: usize = 48 * 1024;
const RESULT_TAIL: usize = 16 * 1024;

/// What was recorded of a turn.
pub(super) struct Recorded {
    /// The task as it stands now, when the turn had one.
    pub(super) task: Option<Task>,
    /// Its status, as [`super::scheduler::Event::Settled`] takes it.
    pub(super) status: Option<Status>,
    /// Other tasks that the member had claimed in the turn and left open, which were taken back.
    pub(super) others: Vec<String>,
    /// What was found that is not as it was left, in a sentence.
    pub(super) oddity: Option<String>,
}

impl Bench<'_> {
    /// Records what came of a member's turn, and takes the turn from it. `known` are tasks that were seen in progress.
    ///
    /// # Errors
    /// When the team's files fail; what was not recorded is done again by the next run.
    pub(super) fn settle(
        &self,
        gear: &mut Gear,
        task: Option<Settlement>,
        mail: MailSettlement,
        known: &[TaskId],
    ) -> Result<Option<Recorded>, NotDone> {
        let name = gear.name().clone();
        if gear.token.take().is_some() {
            match self.desk.retire_token(name.as_str()) {
                // It is no member any more, and its token is nobody's with that.
                Ok(()) | Err(NotDone::Refused(_)) => {}
                Err(failed) => return Err(failed),
            }
        }
        let Some(turn) = gear.turn.take() else {
            // It ended while it was being begun.
            if let Some(claim) = gear.claim.take() {
                match self.desk.take_back(&claim.task, Some(&claim.token)) {
                    Ok(_) | Err(NotDone::Refused(_)) => {}
                    Err(failed) => return Err(failed),
                }
            }
            post::let_go(&self.desk, &name, |reader| reader == READER)?;
            return Ok(None);
        };
        let result = turn.outcome.as_ref();
        let mut recorded = Recorded {
            task: None,
            status: None,
            others: Vec::new(),
            oddity: None,
        };
        if let (Some(claim), Some(settlement)) = (&turn.claim, task) {
            let now = self.record_task(&name, &turn, claim, settlement)?;
            let mine = now.status == Status::InProgress && is_claim(&now, claim);
            recorded.status =
                Some(now.status).filter(|status| mine || *status != Status::InProgress);
            gear.claim = mine.then(|| claim.clone());
            recorded.task = Some(now);
        }
        recorded.others = self.take_back_others(&name, &turn, known)?;
        let answered = turn.for_mail && mail == MailSettlement::Acknowledge && !gear.is_script();
        if let Some(answer) = result
            .and_then(|result| result.answer.as_deref())
            .filter(|_| answered)
        {
            post::reply(
                &self.desk,
                &name,
                &turn.id,
                answer,
                &turn.shown,
                &turn.askers,
            )?;
        }
        gear.kept = post::settle(&self.desk, &name, turn.shown.clone(), mail)?;
        // What the member took itself in its turn, and did not acknowledge.
        post::let_go(&self.desk, &name, |reader| reader != READER)?;
        if let Some(result) = result {
            self.keep_session(gear, &turn, result)?;
        }
        recorded.oddity = self.close(&name, &turn, gear.claim.as_ref())?;
        Ok(Some(recorded))
    }

    fn record_task(
        &self,
        name: &Name,
        turn: &Turn,
        claim: &Claim,
        settlement: Settlement,
    ) -> Result<Task, NotDone> {
        let result = result_text(turn, settlement);
        let (from, token) = (Status::InProgress.word(), claim.token.as_str());
        let step = |to: Status, result: Option<&str>| {
            let change = Change {
                from,
                to: to.word(),
                token,
                result,
            };
            self.desk.transition(&claim.task, Some(name), change)
        };
        let done = match settlement {
            Settlement::Complete => step(Status::Completed, result.as_deref()),
            Settlement::Fail => step(Status::Failed, result.as_deref()),
            // What went wrong stays readable while the task waits for its next turn.
            Settlement::PutBack | Settlement::Hold => {
                let noted = match &result {
                    Some(result) => step(Status::InProgress, Some(result)),
                    None => self.desk.task(&claim.task),
                };
                match (noted, settlement) {
                    (Ok(_), Settlement::PutBack) => step(Status::Pending, None),
                    (noted, _) => noted,
                }
            }
        };
        match done {
            Ok(task) => Ok(task),
            // The member ended, released or lost it itself, and that stands.
            Err(NotDone::Refused(_)) => self.desk.task(&claim.task),
            Err(failed) => Err(failed),
        }
    }

    /// Nobody works on what the member claimed in its turn beside the turn's own task, now that the turn is over. What
    /// is claimed has a mark, and what was seen in progress may have lost it.
    fn take_back_others(
        &self,
        name: &Name,
        turn: &Turn,
        known: &[TaskId],
    ) -> Result<Vec<String>, NotDone> {
        let own = turn.claim.as_ref();
        let mut taken = Vec::new();
        let mut in_hand = self.desk.tasks_in_hand()?;
        for id in known {
            if in_hand.iter().all(|task| task.id != id.as_str())
                && let Sight::There(task) = self.desk.look_at_task(id)?
            {
                in_hand.push(*task);
            }
        }
        for task in in_hand {
            let is_own = own.is_some_and(|claim| is_claim(&task, claim));
            if is_held_by(&task, name) && !is_own && claimed_since(&task, turn.started_at) {
                match put_back(&self.desk, &task) {
                    Ok(()) => taken.push(task.id),
                    Err(NotDone::Refused(_)) => {}
                    Err(failed) => return Err(failed),
                }
            }
        }
        Ok(taken)
    }

    fn keep_session(
        &self,
        gear: &mut Gear,
        turn: &Turn,
        result: &TurnResult,
    ) -> Result<(), NotDone> {
        if !gear.profile.can_resume() {
            return Ok(());
        }
        let record = match (&result.session, result.outcome) {
            (_, TurnOutcome::SessionLost) | (None, _) => None,
            (Some(session), _) => Some(SessionRecord {
                profile: gear.entry.profile.clone(),
                session: session.clone(),
                turn: turn.number,
                counted: result
                    .counted
                    .or(turn.session.as_ref().and_then(|before| before.counted)),
            }),
        };
        let forget = result.outcome == TurnOutcome::SessionLost;
        if record.is_none() && !forget {
            return Ok(());
        }
        gear.session = Some(record.clone());
        self.desk
            .store()
            .update::<SessionRecord, (), Refusal>(gear.name(), |slot| {
                slot.clone_from(&record);
                Ok(())
            })??;
        Ok(())
    }

    /// Writes down that the turn is over. A task that stays the member's keeps its token there, so that the next run
    /// knows whose it is. A record that is not this turn's any more is written anew, and that is answered.
    fn close(
        &self,
        name: &Name,
        turn: &Turn,
        held: Option<&Claim>,
    ) -> Result<Option<String>, NotDone> {
        let now = self.desk.now();
        let is_ours =
            self.desk
                .store()
                .update::<ProcessRecord, bool, Refusal>(name, |slot| {
                    let is_ours = slot.as_ref().is_some_and(|record| record.turn == turn.id);
                    let record = slot.get_or_insert_with(|| self.record_of(turn));
                    if !is_ours {
                        *record = self.record_of(turn);
                    }
                    record.ended_at = Some(now);
                    record.outcome = turn.outcome.as_ref().map(|result| word(result.outcome));
                    record.claim_token = held.map(|claim| claim.token.clone());
                    Ok(is_ours)
                })??;
        Ok((!is_ours).then(|| {
            format!("process.json of {name} was removed or changed in its turn; it is written anew")
        }))
    }

    /// What was written down of a turn, without its process, which is over.
    fn record_of(&self, turn: &Turn) -> ProcessRecord {
        ProcessRecord {
            turn: turn.id.clone(),
            number: turn.number,
            run: self.run.to_string(),
            task: turn.claim.as_ref().map(|claim| claim.task.to_string()),
            claim_token: None,
            started_at: turn.started_at,
            process: None,
            ended_at: None,
            outcome: None,
        }
    }
}

fn is_claim(task: &Task, claim: &Claim) -> bool {
    task.id == claim.task.as_str() && task.claim_token.as_deref() == Some(claim.token.as_str())
}

/// Takes a task back from whoever has it now.
pub(super) fn put_back(desk: &Desk<'_>, task: &Task) -> Result<(), NotDone> {
    desk.take_back(&TaskId::new(&task.id)?, task.claim_token.as_deref())?;
    Ok(())
}

pub(super) fn word(outcome: TurnOutcome) -> String {
    match serde_json::to_value(outcome) {
        Ok(serde_json::Value::String(word)) => word,
        _ => outcome.word().to_string(),
    }
}

/// What stands as the task's result.
fn result_text(turn: &Turn, settlement: Settlement) -> Option<String> {
    let result = turn.outcome.as_ref()?;
    let answer = result
        .answer
        .as_deref()
        .map(|answer| shortened(answer, turn));
    if settlement == Settlement::Complete {
        // A silent success has an empty result, and not what an earlier turn had noted.
        return Some(answer.unwrap_or_default());
    }
    let head = match &result.why {
        Some(why) => format!("{}: {why}", result.outcome.word()),
        None => result.outcome.word().to_string(),
    };
    Some(match answer {
        Some(answer) => format!("{head}\n\n{answer}"),
        None => head,
    })
}

/// The beginning and the end of a long answer, with a word about where the whole stands.
fn shortened(answer: &str, turn: &Turn) -> String {
    if answer.len() <= RESULT_HEAD + RESULT_TAIL {
        return answer.to_string();
    }
    let mut head = RESULT_HEAD;
    while !answer.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = answer.len() - RESULT_TAIL;
    while !answer.is_char_boundary(tail) {
        tail += 1;
    }
    format!(
        "{}\n[{} bytes are left out here; see {}]\n{}",
        &answer[..head],
        tail - head,
        turn.files.folder().display(),
        &answer[tail..]
    )
}

/// Usage by member.
pub(super) type Totals = BTreeMap<Name, Usage>;
