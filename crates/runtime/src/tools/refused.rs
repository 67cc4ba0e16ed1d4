//! What a model is told when a call was not done, with the next step in words of tools.
//!
//! The words of the command line name commands; a model that has tools may have no shell. So the hints are this table's
//! own.

use std::error::Error;

use pitcrew_core::Refusal;
use pitcrew_core::name::nearest;
use pitcrew_core::span::span;
use pitcrew_core::visible::{Lines, visible};
use serde_json::{Value, json};

use super::answer::{Answer, quoted};
use super::definition::Tool;
use crate::desk::{Failure, NotDone};

/// The most names that an answer lists.
const NAMED: usize = 20;

/// The answer for a call that was not done.
pub(super) fn answer(not_done: &NotDone) -> Answer {
    match not_done {
        NotDone::Refused(refusal) => refused(refusal),
        NotDone::Failed(failure) => failed(failure),
    }
}

/// The answer for a tool that there is not.
pub(super) fn unknown_tool(name: &str, offered: &[&Tool]) -> Answer {
    let names = || offered.iter().map(|tool| tool.name);
    let nearest = nearest(name, names());
    let next = match &nearest {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("there are {}.", names().collect::<Vec<_>>().join(", ")),
    };
    let text = format!("There is no tool {}: {next}", quoted(name, 60));
    Answer::refused(
        text,
        json!({ "status": "refused", "code": "unknown_tool", "nearest": nearest }),
    )
}

fn refused(refusal: &Refusal) -> Answer {
    let mut facts = serde_json::to_value(refusal).unwrap_or_default();
    // Some facts have a field of that name; it is a fact of the answer here.
    if let Value::Object(facts) = &mut facts {
        if let Some(status) = facts.remove("status") {
            facts.insert("task_status".to_string(), status);
        }
        facts.insert("status".to_string(), "refused".into());
    }
    let text = match next(refusal) {
        Some(next) => format!("Not done: {refusal}. Next: {next}."),
        None => format!("Not done: {refusal}."),
    };
    // What was given stands in it, with whatever characters it has.
    Answer::refused(visible(&text, Lines::Fold), facts)
}

fn failed(failure: &Failure) -> Answer {
    let mut said = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !said.contains(&words) {
            said = format!("{said}: {words}");
        }
        cause = error.source();
    }
    broken(&said)
}

/// The answer when something broke.
pub(super) fn broken(said: &str) -> Answer {
    let text = format!(
        "Not done, something broke: {said}. Next: try once more; if it stays, tell your user."
    );
    Answer::refused(text, json!({ "status": "failed", "why": said }))
}

fn names(valid: &[String], nearest: Option<&String>) -> String {
    let mut list = valid
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if valid.len() > NAMED {
        list.push_str(&format!(" and {} more", valid.len() - NAMED));
    }
    match nearest {
        Some(nearest) => format!("did you mean {nearest}? names: {list}"),
        None => format!("names: {list}"),
    }
}

fn next(refusal: &Refusal) -> Option<String> {
    const OTHER: &str = "claim_task without task_id gives you one that is ready";
    let fixed = match refusal {
        Refusal::InvalidName { valid, nearest, .. }
        | Refusal::UnknownRecipient { valid, nearest, .. }
        | Refusal::UnknownSender { valid, nearest, .. }
        | Refusal::UnknownMember { valid, nearest, .. }
            if !valid.is_empty() =>
        {
            return Some(names(valid, nearest.as_ref()));
        }
        Refusal::InvalidName { .. } => "list_team shows the names",
        Refusal::InvalidTaskId { .. } | Refusal::TaskNotFound { .. } => "list_tasks shows the ids",
        Refusal::InvalidInput { field, .. } => {
            return Some(format!("mend {field} and call it again"));
        }
        Refusal::BodyTooLarge { .. } => "write it to a file and send its path",
        Refusal::MessageNotFound { .. } => "use an id that read_messages gave you",
        Refusal::InvalidToken { .. } => {
            "you were started again or left the team, so another has your place: stop here"
        }
        Refusal::SenderMismatch { actual, .. } => return Some(format!("you are {actual}")),
        Refusal::TokenRequired { .. } => {
            "this server was started without your token: tell your user"
        }
        Refusal::TeamNotFound { .. } => "the team is gone: stop here",
        Refusal::NotPending { .. }
        | Refusal::AssignedElsewhere { .. }
        | Refusal::Blocked { .. } => OTHER,
        Refusal::StaleToken { .. } => {
            "use the claim_token of your latest claim_task; if the task was taken back, leave it"
        }
        Refusal::UnexpectedStatus { .. } => "claim_task it first",
        Refusal::AlreadyTerminal { .. } => {
            "it has ended, so leave it; claim_task gives you another"
        }
        Refusal::ClaimLimit { .. } => "end one that you have with complete_task or fail_task",
        Refusal::RoleDenied { .. } => "ask a teammate whose role allows it; list_team shows them",
        Refusal::ClaimConflict(facts) => return Some(facts.next.clone()),
        Refusal::NotClaimed(facts) if !facts.held.is_empty() => {
            let held: Vec<String> = facts.held.iter().map(ToString::to_string).collect();
            return Some(format!("you hold lines {}", held.join(" and ")));
        }
        Refusal::NotClaimed(_) => "list_claims shows who holds what",
        Refusal::InvalidRange { .. } => {
            "start_line and end_line are whole numbers, the first not above the last"
        }
        Refusal::OutsideRoot { .. } => "name a file of the project, from its root or absolute",
        Refusal::TableFull {
            retry_after_ms: Some(ms),
            ..
        } => return Some(format!("there is room again in {}", span(*ms))),
        Refusal::TableFull { .. } => "release what you do not need, then try again",
        // What else there is belongs to requests that no tool makes.
        _ => return None,
    };
    Some(fixed.to_string())
}
