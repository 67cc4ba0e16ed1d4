//! Models: what an agent asks, what comes back, and how either can fail.
//!
//! A [`Model`] takes a whole conversation and answers one turn, piece by piece while it is written. It keeps nothing: who
//! calls it holds the conversation, decides whether a failed call is made again, and knows what it may cost.
//!
//! | model | what it does |
//! |---|---|
//! | `Provider` (feature `llm`) | calls a real provider: `openai:gpt-4o` |
//! | [`Folding`] | around another: folds the oldest turns of a long conversation into a summary |
//! | [`Recorded`], [`Replayed`] | around another: keeps what was exchanged in a file; answers from such a file |
//! | [`ScriptedModel`] | plays a part for tests and keeps what it was asked |
//!
//! | failure | again? |
//! |---|---|
//! | [`ModelError::RateLimited`], [`ModelError::Unavailable`], [`ModelError::TimedOut`] | after a while |
//! | [`ModelError::TooLong`] | with a shorter conversation |
//! | [`ModelError::Rejected`] | not this request |

use std::future::Future;
use std::pin::Pin;

use pitcrew_core::price::Micros;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod folding;
#[cfg(feature = "llm")]
pub(crate) mod provider;
mod recording;
mod scripted;
mod tool;

pub use folding::{Folding, fold_at};
#[cfg(feature = "llm")]
pub use provider::{OpenError, Provider, Settings, Vendor};
pub use recording::{Recorded, Recording, RecordingError, Replayed};
pub use scripted::{Asked, ScriptedModel};
pub use tool::{Tool, ToolAnswer, ToolContext, ToolFn};

/// A future on the heap, as traits that are used behind pointers answer it.
pub type Pending<'a, A> = Pin<Box<dyn Future<Output = A> + Send + 'a>>;

/// Something that answers conversations.
pub trait Model: Send + Sync {
    /// What it is called: `openai:gpt-4o`.
    fn name(&self) -> &str;

    /// Answers the next turn of a conversation. Pieces of its text go to `written` as they come, and together they are
    /// the reply's text. Dropping the future ends the call.
    fn call<'a>(
        &'a self,
        request: &'a Request,
        written: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>>;

    /// What a call of this request will use at the most likely, for setting it aside. Four bytes are one token unless
    /// the model knows better.
    fn estimate(&self, request: &Request) -> Estimate {
        Estimate {
            tokens: request.bytes() / 4 + 256,
            cost: None,
        }
    }
}

/// What a call is expected to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// All its tokens.
    pub tokens: u64,
    /// Its cost; `None` where no price is known.
    pub cost: Option<Micros>,
}

/// A conversation to be answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Request {
    /// Who the model is to be.
    pub system: String,
    /// What was said so far, oldest first.
    pub turns: Vec<Turn>,
    /// The tools that it may call.
    pub tools: Vec<ToolSpec>,
}

impl Request {
    /// How long all its texts are, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of_call = |call: &ToolCall| call.name.len() + call.arguments.len() * 16;
        let turns = self.turns.iter().map(|turn| match turn {
            Turn::User { text } => text.len(),
            Turn::Assistant { text, calls } => {
                text.len() + calls.iter().map(of_call).sum::<usize>()
            }
            Turn::Tools { results } => results.iter().map(|result| result.text.len()).sum(),
        });
        let tools = self.tools.iter().map(|tool| tool.about.len() + 128);
        (self.system.len() + turns.sum::<usize>() + tools.sum::<usize>()) as u64
    }

    /// Everything that users and others said in it, joined: what a test looks through.
    #[must_use]
    pub fn said(&self) -> String {
        let texts = self.turns.iter().filter_map(|turn| match turn {
            Turn::User { text } => Some(text.as_str()),
            Turn::Assistant { .. } | Turn::Tools { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Turn {
    /// What the model was told.
    User {
        /// The text.
        text: String,
    },
    /// What the model said, and which tools it wanted.
    Assistant {
        /// The text.
        text: String,
        /// The calls, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What the tools answered: one result for each call of the turn before.
    Tools {
        /// The results, in the order of the calls.
        results: Vec<ToolResult>,
    },
}

/// A call of a tool that a model wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id, which its result repeats.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// For the model to read.
    pub text: String,
    /// Whether it did what it was called for.
    pub ok: bool,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// The JSON schema of its arguments.
    pub schema: Map<String, Value>,
}

impl ToolSpec {
    /// A tool without arguments.
    #[must_use]
    pub fn bare(name: &str, about: &str) -> Self {
        let mut schema = Map::new();
        schema.insert("type".to_string(), "object".into());
        schema.insert("properties".to_string(), Value::Object(Map::new()));
        Self {
            name: name.to_string(),
            about: about.to_string(),
            schema,
        }
    }
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// What it said.
    pub text: String,
    /// The tools that it wants, to be run side by side. None means that it has said all.
    pub calls: Vec<ToolCall>,
    /// What the call used.
    pub usage: Usage,
    /// What it cost; `None` where no price is known.
    pub cost: Option<Micros>,
    /// Why it ended there.
    #[serde(default)]
    pub stop: Stop,
}

/// Why a reply ended where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// All was said, or tools are wanted.
    #[default]
    Done,
    /// It reached the most tokens that a reply may have: the text ends in the middle.
    Cut,
    /// The provider held the rest back.
    Filtered,
}

/// Tokens of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Read, those from a cache among them.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
}

impl Usage {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelError {
    /// The provider takes no more for now (429).
    #[error("the provider takes no more for now: {why}")]
    RateLimited {
        /// What it said.
        why: String,
        /// How long it says to wait, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// A usage limit of the account is reached until an instant: nobody of the team can go on before.
    #[error("the usage limit of the provider is reached: {why}")]
    UsageLimit {
        /// What it said.
        why: String,
        /// When it resets, in milliseconds since the Unix epoch.
        resets_at_ms: i64,
    },
    /// The provider cannot be reached or broke (5xx).
    #[error("the provider does not answer: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
    /// It did not answer in time.
    #[error("no answer within {after_ms} ms")]
    TimedOut {
        /// The time that it had, in milliseconds.
        after_ms: u64,
    },
    /// The conversation is longer than the model takes.
    #[error("the conversation is too long for the model: {why}")]
    TooLong {
        /// What the provider said.
        why: String,
    },
    /// The provider refused this request, and would again.
    #[error("the provider refused the request: {why}")]
    Rejected {
        /// What it said.
        why: String,
    },
}

impl ModelError {
    /// Whether the same request may be answered later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::UsageLimit { .. }
            | Self::Unavailable { .. }
            | Self::TimedOut { .. } => true,
            Self::TooLong { .. } | Self::Rejected { .. } => false,
        }
    }
}
