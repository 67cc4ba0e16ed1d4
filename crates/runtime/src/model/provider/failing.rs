//! What every failure of a call comes to.
//!
//! | what happened | comes to |
//! |---|---|
//! | 429; 503 that says when to come back | `RateLimited`, or `UsageLimit` from two minutes on |
//! | 429 because nothing is paid for | `Rejected` |
//! | 408, 409, 5xx, 529, no connection, a stream that breaks or makes no sense | `Unavailable` |
//! | a conversation beyond what the model takes | `TooLong` |
//! | 401, 403, 404, every other 4xx | `Rejected` |

use genai::Error;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::clock::Clock;
use crate::model::ModelError;

/// From which wait on a limit is the account's and not the minute's, in milliseconds.
const ACCOUNT_MS: u64 = 120_000;

/// The most of a provider's words that is kept, in characters.
const WORDS: usize = 600;

/// How providers say that a conversation is too long.
const TOO_LONG: [&str; 8] = [
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "prompt is too long",
    "input is too long",
    "input token count",
    "too many tokens",
    "exceeds the maximum number of tokens",
];

/// How providers say that nothing is paid for: waiting does not help.
const UNPAID: [&str; 3] = ["insufficient_quota", "billing", "credit balance"];

/// Tells what failures are, without the key.
#[derive(Clone, Copy)]
pub(super) struct Failing<'a> {
    pub(super) key: Option<&'a str>,
    pub(super) clock: &'a dyn Clock,
}

impl Failing<'_> {
    /// What this failure is.
    pub(super) fn error(self, error: &Error) -> ModelError {
        if let Error::WebStream { error: inner, .. } = error
            && let Some(inner) = inner.downcast_ref::<Error>()
        {
            return self.error(inner);
        }
        match error {
            Error::HttpError {
                status,
                body,
                headers,
                ..
            } => {
                let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
                self.status(status.as_u16(), body, self.wait(header))
            }
            Error::ChatResponse { body, .. } => self.said_in_stream(body),
            Error::StreamParse { serde_error, .. } => ModelError::Unavailable {
                why: self.words(&format!("its answer makes no sense: {serde_error}")),
            },
            Error::WebStream { cause, .. } => ModelError::Unavailable {
                why: self.words(&format!("the connection failed: {cause}")),
            },
            other => match other.status() {
                Some(status) => self.status(status.as_u16(), &other.to_string(), None),
                None => ModelError::Unavailable {
                    why: self.words(&other.to_string()),
                },
            },
        }
    }

    /// How long the provider says to wait, in milliseconds.
    fn wait<'h>(self, header: impl Fn(&str) -> Option<&'h str>) -> Option<u64> {
        if let Some(ms) = header("retry-after-ms").and_then(|text| text.trim().parse().ok()) {
            return Some(ms);
        }
        let text = header("retry-after")?.trim();
        if let Ok(seconds) = text.parse::<f64>() {
            let is_span = seconds.is_finite() && seconds >= 0.0;
            // A number of this size is whole milliseconds; larger ones are cut to what fits.
            return is_span.then_some((seconds * 1_000.0).ceil() as u64);
        }
        let at: Timestamp = rfc2822::parse(text).ok()?.timestamp();
        let left = at.as_millisecond().saturating_sub(self.clock.now());
        Some(u64::try_from(left).unwrap_or_default())
    }

    fn status(self, status: u16, body: &str, wait: Option<u64>) -> ModelError {
        let why = self.words(&format!("{status}: {}", said(body)));
        let lower = body.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|words| lower.contains(words));
        match status {
            429 if says(&UNPAID) => ModelError::Rejected { why },
            429 => self.limited(why, wait),
            503 | 529 if wait.is_some() => self.limited(why, wait),
            408 | 409 | 500.. => ModelError::Unavailable { why },
            400 | 413 | 422 if says(&TOO_LONG) => ModelError::TooLong { why },
            401 | 403 => ModelError::Rejected {
                why: format!("the key was refused, {why}"),
            },
            _ => ModelError::Rejected { why },
        }
    }

    fn limited(self, why: String, wait: Option<u64>) -> ModelError {
        match wait {
            Some(ms) if ms >= ACCOUNT_MS => ModelError::UsageLimit {
                why,
                resets_at_ms: self
                    .clock
                    .now()
                    .saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)),
            },
            retry_after_ms => ModelError::RateLimited {
                why,
                retry_after_ms,
            },
        }
    }

    /// An error that came as an event of the stream.
    fn said_in_stream(self, body: &Value) -> ModelError {
        let text = body.to_string();
        let why = self.words(&said(&text));
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|words| lower.contains(words));
        if says(&TOO_LONG) {
            return ModelError::TooLong { why };
        }
        if says(&["rate_limit"]) {
            return self.limited(why, None);
        }
        if says(&["invalid_request", "authentication", "permission"]) {
            return ModelError::Rejected { why };
        }
        ModelError::Unavailable { why }
    }

    /// Words of others on one line, without the key, and not too many of them.
    fn words(self, text: &str) -> String {
        let hidden = match self.key {
            Some(key) if key.len() >= 4 => text.replace(key, "•••"),
            _ => text.to_string(),
        };
        let line = hidden.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(WORDS) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }
}

/// The message in an error's body, where it has one.
fn said(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        return body.to_string();
    };
    let places = ["/error/message", "/message", "/error", "/0/error/message"];
    let mut texts = places.iter().filter_map(|at| value.pointer(at)?.as_str());
    match texts.next() {
        Some(text) => text.to_string(),
        None => body.to_string(),
    }
}
