//! `team leader`: the pane in which the leader sits.

use pitcrew_runtime::panes::{forget_leader, register_leader};
use pitcrew_runtime::tmux::TrustPolicy;
use serde_json::json;

use super::{name_of, refuse};
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::panes::{self, Quarters};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Leader>("leader", "Have the leader's pane woken by its mail");

/// Have the leader's pane woken by its mail
///
/// Names the tmux pane in which the leader's agent runs: without --pane the one that this is called in. From then on mail
/// to `leader` wakes it as it wakes a member. It is never prompted for idling, and a shutdown leaves it alone.
#[derive(Debug, clap::Args)]
pub(super) struct Leader {
    /// The team; else --team or PITCREW_TEAM
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The pane, such as %3
    #[arg(long, value_name = "ID")]
    pane: Option<String>,
    /// The profile of the program in it
    #[arg(long, value_name = "PROFILE", required_unless_present = "forget")]
    profile: Option<String>,
    /// Forget the pane: mail to the leader wakes nobody any more
    #[arg(long, conflicts_with_all = ["pane", "profile"])]
    forget: bool,
}

impl Run for Leader {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let name = name_of(context, self.name.as_deref(), "leader")?;
        match self.register(context, &name) {
            Err(halt) => refuse(context, "leader", halt),
            done => done,
        }
    }
}

impl Leader {
    fn register(&self, context: &mut Context<'_>, name: &str) -> Result<Exit, Halt> {
        let team = context.open_named(name, None)?;
        context.leader_only(&team, "say where the leader sits")?;
        let quarters = Quarters::of(context)?;
        let site = quarters.site(&team, TrustPolicy::Ask);
        if self.forget {
            let had = forget_leader(&site).map_err(panes::halt)?;
            match context.ui.json {
                true => context
                    .ui
                    .json(&json!({ "ok": true, "forgotten": had }), Layout::Pretty),
                false => context.ui.say("forgotten"),
            }
            return Ok(Exit::Done);
        }
        let here = quarters
            .caller
            .value("TMUX_PANE")
            .and_then(|pane| pane.to_str());
        let Some(pane) = self.pane.as_deref().or(here) else {
            return Err(Halt::Usage(
                "which pane? this is none of tmux; name it with --pane".into(),
            ));
        };
        let profile = self.profile.as_deref().unwrap_or_default();
        let record = register_leader(&site, pane, profile).map_err(panes::halt)?;
        if context.ui.json {
            let answer = json!({ "ok": true, "paneId": record.pane_id, "profile": profile });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            let words = format!(
                "the leader of {name} sits in {} ({profile})",
                record.pane_id
            );
            context.ui.line(&words);
        }
        Ok(Exit::Done)
    }
}
