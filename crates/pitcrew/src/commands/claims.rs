//! `claims`: who holds which lines, and who waits for some.

use pitcrew_core::Timestamp;
use pitcrew_core::claim::{Claim, Claims, FileLines, FilePath, Standing, Waiting};
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
        let listed = Listed::of(context, &claims, file.as_ref(), None, now)?;
        if context.ui.json {
            context.ui.json(&listed.answer(), Layout::Pretty);
            return Ok(Exit::Done);
        }
        if listed.held.is_empty() && listed.waiting.is_empty() {
            context.ui.say("nobody holds any lines");
            return Ok(Exit::Done);
        }
        let row = |file: &str, lines: &str, member: &str, how: &str| {
            format!("{file:<40} {lines:<12} {member:<16} {how}")
        };
        let heading = row("file", "lines", "member", "");
        let heading = context.ui.styled(HEADING, heading.trim_end());
        context.ui.own_line(&heading);
        for Stands { claim, standing } in &listed.held {
            let left = claim.until.millis_since(now).unsigned_abs();
            let (lines, place) = match standing {
                Standing::Found(lines) if *lines != claim.lines => {
                    (lines, format!(", was {}", claim.lines))
                }
                Standing::Unknown(why) => (
                    &claim.lines,
                    format!(", where they are now is unknown: {why}"),
                ),
                Standing::Found(_) | Standing::Taken(_) => (&claim.lines, String::new()),
            };
            let how = format!("for another {}{place}", span(left));
            let (file, member) = (claim.file.as_str(), claim.member.as_str());
            context
                .ui
                .line(&row(file, &lines.to_string(), member, &how));
        }
        for wait in &listed.waiting {
            let since = now.millis_since(wait.since).max(0).unsigned_abs();
            let how = format!("waits since {}", span(since));
            let (file, member) = (wait.file.as_str(), wait.member.as_str());
            context
                .ui
                .line(&row(file, &wait.lines.to_string(), member, &how));
        }
        Ok(Exit::Done)
    }
}

/// A claim as answers show it: without what it is found by, which tells a reader nothing.
pub(crate) fn shown(claim: &Claim) -> Value {
    json!(Claim {
        anchor: None,
        ..claim.clone()
    })
}

/// A claim, and where its lines are now.
struct Stands<'a> {
    claim: &'a Claim,
    standing: Standing,
}

/// What is held and waited for now, by file and line.
pub(crate) struct Listed<'a> {
    held: Vec<Stands<'a>>,
    waiting: Vec<&'a Waiting>,
}

impl<'a> Listed<'a> {
    /// What is held and waited for of one file or of all. Every file is read once, from the project that `start` means.
    pub(crate) fn of(
        context: &mut Context<'_>,
        claims: &'a Claims,
        file: Option<&FilePath>,
        start: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, Halt> {
        let meant = |of: &FilePath| file.is_none_or(|file| of == file);
        let mut held: Vec<&Claim> = claims
            .held(now)
            .filter(|claim| meant(&claim.file))
            .collect();
        held.sort_by_key(|claim| (&claim.file, claim.lines));
        let mut read: Option<(&FilePath, Option<FileLines>)> = None;
        let mut stands = Vec::new();
        for claim in held {
            if read.as_ref().is_none_or(|(file, _)| **file != claim.file) {
                read = Some((&claim.file, context.file_lines(&claim.file, start)?));
            }
            let text = read.as_ref().and_then(|(_, text)| text.as_ref());
            let standing = claim.standing(text);
            stands.push(Stands { claim, standing });
        }
        let waiting = claims.waiting(now).filter(|wait| meant(&wait.file));
        Ok(Self {
            held: stands,
            waiting: waiting.collect(),
        })
    }

    /// The same as JSON: each claim as it is kept, with `now`, the lines where it is, unless that is unknown, and
    /// `moved`.
    pub(crate) fn answer(&self) -> Value {
        let held = self.held.iter().map(|Stands { claim, standing }| {
            let mut value = shown(claim);
            value["moved"] = json!(claim.moved(*standing));
            match standing {
                Standing::Found(lines) | Standing::Taken(lines) => value["now"] = json!(lines),
                Standing::Unknown(why) => value["why"] = json!(why),
            }
            value
        });
        let held: Vec<Value> = held.collect();
        json!({ "ok": true, "claims": held, "waiting": self.waiting })
    }
}
