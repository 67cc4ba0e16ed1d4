//! Which files a project has, as its ignore files say.
//!
//! Left out: what `.gitignore`, `.ignore` and `.git/info/exclude` name, version control's own folder, and ours. Hidden files
//! are files like others. No link is followed, so nothing outside of the project is named.

use std::io;
use std::ops::ControlFlow;

use ignore::WalkBuilder;
use pitcrew_core::claim::FilePath;

use super::Workspace;
use crate::failure::StoreFailure;

/// Folders that are nobody's work.
const NOT_WORK: [&str; 4] = [".git", ".hg", ".jj", ".omp"];

impl Workspace {
    /// Shows every file below `folder`, or of the whole project, sorted by path, until `seen` says that it is enough.
    /// What cannot be named, or looked into, is counted in the answer.
    ///
    /// # Errors
    /// When `folder` itself cannot be looked into.
    pub fn walk(
        &self,
        folder: Option<&FilePath>,
        seen: &mut dyn FnMut(&FilePath) -> ControlFlow<()>,
    ) -> Result<u64, StoreFailure> {
        let start = match folder {
            Some(folder) => self.root().join(folder.as_str()),
            None => self.root().to_path_buf(),
        };
        std::fs::symlink_metadata(&start)
            .map_err(|refused| StoreFailure::io("list", &start, refused))?;
        let mut unseen = 0;
        let entries = WalkBuilder::new(&start)
            .hidden(false)
            .follow_links(false)
            .git_global(false)
            .require_git(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(|entry| {
                let name = entry.file_name().to_str();
                !name.is_some_and(|name| NOT_WORK.contains(&name))
            })
            .build();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(refused) if refused.depth() == Some(0) => {
                    let refused = refused.into_io_error();
                    let refused = refused.unwrap_or_else(|| io::ErrorKind::Other.into());
                    return Err(StoreFailure::io("list", &start, refused));
                }
                Err(_) => {
                    unseen += 1;
                    continue;
                }
            };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            match self.tracked(entry.path()) {
                Ok(file) => {
                    if seen(&file).is_break() {
                        break;
                    }
                }
                Err(_) => unseen += 1,
            }
        }
        Ok(unseen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Project;

    #[test]
    fn ignore_files_are_respected_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            (".gitignore", "target\n*.log\n"),
            ("src/a.rs", ""),
            ("src/b.log", ""),
            ("src/.hidden", ""),
            ("target/x", ""),
            (".git/config", ""),
            (".omp/state/y", ""),
        ] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("/etc", folder.path().join("out")).unwrap();
        let here = Workspace::of(&Project::at(folder.path()).unwrap()).unwrap();
        let below = |folder: Option<&str>, most: usize| {
            let folder = folder.map(|name| here.tracked(&here.root().join(name)).unwrap());
            let mut found = Vec::new();
            let mut seen = |file: &FilePath| {
                found.push(file.to_string());
                match found.len() < most {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            here.walk(folder.as_ref(), &mut seen).map(|_| found)
        };
        assert_eq!(
            below(None, 9).unwrap(),
            [".gitignore", "src/.hidden", "src/a.rs"]
        );
        assert_eq!(below(Some("src"), 1).unwrap(), ["src/.hidden"]);
        assert!(below(Some("nowhere"), 9).is_err());
    }
}
