//! `team api <request> --input '<json>'`: the reference's request interface.
//!
//! Answers stand on standard output as one object, pretty with `--json` and on one line without. A request that is
//! not done answers `{ok:false, …}` with exit status 1, whatever the reason: callers look at the object.

use pitcrew_core::Refusal;
use serde_json::{Map, Value, json};

use super::super::body::read_stdin;
use crate::cli::{Entry, Run, failed_answer};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::Layout;

mod mail;
mod tasks;

/// The row of this command.
pub const ENTRY: Entry = Entry::new::<Api>(
    "api",
    "Send one request as JSON: claim-task, send-message, …",
);

/// One request of the table.
struct Request {
    name: &'static str,
    /// The key under which a request that was not done gives the reference's text.
    key: &'static str,
    answer: fn(&mut Call<'_, '_>) -> Result<Answer, Halt>,
}

/// What a request answers.
enum Answer {
    /// An object, and whether it counts as done.
    Object(Value, Exit),
    /// It was written already.
    Written,
}

const REQUESTS: &[Request] = &[
    Request {
        name: "claim-task",
        key: "reason",
        answer: tasks::claim,
    },
    Request {
        name: "transition-task-status",
        key: "reason",
        answer: tasks::transition,
    },
    Request {
        name: "send-message",
        key: "error",
        answer: mail::send,
    },
    Request {
        name: "broadcast",
        key: "error",
        answer: mail::broadcast,
    },
    Request {
        name: "mailbox-list",
        key: "error",
        answer: mail::list,
    },
    Request {
        name: "mailbox-mark-delivered",
        key: "error",
        answer: mail::mark_delivered,
    },
    Request {
        name: "mailbox-next",
        key: "error",
        answer: mail::next,
    },
    Request {
        name: "mailbox-give-back",
        key: "error",
        answer: mail::give_back,
    },
    Request {
        name: "mailbox-redeliver",
        key: "error",
        answer: mail::redeliver,
    },
    Request {
        name: "add-task",
        key: "reason",
        answer: tasks::add,
    },
    Request {
        name: "list-tasks",
        key: "reason",
        answer: tasks::list,
    },
    Request {
        name: "claim-next-task",
        key: "reason",
        answer: tasks::claim_next,
    },
    Request {
        name: "release-task",
        key: "reason",
        answer: tasks::release,
    },
    Request {
        name: "retry-task",
        key: "reason",
        answer: tasks::retry,
    },
];

/// Send one request as JSON
///
/// Requests and their fields (those in brackets may be left out; `cwd` names a folder of the project):
///
///   claim-task               team_name task_id worker [lease_ms] [cwd]
///   transition-task-status   team_name task_id [worker] from to claim_token [result] [cwd]
///   send-message             team_name from to body [reply_to] [intent] [idempotency_key] [cwd]
///   broadcast                team_name from body [intent] [idempotency_key] [cwd]
///   mailbox-list             team_name worker [undelivered_only] [cwd]
///   mailbox-mark-delivered   team_name worker message_id [cwd]
///   mailbox-next             team_name worker [hold_ms] [cwd]
///   mailbox-give-back        team_name worker message_id [cwd]
///   mailbox-redeliver        team_name worker message_id [cwd]
///   add-task                 team_name description [task_id] [assignee] [blocked_by] [cwd]
///   list-tasks               team_name [cwd]
///   claim-next-task          team_name worker [lease_ms] [cwd]
///   release-task             team_name task_id claim_token [cwd]
///   retry-task               team_name task_id [claim_token] [cwd]
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Api {
    /// The request
    #[arg(value_name = "REQUEST")]
    request: Option<String>,
    /// Its fields as a JSON object; `-` reads standard input
    #[arg(long, value_name = "JSON", num_args = 0..=1, allow_hyphen_values = true)]
    input: Option<Option<String>>,
}

/// One call: the request's fields and where it was made.
struct Call<'c, 'a> {
    context: &'c mut Context<'a>,
    fields: Map<String, Value>,
    layout: Layout,
}

impl Run for Api {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let layout = if context.ui.json {
            Layout::Pretty
        } else {
            Layout::Compact
        };
        let Some(name) = self.request else {
            return misunderstood(
                context,
                "team api <request> --input '<json>' required".to_string(),
            );
        };
        let Some(request) = REQUESTS.iter().find(|request| request.name == name) else {
            return misunderstood(context, format!("Unknown team api command: {name}"));
        };
        let text = match self.input.flatten() {
            Some(text) if text == "-" => read_stdin()?,
            Some(text) if !text.is_empty() => text,
            _ => {
                return misunderstood(
                    context,
                    format!("team api {name} --input '<json>' required"),
                );
            }
        };
        let fields = match parse(&text) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => {
                return not_done(
                    context,
                    request,
                    layout,
                    &Refusal::input("--input", "must be an object").into(),
                );
            }
            Err(why) => return misunderstood(context, format!("invalid --input JSON: {why}")),
        };
        let mut call = Call {
            context,
            fields,
            layout,
        };
        match (request.answer)(&mut call) {
            Ok(Answer::Object(value, exit)) => {
                context.ui.json(&value, layout);
                Ok(exit)
            }
            Ok(Answer::Written) => Ok(Exit::Done),
            Err(halt) => not_done(context, request, layout, &halt),
        }
    }
}

/// A lone surrogate is text to the reference, so it is text here; nothing else is mended.
fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|refused| {
        match pitcrew_core::json::repair(text.as_bytes()) {
            Some(mended) => serde_json::from_str(&mended),
            None => Err(refused),
        }
    })
}

/// The reference's shape for a call that is no request at all.
fn misunderstood(context: &mut Context<'_>, message: String) -> Result<Exit, Halt> {
    if context.ui.json {
        let answer = json!({ "ok": false, "message": message, "code": "usage" });
        context.ui.json(&answer, Layout::Pretty);
    } else {
        context.ui.line(&message);
    }
    Ok(Exit::Refused)
}

fn not_done(
    context: &mut Context<'_>,
    request: &Request,
    layout: Layout,
    halt: &Halt,
) -> Result<Exit, Halt> {
    let mut answer = failed_answer(request.key, hints::reference_text(halt), halt);
    if request.name == "mailbox-list" {
        answer["messages"] = json!([]);
    }
    context.ui.json(&answer, layout);
    Ok(Exit::Refused)
}

impl Call<'_, '_> {
    /// A text that may be absent. `null` is absent.
    fn optional(&self, field: &str) -> Result<Option<&str>, Refusal> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::input(field, "must be a string")),
        }
    }

    /// A text that must be there and not be empty.
    fn required(&self, field: &str) -> Result<&str, Refusal> {
        match self.optional(field)? {
            Some("") => Err(Refusal::input(field, "must not be empty")),
            Some(text) => Ok(text),
            None => Err(Refusal::input(field, "is missing")),
        }
    }

    /// A span in milliseconds that may be absent.
    fn span(&self, field: &str) -> Result<Option<i64>, Refusal> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(ms) if ms > 0 => Ok(Some(ms)),
                _ => Err(Refusal::input(
                    field,
                    "must be a whole number of milliseconds above 0",
                )),
            },
        }
    }

    fn open(&self) -> Result<crate::context::OpenTeam, Halt> {
        let name = self.required("team_name")?;
        let name = pitcrew_core::Name::new(pitcrew_core::refusal::NameKind::Team, name)?;
        let project = self.context.project(self.optional("cwd")?);
        crate::context::open(&project, name)
    }
}
