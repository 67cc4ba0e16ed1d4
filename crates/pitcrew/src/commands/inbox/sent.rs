//! `inbox --sent`: where the messages that one has sent stand.

use pitcrew_core::Name;
use pitcrew_core::visible::{Lines, visible};
use pitcrew_runtime::desk::{Desk, SentMessage};
use serde_json::{Value, json};

use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::{HEADING, Layout};

/// How many messages are shown unless the caller says otherwise.
const NEWEST: u64 = 50;

/// Lists the newest messages of `sender`, oldest first.
pub(super) fn list(
    context: &mut Context<'_>,
    desk: &Desk<'_>,
    sender: &Name,
    limit: Option<u64>,
) -> Result<Exit, Halt> {
    let most = usize::try_from(limit.unwrap_or(NEWEST)).unwrap_or(usize::MAX);
    let sent = desk.sent_mail(sender, most)?;
    if context.ui.json {
        let rows: Vec<Value> = sent.iter().map(value).collect();
        context
            .ui
            .json(&json!({ "ok": true, "messages": rows }), Layout::Pretty);
        return Ok(Exit::Done);
    }
    if sent.is_empty() {
        context.ui.say("nothing was sent");
    }
    for message in &sent {
        let at = message.facts.last().map_or("", |fact| fact.at.as_str());
        let head = format!(
            "{}  to {}  {} {at}",
            message.message.id,
            message.message.to,
            message.stands()
        );
        let shown = visible(&head, Lines::Fold);
        let styled = context.ui.styled(HEADING, &shown);
        context.ui.own_line(&styled);
        let first = message.message.body.lines().next().unwrap_or_default();
        context.ui.indented(first);
    }
    Ok(Exit::Done)
}

fn value(sent: &SentMessage) -> Value {
    let mut row = serde_json::to_value(&sent.message).unwrap_or_default();
    row["stands"] = sent.stands().into();
    row["facts"] = json!(sent.facts);
    row
}
