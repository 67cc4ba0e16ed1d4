//! What happens in a run, as facts for whoever watches, and what came of it in the end.
//!
//! Each fact is one JSON object with its name under `event`. Times are ISO 8601 instants, spans are milliseconds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pitcrew_core::price::Micros;
use pitcrew_core::task::Status;
use pitcrew_core::{Name, Timestamp};
use serde::Serialize;

use super::scheduler::StopReason;
use crate::desk::UnreadableTask;
use crate::profile::Usage;

/// A fact with its time.
#[derive(Debug, Clone, Serialize)]
pub struct Happened<'a> {
    /// When it was seen.
    pub at: Timestamp,
    /// What it was.
    #[serde(flatten)]
    pub fact: &'a Fact,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Fact {
    /// The run began.
    RunStarted {
        /// The run's id.
        run: String,
        /// The team.
        team: String,
        /// Whether the team was there before.
        founding: Founded,
        /// Its members.
        members: Vec<String>,
        /// How many tasks are to be done, and how many there are.
        open: usize,
        /// How many tasks there are.
        tasks: usize,
        /// The team's folder.
        folder: PathBuf,
    },
    /// Something that a person should know before the first turn.
    Noted {
        /// In one sentence.
        note: String,
    },
    /// What an earlier run had left of a member was cleared away.
    Reclaimed {
        /// The member.
        member: Name,
        /// How many of its processes were ended.
        ended: u32,
        /// The tasks that were taken back from it.
        tasks: Vec<String>,
    },
    /// A task that failed before is tried again.
    PutBack {
        /// The task.
        task: String,
        /// Why.
        why: String,
    },
    /// A turn began.
    TurnStarted {
        /// Whose.
        member: Name,
        /// Its number among all turns of the member.
        turn: u32,
        /// The task that it is for; none when only mail brought it.
        #[serde(skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// How many messages it shows.
        mail: usize,
        /// The process.
        pid: u32,
    },
    /// A turn ended.
    TurnEnded {
        /// Whose.
        member: Name,
        /// Its number.
        turn: u32,
        /// The task that it was for.
        #[serde(skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// How it ended.
        outcome: TurnOutcome,
        /// Why, where there is more to say.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// How long it took.
        elapsed_ms: i64,
        /// What it used, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// What became of a turn's task.
    TaskSettled {
        /// The task.
        task: String,
        /// Whose turn it was.
        member: Name,
        /// How it stands now.
        status: Status,
        /// The first line of its result.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// Something of a turn runs on after its end.
    LeftRunning(LeftRunning),
    /// A member waits before it goes on.
    MemberWaits {
        /// The member.
        member: Name,
        /// What for.
        reason: WaitReason,
        /// Which restart it is for, counted from 1 in this run.
        #[serde(skip_serializing_if = "Option::is_none")]
        restart: Option<u32>,
        /// Until when.
        until: Timestamp,
    },
    /// A member takes no more turns, or no more for the mail of others.
    MemberStopped {
        /// The member.
        member: Name,
        /// Why.
        #[serde(flatten)]
        reason: StopReason,
        /// More about it, where there is more to say.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A provider's limit pauses the whole team.
    TeamPaused {
        /// Until when.
        until: Timestamp,
        /// The provider's words.
        reason: String,
    },
    /// A pause of the team is over.
    TeamResumed,
    /// A member has more unread mail than before.
    MailArrived {
        /// The member.
        member: Name,
        /// How much is unread now.
        unread: u64,
    },
    /// The run is asked to end.
    Ending {
        /// Why.
        why: EndReason,
        /// The members that are still in a turn.
        running: Vec<Name>,
    },
}

/// Whether a team was there before its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Founded {
    /// It was founded.
    Anew,
    /// It was gone on with.
    Before,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// As it should.
    Succeeded,
    /// With an error.
    Failed,
    /// Its time was up.
    TimedOut,
    /// Tools that it asked for were refused.
    Refused,
    /// Its process died, or could not be started.
    Crashed,
    /// The provider takes no more for now.
    Limited,
    /// The team's limits did not let it start.
    HeldBack,
    /// The session to go on with is no more.
    SessionLost,
    /// It was stopped.
    Stopped,
    /// It was killed, because it did not end when asked.
    Killed,
}

impl TurnOutcome {
    /// The outcome as a word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Refused => "was refused tools",
            Self::Crashed => "crashed",
            Self::Limited => "hit a limit",
            Self::HeldBack => "was held back by the team's limits",
            Self::SessionLost => "lost its session",
            Self::Stopped => "was stopped",
            Self::Killed => "was killed",
        }
    }
}

