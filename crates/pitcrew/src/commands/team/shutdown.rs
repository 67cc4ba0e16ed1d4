//! `team shutdown`: the end of a team's work. Its files stay readable.

use serde_json::json;

use super::name_of;
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

impl Run for Shutdown {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let name = name_of(context, self.name.as_deref(), "shutdown")?;
        match shut_down(context, &name) {
            Ok(cleared_locks) => {
                if context.ui.json {
                    let answer = json!({
                        "ok": true, "killedPanes": 0, "killedSession": false, "clearedLocks": cleared_locks,
                    });
                    context.ui.json(&answer, Layout::Pretty);
                } else {
                    context.ui.line(&words(&name));
                }
                Ok(Exit::Done)
            }
            Err(halt) => not_done(context, &name, halt),
        }
    }
}

fn words(name: &str) -> String {
    format!("shutdown team {name} killedPanes=0 killedSession=false")
}

/// Shuts the team down and answers how many marks were cleared.
fn shut_down(context: &mut Context<'_>, name: &str) -> Result<usize, Halt> {
    let team = context.open_named(name, None)?;
    context.leader_only(&team, "shut the team down")?;
    team.desk().mark_shut_down()?;
    Ok(team.store.clear_claim_marks()?)
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
