//! What everything about panes stands on, and what an agent is let in with.
//!
//! What always holds: a token and forwarded variables reach a pane through its gate's private file only; a program that
//! is not there is found out before anything is written or opened.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pitcrew_core::nudge::quoted;
use pitcrew_core::roster::{Member, Team};
use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, TaskId};
use pitcrew_store::{LocalStore, Project};

use super::PaneError;
use crate::desk::{Desk, NotDone};
use crate::overlay::{Address, Overlay};
use crate::process::{Environment, Launch, Mark};
use crate::profile::{PaneProfile, PaneProfiles};
use crate::tmux::{Entry, Seat, Tmux, TrustPolicy};

/// The names under which this program is found by every member.
pub(super) const PROGRAMS: [&str; 2] = ["pitcrew", "omp"];

/// A member's file that lets its agent in.
const GATE: &str = "gate.entry";

/// The longest task that stands in the first line whole; of a longer one the inbox has the text.
const TASK_IN_LINE: usize = 600;

/// How many rows of its page a shell is shown.
const PAGE_ROWS: u32 = 15;

/// One team and everything that its panes need.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The project.
    pub project: &'a Project,
    /// The team's desk.
    pub desk: Desk<'a>,
    /// The team's files, those behind the desk.
    pub store: &'a LocalStore,
    /// How programs are started and how they look.
    pub profiles: &'a PaneProfiles,
    /// tmux at the socket where panes are opened.
    pub tmux: &'a Tmux,
    /// The caller's environment.
    pub caller: &'a Environment,
    /// This program, for the gate and the links.
    pub program: &'a Path,
    /// What is done about a question whether the folder is trusted.
    pub trust: TrustPolicy,
}

/// Whether an agent begins anew or goes on with its last session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A new session.
    Fresh,
    /// The last session, where its program can.
    Resumed,
}

