//! The port over a team's folder: plain files, shared with other processes and with the reference.
//!
//! | part | what it does |
//! |---|---|
//! | [`Project`] | finds the root, lists, creates and removes teams |
//! | [`LocalStore`] | one team as a [`Store`], or what a project keeps beside its teams |
//! | `state` | loop modes, and the lock of whoever watches the project |
//! | `document`, `patch`, `text`, `mark` | a document: transaction, unknown keys, layout, the reference's claim mark |
//! | `owed` | which ended tasks nobody has followed up yet |
//! | `log` | an append-only log |
//! | `checkup` | what is odd about the folders, and what the file system can |
//! | `watch` | what changes, by events of the system and by looking again |
//! | `programs` | the links that put this program on a member's `PATH` |
//! | `folder`, `lock` | handles that follow no link; bounded waiting |
//!
//! A store holds a path and nothing open, so it may outlive its team and costs nothing to make. Reading creates
//! nothing; writing never creates the team's folder itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::time::Timestamp;

use crate::failure::StoreFailure;
use crate::layout::{self, Branch};
use crate::port::{
    Cursor, Document, ErasedRule, Kind, Log, Page, Place, Reach, State, Store, Watch,
};
use document::DocumentFile;
use folder::Folder;
pub use log::Rotation;
use log::{LogFile, Wanted};

mod checkup;
mod document;
pub(crate) mod folder;
mod lock;
mod log;
mod mark;
mod owed;
mod patch;
mod programs;
mod project;
pub(crate) mod room;
mod state;
mod text;
mod watch;

pub use checkup::{Ground, Oddity};
pub(crate) use lock::PATIENCE;
pub use project::{Creation, Project};
pub use state::Watching;

/// One team's folder as a [`Store`].
#[derive(Debug, Clone)]
pub struct LocalStore {
    team: PathBuf,
    patience: Duration,
    rotation: Rotation,
}

impl LocalStore {
    /// The team in the folder `team`, which need not exist.
    pub(crate) fn new(team: PathBuf) -> Self {
        Self {
            team,
            patience: PATIENCE,
            rotation: Rotation::default(),
        }
    }

    /// The store with another bound on the logs of which the oldest part goes.
    #[must_use]
    pub fn rotating(self, rotation: Rotation) -> Self {
        Self { rotation, ..self }
    }

    /// The store with another bound on waiting for a lock that another process holds; 10 seconds by default.
    #[must_use]
    pub fn waiting_for(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The team's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.team
    }

    /// Gives a document that cannot be read as `D` another name, so that a new one can take its place: for whoever was
    /// told what is lost with it. Answers the name that it has now, beside its old place; `None` when it can be read or
    /// is not there.
    ///
    /// # Errors
    /// When it cannot be locked, looked at or renamed.
    pub fn set_aside<D: Document>(&self, id: &D::Id) -> Result<Option<String>, StoreFailure> {
        let is_sound = |text: &[u8]| {
            let state = pitcrew_core::json::read_object::<D>(text).ok();
            state.is_some_and(|state| state.misplaced(id).is_none())
        };
        DocumentFile::new(&self.team, &D::place(id)).set_aside(&is_sound, self.patience)
    }

    /// Removes the reference's mark from every task, as a shutdown does, and answers how many there were.
    ///
    /// # Errors
    /// When the tasks cannot be listed or a mark cannot be removed; the others are removed all the same.
    pub fn clear_claim_marks(&self) -> Result<usize, StoreFailure> {
        let Some(tasks) = Folder::descend(&self.team, Branch::Tasks.steps())? else {
            return Ok(0);
        };
        let _held = tasks.lock(self.patience)?;
        let (mut cleared, mut failure) = (0, None);
        for name in tasks.names()? {
            if !layout::is_claim_mark(&name) {
                continue;
            }
            match tasks.remove(&name) {
                Ok(removed) => cleared += usize::from(removed),
                Err(refused) => failure = Some(refused),
            }
        }
        owed::clear(&tasks)?;
        failure.map_or(Ok(cleared), Err)
    }

    fn log_file<'a>(&self, folder: &'a Folder, name: &'a str, log: &'a Log) -> LogFile<'a> {
        LogFile {
            folder,
            name,
            log,
            rotation: self.rotation,
        }
    }

    fn write(&self, log: &Log, records: &[&[u8]], wanted: Wanted) -> Result<Cursor, StoreFailure> {
        if records.iter().any(|record| record.contains(&b'\n')) {
            return Err(StoreFailure::BrokenRecord {
                log: log.to_string(),
            });
        }
        let spot = layout::log(log);
        let mut folder = Folder::expect(&self.team)?;
        for step in spot.branch.steps() {
            folder = folder.sub_or_new(step)?;
        }
        self.log_file(&folder, &spot.file, log)
            .append(records, wanted, self.patience)
    }

    /// The plain files of one worker.
    #[must_use]
    pub fn worker(&self, name: &Name) -> crate::files::WorkerFiles {
        crate::files::WorkerFiles::new(&self.team, name)
    }
}

impl Store for LocalStore {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        if records.is_empty() {
            let spot = layout::log(log);
            return match Folder::descend(&self.team, spot.branch.steps())? {
                Some(folder) => self.log_file(&folder, &spot.file, log).end(),
                None => Ok(0),
            };
        }
        self.write(log, records, Wanted::Place)
    }

    fn append_blind(&self, log: &Log, records: &[&[u8]]) -> Result<(), StoreFailure> {
        if records.is_empty() {
            return Ok(());
        }
        self.write(log, records, Wanted::Nothing).map(drop)
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        let spot = layout::log(log);
        match Folder::descend(&self.team, spot.branch.steps())? {
            None => log::absent(log, from, 0..0),
            Some(folder) => self.log_file(&folder, &spot.file, log).read(from, limit),
        }
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        let Some(tasks) = Folder::descend(&self.team, Branch::Tasks.steps())? else {
            return Ok(Vec::new());
        };
        let (names, id): (_, fn(&str) -> Option<&str>) = match kind {
            // A name that is no text is nobody's id, which is for the caller to find: left out here it would be a task
            // that nobody hears of.
            Kind::Task => (tasks.names_in_words()?, layout::task_id),
            Kind::ClaimedTask => (tasks.names_with(layout::CLAIM_MARK)?, layout::claimed_id),
        };
        let ids = names.iter().filter_map(|name| id(name));
        Ok(ids.map(str::to_owned).collect())
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        Ok(Box::new(watch::LocalWatch::start(&self.team)))
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        DocumentFile::new(&self.team, place).view(rule)
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        DocumentFile::new(&self.team, place).update(rule, self.patience)
    }

    fn settle(&self, task: &TaskId) -> Result<(), StoreFailure> {
        match Folder::descend(&self.team, Branch::Tasks.steps())? {
            Some(tasks) => owed::settle(&tasks, task),
            None => Ok(()),
        }
    }

    fn take_over_ended(&self, reach: Reach, now: Timestamp) -> Result<Vec<TaskId>, StoreFailure> {
        match Folder::descend(&self.team, Branch::Tasks.steps())? {
            Some(tasks) => owed::take_over(&tasks, reach, now, self.patience),
            None => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
