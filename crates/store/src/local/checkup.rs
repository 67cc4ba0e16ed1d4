//! Looking a project's folders over: what is not as pitcrew makes it, and whether the file system can what is needed.
//!
//! | found | what it means |
//! |---|---|
//! | [`Oddity::Open`] | others than the user may read or write it |
//! | [`Oddity::Link`] | a link, or no plain file or folder: it is never opened |
//! | [`Oddity::Shared`] | a log with a second name (a hard link): nothing is appended to it |
//! | [`Oddity::Draft`] | a text that was never put into place: its writer died, or is writing right now |
//! | [`Oddity::Mark`] | the reference's mark beside a task; an orphan unless somebody has the task |
//!
//! Nothing is changed: locks are tried and let go, syncing makes last what is there anyway, and what is written to try
//! writing has no name and is gone at once.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::folder::Folder;
use super::{LocalStore, Project};
use crate::failure::StoreFailure;
use crate::layout;

/// How deep below a team's folder its files stand: `workers/<name>/<file>`.
const DEPTH: u32 = 3;

/// The permissions of others than the user.
const OTHERS: u32 = 0o077;

/// Something that is not as it is made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// Others than the user may read or write it.
    Open {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A link, or no plain file or folder.
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A log with a second name.
    Shared {
        /// The log.
        path: PathBuf,
    },
    /// A text that was never put into place.
    Draft {
        /// The file.
        path: PathBuf,
    },
    /// The reference's mark beside a task.
    Mark {
        /// The file.
        path: PathBuf,
        /// The task, as the file name has it.
        task: String,
    },
}

/// What a file system can, tried in one folder.
#[derive(Debug)]
pub struct Ground {
    /// The folder: the project's state, or what is there of its path.
    pub folder: PathBuf,
    /// Whether a file can be written there.
    pub writes: Result<(), StoreFailure>,
    /// Whether a lock can be taken there.
    pub locks: Result<(), StoreFailure>,
    /// Whether what is there can be made to last.
    pub syncs: Result<(), StoreFailure>,
}

impl Project {
    /// Tries writing, locking and syncing where the project's state is, or will be.
    ///
    /// # Errors
    /// When no folder of its path can be opened.
    pub fn ground(&self) -> Result<Ground, StoreFailure> {
        let state = self.state_dir();
        for folder in state.ancestors() {
            let Some(open) = Folder::open(folder)? else {
                continue;
            };
            // Somebody else who has it shows as well that there are locks.
            let locks = match open.lock(Duration::ZERO) {
                Ok(_) | Err(StoreFailure::Locked { .. }) => Ok(()),
                Err(failure) => Err(failure),
            };
            return Ok(Ground {
                folder: folder.to_path_buf(),
                writes: open.try_writing(),
                locks,
                syncs: open.sync(),
            });
        }
        Err(StoreFailure::io(
            "open",
            &state,
            std::io::ErrorKind::NotFound.into(),
        ))
    }

    /// What is odd about the folders from the root's state down to the teams, the teams themselves left out.
    ///
    /// # Errors
    /// When one of them cannot be looked at.
    pub fn oddities(&self) -> Result<Vec<Oddity>, StoreFailure> {
        let mut found = Vec::new();
        let state = self.state_dir();
        let teams = state.join("team");
        for folder in [&state, &teams] {
            look(folder, &mut found)?;
        }
        Ok(found)
    }

    /// What stands among the teams and is none: a folder without a team's document, a link, a draft.
    ///
    /// # Errors
    /// When the folder of the teams cannot be read.
    pub fn strays(&self) -> Result<Vec<PathBuf>, StoreFailure> {
        let Some(folder) = Folder::follow(&self.state_dir().join("team"))? else {
            return Ok(Vec::new());
        };
        let teams = self.teams()?;
        let mut names = folder.names()?;
        names.retain(|name| !teams.iter().any(|team| team.as_str() == name));
        names.sort();
        Ok(names.iter().map(|name| folder.child(name)).collect())
    }
}

