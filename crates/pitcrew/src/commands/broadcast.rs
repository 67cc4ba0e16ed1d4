//! `broadcast`: one message to everybody else.

use pitcrew_core::Name;
use pitcrew_core::mailbox::Draft;
use pitcrew_runtime::desk::{Broadcast as Outcome, NotDone, Sent};
use pitcrew_runtime::panes::Wakened;
use serde_json::{Value, json};

use super::body::Body;
use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt, code_of, with_causes};
use crate::hints;
use crate::panes;
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Broadcast>(
    "broadcast",
    "Send a message to every other member and the leader",
);

/// Send a message to every other member and the leader
///
/// Each recipient gets a message of its own. Where one mailbox cannot be written, the others still get theirs, and
/// the answer says which. Recipients in panes are woken side by side, as `send` does it.
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
        let woken = wake_all(context, &team, &outcome, &draft);
        if context.ui.json {
            context.ui.json(&answer(&outcome, &woken), Layout::Pretty);
        } else {
            for (to, result) in outcome.outcomes.iter() {
                match result {
                    Ok(sent) => {
                        context.ui.line(&format!("{}  {to}", sent.id));
                        let wakened = woken.iter().find(|(name, _)| name == to);
                        let words = wakened.and_then(|(_, wakened)| panes::words(to, wakened));
                        words.iter().for_each(|words| context.ui.say(words));
                    }
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

/// Wakes everybody whom it has reached anew, side by side.
pub(crate) fn wake_all(
    context: &mut Context<'_>,
    team: &OpenTeam,
    outcome: &Outcome,
    draft: &Draft,
) -> Vec<(Name, Wakened)> {
    let anew = reached(outcome).filter(|(_, sent)| !sent.again && sent.damped.is_none());
    let names: Vec<Name> = anew.map(|(to, _)| to.clone()).collect();
    let woken = panes::wake(context, team, &names, draft);
    names.into_iter().zip(woken).collect()
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
pub(crate) fn answer(outcome: &Outcome, woken: &[(Name, Wakened)]) -> Value {
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
    let seated = woken
        .iter()
        .filter(|(_, wakened)| !panes::is_seatless(wakened));
    let wakes = seated.map(|(to, wakened)| {
        let mut wake = panes::value(wakened);
        wake["to"] = to.as_str().into();
        wake
    });
    let wakes: Vec<Value> = wakes.collect();
    if !wakes.is_empty() {
        answer["wakes"] = wakes.into();
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
