//! `team 2:claude "task"`, also `team start`: a team of interactive agents in panes.

use std::path::PathBuf;

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::desk::{Founding, Plan, TaskPlan};
use pitcrew_runtime::panes::{Crew, Launched, Place, launch, session_of};
use pitcrew_runtime::tmux::TrustPolicy;
use serde_json::{Value, json};

use super::init::task_file;
use super::monitor;
use super::respawn::Respawning;
use crate::cli::{Entry, Run, failed_answer};
use crate::commands::body::read_file;
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::panes::{self, Quarters};
use crate::ui::Layout;

mod crew_word;

use crew_word::CrewWord;
pub(crate) use crew_word::is_crew_word;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Start>(
    "start",
    "Start agents in tmux panes, also without this word",
);

/// Start agents in tmux panes
///
/// `pitcrew team 2:claude 1:codex 'Review the parser'` starts three agents, each in a window of a tmux session of the
/// team's own, waits until they are ready and gives each its task. The word may be left out: `team 2:claude …` is
/// `team start 2:claude …`. If one of them cannot be started, or you press Ctrl-C meanwhile, none is, and nothing is left.
///
/// A program that asks something at its start is left waiting for you: `pitcrew team attach` shows it. The question
/// whether the folder is trusted is answered only with --trust.
///
/// An agent that ends is not started again, unless --respawn says so: then a monitor does, later from time to time, and gives
/// up after too many. Each new agent is a new incarnation; the tasks of the old one go back.
#[derive(Debug, clap::Args)]
pub(super) struct Start {
    /// How many of which: N:PROFILE or N:ROLE:PROFILE, several times; then the task
    #[arg(value_name = "N:ROLE… TASK", required = true)]
    words: Vec<String>,
    /// The team's name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A task for each member, in their order: a TOML file as for `team init`, or any other with one on each line
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
    /// The folder is trusted: accept the programs' question about that
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    respawning: Respawning,
}

impl Run for Start {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let (crew, task) = self.read()?;
        let name = match self.name.as_deref().or(context.flag_team()) {
            Some(name) => name.to_string(),
            None => format!("{}-{}", crew[0].role, base36(CLOCK.now())),
        };
        let begun = self.start(context, &crew, task, &name);
        match begun {
            Ok(launched) => {
                answer(context, &name, &launched);
                let project = context.project(None)?;
                monitor::ensure(context, &project);
                Ok(Exit::Done)
            }
            Err(halt @ Halt::Usage(_)) => Err(halt),
            Err(halt) => not_done(context, halt),
        }
    }
}

/// Milliseconds as the reference puts them into names.
pub(super) fn base36(millis: i64) -> String {
    let mut left = millis.unsigned_abs();
    let mut digits = Vec::new();
    while left > 0 || digits.is_empty() {
        digits.push(char::from_digit((left % 36) as u32, 36).unwrap_or('0'));
        left /= 36;
    }
    digits.iter().rev().collect()
}

impl Start {
    fn read(&self) -> Result<(Vec<CrewWord>, Option<&str>), Halt> {
        let count = self
            .words
            .iter()
            .take_while(|word| is_crew_word(word))
            .count();
        let crew = self.words[..count]
            .iter()
            .map(|word| word.parse().map_err(Halt::Usage))
            .collect::<Result<Vec<CrewWord>, _>>()?;
        let usage = |text: &str| Err(Halt::Usage(text.to_string()));
        match (crew.as_slice(), &self.words[count..], &self.tasks) {
            ([], ..) => usage("who is to be started? say it as 2:claude"),
            (_, [], None) => usage("what are they to do? give the task as one argument"),
            (_, [], Some(_)) => Ok((crew, None)),
            (_, [_], Some(_)) => usage("give one task for all, or --tasks with one for each"),
            (_, [task], None) if task.trim().is_empty() => usage("the task is empty"),
            (_, [task], None) => Ok((crew, Some(task))),
            (_, [_, ..], _) => usage("the task is one argument: put it in quotes"),
        }
    }

