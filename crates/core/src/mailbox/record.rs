//! Reading one line of a mailbox, whoever wrote it.
//!
//! A message is an object with `id`, `from`, `to` and `body`; `type` may be missing, since the spec's own shape has
//! none. A line with another `type` is no message and no damage: a newer writer knows more than we do. Anything else
//! is [`Damage`], which is counted and shown with its place, never skipped in silence.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use serde::Deserialize;

use super::{Fact, Intent, Message, Receipt};
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

/// A message id as the unread index keeps it: 128 bits of the id's text, so that a million ids cost no more than
/// their places. Ids of our own are UUIDs; two different ids meeting here would hide one message from listing, never
/// lose it from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey(u128);

impl MessageKey {
    /// The key of `id`: FNV-1a over its bytes.
    #[must_use]
    pub fn of(id: &str) -> Self {
        Self::of_bytes(id.as_bytes())
    }

    /// The key of any bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
        const BASIS: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
        Self(bytes.iter().fold(BASIS, |hash, byte| {
            (hash ^ u128::from(*byte)).wrapping_mul(PRIME)
        }))
    }
}

impl serde::Serialize for MessageKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for MessageKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(Self)
            .map_err(serde::de::Error::custom)
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

/// The fields that tell what a line is, without copying its text.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(default)]
    from: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    to: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    body: Option<serde::de::IgnoredAny>,
    #[serde(rename = "messageId", borrow, default)]
    message_id: Option<Cow<'a, str>>,
    #[serde(rename = "deliveredAt", default)]
    delivered_at: Option<serde::de::IgnoredAny>,
    #[serde(borrow, default)]
    fact: Option<Cow<'a, str>>,
    #[serde(default)]
    redelivery: Option<u32>,
}

impl Outline<'_> {
    fn head(&self) -> Result<Head, &'static str> {
        let about = || {
            self.message_id
                .as_deref()
                .map(MessageKey::of)
                .ok_or("a receipt without messageId")
        };
        match self.kind.as_deref() {
            None | Some("message") => {
                let whole = self.from.is_some() && self.to.is_some() && self.body.is_some();
                match &self.id {
                    Some(id) if whole => Ok(Head::Message {
                        key: MessageKey::of(id),
                        delivered: self.delivered_at.is_some(),
                        redelivery: self.redelivery.unwrap_or(0),
                    }),
                    _ => Err("not a message: id, from, to or body is missing"),
                }
            }
            Some("delivery-receipt") => about().map(Head::Delivered),
            Some("receipt") => about().map(|key| match self.fact.as_deref() {
                Some("dead_lettered") => Head::DeadLettered(key),
                _ => Head::Other,
            }),
            Some(_) => Ok(Head::Other),
        }
    }
}

/// Reads what the unread index needs of one line (without its line end).
///
/// # Errors
/// Why the line is damage.
pub fn read_head(line: &[u8]) -> Result<Head, String> {
    let line = json::trim(line);
    if line.is_empty() {
        return Ok(Head::Other);
    }
    let refused = match serde_json::from_slice::<Outline<'_>>(line) {
        Ok(outline) => return outline.head().map_err(String::from),
        Err(refused) => refused,
    };
    let Some(mended) = json::repair(line) else {
        return Err(refused.to_string());
    };
    match serde_json::from_str::<Outline<'_>>(&mended) {
        Ok(outline) => outline.head().map_err(String::from),
        Err(refused) => Err(refused.to_string()),
    }
}

#[derive(Deserialize)]
struct Wire {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    from: Option<serde_json::Value>,
    #[serde(default)]
    to: Option<serde_json::Value>,
    #[serde(default)]
    body: Option<serde_json::Value>,
    #[serde(default)]
    timestamp: Option<serde_json::Value>,
    #[serde(rename = "messageId", default)]
    message_id: Option<String>,
    #[serde(rename = "deliveredAt", default)]
    delivered_at: Option<serde_json::Value>,
    #[serde(default)]
    reply_to: Option<serde_json::Value>,
    #[serde(default)]
    intent: Option<serde_json::Value>,
    #[serde(default)]
    idempotency_key: Option<serde_json::Value>,
    #[serde(default)]
    verified: Option<serde_json::Value>,
    #[serde(default)]
    redelivery: Option<u32>,
    #[serde(default)]
    fact: Option<String>,
    #[serde(default)]
    at: Option<serde_json::Value>,
    #[serde(default)]
    detail: Option<serde_json::Value>,
}

