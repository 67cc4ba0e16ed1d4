//! What the hooks of an agent's program have told about it, and which mail they have shown in its present turn.
//!
//! | told | activity after it | mail |
//! |---|---|---|
//! | a session begins | idle | nothing counts as shown |
//! | a turn begins | busy | all that is unread is shown; what a forced turn was begun with is not shown again |
//! | it asks its user | asking | as before |
//! | a turn ends | idle, or busy once more when there is new mail | what was shown has been used: it is acknowledged |
//! | the session ends | ended | as before |
//!
//! Always holds: mail is acknowledged only after a turn that had all of it in its input has ended by itself; what was
//! shown in a turn that was broken off is shown again; no message forces a second turn.
//!
//! Not here: what is unread, and how a program takes what it is shown.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// So many messages are remembered as named.
const REMEMBERED: usize = 256;

/// What a program does, as its hooks tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It waits for its user.
    #[default]
    Idle,
    /// A turn runs.
    Busy,
    /// It asks whether it may do something.
    Asking,
    /// Its session is over.
    Ended,
}

impl Activity {
    /// The word in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Asking => "asking",
            Self::Ended => "ended",
        }
    }
}

/// What one program's hooks have told and shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// What it does.
    pub activity: Activity,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The messages that stand whole in the input of the present turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
    /// Messages that have forced a turn or were named in one. None of them forces another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Whether the present turn was forced.
    #[serde(skip_serializing_if = "is_not")]
    pub forced: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_not(flag: &bool) -> bool {
    !*flag
}

impl Told {
    /// A session begins: nothing that was said before is in it for certain.
    pub fn begin(&mut self, now: Timestamp) {
        *self = Self {
            activity: Activity::Idle,
            since: Some(now),
            ..Self::default()
        };
    }

    /// A turn begins. What a turn that was broken off had been shown is to be shown again.
    pub fn prompt(&mut self, now: Timestamp) {
        // Some programs tell of a forced turn as if their user had begun it.
        if !self.forced {
            self.shown.clear();
        }
        self.forced = false;
        self.turn(Activity::Busy, now);
    }

    /// It asks its user.
    pub fn ask(&mut self, now: Timestamp) {
        self.turn(Activity::Asking, now);
    }

    /// The turn ended by itself. Answers the messages that it had in its input: they have been used.
    pub fn end(&mut self, now: Timestamp) -> Vec<String> {
        self.forced = false;
        self.turn(Activity::Idle, now);
        core::mem::take(&mut self.shown)
    }

    /// The session is over.
    pub fn leave(&mut self, now: Timestamp) {
        self.turn(Activity::Ended, now);
    }

    /// The turn that was about to end goes on with new mail.
    pub fn force(&mut self, now: Timestamp) {
        self.forced = true;
        self.turn(Activity::Busy, now);
    }

    /// Messages stand in the input of the present turn: `whole` ones, and `named` ones that are only spoken of.
    pub fn note(&mut self, whole: &[String], named: &[String]) {
        for id in whole.iter().chain(named) {
            if !self.named.contains(id) {
                self.named.push(id.clone());
            }
        }
        let surplus = self.named.len().saturating_sub(REMEMBERED);
        self.named.drain(..surplus);
        for id in whole {
            if !self.shown.contains(id) {
                self.shown.push(id.clone());
            }
        }
    }

    /// Whether a message is to be shown in a turn that begins.
    #[must_use]
    pub fn is_unshown(&self, id: &str) -> bool {
        !self.shown.iter().any(|shown| shown == id)
    }

    /// Whether a message was never spoken of, so that it may force a turn.
    #[must_use]
    pub fn is_new(&self, id: &str) -> bool {
        self.is_unshown(id) && !self.named.iter().any(|named| named == id)
    }

    fn turn(&mut self, activity: Activity, now: Timestamp) {
        if self.activity != activity || self.since.is_none() {
            self.since = Some(now);
        }
        self.activity = activity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::vec;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn mail_is_used_when_the_turn_that_showed_it_has_ended() {
        let mut told = Told::default();
        told.begin(at(0));
        told.prompt(at(1));
        assert_eq!((told.activity, told.since), (Activity::Busy, Some(at(1))));
        told.note(&ids(&["a"]), &ids(&["long"]));
        assert!(!told.is_unshown("a") && told.is_unshown("long") && !told.is_new("long"));
        assert_eq!(told.end(at(2)), ids(&["a"]));
        assert_eq!(told.end(at(3)), ids(&[]));
        assert_eq!((told.activity, told.since), (Activity::Idle, Some(at(2))));
    }

    #[test]
    fn a_turn_that_was_broken_off_has_used_nothing() {
        let mut told = Told::default();
        told.prompt(at(1));
        told.note(&ids(&["a"]), &[]);
        told.ask(at(2));
        told.prompt(at(3));
        assert!(told.is_unshown("a"), "it is shown again");
    }

    #[test]
    fn a_forced_turn_that_is_told_of_as_a_new_one_shows_nothing_twice() {
        let mut told = Told::default();
        told.prompt(at(1));
        assert_eq!(told.end(at(2)), ids(&[]));
        told.force(at(2));
        told.note(&ids(&["a"]), &[]);
        told.prompt(at(3));
        assert!(!told.is_unshown("a"));
        assert_eq!(told.end(at(4)), ids(&["a"]));
        assert!(!told.is_new("a"), "and forces no second turn");
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut told = Told::default();
        let many: Vec<String> = (0..1000).map(|id| alloc::format!("{id}")).collect();
        told.note(&[], &many);
        assert_eq!(told.named.len(), REMEMBERED);
        assert_eq!(told.named.last(), many.last());
        assert_eq!(told.shown, vec![] as Vec<String>);
    }
}
