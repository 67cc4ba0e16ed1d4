//! A file that hands a secret from one process to the next: private to the user, read once, then gone.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::failure::StoreFailure;

/// The largest that is read.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Reads a private file and removes it; `None` when there is none yet.
///
/// # Errors
/// When it cannot be read or removed, is a link or no plain file, belongs to somebody else, or may be read or written by
/// others; what others may have read is no secret, and what they may have written is no order.
pub fn take_private(path: &Path) -> Result<Option<Vec<u8>>, StoreFailure> {
    let failed = |refused| StoreFailure::io("read", path, refused);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags =
        i32::try_from(flags.bits()).map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(absent) if absent.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(refused) => return Err(failed(refused)),
    };
    let found = file.metadata().map_err(failed)?;
    let is_private =
        found.mode() & 0o077 == 0 && found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_file() || !is_private || found.len() > LARGEST {
        let why = "it is no plain file that is private to its user";
        return Err(failed(io::Error::other(why)));
    }
    std::fs::remove_file(path).map_err(|refused| StoreFailure::io("remove", path, refused))?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_private_file_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("entry");
        assert_eq!(take_private(&path).unwrap(), None);
        std::fs::write(&path, b"secret").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(take_private(&path).unwrap().unwrap(), b"secret");
        assert_eq!(take_private(&path).unwrap(), None);
    }

    #[test]
    fn what_others_may_read_or_what_is_a_link_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("entry");
        std::fs::write(&path, b"secret").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(take_private(&path).is_err());
        let link = folder.path().join("link");
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(take_private(&link).is_err());
        assert!(path.exists());
    }
}
