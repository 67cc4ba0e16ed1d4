//! What every command stands on: the project, the team that is meant, who speaks, and where to write.

use std::path::PathBuf;

use clap::ArgMatches;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Refusal};
use pitcrew_runtime::clock::{SystemClock, SystemEntropy};
use pitcrew_runtime::desk::{Credentials, Desk};
use pitcrew_store::local::{LocalStore, Project};

use crate::environment::Environment;
use crate::halt::Halt;
use crate::ui::Ui;

/// The surroundings of one command.
pub struct Context<'a> {
    /// What the process was given.
    pub environment: &'a Environment,
    /// Where to write.
    pub ui: &'a mut Ui,
    root: Option<PathBuf>,
    team: Option<String>,
    speaker: Option<String>,
}

/// A team that was found, with the store behind it.
pub struct OpenTeam {
    /// Its name.
    pub name: Name,
    /// Its files.
    pub store: LocalStore,
}

static CLOCK: SystemClock = SystemClock;
static ENTROPY: SystemEntropy = SystemEntropy;

impl OpenTeam {
    /// The desk of the team.
    pub fn desk(&self) -> Desk<'_> {
        Desk::new(&self.name, &self.store, &CLOCK, &ENTROPY)
    }
}

impl<'a> Context<'a> {
    /// The surroundings of the command that `matches` describe.
    pub fn new(environment: &'a Environment, matches: &ArgMatches, ui: &'a mut Ui) -> Self {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        Self {
            environment,
            ui,
            root: text("root").map(PathBuf::from),
            team: text("team"),
            speaker: text("as"),
        }
    }

    /// The project: by `--root`, else `start` (an input's own `cwd`), else `PITCREW_ROOT`, else from here upwards.
    pub fn project(&self, start: Option<&str>) -> Project {
        match (&self.root, start, &self.environment.root) {
            (Some(root), _, _) => Project::at(self.environment.cwd.join(root)),
            (None, Some(start), _) => Project::find(&self.environment.cwd.join(start)),
            (None, None, Some(root)) => Project::at(self.environment.cwd.join(root)),
            (None, None, None) => Project::find(&self.environment.cwd),
        }
    }

    /// Who speaks, by `--as` or `PITCREW_AGENT`, with the token of the environment.
    ///
    /// A token belongs to the team that it was issued in, so it is left out for another one.
    pub fn credentials(&self, team: &Name) -> Credentials {
        let own_team = self
            .environment
            .team
            .as_deref()
            .is_none_or(|own| own == team.as_str());
        let token = self.environment.token.clone().filter(|_| own_team);
        let agent = self.environment.agent.clone().filter(|_| own_team);
        Credentials {
            token,
            claimed: self.speaker.clone().or(agent),
        }
    }

    /// The team that is meant: `named`, else `--team`, else `PITCREW_TEAM`, else the only one of the project.
    pub fn open_team(&self, named: Option<&str>, start: Option<&str>) -> Result<OpenTeam, Halt> {
        let project = self.project(start);
        let named = named
            .or(self.team.as_deref())
            .or(self.environment.team.as_deref());
        let name = match named {
            Some(named) => Name::new(NameKind::Team, named)?,
            None => only_team(&project)?,
        };
        open(&project, name)
    }
}

/// Opens a team of `project`.
pub fn open(project: &Project, name: Name) -> Result<OpenTeam, Halt> {
    match project.open(&name)? {
        Some(store) => Ok(OpenTeam { name, store }),
        None => {
            let valid: Vec<String> = project.teams()?;
            let nearest =
                pitcrew_core::name::nearest(name.as_str(), valid.iter().map(String::as_str));
            Err(Refusal::TeamNotFound {
                given: name.to_string(),
                valid,
                nearest,
            }
            .into())
        }
    }
}

fn only_team(project: &Project) -> Result<Name, Halt> {
    let teams = project.teams()?;
    match teams.as_slice() {
        [only] => Ok(Name::new(NameKind::Team, only)?),
        [] => Err(Halt::Usage(
            "no team here; found one with `pitcrew team init <name>`".to_string(),
        )),
        several => Err(Halt::Usage(format!(
            "which team? name one with --team: {}",
            several.join(", ")
        ))),
    }
}
