//! `team rm`: removes a team's folder with everything in it.

use pitcrew_core::Refusal;
use pitcrew_runtime::desk::apart;
use serde_json::{Value, json};

use super::{presence, refuse};
use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Rm>(
    "rm",
    "Remove a team that is not at work, with all its files",
);

/// Remove a team that is not at work, with all its files
///
/// Nothing is asked; what was removed is said. A team that is at work is refused: shut it down first. At work is a team
/// with a run or a member's turn that goes on, or with a task in progress and no shutdown.
#[derive(Debug, clap::Args)]
pub(super) struct Rm {
    /// The team
    #[arg(value_name = "NAME")]
    name: String,
    /// Also when it is at work or cannot be read
    #[arg(long)]
    force: bool,
}

impl Run for Rm {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        match self.remove(context) {
            Ok(removed) => {
                if context.ui.json {
                    context.ui.json(&removed, Layout::Pretty);
                } else {
                    let count = |key: &str| match &removed[key] {
                        Value::Null => "unknown".to_string(),
                        count => count.to_string(),
                    };
                    context.ui.line(&format!(
                        "removed team {} members={} tasks={} unread={} from {}",
                        self.name,
                        count("members"),
                        count("tasks"),
                        count("unread"),
                        removed["folder"].as_str().unwrap_or_default()
                    ));
                }
                Ok(Exit::Done)
            }
            Err(halt) => refuse(context, "rm", halt),
        }
    }
}

impl Rm {
    fn remove(&self, context: &mut Context<'_>) -> Result<Value, Halt> {
        let team = context.open_named(&self.name, None)?;
        let project = context.project(None)?;
        let counted = match inventory(&team) {
            Ok(counted) => {
                context.leader_only(&team, "remove the team")?;
                counted
            }
            // What cannot be read cannot be counted; whoever forces it knows that.
            Err(_) if self.force => json!({}),
            // What an earlier removal left when it broke off is no team any more.
            Err(Halt::Refused(Refusal::TeamNotFound { .. }))
                if project.remove_remains(&team.name)? =>
            {
                return Ok(removed(&team, &json!({})));
            }
            Err(Halt::Refused(Refusal::TeamNotFound { .. }))
                if project.hollow()?.contains(&team.name) =>
            {
                return Err(super::list::hollow(&team.name));
            }
            Err(halt) => return Err(halt),
        };
        if !self.force {
            let running = presence::at_work(&team)?;
            if !running.is_empty() {
                let team = team.name.to_string();
                return Err(Refusal::TeamLive { team, running }.into());
            }
        }
        if !project.remove_team(&team.name)? {
            return Err(team.desk().roster().err().map_or(
                Halt::Refused(Refusal::TeamNotFound {
                    given: team.name.to_string(),
                    valid: Vec::new(),
                    nearest: None,
                }),
                Halt::from,
            ));
        }
        Ok(removed(&team, &counted))
    }
}

fn removed(team: &OpenTeam, counted: &Value) -> Value {
    json!({
        "ok": true,
        "removed": team.name.as_str(),
        "folder": team.store.folder().display().to_string(),
        "members": counted["members"],
        "tasks": counted["tasks"],
        "unread": counted["unread"],
    })
}

/// How much there is to lose.
fn inventory(team: &OpenTeam) -> Result<Value, Halt> {
    let desk = team.desk();
    let (roster, board) = (desk.roster()?, desk.tasks()?);
    let mut unread = 0;
    for owner in roster.everybody() {
        // What cannot be read cannot be counted, and holds up no removal.
        unread += apart(desk.count_unread(&owner))?.unwrap_or_default();
    }
    Ok(json!({
        "members": roster.workers.len(),
        "tasks": board.tasks.len() + board.unreadable.len(),
        "unread": unread,
    }))
}
