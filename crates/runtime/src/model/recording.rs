//! Recorded models: real exchanges kept in a file, and answered from it again, so that a team can be tried without a
//! provider.
//!
//! A recording is a file of JSON lines. The first says what it is, `{"format":"pitcrew-recording","version":1}`; every other is
//! one exchange: `model`, `request`, the `pieces` as they were written, and a `reply` or an `error`. Keys of known vendors, and the
//! secrets that its maker names, are hidden in all of it.
//!
//! A request is answered by the first exchange of its model, not used yet, that asks the same. Not compared: what is drawn or
//! read from a clock each time, that is UUIDs, runs of 32 hexadecimal digits or more as in the marks of envelopes, and instants.
//! A request that no exchange asks is refused, with the place where it first differs from the next exchange.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pitcrew_core::mask::without_keys;
use pitcrew_store::StoreFailure;
use pitcrew_store::files::{append_line, read_recording};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Estimate, Model, ModelError, Pending, Reply, Request};

/// What a recording begins with.
const HEAD: &str = r#"{"format":"pitcrew-recording","version":1}"#;

/// The most of a text that is shown where it differs, in characters.
const SHOWN: usize = 80;

/// One exchange.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Exchange {
    model: String,
    request: Request,
    #[serde(default)]
    pieces: Vec<String>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Reply(Reply),
    Error(ModelError),
}

/// A recording that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// It does not say that it is a recording, or is one of another version.
    #[error("{} is no recording of version 1: it begins with {begins:?}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it begins with.
        begins: String,
    },
    /// A line is no exchange.
    #[error("{}: line {line} is no exchange: {why}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// Why.
        why: String,
    },
}

/// A model whose exchanges are kept.
pub struct Recorded {
    model: Arc<dyn Model>,
    path: PathBuf,
    secrets: Vec<String>,
}

impl Recorded {
    /// `model`, with every exchange added to the file `path`, made if need be. `secrets` are hidden in it. Any number of models
    /// may share a file.
    #[must_use]
    pub fn over(model: Arc<dyn Model>, path: &Path, secrets: Vec<String>) -> Self {
        Self {
            model,
            path: path.to_path_buf(),
            secrets,
        }
    }

    async fn answer(
        &self,
        request: &Request,
        written: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, ModelError> {
        let mut pieces = Vec::new();
        let answer = {
            let mut both = |piece: &str| {
                pieces.push(piece.to_string());
                written(piece);
            };
            self.model.call(request, &mut both).await
        };
        let exchange = Exchange {
            model: self.model.name().to_string(),
            request: request.clone(),
            pieces,
            outcome: match &answer {
                Ok(reply) => Outcome::Reply(reply.clone()),
                Err(error) => Outcome::Error(error.clone()),
            },
        };
        let kept = serde_json::to_value(&exchange)
            .map_err(|refused| refused.to_string())
            .and_then(|value| {
                let line = masked(value, &self.secrets).to_string();
                append_line(&self.path, HEAD, &line).map_err(|refused| refused.in_words())
            });
        match kept {
            Ok(()) => answer,
            // An exchange that is missing would make every later one of the recording useless.
            Err(why) => Err(ModelError::Rejected {
                why: format!("the exchange cannot be recorded: {why}"),
            }),
        }
    }
}

impl Model for Recorded {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn call<'a>(
        &'a self,
        request: &'a Request,
        written: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(self.answer(request, written))
    }

    fn estimate(&self, request: &Request) -> Estimate {
        self.model.estimate(request)
    }
}

struct Kept {
    exchange: Exchange,
    /// The request as it is compared.
    asks: Value,
    used: bool,
}

/// A recording that was read. A clone is the same one: what one answered, no other answers again.
#[derive(Clone)]
pub struct Recording(Arc<Mutex<Vec<Kept>>>);

impl Recording {
    /// The recording in the file `path`.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        let text = read_recording(path)?;
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let head = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        if head(first) != head(HEAD) {
            return Err(RecordingError::Foreign {
                path: path.to_path_buf(),
                begins: shown(first),
            });
        }
        let mut kept = Vec::new();
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let exchange: Exchange =
                serde_json::from_str(line).map_err(|wrong| RecordingError::Broken {
                    path: path.to_path_buf(),
                    line: at + 1,
                    why: wrong.to_string(),
                })?;
            kept.push(Kept {
                asks: compared(&exchange.request),
                exchange,
                used: false,
            });
        }
        Ok(Self(Arc::new(Mutex::new(kept))))
    }

    /// The model `name` as it was recorded.
    #[must_use]
    pub fn model(&self, name: &str) -> Replayed {
        Replayed {
            name: name.to_string(),
            recording: self.clone(),
        }
    }

    /// How many exchanges were not asked for yet.
    #[must_use]
    pub fn left(&self) -> usize {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().filter(|kept| !kept.used).count()
    }

    /// The exchange that answers this request of that model, which is used then; else why there is none.
    fn take(&self, model: &str, request: &Request) -> Result<Exchange, String> {
        let asks = compared(request);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |kept: &&mut Kept| !kept.used && kept.exchange.model == model;
        if let Some(found) = kept.iter_mut().filter(open).find(|kept| kept.asks == asks) {
            found.used = true;
            return Ok(found.exchange.clone());
        }
        let next = kept
            .iter()
            .enumerate()
            .find(|(_, kept)| !kept.used && kept.exchange.model == model);
        Err(match next {
            None => format!("the recording has no further exchange of {model}"),
            Some((at, next)) => {
                let differs = difference("request", &next.asks, &asks);
                let differs = differs.unwrap_or_else(|| "nothing".to_string());
                format!(
                    "the recording has no answer to this request; against exchange {}, the next one, {differs}",
                    at + 1
                )
            }
        })
    }
}

