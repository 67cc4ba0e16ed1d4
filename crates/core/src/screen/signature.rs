//! How a program's screen looks, as data: where its composer is and which marks prove which state.
//!
//! A signature comes from a profile. Everything in it is optional: a signature without a composer and without a shell
//! never calls a screen ready.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer};

use super::facts::Tint;
use super::mark::Mark;

/// How a row beside the composer looks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Nothing stands in it.
    Blank,
    /// Something stands in it.
    Filled,
    /// It consists of these signs alone, at least one.
    Only(String),
    /// It starts with this.
    Starts(String),
    /// It does not start with this.
    Lacks(String),
    /// It looks like one of these.
    OneOf(Vec<Shape>),
}

/// How the further rows of a long draft start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continued {
    /// With blanks up to the text.
    #[default]
    Indent,
    /// With the prompt again: the prompt is the composer's left frame.
    Prompt,
}

/// Where the composer is and how it looks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComposerLook {
    /// The signs that open it, one character each.
    pub prompts: Vec<String>,
    /// The prompt's column; any column when missing.
    pub column: Option<usize>,
    /// Cells from the prompt to the cursor while the composer is empty.
    pub cursor: usize,
    /// Whether the program hides its cursor while a dialog is open, so that a hidden one means no composer.
    #[serde(default)]
    pub cursor_shown: bool,
    /// The rows above it, the nearest first.
    pub above: Vec<Shape>,
    /// The rows below it, the nearest first.
    pub below: Vec<Shape>,
    /// How further rows start.
    #[serde(default)]
    pub continued: Continued,
    /// How the placeholders of an empty composer start, from the cursor's column on.
    #[serde(default)]
    pub placeholders: Vec<String>,
    /// What must be seen before text like a placeholder is taken for one.
    #[serde(default)]
    pub placeholder_proof: Vec<Mark>,
    /// The tints of placeholders and suggestions: `dim`, a palette number, or `#rrggbb`.
    #[serde(default, deserialize_with = "tints")]
    pub ghosts: Vec<Tint>,
    /// Whether the program offers texts of its own in the empty composer.
    #[serde(default)]
    pub suggests: bool,
}

/// How a shell's prompt is told.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellLook {
    /// The names of shells, as the process in the foreground.
    pub shells: Vec<String>,
    /// How a prompt ends, the blank behind it left out.
    pub ends: Vec<String>,
}

impl Default for ShellLook {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| String::from(*word)).collect();
        Self {
            shells: words(&[
                "bash", "sh", "dash", "zsh", "ksh", "fish", "-bash", "-zsh", "-sh",
            ]),
            ends: words(&["$", "#", "%"]),
        }
    }
}

/// How a program's screen looks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Signature {
    /// The composer of an agent.
    pub composer: Option<ComposerLook>,
    /// Set for a program that is a shell itself.
    pub shell: Option<ShellLook>,
    /// One of these: the program has ended.
    pub exited: Vec<Mark>,
    /// One of these: a question, a picker or a menu is open.
    pub dialog: Vec<Mark>,
    /// One of these: a limit was reached, or the program waits before the next try.
    pub limit: Vec<Mark>,
    /// One of these: a turn is running.
    pub busy: Vec<Mark>,
    /// All of these beside an empty composer: ready.
    pub ready: Vec<Mark>,
}

fn tints<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Tint>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    let mut found = vec![];
    for word in words {
        found.push(tint(&word).ok_or_else(|| {
            serde::de::Error::custom("a tint is `dim`, a palette number or `#rrggbb`")
        })?);
    }
    Ok(found)
}

fn tint(word: &str) -> Option<Tint> {
    if word == "dim" {
        return Some(Tint::Dim);
    }
    match word.strip_prefix('#') {
        Some(hex) if hex.len() == 6 && hex.is_ascii() => {
            let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
            Some(Tint::Rgb(part(0)?, part(2)?, part(4)?))
        }
        Some(_) => None,
        None => word.parse().ok().map(Tint::Indexed),
    }
}