/// A value of another type than text, which some writers keep where text belongs, as text.
fn text(value: serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

impl Wire {
    fn line(self) -> Result<Line, &'static str> {
        match self.kind.as_deref() {
            None | Some("message") => self.message(),
            Some("delivery-receipt") => Ok(Line::Receipt(Receipt::Delivered {
                message_id: self.message_id.ok_or("a receipt without messageId")?,
                delivered_at: self.delivered_at.map(text).unwrap_or_default(),
            })),
            Some("receipt") => {
                let fact = self.fact.as_deref().and_then(Fact::parse);
                let message_id = self.message_id.ok_or("a receipt without messageId")?;
                let at = self.at.map(text).unwrap_or_default();
                let detail = self.detail.map(text);
                Ok(fact.map_or(Line::Other, |fact| {
                    Line::Receipt(Receipt::Noted {
                        message_id,
                        fact,
                        at,
                        detail,
                    })
                }))
            }
            Some(_) => Ok(Line::Other),
        }
    }

    fn message(self) -> Result<Line, &'static str> {
        let (Some(id), Some(from), Some(to), Some(body)) = (self.id, self.from, self.to, self.body)
        else {
            return Err("not a message: id, from, to or body is missing");
        };
        let message = Message {
            id,
            from: text(from),
            to: text(to),
            body: text(body),
            timestamp: self.timestamp.map(text).unwrap_or_default(),
            reply_to: self.reply_to.map(text),
            intent: self
                .intent
                .and_then(|intent| serde_json::from_value::<Intent>(intent).ok()),
            idempotency_key: self.idempotency_key.map(text),
            verified: self.verified.and_then(|verified| verified.as_bool()),
            redelivery: self.redelivery.unwrap_or(0),
        };
        Ok(Line::Message(message, self.delivered_at.map(text)))
    }
}

/// Reads one line (without its line end) in full.
///
/// # Errors
/// Why the line is damage: the same as [`read_head`] says of it.
pub fn read_record(line: &[u8]) -> Result<Line, String> {
    if json::trim(line).is_empty() {
        return Ok(Line::Other);
    }
    let wire: Wire = json::read(line).map_err(|refused| refused.to_string())?;
    wire.line().map_err(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_without_type_is_a_message() {
        let line =
            br#"{"id":"1","from":"a","to":"b","body":"x","timestamp":"t","deliveredAt":"d"}"#;
        let Ok(Line::Message(message, Some(at))) = read_record(line) else {
            panic!()
        };
        assert_eq!(
            (message.id.as_str(), message.body.as_str(), at.as_str()),
            ("1", "x", "d")
        );
        assert_eq!(
            read_head(line),
            Ok(Head::Message {
                key: MessageKey::of("1"),
                delivered: true,
                redelivery: 0
            })
        );
    }

    #[test]
    fn a_body_of_another_type_is_shown_as_json() {
        let Ok(Line::Message(message, None)) =
            read_record(br#"{"id":"1","from":"a","to":"b","body":["x"]}"#)
        else {
            panic!()
        };
        assert_eq!(message.body, r#"["x"]"#);
    }

    #[test]
    fn an_unknown_kind_is_neither_message_nor_damage() {
        assert_eq!(
            read_record(br#"{"type":"poll","id":3}"#.as_slice()).ok(),
            None,
            "a wrong type is damage"
        );
        assert_eq!(read_record(br#"{"type":"poll","id":"3"}"#), Ok(Line::Other));
    }

    #[test]
    fn what_is_no_record_says_why() {
        for line in [
            &b"null"[..],
            b"[]",
            b"\"x\"",
            b"{}",
            b"{\"not valid",
            b"{\"type\":\"delivery-receipt\"}",
        ] {
            assert!(read_head(line).is_err(), "{line:?}");
            assert!(read_record(line).is_err(), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn head_and_record_agree_on_damage(line in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            r#"\{("type":"(message|delivery-receipt|receipt|x)",)?("id":"[a-z]{0,3}",)?("from":"a",)?("to":("b"|null),)?("body":("x"|1|null),)?("messageId":"m",)?"z":1\}"#
                .prop_map(String::into_bytes),
        ]) {
            prop_assert_eq!(read_head(&line).is_err(), read_record(&line).is_err());
        }
    }
}
