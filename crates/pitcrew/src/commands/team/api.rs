//! `team api <request> --input '<json>'`: the reference's request interface.
//!
//! Answers stand on standard output as one object, pretty with `--json` and on one line without. A request that is
//! not done answers `{ok:false, …}` with exit status 1, whatever the reason: callers look at the object.

use std::collections::BTreeMap;

use pitcrew_core::mailbox::Body;
use pitcrew_core::name::LEADER;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Refusal};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::cli::{Entry, Run, failed_answer};
use crate::commands::body::read_stdin;
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::ui::{Layout, Ui};

mod mail;
mod plane;
mod tasks;
mod teams;

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<Api>(
    "api",
    "Send one request as JSON: claim-task, send-message, …",
);

/// One request of the table.
struct Request {
    name: &'static str,
    /// The key under which a request that was not done gives the reference's text.
    key: &'static str,
    answer: Answering,
}

/// What a request does.
type Answering = fn(&mut Call<'_, '_>) -> Result<Answer, Halt>;

/// What a request answers.
enum Answer {
    /// An object, and whether it counts as done.
    Object(Value, Exit),
    /// It was written already, and ended so.
    Written(Exit),
}

/// A request about mail: the reference says in `error` why it was not done.
const fn mail(name: &'static str, answer: Answering) -> Request {
    Request {
        name,
        key: "error",
        answer,
    }
}

/// A request about tasks, members and teams: there it is `reason`.
const fn work(name: &'static str, answer: Answering) -> Request {
    Request {
        name,
        key: "reason",
        answer,
    }
}

const REQUESTS: &[Request] = &[
    work("claim-task", tasks::claim),
    work("transition-task-status", tasks::transition),
    mail("send-message", mail::send),
    mail("broadcast", mail::broadcast),
    mail("mailbox-list", mail::list),
    mail("mailbox-mark-delivered", mail::mark_delivered),
    mail("mailbox-next", mail::next),
    mail("mailbox-give-back", mail::give_back),
    mail("mailbox-redeliver", mail::redeliver),
    work("add-task", tasks::add),
    work("list-tasks", tasks::list),
    work("claim-next-task", tasks::claim_next),
    work("release-task", tasks::release),
    work("retry-task", tasks::retry),
    work("create-team", teams::create),
    work("list-teams", teams::list),
    work("team-status", teams::status),
    work("list-members", teams::members),
    work("add-member", teams::add_member),
    work("remove-member", teams::remove_member),
    work("shutdown-team", teams::shutdown),
    work("wait", teams::wait),
    mail("claim-region", plane::claim_region),
    mail("release-region", plane::release_region),
    mail("list-claims", plane::list_claims),
    mail("share-discovery", plane::share_discovery),
    mail("read-discoveries", plane::read_discoveries),
    mail("limit-acquire", plane::limit_acquire),
    mail("limit-record", plane::limit_record),
    mail("limit-release", plane::limit_release),
    mail("limit-status", plane::limit_status),
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
///   mailbox-give-back        team_name worker message_id [attempt] [cwd]
///   mailbox-redeliver        team_name worker message_id [cwd]
///   add-task                 team_name description [task_id] [assignee] [blocked_by] [cwd]
///   list-tasks               team_name [cwd]
///   claim-next-task          team_name worker [lease_ms] [cwd]
///   release-task             team_name task_id claim_token [cwd]
///   retry-task               team_name task_id [claim_token] [cwd]
///   create-team              team_name [members] [tasks] [goal] [role] [cwd]
///   list-teams               [cwd]
///   team-status              team_name [cwd]
///   list-members             team_name [cwd]
///   add-member               team_name name [role] [profile] [cwd]
///   remove-member            team_name name [cwd]
///   shutdown-team            team_name [cwd]
///   wait                     team_name worker [message] [any_task] [task] [task_end] [timeout_ms] [cwd]
///   claim-region             team_name worker file start_line end_line [ttl_ms] [extend] [wait_ms] [cwd]
///   release-region           team_name worker file [start_line end_line] [cwd]
///   list-claims              team_name [file] [cwd]
///   share-discovery          team_name from topic content [paths] [ttl_ms] [cwd]
///   read-discoveries         team_name [topic] [path] [since] [cwd], or team_name worker new_only [cwd]
///   limit-acquire            team_name worker tokens [cost] [task_id] [model] [cwd]
///   limit-record             team_name worker [reservation] tokens [cost] [task_id] [model] [cwd]
///   limit-release            team_name worker reservation [cwd]
///   limit-status             team_name [cwd]
///
/// `members` are objects with name, role and profile, or names; `tasks` are objects with the fields of add-task, or
/// descriptions.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(
    rustdoc::broken_intra_doc_links,
    reason = "the brackets of the help text mark what may be left out"
)]
pub(crate) struct Api {
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
    /// The body as it is given, where its text is not all of it.
    exact_body: Option<Body>,
    layout: Layout,
}

