//! `team init`: a team without panes.

use std::path::PathBuf;

use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_runtime::desk::{Founding, Plan, TaskPlan};
use pitcrew_store::Project;
use pitcrew_store::local::Creation;
use serde_json::{Value, json};

use super::recruit::MemberWords;
use crate::cli::{Entry, Run};
use crate::commands::body::read_file;
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::{Layout, Ui};

pub(super) mod task_file;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Init>("init", "Found a team, with members and tasks");

/// Found a team, with members and tasks
///
/// The team is a folder of plain files below the project's root. Nothing is started: members are whoever speaks in
/// their names, people and agents alike. The team appears with all its members and tasks in one step.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew team init audit --member ann --member bob:coder --task 'List the modules' --task 'Find dead code'
  pitcrew team init release --goal 'Ship 1.0' --member ann --tasks tasks.toml

A file of tasks, where order and dependencies matter:
  [[tasks]]
  id = \"build\"
  description = \"Build it\"
  [[tasks]]
  description = \"Test what was built\"
  for = \"ann\"
  blocked_by = [\"build\"]")]
pub(super) struct Init {
    /// The team's name
    #[arg(value_name = "NAME")]
    name: String,
    /// A member: its name, perhaps its role and the profile of its agent; can be given several times
    #[arg(long = "member", value_name = "NAME[:ROLE[:PROFILE]]")]
    members: Vec<MemberWords>,
    /// A task; can be given several times
    #[arg(long = "task", value_name = "TEXT")]
    tasks: Vec<String>,
    /// More tasks, with ids and dependencies, from a TOML file
    #[arg(long = "tasks", value_name = "FILE")]
    task_file: Option<PathBuf>,
    /// What the team is for
    #[arg(long, value_name = "TEXT", default_value = "")]
    goal: String,
    /// The role of members that have no other
    #[arg(long, value_name = "ROLE", default_value = "worker")]
    role: String,
}

impl Run for Init {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let name = Name::new(NameKind::Team, &self.name)?;
        let project = context.project(None)?;
        let plan = self.plan(context, &project.root().to_string_lossy())?;
        let founded = found(&project, name, &plan)?;
        if context.ui.json {
            context.ui.json(&founded.value(), Layout::Pretty);
        } else {
            founded.write(context.ui);
        }
        Ok(Exit::Done)
    }
}

/// A team that was founded.
pub(super) struct Founded {
    name: Name,
    team: Team,
    tasks: Vec<TaskId>,
    folder: String,
}

/// Founds a team in `project`.
pub(super) fn found(project: &Project, name: Name, plan: &Plan) -> Result<Founded, Halt> {
    let team = OpenTeam::of(project, name);
    let desk = team.desk();
    let blueprint = desk.draw_up(plan)?;
    let created = project.create_team_with(&team.name, &blueprint.team, &blueprint.tasks)?;
    if let Creation::Taken(there) = created {
        if let Some(hollow) = project.hollow()?.iter().find(|name| name.as_str() == there) {
            return Err(super::list::hollow(hollow));
        }
        return Err(Refusal::TeamExists { team: there }.into());
    }
    desk.tell_founded(&blueprint);
    let tasks = blueprint.tasks.into_iter().map(|(id, _)| id).collect();
    let folder = team.store.folder().display().to_string();
    Ok(Founded {
        name: team.name,
        team: blueprint.team,
        tasks,
        folder,
    })
}

impl Founded {
    /// The answer as JSON.
    pub(super) fn value(&self) -> Value {
        json!({ "ok": true, "config": self.team, "tasks": self.tasks, "folder": self.folder })
    }

    fn write(&self, ui: &mut Ui) {
        let (name, members) = (&self.name, &self.team.workers);
        ui.line(&format!(
            "founded team {name} members={} tasks={} in {}",
            members.len(),
            self.tasks.len(),
            self.folder
        ));
        if let Some(first) = members.first() {
            let first = &first.name;
            ui.say(&format!(
                "next: pitcrew --team {name} --as {first} task claim"
            ));
        }
    }
}

impl Init {
    fn plan(&self, context: &Context<'_>, cwd: &str) -> Result<Plan, Halt> {
        let members = self.members.iter().map(|words| words.recruit(&self.role));
        let mut tasks: Vec<TaskPlan> = self
            .tasks
            .iter()
            .map(|description| TaskPlan {
                description: description.clone(),
                ..TaskPlan::default()
            })
            .collect();
        if let Some(file) = &self.task_file {
            let text = read_file(context, file)?;
            tasks.extend(task_file::read(&text, &file.display().to_string())?);
        }
        Ok(Plan {
            founding: Founding {
                goal: self.goal.clone(),
                role: self.role.clone(),
                team_name: None,
                cwd: cwd.to_string(),
                settings: None,
            },
            members: members.collect::<Result<_, _>>()?,
            tasks,
        })
    }
}
