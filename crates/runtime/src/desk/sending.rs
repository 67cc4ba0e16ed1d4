//! Sending: to one, to all, and what no member says.
//!
//! A message is in its recipient's log before its id is given out. One mailbox that cannot be written keeps no other
//! from its message. Nothing is sent twice under one idempotency key.

use pitcrew_core::event::Fact as Happening;
use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::{Draft, Line, Message, compose, compose_broadcast, read_record};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::{Name, Refusal};
use pitcrew_store::Log;

use super::index::each_line;
use super::mail::{line_of, message_line};
use super::{Credentials, Desk, NotDone};

/// A message that stands in its recipient's mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// Whose mailbox.
    pub to: Name,
    /// Whether it stood there before, under the same idempotency key.
    pub again: bool,
    /// After how many turns without progress it was damped, so that it wakes nobody; `None` is as usual.
    pub damped: Option<u32>,
}

/// What came of a broadcast, recipient by recipient.
#[derive(Debug)]
pub struct Broadcast {
    /// Each recipient with its message, or with why it has none.
    pub outcomes: Vec<(Name, Result<Sent, NotDone>)>,
}

impl Desk<'_> {
    /// Sends a message.
    ///
    /// # Errors
    /// As [`Desk::speaker`] and [`compose`] say; a failure means that nothing was sent.
    pub fn send(&self, who: &Credentials, to: &str, draft: &Draft) -> Result<Sent, NotDone> {
        let team = self.roster()?;
        let speaker = self.speaker(&team, who)?;
        self.send_as(&team, &speaker, to, draft)
    }

    /// Sends a message of a speaker that is known already.
    ///
    /// # Errors
    /// As [`compose`] says; a failure means that nothing was sent.
    pub fn send_as(
        &self,
        team: &Team,
        speaker: &Speaker,
        to: &str,
        draft: &Draft,
    ) -> Result<Sent, NotDone> {
        let message = compose(team, speaker, to, draft, self.fresh_id()?, self.now())?;
        let mut judged = self.judge(vec![message])?;
        let Some(judged) = judged.pop() else {
            return Err(Refusal::input("body", "must be one message").into());
        };
        let message = &judged.message;
        let sent = self.post(message)?;
        if sent.again {
            return Ok(sent);
        }
        let mut facts = vec![Happening::MessageSent {
            id: sent.id.clone(),
            from: speaker.name.clone(),
            to: sent.to.clone(),
            length: message.body.len() as u64,
            intent: message.intent,
            reply_to: message.reply_to.clone(),
        }];
        facts.extend(self.note_sent(team, &[&judged]));
        self.announce(&facts);
        Ok(Sent {
            damped: judged.damped(),
            ..sent
        })
    }

    /// Sends a message to every member but the sender, and to the leader. One mailbox that cannot be written keeps
    /// no other from its message.
    ///
    /// # Errors
    /// As [`Desk::speaker`] and [`compose_broadcast`] say; then nothing was sent.
    pub fn broadcast(&self, who: &Credentials, draft: &Draft) -> Result<Broadcast, NotDone> {
        let team = self.roster()?;
        let speaker = self.speaker(&team, who)?;
        self.broadcast_as(&team, &speaker, draft)
    }

    /// As [`Desk::broadcast`], of a speaker that is known already.
    ///
    /// # Errors
    /// As [`compose_broadcast`] says; then nothing was sent.
    pub fn broadcast_as(
        &self,
        team: &Team,
        speaker: &Speaker,
        draft: &Draft,
    ) -> Result<Broadcast, NotDone> {
        let mut ids = Vec::new();
        for _ in 0..=team.workers.len() {
            ids.push(self.fresh_id()?);
        }
        let next_id = || ids.pop().unwrap_or_default();
        let messages = compose_broadcast(team, speaker, draft, next_id, self.now())?;
        let judged = self.judge(messages)?;
        let mut outcomes = Vec::with_capacity(judged.len());
        let (mut recipients, mut ids, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for one in &judged {
            let sent = self.post(&one.message).map(|sent| Sent {
                damped: one.damped().filter(|_| !sent.again),
                ..sent
            });
            if let Ok(sent) = &sent
                && !sent.again
            {
                recipients.push(sent.to.clone());
                ids.push(sent.id.clone());
                new.push(one);
            }
            outcomes.push((Name::new(NameKind::Recipient, &one.message.to)?, sent));
        }
        if !ids.is_empty() {
            let mut facts = vec![Happening::BroadcastSent {
                from: speaker.name.clone(),
                recipients,
                ids,
                length: draft.body.len() as u64,
                intent: draft.intent,
            }];
            facts.extend(self.note_sent(team, &new));
            self.announce(&facts);
        }
        Ok(Broadcast { outcomes })
    }

    /// Tells somebody something that no member says: `from` is whose doing it follows from.
    pub(super) fn inform(
        &self,
        team: &Team,
        from: &Name,
        to: &str,
        notice: &Draft,
    ) -> Result<(), NotDone> {
        let speaker = Speaker {
            name: from.clone(),
            verified: false,
        };
        self.send_as(team, &speaker, to, notice)?;
        Ok(())
    }

    fn post(&self, message: &Message) -> Result<Sent, NotDone> {
        let to = Name::new(NameKind::Recipient, &message.to)?;
        match &message.idempotency_key {
            None => self.append(&to, message),
            // The transaction on the index is what keeps two senders of one key apart. If it runs again, the search
            // finds what the first run appended.
            Some(key) => self.with_index(&to, |_| {
                match self.sent_before(&to, &message.from, key)? {
                    Some(id) => Ok(Sent {
                        id,
                        to: to.clone(),
                        again: true,
                        damped: None,
                    }),
                    None => self.append(&to, message),
                }
            }),
        }
    }

    fn append(&self, to: &Name, message: &Message) -> Result<Sent, NotDone> {
        let line = message_line(message)?;
        let at = self.store.append(&Log::Mailbox(to.clone()), &[&line])?;
        if message.idempotency_key.is_none() {
            self.refresh_index_now_and_then(to, at, line.len() as u64 + 1);
        }
        Ok(Sent {
            id: message.id.clone(),
            to: to.clone(),
            again: false,
            damped: None,
        })
    }

    /// The id of the message that `from` sent to `to` under `key`, if there is one.
    fn sent_before(&self, to: &Name, from: &str, key: &str) -> Result<Option<String>, NotDone> {
        let written = line_of(&key)?;
        let finder = memchr::memmem::Finder::new(&written);
        let mut found = None;
        each_line(self.store, &Log::Mailbox(to.clone()), 0, |line| {
            // The key as text stands in its line; reading the line settles whether it stands there as the key.
            if finder.find(line.bytes).is_some()
                && let Ok(Line::Message(message, _)) = read_record(line.bytes)
                && message.from == from
                && message.idempotency_key.as_deref() == Some(key)
            {
                found = Some(message.id);
                return std::ops::ControlFlow::Break(());
            }
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}