impl<'a> Site<'a> {
    /// The profile of a member.
    ///
    /// # Errors
    /// When it has none or one that cannot be used.
    pub(super) fn profile(&self, member: &Member) -> Result<&'a PaneProfile, PaneError> {
        let name = member.profile.as_deref().unwrap_or(&member.role);
        self.profiles
            .get(name)
            .map_err(|absent| PaneError::Profile {
                member: member.name.clone(),
                why: absent.to_string(),
            })
    }

    /// The folder with the links to this program.
    fn programs(&self) -> PathBuf {
        self.store.folder().join("bin")
    }

    fn search_path(&self) -> OsString {
        let rest = self.caller.value("PATH").map(OsString::from);
        let rest = rest.unwrap_or_default();
        let folders = std::iter::once(self.programs()).chain(std::env::split_paths(&rest));
        std::env::join_paths(folders).unwrap_or(rest)
    }

    /// Finds the program of a profile on the PATH that its agent will have.
    ///
    /// # Errors
    /// With the program's name.
    pub(super) fn locate(&self, member: &str, profile: &PaneProfile) -> Result<(), PaneError> {
        let not_there = |why: String| PaneError::CannotStart {
            member: member.to_owned(),
            profile: profile.name.clone(),
            why,
        };
        let program = profile
            .pane
            .command
            .first()
            .ok_or_else(|| not_there("its profile names no program".into()))?;
        let mark = Mark::new("only-a-look-around").map_err(|error| not_there(error.to_string()))?;
        let environment = Environment::empty().set("PATH", self.search_path());
        Launch::new(program, self.project.root(), environment, mark)
            .locate()
            .map(drop)
            .map_err(|error| not_there(error.to_string()))
    }

    /// The pane to be opened for a member: the gate, in the project's root.
    pub(super) fn seat(&self, member: &Name) -> Seat {
        let file = self.store.worker(member).path(GATE);
        let words = ["pane", "exec"].map(OsString::from);
        let program = std::iter::once(self.program.as_os_str().to_owned());
        Seat {
            title: member.to_string(),
            folder: self.project.root().to_path_buf(),
            gate: program.chain(words).chain([file.into()]).collect(),
        }
    }

    /// Writes the member's page and links this program, before its agent is let in.
    pub(super) fn furnish(&self, team: &Team, member: &Member) -> Result<(), PaneError> {
        let name = Name::new(pitcrew_core::refusal::NameKind::Member, &member.name)
            .map_err(NotDone::from)?;
        let teammates: Vec<Name> = team
            .everybody()
            .into_iter()
            .filter(|other| !other.is_leader() && *other != name)
            .collect();
        let task = self.task_of(member)?;
        let role_prompt = pitcrew_core::role::Role::built_in(&member.role)
            .map(|role| role.system_prompt)
            .unwrap_or_default();
        let page = Overlay {
            team: self.desk.team_id(),
            member: &name,
            teammates: &teammates,
            root: &self.project.root().to_string_lossy(),
            role_prompt: &role_prompt,
            goal: &team.task,
            task: task
                .as_ref()
                .map(|task| (task.id.as_str(), task.description.as_str())),
            program: PROGRAMS[0],
            address: Address::Environment,
        };
        self.store
            .link_programs(&PROGRAMS, self.program)
            .map_err(NotDone::from)?;
        let files = self.store.worker(&name);
        files
            .write("inbox.md", page.markdown().as_bytes())
            .map_err(NotDone::from)?;
        Ok(())
    }

    /// The task that a member was started for, while it is its to do: not once it has ended, or another has it.
    pub(super) fn task_of(&self, member: &Member) -> Result<Option<Task>, PaneError> {
        match &member.task_id {
            None => Ok(None),
            Some(id) => {
                let id = TaskId::new(id).map_err(NotDone::from)?;
                let task = self.desk.task(&id)?;
                let is_its = match task.status {
                    Status::Pending => true,
                    Status::InProgress => task.owner.as_deref() == Some(&member.name),
                    Status::Completed | Status::Failed => false,
                };
                Ok(Some(task).filter(|_| is_its))
            }
        }
    }

    /// Lets the agent in: its environment and its command, in a file that the gate reads once.
    pub(super) fn let_in(
        &self,
        member: &Name,
        profile: &PaneProfile,
        token: &str,
        start: Start,
    ) -> Result<(), PaneError> {
        let entry = self.entry(member, profile, token, start);
        let files = self.store.worker(member);
        files
            .write(GATE, &entry.to_bytes())
            .map_err(NotDone::from)?;
        Ok(())
    }

    /// Takes back a file that no gate has read.
    pub(super) fn shut_out(&self, member: &Name) -> Result<(), PaneError> {
        let removed = self.store.worker(member).remove(GATE);
        removed
            .map(drop)
            .map_err(|failed| NotDone::from(failed).into())
    }

    fn entry(&self, member: &Name, profile: &PaneProfile, token: &str, start: Start) -> Entry {
        let forwarded = self
            .caller
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut names: Vec<&str> = profile.pane.forward.iter().map(String::as_str).collect();
        names.push("COPILOT_*");
        let forwarded = Environment::forwarding(forwarded, &names);
        let told: [(&str, OsString); 6] = [
            ("PATH", self.search_path()),
            ("PITCREW_ROOT", self.project.root().into()),
            ("PITCREW_TEAM", self.desk.team_id().as_str().into()),
            ("PITCREW_AGENT", member.as_str().into()),
            ("PITCREW_TOKEN", token.into()),
            ("OMP_TEAM_WORKER", "1".into()),
        ];
        let set = forwarded
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .chain(told.map(|(name, value)| (name.into(), value)))
            .collect();
        let command = match start {
            Start::Resumed if !profile.pane.resume.is_empty() => &profile.pane.resume,
            _ => &profile.pane.command,
        };
        Entry {
            set,
            unset: vec!["PITCREW_WORK".into()],
            command: command.iter().map(OsString::from).collect(),
        }
    }

    /// The first line for a member's agent: where its page is, and its task.
    pub(super) fn first_line(
        &self,
        name: &Name,
        profile: &PaneProfile,
        task: Option<&Task>,
    ) -> String {
        let page = self.store.worker(name).path("inbox.md");
        let page = page.to_string_lossy();
        if profile.submit.is_shell {
            // No more than leaves the command itself in sight: that it was taken is seen by it.
            return format!("sed -n 1,{PAGE_ROWS}p {}", quoted(&page));
        }
        let page: String = page.chars().map(blank_for_control).collect();
        let read = format!("Read your inbox at {page} and follow the instructions exactly.");
        match task.map(|task| one_line(&task.description)) {
            None => read,
            Some(task) if task.len() > TASK_IN_LINE => {
                format!("{read} Your task is described there.")
            }
            Some(task) => format!("{read} Your task: {task}"),
        }
    }
}

/// `text` on one line, without control characters.
fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(blank_for_control).collect();
    plain
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn blank_for_control(sign: char) -> char {
    if sign.is_control() { ' ' } else { sign }
}
