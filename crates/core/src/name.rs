//! Names of teams, members, tasks and lanes: one validator for all of them.
//!
//! `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`, and no device name of Windows. So a name can stand in a path, a tmux target,
//! a topic or a subject without escaping anything. Names are unique without case but addressed exactly:
//! `W1` beside a member `w1` is refused and `w1` is offered, whatever the file system folds.
//!
//! Tasks of the reference may have ids that no task of ours gets (`_x`, `á`). They are addressed as they are: an id with
//! letters of any script can still stand in a path without escaping anything.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::refusal::{NameKind, Refusal};

/// The reserved mailbox name of whoever started the team.
pub const LEADER: &str = "leader";

/// The longest name, in bytes (names are ASCII).
pub const MAX_LEN: usize = 64;

/// Device names of Windows that the naming rule would let pass; those with a number come beside them.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The longest text, in characters, that is compared with names: no name is near to a longer one.
const LONGEST_COMPARED: usize = MAX_LEN * 2;

fn is_valid(text: &str) -> bool {
    let bytes = text.as_bytes();
    let tail = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-';
    bytes.len() <= MAX_LEN
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(tail)
        && !is_device(text)
}

/// Whether Windows keeps this name for a device.
#[must_use]
pub fn is_device(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let numbered = |stem: &str| {
        lower
            .strip_prefix(stem)
            .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    DEVICES.contains(&lower.as_str()) || numbered("com") || numbered("lpt")
}

/// A checked name of a team, a member or a mailbox. A copy is cheap: everything that happens names somebody.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Checks `text`, which names a `kind`. No team is called [`LEADER`].
    ///
    /// # Errors
    /// `invalid_name` with the kind and the text as given.
    pub fn new(kind: NameKind, text: &str) -> Result<Self, Refusal> {
        let is_reserved = kind == NameKind::Team && text.eq_ignore_ascii_case(LEADER);
        if is_valid(text) && !is_reserved {
            Ok(Self(text.into()))
        } else {
            Err(Refusal::name(kind, text))
        }
    }

    /// The leader's mailbox.
    #[must_use]
    pub fn leader() -> Self {
        Self(LEADER.into())
    }

    /// Whether this is the leader's reserved name, in any case.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0.eq_ignore_ascii_case(LEADER)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both names are one without regard to case.
    #[must_use]
    pub fn folds_to(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(NameKind::Member, &text).map_err(serde::de::Error::custom)
    }
}

/// A checked task id: letters and digits of any script, `_` and `-`. A new task's id is under the rule of a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TaskId(String);

