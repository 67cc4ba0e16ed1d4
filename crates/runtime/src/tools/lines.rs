//! Holding lines of files, so that two members do not edit them at once.
//!
//! A conflict is an answer, as in the spec: `claimed` or `conflict`, not an error.

use pitcrew_core::claim::{
    Claim, ClaimEvent, EndCause, FileLines, FilePath, Lines, Mode, Outcome, Patience, Standing,
    TTL_MS,
};
use pitcrew_core::span::span;
use pitcrew_core::{Refusal, Timestamp};
use serde_json::{Value, json};

use super::Call;
use super::answer::Answer;
use super::waiting::Step;
use crate::desk::{ClaimWish, NotDone};

/// `claim_region`.
pub(super) fn claim_region(call: &Call<'_>) -> Result<Step, NotDone> {
    let file = call.files.file(call.args.needed("file"), "file")?;
    let line = |name| call.args.number(name).unwrap_or_default();
    let wish = ClaimWish {
        text: call.files.lines(&file)?,
        file,
        lines: Lines::new(line("start_line"), line("end_line"))?,
        ttl_ms: TTL_MS,
        mode: Mode::Replace,
        patience: Patience::None,
    };
    let held = match call.desk.claim_lines(call.who, &wish) {
        Ok(answer) => answer,
        Err(NotDone::Refused(refused @ Refusal::ClaimConflict(_))) => {
            return Ok(conflict(&refused).into());
        }
        Err(other) => return Err(other),
    };
    let Outcome::Held { claim } = held.outcome else {
        // Without patience nothing stands in line.
        return Err(Refusal::input("file", "is being waited for").into());
    };
    let left = claim
        .until
        .millis_since(call.desk.now())
        .max(0)
        .unsigned_abs();
    let renewed = held
        .events
        .iter()
        .any(|event| matches!(event, ClaimEvent::ClaimRenewed { .. }));
    let text = format!(
        "{} {} {} for {}. Claim the same lines again before that if you need longer, and release_region when you are \
         done.",
        if renewed { "Renewed" } else { "Claimed" },
        claim.file,
        claim.lines,
        span(left)
    );
    let facts = json!({ "status": "claimed", "claim": facts(&claim), "renewed": renewed });
    Ok(Answer::done(text, facts).into())
}

fn conflict(refused: &Refusal) -> Answer {
    let Refusal::ClaimConflict(conflict) = refused else {
        return Answer::refused(refused.to_string(), Value::Null);
    };
    let mut facts = serde_json::to_value(&**conflict).unwrap_or_default();
    facts["status"] = "conflict".into();
    facts["code"] = refused.code().into();
    Answer::done(
        format!("Conflict: {conflict}. Next: {}.", conflict.next),
        facts,
    )
}

/// `release_region`.
pub(super) fn release_region(call: &Call<'_>) -> Result<Step, NotDone> {
    let file = call.files.file(call.args.needed("file"), "file")?;
    let part = match (call.args.number("start_line"), call.args.number("end_line")) {
        (Some(start), Some(end)) => Some(Lines::new(start, end)?),
        (None, None) => None,
        (Some(_), None) => return Err(half("end_line")),
        (None, Some(_)) => return Err(half("start_line")),
    };
    let text = call.files.lines(&file)?;
    let events = call
        .desk
        .release_lines_on(call.name(), &file, part, text.as_ref())?;
    let released: Vec<Lines> = events.iter().filter_map(released).collect();
    let words: Vec<String> = released.iter().map(Lines::to_string).collect();
    let text = match words.is_empty() {
        true => format!("You wait for {file} no longer. Others can have the lines now."),
        false => format!(
            "Released {} {}. Others can have the lines now.",
            file,
            words.join(" and ")
        ),
    };
    let facts = json!({ "status": "released", "file": file, "released": released });
    Ok(Answer::done(text, facts).into())
}

fn half(missing: &str) -> NotDone {
    Refusal::input(
        missing,
        "start_line and end_line come together, or neither for the whole file",
    )
    .into()
}

fn released(event: &ClaimEvent) -> Option<Lines> {
    match event {
        ClaimEvent::ClaimEnded {
            claim,
            cause: EndCause::Released,
        } => Some(claim.lines),
        _ => None,
    }
}

/// `list_claims`.
pub(super) fn list_claims(call: &Call<'_>) -> Result<Step, NotDone> {
    let file = call
        .args
        .text("file")
        .map(|file| call.files.file(file, "file"))
        .transpose()?;
    let (claims, now) = (call.desk.claims()?, call.desk.now());
    let meant = |of: &FilePath| file.as_ref().is_none_or(|file| file == of);
    let mut held: Vec<&Claim> = claims
        .held(now)
        .filter(|claim| meant(&claim.file))
        .collect();
    held.sort_by_key(|claim| (&claim.file, claim.lines));
    let mut rows = Vec::with_capacity(held.len());
    let mut read: Option<(&FilePath, Option<FileLines>)> = None;
    for claim in &held {
        if read.as_ref().is_none_or(|(file, _)| **file != claim.file) {
            read = Some((&claim.file, call.files.lines(&claim.file)?));
        }
        let text = read.as_ref().and_then(|(_, text)| text.as_ref());
        rows.push(row(call, claim, claim.standing(text), now));
    }
    let waiting: Vec<_> = claims
        .waiting(now)
        .filter(|wait| meant(&wait.file))
        .collect();
    rows.extend(
        waiting
            .iter()
            .map(|wait| format!("- {} waits for {} {}", wait.member, wait.file, wait.lines)),
    );
    let text = match rows.is_empty() {
        true => "Nobody holds any lines. Claim those that you edit with claim_region.".to_string(),
        false => format!(
            "{}\nAll other lines can be claimed with claim_region.",
            rows.join("\n")
        ),
    };
    let held: Vec<Value> = held.into_iter().map(facts).collect();
    let facts = json!({ "status": "listed", "claims": held, "waiting": waiting });
    Ok(Answer::done(text, facts).into())
}

/// Where the lines are now, as far as that can be said.
fn row(call: &Call<'_>, claim: &Claim, standing: Standing, now: Timestamp) -> String {
    let place = match standing {
        Standing::Found(lines) | Standing::Taken(lines) => lines.to_string(),
        Standing::Unknown(_) => format!(
            "{} of an earlier text, which are not found any more, so all of it",
            claim.lines
        ),
    };
    let left = claim.until.millis_since(now).max(0).unsigned_abs();
    let you = if claim.member == *call.name() {
        " (you)"
    } else {
        ""
    };
    format!(
        "- {}{you} holds {} {} for another {}",
        claim.member,
        claim.file,
        place,
        span(left)
    )
}

/// A claim without what its holder noted about the content.
fn facts(claim: &Claim) -> Value {
    json!({
        "member": claim.member,
        "file": claim.file,
        "lines": claim.lines,
        "since": claim.since,
        "until": claim.until,
    })
}
