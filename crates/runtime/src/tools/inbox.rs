//! Reading one's own mail.
//!
//! A message that is read is held by its reader for a while, so that no second reader of the same member gets it too,
//! and counts as used only when it is acknowledged. One that is read too often without that goes to the dead letters.

use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_core::envelope::{envelope, preface};
use pitcrew_core::mailbox::Message;
use pitcrew_core::refusal::Refusal;
use serde_json::{Map, Value, json};

use super::Call;
use super::answer::{Answer, enclosed};
use super::waiting::{Step, Wait, ids};
use crate::desk::{Desk, NotDone, Wanted, Which};

/// How long a message that was read is safe from other readers, in milliseconds.
const HOLD_MS: i64 = 300_000;

/// How many messages one call reads unless it says otherwise.
const MESSAGES: u64 = 10;

/// After so many bytes of bodies no further message is read in one call.
const BODIES: usize = 64 * 1024;

/// How many ids are named of messages that are held and not acknowledged.
const NAMED: usize = 10;

/// `read_messages`.
pub(super) fn read_messages(call: &Call<'_>) -> Result<Step, NotDone> {
    let me = call.name();
    let limit = call.args.number("limit").unwrap_or(MESSAGES);
    let (mut messages, mut size): (Vec<Message>, usize) = (Vec::new(), 0);
    while (messages.len() as u64) < limit && size < BODIES {
        let Some(taken) = call.desk.take(me, &reader(me), HOLD_MS)? else {
            break;
        };
        size += taken.message.body.len();
        messages.push(taken.message);
    }
    if messages.is_empty() {
        return nothing_now(call, me);
    }
    let shown = enclosed(&call.desk, |boundary| {
        let mut text = preface(messages.len(), boundary);
        for message in &messages {
            text.push('\n');
            text.push_str(&envelope(message, boundary)?);
            text.push('\n');
        }
        Some(text)
    })?;
    let counts = call.desk.count_mail(me)?;
    let left = counts.unread.saturating_sub(messages.len() as u64);
    let mut text = shown;
    text.push_str(&format!(
        "\nWhen you have used them: ack_message with message_ids {}.",
        serde_json::to_string(&ids(&messages)).unwrap_or_default()
    ));
    if left > 0 {
        text.push_str(&format!(
            " {left} more unread: acknowledge these, then read_messages again."
        ));
    }
    if counts.damaged > 0 {
        text.push_str(&format!(
            " {} places of your mailbox hold no whole message: tell leader.",
            counts.damaged
        ));
    }
    let facts = json!({
        "status": "read",
        "message_ids": ids(&messages),
        "more_unread": left,
        "damaged": counts.damaged,
    });
    Ok(Answer::done(text, facts).into())
}

/// Who reads: one reader for each member, whichever process asks.
fn reader(me: &Name) -> String {
    format!("{me}/tools")
}

/// Nothing can be read now: waits if the caller wants to, else says what is held and not acknowledged.
fn nothing_now(call: &Call<'_>, me: &Name) -> Result<Step, NotDone> {
    if let Some(seconds) = call
        .args
        .number("wait_seconds")
        .filter(|seconds| *seconds > 0)
    {
        let look = call.desk.look(me, &[Wanted::Message])?;
        let mut args = Map::new();
        if let Some(limit) = call.args.number("limit") {
            args.insert("limit".to_string(), limit.into());
        }
        let wait_ms = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        return Ok(Step::Waits(Wait {
            me: me.clone(),
            args,
            until: call.desk.now().plus_millis(wait_ms),
            again_at: look.again_at,
        }));
    }
    let held = held(&call.desk, me)?;
    if held.is_empty() {
        return Ok(nothing(me).into());
    }
    let named: Vec<&str> = held.iter().take(NAMED).map(String::as_str).collect();
    let text = format!(
        "No new message. {} that were read are not acknowledged yet: when you have used them, ack_message with \
         message_ids {}.",
        held.len(),
        serde_json::to_string(&named).unwrap_or_default()
    );
    let facts = json!({ "status": "empty", "message_ids": [], "not_acknowledged": named });
    Ok(Answer::done(text, facts).into())
}

/// The messages that a reader holds now.
fn held(desk: &Desk<'_>, me: &Name) -> Result<Vec<String>, NotDone> {
    let now = desk.now();
    let mut held = Vec::new();
    desk.list_mail(me, Which::Unread, &mut |mail| {
        if mail.lease.is_some_and(|lease| lease.until > now) {
            held.push(mail.message.id);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(held)
}

/// The answer when there is no mail.
pub(super) fn nothing(me: &Name) -> Answer {
    Answer::done(
        format!("No new message for {me}. Go on with your work, and look again when it is done."),
        json!({ "status": "empty", "message_ids": [] }),
    )
}

/// `ack_message`.
pub(super) fn ack_message(call: &Call<'_>) -> Result<Step, NotDone> {
    let ids = call.args.texts("message_ids");
    call.desk
        .acknowledge(call.name(), &ids)
        .map_err(|not_done| match not_done {
            // Whose mailbox it is goes without saying, and the id is the caller's own word.
            NotDone::Refused(Refusal::MessageNotFound { id, mailbox }) => {
                let id = id.chars().take(80).collect();
                Refusal::MessageNotFound { id, mailbox }.into()
            }
            other => other,
        })?;
    let unread = call.desk.count_unread(call.name())?;
    let next = match unread {
        0 => "Nothing else is unread.".to_string(),
        unread => format!("{unread} unread: read_messages."),
    };
    let facts: Value = json!({ "status": "acknowledged", "message_ids": ids, "unread": unread });
    Ok(Answer::done(format!("Acknowledged {}. {next}", ids.len()), facts).into())
}
