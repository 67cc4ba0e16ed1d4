//! `inbox`: what is in a mailbox, reading from it, and acknowledging.

use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_runtime::desk::{Desk, Entry as Mail, MailReport, NotDone, Which};
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::{FAINT, HEADING, Layout, Ui};

/// The row of this command.
pub const ENTRY: Entry =
    Entry::new::<Inbox>("inbox", "List, read and acknowledge the mail of a member");

/// How long a message that was taken with --next is safe from other readers, unless --hold says otherwise.
const HOLD_SECONDS: u32 = 300;

/// List, read and acknowledge the mail of a member
///
/// Without options the unread messages are listed, oldest first, and nothing changes. `--next` takes the oldest one:
/// no other reader gets it while you hold it. Say `--ack ID` when you have used a message. A message that is taken
/// too often without being acknowledged goes to the dead letters, and its sender is told.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("mode").args(["next", "ack", "give_back", "redeliver", "all", "dead"])))]
pub struct Inbox {
    /// Take the oldest message that no other reader holds
    #[arg(long)]
    next: bool,
    /// With --next: acknowledge it as soon as it is written out
    #[arg(long, requires = "next")]
    and_ack: bool,
    /// With --next: hold it for so many seconds
    #[arg(long, value_name = "SECONDS", requires = "next")]
    hold: Option<u32>,
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
    /// List at most so many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl Run for Inbox {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team(None, None)?;
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
            desk.give_back(&owner, id)?;
            return done(context, "given back");
        }
        if let Some(id) = &self.redeliver {
            desk.redeliver(&owner, id)?;
            return done(context, "put back");
        }
        let which = match (self.all, self.dead) {
            (true, _) => Which::All,
            (false, true) => Which::Dead,
            (false, false) => Which::Unread,
        };
        list(context, &desk, &owner, which, self.limit)
    }
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
        unread.iter().map(String::as_str).collect()
    } else {
        ids.iter().map(String::as_str).collect()
    };
    desk.acknowledge(owner, &ids)?;
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
        let hold_ms = i64::from(self.hold.unwrap_or(HOLD_SECONDS)) * 1_000;
        let reader = format!("{owner}/{}", std::process::id());
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
            heading(context.ui, &taken.message, "");
            context.ui.text(&taken.message.body);
        }
        context.ui.flush();
        // Only a reader that got the text has used it.
        if self.and_ack && context.ui.is_open() {
            desk.acknowledge(owner, &[&id])?;
        } else if !self.and_ack && !context.ui.json {
            context
                .ui
                .say(&format!("when you have used it: pitcrew inbox --ack {id}"));
        }
        Ok(Exit::Done)
    }
}

fn heading(ui: &mut Ui, message: &pitcrew_core::mailbox::Message, state: &str) {
    let verified = if message.verified == Some(true) {
        ", verified"
    } else {
        ""
    };
    let head = format!(
        "{}  from {}{verified}  {}{state}",
        message.id, message.from, message.timestamp
    );
    let shown = pitcrew_core::visible::visible(&head, pitcrew_core::visible::Lines::Fold);
    let styled = ui.styled(HEADING, &shown);
    ui.own_line(&styled);
}

