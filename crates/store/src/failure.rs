//! What goes wrong in a store: closed, with what was tried, where, and why.

use std::io;
use std::path::{Path, PathBuf};

use crate::port::Place;

/// A failure of a store. Not a refusal: nobody expected it, and the same request may work later.
#[derive(Debug, thiserror::Error)]
pub enum StoreFailure {
    /// The file system said no.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried: a verb phrase such as `append to`.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A document is not what its place says. It is left as it is.
    #[error("{place} cannot be read: {why}")]
    CorruptDocument {
        /// Which one, as a path where there is one.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// A cursor points beyond the end of its log: the log was truncated or replaced.
    #[error("{log} was truncated: it has {len} bytes and was read up to {cursor}")]
    LogTruncated {
        /// Which log.
        log: String,
        /// Its length now, in bytes.
        len: u64,
        /// The cursor.
        cursor: u64,
        /// Where the file starts that is written to now. What it holds may all be new.
        start: u64,
    },
    /// Something inside the team's folder leads out of it.
    #[error("{} is not opened: where a plain file or folder of its own belongs stands something else, perhaps a link", path.display())]
    Escapes {
        /// The link, the thing that stands where a file or folder belongs, or the file with a second name.
        path: PathBuf,
    },
    /// A record would have become two.
    #[error("a record for {log} holds a line end")]
    BrokenRecord {
        /// Which log.
        log: String,
    },
    /// A rule tried to change a second document. Nothing was changed.
    #[error("{place} cannot be changed from inside the change of another document")]
    NestedUpdate {
        /// The second document.
        place: String,
    },
    /// Another process held the lock for too long.
    #[error("{} is locked by another process", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// Another program is in the middle of claiming the task. Nothing was changed.
    #[error("another program is claiming the task: {} is its mark", path.display())]
    Claiming {
        /// The mark of its claim.
        path: PathBuf,
    },
}

impl StoreFailure {
    /// A document that cannot be read.
    #[must_use]
    pub fn corrupt(place: &Place, why: &str) -> Self {
        Self::CorruptDocument {
            place: place.to_string(),
            why: why.to_string(),
        }
    }

    /// A failed system call on `path`.
    #[must_use]
    pub fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            what,
            path: path.to_path_buf(),
            source,
        }
    }

    /// Whether one file is to blame, so that whoever looks at many of them reports this one and goes on with the rest.
    #[must_use]
    pub fn is_of_one_file(&self) -> bool {
        match self {
            Self::Io { .. } | Self::CorruptDocument { .. } | Self::Escapes { .. } => true,
            Self::LogTruncated { .. }
            | Self::BrokenRecord { .. }
            | Self::NestedUpdate { .. }
            | Self::Locked { .. }
            | Self::Claiming { .. } => false,
        }
    }

    /// What went wrong, where and why, for a report about one file among others.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{self}: {source}"),
            other => other.to_string(),
        }
    }

    /// The stable code that programs match on.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "storage_full",
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "not_permitted"
                }
                _ => "io_failed",
            },
            Self::CorruptDocument { .. } => "corrupt_document",
            Self::LogTruncated { .. } => "log_truncated",
            Self::Escapes { .. } => "escapes_team_folder",
            Self::Locked { .. } => "locked",
            Self::Claiming { .. } => "claim_race",
            Self::BrokenRecord { .. } => "broken_record",
            Self::NestedUpdate { .. } => "nested_update",
        }
    }
}
