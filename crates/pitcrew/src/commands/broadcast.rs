//! `broadcast`: one message to everybody else.

use pitcrew_core::Name;
use pitcrew_runtime::desk::{Broadcast as Outcome, NotDone, Sent};
use serde_json::{Value, json};

use super::body::Body;
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt, code_of, with_causes};
use crate::hints;
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Broadcast>(
    "broadcast",
    "Send a message to every other member and the leader",
);

/// Send a message to every other member and the leader
///
/// Each recipient gets a message of its own. Where one mailbox cannot be written, the others still get theirs, and
/// the answer says which.
#[derive(Debug, clap::Args)]
pub(crate) struct Broadcast {
    #[command(flatten)]
    body: Body,
}

impl Run for Broadcast {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let who = context.credentials(&team.name);
        let draft = self.body.draft(context)?;
        let outcome = team.desk().broadcast(&who, &draft)?;
        if context.ui.json {
            context.ui.json(&answer(&outcome), Layout::Pretty);
        } else {
            for (to, result) in outcome.outcomes.iter() {
                match result {
                    Ok(sent) => context.ui.line(&format!("{}  {to}", sent.id)),
                    Err(not_done) => {
                        let why = with_causes(not_done);
                        context.ui.say(&format!("not sent to {to}: {why}"));
                    }
                }
            }
        }
        Ok(exit(&outcome))
    }
}

fn reached(outcome: &Outcome) -> impl Iterator<Item = (&Name, &Sent)> {
    outcome
        .outcomes
        .iter()
        .filter_map(|(to, result)| result.as_ref().ok().map(|sent| (to, sent)))
}

/// Done when it reached anybody, or when there was nobody to reach.
pub(crate) fn exit(outcome: &Outcome) -> Exit {
    if outcome.outcomes.is_empty() || reached(outcome).next().is_some() {
        Exit::Done
    } else {
        Exit::Failed
    }
}

/// The answer in the reference's form.
pub(crate) fn answer(outcome: &Outcome) -> Value {
    let recipients: Vec<&str> = reached(outcome).map(|(to, _)| to.as_str()).collect();
    let ids: Vec<&str> = reached(outcome).map(|(_, sent)| sent.id.as_str()).collect();
    let mut answer =
        json!({ "ok": exit(outcome) == Exit::Done, "recipients": recipients, "messageIds": ids });
    let errors: Vec<String> = outcome
        .outcomes
        .iter()
        .filter_map(|(to, result)| {
            result
                .as_ref()
                .err()
                .map(|not_done| format!("{to}: {}", code(not_done)))
        })
        .collect();
    if !errors.is_empty() {
        answer["errors"] = errors.into();
        answer["failures"] = failures(outcome);
    }
    if exit(outcome) != Exit::Done
        && let Some(first) = answer["failures"].get(0).cloned()
    {
        // Nobody was reached, so what kept it from the first is why.
        answer["error"] = first["code"].clone();
        answer["code"] = first["code"].clone();
        answer["message"] = first["message"].clone();
    }
    answer
}

fn code(not_done: &NotDone) -> String {
    match not_done {
        NotDone::Refused(refusal) => hints::row(&Halt::Refused(refusal.clone())).reference,
        NotDone::Failed(failure) => code_of(failure).to_string(),
    }
}

/// Whom it did not reach and why, in full.
fn failures(outcome: &Outcome) -> Value {
    let failed = outcome.outcomes.iter().filter_map(|(to, result)| {
        let not_done = result.as_ref().err()?;
        Some(json!({ "to": to, "code": code(not_done), "message": with_causes(not_done) }))
    });
    failed.collect()
}
