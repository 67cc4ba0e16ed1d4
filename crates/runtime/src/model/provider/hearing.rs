//! The stream of an answer, put together.
//!
//! | the stream | what comes of it |
//! |---|---|
//! | ends as the provider ends one | the reply |
//! | stops before | a failure: nobody knows what is missing |
//! | is silent for too long, or goes on for too long | a failure, and the connection is dropped |
//! | is longer than [`LONGEST`] | a failure |
//!
//! Arguments of a call that are no JSON object are kept as `{"not_json": "…"}`, which no tool takes, so the model is told.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use genai::chat::{ChatStreamEvent, StopReason, StreamEnd, Usage as Used};
use pitcrew_core::price::{Price, TokenUse};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::failing::Failing;
use crate::model::{ModelError, Reply, Request, Stop, ToolCall, Usage};

/// The longest text of one answer, in bytes.
pub(super) const LONGEST: usize = 8 * 1024 * 1024;

/// Why there is no answer.
pub(super) enum Stopped {
    Failed(ModelError),
    Silent,
    Late,
}

/// How an answer shows that it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// By an event of its own, without which the client crate reports no end.
    Event,
    /// By giving a reason: the client crate reports an end for every stream that closes.
    Reason,
}

fn lost(text: &str) -> Stopped {
    let heard = text.len();
    let why = format!("the connection was lost after {heard} bytes of the answer");
    Stopped::Failed(ModelError::Unavailable { why })
}

/// An answer that ended.
pub(super) struct Heard {
    text: String,
    end: StreamEnd,
}

/// Listens until the answer ends; pieces of text go to `written`.
pub(super) async fn hear(
    stream: &mut (impl Stream<Item = genai::Result<ChatStreamEvent>> + Unpin),
    written: &mut (dyn FnMut(&str) + Send),
    until: Instant,
    silence: Duration,
    ending: Ending,
    failing: Failing<'_>,
) -> Result<Heard, Stopped> {
    let mut text = String::new();
    loop {
        let quiet = Instant::now() + silence;
        let next = timeout_at(quiet.min(until), stream.next()).await;
        let Ok(next) = next else {
            return Err(match quiet < until {
                true => Stopped::Silent,
                false => Stopped::Late,
            });
        };
        match next {
            Some(Ok(ChatStreamEvent::Chunk(chunk))) => {
                text.push_str(&chunk.content);
                if text.len() > LONGEST {
                    let why = format!("the answer is longer than {LONGEST} bytes");
                    return Err(Stopped::Failed(ModelError::Rejected { why }));
                }
                written(&chunk.content);
            }
            Some(Ok(ChatStreamEvent::End(end)))
                if ending == Ending::Reason && end.captured_stop_reason.is_none() =>
            {
                return Err(lost(&text));
            }
            Some(Ok(ChatStreamEvent::End(end))) => return Ok(Heard { text, end }),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(Stopped::Failed(failing.error(&error))),
            None => return Err(lost(&text)),
        }
    }
}

impl Heard {
    /// The reply to `request`. A provider that does not say what the call used is taken at the estimate.
    pub(super) fn reply(
        mut self,
        request: &Request,
        price: Option<&Price>,
    ) -> Result<Reply, ModelError> {
        let stop = match &self.end.captured_stop_reason {
            Some(StopReason::MaxTokens(_)) => Stop::Cut,
            Some(StopReason::ContentFilter(_)) => Stop::Filtered,
            _ => Stop::Done,
        };
        let calls = self.calls();
        if stop == Stop::Cut && !calls.is_empty() {
            let why = "the answer reached its most tokens in the middle of a tool call: allow more, or ask for less at \
                       once";
            return Err(ModelError::Rejected {
                why: why.to_string(),
            });
        }
        let (usage, tokens) = match &self.end.captured_usage {
            Some(used) => counted(used),
            None => guessed(request, &self.text, &calls),
        };
        Ok(Reply {
            text: self.text,
            calls,
            usage,
            cost: price.map(|price| price.cost(&tokens)),
            stop,
        })
    }

    fn calls(&mut self) -> Vec<ToolCall> {
        let content = self.end.captured_content.take();
        let heard = content.map(|content| content.into_tool_calls());
        let mut ids = HashSet::new();
        let mut calls = Vec::new();
        for (at, call) in heard.into_iter().flatten().enumerate() {
            // A place that a stream left out has no name; an id that is missing or used twice would part a call from
            // its result.
            if call.fn_name.is_empty() {
                continue;
            }
            let mut id = call.call_id;
            if id.is_empty() || ids.contains(&id) {
                id = format!("{id}call-{at}");
            }
            ids.insert(id.clone());
            calls.push(ToolCall {
                id,
                name: call.fn_name,
                arguments: arguments(call.fn_arguments),
            });
        }
        calls
    }
}

fn arguments(given: Value) -> Map<String, Value> {
    match given {
        Value::Object(arguments) => arguments,
        Value::Null => Map::new(),
        Value::String(text) if text.trim().is_empty() => Map::new(),
        other => {
            let text = match other {
                Value::String(text) => text,
                other => other.to_string(),
            };
            Map::from_iter([("not_json".to_string(), Value::String(text))])
        }
    }
}

fn whole(tokens: Option<i32>) -> u64 {
    tokens.map_or(0, |tokens| u64::try_from(tokens).unwrap_or_default())
}

fn counted(used: &Used) -> (Usage, TokenUse) {
    let details = used.prompt_tokens_details.as_ref();
    let cached = whole(details.and_then(|details| details.cached_tokens));
    let cache_write = whole(details.and_then(|details| details.cache_creation_tokens));
    let (input, output) = (whole(used.prompt_tokens), whole(used.completion_tokens));
    let usage = Usage {
        input,
        output,
        cached,
    };
    let tokens = TokenUse {
        input: input.saturating_sub(cached).saturating_sub(cache_write),
        cached,
        cache_write,
        output,
    };
    (usage, tokens)
}

fn guessed(request: &Request, text: &str, calls: &[ToolCall]) -> (Usage, TokenUse) {
    let called: usize = calls
        .iter()
        .map(|call| call.name.len() + Value::Object(call.arguments.clone()).to_string().len())
        .sum();
    let usage = Usage {
        input: request.bytes() / 4 + 1,
        output: (text.len() + called) as u64 / 4 + 1,
        cached: 0,
    };
    let tokens = TokenUse {
        input: usage.input,
        output: usage.output,
        ..TokenUse::default()
    };
    (usage, tokens)
}
