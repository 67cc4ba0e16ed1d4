//! `team launch --lanes`: agents beside you, each with a prompt of its own and a file to deliver into.

use std::path::Path;

use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_core::{Name, TaskId};
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::desk::{Founding, Plan, TaskPlan};
use pitcrew_runtime::panes::{Crew, Launched, Place, delivery_folder, launch};
use pitcrew_runtime::tmux::{PaneRecord, TrustPolicy};
use serde::Deserialize;

use super::respawn::Respawning;
use super::{monitor, start};
use crate::cli::{Entry, Run};
use crate::commands::body::read_file;
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::panes::{self, Quarters};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Launch>(
    "launch",
    "Start agents beside you, each with a lane to deliver into",
);

/// The narrowest pane that is made by splitting, in columns.
const NARROWEST: u16 = 60;

/// Start agents beside you, each with a lane to deliver into
///
/// Each lane is an object, such as {"id": "math", "prompt": "Check the sums"}: id, prompt, perhaps name and profile. Inside tmux the agents appear in your window where it is
/// wide enough, else in windows of your session; elsewhere, and with --session, in a session of their own. Each is told
/// the file that its result goes into; `pitcrew team collect --dir` reads them.
#[derive(Debug, clap::Args)]
pub(super) struct Launch {
    /// The lanes as a JSON list, or the name of a file with it
    #[arg(long, value_name = "JSON")]
    lanes: String,
    /// The team's name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The profile of lanes that name none
    #[arg(long, value_name = "PROFILE", default_value = "copilot")]
    profile: String,
    /// In a session of the team's own, also inside tmux
    #[arg(long)]
    session: bool,
    /// Start no monitor, also when a loop mode is active
    #[arg(long)]
    no_monitor: bool,
    /// The folder is trusted: accept the programs' question about that
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    respawning: Respawning,
}

#[derive(Debug, Deserialize)]
struct Lane {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(alias = "task", alias = "description")]
    prompt: String,
    #[serde(default, alias = "role")]
    profile: Option<String>,
}

impl Run for Launch {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let lanes = self.read(context)?;
        let name = match self.name.as_deref().or(context.flag_team()) {
            Some(name) => name.to_string(),
            None => format!("lanes-{}", start::base36(CLOCK.now())),
        };
        match self.launch(context, &lanes, &name) {
            Ok((launched, folder)) => {
                answer(context, &name, &launched, &folder);
                if !self.no_monitor {
                    let project = context.project(None)?;
                    monitor::ensure(context, &project);
                }
                Ok(Exit::Done)
            }
            Err(halt @ Halt::Usage(_)) => Err(halt),
            Err(halt) => start::not_done(context, halt),
        }
    }
}

impl Launch {
    fn read(&self, context: &Context<'_>) -> Result<Vec<Lane>, Halt> {
        let text = match self.lanes.trim_start().starts_with('[') {
            true => self.lanes.clone(),
            false => read_file(context, Path::new(&self.lanes))?,
        };
        let lanes: Vec<Lane> = serde_json::from_str(&text)
            .map_err(|refused| Halt::Usage(format!("--lanes is no list of lanes: {refused}")))?;
        match lanes.iter().find(|lane| lane.prompt.trim().is_empty()) {
            Some(lane) => Err(Halt::Usage(format!("lane {} has an empty prompt", lane.id))),
            None if lanes.is_empty() => Err(Halt::Usage("--lanes names no lane".to_string())),
            None => Ok(lanes),
        }
    }

