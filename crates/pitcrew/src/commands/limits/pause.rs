//! `limits pause | resume`: hold the whole team back until a provider's limit resets.

use pitcrew_core::{Refusal, Timestamp};
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::span::{millis, parse as parse_span};
use crate::ui::Layout;

/// The row of `limits pause`.
pub(super) const PAUSE: Entry = Entry::new::<Pause>(
    "pause",
    "Hold the team's calls back until a provider's limit resets",
);
/// The row of `limits resume`.
pub(super) const RESUME: Entry = Entry::new::<Resume>("resume", "End a pause at once");

/// Hold the team's calls back until a provider's limit resets
///
/// Every call is refused until then, with the time that is left. Mail and tasks go on. Afterwards members come back
/// within a few seconds of each other.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  pitcrew limits pause 45m 'usage limit, resets 15:00'")]
pub(crate) struct Pause {
    /// For how long (45m), or until when (2026-11-30T15:00:00Z)
    #[arg(value_name = "WHEN")]
    until: String,
    /// The provider's words
    #[arg(value_name = "WHY", default_value = "a provider's limit")]
    why: String,
}

/// End a pause at once
#[derive(Debug, clap::Args)]
pub(crate) struct Resume {}

impl Run for Pause {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        context.me(&team)?;
        let desk = team.desk();
        let after = parse_span(&self.until).ok();
        let until = after
            .map(|span| desk.now().plus_millis(millis(span)))
            .or_else(|| Timestamp::parse(&self.until))
            .filter(|until| *until > desk.now())
            .ok_or_else(|| {
                Refusal::input("until", "must be a span such as 45m, or a time to come")
            })?;
        desk.pause_team(until, &self.why)?;
        if context.ui.json {
            let answer = json!({ "ok": true, "until": until });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.line(&format!("paused until {until}"));
        }
        Ok(Exit::Done)
    }
}

impl Run for Resume {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        context.leader_only(&team, "end a pause")?;
        let was_paused = !team.desk().resume_team()?.is_empty();
        if context.ui.json {
            let answer = json!({ "ok": true, "wasPaused": was_paused });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            let words = if was_paused {
                "resumed"
            } else {
                "nothing was paused"
            };
            context.ui.line(words);
        }
        Ok(Exit::Done)
    }
}