/// What a member waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// Its provider takes no more until then.
    Limit,
    /// The team's limits do not let it start before then.
    RateLimit,
    /// It crashed.
    Restart,
    /// Its work failed and is tried again.
    Retry,
}

/// Why a run ends before everything is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// A person wanted it.
    Interrupted,
    /// A person wanted it at once.
    InterruptedTwice,
    /// The team was shut down from elsewhere.
    ShutDown,
    /// Its time was up.
    TimeLimit,
    /// A task failed, and the team file says that this ends the run.
    FirstFailure,
    /// Something broke.
    Broke,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every task is completed.
    Completed,
    /// Nothing is left to do, and not every task is completed.
    Incomplete,
    /// It was ended by a person.
    Interrupted,
    /// The team was shut down from elsewhere.
    ShutDown,
    /// Its time was up.
    TimeLimit,
    /// A task failed, and the team file says that this ends the run.
    FirstFailure,
}

impl Outcome {
    /// The outcome as it stands in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Interrupted => "interrupted",
            Self::ShutDown => "shut_down",
            Self::TimeLimit => "time_limit",
            Self::FirstFailure => "first_failure",
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The run's id.
    pub run: String,
    /// The team.
    pub team: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What broke it, when the team's files failed in the middle: then the rest is what was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broke: Option<String>,
    /// How long it took.
    pub elapsed_ms: i64,
    /// Every task of the team, in the order of the team file.
    pub tasks: Vec<TaskResult>,
    /// Tasks that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableTask>,
    /// Every member of the run.
    pub members: Vec<MemberResult>,
    /// Messages for the leader that nobody has read.
    pub leader_unread: u64,
    /// What the team has spent, in all its runs, when it has limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spending: Option<Spending>,
    /// When the team was shut down, when that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shut_down_at: Option<String>,
    /// Turns that the end of the run cut short.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Unfinished>,
    /// What of its turns ran on after their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<LeftRunning>,
    /// The team's folder; none when it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// What a team has spent in all its runs, in micro-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spending {
    /// What was settled.
    pub spent: Micros,
    /// What is set aside.
    pub reserved: Micros,
    /// What is left of the team's budget, when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Micros>,
    /// Tokens that were used.
    pub tokens: u64,
}

/// What came of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskResult {
    /// Its id.
    pub task: String,
    /// How it stands.
    pub status: Status,
    /// Whether it can no longer be looked at: it is told of as it was last seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Who did it, or is to do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// From its last claim to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<i64>,
    /// The first line of its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a member did.
#[derive(Debug, Clone, Serialize)]
pub struct MemberResult {
    /// Its name.
    pub member: Name,
    /// Its profile.
    pub profile: String,
    /// How many turns it took in this run.
    pub turns: u32,
    /// How often it was started again after a crash.
    pub restarts: u32,
    /// Messages that it has not read.
    pub unread: u64,
    /// Messages that were shown to it too often and given up, in all runs.
    pub dead_letters: u64,
    /// Those among the unread that ask for an answer.
    pub unanswered: u64,
    /// Whether mail alone brings it a turn.
    pub answers_mail: bool,
    /// Why it took no more turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
    /// More about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_detail: Option<String>,
    /// What its turns used together, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether it had turns and nothing that they printed is there any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost_outputs: bool,
    /// Where what its turns printed is kept; none when nothing is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// A turn that the end of the run cut short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// Whose.
    pub member: Name,
    /// What for; none when only mail brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Whether it ended when asked.
    pub outcome: TurnOutcome,
}

/// Something of a turn that runs on after its end, because it cannot be found or may not be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftRunning {
    /// Whose turn it was.
    pub member: Name,
    /// Its number among all turns of the member.
    pub turn: u32,
    /// How many processes are known to run on.
    pub processes: u32,
    /// Whether somebody still holds the turn's output; what it prints is not read any more.
    pub holds_output: bool,
}

/// The most characters of a first line that are shown.
const LONGEST_LINE: usize = 400;

/// The first line of a text that has something in it, without the blanks around it; of a very long one the beginning.
#[must_use]
pub fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    })
}

/// What several turns used together.
pub(super) fn add_usage(totals: &mut BTreeMap<Name, Usage>, member: &Name, usage: &Usage) {
    let total = totals.entry(member.clone()).or_default();
    total.input = total.input.saturating_add(usage.input);
    total.output = total.output.saturating_add(usage.output);
    total.cached = total.cached.saturating_add(usage.cached);
    if let Some(cost) = usage.cost_micro_usd {
        let before = total.cost_micro_usd.unwrap_or(0);
        total.cost_micro_usd = Some(before.saturating_add(cost));
    }
}