    fn start(
        &self,
        context: &mut Context<'_>,
        crew: &[CrewWord],
        task: Option<&str>,
        name: &str,
    ) -> Result<Launched, Halt> {
        let name = Name::new(NameKind::Team, name)?;
        let project = context.project(None)?;
        let plan = self.plan(context, crew, task, &project.root().to_string_lossy())?;
        let quarters = Quarters::of(context)?.heeding_interrupts(&name)?;
        let team = OpenTeam::of(&project, name);
        let trust = match self.trust {
            true => TrustPolicy::Accept,
            false => TrustPolicy::Ask,
        };
        let crew = Crew {
            plan,
            place: Place::Own,
            lanes: &[],
        };
        launch(&quarters.site(&team, trust), &crew).map_err(panes::halt)
    }

    fn plan(
        &self,
        context: &Context<'_>,
        crew: &[CrewWord],
        task: Option<&str>,
        cwd: &str,
    ) -> Result<Plan, Halt> {
        let mut members = Vec::new();
        for word in crew {
            for _ in 0..word.count {
                members.push(Recruit {
                    name: Name::new(NameKind::Member, &format!("worker-{}", members.len() + 1))?,
                    role: word.role.clone(),
                    seat: Seat::Pane,
                    profile: Some(word.profile.clone()),
                    task_id: None,
                });
            }
        }
        let tasks = match (&self.tasks, task) {
            (Some(file), _) => {
                let text = read_file(context, file)?;
                let shown = file.display().to_string();
                match file.extension().is_some_and(|end| end == "toml") {
                    true => task_file::read(&text, &shown)?,
                    false => text
                        .lines()
                        .filter(|line| !line.trim().is_empty())
                        .map(plain)
                        .collect(),
                }
            }
            (None, task) => parts(task.unwrap_or_default(), members.len()),
        };
        let mut plan = Plan {
            founding: Founding {
                goal: task.unwrap_or_default().to_string(),
                role: crew[0].role.clone(),
                cwd: cwd.to_string(),
                settings: self.respawning.settings(),
                ..Founding::default()
            },
            members,
            tasks,
        };
        hand_out(&mut plan)?;
        Ok(plan)
    }
}

fn plain(description: &str) -> TaskPlan {
    TaskPlan {
        description: description.to_string(),
        ..TaskPlan::default()
    }
}

/// One task for each of `count` members, as the reference numbers them.
fn parts(task: &str, count: usize) -> Vec<TaskPlan> {
    match count {
        1 => vec![plain(task)],
        _ => (1..=count)
            .map(|part| plain(&format!("{task} (part {part}/{count})")))
            .collect(),
    }
}

/// Gives each member the first task that is meant for it or for nobody; further ones stay free for all.
fn hand_out(plan: &mut Plan) -> Result<(), Halt> {
    if plan.tasks.len() < plan.members.len() {
        return Err(Halt::Usage(format!(
            "{} members and {} tasks: there must be one for each",
            plan.members.len(),
            plan.tasks.len()
        )));
    }
    let mut number = 0;
    for task in &mut plan.tasks {
        number += 1;
        if task.id.is_none() {
            task.id = Some(pitcrew_core::TaskId::new(&number.to_string())?);
        }
    }
    let mut given: Vec<String> = Vec::new();
    for member in &mut plan.members {
        let id = |task: &TaskPlan| task.id.as_ref().map(ToString::to_string);
        let meant = |task: &&TaskPlan| task.assignee.as_deref() == Some(member.name.as_str());
        let free = |task: &&TaskPlan| {
            task.assignee.is_none() && id(task).is_some_and(|id| !given.contains(&id))
        };
        let own = plan.tasks.iter().find(meant);
        member.task_id = own.or_else(|| plan.tasks.iter().find(free)).and_then(id);
        given.extend(member.task_id.clone());
    }
    Ok(())
}

