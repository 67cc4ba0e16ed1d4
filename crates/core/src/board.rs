//! The board: findings that members share, in the order in which they came.
//!
//! What was found is a log, one [`Discovery`] a line, and grows with the team's life. What is small and changes is a
//! document, [`Board`]: how far the log has been looked at, where the kept part of it starts, and who was shown what.
//!
//! | to | the caller does |
//! |---|---|
//! | share | appends [`Discovery::encode`] to the log, then updates the board with [`Board::absorb`] of the lines after [`Board::scanned`] |
//! | list | reads the log from [`Board::floor`] and keeps what [`Filter::admits`] |
//! | show | reads some of the log from [`Board::reading_from`], then updates the board with [`Board::show`] |
//!
//! A crash between the two steps of sharing loses nothing: whoever comes next absorbs the line. The board may be
//! deleted; then everybody is shown the last findings once more. Neither is read by claims, so however many findings
//! there are, claims are as fast as without.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::claim::FilePath;
use crate::name::{Name, TaskId};
use crate::refusal::Refusal;
use crate::time::Timestamp;

mod cursor;
mod index;

pub use cursor::{AHEAD, Found, NEWCOMER, Shown};
pub use index::{Absorbed, Board, CAP, Evicted};

/// The longest topic, in bytes.
pub const MOST_TOPIC_BYTES: usize = 200;

/// The largest content, in bytes: 64 KiB.
pub const MOST_CONTENT_BYTES: usize = 64 * 1024;

/// The most paths of one discovery.
pub const MOST_PATHS: usize = 64;

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// Who found it.
    pub agent: Name,
    /// What it is about.
    pub topic: String,
    /// The finding.
    pub content: String,
    /// When it was shared.
    pub timestamp: Timestamp,
    /// The files and folders that it concerns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<FilePath>,
    /// How long it is worth knowing, in milliseconds; `None` is for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

impl Discovery {
    /// A finding of `agent`, checked.
    ///
    /// # Errors
    /// `invalid_input` for an empty, overlong or many-lined topic, empty content, or too many paths; `body_too_large`.
    pub fn new(
        agent: &Name,
        topic: &str,
        content: &str,
        timestamp: Timestamp,
    ) -> Result<Self, Refusal> {
        let found = Self {
            agent: agent.clone(),
            topic: topic.into(),
            content: content.into(),
            timestamp,
            paths: Vec::new(),
            ttl_ms: None,
        };
        found.check().map(|()| found)
    }

    /// The same, about these files and folders.
    ///
    /// # Errors
    /// `invalid_input` for more than [`MOST_PATHS`].
    pub fn about(mut self, paths: Vec<FilePath>) -> Result<Self, Refusal> {
        self.paths = paths;
        self.check().map(|()| self)
    }

    /// The same, worth knowing for this long, in milliseconds.
    ///
    /// # Errors
    /// `invalid_input` for no time at all.
    pub fn for_a_while(mut self, ttl_ms: u64) -> Result<Self, Refusal> {
        self.ttl_ms = Some(ttl_ms);
        self.check().map(|()| self)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.topic.trim().is_empty()
            || self.topic.len() > MOST_TOPIC_BYTES
            || self.topic.chars().any(char::is_control)
        {
            return Err(Refusal::input(
                "topic",
                "must be one line of 1 to 200 bytes",
            ));
        }
        if self.content.trim().is_empty() {
            return Err(Refusal::input("content", "must not be empty"));
        }
        if self.content.len() > MOST_CONTENT_BYTES {
            return Err(Refusal::BodyTooLarge {
                size: self.content.len() as u64,
                limit: MOST_CONTENT_BYTES as u64,
            });
        }
        if self.paths.len() > MOST_PATHS {
            return Err(Refusal::input("paths", "there may be at most 64"));
        }
        if self.ttl_ms == Some(0) {
            return Err(Refusal::input("ttl_ms", "must be one millisecond or more"));
        }
        Ok(())
    }

    /// One line of the log, without its line end.
    ///
    /// # Errors
    /// What cannot be written, in words; nothing that was checked.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads one line of the log, whoever wrote it.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn decode(line: &[u8]) -> Result<Self, serde_json::Error> {
        crate::json::read_object(line)
    }

    /// Whether it is still worth knowing.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.ttl_ms.is_none_or(|ttl| {
            let ttl = i64::try_from(ttl).unwrap_or(i64::MAX);
            self.timestamp.plus_millis(ttl) > now
        })
    }

    /// Whether it concerns `file`: that file, or a folder that it lies in.
    #[must_use]
    pub fn concerns(&self, file: &FilePath) -> bool {
        self.paths.iter().any(|path| file.is_below(path))
    }
}

/// Which findings somebody wants to see. Without any condition, all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only of this topic, compared without regard to case.
    pub topic: Option<String>,
    /// Only what concerns this file, or lies below this folder.
    pub path: Option<FilePath>,
    /// Only what was shared at this instant or later.
    pub since: Option<Timestamp>,
}

impl Filter {
    /// Whether the finding is among them at `now`.
    #[must_use]
    pub fn admits(&self, found: &Discovery, now: Timestamp) -> bool {
        let topic = self.topic.as_ref();
        let path = self.path.as_ref();
        found.is_live(now)
            && topic.is_none_or(|topic| topic.to_lowercase() == found.topic.to_lowercase())
            && path.is_none_or(|path| {
                found.concerns(path) || found.paths.iter().any(|about| about.is_below(path))
            })
            && self.since.is_none_or(|since| found.timestamp >= since)
    }
}

/// What a member is busy with, for telling which findings it should see first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interest {
    /// The files of which it holds lines.
    pub files: Vec<FilePath>,
    /// The tasks that it has.
    pub tasks: Vec<TaskId>,
}

impl Interest {
    /// Whether the finding concerns one of its files or names one of its tasks.
    #[must_use]
    pub fn meets(&self, found: &Discovery) -> bool {
        self.files.iter().any(|file| found.concerns(file))
            || self.tasks.iter().any(|task| {
                let task = task.as_str();
                found.topic == task || names(&found.topic, task) || names(&found.content, task)
            })
    }
}

/// Whether `text` names the task: its id as a word of its own. A bare number or a single letter stands for anything,
/// so it must follow `task` or `#`.
fn names(text: &str, task: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let plain = task.len() > 1 && task.bytes().any(|b| b.is_ascii_alphabetic());
    text.match_indices(task).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + task.len()..]);
        let ends = !after.starts_with(in_word);
        let called = || {
            let word = before.trim_end_matches([' ', ':', '-', '_', '/']);
            let tail = word.get(word.len().saturating_sub(4)..).unwrap_or("");
            before.ends_with('#') || tail.eq_ignore_ascii_case("task") && word.len() < before.len()
        };
        ends && (plain && !before.ends_with(in_word) || called())
    })
}

#[cfg(test)]
mod tests;
