//! `inbox`: what is in a mailbox, reading from it, and acknowledging.

use std::ops::ControlFlow;
use std::time::Duration;

use pitcrew_core::Name;
use pitcrew_runtime::desk::{Desk, Which};
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::span;
use crate::ui::Layout;

mod follow;
mod listing;
mod sent;

pub(crate) use listing::{MessageStream, list_limited};

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Inbox>("inbox", "List, read and acknowledge the mail of a member");

/// How long a message that was taken with --next is safe from other readers, unless --hold says otherwise.
const HOLD: Duration = Duration::from_secs(300);

/// List, read and acknowledge the mail of a member
///
/// Without options the unread messages are listed, oldest first, and nothing changes. `--next` takes the oldest one:
/// no other reader gets it while you hold it. Say `--ack ID` when you have used a message. A message that is taken
/// too often without being acknowledged goes to the dead letters, and its sender is told.
///
/// In text, control characters are shown as signs; `--json` gives every body byte for byte.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("mode").args(["next", "ack", "give_back", "redeliver", "all", "dead", "follow", "sent"])))]
pub(crate) struct Inbox {
    /// Take the oldest message that no other reader holds
    #[arg(long)]
    next: bool,
    /// With --next: acknowledge it once it is written out; a message that could not be is given back
    #[arg(long, requires = "next")]
    and_ack: bool,
    /// With --next: hold it for so long: 90s, 10m, 1h
    #[arg(long, value_name = "SPAN", requires = "next", value_parser = span::parse)]
    hold: Option<Duration>,
    /// Acknowledge messages: you have used them. `all` is everything unread
    #[arg(long, value_name = "ID", num_args = 1..)]
    ack: Vec<String>,
    /// Give a taken message back unused
    #[arg(long, value_name = "ID")]
    give_back: Option<String>,
    /// Put a dead letter back into the mailbox
    #[arg(long, value_name = "ID")]
    redeliver: Option<String>,
    /// List acknowledged messages too
    #[arg(long)]
    all: bool,
    /// List the dead letters
    #[arg(long)]
    dead: bool,
    /// List what is unread and then each message as it comes, until Ctrl-C; nothing is acknowledged
    #[arg(long, conflicts_with = "limit")]
    follow: bool,
    /// List what you have sent, and where each message stands: stored, notified, submitted, shown, delivered, dead_lettered
    #[arg(long)]
    sent: bool,
    /// List at most so many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

impl Run for Inbox {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let desk = team.desk();
        let who = context.credentials(&team.name);
        let owner = desk.speaker(&desk.roster()?, &who)?.name;
        if self.next {
            return self.take(context, &desk, &owner);
        }
        if !self.ack.is_empty() {
            return acknowledge(context, &desk, &owner, &self.ack);
        }
        if let Some(id) = &self.give_back {
            desk.give_back(&owner, id, None)?;
            return done(context, "given back");
        }
        if let Some(id) = &self.redeliver {
            desk.redeliver(&owner, id)?;
            return done(context, "put back");
        }
        if self.sent {
            return sent::list(context, &desk, &owner, self.limit);
        }
        if self.follow {
            return follow::follow(context, &team, &owner);
        }
        let which = match (self.all, self.dead) {
            (true, _) => Which::All,
            (false, true) => Which::Dead,
            (false, false) => Which::Unread,
        };
        let listed = listing::list(context, &desk, &owner, which, self.limit)?;
        if !context.ui.json && which == Which::Unread {
            tell_of_findings(context, &desk, &owner)?;
        }
        Ok(listed)
    }
}

/// Says how many findings of others the owner was not shown yet. Looking notes nothing.
fn tell_of_findings(context: &mut Context<'_>, desk: &Desk<'_>, owner: &Name) -> Result<(), Halt> {
    let found = desk.count_new_discoveries(owner)?;
    if found > 0 {
        let many = if found == 1 { "finding" } else { "findings" };
        let words = format!("{found} new {many} of the team: pitcrew discoveries --new");
        context.ui.say(&words);
    }
    Ok(())
}

fn done(context: &mut Context<'_>, word: &str) -> Result<Exit, Halt> {
    if context.ui.json {
        context.ui.json(&json!({ "ok": true }), Layout::Pretty);
    } else {
        context.ui.say(word);
    }
    Ok(Exit::Done)
}

fn acknowledge(
    context: &mut Context<'_>,
    desk: &Desk<'_>,
    owner: &Name,
    ids: &[String],
) -> Result<Exit, Halt> {
    let mut unread = Vec::new();
    let ids: Vec<&str> = if ids.iter().any(|id| id == "all") {
        desk.list_mail(owner, Which::Unread, &mut |mail| {
            unread.push(mail.message.id);
            Ok(ControlFlow::Continue(()))
        })?;
        let ids: Vec<&str> = unread.iter().map(String::as_str).collect();
        desk.acknowledge_listed(owner, &ids)?;
        ids
    } else {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        desk.acknowledge(owner, &ids)?;
        ids
    };
    if context.ui.json {
        context.ui.json(
            &json!({ "ok": true, "acknowledged": ids.len() }),
            Layout::Pretty,
        );
    } else {
        context.ui.say(&format!("acknowledged {}", ids.len()));
    }
    Ok(Exit::Done)
}

impl Inbox {
    fn take(&self, context: &mut Context<'_>, desk: &Desk<'_>, owner: &Name) -> Result<Exit, Halt> {
        context.ui.expect_a_reader()?;
        let hold_ms = span::millis(self.hold.unwrap_or(HOLD));
        let reader = format!("{owner}/{}", pitcrew_runtime::process::own_pid());
        let Some(taken) = desk.take(owner, &reader, hold_ms)? else {
            if context.ui.json {
                context
                    .ui
                    .json(&json!({ "ok": true, "message": null }), Layout::Pretty);
            } else {
                context.ui.say("no message waits");
            }
            return Ok(Exit::Done);
        };
        let id = taken.message.id.clone();
        if context.ui.json {
            let message = serde_json::to_value(&taken.message).unwrap_or_default();
            let answer = json!({ "ok": true, "message": message, "attempt": taken.attempt });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            listing::heading(context.ui, &taken.message, "");
            context.ui.indented(&taken.message.body);
        }
        context.ui.flush();
        // Only a reader that got the text has used it. One that did not gets it again, from whoever asks next.
        if !context.ui.is_open() {
            desk.give_back(owner, &id, Some(taken.attempt))?;
            return Ok(Exit::Failed);
        }
        if self.and_ack {
            desk.acknowledge(owner, &[&id])?;
            return Ok(Exit::Done);
        }
        if taken.attempt == 1 {
            desk.note_message_shown(owner, &id)?;
        }
        if !context.ui.json {
            context.ui.say(&format!(
                "when you have used it: pitcrew --as {owner} inbox --ack {id}"
            ));
        }
        Ok(Exit::Done)
    }
}
