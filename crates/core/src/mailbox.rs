//! The mailbox: an append-only log per recipient, and the facts about its messages.
//!
//! | record | what it says |
//! |---|---|
//! | message | somebody wrote to this mailbox |
//! | delivery-receipt | the reader has used the message (acknowledged it); the last one counts |
//! | receipt | any other fact: dead-lettered, shown, notified, … |
//!
//! Always holds: listing consumes nothing; only an acknowledgement or a dead letter closes a message; a message is
//! written to nobody's mailbox but its recipient's; order is first-in first-out per sender because the log is.
//! Reading files, locking and waking are not here. Reading one line is in `mailbox/record.rs`, what is open in
//! `mailbox/unread.rs`, and listing everything in `mailbox/listing.rs`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::identity::Speaker;
use crate::name::Name;
use crate::refusal::Refusal;
use crate::roster::Team;
use crate::time::Timestamp;

mod body;
mod key;
mod listing;
mod record;
mod unread;

pub use body::Body;
pub use key::MessageKey;
pub use listing::{Listed, Listing, WINDOW};
pub use record::{Damage, Head, Line, read_head, read_record};
pub use unread::{Lease, Mark, OPEN_CAP, OpenMessage, Unread};

/// The largest body unless the team says otherwise, in bytes.
pub const MAX_BODY: u64 = 1024 * 1024;

/// The longest idempotency key or id of an answered message, in bytes.
pub const MAX_KEY: usize = 200;

/// Failed deliveries after which a message is dead-lettered unless the team says otherwise.
pub const MAX_ATTEMPTS: u32 = 5;

/// What the sender expects to come of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// An answer or an action is wanted.
    Request,
    /// For information; never wakes a model by itself.
    Inform,
    /// An acknowledgement; never wakes a model by itself.
    Ack,
}

impl Intent {
    /// Reads the word used on the command line and in files.
    ///
    /// # Errors
    /// `invalid_input` for any other word.
    pub fn parse(word: &str) -> Result<Self, Refusal> {
        match word {
            "request" => Ok(Self::Request),
            "inform" => Ok(Self::Inform),
            "ack" => Ok(Self::Ack),
            _ => Err(Refusal::input("intent", "must be request, inform or ack")),
        }
    }
}

/// One message, in the reference's key order; keys that it does not have stand at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "message")]
pub struct Message {
    /// Unique in its mailbox; the same at every redelivery.
    pub id: String,
    /// A member or `leader`. Free text when another program wrote it.
    pub from: String,
    /// The owner of the mailbox.
    pub to: String,
    /// The text, byte for byte.
    pub body: Body,
    /// When it was sent, as written by its sender.
    pub timestamp: String,
    /// The message that this one answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// What the sender expects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The sender's own key; a second message with it is the first one again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Whether the sender proved itself by token. `None` when another program wrote the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// 1 and up for copies that were put back after a dead letter.
    #[serde(skip_serializing_if = "is_zero")]
    pub redelivery: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A fact about a message other than its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Its recipient was told that mail waits.
    Notified,
    /// The wake was taken by the recipient's program.
    Submitted,
    /// The recipient has seen the text.
    Shown,
    /// Given up after too many failed deliveries.
    DeadLettered,
}

/// A receipt as it is kept in the mailbox beside the messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
pub enum Receipt {
    /// The reader has used the message.
    #[serde(rename = "delivery-receipt", rename_all = "camelCase")]
    Delivered {
        /// The message.
        message_id: String,
        /// When it was acknowledged.
        delivered_at: String,
    },
    /// Any other fact.
    #[serde(rename = "receipt", rename_all = "camelCase")]
    Noted {
        /// The message.
        message_id: String,
        /// What happened to it.
        fact: Fact,
        /// When.
        at: String,
        /// What a person should know about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
}

impl Fact {
    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Notified => "notified",
            Self::Submitted => "submitted",
            Self::Shown => "shown",
            Self::DeadLettered => "dead_lettered",
        }
    }

    /// Reads the word in files; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Notified,
            Self::Submitted,
            Self::Shown,
            Self::DeadLettered,
        ]
        .into_iter()
        .find(|fact| fact.word() == word)
    }
}

impl Receipt {
    /// The acknowledgement of `message_id` at `now`.
    #[must_use]
    pub fn delivered(message_id: &str, now: Timestamp) -> Self {
        Self::Delivered {
            message_id: message_id.to_string(),
            delivered_at: now.to_string(),
        }
    }

