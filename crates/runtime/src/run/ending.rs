//! Reads what a turn left behind, and records what came of it: the end of its token, then task, mail, session, and the
//! turn itself.
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
use serde::Serialize;

use super::aftermath::{claimed_since, is_held_by};
use super::event::TurnOutcome;
use super::outfit::Gear;
use super::post::READER;
use super::record::{ProcessRecord, SessionRecord};
use super::scheduler::{End, MailSettlement, Settlement};
use super::turn::{Bench, Claim, Turn};
use super::{Tools, post};
use crate::clock::{Clock, utc_offset_s};
use crate::desk::{Change, Desk, NotDone};
use crate::process::{By, Ended, How};
use crate::profile::{Outcome, Profile, TurnOutput, TurnReport, Usage};

/// How much of an output is read, in bytes: what is kept of it, whole.
const OUTPUT: u64 = 8 << 20;

/// The longest result that a task keeps, in bytes: the rest stands in the turn's output.
const RESULT_HEAD: usize = 48 * 1024;
const RESULT_TAIL: usize = 16 * 1024;

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnResult {
    pub(super) outcome: TurnOutcome,
    /// Why, on one line, when it is not a success.
    pub(super) why: Option<String>,
    pub(super) answer: Option<String>,
    /// Whether the answer's beginning is missing.
    pub(super) answer_cut: bool,
    pub(super) session: Option<String>,
    pub(super) usage: Option<Usage>,
    /// What it cost as its CLI says it, in millionths of a US dollar, whether or not its tokens are known.
    pub(super) cost_micro_usd: Option<u64>,
    /// What stands where its CLI should say what the turn used.
    pub(super) usage_fault: Option<String>,
    pub(super) counted: Option<Usage>,
    /// When a limit ends, in wall milliseconds.
    pub(super) resets_at_ms: Option<i64>,
}

impl TurnResult {
    /// A turn that ended before its process started.
    pub(super) fn before_start(outcome: TurnOutcome, why: String) -> Self {
        Self {
            outcome,
            why: Some(why),
            answer: None,
            answer_cut: false,
            session: None,
            usage: None,
            cost_micro_usd: None,
            usage_fault: None,
            counted: None,
            resets_at_ms: None,
        }
    }

    /// The end as the scheduler takes it; `to_ms` turns wall time into the scheduler's.
    pub(super) fn end(&self, to_ms: impl Fn(i64) -> i64) -> End {
        match self.outcome {
            TurnOutcome::Succeeded => End::Succeeded,
            TurnOutcome::Failed | TurnOutcome::TimedOut => End::Failed,
            TurnOutcome::Refused => End::Refused,
            TurnOutcome::Crashed => End::Crashed,
            TurnOutcome::Limited => End::Limited(self.resets_at_ms.map(to_ms)),
            TurnOutcome::HeldBack => End::HeldBack(self.resets_at_ms.map_or(0, to_ms)),
            TurnOutcome::SessionLost => End::SessionLost,
            TurnOutcome::Stopped | TurnOutcome::Killed => End::Stopped,
        }
    }
}

/// What is kept of a turn in its folder, as `turn.json`.
#[derive(Serialize)]
struct TurnPage<'a> {
    member: &'a Name,
    turn: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    mail: Vec<&'a str>,
    started_at: pitcrew_core::Timestamp,
    ended_at: pitcrew_core::Timestamp,
    outcome: TurnOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    process: &'a Ended,
}

/// Reads what the process of a turn left, and keeps a page about it.
///
/// # Errors
/// When its files cannot be read or written.
pub(super) fn read(
    tools: &Tools,
    profile: &Profile,
    name: &Name,
    turn: &Turn,
    ended: &Ended,
) -> Result<TurnResult, NotDone> {
    let stdout = turn.files.tail("stdout", OUTPUT)?.unwrap_or_default();
    let stderr = turn.files.tail("stderr", OUTPUT)?.unwrap_or_default();
    let plan = turn.plan.as_ref();
    let answer_file = plan
        .and_then(|plan| plan.answer_file.as_ref())
        .and_then(|path| path.file_name()?.to_str());
    let answer_file = match answer_file {
        Some(file) => turn.files.tail(file, OUTPUT)?,
        None => None,
    };
    let now_ms = tools.clock.now();
    let report = profile.read_turn(&TurnOutput {
        how: ended.how,
        stdout: &stdout,
        stderr: &stderr,
        answer_file: answer_file.as_deref(),
        session: plan.and_then(|plan| plan.session.as_deref()),
        counted_before: turn
            .session
            .as_ref()
            .and_then(|session| session.counted.as_ref()),
        now_ms,
        utc_offset_s: utc_offset_s(now_ms),
    });
    let mut result = judge(report, ended.how, turn.for_mail);
    // What was read is the end of what was written; an answer that may have begun before says so.
    let written_before = ended.stdout.printed > stdout.len() as u64;
    if let Some(answer) = result
        .answer
        .as_mut()
        .filter(|_| result.answer_cut || written_before)
    {
        let folder = turn.files.folder();
        *answer = format!(
            "[the beginning is left out here; the whole is in {}]\n{answer}",
            folder.display()
        );
    }
    let page = TurnPage {
        member: name,
        turn: turn.number,
        task: turn.claim.as_ref().map(|claim| claim.task.as_str()),
        mail: turn.shown.iter().map(|mail| mail.id.as_str()).collect(),
        started_at: turn.started_at,
        ended_at: pitcrew_core::Timestamp::from_millis(now_ms),
        outcome: result.outcome,
        why: result.why.as_deref(),
        session: result.session.as_deref(),
        usage: result.usage,
        process: ended,
    };
    // A page is made of text and numbers, which JSON always takes.
    let mut text = serde_json::to_vec_pretty(&page).unwrap_or_default();
    text.push(b'\n');
    turn.files.write("turn.json", &text)?;
    Ok(result)
}

