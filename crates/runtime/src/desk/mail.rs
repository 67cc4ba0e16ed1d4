//! Taking and acknowledging mail.
//!
//! An acknowledgement is durable before it counts. Taking a message leases it to one reader; only acknowledging closes
//! it. A message that was taken
//! as often as the team allows and never acknowledged goes to the dead letters, and its sender is told first.

use pitcrew_core::event::Fact as Happening;
use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::{
    self, Draft, Fact, Intent, Line, Message, MessageKey, OpenMessage, Receipt, read_record,
};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::{Name, Refusal};
use pitcrew_store::documents::Offset;
use pitcrew_store::{Log, StoreExt};
use serde::Serialize;

use super::{Desk, MailIndex, NotDone};

/// How many dead letters and misfits one taking deals with, at the most.
const ROUNDS: usize = 64;

/// What the keys of notices about dead letters begin with.
pub(super) const DEAD_LETTER: &str = "dead-letter:";

/// A message that a reader holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The message.
    pub message: Message,
    /// Which delivery this is, from 1.
    pub attempt: u32,
}

pub(super) fn line_of(record: &impl Serialize) -> Result<Vec<u8>, NotDone> {
    // Records are made of text and numbers, which JSON always takes.
    serde_json::to_vec(record)
        .map_err(|refused| Refusal::input("body", &refused.to_string()).into())
}

/// As [`line_of`], with its body exactly.
pub(super) fn message_line(message: &Message) -> Result<Vec<u8>, NotDone> {
    message
        .line()
        .map_err(|refused| Refusal::input("body", &refused.to_string()).into())
}

