//! `release`: give lines back.

use pitcrew_core::Refusal;
use pitcrew_core::claim::{Claim, ClaimEvent, EndCause, Lines};
use serde_json::{Value, json};

use super::claims::shown;
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Release>("release", "Give lines of a file back");

/// Give lines of a file back
///
/// Without lines, everything that you hold of the file and wait for in it. Of a larger claim only the lines that you
/// name are given back.
#[derive(Debug, clap::Args)]
pub(crate) struct Release {
    /// The file, from here
    #[arg(value_name = "FILE")]
    file: String,
    /// The first line
    #[arg(value_name = "START", allow_negative_numbers = true, requires = "end")]
    start: Option<String>,
    /// The last line
    #[arg(value_name = "END", allow_negative_numbers = true)]
    end: Option<String>,
}

impl Run for Release {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let part = part(self.start.as_deref(), self.end.as_deref())?;
        let team = context.open_team()?;
        let file = context.file(&self.file, None)?;
        let me = context.me(&team)?;
        let text = context.file_lines(&file, None)?;
        let events = team
            .desk()
            .release_lines_on(&me, &file, part, text.as_ref())?;
        if context.ui.json {
            context.ui.json(&answer(&events), Layout::Pretty);
            return Ok(Exit::Done);
        }
        let lines: Vec<String> = given_back(&events)
            .map(|claim| claim.lines.to_string())
            .collect();
        let what = match lines.is_empty() {
            true => "stopped waiting for".to_string(),
            false => format!("released {} of", lines.join(", ")),
        };
        context.ui.line(&format!("{what} {file}"));
        Ok(Exit::Done)
    }
}

/// The lines that are meant, when both ends are given.
fn part(start: Option<&str>, end: Option<&str>) -> Result<Option<Lines>, Refusal> {
    match (start, end) {
        (Some(start), Some(end)) => Lines::parse(start, end).map(Some),
        _ => Ok(None),
    }
}

/// What was held and is no longer.
fn given_back(events: &[ClaimEvent]) -> impl Iterator<Item = &Claim> {
    events.iter().filter_map(|event| match event {
        ClaimEvent::ClaimEnded {
            claim,
            cause: EndCause::Released,
        } => Some(claim),
        _ => None,
    })
}

/// What was given back, as JSON.
pub(crate) fn answer(events: &[ClaimEvent]) -> Value {
    let released: Vec<Value> = given_back(events).map(shown).collect();
    json!({ "ok": true, "released": released })
}
