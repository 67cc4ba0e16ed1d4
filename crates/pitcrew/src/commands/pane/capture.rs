//! `pane capture`: a member's screen for a bug report, with secrets hidden.

use std::path::PathBuf;

use pitcrew_core::mask;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::screen::Facts;
use pitcrew_core::submit::{Look, Pane};
use pitcrew_core::{Name, Refusal};
use pitcrew_runtime::process::Environment as Inherited;
use pitcrew_runtime::tmux::{Socket, Tmux};
use pitcrew_runtime::wake::PaneSeat;
use pitcrew_store::StoreExt;
use pitcrew_store::files::write_file;
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::profiles;
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Capture>(
    "capture",
    "Save a member's screen for a bug report, with secrets hidden",
);

/// Save a member's screen for a bug report, with secrets hidden
///
/// What is written is what `pitcrew profile test` reads: the rows, then one line with the cursor and what the terminal
/// knows. The values of your environment whose names look secret, keys of known vendors and long random texts become
/// dots of the same length. Look through it all the same before you hand it on. Nothing is typed into the pane.
#[derive(Debug, clap::Args)]
pub(crate) struct Capture {
    /// The member
    #[arg(value_name = "MEMBER")]
    member: String,
    /// Write a file `<member>.txt` into this folder, instead of writing to standard output
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Run for Capture {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let seat = seat(&team, &self.member)?;
        let name = Name::new(NameKind::Member, &self.member)?;
        let look = look(context, &seat)?;
        let mut facts = look.facts;
        hide(&mut facts, context);
        let project = context.project(None)?;
        let loaded = profiles::load_panes(context.environment, project.root());
        let reading = loaded
            .profiles
            .get(&seat.profile)
            .ok()
            .map(|profile| profile.judge(&facts));
        let text = facts.to_capture();
        let file = match &self.to {
            None => None,
            Some(folder) => {
                let folder = context.environment.cwd.join(folder);
                let file = format!("{name}.txt");
                write_file(&folder, &file, text.as_bytes())?;
                Some(folder.join(file).display().to_string())
            }
        };
        if context.ui.json {
            let answer = json!({
                "ok": true,
                "member": name.as_str(),
                "profile": seat.profile,
                "state": reading.as_ref().map(|reading| reading.state.word()),
                "why": reading.as_ref().map(|reading| reading.why.as_str()),
                "file": file,
                "screen": file.is_none().then_some(text),
            });
            context.ui.json(&answer, Layout::Pretty);
        } else if let Some(file) = file {
            context.ui.line(&file);
        } else {
            context.ui.whole(&text);
        }
        Ok(Exit::Done)
    }
}

/// The pane that a member sits in.
fn seat(team: &OpenTeam, member: &str) -> Result<PaneSeat, Halt> {
    let roster = team.desk().roster()?;
    let known: Vec<String> = roster
        .workers
        .iter()
        .map(|worker| worker.name.clone())
        .collect();
    if !known.iter().any(|name| name == member) {
        let nearest = pitcrew_core::name::nearest(member, known.iter().map(String::as_str));
        return Err(Refusal::UnknownMember {
            given: member.to_string(),
            team: team.name.to_string(),
            valid: known,
            nearest,
        }
        .into());
    }
    let name = Name::new(NameKind::Member, member)?;
    team.store
        .view::<PaneSeat>(&name)?
        .ok_or_else(|| Halt::CannotRun {
            code: "no_pane",
            why: format!("{member} sits in no pane"),
            hint: "`pitcrew who` lists the seats; only a member in a pane has a screen",
        })
}

fn look(context: &Context<'_>, seat: &PaneSeat) -> Result<Look, Halt> {
    let inherited = Inherited::all_of(context.environment.variables());
    let socket = Socket::At(seat.pane.server.socket_path.clone());
    let looked = Tmux::new(socket, &inherited).look(&[&seat.pane]);
    let mut looks = looked.map_err(|error| Halt::System {
        what: "look at the pane",
        why: error.to_string(),
    })?;
    let gone = |why: &str| Halt::CannotRun {
        code: "pane_gone",
        why: why.to_string(),
        hint: "`pitcrew team status` says how the members stand",
    };
    match looks.pop() {
        Some(look) if matches!(look.pane, Pane::Ours(_) | Pane::Dead) => Ok(look),
        Some(look) if look.pane == Pane::Gone => Err(gone("the pane is gone")),
        _ => Err(gone("the pane belongs to somebody else now")),
    }
}

fn hide(facts: &mut Facts, context: &Context<'_>) {
    let is_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
            .iter()
            .any(|part| name.contains(part))
    };
    let variables = context.environment.variables();
    let known: Vec<String> = variables
        .filter(|(name, _)| name.to_str().is_some_and(is_secret))
        .filter_map(|(_, value)| value.into_string().ok())
        .collect();
    let mut rows: Vec<String> = facts.rows.iter().map(|row| row.text.clone()).collect();
    mask::hide(&mut rows, facts.width.map_or(0, usize::from), &known);
    for (row, text) in facts.rows.iter_mut().zip(rows) {
        row.text = text;
    }
    if let Some(title) = &mut facts.title {
        mask::hide(std::slice::from_mut(title), 0, &known);
    }
}