    /// Another fact about `message_id` at `now`.
    #[must_use]
    pub fn noted(message_id: &str, fact: Fact, now: Timestamp, detail: Option<String>) -> Self {
        Self::Noted {
            message_id: message_id.to_string(),
            fact,
            at: now.to_string(),
            detail,
        }
    }
}

/// What a sender gives: everything but the id and the time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// The text, 1 byte up to the team's limit.
    pub body: Body,
    /// The message that this one answers.
    pub reply_to: Option<String>,
    /// What the sender expects.
    pub intent: Option<Intent>,
    /// The sender's own key against doubles.
    pub idempotency_key: Option<String>,
}

impl Draft {
    /// A draft of nothing but text.
    #[must_use]
    pub fn text(body: impl Into<Body>) -> Self {
        Self {
            body: body.into(),
            ..Self::default()
        }
    }

    fn check(&self, team: &Team) -> Result<(), Refusal> {
        let (size, limit) = (self.body.len() as u64, team.max_body());
        if self.body.is_empty() {
            return Err(Refusal::input("body", "must not be empty"));
        }
        if size > limit {
            return Err(Refusal::BodyTooLarge { size, limit });
        }
        let keys = [
            ("reply_to", &self.reply_to),
            ("idempotency_key", &self.idempotency_key),
        ];
        for (field, key) in keys {
            if key
                .as_ref()
                .is_some_and(|key| key.is_empty() || key.len() > MAX_KEY)
            {
                return Err(Refusal::input(field, "must have 1 to 200 bytes"));
            }
        }
        Ok(())
    }

    fn addressed(&self, speaker: &Speaker, to: &Name, id: String, now: Timestamp) -> Message {
        Message {
            id,
            from: speaker.name.to_string(),
            to: to.to_string(),
            body: self.body.clone(),
            timestamp: now.to_string(),
            reply_to: self.reply_to.clone(),
            intent: self.intent,
            idempotency_key: self.idempotency_key.clone(),
            verified: Some(speaker.verified),
            redelivery: 0,
        }
    }
}

/// Decides a message from `speaker` to `to`.
///
/// # Errors
/// `invalid_name` for `to`, `invalid_input` or `body_too_large` for the draft, `unknown_recipient`, in this order.
pub fn compose(
    team: &Team,
    speaker: &Speaker,
    to: &str,
    draft: &Draft,
    id: String,
    now: Timestamp,
) -> Result<Message, Refusal> {
    // A name that cannot be is said before a body that cannot be, and that before a name that nobody has.
    let known = team.recipient(to);
    if let Err(refused @ Refusal::InvalidName { .. }) = known {
        return Err(refused);
    }
    draft.check(team)?;
    let to = known?;
    Ok(draft.addressed(speaker, &to, id, now))
}

/// Decides a message from `speaker` to everybody else: each member in roster order, then the leader.
///
/// # Errors
/// `invalid_input` or `body_too_large` for the draft.
pub fn compose_broadcast(
    team: &Team,
    speaker: &Speaker,
    draft: &Draft,
    mut next_id: impl FnMut() -> String,
    now: Timestamp,
) -> Result<Vec<Message>, Refusal> {
    draft.check(team)?;
    let others = team
        .everybody()
        .into_iter()
        .filter(|name| !name.folds_to(speaker.name.as_str()));
    Ok(others
        .map(|to| draft.addressed(speaker, &to, next_id(), now))
        .collect())
}

/// Whether `message` is what `from` asked for under the idempotency key `key`: then asking again sends nothing, and
/// the answer is the id of `message`. Keys are each sender's own. Who looks through the log, and what keeps two
/// callers apart while they do, is the caller's business.
#[must_use]
pub fn same_request(message: &Message, from: &str, key: &str) -> bool {
    message.from == from && message.idempotency_key.as_deref() == Some(key)
}

impl Message {
    /// The line that is kept of it, without its line end. Unlike its serialized form, which shows it, it has its body exactly.
    ///
    /// # Errors
    /// None in practice: it is made of text and numbers, which JSON always takes.
    pub fn line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let line = serde_json::to_string(self)?;
        Ok(self.body.restore("body", line).into_bytes())
    }
}

/// A message put back after a dead letter: the same id, at the end of the log, open again.
#[must_use]
pub fn redelivered(message: &Message) -> Message {
    Message {
        redelivery: message.redelivery.saturating_add(1),
        ..message.clone()
    }
}

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;
