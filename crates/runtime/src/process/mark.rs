//! The mark that every process of a turn carries: `PITCREW_TURN=<id>` in its start environment.
//!
//! A process that leaves its group and its session still has the environment it was started with, so the mark
//! finds what group and session do not. A turn inside a turn (a member that runs a team of its own) carries both
//! ids, outermost first, joined by `/`: the end of the outer turn finds what the inner one started.
//!
//! What always holds: an id is long enough to be drawn at random and unique on the machine, because whatever
//! carries it is killed. A service that is meant to outlive its turn is started without the variable, in a
//! session of its own.

use std::ffi::{OsStr, OsString};

/// Why a text is no turn id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    /// Too short to be unique, or too long.
    #[error("a turn id has {min} to {max} characters, this one has {found}", min = Mark::SHORTEST, max = Mark::LONGEST)]
    Length {
        /// How many bytes it has.
        found: usize,
    },
    /// A character that would blur where an id ends.
    #[error("a turn id is made of letters, digits, `-`, `_` and `.`, not {found:?}")]
    Character {
        /// The first character that is not allowed.
        found: char,
    },
}

/// The mark of one turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    turn: String,
    value: String,
}

impl Mark {
    /// The environment variable that carries the mark.
    pub const VARIABLE: &'static str = "PITCREW_TURN";
    /// Fewest characters of a turn id.
    pub const SHORTEST: usize = 16;
    /// Most characters of a turn id.
    pub const LONGEST: usize = 128;

    /// The mark of the turn with this id. Draw the id at random (a UUID): whatever carries it is killed at the end.
    ///
    /// # Errors
    /// When the id is too short to be unique, too long, or has a character outside `[A-Za-z0-9._-]`.
    pub fn new(turn: &str) -> Result<Self, MarkError> {
        if !(Self::SHORTEST..=Self::LONGEST).contains(&turn.len()) {
            return Err(MarkError::Length { found: turn.len() });
        }
        if let Some(found) = turn.chars().find(|found| !is_id_character(*found)) {
            return Err(MarkError::Character { found });
        }
        Ok(Self {
            turn: turn.to_owned(),
            value: turn.to_owned(),
        })
    }

    /// The same mark inside another turn: `outer` is the value of [`VARIABLE`](Self::VARIABLE) in our own
    /// environment, if it is there. Text that is no chain of ids is left out rather than handed on.
    #[must_use]
    pub fn inside(self, outer: Option<&OsStr>) -> Self {
        let Some(outer) = outer.and_then(OsStr::to_str) else {
            return self;
        };
        if outer.is_empty() || !outer.chars().all(|c| c == '/' || is_id_character(c)) {
            return self;
        }
        Self {
            value: format!("{outer}/{}", self.turn),
            turn: self.turn,
        }
    }

    /// The id of the turn.
    #[must_use]
    pub fn turn(&self) -> &str {
        &self.turn
    }

    /// What stands in the environment of the turn's processes.
    pub(super) fn value(&self) -> OsString {
        OsString::from(&self.value)
    }

    /// Whether a process with this start environment (NUL-separated) belongs to the turn.
    pub(super) fn is_in(&self, environment: &[u8]) -> bool {
        environment
            .split(|byte| *byte == 0)
            .filter_map(|pair| {
                pair.strip_prefix(Self::VARIABLE.as_bytes())?
                    .strip_prefix(b"=")
            })
            .any(|value| {
                value
                    .split(|byte| *byte == b'/')
                    .any(|id| id == self.turn.as_bytes())
            })
    }
}

fn is_id_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTER: &str = "aaaaaaaa-0000-4000";
    const INNER: &str = "bbbbbbbb-1111-4111";

    fn environment(value: &str) -> Vec<u8> {
        format!("HOME=/h\0PITCREW_TURN={value}\0XPITCREW_TURN=no\0").into_bytes()
    }

    #[test]
    fn a_process_is_found_by_its_own_turn_and_by_every_turn_around_it() {
        let outer = Mark::new(OUTER).unwrap();
        let inner = Mark::new(INNER).unwrap().inside(Some(&outer.value()));
        let inside = environment(inner.value().to_str().unwrap());
        assert!(inner.is_in(&inside));
        assert!(outer.is_in(&inside));
        assert!(!inner.is_in(&environment(OUTER)));
    }

    #[test]
    fn a_part_of_an_id_or_another_variable_is_no_mark() {
        let mark = Mark::new(OUTER).unwrap();
        assert!(!mark.is_in(&environment(&format!("{OUTER}0"))));
        assert!(!mark.is_in(&environment(&OUTER[1..])));
        assert!(!mark.is_in(format!("PITCREW_TURNS={OUTER}\0").as_bytes()));
        assert!(!mark.is_in(format!("A=PITCREW_TURN={OUTER}\0").as_bytes()));
        assert!(!mark.is_in(b""));
    }

    #[test]
    fn an_id_that_could_meet_another_is_refused() {
        assert_eq!(Mark::new("1"), Err(MarkError::Length { found: 1 }));
        assert_eq!(
            Mark::new(&"x".repeat(129)),
            Err(MarkError::Length { found: 129 })
        );
        for (id, found) in [
            ("aaaaaaaaaaaaaaaa/b", '/'),
            ("aaaaaaaaaaaaaaaa\0", '\0'),
            ("aaaaaaaaaaaaaaaé", 'é'),
        ] {
            assert_eq!(Mark::new(id), Err(MarkError::Character { found }));
        }
    }

    #[test]
    fn a_foreign_value_around_us_is_not_handed_on() {
        for outer in ["", "a b", "x=y", "line\nline"] {
            let mark = Mark::new(INNER).unwrap().inside(Some(OsStr::new(outer)));
            assert_eq!(mark.value(), OsString::from(INNER));
        }
        assert_eq!(
            Mark::new(INNER).unwrap().inside(None).value(),
            OsString::from(INNER)
        );
    }
}
