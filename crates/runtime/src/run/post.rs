//! The mail of a member's turns: counted, shown, acknowledged or given back, answered.
//!
//! A message that a turn shows is leased to [`READER`], so that each showing counts and a message that no turn can
//! cope with becomes a dead letter in the end. Only a turn that came to something acknowledges what it showed.
//!
//! An agent's answer in a turn for mail goes to whoever wrote. The first answer wakes its reader; an answer to an
//! answer does not, so two agents do not talk for ever.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::{Draft, Intent, Message};
use pitcrew_core::{Name, Refusal};
use pitcrew_store::{Cursor, Log, Store};

use super::own;
use super::scheduler::{MailSeen, MailSettlement};
use crate::desk::{Desk, NotDone, Which};

/// Who holds a message while a turn shows it. One run drives a team, so one name is enough.
pub(super) const READER: &str = "pitcrew run";

/// The most messages that one turn shows. What is left comes in the next.
const MOST: usize = 50;

/// The most bytes of bodies that one turn shows, the last message not counted.
const MOST_BYTES: usize = 256 * 1024;

/// Whether a message asks for a turn.
fn wakes(message: &Message) -> bool {
    !matches!(message.intent, Some(Intent::Inform | Intent::Ack))
}

/// What is in a member's mailbox.
pub(super) fn seen(desk: &Desk<'_>, name: &Name) -> Result<MailSeen, NotDone> {
    let now = desk.now();
    let mut seen = MailSeen::default();
    desk.list_mail(name, Which::Unread, &mut |mail| {
        seen.unread += 1;
        let elsewhere = mail
            .lease
            .is_some_and(|lease| lease.reader != READER && lease.until > now);
        if wakes(&mail.message) && !elsewhere {
            let by_leader = mail.message.from == pitcrew_core::name::LEADER;
            seen.from_leader += u64::from(by_leader);
            seen.from_peers += u64::from(!by_leader);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(seen)
}

/// How many messages of a member were given up and not put back.
pub(super) fn dead_letters(desk: &Desk<'_>, name: &Name) -> Result<u64, NotDone> {
    let mut count = 0;
    desk.list_mail(name, Which::Dead, &mut |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

/// Takes the mail that a turn shows, for `lease_ms`: what was kept from a turn before and is still unread, then what
/// nobody holds.
pub(super) fn take(
    desk: &Desk<'_>,
    name: &Name,
    kept: Vec<Message>,
    lease_ms: i64,
) -> Result<Vec<Message>, NotDone> {
    let mut shown = Vec::new();
    if !kept.is_empty() {
        let mut unread = Vec::new();
        desk.list_mail(name, Which::Unread, &mut |mail| {
            unread.push(mail.message.id);
            Ok(ControlFlow::Continue(()))
        })?;
        shown = kept;
        shown.retain(|message| unread.contains(&message.id));
    }
    let mut bytes: usize = shown.iter().map(|message| message.body.len()).sum();
    while shown.len() < MOST && bytes < MOST_BYTES {
        let Some(taken) = desk.take(name, READER, lease_ms)? else {
            break;
        };
        let message = taken.message;
        if shown.iter().any(|known: &Message| known.id == message.id) {
            continue;
        }
        bytes += message.body.len();
        shown.push(message);
    }
    Ok(shown)
}

/// Does with the mail that a turn showed what the turn has earned it. Answers what is kept.
pub(super) fn settle(
    desk: &Desk<'_>,
    name: &Name,
    shown: Vec<Message>,
    settlement: MailSettlement,
) -> Result<Vec<Message>, NotDone> {
    match settlement {
        MailSettlement::Keep => return Ok(shown),
        MailSettlement::Acknowledge => {
            let ids: Vec<&str> = shown.iter().map(|message| message.id.as_str()).collect();
            desk.acknowledge(name, &ids)?;
        }
        MailSettlement::GiveBack => {
            for message in &shown {
                match desk.give_back(name, &message.id, None) {
                    // The member acknowledged it itself.
                    Ok(()) | Err(NotDone::Refused(Refusal::MessageNotFound { .. })) => {}
                    Err(failed) => return Err(failed),
                }
            }
        }
    }
    Ok(Vec::new())
}

/// Ends the holds on a member's mail that `ended` accepts, by the reader's name: those readers are no more.
pub(super) fn let_go(
    desk: &Desk<'_>,
    name: &Name,
    ended: impl Fn(&str) -> bool,
) -> Result<(), NotDone> {
    let mut held = Vec::new();
    desk.list_mail(name, Which::Unread, &mut |mail| {
        if mail.lease.is_some_and(|lease| ended(&lease.reader)) {
            held.push(mail.message.id);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    for id in held {
        match desk.give_back(name, &id, None) {
            // It was acknowledged in between.
            Ok(()) | Err(NotDone::Refused(Refusal::MessageNotFound { .. })) => {}
            Err(failed) => return Err(failed),
        }
    }
    Ok(())
}

/// Where the mailboxes of everybody who asked something in `shown` end now, so that it can be told later who was
/// answered meanwhile.
pub(super) fn askers(
    store: &dyn Store,
    desk: &Desk<'_>,
    shown: &[Message],
) -> Result<BTreeMap<Name, Cursor>, NotDone> {
    let team = desk.roster()?;
    let mut askers = BTreeMap::new();
    for message in shown.iter().filter(|message| wakes(message)) {
        // Whoever has left has no mailbox to be answered in.
        if let Ok(asker) = team.recipient(&message.from) {
            match store.append(&Log::Mailbox(asker.clone()), &[]) {
                Ok(end) => {
                    askers.insert(asker, end);
                }
                Err(failed) => own::unless_a_members(failed.into())?,
            }
        }
    }
    Ok(askers)
}

/// Sends what a member answered in a turn for mail to everybody who asked and was not answered by the member itself.
pub(super) fn reply(
    desk: &Desk<'_>,
    member: &Name,
    turn: &str,
    answer: &str,
    shown: &[Message],
    askers: &BTreeMap<Name, Cursor>,
) -> Result<(), NotDone> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Ok(());
    }
    let team = desk.roster()?;
    let speaker = Speaker {
        name: member.clone(),
        verified: true,
    };
    for (asker, end) in askers {
        if asker == member {
            continue;
        }
        match wrote_since(desk, member, asker, *end) {
            Ok(false) => {}
            Ok(true) => continue,
            Err(failed) => {
                own::unless_a_members(failed)?;
                continue;
            }
        }
        let from_asker = |message: &&Message| wakes(message) && message.from == asker.as_str();
        let Some(question) = shown.iter().rfind(from_asker) else {
            continue;
        };
        let draft = Draft {
            body: answer.into(),
            reply_to: Some(question.id.clone()),
            intent: question.reply_to.as_ref().map(|_| Intent::Inform),
            idempotency_key: Some(format!("answer:{turn}:{asker}")),
        };
        match desk.send_as(&team, &speaker, asker.as_str(), &draft) {
            // The asker has left, or the answer is longer than a message may be; it stands in the turn's output.
            Ok(_) | Err(NotDone::Refused(_)) => {}
            // An asker whose mailbox is broken is not answered; that is no fault of who answers.
            Err(failed) => own::unless_a_members(failed)?,
        }
    }
    Ok(())
}

fn wrote_since(desk: &Desk<'_>, member: &Name, to: &Name, from: Cursor) -> Result<bool, NotDone> {
    let mut wrote = false;
    desk.mail_since(to, from, &mut |message, _| {
        wrote |= message.from == member.as_str();
    })?;
    Ok(wrote)
}
