//! `team init`: a team without panes.

use std::path::PathBuf;

use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Refusal};
use pitcrew_runtime::desk::{Founding, Plan, TaskPlan};
use pitcrew_store::local::Creation;
use serde_json::json;

use super::recruit::MemberWords;
use crate::cli::{Entry, Run};
use crate::commands::body::read_file;
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

mod task_file;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Init>("init", "Found a team, with members and tasks");

/// Found a team, with members and tasks
///
/// The team is a folder of plain files below the project's root. Nothing is started: members are whoever speaks in
/// their names, people and agents alike. The team appears whole or not at all.
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
        let team = OpenTeam::of(&project, name);
        let desk = team.desk();
        let blueprint = desk.draw_up(&plan)?;
        if let Creation::Taken(there) = project.create_team(&team.name, &blueprint.team)? {
            return Err(Refusal::TeamExists { team: there }.into());
        }
        let tasks = desk.move_in(&blueprint)?;
        let folder = team.store.folder().display().to_string();
        if context.ui.json {
            let tasks: Vec<&str> = tasks.iter().map(pitcrew_core::TaskId::as_str).collect();
            let answer = json!({
                "ok": true, "config": blueprint.team, "tasks": tasks, "folder": folder,
            });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            let (members, count) = (blueprint.team.workers.len(), tasks.len());
            let name = &team.name;
            context.ui.line(&format!(
                "founded team {name} members={members} tasks={count} in {folder}"
            ));
            if let Some(first) = blueprint.team.workers.first() {
                context.ui.say(&format!(
                    "next: pitcrew --team {name} --as {} task claim",
                    first.name
                ));
            }
        }
        Ok(Exit::Done)
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
