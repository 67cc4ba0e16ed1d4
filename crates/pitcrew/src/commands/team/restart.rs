//! `team restart`: a member anew, in a new pane and a new incarnation.

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_runtime::panes::{Restarted, Start, restart};
use pitcrew_runtime::tmux::{Ended, TrustPolicy};
use serde_json::{Value, json};

use super::{monitor, refuse};
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::panes::{self, Quarters};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<Restart>(
    "restart",
    "Start a member in a pane anew, as a new incarnation",
);

/// Start a member in a pane anew, as a new incarnation
///
/// The old agent is ended, its tasks in progress go back, its lines and reservations are free again, and its token proves
/// nothing any more. Then the new one is started beside it and told where its page is. Mail stays.
#[derive(Debug, clap::Args)]
pub(super) struct Restart {
    /// The member
    #[arg(value_name = "MEMBER")]
    member: String,
    /// Go on with the program's last session, where it can
    #[arg(long)]
    resume: bool,
    /// The folder is trusted: accept the program's question about that
    #[arg(long)]
    trust: bool,
}

impl Run for Restart {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        match self.restart(context) {
            Ok(restarted) => {
                answer(context, &restarted);
                let project = context.project(None)?;
                monitor::ensure(context, &project);
                Ok(Exit::Done)
            }
            Err(halt) => refuse(context, "restart", halt),
        }
    }
}

impl Restart {
    fn restart(&self, context: &mut Context<'_>) -> Result<Restarted, Halt> {
        let team = context.open_team()?;
        context.leader_only(&team, "restart a member")?;
        team.desk().roster()?.worker(&self.member)?;
        let member = Name::new(NameKind::Member, &self.member)?;
        let quarters = Quarters::of(context)?;
        let trust = match self.trust {
            true => TrustPolicy::Accept,
            false => TrustPolicy::Ask,
        };
        let start = match self.resume {
            true => Start::Resumed,
            false => Start::Fresh,
        };
        restart(&quarters.site(&team, trust), &member, start).map_err(panes::halt)
    }
}

fn answer(context: &mut Context<'_>, restarted: &Restarted) {
    let begun = &restarted.begun;
    if context.ui.json {
        return context.ui.json(&value(restarted), Layout::Pretty);
    }
    context.ui.line(&format!(
        "restarted {} incarnation={} pane={}",
        begun.member, restarted.incarnation, begun.pane.pane_id
    ));
    if !restarted.before.tasks.is_empty() {
        let tasks = restarted.before.tasks.join(", ");
        context.ui.say(&format!("tasks that went back: {tasks}"));
    }
    if let (false, Some(words)) = (
        begun.first_line.is_woken(),
        panes::words(&begun.member, &begun.first_line),
    ) {
        context.ui.say(&words);
    }
}

fn value(restarted: &Restarted) -> Value {
    let begun = &restarted.begun;
    json!({
        "ok": true,
        "member": begun.member.as_str(),
        "paneId": begun.pane.pane_id,
        "incarnation": restarted.incarnation,
        "endedOldPane": restarted.ended == Ended::Ended,
        "tasksBack": restarted.before.tasks,
        "claimsEnded": restarted.before.claims,
        "firstLine": panes::value(&begun.first_line),
    })
}
