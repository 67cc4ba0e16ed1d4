//! `team status`: how a team stands, in the reference's shape and without touching anything.

use pitcrew_core::Timestamp;
use pitcrew_core::span::span;
use pitcrew_core::task::Task;
use pitcrew_core::visible::{Lines, visible};
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::desk::{MemberStatus, TeamStatus};
use pitcrew_runtime::panes::Standing;
use serde_json::{Value, json};

use super::{name_of, refuse};
use crate::cli::{Entry, Run};
use crate::commands::limits::status::money_in_words;
use crate::context::{CLOCK, Context};
use crate::halt::{Exit, Halt};
use crate::panes;
use crate::ui::{Layout, Ui};

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Status>("status", "Show how a team stands");

/// Show how a team stands
///
/// Tasks, members, and whether all is done. `hbStale` says that a member moved no task within the last 30 seconds: an
/// agent that works through a long step is silent, and nothing is taken from it for that. Members in panes are judged by
/// their process and their screen. Looking changes no file and starts nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// The team; else --team or PITCREW_TEAM
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl Run for Status {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let name = name_of(context, self.name.as_deref(), "status")?;
        match look(context, &name, None) {
            Ok((status, standings)) => {
                if context.ui.json {
                    context
                        .ui
                        .json(&answer(&status, &standings), Layout::Pretty);
                } else {
                    write(context.ui, &status, &standings);
                }
                Ok(Exit::Done)
            }
            Err(halt) => refuse(context, "status", halt),
        }
    }
}

/// How the team called `name` stands.
pub(crate) fn look(
    context: &mut Context<'_>,
    name: &str,
    start: Option<&str>,
) -> Result<(TeamStatus, Vec<Standing>), Halt> {
    let team = context.open_named(name, start)?;
    let status = team.desk().status()?;
    let standings = panes::standings(context, &team, &status.team)?;
    Ok((status, standings))
}

/// The answer in the reference's form, with what it does not have behind.
pub(crate) fn answer(status: &TeamStatus, standings: &[Standing]) -> Value {
    let worker = |member: &MemberStatus| {
        let standing = standing_of(standings, &member.name);
        let mut worker = json!({
            "name": member.name,
            "paneId": member.pane_id,
            "paneDead": is_dead(member, standing),
            "heartbeatStale": member.heartbeat_stale,
            "outboxNewCount": member.outbox_new,
            "unread": member.unread,
        });
        if let Some(standing) = standing {
            panes::describe(standing, &mut worker);
        }
        if member.damaged > 0 {
            worker["damage"] = member.damaged.into();
        }
        if !member.unreadable.is_empty() {
            worker["unreadable"] = json!(member.unreadable);
        }
        worker
    };
    let workers: Vec<Value> = status.members.iter().map(worker).collect();
    let mut snapshot = json!({
        "tasks": status.tasks_as_written,
        "workers": workers,
        "allDone": status.board.all_done(),
        "leaderUnread": status.leader_unread,
    });
    if !status.board.unreadable.is_empty() {
        snapshot["unreadable"] = json!(status.board.unreadable);
    }
    if !status.unreadable.is_empty() {
        snapshot["unreadableFiles"] = json!(status.unreadable);
    }
    match &status.limiter {
        Some(Ok(limiter)) => snapshot["limits"] = json!(limiter.status(now())),
        Some(Err(why)) => snapshot["limits"] = json!({ "unreadable": why }),
        None => {}
    }
    if let Some(at) = &status.shut_down_at {
        snapshot["shutdownAt"] = at.as_str().into();
    }
    let mut config = status.team_as_written.clone();
    if config.is_object() {
        // Others may have left it out, or changed the list without it.
        config["workerCount"] = status.team.workers.len().into();
    }
    json!({ "ok": true, "config": config, "snapshot": snapshot })
}

fn standing_of<'a>(standings: &'a [Standing], member: &str) -> Option<&'a Standing> {
    standings
        .iter()
        .find(|standing| standing.member.as_str() == member)
}