fn judge(report: TurnReport, how: How, for_mail: bool) -> TurnResult {
    let mut resets_at_ms = None;
    let (outcome, why) = match report.outcome {
        Outcome::Completed => (TurnOutcome::Succeeded, None),
        Outcome::ToolsRefused { what, turn_done } => {
            let why = format!(
                "tools were refused: {}; allow_tools = true in the team file allows them",
                what.join(", ")
            );
            // An answer to mail is an answer, whatever else was tried on the way.
            if for_mail && turn_done && report.answer.is_some() {
                (TurnOutcome::Succeeded, Some(why))
            } else {
                (TurnOutcome::Refused, Some(why))
            }
        }
        Outcome::Limited(limit) => {
            resets_at_ms = limit.resets_at_ms;
            (TurnOutcome::Limited, Some(limit.why))
        }
        Outcome::SessionLost { why } => (TurnOutcome::SessionLost, Some(why)),
        Outcome::Failed { why } => (failure(how), Some(why)),
    };
    // Whoever was told to end and did not come to an end has not failed.
    let outcome = match (outcome, how) {
        (TurnOutcome::Succeeded, _) => outcome,
        (_, How::Stopped { by: By::Ask }) => TurnOutcome::Stopped,
        (_, How::Stopped { by: By::Kill }) => TurnOutcome::Killed,
        (outcome, _) => outcome,
    };
    let cut_short = matches!(outcome, TurnOutcome::Stopped | TurnOutcome::Killed);
    TurnResult {
        outcome,
        why: why.filter(|_| !cut_short),
        answer_cut: report
            .answer
            .as_ref()
            .is_some_and(|answer| answer.left_out > 0),
        answer: report.answer.map(|answer| answer.text),
        session: report.session,
        usage: report.usage,
        cost_micro_usd: report.cost_micro_usd,
        usage_fault: report.usage_fault,
        counted: report.counted,
        resets_at_ms,
    }
}

fn failure(how: How) -> TurnOutcome {
    match how {
        How::Exited(_) => TurnOutcome::Failed,
        How::TimedOut { .. } => TurnOutcome::TimedOut,
        How::Signaled(_) | How::Lost => TurnOutcome::Crashed,
        How::Stopped { by: By::Ask } => TurnOutcome::Stopped,
        How::Stopped { by: By::Kill } => TurnOutcome::Killed,
    }
}

/// What was recorded of a turn.
pub(super) struct Recorded {
    /// The task as it stands now, when the turn had one.
    pub(super) task: Option<Task>,
    /// Its status, as [`super::scheduler::Event::Settled`] takes it.
    pub(super) status: Option<Status>,
    /// Other tasks that the member had claimed in the turn and left open, which were taken back.
    pub(super) others: Vec<String>,
}

impl Bench<'_> {
    /// Records what came of a member's turn, and takes the turn from it.
    ///
    /// # Errors
    /// When the team's files fail; what was not recorded is done again by the next run.
    pub(super) fn settle(
        &self,
        gear: &mut Gear,
        task: Option<Settlement>,
        mail: MailSettlement,
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
        };
        if let (Some(claim), Some(settlement)) = (&turn.claim, task) {
            let now = self.record_task(&name, &turn, claim, settlement)?;
            let mine = now.status == Status::InProgress && is_claim(&now, claim);
            recorded.status =
                Some(now.status).filter(|status| mine || *status != Status::InProgress);
            gear.claim = mine.then(|| claim.clone());
            recorded.task = Some(now);
        }
        recorded.others = self.take_back_others(&name, &turn)?;
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
        self.close(&name, &turn, gear.claim.as_ref())?;
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

    /// Nobody works on what the member claimed in its turn beside the turn's own task, now that the turn is over.
    fn take_back_others(&self, name: &Name, turn: &Turn) -> Result<Vec<String>, NotDone> {
        let own = turn.claim.as_ref();
        let mut taken = Vec::new();
        for task in self.desk.tasks()?.tasks {
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

    fn keep_session(&self, gear: &Gear, turn: &Turn, result: &TurnResult) -> Result<(), NotDone> {
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
        self.desk
            .store()
            .update::<SessionRecord, (), Refusal>(gear.name(), |slot| {
                slot.clone_from(&record);
                Ok(())
            })??;
        Ok(())
    }

    /// Writes down that the turn is over. A task that stays the member's keeps its token there, so that the next run
    /// knows whose it is.
    fn close(&self, name: &Name, turn: &Turn, held: Option<&Claim>) -> Result<(), NotDone> {
        let now = self.desk.now();
        self.desk
            .store()
            .update::<ProcessRecord, (), Refusal>(name, |slot| {
                if let Some(record) = slot.as_mut().filter(|record| record.turn == turn.id) {
                    record.ended_at = Some(now);
                    record.outcome = turn.outcome.as_ref().map(|result| word(result.outcome));
                    record.claim_token = held.map(|claim| claim.token.clone());
                }
                Ok(())
            })??;
        Ok(())
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

fn word(outcome: TurnOutcome) -> String {
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