impl Run for Api {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let layout = if context.ui.json {
            Layout::Pretty
        } else {
            Layout::Compact
        };
        let input = match self.input.flatten() {
            Some(text) if text == "-" => match read_stdin() {
                Ok(text) => Some(text),
                Err(halt) => return Ok(misunderstood(context.ui, &halt.message())),
            },
            input => input,
        };
        let (Some(name), Some(text)) = (self.request, input.filter(|text| !text.is_empty())) else {
            let words = "team api <sub> --input '<json>' required";
            return Ok(misunderstood(context.ui, words));
        };
        let Some(request) = REQUESTS.iter().find(|request| request.name == name) else {
            let words = format!("Unknown team api command: {name}");
            return Ok(misunderstood(context.ui, &words));
        };
        let (fields, exact_body, is_object) = match parse(&text) {
            Ok((Value::Object(fields), exact_body)) => (fields, exact_body, true),
            Ok(_) => (Map::new(), None, false),
            Err(why) => {
                let words = format!("invalid --input JSON: {why}");
                return Ok(misunderstood(context.ui, &words));
            }
        };
        let mut call = Call {
            context,
            fields,
            exact_body,
            layout,
        };
        let answered = if is_object {
            (request.answer)(&mut call)
        } else {
            Err(Refusal::input("--input", "must be an object").into())
        };
        Ok(match answered {
            Ok(Answer::Object(value, exit)) => {
                context.ui.json(&value, layout);
                exit
            }
            Ok(Answer::Written(exit)) => exit,
            Err(halt) => call.refuse(request, halt),
        })
    }
}

/// A lone surrogate is text to the reference, so it is text here; nothing else is mended. Of the body it is kept.
fn parse(text: &str) -> Result<(Value, Option<Body>), serde_json::Error> {
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, None)),
        Err(refused) => match pitcrew_core::json::repair(text.as_bytes()) {
            Some(mended) => Ok((serde_json::from_str(&mended)?, exact_body(text))),
            None => Err(refused),
        },
    }
}

/// The body in a request that only the mending reader takes.
fn exact_body(text: &str) -> Option<Body> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    Body::of_json(fields.get("body")?.get()).ok()
}

/// Whether a command line, without its first word, is one of this interface.
pub(crate) fn is_meant(words: &[&str]) -> bool {
    words.windows(2).any(|pair| pair == ["team", "api"])
}

/// The reference's shape for a call that is no request at all. Its exit status is 1 like that of every other no.
pub(crate) fn misunderstood(ui: &mut Ui, message: &str) -> Exit {
    if ui.json {
        let answer = json!({ "ok": false, "message": message, "code": "usage" });
        ui.json(&answer, Layout::Pretty);
    } else {
        ui.text(message);
    }
    Exit::Refused
}

impl Call<'_, '_> {
    /// Answers a request that was not done, in the reference's shape.
    fn refuse(&mut self, request: &Request, halt: Halt) -> Exit {
        let halt = self.context.explain(halt);
        let mut answer = failed_answer(request.key, self.words(request, &halt), &halt);
        match request.name {
            "mailbox-list" => answer["messages"] = json!([]),
            "broadcast" => {
                answer["recipients"] = json!([]);
                answer["messageIds"] = json!([]);
                if let Some(errors) = self.each_recipient(&halt) {
                    answer["errors"] = errors;
                }
            }
            _ => {}
        }
        if let Halt::Refused(Refusal::MessageNotFound { mailbox, .. }) = &halt {
            // Anybody may list, whoever the mailbox is of.
            let input = json!({ "team_name": self.fields.get("team_name"), "worker": mailbox });
            answer["hint"] = format!(
                "list what is there with `pitcrew team api mailbox-list --input '{input}'`"
            )
            .into();
        }
        self.context.ui.json(&answer, self.layout);
        Exit::Refused
    }

