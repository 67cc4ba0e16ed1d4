//! What every command stands on: the project, the team that is meant, who speaks, and where to write.
//!
//! | given | the project |
//! |---|---|
//! | `--root DIR` | `DIR` |
//! | a request's `cwd` inside `PITCREW_ROOT` | `PITCREW_ROOT`: a member in a sub-package means its own team's project |
//! | a request's `cwd` | the one that it lies in |
//! | `PITCREW_ROOT` | that folder |
//! | nothing | the one that the command was called in |

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use clap::ArgMatches;
use pitcrew_core::claim::{FileLines, FilePath};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Refusal};
use pitcrew_runtime::clock::{SystemClock, SystemEntropy};
use pitcrew_runtime::desk::{Credentials, Desk, Unsaid};
use pitcrew_store::files::Workspace;
use pitcrew_store::{LocalStore, Project, StoreFailure};

use crate::environment::Environment;
use crate::halt::Halt;
use crate::ui::Ui;

/// The surroundings of one command.
pub(crate) struct Context<'a> {
    /// What the process was given.
    pub environment: &'a Environment,
    /// Where to write.
    pub ui: &'a mut Ui,
    root: Option<PathBuf>,
    team: Option<String>,
    speaker: Option<String>,
    /// The project that was looked into last.
    project: Option<Project>,
}

/// A team that is meant, with its files. Whether it exists shows when it is asked something.
#[derive(Debug, Clone)]
pub(crate) struct OpenTeam {
    /// Its name.
    pub name: Name,
    /// Its files.
    pub store: LocalStore,
}

/// The machine's clock.
pub(crate) static CLOCK: SystemClock = SystemClock;
static ENTROPY: SystemEntropy = SystemEntropy;
/// Events of this command that could not be written.
pub(crate) static UNSAID: Unsaid = Unsaid::new();

impl OpenTeam {
    /// The team called `name` in `project`.
    pub(crate) fn of(project: &Project, name: Name) -> Self {
        let store = project.team(&name);
        Self { name, store }
    }

    /// The desk of the team.
    pub(crate) fn desk(&self) -> Desk<'_> {
        Desk::new(&self.name, &self.store, &CLOCK, &ENTROPY).noting(&UNSAID)
    }
}

impl<'a> Context<'a> {
    /// The surroundings of the command that `matches` describe.
    pub(crate) fn new(environment: &'a Environment, matches: &ArgMatches, ui: &'a mut Ui) -> Self {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        Self {
            environment,
            ui,
            root: matches.get_one::<PathBuf>("root").cloned(),
            team: text("team"),
            speaker: text("as"),
            project: None,
        }
    }

    /// The project that is meant, as the table above says; `start` is a request's own `cwd`.
    pub(crate) fn project(&mut self, start: Option<&str>) -> Result<Project, Halt> {
        let here = &self.environment.cwd;
        let named = self.environment.root.as_ref().map(|root| here.join(root));
        let start = start.map(|start| here.join(start));
        let project = match (&self.root, start, named) {
            (Some(root), _, _) => named_root(&here.join(root), "--root")?,
            (None, Some(start), Some(root)) if lies_in(&start, &root) => {
                named_root(&root, "PITCREW_ROOT")?
            }
            (None, Some(start), _) => Project::discover(&start)?,
            (None, None, Some(root)) => named_root(&root, "PITCREW_ROOT")?,
            (None, None, None) => Project::discover(here)?,
        };
        self.project = Some(project.clone());
        Ok(project)
    }

    /// The file of the project that `given` names, from a request's own `cwd` or from where the command was called.
    pub(crate) fn file(&mut self, given: &str, start: Option<&str>) -> Result<FilePath, Halt> {
        let project = self.project(start)?;
        let here = &self.environment.cwd;
        let from = start.map_or_else(|| here.clone(), |start| here.join(start));
        let file = Workspace::of(&project)?.file(Path::new(given), &from)?;
        Ok(file?)
    }

    /// What a file of the project says now, as claims see it. `None` when it is not there or is no text.
    pub(crate) fn file_lines(
        &mut self,
        file: &FilePath,
        start: Option<&str>,
    ) -> Result<Option<FileLines>, Halt> {
        let text = Workspace::of(&self.project(start)?)?.text(file)?;
        Ok(text.as_deref().and_then(FileLines::of_text))
    }

    /// Who speaks in `team`.
    pub(crate) fn me(&self, team: &OpenTeam) -> Result<Name, Halt> {
        let desk = team.desk();
        let speaker = desk.speaker(&desk.roster()?, &self.credentials(&team.name))?;
        Ok(speaker.name)
    }

