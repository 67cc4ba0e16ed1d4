//! A project on disk: its root, its state folder and the teams in it.
//!
//! The root is the nearest folder, from the start up, that holds `.git` or `package.json`; without one it is the start
//! itself. That is what the reference does with the folders that both share, so that both find the same teams. A
//! process inside a sub package names the root instead of looking for it.
//!
//! Always holds: finding, listing and opening create nothing. A team appears whole or not at all, and one of several
//! creators wins, names compared without case. A team disappears at once, and nothing outside its folder is removed.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::task::Task;

use super::folder::Folder;
use super::text::laid_out;
use super::{LocalStore, lock};
use crate::failure::StoreFailure;
use crate::layout;
use crate::port::{Durability, Place};

/// What marks the root of a project.
const MARKERS: [&str; 2] = [".git", "package.json"];

/// How often a folder that somebody still writes to is emptied before that is an error.
const EMPTYINGS: u32 = 20;

/// A project, by its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

/// What came of creating a team.
#[derive(Debug)]
pub enum Creation {
    /// It is there, with its document and its folders.
    Created(LocalStore),
    /// The name is taken, perhaps in another case; this is how it is written on disk.
    Taken(String),
}

impl Project {
    /// The project that `start` lies in.
    ///
    /// # Errors
    /// When `start` cannot be made absolute because the working folder is gone.
    pub fn discover(start: &Path) -> Result<Self, StoreFailure> {
        let start = absolute(start)?;
        let root = start
            .ancestors()
            .find(|folder| MARKERS.iter().any(|marker| folder.join(marker).exists()))
            .unwrap_or(&start);
        Ok(Self {
            root: root.to_path_buf(),
        })
    }

    /// The project whose root is `root`, whatever stands there.
    ///
    /// # Errors
    /// When `root` cannot be made absolute because the working folder is gone.
    pub fn at(root: &Path) -> Result<Self, StoreFailure> {
        Ok(Self {
            root: absolute(root)?,
        })
    }

    /// Whether the root is a folder that can be opened.
    ///
    /// # Errors
    /// Why it is not.
    pub fn stands(&self) -> Result<(), StoreFailure> {
        Folder::follow(&self.root)?
            .map(drop)
            .ok_or_else(|| StoreFailure::io("open", &self.root, io::ErrorKind::NotFound.into()))
    }

