//! What a tool answers: a text for a model, and the same facts for a program.
//!
//! The text comes first in importance: one sentence that says what is so, and the next step. The facts never hold a text
//! of others outside of marks, because some clients show a model the facts and not the text.

use serde_json::{Map, Value};

use crate::desk::{Desk, News, NotDone};
use pitcrew_core::visible::{Lines, visible};
use pitcrew_core::{Name, Refusal};

/// How often another boundary is drawn before a text counts as impossible to mark.
const DRAWS: usize = 8;

/// Whether a tool did what it was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It did, or it says how things stand.
    Done,
    /// It did not, and the text says why and what to do.
    Refused,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// For a model to read.
    pub text: String,
    /// For a program: an object with `status` and facts.
    pub facts: Map<String, Value>,
    /// Whether it was done.
    pub verdict: Verdict,
    /// What it shows of the findings, which is noted as shown: to be taken back when it cannot be handed over.
    pub(super) news: Option<Box<(Name, News)>>,
}

impl Answer {
    /// An answer of something done. `facts` is an object.
    pub(super) fn done(text: impl Into<String>, facts: Value) -> Self {
        Self::new(text.into(), facts, Verdict::Done)
    }

    /// An answer of something that was not done. `facts` is an object.
    pub(super) fn refused(text: impl Into<String>, facts: Value) -> Self {
        Self::new(text.into(), facts, Verdict::Refused)
    }

    fn new(text: String, facts: Value, verdict: Verdict) -> Self {
        let facts = match facts {
            Value::Object(facts) => facts,
            _ => Map::new(),
        };
        Self {
            text,
            facts,
            verdict,
            news: None,
        }
    }
}

/// A text of others on one line between quotes, cut after `most` characters: it can neither end its quotes nor give
/// orders to a terminal.
pub(super) fn quoted(text: &str, most: usize) -> String {
    let folded = visible(text.trim(), Lines::Fold).replace('"', "'");
    let mut shown: String = folded.chars().take(most).collect();
    if folded.chars().nth(most).is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// `write` with a fresh boundary that its text does not hold; `write` answers `None` when it does.
///
/// # Errors
/// When the system has no random bytes, or no boundary fits.
pub fn enclosed(
    desk: &Desk<'_>,
    mut write: impl FnMut(&str) -> Option<String>,
) -> Result<String, NotDone> {
    for _ in 0..DRAWS {
        if let Some(text) = write(&desk.fresh_id()?.replace('-', "")) {
            return Ok(text);
        }
    }
    Err(Refusal::input("text", "no marks could be drawn that do not stand in it").into())
}

/// A text of others between marks: `<WORD-BOUNDARY ATTRIBUTES>`. `None` when the boundary stands in it.
pub(super) fn marked(word: &str, attributes: &str, text: &str, boundary: &str) -> Option<String> {
    let holds = |text: &str| {
        text.to_ascii_lowercase()
            .contains(&boundary.to_ascii_lowercase())
    };
    if holds(text) || holds(attributes) {
        return None;
    }
    Some(format!(
        "<{word}-{boundary}{attributes}>\n{}\n</{word}-{boundary}>",
        text.trim_end()
    ))
}

/// One attribute of a mark, with a space before it.
pub(super) fn attribute(name: &str, value: &str) -> String {
    let value = visible(value, Lines::Fold).replace(['"', '<', '>'], "\u{FFFD}");
    format!(" {name}=\"{value}\"")
}
