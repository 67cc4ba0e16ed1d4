//! `team shutdown`: the end of a team's work. Its files stay readable.

use serde_json::{Value, json};

use super::{name_of, presence};
use crate::cli::{Entry, Run, failed_answer};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Shutdown>("shutdown", "End a team; its files stay readable");

/// End a team; its files stay readable
///
/// The end is written down, whoever waits for the team is told, and the marks that other programs set beside claimed
/// tasks are cleared. Tasks and messages stay as they are.
#[derive(Debug, clap::Args)]
pub(super) struct Shutdown {
    /// The team; else --team or PITCREW_TEAM
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// What a shutdown did.
#[derive(Debug, Default)]
pub(super) struct Ended {
    cleared_locks: usize,
    /// Processes that were stopped, in words.
    stopped: Vec<String>,
    /// The process of a run that drives the team and was told.
    told: Option<u32>,
}

impl Run for Shutdown {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let name = name_of(context, self.name.as_deref(), "shutdown")?;
        match shut_down(context, &name, None) {
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
            "ok": true, "killedPanes": 0, "killedSession": false, "clearedLocks": self.cleared_locks,
        });
        if !self.stopped.is_empty() {
            answer["stopped"] = json!(self.stopped);
        }
        if let Some(pid) = self.told {
            answer["toldRun"] = json!(pid);
        }
        answer
    }
}

fn answer(context: &mut Context<'_>, name: &str, ended: &Ended) {
    if context.ui.json {
        return context.ui.json(&ended.value(), Layout::Pretty);
    }
    context.ui.line(&words(name));
    for process in &ended.stopped {
        context.ui.say(&format!("stopped {process}"));
    }
    if let Some(pid) = ended.told {
        context.ui.say(&format!(
            "the run of process {pid} was told, and ends its members"
        ));
    }
}

fn words(name: &str) -> String {
    format!("shutdown team {name} killedPanes=0 killedSession=false")
}

/// Shuts the team down: written down first, so that whoever waits, and a run that drives it, are told.
pub(super) fn shut_down(
    context: &mut Context<'_>,
    name: &str,
    start: Option<&str>,
) -> Result<Ended, Halt> {
    let team = context.open_named(name, start)?;
    context.leader_only(&team, "shut the team down")?;
    team.desk().mark_shut_down()?;
    let driver = presence::driver(&team)?;
    let stopped = match &driver {
        Some(_) => Vec::new(),
        None => presence::stop(&team)?,
    };
    Ok(Ended {
        cleared_locks: team.store.clear_claim_marks()?,
        stopped,
        told: driver.map(|process| process.pid),
    })
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
    context.ui.line(&words(name));
    let row = hints::row(&halt);
    context.ui.complain(&halt.message(), Some(&row.hint));
    Ok(row.exit)
}
