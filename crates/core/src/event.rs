//! Events: what happened in a team, one line of JSON each, for whoever follows.
//!
//! | part | where |
//! |---|---|
//! | every fact that there is, its topic and its fields | [`Fact`], [`SCHEMA`] |
//! | one line: version, time, topic and fact | [`Event`] |
//! | which events somebody wants | [`Filter`] |
//! | the page that describes them all | [`page`] |
//!
//! ```json
//! {"v":1,"at":"2026-11-30T16:22:28.904Z","topic":"nous:team:demo:agent:bob","type":"message_sent","id":"…","from":"ann","to":"bob","length":12}
//! ```
//!
//! Always holds: an event says what happened, never what is wanted; it holds ids, names and lengths, and never a body;
//! a version only ever adds types and fields. What a later version added is kept as it was read ([`What::Unknown`]).
//!
//! Not here: writing events down and following them. State is the truth and events are notices of it.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::name::Name;
use crate::refusal::NameKind;
use crate::time::Timestamp;

mod declare;
mod fact;
mod plane;
mod schema;

pub use fact::{Fact, SCHEMA};
pub use schema::{Carrier, Described, page};

/// The version of the schema that this program writes.
pub const VERSION: u64 = 1;

/// What every topic begins with.
const ROOT: &str = "nous:team:";

/// Where an event is published within its team.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// `nous:team:<id>`: membership, broadcasts, tasks, findings and limits.
    Team,
    /// `nous:team:<id>:context`: what the team's shared state holds, such as claims.
    Context,
    /// `nous:team:<id>:agent:<name>`: what concerns one member, such as messages for it.
    Agent(Name),
    /// A topic below the team's that a later version writes: the text behind the team's topic.
    Other(String),
}

impl Topic {
    /// The topic as it is written, in the team called `team`.
    #[must_use]
    pub fn of(&self, team: &Name) -> String {
        match self {
            Self::Team => format!("{ROOT}{team}"),
            Self::Context => format!("{ROOT}{team}:context"),
            Self::Agent(name) => format!("{ROOT}{team}:agent:{name}"),
            Self::Other(rest) => format!("{ROOT}{team}:{rest}"),
        }
    }

    /// Reads a topic as it is written, or its short form: `team`, `context`, `agent:<name>`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = match text.strip_prefix(ROOT) {
            Some(full) => full.split_once(':').map_or("team", |(_, rest)| rest),
            None => text,
        };
        match rest {
            "" => None,
            "team" => Some(Self::Team),
            "context" => Some(Self::Context),
            rest => match rest.strip_prefix("agent:") {
                Some(name) => Name::new(NameKind::Member, name).ok().map(Self::Agent),
                None => Some(Self::Other(rest.to_string())),
            },
        }
    }
}

impl fmt::Display for Topic {
    /// The short form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Team => f.write_str("team"),
            Self::Context => f.write_str("context"),
            Self::Agent(name) => write!(f, "agent:{name}"),
            Self::Other(rest) => f.write_str(rest),
        }
    }
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A fact of this version.
    Known(Fact),
    /// One of a later version, or one that does not have the fields of this version.
    Unknown {
        /// Its type.
        word: String,
        /// Its fields, as they were written.
        fields: Map<String, Value>,
    },
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The version of the schema that it was written in.
    pub version: u64,
    /// When it was written down, right after it happened.
    pub at: Timestamp,
    /// Where it was published.
    pub topic: Topic,
    /// What happened.
    pub what: What,
}

