//! What each member of a run brings along: its profile, the folder it works in, its environment.
//!
//! Everything that can be known before the first turn is checked here, before a single file is written: profiles,
//! working folders, and whether each program is found on the `PATH` that the member will have.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pitcrew_core::mailbox::Message;
use pitcrew_core::{Name, Refusal};
use pitcrew_store::files::WorkerFiles;

use super::allowance::Lately;
use super::record::SessionRecord;
use super::turn::{Claim, Turn};
use super::{CannotStart, RunError, Setup};
use crate::process::{Environment, Launch, Mark};
use crate::profile::{EnvRules, Profile, ToolGrant};
use crate::teamfile::{MemberEntry, Tools};

/// The folder of a team in which its members find this program.
const PROGRAMS: &str = "bin";

/// The folder of a member for what it wants to leave behind.
pub(super) const WORK: &str = "work";

/// One member of a run.
#[derive(Debug)]
pub(super) struct Gear {
    pub(super) entry: MemberEntry,
    pub(super) profile: Profile,
    /// Where its processes start.
    pub(super) folder: PathBuf,
    /// What they inherit.
    inherited: Environment,
    /// What every one of them is told over that, its token aside.
    told: Vec<(&'static str, OsString)>,
    /// The folder with this program.
    programs: PathBuf,
    /// Its files in the team's folder.
    pub(super) files: WorkerFiles,
    /// What proves it in its turn.
    pub(super) token: Option<String>,
    /// The number of its latest turn, in all runs.
    pub(super) number: u32,
    /// The turn that it is in.
    pub(super) turn: Option<Turn>,
    /// A task that stayed its own after a turn.
    pub(super) claim: Option<Claim>,
    /// Its agent's session as its last turn in this run left it; `None` before the first.
    pub(super) session: Option<Option<SessionRecord>>,
    /// What its last turns used.
    pub(super) lately: Lately,
    /// Mail that a turn showed and that did not count as shown.
    pub(super) kept: Vec<Message>,
}

impl Gear {
    pub(super) fn name(&self) -> &Name {
        &self.entry.name
    }

    pub(super) fn is_script(&self) -> bool {
        self.profile.takes_script()
    }

    /// Whether mail alone brings it a turn.
    pub(super) fn answers_mail(&self) -> bool {
        !self.is_script() || self.entry.on_mail.is_some()
    }

    /// The environment of a turn: the caller's without what is another member's, thinned and changed by the profile,
    /// then by the team file, then by what every member has.
    pub(super) fn environment(&self, rules: &EnvRules) -> Environment {
        let mut environment = rules.over(self.inherited.clone());
        for (name, value) in &self.entry.env {
            environment = environment.set(name, value);
        }
        let search = environment.value("PATH").map(OsString::from);
        environment = environment.set("PATH", with_first(&self.programs, search));
        for (name, value) in &self.told {
            environment = environment.set(name, value);
        }
        environment
    }

    pub(super) fn grant(&self) -> ToolGrant {
        match self.entry.tools {
            Tools::Team => ToolGrant::Team,
            Tools::All => ToolGrant::All,
        }
    }
}

/// Equips every member of the file.
///
/// # Errors
/// Everything that would keep a member from starting.
pub(super) fn outfit(setup: &Setup<'_>) -> Result<Vec<Gear>, RunError> {
    let root = setup.project.root();
    if std::env::join_paths([root]).is_err() {
        return Err(RunError::UnfitPath(root.to_path_buf()));
    }
    let mut gears = Vec::with_capacity(setup.file.members.len());
    for entry in &setup.file.members {
        gears.push(equip(setup, entry)?);
    }
    let mut missing: Vec<CannotStart> = Vec::new();
    for gear in &gears {
        let Err(error) = locate(gear) else { continue };
        let same = |other: &&mut CannotStart| {
            other.profile == gear.entry.profile && other.error.to_string() == error.to_string()
        };
        match missing.iter_mut().find(same) {
            Some(other) => other.members.push(gear.name().clone()),
            None => missing.push(CannotStart {
                profile: gear.entry.profile.clone(),
                members: vec![gear.name().clone()],
                error,
            }),
        }
    }
    if missing.is_empty() {
        Ok(gears)
    } else {
        Err(RunError::CannotStart(missing))
    }
}

fn locate(gear: &Gear) -> Result<(), crate::process::SpawnError> {
    let program = gear.profile.program();
    // These come with the team, whose folder may not be there yet.
    if program == "pitcrew" || program == "omp" {
        return Ok(());
    }
    let mark = Mark::new("only-a-look-around").map_err(|error| {
        crate::process::SpawnError::CannotFollow {
            source: std::io::Error::other(error),
        }
    })?;
    let environment = gear.environment(&EnvRules::default());
    Launch::new(program, &gear.folder, environment, mark).locate()?;
    Ok(())
}

fn equip(setup: &Setup<'_>, entry: &MemberEntry) -> Result<Gear, RunError> {
    let profile = setup
        .profiles
        .get(&entry.profile)
        .map_err(|absent| NotKnown(absent.to_string()))?
        .clone();
    let root = setup.project.root();
    let folder = match &entry.folder {
        Some(folder) => root.join(folder),
        None => root.to_path_buf(),
    };
    let store = setup.project.team(&setup.file.name);
    let files = store.worker(&entry.name);
    let inherited = Environment::all_of(setup.variables.iter().cloned())
        .unset("PITCREW_*")
        .unset("OMP_TEAM_*");
    let told = vec![
        ("PITCREW_ROOT", root.into()),
        ("PITCREW_TEAM", setup.file.name.as_str().into()),
        ("PITCREW_AGENT", entry.name.as_str().into()),
        ("PITCREW_WORK", files.path(WORK).into()),
        ("OMP_TEAM_WORKER", "1".into()),
    ];
    Ok(Gear {
        entry: entry.clone(),
        profile,
        folder,
        inherited,
        told,
        programs: store.folder().join(PROGRAMS),
        files,
        token: None,
        number: 0,
        turn: None,
        claim: None,
        session: None,
        lately: Lately::default(),
        kept: Vec::new(),
    })
}

/// A profile that went away between reading the file and using it.
struct NotKnown(String);

impl From<NotKnown> for RunError {
    fn from(NotKnown(why): NotKnown) -> Self {
        Self::NotDone(Refusal::input("members.profile", &why).into())
    }
}

/// A search path with `first` in front. What cannot stand in one was refused before.
fn with_first(first: &Path, rest: Option<OsString>) -> OsString {
    let rest = rest.unwrap_or_default();
    let folders = std::iter::once(first.to_path_buf()).chain(std::env::split_paths(&rest));
    std::env::join_paths(folders).unwrap_or(rest)
}
