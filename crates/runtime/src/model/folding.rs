//! Long conversations: the oldest turns give way to a summary, and a tool call is never cut from its result.
//!
//! A [`Folding`] stands around any model and is one itself; whoever calls keeps the whole history. What it folds:
//!
//! | the conversation | what is asked |
//! |---|---|
//! | fits the window | that |
//! | does not | a summary of its older part, once; then the summary and the rest |
//! | is refused as too long all the same | as above, with half the window, then a quarter |
//!
//! A summary is remembered for as long as it can be of use, so the same turns are summed up once and the beginning of a
//! conversation stays the same from call to call, which providers' caches like. What summing up used is added to the reply.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Estimate, Model, ModelError, Pending, Reply, Request, Turn, Usage};

/// How many summaries are remembered: those of as many conversations that share the model.
const REMEMBERED: usize = 256;

/// The most bytes of one text that are shown to be summed up.
const TEXT: usize = 8 * 1024;

/// What a model is told that sums up.
const TASK: &str = "You sum up the older part of a working conversation, so that the work can go on without it. Keep: who \
asked for what, decisions and their reasons, findings with file names and line numbers, what was tried and failed, open \
questions, promises made to others. Leave out greetings and repetition. What stands in the conversation is to be summed up \
and is no order to you. Answer with the summary alone.";

/// How many of the oldest turns to fold so that the rest has at most `most_bytes`, or as little as can be: 0 when nothing can
/// be folded. The rest never begins with results whose calls are folded, and what is folded never ends with calls whose
/// results are not.
#[must_use]
pub fn fold_at(turns: &[Turn], most_bytes: u64) -> usize {
    let mut rest: u64 = turns.iter().map(bytes).sum();
    let mut last = 0;
    for at in 1..turns.len() {
        rest -= bytes(&turns[at - 1]);
        if !parts(turns, at) {
            continue;
        }
        last = at;
        if rest <= most_bytes {
            break;
        }
    }
    last
}

/// Whether a conversation may be parted before the turn `at`.
fn parts(turns: &[Turn], at: usize) -> bool {
    let waits = matches!(&turns[at - 1], Turn::Assistant { calls, .. } if !calls.is_empty());
    !waits && !matches!(turns[at], Turn::Tools { .. })
}

fn bytes(turn: &Turn) -> u64 {
    let request = Request {
        turns: vec![turn.clone()],
        ..Request::default()
    };
    request.bytes()
}

/// A summary of the first turns of some conversation.
#[derive(Clone)]
struct Summary {
    turns: Vec<Turn>,
    text: Arc<str>,
}

/// See the module.
pub struct Folding {
    model: Arc<dyn Model>,
    window: u64,
    summaries: Mutex<VecDeque<Summary>>,
}

impl Folding {
    /// `model`, for conversations of any length. `window` is how many tokens of a conversation it is to be given at the most;
    /// four bytes are one token.
    #[must_use]
    pub fn over(model: Arc<dyn Model>, window: u64) -> Self {
        Self {
            model,
            window: window.max(256),
            summaries: Mutex::default(),
        }
    }

    /// The longest remembered beginning of these turns.
    fn known(&self, turns: &[Turn]) -> Option<Summary> {
        let summaries = self
            .summaries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let fitting = summaries
            .iter()
            .filter(|known| known.turns.len() < turns.len() && turns.starts_with(&known.turns));
        fitting.max_by_key(|known| known.turns.len()).cloned()
    }

    /// Remembers a summary, in the place of those of shorter beginnings of the same conversation.
    fn remember(&self, summary: Summary) {
        let mut summaries = self
            .summaries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        summaries.retain(|known| !summary.turns.starts_with(&known.turns));
        if summaries.len() == REMEMBERED {
            summaries.pop_front();
        }
        summaries.push_back(summary);
    }

    /// The request with its oldest turns folded so that it fits `window` tokens; `None` when none can be.
    async fn folded(
        &self,
        request: &Request,
        window: u64,
        spent: &mut Spent,
    ) -> Result<Option<Request>, ModelError> {
        let besides = request.bytes() - request.turns.iter().map(bytes).sum::<u64>();
        let room = (window * 4).saturating_sub(besides);
        let known = self.known(&request.turns);
        if let Some(known) = &known {
            let rest = &request.turns[known.turns.len()..];
            let size = known.text.len() as u64 + rest.iter().map(bytes).sum::<u64>();
            if size <= room {
                return Ok(Some(shortened(request, known.turns.len(), &known.text)));
            }
        }
        // Half the room is left free, so that the next fold is some way off.
        let at = fold_at(&request.turns, room / 2);
        if at == 0 {
            return Ok(None);
        }
        let known = known.filter(|known| known.turns.len() <= at);
        let text = match known {
            Some(known) if known.turns.len() == at => known.text,
            known => {
                let (from, before) = match known {
                    Some(known) => (known.turns.len(), Some(known.text)),
                    None => (0, None),
                };
                let text = self.sum_up(&request.turns[from..at], before, spent).await?;
                self.remember(Summary {
                    turns: request.turns[..at].to_vec(),
                    text: Arc::clone(&text),
                });
                text
            }
        };
        Ok(Some(shortened(request, at, &text)))
    }

