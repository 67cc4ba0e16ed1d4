//! `team attach`: the team's tmux session on this terminal.

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_runtime::panes::seat_of;
use pitcrew_runtime::tmux::PaneRecord;
use serde_json::json;

use super::{name_of, refuse};
use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::panes::{self, Quarters};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Attach>("attach", "Show a team's tmux session on this terminal");

/// Show a team's tmux session on this terminal
///
/// Each member has a window. Leave it with tmux's own key (C-b d); the agents go on. From inside the same tmux server the
/// terminal changes over to the session. Without a terminal, and with --json, the command to do it is printed.
#[derive(Debug, clap::Args)]
pub(super) struct Attach {
    /// The team; else --team or PITCREW_TEAM
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl Run for Attach {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let name = name_of(context, self.name.as_deref(), "attach")?;
        match attach(context, &name) {
            Err(halt) => refuse(context, "attach", halt),
            done => done,
        }
    }
}

fn attach(context: &mut Context<'_>, name: &str) -> Result<Exit, Halt> {
    let team = context.open_named(name, None)?;
    let pane = first_pane(context, &team)?;
    let socket = pane.server.socket_path.display().to_string();
    if context.ui.json || !context.environment.stdout_is_terminal() {
        let command = [
            "tmux",
            "-S",
            &socket,
            "attach-session",
            "-t",
            &pane.session_id,
        ];
        let words = command.map(pitcrew_runtime::overlay::quoted).join(" ");
        match context.ui.json {
            true => context
                .ui
                .json(&json!({ "ok": true, "command": words }), Layout::Pretty),
            false => context.ui.line(&words),
        }
        return Ok(Exit::Done);
    }
    let quarters = Quarters::of(context)?;
    let tmux = quarters.tmux.at(&pane.server.socket_path);
    let here = quarters.caller.value("TMUX").and_then(|here| here.to_str());
    let status = tmux
        .show(&pane, here)
        .map_err(|error| panes::halt(error.into()))?;
    match status.success() {
        true => Ok(Exit::Done),
        false => Ok(Exit::Failed),
    }
}

/// A pane of the team whose session is still there.
fn first_pane(context: &mut Context<'_>, team: &OpenTeam) -> Result<PaneRecord, Halt> {
    let desk = team.desk();
    let roster = desk.roster()?;
    let quarters = Quarters::of(context)?;
    for member in &roster.workers {
        let Ok(name) = Name::new(NameKind::Member, &member.name) else {
            continue;
        };
        let Some(seat) = seat_of(&desk, &name)? else {
            continue;
        };
        let tmux = quarters.tmux.at(&seat.pane.server.socket_path);
        let there = tmux.has_session_of(&seat.pane);
        if there.map_err(|error| panes::halt(error.into()))? {
            return Ok(seat.pane);
        }
    }
    Err(Halt::CannotRun {
        code: "no_pane",
        why: format!("team {} has no pane", team.name),
        hint: "`pitcrew team status <team>` says how its members stand",
    })
}