/// A model that answers from a recording.
pub struct Replayed {
    name: String,
    recording: Recording,
}

impl Model for Replayed {
    fn name(&self) -> &str {
        &self.name
    }

    fn call<'a>(
        &'a self,
        request: &'a Request,
        written: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let found = self.recording.take(&self.name, request);
            let exchange = found.map_err(|why| ModelError::Rejected { why })?;
            for piece in &exchange.pieces {
                written(piece);
            }
            match exchange.outcome {
                Outcome::Reply(reply) => Ok(reply),
                Outcome::Error(error) => Err(error),
            }
        })
    }
}

/// Every text of a value without secrets.
fn masked(value: Value, secrets: &[String]) -> Value {
    over_texts(value, &|text| without_keys(text, secrets))
}

/// A request as it is compared: without keys, and without what is drawn or read from a clock.
fn compared(request: &Request) -> Value {
    let value = serde_json::to_value(request).unwrap_or_default();
    over_texts(value, &|text| steady(&without_keys(text, &[])))
}

fn over_texts(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| over_texts(item, change));
            Value::Array(items.collect())
        }
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(key, item)| (key, over_texts(item, change)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// A text with every UUID, long hexadecimal run and instant replaced.
fn steady(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !"-:.".contains(c))
            .unwrap_or(rest.len());
        if end == 0 {
            out.push(sign);
            rest = &rest[sign.len_utf8()..];
            continue;
        }
        out.push_str(&steady_word(&rest[..end]));
        rest = &rest[end..];
    }
    out
}

fn steady_word(word: &str) -> String {
    let bare = word.trim_end_matches(['-', ':', '.']);
    let tail = &word[bare.len()..];
    if is_instant(bare) {
        return format!("‹instant›{tail}");
    }
    // A mark such as `message-<boundary>` has its word in front.
    let start = bare.char_indices().map(|(at, _)| at).find(|at| {
        is_drawn(&bare[*at..]) && !bare[..*at].ends_with(|c: char| c.is_ascii_alphanumeric())
    });
    match start {
        Some(at) => format!("{}‹drawn›{tail}", &bare[..at]),
        None => word.to_string(),
    }
}

fn is_drawn(word: &str) -> bool {
    let is_hex = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = word.split('-').collect();
    let is_uuid = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| is_hex(part));
    is_uuid || (word.len() >= 32 && is_hex(word))
}

/// Whether a word is an instant as we write it: `2026-12-01T02:03:04.567Z`.
fn is_instant(word: &str) -> bool {
    word.parse::<jiff::Timestamp>().is_ok()
}

/// Where two values first differ, in words.
fn difference(place: &str, recorded: &Value, asked: &Value) -> Option<String> {
    match (recorded, asked) {
        (one, other) if one == other => None,
        (Value::Object(one), Value::Object(other)) => {
            let keys = one
                .keys()
                .chain(other.keys().filter(|key| !one.contains_key(*key)));
            let at = |map: &serde_json::Map<String, Value>, key: &str| {
                map.get(key).cloned().unwrap_or_default()
            };
            keys.into_iter().find_map(|key| {
                difference(&format!("{place}.{key}"), &at(one, key), &at(other, key))
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            let pairs = one.iter().zip(other).enumerate();
            let inside = pairs
                .into_iter()
                .find_map(|(at, (one, other))| difference(&format!("{place}[{at}]"), one, other));
            inside.or_else(|| {
                Some(format!(
                    "{place} has {} items recorded and {} asked",
                    one.len(),
                    other.len()
                ))
            })
        }
        (Value::String(one), Value::String(other)) => {
            let same = one
                .chars()
                .zip(other.chars())
                .take_while(|(a, b)| a == b)
                .count();
            let from = |text: &str| shown(&text.chars().skip(same).collect::<String>());
            Some(format!(
                "{place} differs from character {same} on: recorded {:?}, asked {:?}",
                from(one),
                from(other)
            ))
        }
        (one, other) => Some(format!("{place} is {one} recorded and {other} asked")),
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests;