impl LocalStore {
    /// What is odd about the team's folder and everything in it.
    ///
    /// # Errors
    /// When something in it cannot be looked at.
    pub fn oddities(&self) -> Result<Vec<Oddity>, StoreFailure> {
        let mut found = Vec::new();
        let mut folders = vec![(self.folder().to_path_buf(), 0)];
        look(self.folder(), &mut found)?;
        while let Some((path, depth)) = folders.pop() {
            let Some(folder) = Folder::open(&path)? else {
                continue;
            };
            let mut names = folder.names()?;
            names.sort();
            for name in names {
                let path = folder.child(&name);
                if path
                    .strip_prefix(self.folder())
                    .is_ok_and(|below| below == Path::new("bin"))
                {
                    // The links that put the program on the members' PATH are ours.
                    continue;
                }
                if look(&path, &mut found)? && depth + 1 < DEPTH {
                    folders.push((path.clone(), depth + 1));
                }
                found.extend(left_behind(&path, &name));
            }
        }
        Ok(found)
    }
}

/// Looks at what stands at `path`; answers whether it is a folder.
fn look(path: &Path, found: &mut Vec<Oddity>) -> Result<bool, StoreFailure> {
    let meta = match std::fs::symlink_metadata(path) {
        Err(absent) if absent.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        meta => meta.map_err(|refused| StoreFailure::io("look at", path, refused))?,
    };
    let path = path.to_path_buf();
    let is_log = path.extension().is_some_and(|end| end == "jsonl");
    if meta.is_file() && is_log && meta.nlink() > 1 {
        found.push(Oddity::Shared { path: path.clone() });
    }
    if !meta.is_dir() && !meta.is_file() {
        found.push(Oddity::Link { path });
    } else if meta.mode() & OTHERS != 0 {
        let mode = meta.mode() & 0o777;
        found.push(Oddity::Open { path, mode });
    }
    Ok(meta.is_dir())
}

fn left_behind(path: &Path, name: &str) -> Option<Oddity> {
    let path = path.to_path_buf();
    if layout::is_draft(name) {
        return Some(Oddity::Draft { path });
    }
    let task = name
        .strip_suffix(".lock")
        .filter(|_| layout::is_claim_mark(name));
    let beside_a_task = path
        .parent()
        .is_some_and(|folder| folder.ends_with("tasks"));
    let task = task.filter(|_| beside_a_task)?.to_owned();
    Some(Oddity::Mark { path, task })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_odd_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::at(folder.path()).unwrap();
        let name = pitcrew_core::Name::new(pitcrew_core::refusal::NameKind::Team, "t").unwrap();
        let team = pitcrew_core::roster::Team::new(
            &name,
            "",
            "",
            "",
            pitcrew_core::Timestamp::from_millis(0),
        );
        drop(project.create_team(&name, &team).unwrap());
        let store = project.team(&name);
        assert_eq!(store.oddities().unwrap(), []);
        assert_eq!(project.oddities().unwrap(), []);
        assert_eq!(project.strays().unwrap(), Vec::<PathBuf>::new());
        let stray = project.state_dir().join("team/typo");
        std::fs::create_dir(&stray).unwrap();
        assert_eq!(project.strays().unwrap(), [stray]);

        let at = |path: &str| store.folder().join(path);
        let private = std::fs::Permissions::from_mode(0o600);
        for left in [
            "tasks/.1.json.tmp",
            "tasks/1.json.tmp.99.1796055749063",
            "tasks/1.lock",
        ] {
            std::fs::write(at(left), "").unwrap();
            std::fs::set_permissions(at(left), private.clone()).unwrap();
        }
        std::os::unix::fs::symlink("/", at("workers/link")).unwrap();
        std::fs::set_permissions(at("config.json"), std::fs::Permissions::from_mode(0o644))
            .unwrap();
        let mut found = store.oddities().unwrap();
        found.sort_by_key(|oddity| format!("{oddity:?}"));
        let draft = |path: &str| Oddity::Draft { path: at(path) };
        assert_eq!(
            found,
            [
                draft("tasks/.1.json.tmp"),
                draft("tasks/1.json.tmp.99.1796055749063"),
                Oddity::Link {
                    path: at("workers/link")
                },
                Oddity::Mark {
                    path: at("tasks/1.lock"),
                    task: "1".into()
                },
                Oddity::Open {
                    path: at("config.json"),
                    mode: 0o644
                },
            ]
        );
    }

    #[test]
    fn the_ground_is_tried_where_the_state_will_be() {
        let folder = tempfile::tempdir().unwrap();
        let ground = Project::at(folder.path()).unwrap().ground().unwrap();
        assert_eq!(ground.folder, folder.path());
        assert!(ground.locks.is_ok() && ground.syncs.is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
