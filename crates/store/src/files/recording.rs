//! A recording: a file of lines that a person named, private to its user, only ever added to.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{nonblock, read_up_to};
use crate::failure::StoreFailure;

/// The largest recording that is read, in bytes.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Adds a line, which must hold no line end, in one write. A file that is not there begins with `head`.
///
/// # Errors
/// When it cannot be written; `BrokenRecord` for a line that would become two.
pub fn append_line(path: &Path, head: &str, line: &str) -> Result<(), StoreFailure> {
    if line.contains('\n') || head.contains('\n') {
        return Err(StoreFailure::BrokenRecord {
            log: path.display().to_string(),
        });
    }
    let write = || {
        let mut file = File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(nonblock()?)
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no plain file"));
        }
        file.lock()?;
        let mut text = String::with_capacity(head.len() + line.len() + 2);
        if file.metadata()?.len() == 0 {
            text.push_str(head);
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
        file.write_all(text.as_bytes())
    };
    write().map_err(|refused| StoreFailure::io("append to", path, refused))
}

/// The whole text.
///
/// # Errors
/// When it is missing, no plain file, larger than 256 MiB, not UTF-8, or cannot be read.
pub fn read_recording(path: &Path) -> Result<String, StoreFailure> {
    read_up_to(path, LARGEST)
}
