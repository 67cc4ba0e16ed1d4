//! Looking at a team's files to find out what changed, where nobody says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::meaning;
use crate::layout;
use crate::local::folder::{Folder, Stamp};
use crate::port::Change;

/// The folders that hold documents and logs, below the team's own.
const WATCHED: [&str; 3] = ["tasks", "mailbox", "workers"];

/// What stood where when it was last looked at.
#[derive(Default)]
pub(super) struct Sweep {
    seen: BTreeMap<PathBuf, Stamp>,
}

/// A folder that cannot be read holds nothing to report. It is looked at again with the next sweep.
fn open(path: &Path) -> Option<Folder> {
    Folder::open(path).ok().flatten()
}

/// Every folder of the team that holds documents or logs, with what tells it from a later one of that name.
pub(super) fn folders(team: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut folders = BTreeMap::new();
    let mut note = |folder: &Folder| {
        if let Ok(stamp) = folder.own_stamp() {
            folders.insert(folder.path().to_path_buf(), stamp);
        }
    };
    let Some(team) = open(team) else {
        return folders;
    };
    note(&team);
    for name in WATCHED {
        let Ok(Some(folder)) = team.sub(name) else {
            continue;
        };
        note(&folder);
        if name == "workers" {
            let names = folder.names().unwrap_or_default();
            for worker in names {
                if let Ok(Some(worker)) = folder.sub(&worker) {
                    note(&worker);
                }
            }
        }
    }
    folders
}

/// Whether a folder at `path` would be one of [`folders`].
pub(super) fn may_be_watched(team: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(team) else {
        return true;
    };
    let steps: Vec<_> = below.iter().collect();
    match steps.as_slice() {
        [] => true,
        [name] => WATCHED.iter().any(|watched| name == watched),
        [name, _worker] => *name == "workers",
        _ => false,
    }
}

impl Sweep {
    /// Looks at every file in `folders` and answers what changed since it was last looked at.
    pub(super) fn compare<'a>(
        &mut self,
        team: &Path,
        folders: impl Iterator<Item = &'a PathBuf>,
    ) -> Vec<Change> {
        let mut now = BTreeMap::new();
        for folder in folders.filter_map(|path| open(path)) {
            for name in folder.names().unwrap_or_default() {
                let path = folder.child(&name);
                if meaning(team, &path).is_none() {
                    continue;
                }
                if let Ok(Some(stamp)) = folder.stamp(&name) {
                    now.insert(path, stamp);
                }
            }
        }
        let is_new = |(path, stamp): &(&PathBuf, &Stamp)| self.seen.get(*path) != Some(*stamp);
        let written = now.iter().filter(is_new).map(|(path, _)| path);
        let removed = self.seen.keys().filter(|path| !now.contains_key(*path));
        let changed = written
            .chain(removed)
            .filter_map(|path| meaning(team, path))
            .collect();
        self.seen = now;
        changed
    }

    /// Takes note of what an event reported.
    pub(super) fn note(&mut self, team: &Path, change: &Change) {
        let Some(path) = layout::path(change).map(|path| team.join(path)) else {
            return;
        };
        let folder = path.parent().and_then(open);
        let name = path.file_name().and_then(|name| name.to_str());
        let stamp = match (folder, name) {
            (Some(folder), Some(name)) => folder.stamp(name).ok().flatten(),
            _ => None,
        };
        match stamp {
            Some(stamp) => self.seen.insert(path, stamp),
            None => self.seen.remove(&path),
        };
    }
}