    /// The root, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `<root>/.omp/state`, which need not exist.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.root.join(".omp").join("state")
    }

    /// The folder of the teams. It and those above it may be links, for every command alike; what is in a team may not.
    fn teams_dir(&self) -> PathBuf {
        self.state_dir().join("team")
    }

    /// The team called `name`, which need not exist: a store without a [`Team`] is none.
    #[must_use]
    pub fn team(&self, name: &Name) -> LocalStore {
        LocalStore::new(self.teams_dir().join(name.as_str()))
    }

    /// The teams, by name. A folder without a team's document is none; one that cannot be looked into may be one, and
    /// who opens it hears why it cannot.
    ///
    /// # Errors
    /// When the folder of the teams is there and cannot be read.
    pub fn teams(&self) -> Result<Vec<Name>, StoreFailure> {
        let Some(folder) = Folder::follow(&self.teams_dir())? else {
            return Ok(Vec::new());
        };
        let mut teams = Vec::new();
        for name in folder.names()? {
            let Ok(name) = Name::new(NameKind::Team, &name) else {
                continue;
            };
            if is_team(&folder, &name) {
                teams.push(name);
            }
        }
        teams.sort();
        Ok(teams)
    }

    /// The folders among the teams that could be a team by their names and have no team's document: the reference leaves
    /// such ones when it sends to a team that is not there. Nothing can be asked of them, and they keep their names taken.
    ///
    /// # Errors
    /// As [`Self::teams`].
    pub fn hollow(&self) -> Result<Vec<Name>, StoreFailure> {
        let Some(folder) = Folder::follow(&self.teams_dir())? else {
            return Ok(Vec::new());
        };
        let names = folder.names()?;
        let names = names
            .iter()
            .filter_map(|name| Name::new(NameKind::Team, name).ok());
        let is_folder = |name: &Name| matches!(folder.sub(name.as_str()), Ok(Some(_)));
        let mut hollow: Vec<Name> = names
            .filter(|name| is_folder(name) && !is_team(&folder, name))
            .collect();
        hollow.sort();
        Ok(hollow)
    }

    /// Creates a team without tasks, as [`Self::create_team_with`] does.
    ///
    /// # Errors
    /// As there.
    pub fn create_team(&self, name: &Name, team: &Team) -> Result<Creation, StoreFailure> {
        self.create_team_with(name, team, &[])
    }

    /// Creates a team: its folders, its document and its tasks, all of them or none, whenever this is killed.
    ///
    /// # Errors
    /// When something cannot be created. What was is removed, now or by the next creator or remover of that name.
    pub fn create_team_with(
        &self,
        name: &Name,
        team: &Team,
        tasks: &[(TaskId, Task)],
    ) -> Result<Creation, StoreFailure> {
        self.create_team_over(name, team, tasks, |_| Ok(false))
    }

    /// As [`Self::create_team_with`], in the place of a team of the very same name for which `may_go` says yes: what was
    /// there is removed. Of several creators at once one replaces it, and the others find the new team.
    ///
    /// # Errors
    /// As there, and what `may_go` answers.
    pub fn create_team_over(
        &self,
        name: &Name,
        team: &Team,
        tasks: &[(TaskId, Task)],
        may_go: impl FnOnce(&LocalStore) -> Result<bool, StoreFailure>,
    ) -> Result<Creation, StoreFailure> {
        let teams = self.make_folder(&self.teams_dir())?;
        let _held = teams.lock(lock::PATIENCE)?;
        let taken = teams
            .names()?
            .into_iter()
            .find(|taken| name.folds_to(taken));
        let draft = layout::draft(name.as_str());
        if let Some(taken) = taken {
            if taken != name.as_str() || !may_go(&self.team(name))? {
                return Ok(Creation::Taken(taken));
            }
            empty(&teams, &draft)?;
            can_be_emptied(&teams.child(name.as_str()))?;
            teams.rename(name.as_str(), &draft)?;
        }
        empty(&teams, &draft)?;
        let made = teams
            .sub_or_new(&draft)
            .and_then(|folder| fill(&folder, team, tasks))
            .and_then(|()| teams.rename(&draft, name.as_str()))
            .and_then(|()| teams.sync());
        match made {
            Ok(()) => Ok(Creation::Created(self.team(name))),
            Err(refused) => {
                empty(&teams, &draft)?;
                Err(refused)
            }
        }
    }

    /// The folder `path` of the state, made if need be; the project's root has to be there. A folder above it may be a
    /// link: a user may keep the state elsewhere.
    pub(super) fn make_folder(&self, path: &Path) -> Result<Folder, StoreFailure> {
        if let Some(folder) = Folder::follow(path)? {
            return Ok(folder);
        }
        Folder::expect(&self.root)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(path)
            .map_err(|refused| StoreFailure::io("create", path, refused))?;
        let above = path.ancestors().skip(1);
        for above in above.take_while(|above| above.starts_with(&self.root)) {
            File::open(above)
                .and_then(|folder| folder.sync_all())
                .map_err(|refused| StoreFailure::io("sync", above, refused))?;
        }
        Folder::expect(path)
    }

    /// Removes a team's folder with everything in it; answers whether there was one. A link in its place is removed
    /// and what it leads to stays.
    ///
    /// # Errors
    /// When something cannot be removed. When that shows before anything is removed, which it does for a folder that may
    /// not be written to, the team stays as it is. Otherwise it is gone for everybody, and removing it again goes on.
    pub fn remove_team(&self, name: &Name) -> Result<bool, StoreFailure> {
        let Some(teams) = Folder::follow(&self.teams_dir())? else {
            return Ok(false);
        };
        let _held = teams.lock(lock::PATIENCE)?;
        let gone = layout::draft(name.as_str());
        empty(&teams, &gone)?;
        if teams.stamp(name.as_str())?.is_none() {
            return Ok(false);
        }
        can_be_emptied(&teams.child(name.as_str()))?;
        teams.rename(name.as_str(), &gone)?;
        teams.sync()?;
        empty(&teams, &gone)?;
        Ok(true)
    }

    /// Removes what a removal of the team called `name` left when it broke off; answers whether there was something.
    ///
    /// # Errors
    /// When it still cannot be removed.
    pub fn remove_remains(&self, name: &Name) -> Result<bool, StoreFailure> {
        let Some(teams) = Folder::follow(&self.teams_dir())? else {
            return Ok(false);
        };
        let _held = teams.lock(lock::PATIENCE)?;
        let gone = layout::draft(name.as_str());
        let are_there = teams.stamp(&gone)?.is_some();
        empty(&teams, &gone)?;
        Ok(are_there)
    }
}

