//! What the team may still spend.

use pitcrew_core::limiter::Status;
use pitcrew_core::span::span;
use pitcrew_core::visible::{Lines, visible};
use serde_json::json;

use super::Call;
use super::answer::Answer;
use super::waiting::Step;
use crate::desk::NotDone;

/// `limit_status`.
pub(super) fn limit_status(call: &Call<'_>) -> Result<Step, NotDone> {
    let (limiter, now) = (call.desk.limiter()?, call.desk.now());
    let status = limiter.status(now);
    let mine = status.members.get(call.name());
    let mut said = vec![money(&status)];
    if let Some(mine) = mine {
        let left = mine
            .left
            .map(|left| format!(", {left} of your budget left"));
        said.push(format!(
            "You: {} spent, {} tokens{}.",
            mine.used.cost,
            mine.used.tokens,
            left.unwrap_or_default()
        ));
    }
    let load = status.window;
    let of = |limit: Option<u64>| limit.map_or(String::new(), |limit| format!(" of {limit}"));
    said.push(format!(
        "In the last minute: {}{} requests, {}{} tokens.",
        load.requests,
        of(status.limits.rpm),
        load.tokens,
        of(status.limits.tpm)
    ));
    let mut facts = json!({
        "status": "listed",
        "limited": limiter.limits().is_on(),
        "spent": status.used,
        "reserved": status.reserved,
        "left": status.left,
        "minute": status.window,
        "you": mine,
        "paused_until": null,
    });
    if let Some(pause) = status.pause {
        let left = pause.until.millis_since(now).max(0).unsigned_abs();
        said.push(format!(
            "The team is paused for another {}: the provider said {:?}. Mail and tasks go on.",
            span(left),
            visible(&pause.why, Lines::Fold)
                .chars()
                .take(120)
                .collect::<String>()
        ));
        facts["paused_until"] = pause.until.to_string().into();
    }
    Ok(Answer::done(said.join(" "), facts).into())
}

fn money(status: &Status<'_>) -> String {
    let spent = format!(
        "The team: {} spent, {} set aside",
        status.used.cost, status.reserved.cost
    );
    match (status.limits.budget, status.left) {
        (Some(budget), Some(left)) if left.get() == 0 => {
            format!(
                "{spent}, nothing left of {budget}: finish with what you have, model calls are refused."
            )
        }
        (Some(budget), Some(left)) => format!("{spent}, {left} left of {budget}."),
        _ => format!("{spent}, no budget set."),
    }
}