impl Event {
    /// The line of `fact`, which happened in `team`, without a line end. `None` when it cannot be JSON, which the
    /// fields of a fact always can.
    #[must_use]
    pub fn encode(team: &Name, fact: &Fact, at: Timestamp) -> Option<String> {
        let fields = serde_json::to_string(fact).ok()?;
        let fields = fields.strip_prefix('{')?;
        // One piece of memory, because budgets and rates count by the million. Topics are made of checked names and
        // instants of digits: nothing in them needs an escape.
        let mut line = String::with_capacity(fields.len() + 192);
        write!(line, r#"{{"v":{VERSION},"at":""#).ok()?;
        line.push_str(core::str::from_utf8(&at.written()).ok()?);
        line.push_str("\",\"topic\":\"");
        line.push_str(ROOT);
        line.push_str(team.as_str());
        match fact.topic() {
            Topic::Team => {}
            Topic::Agent(name) => {
                line.push_str(":agent:");
                line.push_str(name.as_str());
            }
            Topic::Context => line.push_str(":context"),
            below => write!(line, ":{below}").ok()?,
        }
        line.push_str("\",");
        line.push_str(fields);
        Some(line)
    }

    /// Reads a line. `None` for what is no event.
    #[must_use]
    pub fn decode(line: &[u8]) -> Option<Self> {
        let fields: Map<String, Value> = crate::json::read_object(line).ok()?;
        let version = fields.get("v")?.as_u64()?;
        let at = Timestamp::parse(fields.get("at")?.as_str()?)?;
        let topic = Topic::parse(fields.get("topic")?.as_str()?)?;
        let word = fields.get("type")?.as_str()?.to_string();
        let what = match Fact::deserialize(&fields) {
            Ok(fact) => What::Known(fact),
            Err(_) => {
                let fields = without(fields, &["v", "at", "topic", "type"]);
                What::Unknown { word, fields }
            }
        };
        Some(Self {
            version,
            at,
            topic,
            what,
        })
    }

    /// Its type.
    #[must_use]
    pub fn word(&self) -> &str {
        match &self.what {
            What::Known(fact) => fact.word(),
            What::Unknown { word, .. } => word,
        }
    }

    /// Its fields without the envelope, in the order of the schema.
    #[must_use]
    pub fn fields(&self) -> Cow<'_, Map<String, Value>> {
        match &self.what {
            What::Unknown { fields, .. } => Cow::Borrowed(fields),
            What::Known(fact) => {
                let value = serde_json::to_value(fact).unwrap_or_default();
                let fields = match value {
                    Value::Object(fields) => without(fields, &["type"]),
                    _ => Map::new(),
                };
                Cow::Owned(fields)
            }
        }
    }

    /// Whether it is about the member called `name`, in whichever part.
    #[must_use]
    pub fn concerns(&self, name: &Name) -> bool {
        let is_topic = matches!(&self.topic, Topic::Agent(owner) if owner == name);
        let is_named = match &self.what {
            What::Known(fact) => fact.names().contains(&name),
            What::Unknown { fields, .. } => {
                let is_it = |value: &Value| value.as_str() == Some(name.as_str());
                fields.values().any(|value| match value {
                    Value::Array(list) => list.iter().any(is_it),
                    one => is_it(one),
                })
            }
        };
        is_topic || is_named
    }
}

/// `fields` in their order without those called `keys`.
fn without(fields: Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    let kept = fields.into_iter();
    kept.filter(|(key, _)| !keys.contains(&key.as_str()))
        .collect()
}

/// Which events somebody wants; what is not given admits all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Of any of these topics.
    pub topics: Vec<Topic>,
    /// About this member.
    pub member: Option<Name>,
    /// Of any of these types.
    pub types: Vec<String>,
    /// Since then.
    pub since: Option<Timestamp>,
}

impl Filter {
    /// Whether `event` is wanted.
    #[must_use]
    pub fn admits(&self, event: &Event) -> bool {
        self.since.is_none_or(|since| event.at >= since)
            && (self.topics.is_empty() || self.topics.contains(&event.topic))
            && (self.types.is_empty() || self.types.iter().any(|word| word == event.word()))
            && self.member.as_ref().is_none_or(|name| event.concerns(name))
    }

    /// The types of `words` that this version does not know.
    pub fn strangers(words: &[String]) -> impl Iterator<Item = &str> {
        let is_known = |word: &str| SCHEMA.iter().any(|row| row.word == word);
        words
            .iter()
            .map(String::as_str)
            .filter(move |word| !is_known(word))
    }
}

#[cfg(test)]
mod tests;
