//! `wait`: block until something happens, instead of asking again and again.

use std::time::Duration;

use pitcrew_core::roster::Team;
use pitcrew_core::{Name, TaskId};
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::desk::{Desk, Happened, Wanted};
use pitcrew_store::{Change, Place};
use serde_json::{Value, json};

use super::attention::{Attention, Event, SWEEP};
use crate::cli::{Entry, Run};
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::span;
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Wait>(
    "wait",
    "Block until a message, a task for you, or the end of a task",
);

/// Block until a message, a task for you, or the end of a task
///
/// Without options it waits for a message or a task that you can claim, whichever comes first. What has happened
/// already is answered at once. Nothing is taken: read the message with `inbox --next`, take the task with `task claim`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew wait --message --timeout 10m && pitcrew inbox --next
  pitcrew wait --task-end 1 --task-end 2
Exit status 4 says that the time ran out, 1 that the team was shut down.")]
pub(crate) struct Wait {
    /// Until a message for you is unread
    #[arg(long)]
    message: bool,
    /// Until you can claim this task
    #[arg(long, value_name = "ID")]
    task: Vec<String>,
    /// Until you can claim any task
    #[arg(long)]
    any_task: bool,
    /// Until this task is completed or failed; can be given several times, the first to end counts
    #[arg(long, value_name = "ID")]
    task_end: Vec<String>,
    /// Give up after so long: 90s, 10m, 1h
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    timeout: Option<Duration>,
}

impl Run for Wait {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let wanted = self.wanted()?;
        let team = context.open_team()?;
        let desk = team.desk();
        let who = context.credentials(&team.name);
        let me = desk.speaker(&desk.roster()?, &who)?.name;
        let end = wait(&team, &me, &wanted, self.timeout)?;
        match (end.value(), context.ui.json) {
            (None, _) => {}
            (Some(answer), true) => context.ui.json(&answer, Layout::Pretty),
            (Some(_), false) => context.ui.line(&end.words()),
        }
        Ok(end.exit())
    }
}

impl Wait {
    fn wanted(&self) -> Result<Vec<Wanted>, Halt> {
        let mut wanted = Vec::new();
        if self.message {
            wanted.push(Wanted::Message);
        }
        for id in &self.task {
            wanted.push(Wanted::Task(TaskId::new(id)?));
        }
        for id in &self.task_end {
            wanted.push(Wanted::End(TaskId::new(id)?));
        }
        if self.any_task {
            wanted.push(Wanted::AnyTask);
        }
        Ok(or_anything(wanted))
    }
}

/// What is waited for when nothing is named: a message or a task.
pub(super) fn or_anything(wanted: Vec<Wanted>) -> Vec<Wanted> {
    if wanted.is_empty() {
        return vec![Wanted::Message, Wanted::AnyTask];
    }
    wanted
}

/// Waits until something of `wanted` has happened for `me`, for `timeout` at the most.
///
/// # Errors
/// `timed_out`, and as looking and watching say.
pub(super) fn wait(
    team: &OpenTeam,
    me: &Name,
    wanted: &[Wanted],
    timeout: Option<Duration>,
) -> Result<End, Halt> {
    let desk = team.desk();
    let roster = desk.roster()?;
    if let Some(happened) = desk.look(me, wanted)?.happened {
        return Ok(End::Happened(happened));
    }
    // What happened between that look and the watch shows in the next look.
    let attention = Attention::to(&team.store)?;
    let waiting = Waiting {
        desk,
        roster,
        me,
        wanted,
        attention,
        timeout,
    };
    waiting.end()
}

/// How waiting ended.
pub(super) enum End {
    Happened(Happened),
    /// The team was shut down, at this time.
    ShutDown(String),
    Interrupted,
}

