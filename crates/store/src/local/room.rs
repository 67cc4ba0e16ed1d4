//! The limit that the system may set on the size of files (`ulimit -f`).
//!
//! Writing beyond it does not fail: it ends the process with a signal, in the middle of a record where the first part
//! still had room. So it is looked at before, and what would not fit is refused whole, as on a full disk. Where there is
//! no limit, which is nearly everywhere, that is one quick system call.

use std::io;

use rustix::process::{Resource, getrlimit};

/// Refuses a file that is to end at `end`, in bytes, if the system will not let it become so long.
pub(crate) fn expect(end: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if end > limit => Err(io::Error::new(
            io::ErrorKind::QuotaExceeded,
            format!("a file may have no more than {limit} bytes here (ulimit -f)"),
        )),
        _ => Ok(()),
    }
}
