//! Writing a file outside a team in one step: a reader sees what stood there or the new text, whole.
//!
//! What always holds: a full disk, a limit on the size of files (`ulimit -f`) or a kill leaves what stood there. The
//! folder is locked meanwhile, so two that write the same file do not meet, and what a link under the draft's name leads
//! to is not touched. A link in the place of the file itself is replaced.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::failure::StoreFailure;
use crate::layout;
use crate::local::folder::Folder;
use crate::local::{PATIENCE, room};

/// Puts a file that says `text` in the place of what stands at `name` in `folder`, which is there. Without a `mode` it
/// gets the one that new files get.
///
/// # Errors
/// When it cannot be written; what stood there still does.
pub(super) fn put(
    folder: &Path,
    name: &str,
    text: &[u8],
    mode: Option<u32>,
) -> Result<(), StoreFailure> {
    let path = folder.join(name);
    let draft = folder.join(layout::draft(name));
    let locked = Folder::follow(folder)?;
    let _held = locked
        .as_ref()
        .map(|folder| folder.lock(PATIENCE))
        .transpose()?;
    let write = || {
        room::expect(text.len() as u64)?;
        // A writer that was killed may have left it.
        match std::fs::remove_file(&draft) {
            Err(refused) if refused.kind() != io::ErrorKind::NotFound => return Err(refused),
            _ => {}
        }
        // Nobody else reads it before it has its mode.
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(mode.map_or(0o666, |mode| mode & 0o600))
            .open(&draft)?;
        file.write_all(text)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        std::fs::rename(&draft, &path)
    };
    write().map_err(|refused| {
        // What went wrong first is what is reported.
        let _ = std::fs::remove_file(&draft);
        StoreFailure::io("write", &path, refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_there_is_replaced_whole_and_no_link_is_written_through() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let other = outside.path().join("other");
        std::fs::write(&other, "theirs").unwrap();
        let (name, here) = ("a.1", folder.path());
        std::os::unix::fs::symlink(&other, here.join(name)).unwrap();
        let draft = layout::draft(name);
        std::os::unix::fs::symlink(&other, here.join(draft)).unwrap();
        put(here, name, b"ours", Some(0o750)).unwrap();
        assert_eq!(std::fs::read(here.join(name)).unwrap(), b"ours");
        let mode = std::fs::symlink_metadata(here.join(name)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o7777, 0o750);
        assert_eq!(std::fs::read(&other).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(here).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_put_there_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a.1/x")).unwrap();
        assert!(put(folder.path(), "a.1", b"ours", None).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