    /// The project that was looked into last.
    pub(crate) fn last_project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// In which words the project was found.
    pub(crate) fn why_this_root(&self) -> &'static str {
        match (&self.root, &self.environment.root) {
            (Some(_), _) => "named by --root",
            (None, Some(_)) => "named by PITCREW_ROOT",
            (None, None) => "the nearest folder upwards with .git or package.json, else this one",
        }
    }

    /// Who speaks, by `--as` or `PITCREW_AGENT`, with the token of the environment.
    ///
    /// A token belongs to the team that it was issued in, so it is left out for another one.
    pub(crate) fn credentials(&self, team: &Name) -> Credentials {
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

    /// Whether whoever speaks can be somebody in `team`: a member of one team is nobody in another, even where its name
    /// is known. Whoever says nothing about itself is the human, in every team.
    pub(crate) fn may_speak_in(&self, team: &Name) -> bool {
        let environment = self.environment;
        let is_member = environment.agent.is_some() || environment.token.is_some();
        let is_own = |own: &str| team.folds_to(own);
        self.speaker.is_some() || !is_member || environment.team.as_deref().is_none_or(is_own)
    }

    /// What --team says.
    pub(crate) fn flag_team(&self) -> Option<&str> {
        self.team.as_deref()
    }

    /// The name of the team that is meant, if the command line or the environment has one.
    pub(crate) fn named_team<'t>(&'t self, named: Option<&'t str>) -> Option<&'t str> {
        named
            .or(self.team.as_deref())
            .or(self.environment.team.as_deref())
    }

    /// The team that is meant: `--team`, else `PITCREW_TEAM`, else the only one of the project.
    pub(crate) fn open_team(&mut self) -> Result<OpenTeam, Halt> {
        let project = self.project(None)?;
        let name = match self.named_team(None) {
            Some(named) => Name::new(NameKind::Team, named)?,
            None => only_team(&project)?,
        };
        Ok(OpenTeam::of(&project, name))
    }

    /// The team called `named`.
    pub(crate) fn open_named(
        &mut self,
        named: &str,
        start: Option<&str>,
    ) -> Result<OpenTeam, Halt> {
        let name = Name::new(NameKind::Team, named)?;
        let project = self.project(start)?;
        Ok(OpenTeam::of(&project, name))
    }

    /// Refuses what only the leader may do when a member speaks.
    pub(crate) fn leader_only(&self, team: &OpenTeam, action: &str) -> Result<(), Halt> {
        let desk = team.desk();
        let speaker = desk.speaker(&desk.roster()?, &self.credentials(&team.name))?;
        if speaker.name.is_leader() {
            return Ok(());
        }
        Err(Refusal::LeaderOnly {
            member: speaker.name.to_string(),
            action: action.to_string(),
        }
        .into())
    }

    /// Adds to a refusal what only the project knows: the names of the teams that exist.
    pub(crate) fn explain(&self, halt: Halt) -> Halt {
        match (halt, &self.project) {
            (Halt::Refused(Refusal::TeamNotFound { given, .. }), Some(project)) => {
                // When the teams cannot be listed, there are no names to offer; the refusal stands all the same.
                let teams = project.teams().unwrap_or_default();
                // One of the same name was founded since; it is not the one that was meant.
                let others = teams.iter().map(ToString::to_string);
                let valid: Vec<String> = others.filter(|name| *name != given).collect();
                let known = valid.iter().map(String::as_str);
                let nearest = pitcrew_core::name::nearest(&given, known);
                Halt::Refused(Refusal::TeamNotFound {
                    given,
                    valid,
                    nearest,
                })
            }
            (halt, _) => halt,
        }
    }
}

/// The project whose root somebody named. A root that is not there holds no teams, which would look like an answer.
fn named_root(root: &Path, by: &str) -> Result<Project, Halt> {
    let project = Project::at(root)?;
    match project.stands() {
        Ok(()) => Ok(project),
        Err(StoreFailure::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            // Whoever may not list the folder may still reach what is below it, or is refused there.
            Ok(project)
        }
        Err(failure) => {
            let why = match failure {
                StoreFailure::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                    "no such folder".to_string()
                }
                StoreFailure::Escapes { .. } => "not a folder".to_string(),
                other => Halt::from(other).message(),
            };
            Err(Halt::Input {
                what: format!("{by} {}", root.display()),
                why,
            })
        }
    }
}

/// Whether `path` lies in `folder` or is it, by their names alone.
fn lies_in(path: &Path, folder: &Path) -> bool {
    plain(path).starts_with(plain(folder))
}

/// `path` without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn only_team(project: &Project) -> Result<Name, Halt> {
    let teams = project.teams()?;
    match teams.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Halt::Usage(
            "no team here; found one with `pitcrew team init <name>`".to_string(),
        )),
        several => {
            let names: Vec<&str> = several.iter().map(Name::as_str).collect();
            Err(Halt::Usage(format!(
                "which team? name one with --team or PITCREW_TEAM: {}",
                names.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_lies_in_another_by_its_names() {
        for (path, folder, expected) in [
            ("/p/packages/a", "/p", true),
            ("/p", "/p", true),
            ("/p/./a/..", "/p", true),
            ("/p/../q", "/p", false),
            ("/pq", "/p", false),
            ("/", "/p", false),
        ] {
            assert_eq!(
                lies_in(Path::new(path), Path::new(folder)),
                expected,
                "{path}"
            );
        }
    }
}
