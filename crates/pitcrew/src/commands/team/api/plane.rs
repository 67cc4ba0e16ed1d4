//! The requests about lines, findings and limits.
//!
//! `cost` is in dollars; amounts in answers are whole millionths of a dollar. A path is meant from `cwd`, or from where
//! the request was made.

use std::ops::ControlFlow;

use pitcrew_core::board::Filter;
use pitcrew_core::claim::{FileLines, FilePath, Lines, Mode, Outcome, Patience, TTL_MS};
use pitcrew_core::limiter::{Report, ReservationId, input};
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_runtime::desk::{ClaimTurn, ClaimWish, Credentials, Finding, Spending};
use serde_json::{Value, json};

use super::{Answer, Call};
use crate::commands::limits::{acquire, settle, status};
use crate::commands::{claims, discover, discoveries, release};
use crate::context::OpenTeam;
use crate::halt::{Exit, Halt};
use crate::prices::estimate;

/// The longest that one request waits for lines, in milliseconds.
const LONGEST_WAIT_MS: i64 = 600_000;

fn done(value: Value) -> Result<Answer, Halt> {
    Ok(Answer::Object(value, Exit::Done))
}

impl Call<'_, '_> {
    /// Who the request speaks as, under `field`.
    fn speaks_as(&self, team: &OpenTeam, field: &str) -> Result<Credentials, Refusal> {
        Ok(Credentials {
            claimed: Some(self.required(field)?.to_string()),
            ..self.context.credentials(&team.name)
        })
    }

    /// The member that the request is about.
    fn member(&self, team: &OpenTeam) -> Result<Name, Halt> {
        let desk = team.desk();
        let who = self.speaks_as(team, "worker")?;
        Ok(desk.speaker(&desk.roster()?, &who)?.name)
    }

    fn named_file(&mut self, given: &str) -> Result<FilePath, Halt> {
        let start = self.optional("cwd")?.map(str::to_string);
        self.context.file(given, start.as_deref())
    }

    fn text_of(&mut self, file: &FilePath) -> Result<Option<FileLines>, Halt> {
        let start = self.optional("cwd")?.map(str::to_string);
        self.context.file_lines(file, start.as_deref())
    }

    fn path_in(&mut self, field: &str) -> Result<Option<FilePath>, Halt> {
        match self.optional(field)?.map(str::to_string) {
            Some(given) => self.named_file(&given).map(Some),
            None => Ok(None),
        }
    }

    fn given(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }

    fn lines(&self) -> Result<Lines, Refusal> {
        Lines::from_json(self.given("start_line"), self.given("end_line"))
    }

    fn reservation(&self) -> Result<Option<ReservationId>, Refusal> {
        match self.given("reservation") {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(id) => Ok(Some(ReservationId(id))),
                None => Err(Refusal::input("reservation", "must be a whole number")),
            },
        }
    }

    fn task(&self) -> Result<Option<TaskId>, Refusal> {
        match self.given("task_id") {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.task_id().map(Some),
        }
    }
}

/// `claim-region`
pub(super) fn claim_region(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let given = call.required("file")?.to_string();
    let lines = call.lines()?;
    let ttl_ms = call.span("ttl_ms")?.map_or(TTL_MS, i64::unsigned_abs);
    let wait = call.span("wait_ms")?;
    if wait.is_some_and(|ms| ms > LONGEST_WAIT_MS) {
        return Err(Refusal::input("wait_ms", "must be at most ten minutes").into());
    }
    let mode = match call.flag("extend")? {
        true => Mode::Extend,
        false => Mode::Replace,
    };
    let team = call.open_known()?;
    let desk = team.desk();
    let file = call.named_file(&given)?;
    let mut wish = ClaimWish {
        text: call.text_of(&file)?,
        file,
        lines,
        ttl_ms,
        mode,
        patience: wait.map_or(Patience::None, |ms| {
            Patience::Until(desk.now().plus_millis(ms))
        }),
    };
    let who = call.speaks_as(&team, "worker")?;
    let ticket = match desk.claim_lines(&who, &wish)?.outcome {
        Outcome::Held { claim } => {
            return done(json!({ "ok": true, "claim": claims::shown(&claim) }));
        }
        Outcome::Waiting { waiting, .. } => waiting.ticket,
    };
    if let ClaimTurn::Held(claim) = desk.await_claim(ticket)? {
        return done(json!({ "ok": true, "claim": claims::shown(&claim) }));
    }
    // The time is over, or the lines came in another way.
    wish.patience = Patience::None;
    wish.text = call.text_of(&wish.file)?;
    match desk.claim_lines(&who, &wish)?.outcome {
        Outcome::Held { claim } => done(json!({ "ok": true, "claim": claims::shown(&claim) })),
        Outcome::Waiting { behind, .. } => Err(Refusal::ClaimConflict(behind.into()).into()),
    }
}

