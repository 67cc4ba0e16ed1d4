//! Listing a mailbox, in words or as the reference's JSON, message by message.

use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_core::mailbox::Message;
use pitcrew_core::visible::{Lines, visible};
use pitcrew_runtime::desk::{Desk, Entry as Mail, MailReport, NotDone, Which};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cli::failed_answer;
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::{HEADING, Layout, Ui};

/// Writes the line above a message.
pub(super) fn heading(ui: &mut Ui, message: &Message, state: &str) {
    let verified = if message.verified == Some(true) {
        ", verified"
    } else {
        ", not verified"
    };
    let head = format!(
        "{}  from {}{verified}  {}{state}",
        message.id, message.from, message.timestamp
    );
    let shown = visible(&head, Lines::Fold);
    let styled = ui.styled(HEADING, &shown);
    ui.own_line(&styled);
}

/// Lists messages as `inbox` does without any option that does more.
pub(super) fn list(
    context: &mut Context<'_>,
    desk: &Desk<'_>,
    owner: &Name,
    which: Which,
    limit: Option<u64>,
) -> Result<Exit, Halt> {
    let limit = limit.unwrap_or(u64::MAX);
    if context.ui.json {
        let mut stream = MessageStream::new(context.ui, Layout::Pretty);
        let listed = list_limited(desk, owner, which, limit, &mut |mail| stream.message(&mail));
        return stream.end(listed.map_err(Halt::from));
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
        ui.indented(&mail.message.body);
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
        ui.say(what);
    }
    Ok(Exit::Done)
}

/// Lists at most `limit` messages, until `each` says that nobody reads any more.
pub(crate) fn list_limited(
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

/// Writes `{"ok":true,"messages":[…]}` message by message, so that memory does not grow with the mailbox. Nothing is
/// written before the first message is there, so that a mailbox that cannot be read is refused in shape.
pub(crate) struct MessageStream<'a> {
    ui: &'a mut Ui,
    layout: Layout,
    any: bool,
}

impl<'a> MessageStream<'a> {
    /// A stream of which nothing is written yet.
    pub(crate) fn new(ui: &'a mut Ui, layout: Layout) -> Self {
        Self {
            ui,
            layout,
            any: false,
        }
    }

    fn begin(&mut self) {
        self.ui.raw(match self.layout {
            Layout::Pretty => b"{\n  \"ok\": true,\n  \"messages\": [",
            Layout::Compact => b"{\"ok\":true,\"messages\":[",
        });
    }

    /// Writes one message; answers whether anybody still reads.
    pub(crate) fn message(&mut self, mail: &Mail) -> bool {
        if self.any {
            self.ui.raw(b",");
        } else {
            self.begin();
            self.any = true;
        }
        let written = Written::of(mail);
        match self.layout {
            Layout::Compact => {
                let text = serde_json::to_string(&written).unwrap_or_default();
                self.ui.json_piece(&text);
            }
            Layout::Pretty => {
                let text = serde_json::to_string_pretty(&written).unwrap_or_default();
                for line in text.lines() {
                    self.ui.raw(b"\n    ");
                    self.ui.json_piece(line);
                }
            }
        }
        self.ui.is_open()
    }

    /// Writes the end, with what else reading the mailbox showed. A reading that broke off in the middle says so behind
    /// the messages; one that never began is the caller's to answer.
    pub(crate) fn end(mut self, listed: Result<MailReport, Halt>) -> Result<Exit, Halt> {
        let (more, exit) = match listed {
            Ok(report) if report.damaged == 0 => (None, Exit::Done),
            Ok(report) => {
                let damage = json!({ "count": report.damaged, "places": report.damage });
                (Some(("damage", damage)), Exit::Done)
            }
            Err(halt) if !self.any => return Err(halt),
            Err(halt) => (
                Some(("brokeOff", failed_answer("error", None, &halt))),
                hints::row(&halt).exit,
            ),
        };
        if !self.any {
            self.begin();
        }
        let pretty = self.layout == Layout::Pretty;
        self.ui
            .raw(if pretty && self.any { b"\n  ]" } else { b"]" });
        if let Some((key, value)) = more {
            let before = if pretty { ",\n  " } else { "," };
            let after = if pretty { " " } else { "" };
            self.ui
                .raw(format!("{before}\"{key}\":{after}{value}").as_bytes());
        }
        self.ui.raw(if pretty { b"\n}\n" } else { b"}\n" });
        Ok(exit)
    }
}

/// A message as it is answered: its body exactly, also where that is no Unicode.
struct Written {
    object: serde_json::Map<String, Value>,
    exact_body: Option<Box<RawValue>>,
}

impl Written {
    fn of(mail: &Mail) -> Self {
        Self {
            object: object_of(mail),
            exact_body: mail.message.body.exact(),
        }
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.object.len()))?;
        for (key, value) in &self.object {
            match &self.exact_body {
                Some(exact) if key == "body" => map.serialize_entry(key, exact)?,
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

/// The message as it stands in the log, its type in front, with its acknowledgement.
fn object_of(mail: &Mail) -> serde_json::Map<String, Value> {
    let raw: Result<serde_json::Map<String, Value>, _> = pitcrew_core::json::read(&mail.line);
    let mut object = serde_json::Map::new();
    object.insert("type".to_string(), "message".into());
    // A line that only the tolerant reading takes is shown as that reading has it.
    let as_read = || match serde_json::to_value(&mail.message) {
        Ok(Value::Object(message)) => message,
        _ => serde_json::Map::new(),
    };
    object.extend(raw.unwrap_or_else(|_| as_read()));
    if let Some(at) = &mail.delivered_at {
        object.insert("deliveredAt".to_string(), at.as_str().into());
    }
    if mail.dead {
        object.insert("deadLettered".to_string(), true.into());
    }
    object
}
