//! The settings file of another program, whole: read, replaced in one step, removed.
//!
//! A person named the place, so links on the way are followed and the file that they lead to is replaced; its mode
//! stays. A file that is no text, too large or something else than a file is refused.

use std::path::{Path, PathBuf};

use super::hook::{HookFile, Standing};
use super::workspace::resolved;
use crate::failure::StoreFailure;

/// One settings file, which need not exist.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    file: HookFile,
    path: PathBuf,
}

impl SettingsFile {
    /// The one that `path` leads to.
    ///
    /// # Errors
    /// When links on the way cannot be followed, or it has no name.
    pub fn at(path: &Path) -> Result<Self, StoreFailure> {
        let path = resolved(path)?;
        let escapes = || StoreFailure::Escapes { path: path.clone() };
        let folder = path.parent().ok_or_else(escapes)?;
        let name = path.file_name().and_then(|name| name.to_str());
        Ok(Self {
            file: HookFile::new(folder, name.ok_or_else(escapes)?),
            path: path.clone(),
        })
    }

    /// Where it is, behind all links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says; `None` when it is not there.
    ///
    /// # Errors
    /// When it cannot be read, or is no file or no text.
    pub fn read(&self) -> Result<Option<String>, StoreFailure> {
        let refused = |kind: std::io::ErrorKind| StoreFailure::io("read", &self.path, kind.into());
        match self.file.look()? {
            Standing::Nothing => Ok(None),
            Standing::Plain { text, .. } => String::from_utf8(text)
                .map(Some)
                .map_err(|_| refused(std::io::ErrorKind::InvalidData)),
            Standing::Other => Err(refused(std::io::ErrorKind::InvalidInput)),
        }
    }

    /// Writes it whole, in one step. Its folder is made if need be.
    ///
    /// # Errors
    /// When it cannot be written; what stood there still does.
    pub fn write(&self, text: &str) -> Result<(), StoreFailure> {
        let mode = match self.file.look()? {
            Standing::Plain { mode, .. } => mode,
            Standing::Nothing | Standing::Other => 0o600,
        };
        self.file.write(text.as_bytes(), mode)
    }

    /// Removes it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> Result<(), StoreFailure> {
        self.file.remove()
    }

    /// Removes it, and its folder if nothing else stands there.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn remove_with_folder(&self) -> Result<(), StoreFailure> {
        self.file.remove()?;
        // One that is not empty stays, whatever the system says of it.
        let _kept = self.path.parent().map(std::fs::remove_dir);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_link_stays_one_and_the_mode_stays() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("dotfiles.json");
        std::fs::write(&real, "{}").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("settings.json");
        symlink("dotfiles.json", &link).unwrap();
        let file = SettingsFile::at(&link).unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some("{}"));
        file.write("{ }").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "{ }");
        let mode = std::fs::metadata(&real).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/settings.json");
        let file = SettingsFile::at(&path).unwrap();
        assert_eq!(file.read().unwrap(), None);
        file.write("{}").unwrap();
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(file.read().is_err());
        file.remove().unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(file.read().is_err());
    }
}
