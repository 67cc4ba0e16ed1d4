//! The project's own state, beside its teams: loop modes, and the monitor with its lock.
//!
//! | what | where | ends |
//! |---|---|---|
//! | a loop mode | `<mode>.json`, a document | when it is cancelled or has passed |
//! | who watches the project | `monitor.json`, a document | stays, for who asks later |
//! | that somebody watches it | a lock on `monitor.lock` | with its holder, however that ends |
//!
//! The lock belongs to an open file. Whoever starts a monitor takes the lock and hands that file over as the new process's
//! standard input: so there is no moment in which two could start one, or in which it is held by nobody.

use std::fs::{File, TryLockError};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use pitcrew_core::loops::Mode;

use super::folder::{Folder, stamp};
use super::{LocalStore, Project, lock};
use crate::failure::StoreFailure;
use crate::layout;
use crate::port::Place;

/// What is locked while somebody watches the project.
const LOCK: &str = "monitor.lock";

/// The right to watch a project, as long as this or a copy of its file is open.
#[derive(Debug)]
pub struct Watching(File);

impl Watching {
    /// The open file that holds the lock, to be handed to another process.
    #[must_use]
    pub fn into_handle(self) -> OwnedFd {
        self.0.into()
    }

    /// Gives the lock up at once, for every process that has the file.
    ///
    /// # Errors
    /// When the file system has no locks.
    pub fn release(self, project: &Project) -> Result<(), StoreFailure> {
        let path = project.state_dir().join(LOCK);
        self.0
            .unlock()
            .map_err(|refused| StoreFailure::io("unlock", &path, refused))
    }
}

impl Project {
    /// The project's own state as a store, which need not exist.
    #[must_use]
    pub fn state(&self) -> LocalStore {
        LocalStore::new(self.state_dir())
    }

    /// As [`Self::state`], with its folder made if need be; the project's root has to be there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn state_to_write(&self) -> Result<LocalStore, StoreFailure> {
        self.make_folder(&self.state_dir())?;
        Ok(self.state())
    }

    /// Removes the document of a loop mode, whatever is in it; answers whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_loop(&self, mode: Mode) -> Result<bool, StoreFailure> {
        let Some(folder) = Folder::open(&self.state_dir())? else {
            return Ok(false);
        };
        let _held = folder.lock(lock::PATIENCE)?;
        folder.remove(&layout::document(&Place::Loop(mode)).file)
    }

    /// Takes the right to watch this project; `None` when somebody has it. Makes the folder if need be.
    ///
    /// # Errors
    /// When the lock cannot be reached, or the file system has none.
    pub fn watch_over(&self) -> Result<Option<Watching>, StoreFailure> {
        let folder = self.make_folder(&self.state_dir())?;
        let file = folder.appendable(LOCK)?;
        take(file, &folder.child(LOCK))
    }

    /// The right to watch this project that was handed over as the open file `given`; `None` when that is another file,
    /// or somebody else has the right.
    ///
    /// # Errors
    /// When the lock cannot be reached, or the file system has none.
    pub fn watch_with(&self, given: BorrowedFd<'_>) -> Result<Option<Watching>, StoreFailure> {
        let path = self.monitor_lock();
        let Some(folder) = Folder::open(&self.state_dir())? else {
            return Ok(None);
        };
        let failed = |refused: std::io::Error| StoreFailure::io("look at", &path, refused);
        let there = folder.stamp(LOCK)?;
        let stat = rustix::fs::fstat(given).map_err(|refused| failed(refused.into()))?;
        if there.is_none_or(|there| !there.is_same_file(&stamp(&stat))) {
            return Ok(None);
        }
        let file = given.as_fd().try_clone_to_owned().map_err(failed)?;
        take(File::from(file), &path)
    }

    /// Where the file is whose lock is the right to watch this project. A monitor has it as its standard input.
    #[must_use]
    pub fn monitor_lock(&self) -> PathBuf {
        self.state_dir().join(LOCK)
    }

    /// Whether somebody watches this project. Changes nothing, and makes nobody wait.
    ///
    /// # Errors
    /// When the lock cannot be reached.
    pub fn is_watched(&self) -> Result<bool, StoreFailure> {
        let Some(folder) = Folder::open(&self.state_dir())? else {
            return Ok(false);
        };
        match folder.file(LOCK)? {
            None => Ok(false),
            Some((file, _)) => is_held(&file, &folder.child(LOCK)),
        }
    }
}

fn take(file: File, path: &Path) -> Result<Option<Watching>, StoreFailure> {
    // Who only looks holds the lock for a moment.
    for _ in 0..LOOKS {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Watching(file))),
            Err(TryLockError::WouldBlock) => lock::pause(std::time::Duration::from_millis(1)),
            Err(TryLockError::Error(refused)) => {
                return Err(StoreFailure::io("lock", path, refused));
            }
        }
    }
    Ok(None)
}

/// How often a lock is tried that somebody may only be looking at.
const LOOKS: u32 = 20;

fn is_held(file: &File, path: &Path) -> Result<bool, StoreFailure> {
    match file.try_lock_shared() {
        // Closing the file gives it up.
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(refused)) => Err(StoreFailure::io("lock", path, refused)),
    }
}
