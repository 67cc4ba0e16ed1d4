//! Reading one line of a mailbox, whoever wrote it.
//!
//! A message is an object with `id`, `from`, `to` and `body`; `type` may be missing, since the spec's own shape has
//! none. A line of another `type` is no message and no damage: a newer writer knows more than we do. Anything else
//! is [`Damage`], which is counted and shown with its place, never skipped in silence.
//!
//! Always holds: [`read_head`] and [`read_record`] take the same lines and see the same message in each, because both
//! read them through one `Wire`. Of a key that stands twice in a line the last value counts, as everywhere else. A value
//! of another type than text is kept as its JSON text, byte for byte in a line without such keys.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Body, Fact, Intent, Message, MessageKey, Receipt};
use crate::json;

/// A place in a log that holds no record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, Deserialize)]
pub struct Damage {
    /// Where it starts, in bytes from the start of the log.
    pub at: u64,
    /// How many bytes it has.
    pub len: u64,
    /// What is wrong with it.
    pub why: String,
}

/// One line of a mailbox, read in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A message, with the acknowledgement that some writers keep inside it.
    Message(Message, Option<String>),
    /// A fact about a message.
    Receipt(Receipt),
    /// A blank line, or a record of a kind that this version does not know.
    Other,
}

impl Line {
    /// When this line says that its message was acknowledged: a delivery receipt, or a message that carries its own.
    #[must_use]
    pub fn delivered_at(&self) -> Option<&str> {
        match self {
            Self::Message(_, delivered_at) => delivered_at.as_deref(),
            Self::Receipt(Receipt::Delivered { delivered_at, .. }) => Some(delivered_at),
            Self::Receipt(Receipt::Noted { .. }) | Self::Other => None,
        }
    }
}

/// What the unread index needs of a line, and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// A message; `delivered` if the line carries its own acknowledgement.
    Message {
        /// The message.
        key: MessageKey,
        /// Whether the line says itself that it was delivered.
        delivered: bool,
        /// 1 and up for copies that were put back after a dead letter.
        redelivery: u32,
    },
    /// The message was acknowledged.
    Delivered(MessageKey),
    /// The message was given up.
    DeadLettered(MessageKey),
    /// A line that changes nothing for the reader.
    Other,
}

/// A value that decides what a line is. One of the wrong type spoils only what it was to decide.
enum Scalar<'a> {
    Text(Cow<'a, str>),
    Number(u64),
    Neither,
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Neither)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Neither)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Neither)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Neither)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Neither)
    }
}

/// The keys of every kind of record. `V` is what is kept of a text: nothing for a [`Head`], its JSON for a [`Line`].
#[derive(Deserialize)]
#[serde(bound(deserialize = "V: Deserialize<'de>"))]
struct Wire<'a, V> {
    #[serde(rename = "type", borrow)]
    kind: Option<Scalar<'a>>,
    #[serde(borrow)]
    id: Option<Scalar<'a>>,
    from: Option<V>,
    to: Option<V>,
    body: Option<V>,
    timestamp: Option<V>,
    #[serde(rename = "deliveredAt")]
    delivered_at: Option<V>,
    reply_to: Option<V>,
    intent: Option<V>,
    idempotency_key: Option<V>,
    verified: Option<V>,
    #[serde(borrow)]
    redelivery: Option<Scalar<'a>>,
    #[serde(rename = "messageId", borrow)]
    message_id: Option<Scalar<'a>>,
    #[serde(borrow)]
    fact: Option<Scalar<'a>>,
    at: Option<V>,
    detail: Option<V>,
}

/// What a line claims to be, once it is known to be whole.
enum Kind<'w> {
    Message { id: &'w str, redelivery: u32 },
    Delivery { message_id: &'w str },
    Noted { message_id: &'w str, fact: Fact },
    Other,
}

/// Why a line is damage: what the JSON reader says, which a repaired line may not say, or what its keys lack.
enum Fault {
    Json(serde_json::Error),
    Shape(&'static str),
}

impl From<serde_json::Error> for Fault {
    fn from(refused: serde_json::Error) -> Self {
        Self::Json(refused)
    }
}

impl<V> Wire<'_, V> {
    fn kind(&self) -> Result<Kind<'_>, Fault> {
        match &self.kind {
            None => self.message(),
            Some(Scalar::Text(kind)) => match kind.as_ref() {
                "message" => self.message(),
                "delivery-receipt" => Ok(Kind::Delivery {
                    message_id: self.about()?,
                }),
                "receipt" => {
                    let message_id = self.about()?;
                    let known = match &self.fact {
                        Some(Scalar::Text(word)) => Fact::parse(word),
                        _ => None,
                    };
                    Ok(known.map_or(Kind::Other, |fact| Kind::Noted { message_id, fact }))
                }
                _ => Ok(Kind::Other),
            },
            Some(Scalar::Number(_) | Scalar::Neither) => Err(Fault::Shape("type is no text")),
        }
    }

    fn message(&self) -> Result<Kind<'_>, Fault> {
        let whole = self.from.is_some() && self.to.is_some() && self.body.is_some();
        let Some(Scalar::Text(id)) = self.id.as_ref().filter(|_| whole) else {
            let lacks = "not a message: id, from, to or body is missing";
            return Err(Fault::Shape(lacks));
        };
        let redelivery = match self.redelivery {
            Some(Scalar::Number(times)) => u32::try_from(times).unwrap_or(u32::MAX),
            _ => 0,
        };
        Ok(Kind::Message { id, redelivery })
    }

    fn about(&self) -> Result<&str, Fault> {
        match &self.message_id {
            Some(Scalar::Text(id)) => Ok(id),
            _ => Err(Fault::Shape("a receipt without messageId")),
        }
    }
}

