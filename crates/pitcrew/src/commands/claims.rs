//! `claims`: who holds which lines, and who waits for some.

use pitcrew_core::Timestamp;
use pitcrew_core::claim::{Claim, Claims, FilePath, Waiting};
use pitcrew_core::span::span;
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::{HEADING, Layout};

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<ListClaims>(
    "claims",
    "List who holds which lines, and who waits for some",
);

/// List who holds which lines, and who waits for some
///
/// Looking changes no file.
#[derive(Debug, clap::Args)]
pub(crate) struct ListClaims {
    /// Only of this file
    #[arg(value_name = "FILE")]
    file: Option<String>,
}

impl Run for ListClaims {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let file = self
            .file
            .map(|file| context.file(&file, None))
            .transpose()?;
        let desk = team.desk();
        desk.roster()?;
        let (claims, now) = (desk.claims()?, desk.now());
        if context.ui.json {
            context
                .ui
                .json(&answer(&claims, file.as_ref(), now), Layout::Pretty);
            return Ok(Exit::Done);
        }
        let row = |file: &str, lines: &str, member: &str, how: &str| {
            format!("{file:<40} {lines:<12} {member:<16} {how}")
        };
        let (held, waiting) = listed(&claims, file.as_ref(), now);
        if held.is_empty() && waiting.is_empty() {
            context.ui.say("nobody holds any lines");
            return Ok(Exit::Done);
        }
        let heading = row("file", "lines", "member", "");
        let heading = context.ui.styled(HEADING, heading.trim_end());
        context.ui.own_line(&heading);
        for claim in held {
            let left = claim.until.millis_since(now).unsigned_abs();
            let how = format!("for another {}", span(left));
            let lines = claim.lines.to_string();
            context.ui.line(&row(
                claim.file.as_str(),
                &lines,
                claim.member.as_str(),
                &how,
            ));
        }
        for wait in waiting {
            let since = now.millis_since(wait.since).max(0).unsigned_abs();
            let how = format!("waits since {}", span(since));
            let lines = wait.lines.to_string();
            context
                .ui
                .line(&row(wait.file.as_str(), &lines, wait.member.as_str(), &how));
        }
        Ok(Exit::Done)
    }
}

/// What is held and waited for now, of one file or of all, by file and line.
fn listed<'a>(
    claims: &'a Claims,
    file: Option<&FilePath>,
    now: Timestamp,
) -> (Vec<&'a Claim>, Vec<&'a Waiting>) {
    let meant = |of: &FilePath| file.is_none_or(|file| of == file);
    let mut held: Vec<&Claim> = claims
        .held(now)
        .filter(|claim| meant(&claim.file))
        .collect();
    held.sort_by_key(|claim| (&claim.file, claim.lines));
    let waiting = claims.waiting(now).filter(|wait| meant(&wait.file));
    (held, waiting.collect())
}

/// What is held and waited for now, as JSON.
pub(crate) fn answer(claims: &Claims, file: Option<&FilePath>, now: Timestamp) -> Value {
    let (held, waiting) = listed(claims, file, now);
    json!({ "ok": true, "claims": held, "waiting": waiting })
}
