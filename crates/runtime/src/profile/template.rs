//! Arguments with slots: `{prompt}`, `--resume={session}`.
//!
//! A slot is filled once, in one pass, so what a prompt says is never read as a slot. `{tools}` and `{args}` stand
//! alone and become any number of arguments. `{{word}}` is a literal `{word}`; braces around anything but lower-case
//! letters and `_` are literal as they are, so shell and JSON need no escaping.

use std::ffi::OsString;
use std::fmt;

/// What fills a hole of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The prompt's text.
    Prompt,
    /// The file that holds the prompt.
    PromptFile,
    /// The session to go on with.
    Session,
    /// The id for a session that begins.
    NewSession,
    /// The script of a `sh` turn.
    Script,
    /// The file that the CLI writes its answer to.
    AnswerFile,
    /// The arguments that grant tools.
    Tools,
    /// The arguments that the team file adds.
    Args,
}

const SLOTS: [(&str, Slot); 8] = [
    ("prompt", Slot::Prompt),
    ("prompt_file", Slot::PromptFile),
    ("session", Slot::Session),
    ("new_session", Slot::NewSession),
    ("script", Slot::Script),
    ("answer_file", Slot::AnswerFile),
    ("tools", Slot::Tools),
    ("args", Slot::Args),
];

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = SLOTS
            .iter()
            .find(|(_, slot)| slot == self)
            .map_or("", |(word, _)| word);
        write!(f, "{{{word}}}")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Slot(Slot),
}

/// One element of an argument list, as the file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument(Vec<Piece>);

impl Argument {
    /// Reads `text`.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some((word, after)) = braced(rest.strip_prefix("{").unwrap_or(rest))
                .filter(|(_, after)| after.starts_with('}'))
            {
                literal.push_str(&format!("{{{word}}}"));
                rest = &after[1..];
            } else if let Some((word, after)) = braced(rest) {
                let slot = slot(word)?;
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
                pieces.push(Piece::Slot(slot));
                rest = after;
            } else {
                literal.push('{');
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        let many = |piece: &Piece| matches!(piece, Piece::Slot(Slot::Tools | Slot::Args));
        if pieces.len() > 1 && pieces.iter().any(many) {
            return Err(format!(
                "`{text}`: {{tools}} and {{args}} are arguments of their own"
            ));
        }
        Ok(Self(pieces))
    }

    /// Whether `slot` is in it.
    pub(super) fn holds(&self, slot: Slot) -> bool {
        self.0.contains(&Piece::Slot(slot))
    }

    /// The slots in it.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Slot(slot) => Some(*slot),
            Piece::Text(_) => None,
        })
    }

    /// The arguments that it becomes; `fill` says what stands for a slot: one text, or many for `{tools}` and
    /// `{args}`.
    ///
    /// # Errors
    /// Whatever `fill` says.
    pub(super) fn filled<E>(
        &self,
        mut fill: impl FnMut(Slot) -> Result<Vec<OsString>, E>,
    ) -> Result<Vec<OsString>, E> {
        if let [Piece::Slot(slot @ (Slot::Tools | Slot::Args))] = self.0.as_slice() {
            return fill(*slot);
        }
        let mut whole = OsString::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => whole.push(text),
                Piece::Slot(slot) => fill(*slot)?.iter().for_each(|text| whole.push(text)),
            }
        }
        Ok(vec![whole])
    }
}

/// The word of the slot that `text` begins with, and what follows it.
fn braced(text: &str) -> Option<(&str, &str)> {
    let (word, after) = text.strip_prefix('{')?.split_once('}')?;
    let fits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    fits.then_some((word, after))
}

fn slot(word: &str) -> Result<Slot, String> {
    if let Some((_, slot)) = SLOTS.iter().find(|(known, _)| *known == word) {
        return Ok(*slot);
    }
    let known: Vec<String> = SLOTS
        .iter()
        .map(|(word, _)| format!("{{{word}}}"))
        .collect();
    Err(format!(
        "no slot is called {{{word}}} (there are {}; a literal one is written {{{{{word}}}}})",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Vec<OsString> {
        let fill = |slot: Slot| -> Result<Vec<OsString>, String> {
            Ok(match slot {
                Slot::Tools => vec!["-a".into(), "-b".into()],
                Slot::Args => Vec::new(),
                Slot::Prompt => vec!["say {session}".into()],
                other => vec![format!("<{other}>").into()],
            })
        };
        Argument::parse(text).unwrap().filled(fill).unwrap()
    }

    #[test]
    fn slots_are_filled_once() {
        assert_eq!(filled("--resume={session}!"), ["--resume=<{session}>!"]);
        assert_eq!(filled("{prompt}"), ["say {session}"]);
        assert_eq!(filled("plain"), ["plain"]);
        assert_eq!(filled(""), [""]);
    }

    #[test]
    fn tools_and_args_become_any_number_of_arguments() {
        assert_eq!(filled("{tools}"), ["-a", "-b"]);
        assert!(filled("{args}").is_empty());
        assert!(
            Argument::parse("-x{tools}")
                .unwrap_err()
                .contains("of their own")
        );
    }

    #[test]
    fn other_braces_are_literal() {
        for text in ["${HOME}", "{\"a\":{}}", "a{b", "}{", "{a b}", "{x1}", "é{"] {
            assert_eq!(filled(text), [text]);
        }
        assert_eq!(filled("{{prompt}}"), ["{prompt}"]);
        assert_eq!(filled("${{name}}"), ["${name}"]);
    }

    #[test]
    fn an_unknown_slot_is_refused_with_the_known_ones() {
        let error = Argument::parse("{promt}").unwrap_err();
        assert!(
            error.contains("{promt}") && error.contains("{prompt},") && error.contains("{{promt}}"),
            "{error}"
        );
    }
}
