//! `run`: a team from a file, from its first turn to its last.
//!
//! What happens is told on standard error: as a picture that is drawn anew on a terminal, as plain lines elsewhere. The
//! results stand on standard output. With `--json` standard output has one object a line for what happens, the results
//! last.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pitcrew_core::Refusal;
use pitcrew_runtime::prices::Prices;
use pitcrew_runtime::profile::Profiles;
use pitcrew_runtime::run::event::{Outcome, Report};
use pitcrew_runtime::run::{Beginning, Doubt, RunError, Setup, run};
use pitcrew_runtime::teamfile::{ProfileKind, TeamFile};
use pitcrew_store::files::read_text;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::span;
use crate::{prices, profiles};

mod lines;
mod live;
mod picture;
mod results;
mod stream;
mod words;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<RunTeam>(
    "run",
    "Found a team from a file, run its members, and show what came of it",
);

/// Found a team from a file, run its members, and show what came of it
///
/// Members take turns: each claims a task, is told what it needs, works as one supervised process, and its answer
/// becomes the task's result. Mail that comes meanwhile brings another turn. A run that was killed goes on when it is
/// started again: what is completed stays completed, what failed is tried again.
#[derive(Debug, clap::Args)]
#[command(after_help = "A team file:
  goal = \"Put the findings into one report\"
  [[members]]
  name = \"ann\"
  profile = \"claude\"               # sh, claude, codex, copilot, gemini, opencode, qwen, or one of yours
  [[members]]
  name = \"counter\"
  profile = \"sh\"
  [[tasks]]
  id = \"count\"
  for = \"counter\"
  description = \"Count the lines\"
  script = \"wc -l *.md\"            # what a member with the profile sh runs; what it prints is the result
  [[tasks]]
  for = \"ann\"
  description = \"Say what stands out in the counts\"
  blocked_by = [\"count\"]
Profiles of your own: .pitcrew/profiles/*.toml in the project, pitcrew/profiles/*.toml in your configuration folder.
Ctrl-C asks the members to end and waits for them; once more kills them.
Exit status 5 says that not every task is completed, or that the team was shut down; 130 that the run was interrupted.")]
pub(crate) struct RunTeam {
    /// The team file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Remove the team of that name, with all its files, and begin anew
    #[arg(long)]
    fresh: bool,
    /// Tell nothing while it runs
    #[arg(long)]
    quiet: bool,
    /// How long members may take to end after they were asked to
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "10s")]
    grace: Duration,
    /// Go on although an earlier run was started where this one cannot look, such as in another container
    #[arg(long)]
    take_over: bool,
}

impl Run for RunTeam {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        match self.conduct(context) {
            Err(halt) if context.ui.json => Ok(stream::refuse(context.ui, &halt)),
            ran => ran,
        }
    }
}

impl RunTeam {
    fn conduct(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let variables: Vec<_> = context.environment.variables().collect();
        let loaded = profiles::load(context.environment, project.root());
        if let Some(failure) = loaded.unread.into_iter().next() {
            return Err(failure.into());
        }
        let profiles = loaded.profiles;
        let file = read(&context.environment.cwd, &self.file, &profiles)?;
        let program = std::env::current_exe().map_err(|refused| Halt::System {
            what: "find this program's own file",
            why: refused.to_string(),
        })?;
        let team = file.name.clone();
        if let Some(other) = context.flag_team().filter(|other| *other != team.as_str()) {
            return Err(Halt::Usage(format!(
                "the file is of team {team}, and --team says {other}; name the team in the file"
            )));
        }
        // A file of prices that makes no sense is no matter of a team that needs none.
        let prices = match file.members.iter().any(|member| member.model.is_some()) {
            true => prices::load(context)?,
            false => Prices::default(),
        };
        let setup = Setup {
            project: &project,
            file,
            profiles: &profiles,
            prices,
            variables,
            program,
            beginning: if self.fresh {
                Beginning::Fresh
            } else {
                Beginning::GoOn
            },
            doubt: if self.take_over {
                Doubt::TakeOver
            } else {
                Doubt::Refuse
            },
            grace: self.grace,
        };
        let ran = if context.ui.json {
            run(setup, &mut stream::Stream::new(context.ui))
        } else if self.quiet {
            run(setup, &mut lines::Quiet)
        } else if context.environment.stderr_can_be_redrawn() {
            run(setup, &mut live::Live::new(context.ui, context.environment))
        } else {
            run(setup, &mut lines::Lines::new(context.ui))
        };
        let report = ran.map_err(|refused| explain(refused, &team.to_string()))?;
        if context.ui.json {
            stream::finish(context.ui, &report);
        } else {
            results::write(context.ui, &context.environment.cwd, &report);
        }
        if let Some(why) = &report.broke {
            context.ui.complain(
                &format!("the run broke: {why}"),
                Some("see `pitcrew doctor`, then start it again"),
            );
            return Ok(Exit::Failed);
        }
        Ok(exit(&report))
    }
}

fn exit(report: &Report) -> Exit {
    match report.outcome {
        Outcome::Completed => Exit::Done,
        Outcome::Incomplete | Outcome::ShutDown | Outcome::TimeLimit | Outcome::FirstFailure => {
            Exit::RunFailed
        }
        Outcome::Interrupted => Exit::Interrupted,
    }
}

fn read(here: &Path, file: &Path, profiles: &Profiles) -> Result<TeamFile, Halt> {
    let text = read_text(&here.join(file)).map_err(|failure| Halt::Input {
        what: file.display().to_string(),
        why: std::error::Error::source(&failure)
            .map_or_else(|| failure.to_string(), ToString::to_string),
    })?;
    let kind_of = |name: &str| {
        let profile = profiles.get(name).map_err(|absent| absent.to_string())?;
        Ok(match profile.takes_script() {
            true => ProfileKind::Script,
            false => ProfileKind::Agent,
        })
    };
    TeamFile::parse(file, &text, &kind_of).map_err(Halt::TeamFile)
}

fn explain(refused: RunError, team: &str) -> Halt {
    match refused {
        RunError::NotDone(not_done) => not_done.into(),
        RunError::AlreadyRunning { pid, since, .. } => Refusal::TeamLive {
            team: team.to_string(),
            running: vec![format!("a run (process {pid}, since {since})")],
        }
        .into(),
        RunError::System { what, why } => Halt::System { what, why },
        RunError::MayStillRun { .. } => Halt::CannotRun {
            code: "may_still_run",
            why: refused.to_string(),
            hint: "when you know that it is gone, go on with --take-over",
        },
        RunError::UnfitPath(_) => Halt::CannotRun {
            code: "unfit_path",
            why: refused.to_string(),
            hint: "rename the folder, or move the project; nothing was started",
        },
        RunError::CannotStart(_) => Halt::CannotRun {
            code: "cannot_start",
            why: refused.to_string(),
            hint: "install it, put its folder on PATH, or give the member another profile; nothing was started",
        },
    }
}
