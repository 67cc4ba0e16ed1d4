//! `team`: founding, looking at and ending teams, and the reference's request interface.

use pitcrew_core::Refusal;

use crate::cli::{Entry, failed_answer};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::Layout;

pub(crate) mod api;
mod attach;
mod collect;
mod explain;
mod init;
mod launch;
mod leader;
mod list;
mod members;
pub(crate) mod monitor;
mod monitor_panes;
mod presence;
mod recruit;
mod respawn;
mod restart;
mod rm;
mod shutdown;
pub(crate) mod start;
pub(crate) mod status;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "team",
    "Found, look at and end teams",
    &[
        start::ENTRY,
        launch::ENTRY,
        init::ENTRY,
        list::ENTRY,
        status::ENTRY,
        collect::ENTRY,
        explain::ENTRY,
        monitor::ENTRY,
        attach::ENTRY,
        leader::ENTRY,
        members::ADD,
        members::REMOVE,
        restart::ENTRY,
        monitor_panes::ENTRY,
        shutdown::ENTRY,
        rm::ENTRY,
        api::ENTRY,
    ],
);

/// The team that a command of this group was given, by its argument, `--team` or `PITCREW_TEAM`. Unlike elsewhere the
/// project's only team is not good enough: a word too few must not become an answer about some team.
fn name_of(context: &Context<'_>, given: Option<&str>, command: &str) -> Result<String, Halt> {
    match context.named_team(given) {
        Some(name) => Ok(name.to_string()),
        None => Err(Halt::Usage(format!(
            "which team? say `pitcrew team {command} <name>`; `pitcrew team list` has the names"
        ))),
    }
}

/// The text that the reference gives in `reason`.
fn reason(halt: &Halt) -> String {
    match halt {
        Halt::Refused(refusal @ Refusal::TeamNotFound { .. }) => refusal.to_string(),
        other => hints::row(other).reference,
    }
}

/// Says in the reference's shape why a command of this group was not done: `{ok:false,reason}`, or one line that
/// begins with the command.
fn refuse(context: &mut Context<'_>, command: &str, halt: Halt) -> Result<Exit, Halt> {
    if matches!(halt, Halt::Usage(_)) {
        return Err(halt);
    }
    let halt = context.explain(halt);
    let row = hints::row(&halt);
    if context.ui.json {
        let answer = failed_answer("reason", Some(reason(&halt)), &halt);
        context.ui.json(&answer, Layout::Pretty);
    } else {
        context
            .ui
            .line(&format!("team {command}: {}", halt.message()));
        context.ui.say(&format!(" hint: {}", row.hint));
    }
    Ok(row.exit)
}
