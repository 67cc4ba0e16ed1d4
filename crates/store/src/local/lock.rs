//! Waiting for another process: the one place in the store that sleeps.
//!
//! A lock is an advisory one (`flock`) on an open file or folder. It belongs to the opened handle, so threads of one
//! process exclude each other like processes do, and it ends with its holder, however that ends. Waiting is bounded:
//! the wait is short steps that grow, because a holder keeps a lock for the time of one or two disk syncs.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use crate::failure::StoreFailure;

/// How long a lock is waited for unless the store is told otherwise. Holders need milliseconds; one that takes longer
/// than this is stopped or stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Steps that give the processor away before the first sleep.
const YIELDS: u32 = 4;

const FIRST_STEP: Duration = Duration::from_micros(30);
const LONGEST_STEP: Duration = Duration::from_millis(1);

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    file: &'a File,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing the handle ends the lock as well; this only does it sooner, also when a child holds a copy.
        let _ = self.file.unlock();
    }
}

/// Locks `file`, which stands at `path`, against every other handle on it.
///
/// # Errors
/// `Locked` after `patience`; `Io` when the file system has no locks.
pub(crate) fn exclusive<'a>(
    file: &'a File,
    path: &Path,
    patience: Duration,
) -> Result<Held<'a>, StoreFailure> {
    let mut yields = 0;
    let mut step = FIRST_STEP;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Held { file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(refused)) => {
                return Err(StoreFailure::io("lock", path, refused));
            }
        }
        if waited >= patience {
            return Err(StoreFailure::Locked {
                path: path.to_path_buf(),
            });
        }
        if yields < YIELDS {
            yields += 1;
            std::thread::yield_now();
            continue;
        }
        waited += step;
        pause(step);
        step = (step * 3 / 2).min(LONGEST_STEP);
    }
}

/// Sleeps.
#[expect(
    clippy::disallowed_methods,
    reason = "the store's one home of waiting for another process"
)]
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(span);
}
