//! `team shutdown`: the end of a team's work. Its files stay readable.

use std::time::Duration;

use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::panes::PanesEnded;
use serde_json::{Value, json};

use super::{name_of, presence};
use crate::cli::{Entry, Run, failed_answer};
use crate::commands::attention::{Attention, Event};
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::span;
use crate::ui::Layout;

mod panes;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Shutdown>("shutdown", "End a team; its files stay readable");

/// End a team; its files stay readable
///
/// The end is written down once, what its run and its members' turns started is stopped, and whoever waits for the team
/// is told. From then on the team takes no new work: no task is added, claimed or put back, no lines are claimed, nothing
/// is set aside of a budget, no member is added. What was begun can be ended, and messages and findings go on. Tasks and
/// messages stay as they are.
///
/// Members in panes that hold a task are asked by a message and a wake to end it, and given a moment. Then every pane that
/// pitcrew opened for the team is ended, and nothing else: what somebody opened beside them stays.
///
/// `pitcrew run` with the team's file goes on with it; `pitcrew team rm` removes it.
#[derive(Debug, clap::Args)]
pub(super) struct Shutdown {
    /// The team; else --team or PITCREW_TEAM
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// How long members in panes have to end the tasks that they hold: 0s, 30s, 2m
    #[arg(long, value_name = "SPAN", default_value = "3s", value_parser = span::parse)]
    grace: Duration,
}

/// How long members in panes have, where nobody says.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// How long a run may take to end its members, which have a grace of their own.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often the process of a run is looked at while nothing changes.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What a shutdown did.
#[derive(Debug, Default)]
pub(super) struct Ended {
    cleared_locks: usize,
    /// Processes that were stopped, in words.
    stopped: Vec<String>,
    /// The process of a run that drove the team, and whether it has ended.
    run: Option<(u32, bool)>,
    /// What became of the members' panes.
    panes: PanesEnded,
}

impl Run for Shutdown {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let name = name_of(context, self.name.as_deref(), "shutdown")?;
        match shut_down(context, &name, None, self.grace) {
            Ok(ended) => {
                answer(context, &name, &ended);
                Ok(Exit::Done)
            }
            Err(halt) => not_done(context, &name, halt),
        }
    }
}

impl Ended {
    /// The answer in the reference's form, with what it does not have behind.
    pub(super) fn value(&self) -> Value {
        let mut answer = json!({
            "ok": true, "killedPanes": self.panes.panes, "killedSession": self.panes.session,
            "clearedLocks": self.cleared_locks,
        });
        if !self.stopped.is_empty() {
            answer["stopped"] = json!(self.stopped);
        }
        if !self.panes.left.is_empty() {
            answer["leftAlone"] = json!(self.panes.left);
        }
        if let Some((pid, ended)) = self.run {
            answer["run"] = json!({ "process": pid, "ended": ended });
        }
        answer
    }
}

fn answer(context: &mut Context<'_>, name: &str, ended: &Ended) {
    if context.ui.json {
        return context.ui.json(&ended.value(), Layout::Pretty);
    }
    context.ui.line(&words(name, &ended.panes));
    for left in &ended.panes.left {
        context.ui.say(&format!("left alone: {left}"));
    }
    for process in &ended.stopped {
        context.ui.say(&format!("stopped {process}"));
    }
    match ended.run {
        None => {}
        Some((pid, true)) => context
            .ui
            .say(&format!("the run of process {pid} has ended")),
        Some((pid, false)) => context.ui.say(&format!(
            "the run of process {pid} was told and has not ended yet"
        )),
    }
}

fn words(name: &str, panes: &PanesEnded) -> String {
    let (count, session) = (panes.panes, panes.session);
    format!("shutdown team {name} killedPanes={count} killedSession={session}")
}

/// Shuts the team down: written down first, so that whoever waits, and a run that drives it, are told.
pub(super) fn shut_down(
    context: &mut Context<'_>,
    name: &str,
    start: Option<&str>,
    grace: Duration,
) -> Result<Ended, Halt> {
    let team = context.open_named(name, start)?;
    context.leader_only(&team, "shut the team down")?;
    let asked = panes::ask(context, &team)?;
    let driver = presence::driver(&team)?;
    // Whatever would stop a shutdown half way is found before its first step, which cannot be taken back.
    presence::can_be_told(&team)?;
    team.desk().tasks()?;
    // Watched from before it is told, so that not even the quickest end is missed.
    let attention = match driver {
        Some(_) => Some(Attention::to(&team.store)?),
        None => None,
    };
    team.desk().mark_shut_down()?;
    let run = match (driver, attention) {
        (Some(driver), Some(attention)) => Some((driver.pid, has_ended(&team, &attention)?)),
        _ => None,
    };
    let stopped = match run {
        Some((_, false)) => Vec::new(),
        _ => presence::stop(&team)?,
    };
    panes::await_tasks(&team, &asked, grace)?;
    let panes = panes::end(context, &team)?;
    Ok(Ended {
        panes,
        cleared_locks: team.store.clear_claim_marks()?,
        stopped,
        run,
    })
}

/// Waits for the run that drives the team to end its members and itself; answers whether it did so in time.
fn has_ended(team: &OpenTeam, attention: &Attention) -> Result<bool, Halt> {
    let begun = CLOCK.monotonic();
    let patience = i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX);
    loop {
        if presence::driver(team)?.is_none() {
            return Ok(true);
        }
        if CLOCK.monotonic() - begun >= patience {
            return Ok(false);
        }
        // A driver that was killed writes nothing, so its process is looked at again every now and then.
        if matches!(attention.next(LOOK_AGAIN)?, Event::Interrupted) {
            return Ok(false);
        }
    }
}

/// The reference answers with zeros, so they stand here too.
fn not_done(context: &mut Context<'_>, name: &str, halt: Halt) -> Result<Exit, Halt> {
    let halt = context.explain(halt);
    if context.ui.json {
        let mut answer =
            json!({ "ok": false, "killedPanes": 0, "killedSession": false, "clearedLocks": 0 });
        if let Some(facts) = failed_answer("reason", Some(super::reason(&halt)), &halt).as_object()
        {
            for (key, fact) in facts {
                answer[key] = fact.clone();
            }
        }
        context.ui.json(&answer, Layout::Pretty);
        return Ok(hints::row(&halt).exit);
    }
    if halt.code() == "team_not_found" {
        // What the reference says of a team that is not there.
        context.ui.line(&words(name, &PanesEnded::default()));
    }
    let row = hints::row(&halt);
    context.ui.complain(&halt.message(), Some(&row.hint));
    Ok(row.exit)
}