/// Whether a member's process is observed gone: that of its turn, or that of its pane.
fn is_dead(member: &MemberStatus, standing: Option<&Standing>) -> bool {
    member.gone || standing.is_some_and(Standing::is_over)
}

/// Writes the reference's page, and what it does not have as words.
fn write(ui: &mut Ui, status: &TeamStatus, standings: &[Standing]) {
    let team = &status.team;
    let session = team.tmux_session.as_deref().unwrap_or("-");
    ui.line(&format!(
        "team {} ({}, {} workers)",
        team.name,
        team.role,
        team.workers.len()
    ));
    ui.line(&format!("session {session}"));
    ui.line("");
    ui.line("Tasks:");
    for task in &status.board.tasks {
        ui.line(&task_row(task));
    }
    ui.line("");
    ui.line("Workers:");
    for member in &status.members {
        let standing = standing_of(standings, &member.name);
        let state = standing.map(|standing| format!("  {}", panes::state_in_words(standing)));
        ui.line(&format!(
            "  {}  pane={}  dead={}  hbStale={}  new={}{}",
            member.name,
            member.pane_id.as_deref().unwrap_or("-"),
            is_dead(member, standing),
            member.heartbeat_stale,
            member.outbox_new,
            state.unwrap_or_default()
        ));
    }
    ui.line("");
    ui.line(&format!("allDone={}", status.board.all_done()));
    match &status.limiter {
        Some(Ok(limiter)) => {
            let (now, limits) = (now(), limiter.limits());
            let status = limiter.status(now);
            if limits.is_on() {
                ui.line(&format!("limits: {}", money_in_words(&status)));
            }
            if let Some(pause) = status.pause {
                let left = span(pause.until.millis_since(now).unsigned_abs());
                let why = visible(&pause.why, Lines::Fold);
                ui.line(&format!("paused for another {left}: {why}"));
            }
        }
        Some(Err(why)) => ui.line(&format!("limits: cannot be read: {why}")),
        None => {}
    }
    write_more(ui, status);
}

fn now() -> Timestamp {
    Timestamp::from_millis(CLOCK.now())
}

fn task_row(task: &Task) -> String {
    let owner = task.owner.as_deref().unwrap_or("-");
    let result = task.result.as_deref().unwrap_or_default();
    // A row is a line: of a longer result the first one, and that there is more.
    let (first, more) = match result.split_once('\n') {
        Some((first, rest)) if !rest.trim().is_empty() => (first, " …"),
        Some((first, _)) => (first, ""),
        None => (result, ""),
    };
    format!("  {}  {}  {owner}  {first}{more}", task.id, task.status)
}

fn write_more(ui: &mut Ui, status: &TeamStatus) {
    for task in &status.board.unreadable {
        ui.say(&format!("task {} cannot be read: {}", task.id, task.why));
    }
    let of_members = status.members.iter().flat_map(|member| &member.unreadable);
    for why in of_members.chain(&status.unreadable) {
        ui.say(why);
    }
    for member in status.members.iter().filter(|member| member.damaged > 0) {
        let name = visible(&member.name, Lines::Fold);
        ui.say(&format!(
            "the mailbox of {name} has {} damaged places: see `pitcrew doctor`",
            member.damaged
        ));
    }
    let gone = status.members.iter().filter(|member| member.gone);
    let gone: Vec<_> = gone
        .map(|member| visible(&member.name, Lines::Fold))
        .collect();
    if !gone.is_empty() {
        ui.say(&format!(
            "the run was killed, and with it the turns of {}: the same `pitcrew run` goes on",
            gone.join(", ")
        ));
    }
    let mut unread: Vec<String> = status
        .members
        .iter()
        .filter(|member| member.unread > 0)
        .map(|member| format!("{} {}", visible(&member.name, Lines::Fold), member.unread))
        .collect();
    if status.leader_unread > 0 {
        unread.push(format!("leader {}", status.leader_unread));
    }
    if !unread.is_empty() {
        ui.say(&format!("unread mail: {}", unread.join(", ")));
    }
    if let Some(at) = &status.shut_down_at {
        ui.say(&format!("shut down at {}", visible(at, Lines::Fold)));
    }
}
