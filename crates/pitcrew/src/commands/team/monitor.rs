//! `team monitor`: the one background process that prompts idle panes while a loop mode is active, and starts members again.

use std::os::fd::AsFd;

use pitcrew_core::loops::Mode;
use pitcrew_core::nudge::Timing;
use pitcrew_runtime::clock::SystemEntropy;
use pitcrew_runtime::loops::Loops;
use pitcrew_runtime::monitor::{
    self, Ensured, MonitorRecord, Need, Stopped, TmuxPanes, Watcher, need, running,
};
use pitcrew_runtime::process::Environment as Inherited;
use pitcrew_runtime::tmux::{Socket, Tmux};
use pitcrew_store::{Project, StoreExt};
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::{CLOCK, Context};
use crate::halt::{Exit, Halt};
use crate::profiles;
use crate::ui::Layout;

static ENTROPY: SystemEntropy = SystemEntropy;

/// The row of this group.
pub(super) const ENTRY: Entry = Entry::group(
    "monitor",
    "The process that prompts idle panes and starts members again",
    &[
        Entry::new::<Status>(
            "status",
            "Show whether it runs; ends with 1 when it does not",
        ),
        Entry::new::<Stop>("stop", "End it until a loop or a team is started again"),
        Entry::new::<Watch>("run", "Be the monitor; pitcrew starts it itself"),
    ],
);

/// Show whether it runs; ends with 1 when it does not
///
/// It is started with a loop mode and with a team in panes, once there is one of each, and ends with the last of either.
/// A team that starts its members again (`--respawn`) is watched without a loop mode, too.
#[derive(Debug, clap::Args)]
struct Status {}

/// End it until a loop or a team is started again
///
/// Loops and teams go on; idle panes are prompted no more, and lost wakes are not made good.
#[derive(Debug, clap::Args)]
struct Stop {}

/// Be the monitor; pitcrew starts it itself
///
/// Ends at once when another one watches the project, and otherwise when there is nothing to watch any more.
#[derive(Debug, clap::Args)]
struct Watch {}

/// How the monitor of a project stands.
pub(super) struct Standing {
    /// Whether it runs, and who it is as far as that is written down.
    pub(super) running: Option<Option<MonitorRecord>>,
    /// The one before.
    last: Option<MonitorRecord>,
    /// The loop modes that are active.
    pub(super) loops: Vec<Mode>,
    need: Need,
}

impl Standing {
    pub(super) fn of(project: &Project) -> Result<Self, Halt> {
        let last = project.state().view::<MonitorRecord>(&());
        Ok(Self {
            running: running(project)?,
            // One that cannot be read says nothing.
            last: last.ok().flatten(),
            loops: Loops::of(project, &CLOCK).active(),
            need: need(project, &CLOCK, &ENTROPY),
        })
    }

    pub(super) fn value(&self) -> Value {
        let loops: Vec<&str> = self.loops.iter().map(|mode| mode.word()).collect();
        let mut value = json!({
            "running": self.running.is_some(), "loops": loops, "liveTeam": self.need.live.is_some(),
        });
        match (&self.running, &self.last) {
            (Some(Some(record)), _) => {
                value["process"] = record.process.pid.into();
                value["startedAt"] = record.started_at.to_string().into();
            }
            (
                None,
                Some(MonitorRecord {
                    ended_at, reason, ..
                }),
            ) => {
                value["endedAt"] = json!(ended_at);
                value["reason"] = json!(reason);
            }
            _ => {}
        }
        value
    }

    /// Why there is none, when there is none.
    pub(super) fn why_not(&self) -> Option<&'static str> {
        match &self.running {
            Some(_) => None,
            None if self.need.is_there() => Some("it was ended, or was killed"),
            None if self.loops.is_empty() => Some("no loop mode is active"),
            None => Some("no team is live in panes"),
        }
    }
}