/// What was launched, in the reference's form.
fn answer(context: &mut Context<'_>, name: &str, launched: &Launched) {
    let session = launched.team.tmux_session.clone().unwrap_or_default();
    if context.ui.json {
        let answer = value(context, name, &session, launched);
        return context.ui.json(&answer, Layout::Pretty);
    }
    let workers: Vec<String> = launched
        .members
        .iter()
        .map(|begun| format!("{}({})", begun.member, begun.pane.pane_id))
        .collect();
    context.ui.line(&format!(
        "started team {name} session={session} workers={}",
        workers.join(",")
    ));
    for begun in &launched.members {
        if !begun.first_line.is_woken() {
            let words = panes::words(&begun.member, &begun.first_line).unwrap_or_default();
            context
                .ui
                .say(&words.replace("the message waits", "its first line was not typed"));
        }
    }
    context
        .ui
        .say(&format!("look at it: pitcrew team attach {name}"));
}

pub(super) fn value(
    context: &mut Context<'_>,
    name: &str,
    session: &str,
    launched: &Launched,
) -> Value {
    let begun: Vec<Value> = launched
        .members
        .iter()
        .map(|begun| {
            let mut row = json!({ "name": begun.member.as_str(), "paneId": begun.pane.pane_id });
            row["firstLine"] = panes::value(&begun.first_line);
            row
        })
        .collect();
    let mut answer = json!({ "ok": true, "config": launched.team, "tmuxSession": session });
    if let Some(project) = context.last_project() {
        let state = project.state_dir();
        let root = state.join("team").join(name);
        let below = |file: &str| root.join(file).display().to_string();
        answer["paths"] = json!({
            "cwd": project.root().display().to_string(),
            "teamName": name,
            "teamRoot": root.display().to_string(),
            "configFile": below("config.json"),
            "manifestFile": below("manifest.json"),
            "shutdownFile": below("shutdown.json"),
            "tasksDir": below("tasks"),
            "workersDir": below("workers"),
            "mailboxDir": below("mailbox"),
            "dispatchDir": below("dispatch"),
            "eventsFile": below("events.jsonl"),
            "monitorSnapshotFile": below("monitor-snapshot.json"),
            "phaseStateFile": below("phase-state.json"),
            "approvalsDir": below("approvals"),
        });
    }
    answer["workers"] = begun.into();
    answer
}

/// The reference says in `error` why nothing was launched.
pub(super) fn not_done(context: &mut Context<'_>, halt: Halt) -> Result<Exit, Halt> {
    let halt = context.explain(halt);
    let row = hints::row(&halt);
    let words = match &halt {
        Halt::Refused(pitcrew_core::Refusal::TeamExists { team }) => {
            let session = Name::new(NameKind::Team, team).map(|team| session_of(&team));
            let session = session.unwrap_or_default();
            format!("tmux session {session} already exists; run `omp team shutdown {team}` first")
        }
        other => other.message(),
    };
    if context.ui.json {
        let answer = failed_answer("error", Some(words), &halt);
        context.ui.json(&answer, Layout::Pretty);
    } else {
        context.ui.complain(&halt.message(), Some(&row.hint));
    }
    Ok(row.exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_get_the_task_that_is_meant_for_them_first() {
        let member = |name: &str| Recruit {
            name: Name::new(NameKind::Member, name).unwrap(),
            role: "claude".into(),
            seat: Seat::Pane,
            profile: None,
            task_id: None,
        };
        let mut plan = Plan {
            members: vec![member("worker-1"), member("worker-2")],
            tasks: vec![
                plain("a"),
                TaskPlan {
                    assignee: Some("worker-1".into()),
                    ..plain("b")
                },
                plain("c"),
            ],
            ..Plan::default()
        };
        hand_out(&mut plan).unwrap();
        let ids: Vec<_> = plan
            .members
            .iter()
            .map(|member| member.task_id.as_deref())
            .collect();
        assert_eq!(ids, [Some("2"), Some("1")]);
    }

    #[test]
    fn names_of_the_reference_are_in_base_36() {
        assert_eq!(base36(0), "0");
        assert_eq!(base36(35), "z");
        assert_eq!(base36(36 * 36 + 1), "101");
    }

    #[test]
    fn parts_are_numbered_when_there_are_several() {
        let texts = |count| -> Vec<String> {
            parts("do it", count)
                .into_iter()
                .map(|task| task.description)
                .collect()
        };
        assert_eq!(texts(1), ["do it"]);
        assert_eq!(texts(2), ["do it (part 1/2)", "do it (part 2/2)"]);
    }
}