/// `release-region`
pub(super) fn release_region(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let given = call.required("file")?.to_string();
    let part = match (call.given("start_line"), call.given("end_line")) {
        (None | Some(Value::Null), None | Some(Value::Null)) => None,
        _ => Some(call.lines()?),
    };
    let team = call.open_known()?;
    let file = call.named_file(&given)?;
    let member = call.member(&team)?;
    let text = call.text_of(&file)?;
    let desk = team.desk();
    let events = desk.release_lines_on(&member, &file, part, text.as_ref())?;
    done(release::answer(&events))
}

/// `list-claims`
pub(super) fn list_claims(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let team = call.open_known()?;
    let file = call.path_in("file")?;
    let desk = team.desk();
    let (held, now) = (desk.claims()?, desk.now());
    let start = call.optional("cwd")?.map(str::to_string);
    let listed = claims::Listed::of(call.context, &held, file.as_ref(), start.as_deref(), now)?;
    done(listed.answer())
}

/// `share-discovery`
pub(super) fn share_discovery(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let mut finding = Finding {
        topic: call.required("topic")?.to_string(),
        content: call.required("content")?.to_string(),
        paths: Vec::new(),
        ttl_ms: call.span("ttl_ms")?.map(i64::unsigned_abs),
    };
    let wrong = || Refusal::input("paths", "must be a list of strings");
    let given: Vec<String> = match call.given("paths") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(paths)) => {
            let texts = paths.iter().map(|path| path.as_str().map(str::to_string));
            texts.collect::<Option<_>>().ok_or_else(wrong)?
        }
        Some(_) => return Err(wrong().into()),
    };
    let team = call.open_known()?;
    for path in &given {
        finding.paths.push(call.named_file(path)?);
    }
    let who = call.speaks_as(&team, "from")?;
    done(discover::answer(&team.desk().share(&who, &finding)?))
}

/// `read-discoveries`
pub(super) fn read_discoveries(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let team = call.open_known()?;
    let desk = team.desk();
    if call.flag("new_only")? {
        let member = call.member(&team)?;
        let news = desk.new_discoveries(&member, discoveries::AT_ONCE)?;
        let layout = call.layout;
        call.context
            .ui
            .json(&discoveries::news_answer(&news), layout);
        discoveries::hand_over(call.context, &desk, &member, &news)?;
        return Ok(Answer::Written(Exit::Done));
    }
    let since = call.optional("since")?;
    let since = since.map(|since| discoveries::instant(since, desk.now()));
    let filter = Filter {
        since: since.transpose()?,
        topic: call.optional("topic")?.map(str::to_string),
        path: call.path_in("path")?,
    };
    let mut found = Vec::new();
    let damaged = desk.discoveries(&filter, &mut |discovery| {
        found.push(json!(discovery));
        ControlFlow::Continue(())
    })?;
    done(discoveries::answer(found, damaged))
}

/// `limit-acquire`
pub(super) fn limit_acquire(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let tokens = input::tokens("tokens", call.given("tokens"))?;
    let cost = input::dollars("cost", call.given("cost"))?;
    let task = call.task()?;
    let team = call.open_known()?;
    let member = call.member(&team)?;
    let model = call.optional("model")?.map(str::to_string);
    let model = model.as_deref();
    let cost = estimate(call.context, &team, model, tokens, cost)?;
    let admission = team.desk().acquire(&Spending {
        member: &member,
        tokens,
        cost,
        task: task.as_ref(),
        model,
    })?;
    done(acquire::answer(&admission))
}

/// `limit-record`
pub(super) fn limit_record(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let tokens = input::tokens("tokens", call.given("tokens"))?;
    let cost = input::dollars("cost", call.given("cost"))?;
    let (task, reservation) = (call.task()?, call.reservation()?);
    let team = call.open_known()?;
    let member = call.member(&team)?;
    let recorded = team.desk().record(&Report {
        member: &member,
        reservation,
        tokens,
        cost,
        task: task.as_ref(),
        model: call.optional("model")?,
    })?;
    done(settle::answer(&recorded))
}

/// `limit-release`
pub(super) fn limit_release(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let reservation = call.reservation()?;
    let missing = || Refusal::input("reservation", "is missing");
    let id = reservation.ok_or_else(missing)?;
    let team = call.open_known()?;
    let member = call.member(&team)?;
    let events = team.desk().release_reservation(id, &member)?;
    done(json!({ "ok": true, "reservation": id, "events": events }))
}

/// `limit-status`
pub(super) fn limit_status(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let team = call.open_known()?;
    let desk = team.desk();
    done(status::answer(&desk.limiter()?, desk.now()))
}