impl End {
    /// How a command ends that waited.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Happened(_) => Exit::Done,
            Self::ShutDown(_) => Exit::Refused,
            Self::Interrupted => Exit::Interrupted,
        }
    }

    /// The answer as JSON; none for who was interrupted.
    pub(super) fn value(&self) -> Option<Value> {
        match self {
            Self::Happened(happened) => Some(value_of(happened)),
            Self::ShutDown(at) => Some(json!({
                "ok": false, "reason": "shut_down", "code": "shut_down", "happened": "shut_down", "shutdownAt": at,
            })),
            Self::Interrupted => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Happened(happened) => words_of(happened),
            Self::ShutDown(at) => format!("the team was shut down at {at}"),
            Self::Interrupted => String::new(),
        }
    }
}

/// One wait.
struct Waiting<'a> {
    desk: Desk<'a>,
    /// The team that is waited in.
    roster: Team,
    me: &'a Name,
    wanted: &'a [Wanted],
    attention: Attention,
    timeout: Option<Duration>,
}

impl Waiting<'_> {
    fn end(&self) -> Result<End, Halt> {
        let begun = CLOCK.monotonic();
        loop {
            // Nothing comes of a team that was removed, and what comes of another in its place is not for who waits here.
            self.desk.still(&self.roster)?;
            let look = self.desk.look(self.me, self.wanted)?;
            if let Some(happened) = look.happened {
                return Ok(End::Happened(happened));
            }
            // Nothing more will come of a team that was shut down.
            if let Some(at) = self.desk.shut_down_at()? {
                return Ok(End::ShutDown(at));
            }
            let mut wait = SWEEP;
            if let Some(timeout) = self.timeout {
                let waited = u64::try_from(CLOCK.monotonic() - begun).unwrap_or_default();
                let left = timeout.saturating_sub(Duration::from_millis(waited));
                if left.is_zero() {
                    return Err(Halt::TimedOut(span::words(timeout)));
                }
                wait = wait.min(left);
            }
            if let Some(at) = look.again_at {
                let ms = at.millis_since(self.desk.now()).max(1);
                wait = wait.min(Duration::from_millis(ms.unsigned_abs()));
            }
            if self.sit(wait)? {
                return Ok(End::Interrupted);
            }
        }
    }

    /// Waits until a change that matters or for `wait`; answers whether somebody wants the command to end.
    fn sit(&self, wait: Duration) -> Result<bool, Halt> {
        let begun = CLOCK.monotonic();
        let mut left = wait;
        loop {
            match self.attention.next(left)? {
                Event::Interrupted => return Ok(true),
                Event::Quiet => return Ok(false),
                Event::Changed(change) => {
                    let touched = |wanted: &Wanted| wanted.is_touched_by(self.me, &change);
                    let ends = matches!(change, Change::Document(Place::Shutdown | Place::Team));
                    if ends || self.wanted.iter().any(touched) {
                        return Ok(false);
                    }
                }
            }
            let waited = u64::try_from(CLOCK.monotonic() - begun).unwrap_or_default();
            left = wait.saturating_sub(Duration::from_millis(waited));
        }
    }
}

fn words_of(happened: &Happened) -> String {
    match happened {
        Happened::Mail { unread, oldest } => format!(
            "{unread} unread {}, the oldest from {}",
            if *unread == 1 { "message" } else { "messages" },
            oldest.from
        ),
        Happened::Ready(task) => format!(
            "task {} is ready: {}",
            task.id,
            first_line(&task.description)
        ),
        Happened::Ended(task) => format!(
            "task {} {}: {}",
            task.id,
            task.status,
            first_line(task.result.as_deref().unwrap_or("no result"))
        ),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// What happened, as JSON.
fn value_of(happened: &Happened) -> Value {
    match happened {
        Happened::Mail { unread, oldest } => json!({
            "ok": true, "happened": "message", "unread": unread,
            "oldest": { "id": oldest.id, "from": oldest.from, "timestamp": oldest.timestamp },
        }),
        Happened::Ready(task) => json!({ "ok": true, "happened": "task_ready", "task": task }),
        Happened::Ended(task) => json!({ "ok": true, "happened": "task_ended", "task": task }),
    }
}