    fn launch(
        &self,
        context: &mut Context<'_>,
        lanes: &[Lane],
        name: &str,
    ) -> Result<(Launched, String), Halt> {
        let team_name = Name::new(NameKind::Team, name)?;
        let project = context.project(None)?;
        let quarters = Quarters::of(context)?.heeding_interrupts(&team_name)?;
        let team = OpenTeam::of(&project, team_name);
        let trust = match self.trust {
            true => TrustPolicy::Accept,
            false => TrustPolicy::Ask,
        };
        let site = quarters.site(&team, trust);
        let folder = delivery_folder(&site).display().to_string();
        let mut plan = Plan {
            founding: Founding {
                role: "lane".to_string(),
                cwd: project.root().to_string_lossy().into_owned(),
                settings: self.respawning.settings(),
                ..Founding::default()
            },
            ..Plan::default()
        };
        let mut named = Vec::new();
        for lane in lanes {
            let id = Name::new(NameKind::Lane, &lane.id)?;
            let result = format!("{folder}/{id}.result.md");
            plan.members.push(Recruit {
                name: Name::new(NameKind::Member, &lane.id)?,
                role: "lane".to_string(),
                seat: Seat::Pane,
                profile: Some(lane.profile.clone().unwrap_or_else(|| self.profile.clone())),
                task_id: Some(id.to_string()),
            });
            plan.tasks.push(TaskPlan {
                id: Some(TaskId::new(id.as_str())?),
                description: format!(
                    "{} When you are done, write your whole result to {result}",
                    lane.prompt.trim_end()
                ),
                ..TaskPlan::default()
            });
            named.push((id, lane.name.clone()));
        }
        let own = self.own_pane(&quarters)?;
        let place = match &own {
            Some((pane, width)) if fits(*width, lanes.len()) => Place::Splits(pane),
            Some((pane, _)) => Place::Windows(pane),
            None => Place::Own,
        };
        let crew = Crew {
            plan,
            place,
            lanes: &named,
        };
        Ok((launch(&site, &crew).map_err(panes::halt)?, folder))
    }

    /// The pane that this is called in and its width, unless a session of the team's own is wanted.
    fn own_pane(&self, quarters: &Quarters) -> Result<Option<(PaneRecord, u16)>, Halt> {
        let here = quarters
            .caller
            .value("TMUX_PANE")
            .and_then(|pane| pane.to_str());
        let inside = quarters.caller.value("TMUX").is_some();
        let Some(here) = here.filter(|_| inside && !self.session) else {
            return Ok(None);
        };
        let failed = |error: pitcrew_runtime::tmux::TmuxError| panes::halt(error.into());
        let Some(pane) = quarters.tmux.record_of(here).map_err(failed)? else {
            return Ok(None);
        };
        let found = quarters.tmux.panes().map_err(failed)?;
        let own = found
            .into_iter()
            .find(|facts| facts.pane_id == pane.pane_id);
        Ok(Some((
            pane,
            own.and_then(|own| own.facts.width).unwrap_or(0),
        )))
    }
}

/// Whether a pane of this width can be split for so many and stay readable: each split halves it.
fn fits(width: u16, lanes: usize) -> bool {
    let halvings = u32::try_from(lanes).unwrap_or(u32::MAX);
    width.checked_shr(halvings).unwrap_or(0) >= NARROWEST
}

fn answer(context: &mut Context<'_>, name: &str, launched: &Launched, folder: &str) {
    let session = launched.team.tmux_session.clone().unwrap_or_default();
    if context.ui.json {
        let mut answer = start::value(context, name, &session, launched);
        answer["deliveryDir"] = folder.into();
        return context.ui.json(&answer, Layout::Pretty);
    }
    for begun in &launched.members {
        context
            .ui
            .line(&format!("{}  {}", begun.member, begun.pane.pane_id));
        if !begun.first_line.is_woken() {
            let words = panes::words(&begun.member, &begun.first_line).unwrap_or_default();
            context
                .ui
                .say(&words.replace("the message waits", "its first line was not typed"));
        }
    }
    context.ui.line(folder);
    context.ui.say(&format!(
        "what they deliver: pitcrew team collect --dir {folder}"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_split_only_while_every_part_stays_readable() {
        for (width, lanes, expected) in [
            (200, 1, true),
            (200, 2, false),
            (80, 1, false),
            (0, 0, false),
            (250, 2, true),
            (65_535, 64, false),
        ] {
            assert_eq!(fits(width, lanes), expected, "{width} for {lanes}");
        }
    }
}
