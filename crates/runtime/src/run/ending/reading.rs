//! Reads what a turn left behind, and keeps a page about it beside its output.
//!
//! What always holds: what the turn printed is taken as it was read from its pipes (`run/output.rs`). Whoever was told to
//! end and did not come to an end has not failed, and whoever wrote over its output has.

use pitcrew_core::Name;
use serde::Serialize;

use super::super::Tools;
use super::super::allowance::HoldEnds;
use super::super::event::TurnOutcome;
use super::super::output::Seen;
use super::super::scheduler::End;
use super::super::turn::Turn;
use crate::clock::{Clock, utc_offset_s};
use crate::desk::NotDone;
use crate::process::{By, Ended, How};
use crate::profile::{Outcome, Profile, TurnOutput, TurnPlan, TurnReport, Usage};

/// How much of an output is read, in bytes: what is kept of it, whole.
const OUTPUT: u64 = 8 << 20;

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct TurnResult {
    pub(in super::super) outcome: TurnOutcome,
    /// Why, on one line, when it is not a success.
    pub(in super::super) why: Option<String>,
    pub(in super::super) answer: Option<String>,
    /// Whether the answer's beginning is missing.
    pub(in super::super) answer_cut: bool,
    pub(in super::super) session: Option<String>,
    pub(in super::super) usage: Option<Usage>,
    /// What it cost as its CLI says it, in millionths of a US dollar, whether or not its tokens are known.
    pub(in super::super) cost_micro_usd: Option<u64>,
    /// What stands where its CLI should say what the turn used.
    pub(in super::super) usage_fault: Option<String>,
    pub(in super::super) counted: Option<Usage>,
    /// When a limit ends, in wall milliseconds.
    pub(in super::super) resets_at_ms: Option<i64>,
    /// What ends the wait of a turn that was held back before its time.
    pub(in super::super) hold_ends: HoldEnds,
}

impl TurnResult {
    /// A turn that ended before its process started.
    pub(in super::super) fn before_start(outcome: TurnOutcome, why: String) -> Self {
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
            hold_ends: HoldEnds::InTime,
        }
    }

    /// The end as the scheduler takes it; `to_ms` turns wall time into the scheduler's.
    pub(in super::super) fn end(&self, to_ms: impl Fn(i64) -> i64) -> End {
        match self.outcome {
            TurnOutcome::Succeeded => End::Succeeded,
            TurnOutcome::Failed | TurnOutcome::TimedOut => End::Failed,
            TurnOutcome::Refused => End::Refused,
            TurnOutcome::Crashed => End::Crashed,
            TurnOutcome::Limited => End::Limited(self.resets_at_ms.map(to_ms)),
            TurnOutcome::HeldBack => {
                let until = self.resets_at_ms.map_or(0, to_ms);
                match self.hold_ends {
                    HoldEnds::InTime => End::HeldBack(until),
                    HoldEnds::WithOthers => End::Outbid(until),
                }
            }
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
pub(in super::super) fn read(
    tools: &Tools,
    profile: &Profile,
    name: &Name,
    turn: &Turn,
    ended: &Ended,
) -> Result<TurnResult, NotDone> {
    let stdout = turn.stdout.as_ref().map(Seen::bytes).unwrap_or_default();
    let stderr = turn.stderr.as_ref().map(Seen::bytes).unwrap_or_default();
    let mut tampered = Vec::new();
    for (seen, bytes, kept) in [
        (&turn.stdout, &stdout, &ended.stdout),
        (&turn.stderr, &stderr, &ended.stderr),
    ] {
        if let Some(seen) = seen {
            tampered.extend(seen.check(&turn.files, bytes, kept)?);
        }
    }
    let plan = turn.plan.as_ref();
    let answer_file = plan.and_then(TurnPlan::answer_name);
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
    if !tampered.is_empty()
        && matches!(
            result.outcome,
            TurnOutcome::Succeeded | TurnOutcome::Refused | TurnOutcome::Failed
        )
    {
        // Whoever writes over what a turn printed may have done so to its work as well.
        result.outcome = TurnOutcome::Failed;
        let before = result.why.take();
        result.why = Some(
            tampered
                .into_iter()
                .chain(before)
                .collect::<Vec<_>>()
                .join("; "),
        );
    }
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
        hold_ends: HoldEnds::InTime,
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
