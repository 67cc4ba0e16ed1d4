//! What a turn prints, as this program read it: beside the file that people look at, in memory, where nobody changes it.
//!
//! | the file at the turn's end | what counts |
//! |---|---|
//! | is what was read | it |
//! | is gone, another, or longer or shorter | what was read; it is written anew, and the turn has failed |
//! | could not be written any more (a full disk) | what was read until then |
//!
//! Always holds: the answer of a turn is made of what its process wrote into its pipes and of nothing else. Memory is
//! bounded as the file is ([`Cap`](crate::process::Cap)), and freed at the turn's end.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use pitcrew_store::StoreFailure;
use pitcrew_store::files::WorkerFiles;

use crate::process::{Kept, Sink};

/// What was read of one stream.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    name: &'static str,
    bytes: Arc<Mutex<Vec<u8>>>,
}

/// The file and the memory of one stream.
pub(super) struct Twin {
    file: Box<dyn Sink>,
    bytes: Arc<Mutex<Vec<u8>>>,
}

/// Makes the empty file `name`. What stands there already is not this turn's and goes.
///
/// # Errors
/// When it cannot be made.
pub(super) fn fresh(files: &WorkerFiles, name: &'static str) -> Result<(Twin, Seen), StoreFailure> {
    let bytes = Arc::<Mutex<Vec<u8>>>::default();
    let file = loop {
        if let Some(file) = files.create(name)? {
            break Box::new(file);
        }
        files.remove(name)?;
    };
    let seen = Seen {
        name,
        bytes: Arc::clone(&bytes),
    };
    Ok((Twin { file, bytes }, seen))
}

impl Sink for Twin {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)?;
        self.bytes.write_at(offset, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.truncate(length)?;
        self.bytes.truncate(length)
    }
}

impl Seen {
    /// What was read, once its turn is over.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let bytes = self.bytes.lock();
        bytes.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Holds the file against what was read, `bytes`. Answers what was done to it, and writes it anew then.
    ///
    /// # Errors
    /// When it cannot be looked at, or not be written.
    pub(super) fn check(
        &self,
        files: &WorkerFiles,
        bytes: &[u8],
        kept: &Kept,
    ) -> Result<Option<String>, StoreFailure> {
        if kept.failure.is_some() {
            return Ok(None);
        }
        let found = files.tail(self.name, (bytes.len() as u64).saturating_add(1))?;
        let what = match found {
            Some(found) if found == bytes => return Ok(None),
            Some(_) => "was changed",
            None => "was removed",
        };
        files.write(self.name, bytes)?;
        Ok(Some(format!(
            "its {} {what} while it ran; what it really printed is written anew",
            self.name
        )))
    }
}
