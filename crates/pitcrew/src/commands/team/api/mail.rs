//! The requests about mail.

use std::ops::ControlFlow;

use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::name::LEADER;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Refusal};
use pitcrew_runtime::desk::{Credentials, Which};
use serde_json::{Value, json};

use super::{Answer, Call};
use crate::commands::broadcast as broadcasting;
use crate::commands::inbox::{MessageStream, list_limited};
use crate::context::OpenTeam;
use crate::halt::{Exit, Halt};
use crate::panes;

fn done(value: Value) -> Result<Answer, Halt> {
    Ok(Answer::Object(value, Exit::Done))
}

impl Call<'_, '_> {
    fn draft(&self) -> Result<Draft, Refusal> {
        Ok(Draft {
            body: match (self.required("body")?, &self.exact_body) {
                (_, Some(exact)) => exact.clone(),
                (shown, None) => shown.into(),
            },
            reply_to: self.optional("reply_to")?.map(str::to_string),
            intent: self.optional("intent")?.map(Intent::parse).transpose()?,
            idempotency_key: self.optional("idempotency_key")?.map(str::to_string),
        })
    }

    /// The id of the message that is meant. Another program's message may have an empty one.
    fn message_id(&self) -> Result<&str, Refusal> {
        match self.fields.get("message_id") {
            Some(Value::String(id)) => Ok(id),
            _ => self.required("message_id"),
        }
    }

    fn from(&self, team: &OpenTeam) -> Result<Credentials, Refusal> {
        let from = self.required("from")?.to_string();
        Ok(Credentials {
            claimed: Some(from),
            ..self.context.credentials(&team.name)
        })
    }

    /// The owner of the mailbox that is meant.
    fn owner(&self) -> Result<Name, Refusal> {
        let given = self.optional("worker").ok().flatten().unwrap_or_default();
        Name::new(NameKind::Recipient, given)
    }

    /// The team and the owner of the mailbox, when whoever asks may change it: a member its own, others any that is there.
    fn own_mailbox(&mut self) -> Result<(OpenTeam, Name), Halt> {
        let owner = self.owner()?;
        let team = self.open()?;
        let roster = team.desk().roster()?;
        let who = self.context.credentials(&team.name);
        if who.token.is_some() {
            let proved = Credentials {
                token: who.token,
                claimed: Some(owner.to_string()),
            };
            team.desk().speaker(&roster, &proved)?;
        }
        // Mail of a member that has left can still be used. Whoever never had any is a stranger.
        if let Err(unknown) = roster.worker(owner.as_str()) {
            let mut any = false;
            team.desk().list_mail(&owner, Which::All, &mut |_| {
                any = true;
                Ok(ControlFlow::Break(()))
            })?;
            if !any {
                return Err(unknown.into());
            }
        }
        Ok((team, owner))
    }
}

/// `send-message`
pub(super) fn send(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let to = call
        .optional("to")
        .ok()
        .flatten()
        .unwrap_or_default()
        .to_string();
    if let Err(refused) = Name::new(NameKind::Recipient, &to) {
        // Whom it could have meant is said where the team is there to say it.
        let roster = call.open().and_then(|team| Ok(team.desk().roster()?));
        return Err(roster
            .ok()
            .and_then(|roster| roster.recipient(&to).err())
            .unwrap_or(refused)
            .into());
    }
    let draft = call.draft()?;
    call.required("from")?;
    let team = call.open()?;
    let sent = team.desk().send(&call.from(&team)?, &to, &draft)?;
    let wakened = panes::wake_one(call.context, &team, &sent, &draft);
    let mut answer = json!({ "ok": true, "messageId": sent.id, "nudged": wakened.is_woken() });
    panes::tell(&wakened, &mut answer);
    done(answer)
}

/// `broadcast`
pub(super) fn broadcast(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let team = call.open()?;
    let is_nothing = match call.fields.get("body") {
        None | Some(Value::Null) => true,
        Some(Value::String(body)) => body.is_empty(),
        Some(_) => false,
    };
    if is_nothing {
        return broadcast_of_nothing(call, &team);
    }
    let draft = call.draft()?;
    let outcome = team.desk().broadcast(&call.from(&team)?, &draft)?;
    let exit = if broadcasting::exit(&outcome) == Exit::Done {
        Exit::Done
    } else {
        Exit::Refused
    };
    let woken = broadcasting::wake_all(call.context, &team, &outcome, &draft);
    Ok(Answer::Object(broadcasting::answer(&outcome, &woken), exit))
}

/// A broadcast without a body, which the reference answers for each recipient: `ok`, and nobody got it.
fn broadcast_of_nothing(call: &Call<'_, '_>, team: &OpenTeam) -> Result<Answer, Halt> {
    let desk = team.desk();
    let roster = desk.roster()?;
    let speaker = desk.speaker(&roster, &call.from(team)?)?;
    let members = roster.workers.iter().map(|member| member.name.as_str());
    let errors: Vec<String> = members
        .chain(std::iter::once(LEADER))
        .filter(|name| *name != speaker.name.as_str())
        .map(|name| format!("{name}: invalid_input"))
        .collect();
    done(json!({ "ok": true, "recipients": [], "messageIds": [], "errors": errors }))
}

/// `mailbox-list`
pub(super) fn list(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let owner = call.owner()?;
    let which = if call.flag("undelivered_only")? {
        Which::Unread
    } else {
        Which::All
    };
    // A mailbox or a team that does not exist is an empty list, as the reference has it.
    let team = call.open()?;
    let mut stream = MessageStream::new(call.context.ui, call.layout);
    let listed = list_limited(&team.desk(), &owner, which, u64::MAX, &mut |mail| {
        stream.message(&mail)
    });
    match stream.end(listed.map_err(Halt::from))? {
        Exit::Done => Ok(Answer::Written(Exit::Done)),
        _ => Ok(Answer::Written(Exit::Refused)),
    }
}

/// `mailbox-mark-delivered`
pub(super) fn mark_delivered(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let (team, owner) = call.own_mailbox()?;
    // Again is a second receipt, as the reference writes it.
    team.desk().mark_delivered(&owner, call.message_id()?)?;
    done(json!({ "ok": true }))
}

/// `mailbox-next`
pub(super) fn next(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    const HOLD_MS: i64 = 300_000;
    let (team, owner) = call.own_mailbox()?;
    let hold = call.span("hold_ms")?.unwrap_or(HOLD_MS);
    call.context.ui.expect_a_reader()?;
    let Some(taken) = team.desk().take(&owner, owner.as_str(), hold)? else {
        return done(json!({ "ok": true, "message": null }));
    };
    let answer = json!({ "ok": true, "message": taken.message, "attempt": taken.attempt });
    call.context.ui.json(&answer, call.layout);
    call.context.ui.flush();
    if call.context.ui.is_open() {
        return Ok(Answer::Written(Exit::Done));
    }
    // Nobody got it, so nobody holds it.
    team.desk()
        .give_back(&owner, &taken.message.id, Some(taken.attempt))?;
    Ok(Answer::Written(Exit::Refused))
}

/// `mailbox-give-back`
pub(super) fn give_back(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let (team, owner) = call.own_mailbox()?;
    team.desk()
        .give_back(&owner, call.required("message_id")?, call.count("attempt")?)?;
    done(json!({ "ok": true }))
}

/// `mailbox-redeliver`
pub(super) fn redeliver(call: &mut Call<'_, '_>) -> Result<Answer, Halt> {
    let (team, owner) = call.own_mailbox()?;
    team.desk()
        .redeliver(&owner, call.required("message_id")?)?;
    done(json!({ "ok": true }))
}