    /// What the reference says of each recipient of a broadcast whose body cannot be sent to any.
    fn each_recipient(&mut self, halt: &Halt) -> Option<Value> {
        let Halt::Refused(refused @ (Refusal::InvalidInput { .. } | Refusal::BodyTooLarge { .. })) =
            halt
        else {
            return None;
        };
        let from = self.fields.get("from").and_then(Value::as_str)?.to_string();
        let roster = self.open().ok()?.desk().roster().ok()?;
        let others = roster.everybody().into_iter();
        let others = others.filter(|name| name.as_str() != from);
        Some(
            others
                .map(|name| json!(format!("{name}: {}", refused.code())))
                .collect(),
        )
    }

    /// The words of the reference where ours are others: it names what it did not find even where that was not given,
    /// and knows no team that does not exist.
    fn words(&self, request: &Request, halt: &Halt) -> Option<String> {
        let of_the_six = ["claim-task", "transition-task-status"].contains(&request.name);
        match halt {
            Halt::Refused(Refusal::InvalidInput { field, .. })
                if of_the_six && field == "task_id" =>
            {
                let given = self.fields.get("task_id").map_or("undefined", |_| "null");
                return Some(format!("task {given} not found"));
            }
            Halt::Refused(Refusal::InvalidStatus { .. }) if of_the_six => {
                return self.other_status();
            }
            Halt::Refused(Refusal::UnknownMember { .. })
                if request.name == "mailbox-mark-delivered" =>
            {
                return Some("message_not_found".to_string());
            }
            Halt::Refused(Refusal::TeamNotFound { .. }) => {}
            _ => return None,
        }
        match request.name {
            "claim-task" | "transition-task-status" => {
                let id = self.task_id().ok()?;
                Some(Refusal::TaskNotFound { id: id.to_string() }.to_string())
            }
            "send-message" if self.fields.get("to").and_then(Value::as_str) != Some(LEADER) => {
                Some("unknown_recipient".to_string())
            }
            "mailbox-mark-delivered" => Some("message_not_found".to_string()),
            "team-status" | "shutdown-team" => Some(halt.to_string()),
            _ => None,
        }
    }

    /// What the reference says first of a step, before it looks whether there is such a step: that the status which the
    /// caller believes in is not the task's. `None` when it is.
    fn other_status(&self) -> Option<String> {
        let team = self.fields.get("team_name").and_then(Value::as_str)?;
        let team = Name::new(NameKind::Team, team).ok()?;
        let project = self.context.last_project()?;
        let task = OpenTeam::of(project, team)
            .desk()
            .task(&self.task_id().ok()?);
        let task = task.ok()?;
        let believed = self.fields.get("from").and_then(Value::as_str);
        let (id, status, believed) = (task.id, task.status, believed.unwrap_or("undefined"));
        let words = || format!("task {id} status={status}, expected {believed}");
        (believed != status.word()).then(words)
    }

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

    /// `true` or `false`; `false` when it is absent.
    fn flag(&self, field: &str) -> Result<bool, Refusal> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Refusal::input(field, "must be true or false")),
        }
    }

    /// A list that may be absent.
    fn list(&self, field: &str) -> Result<&[Value], Refusal> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(values)) => Ok(values),
            Some(_) => Err(Refusal::input(field, "must be a list")),
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

    /// A whole number above 0 that may be absent.
    fn count(&self, field: &str) -> Result<Option<u32>, Refusal> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
                Some(count) if count > 0 => Ok(Some(count)),
                _ => Err(Refusal::input(field, "must be a whole number above 0")),
            },
        }
    }

    /// The team that is meant, which need not exist.
    fn open(&mut self) -> Result<OpenTeam, Halt> {
        let name = self.required("team_name")?.to_string();
        let start = self.optional("cwd")?.map(str::to_string);
        self.context.open_named(&name, start.as_deref())
    }

    /// The team that is meant.
    fn open_known(&mut self) -> Result<OpenTeam, Halt> {
        let team = self.open()?;
        team.desk().roster()?;
        Ok(team)
    }
}
