//! The folder with which this program is found on a member's `PATH`, under each of its names.
//!
//! Always holds: the folder is the team's own and private, and only links stand in it. Nothing here follows them.

use std::path::{Path, PathBuf};

use super::{LocalStore, PATIENCE};
use crate::failure::StoreFailure;
use crate::layout;
use crate::local::folder::Folder;

/// The folder's name below the team's.
const FOLDER: &str = "bin";

impl LocalStore {
    /// Makes links called `names` to `program` in a folder of the team, and answers the folder. A link to another
    /// program is replaced.
    ///
    /// # Errors
    /// When the team is not there or a link cannot be made.
    pub fn link_programs(&self, names: &[&str], program: &Path) -> Result<PathBuf, StoreFailure> {
        let folder = Folder::expect(&self.team)?.sub_or_new(FOLDER)?;
        let _held = folder.lock(PATIENCE)?;
        for name in names {
            folder.link(program, name, &layout::draft(name))?;
        }
        Ok(folder.path().to_path_buf())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn links_lead_to_the_program_and_are_replaced_when_it_moved() {
        let root = tempfile::tempdir().unwrap();
        let store = LocalStore::new(root.path().to_path_buf());
        for program in ["/one/pitcrew", "/two/pit crew's", "/two/pit crew's"] {
            let folder = store
                .link_programs(&["pitcrew", "omp"], Path::new(program))
                .unwrap();
            assert_eq!(folder, root.path().join("bin"));
            let mut names: Vec<_> = fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, ["omp", "pitcrew"]);
            for name in names {
                assert_eq!(
                    fs::read_link(folder.join(name)).unwrap(),
                    Path::new(program)
                );
            }
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_not_followed() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("bin")).unwrap();
        let store = LocalStore::new(root.path().to_path_buf());
        let refused = store
            .link_programs(&["pitcrew"], Path::new("/x"))
            .unwrap_err();
        assert_eq!(refused.code(), "escapes_team_folder");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