impl Run for Status {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let standing = Standing::of(&project)?;
        if context.ui.json {
            let mut answer = json!({ "ok": true });
            for (key, fact) in standing.value().as_object().into_iter().flatten() {
                answer[key] = fact.clone();
            }
            context.ui.json(&answer, Layout::Pretty);
        } else {
            let loops: Vec<&str> = standing.loops.iter().map(|mode| mode.word()).collect();
            let words = match (&standing.running, standing.why_not()) {
                (Some(Some(record)), _) => format!(
                    "monitor running process={} since={} loops={}",
                    record.process.pid,
                    record.started_at,
                    loops.join(",")
                ),
                (Some(None), _) => "monitor starting".to_string(),
                (None, why) => format!("monitor not running: {}", why.unwrap_or_default()),
            };
            context.ui.line(&words);
        }
        Ok(match standing.running {
            Some(_) => Exit::Done,
            None => Exit::Refused,
        })
    }
}

impl Run for Stop {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|refused| Halt::System {
                what: "end the monitor",
                why: refused.to_string(),
            })?;
        let stopped = runtime.block_on(monitor::stop(&project, &CLOCK))?;
        let (was_running, words) = match stopped {
            Stopped::NotRunning => (false, "monitor was not running"),
            Stopped::Ended => (true, "monitor stopped"),
            Stopped::Forced => (true, "monitor stopped: it did not answer and was killed"),
            Stopped::StillRunning => {
                return Err(Halt::System {
                    what: "end the monitor",
                    why: "it does not answer and cannot be killed from here".to_string(),
                });
            }
        };
        if context.ui.json {
            let answer = json!({ "ok": true, "wasRunning": was_running });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.line(words);
        }
        Ok(Exit::Done)
    }
}

impl Run for Watch {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let handed = project.watch_with(std::io::stdin().as_fd())?;
        let watching = match handed {
            Some(watching) => Some(watching),
            None => project.watch_over()?,
        };
        let Some(watching) = watching else {
            return Err(Halt::CannotRun {
                code: "monitor_running",
                why: "a monitor watches this project already".to_string(),
                hint: "`pitcrew team monitor status` says which",
            });
        };
        let caller = Inherited::all_of(context.environment.variables());
        let program = context.environment.own_program()?;
        let panes = profiles::load_panes(context.environment, project.root());
        let watcher = Watcher {
            project: &project,
            clock: &CLOCK,
            entropy: &ENTROPY,
            panes: &TmuxPanes {
                tmux: &Tmux::new(Socket::Default, &caller),
                profiles: &panes.profiles,
                project: &project,
                caller: &caller,
                program: &program,
            },
            timing: Timing::default(),
        };
        let ending = monitor::watch(&watcher, watching)?;
        context
            .ui
            .say(&format!("the monitor ends: {}", ending.code()));
        Ok(Exit::Done)
    }
}

/// What a monitor of `project` is for.
fn watches(project: &Project) -> &'static str {
    match Loops::of(project, &CLOCK).active().is_empty() {
        true => "a monitor starts members again that crash",
        false => "a monitor prompts idle panes",
    }
}

/// Makes sure that `project` has a monitor if it needs one. That there is none is no failure of what called for it; it is
/// said.
pub(crate) fn ensure(context: &mut Context<'_>, project: &Project) {
    let caller = Inherited::all_of(context.environment.variables());
    let profiles = profiles::load_panes(context.environment, project.root()).profiles;
    let mut needed = profiles.forwarded();
    needed.push("COPILOT_*");
    let ensured = match context.environment.program() {
        Ok(program) => monitor::ensure(project, &CLOCK, &ENTROPY, &program, &caller, &needed)
            .map_err(|failed| failed.to_string()),
        Err(refused) => Err(refused.to_string()),
    };
    match ensured {
        Ok(Ensured::Started(pid)) => context
            .ui
            .say(&format!("{} (process {pid})", watches(project))),
        Ok(Ensured::Running | Ensured::NoLoop | Ensured::NoLiveTeam) => {}
        Err(why) => context.ui.say(&format!(
            "idle panes are not prompted, for no monitor could be started: {why}"
        )),
    }
}
