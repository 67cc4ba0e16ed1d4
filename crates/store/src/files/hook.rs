//! One hook of version control: looked at, written whole, set aside, brought back.
//!
//! The folder is the one that version control names. A hook is replaced in one step, so a commit at the same moment
//! runs the old one or the new one. What is set aside keeps everything: a link stays a link, a mode a mode. Nothing is
//! written over that was not looked at.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::LARGEST_TEXT;
use crate::failure::StoreFailure;

/// A hook by its folder and name.
#[derive(Debug, Clone)]
pub struct HookFile {
    folder: PathBuf,
    name: String,
}

/// What stands at a hook's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A plain file.
    Plain {
        /// What it says.
        text: Vec<u8>,
        /// Its mode bits.
        mode: u32,
    },
    /// A link, a folder or something else, or a file too large to be a script.
    Other,
}

impl HookFile {
    /// The hook `name` in `folder`, neither of which need exist.
    #[must_use]
    pub fn new(folder: &Path, name: &str) -> Self {
        Self {
            folder: folder.to_path_buf(),
            name: name.to_owned(),
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// What stands there.
    ///
    /// # Errors
    /// When it cannot be looked at or read.
    pub fn look(&self) -> Result<Standing, StoreFailure> {
        let path = self.path();
        let failed = |refused| StoreFailure::io("read", &path, refused);
        let found = match std::fs::symlink_metadata(&path) {
            Err(absent) if absent.kind() == io::ErrorKind::NotFound => {
                return Ok(Standing::Nothing);
            }
            found => found.map_err(failed)?,
        };
        if !found.is_file() || found.len() > LARGEST_TEXT {
            return Ok(Standing::Other);
        }
        let mut text = Vec::new();
        let file = File::open(&path).map_err(failed)?;
        file.take(LARGEST_TEXT)
            .read_to_end(&mut text)
            .map_err(failed)?;
        Ok(Standing::Plain {
            text,
            mode: found.permissions().mode() & 0o7777,
        })
    }

    /// Writes it whole, in one step. The folder is made if need be.
    ///
    /// # Errors
    /// When it cannot be written; what stood there still does.
    pub fn write(&self, text: &[u8], mode: u32) -> Result<(), StoreFailure> {
        let path = self.path();
        let failed = |refused| StoreFailure::io("write", &path, refused);
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        super::whole::put(&self.folder, &self.name, text, Some(mode))
    }

    /// Moves whatever stands there to `other`, at which nothing may stand.
    ///
    /// # Errors
    /// When something stands there, or it cannot be moved.
    pub fn move_to(&self, other: &Self) -> Result<(), StoreFailure> {
        let (from, to) = (self.path(), other.path());
        let failed = |refused| StoreFailure::io("move", &from, refused);
        if other.look()? != Standing::Nothing {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        std::fs::rename(&from, &to).map_err(failed)
    }

    /// Moves it to `other`, over what stands there.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn move_over(&self, other: &Self) -> Result<(), StoreFailure> {
        let (from, to) = (self.path(), other.path());
        std::fs::rename(&from, &to).map_err(|refused| StoreFailure::io("move", &from, refused))
    }

    /// Removes it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> Result<(), StoreFailure> {
        let path = self.path();
        std::fs::remove_file(&path).map_err(|refused| StoreFailure::io("remove", &path, refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_written_whole_and_set_aside_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let hook = HookFile::new(&folder.path().join("hooks"), "pre-commit");
        assert_eq!(hook.look().unwrap(), Standing::Nothing);
        hook.write(b"#!/bin/sh\n", 0o755).unwrap();
        let plain = Standing::Plain {
            text: b"#!/bin/sh\n".to_vec(),
            mode: 0o755,
        };
        assert_eq!(hook.look().unwrap(), plain);
        let aside = HookFile::new(&folder.path().join("hooks"), "kept");
        hook.move_to(&aside).unwrap();
        std::os::unix::fs::symlink("nowhere", hook.path()).unwrap();
        assert_eq!(hook.look().unwrap(), Standing::Other);
        assert!(hook.move_to(&aside).is_err());
        aside.move_over(&hook).unwrap();
        assert_eq!(hook.look().unwrap(), plain);
        hook.remove().unwrap();
        let left = std::fs::read_dir(folder.path().join("hooks")).unwrap();
        assert_eq!(left.count(), 0);
    }
}