fn list(
    context: &mut Context<'_>,
    desk: &Desk<'_>,
    owner: &Name,
    which: Which,
    limit: Option<u64>,
) -> Result<Exit, Halt> {
    let limit = limit.unwrap_or(u64::MAX);
    if context.ui.json {
        let mut stream = MessageStream::begin(context.ui, Layout::Pretty);
        let report = list_limited(desk, owner, which, limit, &mut |mail| stream.message(&mail))?;
        stream.end(&report);
        return Ok(Exit::Done);
    }
    let ui = &mut *context.ui;
    let report = list_limited(desk, owner, which, limit, &mut |mail| {
        let state = match (&mail.delivered_at, mail.dead, &mail.lease) {
            (Some(at), _, _) => format!("  acknowledged {at}"),
            (None, true, _) => "  dead letter".to_string(),
            (None, false, Some(lease)) => {
                format!("  held by {} until {}", lease.reader, lease.until)
            }
            (None, false, None) => String::new(),
        };
        heading(ui, &mail.message, &state);
        ui.text(&mail.message.body);
        ui.is_open()
    })?;
    for damage in &report.damage {
        ui.say(&format!(
            "damage at byte {} ({} bytes): {}",
            damage.at, damage.len, damage.why
        ));
    }
    if report.listed == 0 {
        let what = match which {
            Which::Unread => "no unread messages",
            Which::Dead => "no dead letters",
            Which::All => "no messages",
        };
        let text = ui.styled(FAINT, what);
        ui.say(&text);
    }
    Ok(Exit::Done)
}

/// Lists at most `limit` messages, until `each` says that nobody reads any more.
pub fn list_limited(
    desk: &Desk<'_>,
    owner: &Name,
    which: Which,
    limit: u64,
    each: &mut dyn FnMut(Mail) -> bool,
) -> Result<MailReport, NotDone> {
    let mut left = limit;
    if left == 0 {
        return Ok(MailReport::default());
    }
    desk.list_mail(owner, which, &mut |mail| {
        left -= 1;
        let go_on = each(mail) && left > 0;
        Ok(if go_on {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })
}

/// Writes `{"ok":true,"messages":[…]}` message by message, so that memory does not grow with the mailbox.
pub struct MessageStream<'a> {
    ui: &'a mut Ui,
    layout: Layout,
    any: bool,
}

impl<'a> MessageStream<'a> {
    /// Writes the beginning.
    pub fn begin(ui: &'a mut Ui, layout: Layout) -> Self {
        let text: &[u8] = match layout {
            Layout::Pretty => b"{\n  \"ok\": true,\n  \"messages\": [",
            Layout::Compact => b"{\"ok\":true,\"messages\":[",
        };
        ui.raw(text);
        Self {
            ui,
            layout,
            any: false,
        }
    }

    /// Writes one message; answers whether anybody still reads.
    pub fn message(&mut self, mail: &Mail) -> bool {
        if self.any {
            self.ui.raw(b",");
        }
        self.any = true;
        let value = value_of(mail);
        match self.layout {
            Layout::Compact => self.ui.raw(value.to_string().as_bytes()),
            Layout::Pretty => {
                let text = serde_json::to_string_pretty(&value).unwrap_or_default();
                for line in text.lines() {
                    self.ui.raw(b"\n    ");
                    self.ui.raw(line.as_bytes());
                }
            }
        }
        self.ui.is_open()
    }

    /// Writes the end, with what else reading the mailbox showed.
    pub fn end(self, report: &MailReport) {
        let pretty = self.layout == Layout::Pretty;
        self.ui
            .raw(if pretty && self.any { b"\n  ]" } else { b"]" });
        if report.damaged > 0 {
            let damage = json!({ "count": report.damaged, "places": report.damage });
            self.ui.raw(if pretty {
                b",\n  \"damage\": "
            } else {
                b",\"damage\":"
            });
            self.ui.raw(damage.to_string().as_bytes());
        }
        self.ui.raw(if pretty { b"\n}\n" } else { b"}\n" });
    }
}

/// The message as it stands in the log, its type in front, with its acknowledgement.
fn value_of(mail: &Mail) -> Value {
    let raw: Result<serde_json::Map<String, Value>, _> = pitcrew_core::json::read(&mail.line);
    let mut object = serde_json::Map::new();
    object.insert("type".to_string(), "message".into());
    object.extend(raw.unwrap_or_default());
    if let Some(at) = &mail.delivered_at {
        object.insert("deliveredAt".to_string(), at.as_str().into());
    }
    if mail.dead {
        object.insert("deadLettered".to_string(), true.into());
    }
    Value::Object(object)
}