/// Whether the folder called `name` is a team, as far as can be seen. One that is a link or a file is none.
fn is_team(teams: &Folder, name: &Name) -> bool {
    let document = layout::document(&Place::Team).file;
    match teams.sub(name.as_str()) {
        Ok(Some(folder)) => !matches!(folder.stamp(&document), Ok(None)),
        Ok(None) | Err(StoreFailure::Escapes { .. }) => false,
        Err(_) => true,
    }
}

fn absolute(path: &Path) -> Result<PathBuf, StoreFailure> {
    std::path::absolute(path).map_err(|refused| StoreFailure::io("resolve", path, refused))
}

/// Writes what a new team consists of.
fn fill(folder: &Folder, team: &Team, tasks: &[(TaskId, Task)]) -> Result<(), StoreFailure> {
    for sub in layout::FOLDERS {
        folder.new_sub(sub)?;
    }
    if !tasks.is_empty() {
        let inside = folder.sub_or_new("tasks")?;
        for (id, task) in tasks {
            let place = Place::Task(id.clone());
            let spot = layout::document(&place);
            let text = serde_json::to_vec(task)
                .map_err(|refused| StoreFailure::corrupt(&place, &refused.to_string()))?;
            // Nobody sees this folder yet, so the text needs no draft.
            inside.write_draft(&spot.file, &laid_out(&text, spot.form), Durability::Synced)?;
        }
        inside.sync()?;
    }
    let spot = layout::document(&Place::Team);
    let text = serde_json::to_vec(team)
        .map_err(|refused| StoreFailure::corrupt(&Place::Team, &refused.to_string()))?;
    let draft = layout::draft(&spot.file);
    folder.write_draft(&draft, &laid_out(&text, spot.form), Durability::Synced)?;
    folder.promote(&draft, &spot.file, Durability::Synced)?;
    folder.sync()
}

/// Refuses when a folder at `path` or below it holds something and may not be written to: what is in it cannot be
/// removed. A link is no folder.
fn can_be_emptied(path: &Path) -> Result<(), StoreFailure> {
    let mut folders = vec![path.to_path_buf()];
    while let Some(path) = folders.pop() {
        let failed = |refused: io::Error| StoreFailure::io("remove", &path, refused);
        let meta = std::fs::symlink_metadata(&path).map_err(failed)?;
        if !meta.is_dir() {
            continue;
        }
        let mut holds_any = false;
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            holds_any = true;
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(entry.path());
            }
        }
        if holds_any {
            rustix::fs::access(
                &path,
                rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
            )
            .map_err(|refused| failed(refused.into()))?;
        }
    }
    Ok(())
}

/// Removes what stands at `name`, following no link. Somebody who still writes into it makes that take several turns.
fn empty(teams: &Folder, name: &str) -> Result<(), StoreFailure> {
    let path = teams.child(name);
    for _ in 0..EMPTYINGS {
        match std::fs::symlink_metadata(&path) {
            Err(absent) if absent.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(found) if !found.is_dir() => {
                teams.remove(name)?;
                return Ok(());
            }
            _ => {}
        }
        match std::fs::remove_dir_all(&path) {
            Err(busy) if busy.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            Err(absent) if absent.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => {
                return removed.map_err(|refused| StoreFailure::io("remove", &path, refused));
            }
        }
    }
    Err(StoreFailure::io(
        "remove",
        &path,
        io::ErrorKind::DirectoryNotEmpty.into(),
    ))
}