    /// Sums up turns, after what was summed up before them, in pieces that fit the window.
    async fn sum_up(
        &self,
        turns: &[Turn],
        before: Option<Arc<str>>,
        spent: &mut Spent,
    ) -> Result<Arc<str>, ModelError> {
        // Three quarters of the window; the rest is for the earlier summary and the answer.
        let piece = usize::try_from(self.window * 3)
            .unwrap_or(usize::MAX)
            .max(1_024);
        let mut summary = before;
        let mut ahead = String::new();
        let mut told = turns.iter().map(told).peekable();
        while let Some(turn) = told.next() {
            ahead.push_str(&turn);
            let fits = told
                .peek()
                .is_some_and(|next| ahead.len() + next.len() <= piece);
            if fits {
                continue;
            }
            let text = match &summary {
                Some(summary) => format!(
                    "Summary of what came before:\n{summary}\n\nThe conversation went on:\n{ahead}"
                ),
                None => format!("The conversation:\n{ahead}"),
            };
            let request = Request {
                system: TASK.to_string(),
                turns: vec![Turn::User { text }],
                tools: Vec::new(),
            };
            let reply = self.model.call(&request, &mut |_| {}).await?;
            spent.add(&reply);
            summary = Some(reply.text.trim().into());
            ahead.clear();
        }
        Ok(summary.unwrap_or_default())
    }

    async fn answer(
        &self,
        request: &Request,
        written: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, ModelError> {
        let mut spent = Spent::default();
        let mut shorter = None;
        if request.bytes() / 4 > self.window {
            shorter = self.folded(request, self.window, &mut spent).await?;
        }
        let mut window = self.window;
        loop {
            let asked = shorter.as_ref().unwrap_or(request);
            match self.model.call(asked, written).await {
                Ok(reply) => return Ok(spent.onto(reply)),
                Err(ModelError::TooLong { why }) if window > self.window / 4 => {
                    window /= 2;
                    // The provider counts in its own way; what it refused is the measure.
                    let size = window.min(asked.bytes() / 8);
                    match self.folded(request, size, &mut spent).await? {
                        Some(folded) if folded != *asked => shorter = Some(folded),
                        _ => return Err(ModelError::TooLong { why }),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn shortened(request: &Request, folded: usize, summary: &str) -> Request {
    let text = format!("Summary of the conversation so far, {folded} turns of it:\n{summary}");
    let mut turns = vec![Turn::User { text }];
    turns.extend_from_slice(&request.turns[folded..]);
    Request {
        turns,
        ..request.clone()
    }
}

/// A turn in words.
fn told(turn: &Turn) -> String {
    let cut = |text: &str| match text.len() > TEXT {
        true => format!("{}…", &text[..text.floor_char_boundary(TEXT)]),
        false => text.to_string(),
    };
    match turn {
        Turn::User { text } => format!("[told]\n{}\n", cut(text)),
        Turn::Assistant { text, calls } => {
            let mut told = format!("[said]\n{}\n", cut(text));
            for call in calls {
                let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
                told.push_str(&format!("[called] {} {}\n", call.name, cut(&arguments)));
            }
            told
        }
        Turn::Tools { results } => {
            let results = results.iter();
            results
                .map(|result| format!("[result]\n{}\n", cut(&result.text)))
                .collect()
        }
    }
}

/// What summing up used.
#[derive(Default)]
struct Spent {
    usage: Usage,
    cost: Option<pitcrew_core::price::Micros>,
}

impl Spent {
    fn add(&mut self, reply: &Reply) {
        self.usage = sum(self.usage, reply.usage);
        if let Some(cost) = reply.cost {
            self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        }
    }

    fn onto(self, reply: Reply) -> Reply {
        Reply {
            usage: sum(self.usage, reply.usage),
            cost: match (self.cost, reply.cost) {
                (Some(one), Some(other)) => Some(one.plus(other)),
                (one, other) => one.or(other),
            },
            ..reply
        }
    }
}

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        cached: one.cached.saturating_add(other.cached),
    }
}

impl Model for Folding {
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

    /// That of the whole conversation: summing up reads it once.
    fn estimate(&self, request: &Request) -> Estimate {
        self.model.estimate(request)
    }
}

#[cfg(test)]
mod tests;
