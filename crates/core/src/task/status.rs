//! The status of a task, and its word in files and on the command line.

use core::fmt;
use serde::{Deserialize, Serialize};

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody has it.
    Pending,
    /// Its owner works on it.
    InProgress,
    /// Done. Final.
    Completed,
    /// Given up; it can be tried again.
    Failed,
}

impl Status {
    /// The word in files and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Reads the word; `None` for any other.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Pending,
            Self::InProgress,
            Self::Completed,
            Self::Failed,
        ]
        .into_iter()
        .find(|s| s.word() == word)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_word_is_what_is_written_and_read() {
        let all = [
            (Status::Pending, "pending"),
            (Status::InProgress, "in_progress"),
            (Status::Completed, "completed"),
            (Status::Failed, "failed"),
        ];
        for (status, word) in all {
            assert_eq!(status.word(), word);
            assert_eq!(Status::parse(word), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), word);
        }
        for word in ["", "banana", "Pending", "in-progress", "completed "] {
            assert_eq!(Status::parse(word), None, "{word:?}");
        }
    }
}