impl TaskId {
    /// Checks `text`, which names a task that may be there.
    ///
    /// # Errors
    /// `invalid_task_id` with the text as given.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let letters = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let can_be = text.len() <= MAX_LEN
            && text.chars().all(letters)
            && !text.is_empty()
            && !text.starts_with('-')
            && !is_device(text);
        Self::checked(can_be, text)
    }

    /// Checks `text`, which is to name a new task.
    ///
    /// # Errors
    /// `invalid_task_id` with the text as given.
    pub fn fresh(text: &str) -> Result<Self, Refusal> {
        let is_reserved = text.eq_ignore_ascii_case(LEADER);
        Self::checked(is_valid(text) && !is_reserved, text)
    }

    fn checked(is_id: bool, text: &str) -> Result<Self, Refusal> {
        match is_id {
            true => Ok(Self(text.to_string())),
            false => Err(Refusal::InvalidTaskId {
                given: text.to_string(),
            }),
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// The known name that `given` most likely meant: nearest by edits, at most a third of its length away.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted = given.trim().to_lowercase();
    let length = wanted.chars().count();
    if length == 0 || length > LONGEST_COMPARED {
        return None;
    }
    let limit = (length / 3).max(1);
    known
        .into_iter()
        .map(|name| (edits(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_string())
}

/// Edits (insert, delete, replace, swap of neighbours) between two short texts.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(LONGEST_COMPARED).collect();
    let a: Vec<char> = a.chars().take(LONGEST_COMPARED).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next: Vec<usize> = Vec::with_capacity(b.len() + 1);
        next.push(i);
        for j in 1..=b.len() {
            let replace = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            next.push(best);
        }
        before = core::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn valid(text: &str) -> bool {
        Name::new(NameKind::Member, text).is_ok()
    }

    #[test]
    fn plain_names_pass() {
        for text in ["w", "worker-1", "A_b-9", "0", &"x".repeat(64)] {
            assert!(valid(text), "{text}");
        }
    }

    #[test]
    fn names_that_could_escape_are_refused() {
        for text in [
            "",
            " ",
            "w1 ",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "a.b",
            "-x",
            "_x",
            "a:b",
            "a*",
            "ä",
            "a\0",
            "a\n",
            &"x".repeat(65),
            "CON",
            "nul",
            "com1",
            "LPT9",
            "aux",
        ] {
            assert!(!valid(text), "{text:?}");
        }
    }

    #[test]
    fn device_names_are_refused_only_whole() {
        for text in ["console", "com", "com10", "nulls", "lpt"] {
            assert!(valid(text), "{text}");
        }
    }

    #[test]
    fn neither_a_team_nor_a_task_is_called_leader() {
        assert!(Name::new(NameKind::Team, "LEADER").is_err());
        assert!(TaskId::fresh("leader").is_err());
        assert!(
            TaskId::new("leader").is_ok(),
            "one that is there is worked on"
        );
    }

    #[test]
    fn leader_is_reserved_in_every_case() {
        assert!(Name::leader().is_leader());
        assert!(Name::new(NameKind::Member, "Leader").unwrap().is_leader());
    }

    #[test]
    fn the_nearest_name_is_offered_and_a_far_one_is_not() {
        let known = ["worker-1", "worker-2", "leader"];
        assert_eq!(nearest("Worker-1", known), Some("worker-1".to_string()));
        assert_eq!(nearest("wroker-2", known), Some("worker-2".to_string()));
        assert_eq!(nearest("team-lead", known), None);
        assert_eq!(nearest("w1 ", ["w1", "w2"]), Some("w1".to_string()));
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("  ", ["a"]), None, "nothing is near to no name");
        assert_eq!(nearest("b", ["a"]), Some("a".to_string()));
        assert_eq!(
            nearest("w12", ["w1", "w2"]),
            Some("w1".to_string()),
            "the first of the nearest"
        );
        assert_eq!(nearest("leadre", known), Some("leader".to_string()));
        assert_eq!(nearest("lexxer", known), Some("leader".to_string()));
        assert_eq!(nearest("lexxxr", known), None);
    }

    #[test]
    fn a_hostile_length_costs_no_more_than_a_long_name() {
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, ["x", "y"]), None);
        assert_eq!(nearest(&long[..200], [&long[..64]]), None);
        assert!(!valid(&long));
    }

    #[test]
    fn what_is_refused_is_told_as_it_was_given() {
        assert_eq!(
            Name::new(NameKind::Lane, "a b"),
            Err(Refusal::name(NameKind::Lane, "a b"))
        );
        assert_eq!(
            TaskId::new("../1"),
            Err(Refusal::InvalidTaskId {
                given: "../1".into()
            })
        );
        let (name, id) = (
            Name::new(NameKind::Member, "w-1").unwrap(),
            TaskId::new("T_1").unwrap(),
        );
        assert_eq!(
            (name.to_string(), name.as_str()),
            ("w-1".to_string(), "w-1")
        );
        assert_eq!((id.to_string(), id.as_str()), ("T_1".to_string(), "T_1"));
    }

    #[test]
    fn a_task_of_the_reference_is_addressed_by_an_id_that_no_new_task_gets() {
        for text in ["_x", "á", "x-á", "任务-1"] {
            assert!(TaskId::new(text).is_ok(), "{text}");
            assert!(TaskId::fresh(text).is_err(), "{text}");
        }
        for text in [
            "", "-x", ".x", "a/b", "a\\b", "a b", "a.b", "a\n", "á\0", "nul",
        ] {
            assert!(TaskId::new(text).is_err(), "{text:?}");
        }
        assert!(TaskId::new(&"á".repeat(33)).is_err(), "64 bytes are enough");
    }

    #[test]
    fn names_are_one_without_regard_to_case() {
        let name = Name::new(NameKind::Member, "Worker-1").unwrap();
        assert!(name.folds_to("wORKER-1"));
        assert!(!name.folds_to("worker-2"));
        assert!(!name.is_leader());
    }

    #[test]
    fn a_name_in_a_file_is_checked_too() {
        assert_eq!(
            serde_json::from_str::<Name>("\"w1\"").unwrap().as_str(),
            "w1"
        );
        assert_eq!(
            serde_json::from_str::<TaskId>("\"1\"").unwrap().as_str(),
            "1"
        );
        assert!(serde_json::from_str::<Name>("\"../w1\"").is_err());
        assert!(serde_json::from_str::<TaskId>("\"../1\"").is_err());
    }

    proptest! {
        #[test]
        fn a_name_never_holds_a_path_or_target_character(text in ".{0,80}") {
            if let Ok(name) = Name::new(NameKind::Team, &text) {
                prop_assert!(name.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
                prop_assert!(name.as_str().len() <= MAX_LEN && name.as_str() == text);
            }
        }

        #[test]
        fn edits_are_a_distance(a in "[a-c]{0,6}", b in "[a-c]{0,6}") {
            prop_assert_eq!(edits(&a, &b), edits(&b, &a));
            prop_assert_eq!(edits(&a, &b) == 0, a == b);
            prop_assert!(edits(&a, &b) <= a.len().max(b.len()));
            prop_assert!(edits(&a, &b) >= a.len().abs_diff(b.len()));
        }

        #[test]
        fn one_slip_is_one_edit(a in "[a-z]{2,8}", at in 0..8_usize, c in proptest::char::range('a', 'z')) {
            let letters: Vec<char> = a.chars().collect();
            let at = at % (letters.len() - 1);
            let told = |letters: Vec<char>| edits(&a, &letters.into_iter().collect::<String>());
            let (mut swapped, mut longer, mut shorter, mut other) =
                (letters.clone(), letters.clone(), letters.clone(), letters.clone());
            swapped.swap(at, at + 1);
            longer.insert(at, c);
            shorter.remove(at);
            other[at] = c;
            prop_assert_eq!(told(swapped), usize::from(letters[at] != letters[at + 1]));
            prop_assert_eq!(told(longer), 1);
            prop_assert_eq!(told(shorter), 1);
            prop_assert_eq!(told(other), usize::from(letters[at] != c));
        }
    }
}