impl Desk<'_> {
    /// Gives the oldest message that no reader holds to `reader`, which holds it for `lease_ms`. A message whose
    /// deliveries are used up goes to the dead letters instead.
    ///
    /// # Errors
    /// When the mailbox cannot be read or the hold cannot be kept; then nobody holds the message.
    pub fn take(
        &self,
        owner: &Name,
        reader: &str,
        lease_ms: i64,
    ) -> Result<Option<Taken>, NotDone> {
        let team = self.roster()?;
        for _ in 0..ROUNDS {
            let now = self.now();
            let until = now.plus_millis(lease_ms.max(0));
            let (open, exhausted) = self.with_index(owner, |index| {
                let exhausted: Vec<_> = index
                    .unread
                    .exhausted(team.max_attempts(), now)
                    .cloned()
                    .collect();
                let open = if exhausted.is_empty() {
                    index.unread.lease(reader, now, until)
                } else {
                    None
                };
                Ok((open, exhausted))
            })?;
            for given_up in &exhausted {
                match self.open_message(owner, given_up)? {
                    Some(message) => self.bury(&team, owner, &message, given_up.attempts)?,
                    None => self.forget_index(owner)?,
                }
            }
            match open {
                Some(open) => match self.open_message(owner, &open)? {
                    Some(message) => {
                        return Ok(Some(Taken {
                            message,
                            attempt: open.attempts,
                        }));
                    }
                    None => self.forget_index(owner)?,
                },
                None if exhausted.is_empty() => return Ok(None),
                None => self.refresh_index(owner),
            }
        }
        Ok(None)
    }

    /// The message that the index says is open, if the log says so too.
    fn open_message(&self, owner: &Name, open: &OpenMessage) -> Result<Option<Message>, NotDone> {
        let message = self.message_at(owner, open.at)?;
        Ok(message.filter(|message| MessageKey::of(&message.id) == open.key))
    }

    /// Drops an index that does not fit its log; the log is read again.
    fn forget_index(&self, owner: &Name) -> Result<(), NotDone> {
        let forgotten = self.store.update::<MailIndex, (), Refusal>(owner, |slot| {
            *slot = None;
            Ok(())
        })?;
        Ok(forgotten?)
    }

    pub(super) fn message_at(&self, owner: &Name, at: u64) -> Result<Option<Message>, NotDone> {
        let page = self.store.read(&Log::Mailbox(owner.clone()), at, 1)?;
        let line = page.lines().next().filter(|line| line.at == at);
        Ok(match line.map(|line| read_record(line.bytes)) {
            Some(Ok(Line::Message(message, _))) => Some(message),
            _ => None,
        })
    }

    /// Tells the sender, then gives the message up. A crash in between tells the sender once more under the same key.
    fn bury(
        &self,
        team: &Team,
        owner: &Name,
        message: &Message,
        attempts: u32,
    ) -> Result<(), NotDone> {
        // Nobody is told that a notice of this kind was not read: that would go on for ever.
        if !message
            .idempotency_key
            .as_deref()
            .is_some_and(|key| key.starts_with(DEAD_LETTER))
        {
            self.tell_sender(team, owner, message, attempts)?;
        }
        let detail = format!("delivered {attempts} times and never acknowledged");
        let fact = Receipt::noted(&message.id, Fact::DeadLettered, self.now(), Some(detail));
        self.store
            .append(&Log::Mailbox(owner.clone()), &[&line_of(&fact)?])?;
        self.announce(&[Happening::MessageDeadLettered {
            member: owner.clone(),
            id: message.id.clone(),
            from: Name::new(NameKind::Member, &message.from).ok(),
            attempts,
        }]);
        self.note_given_up(&message.id);
        Ok(())
    }

    fn tell_sender(
        &self,
        team: &Team,
        owner: &Name,
        message: &Message,
        attempts: u32,
    ) -> Result<(), NotDone> {
        let notice = Draft {
            body: format!(
                "Your message {} to {owner} was delivered {attempts} times and never acknowledged. It is on the \
                 dead-letter list of {owner} now and can be put back from there.",
                message.id
            ).into(),
            intent: Some(Intent::Inform),
            reply_to: Some(message.id.clone()),
            idempotency_key: Some(format!("dead-letter:{}:{}", message.id, message.redelivery)),
        };
        let speaker = Speaker {
            name: owner.clone(),
            verified: false,
        };
        match self.send_as(team, &speaker, &message.from, &notice) {
            // A sender that has left cannot be told.
            Ok(_) | Err(NotDone::Refused(_)) => {}
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    /// Acknowledges messages of `owner`: all of them or, when one does not exist, none. Acknowledging again is fine.
    ///
    /// # Errors
    /// `message_not_found` for the first id that the mailbox does not hold.
    pub fn acknowledge(&self, owner: &Name, ids: &[&str]) -> Result<(), NotDone> {
        let mut index = self.kept_index(owner)?;
        self.catch_up(owner, &mut index)?;
        let mut open: Vec<&str> = Vec::with_capacity(ids.len());
        for id in ids {
            if !index.unread.holds(MessageKey::of(id)) {
                let found =
                    self.find_message(owner, id)?
                        .ok_or_else(|| Refusal::MessageNotFound {
                            id: (*id).to_string(),
                            mailbox: owner.to_string(),
                        })?;
                if found.delivered_at.is_some() {
                    continue;
                }
            }
            open.push(id);
        }
        self.acknowledge_listed(owner, &open)
    }

    /// Acknowledges one message of `owner` as the reference does: again is one more receipt, and the last one counts.
    ///
    /// # Errors
    /// `message_not_found`.
    pub fn mark_delivered(&self, owner: &Name, id: &str) -> Result<(), NotDone> {
        let mut index = self.kept_index(owner)?;
        self.catch_up(owner, &mut index)?;
        let is_there = index.unread.holds(MessageKey::of(id));
        if !is_there && self.find_message(owner, id)?.is_none() {
            let (id, mailbox) = (id.to_string(), owner.to_string());
            return Err(Refusal::MessageNotFound { id, mailbox }.into());
        }
        self.acknowledge_listed(owner, &[id])
    }

    /// Moves the reference's read cursor to where everything before is used. It never moves back, and nothing of ours
    /// reads it as the truth, so a failure to move it is nobody's failure.
    fn move_offset(&self, owner: &Name) {
        let Ok(index) = self.kept_index(owner) else {
            return;
        };
        let used = index
            .unread
            .open()
            .next()
            .map_or(index.unread.scanned(), |open| open.at);
        let _ = self.store.update::<Offset, (), Refusal>(owner, |slot| {
            let before = slot.take().unwrap_or_default().bytes_read;
            *slot = Some(Offset {
                bytes_read: used.max(before),
            });
            Ok(())
        });
    }

    /// Acknowledges messages that were just listed as unread in `owner`'s mailbox, without looking for them again.
    ///
    /// # Errors
    /// When the receipts cannot be kept; then none counts.
    pub fn acknowledge_listed(&self, owner: &Name, ids: &[&str]) -> Result<(), NotDone> {
        let mut receipts = Vec::with_capacity(ids.len());
        for id in ids {
            receipts.push(line_of(&Receipt::delivered(id, self.now()))?);
        }
        if receipts.is_empty() {
            // Who acknowledges nothing has still seen what there was to report.
            self.forget_cut(owner)?;
        } else {
            let lines: Vec<&[u8]> = receipts.iter().map(Vec::as_slice).collect();
            self.store.append(&Log::Mailbox(owner.clone()), &lines)?;
            self.announce(&[Happening::MessagesAcknowledged {
                member: owner.clone(),
                ids: ids.iter().map(ToString::to_string).collect(),
            }]);
            // As with every refreshing, the receipts are what counts, and they are durable.
            let _ = self.with_index(owner, |index| {
                index.cut = None;
                Ok(())
            });
            self.move_offset(owner);
        }
        Ok(())
    }

    /// Drops the note that the log was cut, once its reader was told.
    fn forget_cut(&self, owner: &Name) -> Result<(), NotDone> {
        if self.kept_index(owner)?.cut.is_none() {
            return Ok(());
        }
        self.with_index(owner, |index| {
            index.cut = None;
            Ok(())
        })
    }

    /// Ends a reader's hold on a message without acknowledging it: the next reader gets it at once. With `attempt`,
    /// the number of the delivery, only the hold of that delivery ends, so that a late reader ends nobody else's.
    ///
    /// # Errors
    /// `message_not_found` when no open message of `owner` has that id.
    pub fn give_back(&self, owner: &Name, id: &str, attempt: Option<u32>) -> Result<(), NotDone> {
        let key = MessageKey::of(id);
        self.with_index(owner, |index| {
            let is_open = match attempt {
                // A hold that is another's by now is left alone, which is what the late reader wants too.
                Some(attempt) => {
                    index.unread.give_back_attempt(key, attempt) || index.unread.holds(key)
                }
                None => index.unread.give_back(key),
            };
            if is_open {
                return Ok(());
            }
            Err(Refusal::MessageNotFound {
                id: id.to_string(),
                mailbox: owner.to_string(),
            }
            .into())
        })
    }

    /// Puts a message from the dead letters back, to be delivered again as often as the team allows.
    ///
    /// # Errors
    /// `message_not_found`, or `not_dead_lettered` when it was not given up.
    pub fn redeliver(&self, owner: &Name, id: &str) -> Result<(), NotDone> {
        self.with_index(owner, |_| {
            let not_found = || Refusal::MessageNotFound {
                id: id.to_string(),
                mailbox: owner.to_string(),
            };
            let entry = self.find_message(owner, id)?.ok_or_else(not_found)?;
            if !entry.dead {
                return Err(Refusal::NotDeadLettered { id: id.to_string() }.into());
            }
            let line = message_line(&mailbox::redelivered(&entry.message))?;
            self.store.append(&Log::Mailbox(owner.clone()), &[&line])?;
            Ok(())
        })?;
        self.announce(&[Happening::MessageRedelivered {
            member: owner.clone(),
            id: id.to_string(),
        }]);
        self.refresh_index(owner);
        Ok(())
    }
}
