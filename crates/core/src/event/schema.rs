//! The schema of events as a page, made from the facts themselves.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::SCHEMA;
use crate::claim::{EndCause, FilePath, Lines};
use crate::liveness::Wait;
use crate::mailbox::Intent;
use crate::name::Name;
use crate::price::Micros;
use crate::time::Timestamp;

/// What decides on which topic a fact is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// The team's.
    Team,
    /// The context's.
    Context,
    /// That of the member in this field.
    Agent(&'static str),
}

/// One type of event, described.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// The type, as it is written.
    pub word: &'static str,
    /// The topic.
    pub carrier: Carrier,
    /// What happened, in one sentence.
    pub about: &'static str,
    /// Its fields, in order.
    pub fields: &'static [DescribedField],
}

/// One field of an event, described.
#[derive(Debug, Clone, Copy)]
pub struct DescribedField {
    /// Its key.
    pub name: &'static str,
    /// Its type, in words.
    pub form: fn() -> String,
    /// What it says.
    pub about: &'static str,
}

/// What a field of a fact can be.
pub(super) trait Field {
    /// The type, in words.
    fn form() -> String;

    /// Whether it is left out.
    fn is_absent(&self) -> bool {
        false
    }

    /// Adds the names of members that it holds.
    fn names_into<'a>(&'a self, _: &mut Vec<&'a Name>) {}
}

macro_rules! plain {
    ($($ty:ty: $form:literal),* $(,)?) => {
        $(impl Field for $ty {
            fn form() -> String {
                $form.to_string()
            }
        })*
    };
}

plain! {
    String: "text",
    u64: "number",
    u32: "number",
    i64: "number",
    Timestamp: "instant",
    Micros: "micro-dollars",
    FilePath: "path",
    Lines: "`{start, end}`",
    EndCause: "`released` `replaced` `expired` `stopped` `crashed` `dissolved`",
    Intent: "`request` `inform` `ack`",
    Wait: "`permission` `reply` `blocked_task` `claim` `rate_limit` `draft`",
}

impl Field for Name {
    fn form() -> String {
        "name".to_string()
    }

    fn names_into<'a>(&'a self, names: &mut Vec<&'a Name>) {
        names.push(self);
    }
}

impl<T: Field> Field for Option<T> {
    fn form() -> String {
        format!("{}, if known", T::form())
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn names_into<'a>(&'a self, names: &mut Vec<&'a Name>) {
        if let Some(own) = self {
            own.names_into(names);
        }
    }
}

impl<T: Field> Field for Vec<T> {
    fn form() -> String {
        format!("list of {}", T::form())
    }

    fn names_into<'a>(&'a self, names: &mut Vec<&'a Name>) {
        for own in self {
            own.names_into(names);
        }
    }
}

const INTRODUCTION: &str = "# Events

Every fact about a team is one line of JSON in its `events.jsonl`, written right after the change that it reports. This page
is what `pitcrew events --schema` prints; version 1 of the schema. A later version adds types and fields and takes none away.

```json
{\"v\":1,\"at\":\"2026-11-30T16:22:28.904Z\",\"topic\":\"nous:team:demo:agent:bob\",\"type\":\"message_sent\",\"id\":\"…\",\"from\":\"ann\",\"to\":\"bob\",\"length\":12}
```

| key | what it is |
|---|---|
| `v` | the version of the schema |
| `at` | when it was written down, ISO 8601 with milliseconds |
| `topic` | `nous:team:<id>`, `nous:team:<id>:context` or `nous:team:<id>:agent:<name>` |
| `type` | one of the types below |

Events hold ids, names and lengths, and never the body of a message, a task or a finding. A field that is not known is left out.

What an event reports has happened and is durable. An event itself is a notice: a process that is killed between a change and
its event leaves the change without one, and a power failure may take the last lines. So follow events to know *when* to look,
and look at the state to know *what* holds. `events.jsonl` begins a new file at 8 MiB and keeps the last four; a follower that
was further behind is told that it missed something. One whose file was cut or replaced from outside is told so, and reads on
at its beginning.
";

/// The page that describes every type of event.
#[must_use]
pub fn page() -> String {
    let mut page = INTRODUCTION.to_string();
    let sections = [
        ("On `nous:team:<id>`", 0),
        ("On `nous:team:<id>:context`", 1),
        ("On `nous:team:<id>:agent:<name>`", 2),
    ];
    for (heading, section) in sections {
        page.push_str(&format!(
            "\n## {heading}\n\n| type | what happened | fields |\n|---|---|---|\n"
        ));
        for row in SCHEMA {
            let (own, whose) = match row.carrier {
                Carrier::Team => (0, String::new()),
                Carrier::Context => (1, String::new()),
                Carrier::Agent(field) => (2, format!(" Of the member in `{field}`.")),
            };
            if own != section {
                continue;
            }
            let fields: Vec<String> = row.fields.iter().map(described).collect();
            let fields = fields.join("; ");
            let about = row.about.trim();
            page.push_str(&format!("| `{}` | {about}{whose} | {fields} |\n", row.word));
        }
    }
    page
}

fn described(field: &DescribedField) -> String {
    let about = field.about.trim().trim_end_matches('.');
    format!("`{}` ({}): {about}", field.name, (field.form)())
}
