//! `team add-member` and `team remove-member`: who is in a team.

use serde_json::json;

use super::recruit::MemberWords;
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of `team add-member`.
pub(super) const ADD: Entry = Entry::new::<AddMember>("add-member", "Add a member to a team");
/// The row of `team remove-member`.
pub(super) const REMOVE: Entry =
    Entry::new::<RemoveMember>("remove-member", "Remove a member from a team");

/// Add a member to a team
#[derive(Debug, clap::Args)]
pub(super) struct AddMember {
    /// Its name, perhaps its role and the profile of its agent
    #[arg(value_name = "NAME[:ROLE[:PROFILE]]")]
    member: MemberWords,
}

impl Run for AddMember {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let desk = team.desk();
        context.leader_only(&team, "add a member")?;
        let recruit = self.member.recruit(&desk.roster()?.role)?;
        let roster = desk.add_member(&recruit)?;
        if context.ui.json {
            let member = roster.member(recruit.name.as_str());
            let answer = json!({ "ok": true, "member": member });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.line(&format!(
                "added {} to team {}, which has {} members now",
                recruit.name,
                team.name,
                roster.workers.len()
            ));
        }
        Ok(Exit::Done)
    }
}

/// Remove a member from a team
///
/// Its mailbox stays readable and takes no more mail. The tasks that it has are pending again, for others to take.
#[derive(Debug, clap::Args)]
pub(super) struct RemoveMember {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
}

impl Run for RemoveMember {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        context.leader_only(&team, "remove a member")?;
        let removed = team.desk().remove_member(&self.name)?;
        let member = removed.member;
        if context.ui.json {
            let mut answer = json!({ "ok": true, "member": member });
            if !removed.tasks.is_empty() {
                answer["givenBack"] = json!(removed.tasks);
            }
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context
                .ui
                .line(&format!("removed {} from team {}", member.name, team.name));
            if !removed.tasks.is_empty() {
                let tasks = removed.tasks.join(", ");
                context.ui.say(&format!("given back: {tasks}"));
            }
        }
        Ok(Exit::Done)
    }
}