/// Reads what the unread index needs of one line (without its line end). The texts in it are not copied.
///
/// # Errors
/// Why the line is damage.
pub fn read_head(line: &[u8]) -> Result<Head, String> {
    read(line, Head::Other, |line| {
        let wire: Wire<'_, IgnoredAny> = serde_json::from_slice(line)?;
        Ok(match wire.kind()? {
            Kind::Message { id, redelivery } => Head::Message {
                key: MessageKey::of(id),
                delivered: wire.delivered_at.is_some(),
                redelivery,
            },
            Kind::Delivery { message_id } => Head::Delivered(MessageKey::of(message_id)),
            Kind::Noted { message_id, fact } => match fact {
                Fact::DeadLettered => Head::DeadLettered(MessageKey::of(message_id)),
                Fact::Notified | Fact::Submitted | Fact::Shown => Head::Other,
            },
            Kind::Other => Head::Other,
        })
    })
}

/// Reads one line (without its line end) in full.
///
/// # Errors
/// Why the line is damage: whenever [`read_head`] says so too.
pub fn read_record(line: &[u8]) -> Result<Line, String> {
    read(line, Line::Other, |line| {
        let wire: Wire<'_, &RawValue> = serde_json::from_slice(line)?;
        Ok(match wire.kind()? {
            Kind::Message { id, redelivery } => {
                let message = wire.in_full(id, redelivery)?;
                Line::Message(message, optional(wire.delivered_at)?)
            }
            Kind::Delivery { message_id } => Line::Receipt(Receipt::Delivered {
                message_id: message_id.to_string(),
                delivered_at: optional(wire.delivered_at)?.unwrap_or_default(),
            }),
            Kind::Noted { message_id, fact } => Line::Receipt(Receipt::Noted {
                message_id: message_id.to_string(),
                fact,
                at: optional(wire.at)?.unwrap_or_default(),
                detail: optional(wire.detail)?,
            }),
            Kind::Other => Line::Other,
        })
    })
}

/// Reads a line strictly and, where that fails over its text and not over what it says, once more repaired.
fn read<T>(line: &[u8], blank: T, strictly: fn(&[u8]) -> Result<T, Fault>) -> Result<T, String> {
    let line = json::trim(line);
    if line.is_empty() {
        return Ok(blank);
    }
    if !line.starts_with(b"{") {
        return Err("not a JSON object".into());
    }
    let first = strictly(line);
    let mended = match first {
        Err(Fault::Json(_)) => json::repair(line),
        _ => None,
    };
    let second = mended.map_or(first, |text| strictly(text.as_bytes()));
    let last = match &second {
        // Only a derived reader minds a key that stands twice.
        Err(Fault::Json(_)) => json::last_of_each(line),
        _ => None,
    };
    match last.map_or(second, |text| strictly(text.as_bytes())) {
        Ok(read) => Ok(read),
        Err(Fault::Json(refused)) => Err(refused.to_string()),
        Err(Fault::Shape(why)) => Err(why.into()),
    }
}

impl Wire<'_, &RawValue> {
    fn in_full(&self, id: &str, redelivery: u32) -> Result<Message, Fault> {
        let intent = optional(self.intent)?;
        Ok(Message {
            id: id.to_string(),
            from: optional(self.from)?.unwrap_or_default(),
            to: optional(self.to)?.unwrap_or_default(),
            body: self.body.map(body).transpose()?.unwrap_or_default(),
            timestamp: optional(self.timestamp)?.unwrap_or_default(),
            reply_to: optional(self.reply_to)?,
            intent: intent.and_then(|word| Intent::parse(&word).ok()),
            idempotency_key: optional(self.idempotency_key)?,
            verified: match self.verified.map(RawValue::get) {
                Some("true") => Some(true),
                Some("false") => Some(false),
                _ => None,
            },
            redelivery,
        })
    }
}

/// A text, or the JSON of a value that some writer kept where text belongs.
fn optional(value: Option<&RawValue>) -> Result<Option<String>, Fault> {
    let Some(json) = value.map(RawValue::get) else {
        return Ok(None);
    };
    if json.starts_with('"') {
        return Ok(Some(json::read(json.as_bytes())?));
    }
    Ok(Some(json.to_string()))
}

fn body(value: &RawValue) -> Result<Body, Fault> {
    let json = value.get();
    if json.starts_with('"') {
        return Ok(Body::of_json(json)?);
    }
    Ok(json.into())
}

#[cfg(test)]
mod tests;
