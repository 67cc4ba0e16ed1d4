//! Changing a file that a team works on: whole, in one step, and only if it still says what its writer saw.
//!
//! Every folder on the way is opened from the one above it and over no link, so a path cannot be led out of the project
//! while it is being walked. A file keeps its mode; what is new takes its mode from the folder that it is made in.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use pitcrew_core::claim::FilePath;

use super::Workspace;
use crate::failure::StoreFailure;
use crate::layout;
use crate::local::PATIENCE;
use crate::local::folder::Folder;
use crate::port::Durability;

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It says the new text.
    Written,
    /// It says something else than was known, so it was left alone.
    Changed,
}

impl Workspace {
    /// Lets `file` say `text`, if it says `known` now; `None` is a file that is not there. Folders on the way are made.
    /// A reader sees the old text or the new one.
    ///
    /// # Errors
    /// When it cannot be written; `Escapes` when a link or anything else than a plain file stands on the way.
    pub fn put(
        &self,
        file: &FilePath,
        known: Option<&[u8]>,
        text: &[u8],
    ) -> Result<Put, StoreFailure> {
        let whole = file.as_str();
        let (folders, name) = whole.rsplit_once('/').unwrap_or(("", whole));
        let mut folder = Folder::expect(self.root())?;
        for step in folders.split('/').filter(|step| !step.is_empty()) {
            folder = descend(&folder, step)?;
        }
        let _held = folder.lock(PATIENCE)?;
        let present = folder.read(name)?;
        if present.as_ref().map(|(text, _)| text.as_slice()) != known {
            return Ok(Put::Changed);
        }
        let mode = match folder.file(name)? {
            Some((opened, _)) => mode_of(&opened, &folder.child(name))? & 0o7777,
            None => folder_mode(&folder)? & 0o666,
        };
        let draft = layout::draft(name);
        let written = folder.write_draft(&draft, text, Durability::Relaxed)?;
        let path = folder.child(&draft);
        written
            .set_permissions(Permissions::from_mode(mode))
            .map_err(|refused| StoreFailure::io("set the mode of", &path, refused))?;
        folder.promote(&draft, name, Durability::Relaxed)?;
        Ok(Put::Written)
    }
}

/// The folder `step` inside, made like the one that it stands in if need be.
fn descend(folder: &Folder, step: &str) -> Result<Folder, StoreFailure> {
    if let Some(there) = folder.sub(step)? {
        return Ok(there);
    }
    let is_ours = folder.new_sub(step)?;
    let made = folder.sub_or_new(step)?;
    if is_ours {
        let path = made.path();
        std::fs::set_permissions(path, Permissions::from_mode(folder_mode(folder)? & 0o777))
            .map_err(|refused| StoreFailure::io("set the mode of", path, refused))?;
    }
    Ok(made)
}

fn folder_mode(folder: &Folder) -> Result<u32, StoreFailure> {
    let path = folder.path();
    let found = std::fs::symlink_metadata(path);
    let found = found.map_err(|refused| StoreFailure::io("look at", path, refused))?;
    Ok(found.mode())
}

fn mode_of(file: &File, path: &Path) -> Result<u32, StoreFailure> {
    let found = file.metadata();
    let found = found.map_err(|refused| StoreFailure::io("look at", path, refused))?;
    Ok(found.mode())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Project;

    #[test]
    fn a_file_is_changed_only_from_what_its_writer_saw_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".omp/state")).unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let here = Workspace::of(&Project::at(folder.path()).unwrap()).unwrap();
        let file = here.tracked(&here.root().join("src/deep/a.sh")).unwrap();
        let path = here.root().join("src/deep/a.sh");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(here.put(&file, None, b"one\n").unwrap(), Put::Written);
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o644, 0o755));
        std::fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
        assert_eq!(here.put(&file, None, b"two\n").unwrap(), Put::Changed);
        assert_eq!(
            here.put(&file, Some(b"other"), b"two\n").unwrap(),
            Put::Changed
        );
        assert_eq!(
            here.put(&file, Some(b"one\n"), b"two\n").unwrap(),
            Put::Written
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"two\n");
        assert_eq!(mode(&path), 0o750);
        let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "no draft stays");
    }

    #[test]
    fn nothing_is_written_over_a_link() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(folder.path().join(".omp/state")).unwrap();
        let here = Workspace::of(&Project::at(folder.path()).unwrap()).unwrap();
        let in_link = here.tracked(&here.root().join("out/a")).unwrap();
        let link = here.tracked(&here.root().join("b")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), here.root().join("out")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("b"), here.root().join("b")).unwrap();
        for file in [in_link, link] {
            let refused = here.put(&file, None, b"x").unwrap_err();
            assert!(
                matches!(refused, StoreFailure::Escapes { .. }),
                "{refused:?}"
            );
        }
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
