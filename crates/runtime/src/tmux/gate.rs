//! The gate in front of an agent: a process that waits for its file and then becomes the agent.
//!
//! The file says which variables are set and dropped and which command is run. It is private to the user, it is removed
//! when it was read, and it is the only way that a secret reaches a pane: a command line can be read by everybody.
//!
//! Not here: writing the file, which its launcher does once the pane is recorded.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pitcrew_store::StoreFailure;
use pitcrew_store::files::take_private;

use crate::clock::{Clock, SystemClock};

/// How often the gate looks for its file.
const PAUSE: Duration = Duration::from_millis(4);

/// What stands in a gate's file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// Variables to set, over what tmux gives to its panes.
    pub set: Vec<(OsString, OsString)>,
    /// Variables that must not reach the agent.
    pub unset: Vec<OsString>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Why a gate did not open.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// Nobody wrote the file in time: the launch was given up.
    #[error("nothing came to be started within {waited_ms} ms")]
    NothingCame {
        /// How long it waited, in milliseconds.
        waited_ms: i64,
    },
    /// The file could not be read or is not private.
    #[error(transparent)]
    File(#[from] StoreFailure),
    /// The file does not say what it should.
    #[error("{} cannot be understood", .path.display())]
    Garbled {
        /// The file.
        path: PathBuf,
    },
    /// The program could not be started.
    #[error("{program} could not be started: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Entry {
    /// The file's bytes: records that end in NUL, which no variable and no argument can hold.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut record = |sign: u8, parts: &[&[u8]]| {
            bytes.push(sign);
            parts.iter().for_each(|part| bytes.extend_from_slice(part));
            bytes.push(0);
        };
        for (name, value) in &self.set {
            record(b'+', &[name.as_bytes(), b"=", value.as_bytes()]);
        }
        self.unset
            .iter()
            .for_each(|name| record(b'-', &[name.as_bytes()]));
        self.command
            .iter()
            .for_each(|word| record(b'>', &[word.as_bytes()]));
        bytes
    }

    /// Reads them back; `None` when they are no entry.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut entry = Self::default();
        for record in bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0) {
            let (sign, text) = record.split_first()?;
            let word = || OsString::from_vec(text.to_vec());
            match sign {
                b'+' => {
                    let end = text.iter().position(|byte| *byte == b'=')?;
                    let (name, value) = (&text[..end], &text[end + 1..]);
                    let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
                    entry.set.push((word(name), word(value)));
                }
                b'-' => entry.unset.push(word()),
                b'>' => entry.command.push(word()),
                _ => return None,
            }
        }
        (!entry.command.is_empty()).then_some(entry)
    }
}

/// Waits for the file and becomes the agent. Comes back only when that failed.
///
/// # Errors
/// [`GateError`].
pub fn enter(file: &Path, patience: Duration) -> Result<Infallible, GateError> {
    let start = SystemClock.monotonic();
    let bytes = loop {
        if let Some(bytes) = take_private(file)? {
            break bytes;
        }
        let waited_ms = SystemClock.monotonic() - start;
        if u128::try_from(waited_ms).is_ok_and(|waited| waited >= patience.as_millis()) {
            return Err(GateError::NothingCame { waited_ms });
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the file is the only thing that this process waits for, and it has nothing else to do"
        )]
        std::thread::sleep(PAUSE);
    };
    let garbled = || GateError::Garbled {
        path: file.to_path_buf(),
    };
    let entry = Entry::from_bytes(&bytes).ok_or_else(garbled)?;
    let (program, arguments) = entry.command.split_first().ok_or_else(garbled)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this process becomes the agent; none is started beside it"
    )]
    let mut command = Command::new(program);
    entry.unset.iter().for_each(|name| {
        command.env_remove(name);
    });
    let source = command
        .args(arguments)
        .envs(entry.set.iter().cloned())
        .exec();
    Err(GateError::NotStarted {
        program: program.to_string_lossy().into_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_survives_its_file() {
        let entry = Entry {
            set: vec![("A".into(), "x=y\nz".into()), ("B".into(), OsString::new())],
            unset: vec!["C".into()],
            command: vec![
                "agent".into(),
                OsString::new(),
                OsString::from_vec(vec![0xff]),
            ],
        };
        assert_eq!(Entry::from_bytes(&entry.to_bytes()), Some(entry));
    }

    #[test]
    fn what_is_no_entry_starts_nothing() {
        for bytes in [&b""[..], b"\0", b"+A=b\0", b">agent", b"?x\0", b"+A\0>x\0"] {
            assert_eq!(Entry::from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
