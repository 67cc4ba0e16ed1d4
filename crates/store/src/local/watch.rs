//! Watching a team's folder: events of the system at once, and looking at everything again every now and then.
//!
//! Events are missing on some mounts, when the system has no watches left, and for folders that do not exist yet; so
//! [`Sweep`] compares what stands there with what was there before. With events it runs when nothing happened for
//! [`SLOW`], without them every [`FAST`], and at once when a folder appears. What an event reported is noted, so that
//! the sweep does not report it again.
//!
//! Always holds: only documents and logs are reported, never drafts, marks or output; what waits is bounded and lag is
//! a change of its own; a team that is removed is reported as such and watched again when it comes back.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher};

use super::folder::Stamp;
use crate::changes::{CAPACITY, Changes, Taken};
use crate::failure::StoreFailure;
use crate::layout;
use crate::port::{Change, Watch};
use sweep::Sweep;

mod sweep;

/// Between two sweeps while events arrive.
const SLOW: Duration = Duration::from_millis(1500);

/// Between two sweeps without events.
const FAST: Duration = Duration::from_millis(200);

pub(super) struct LocalWatch {
    team: PathBuf,
    changes: Arc<Changes>,
    events: Result<RecommendedWatcher, String>,
    /// The folders with a watch, each with what tells it from a later folder of the same name.
    armed: BTreeMap<PathBuf, Stamp>,
    sweep: Sweep,
    /// What the last sweep found and nobody took yet.
    found: VecDeque<Change>,
    /// How long nothing happened since the last sweep.
    idle: Duration,
}

/// What the system says about a path, as a change. `None` for what is neither document nor log.
fn meaning(team: &Path, path: &Path) -> Option<Change> {
    layout::change(path.strip_prefix(team).ok()?)
}

fn is_telling(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
        // Both ends of it were told before.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// Whether a folder that is to be watched may have come or gone, which then has to be looked into. Output that is written
/// does not, and a folder of one turn holds nothing else.
fn moves_folders(kind: EventKind, team: &Path, path: &Path) -> bool {
    let may_move = !matches!(
        kind,
        EventKind::Create(CreateKind::File)
            | EventKind::Remove(RemoveKind::File)
            | EventKind::Modify(ModifyKind::Any | ModifyKind::Data(_) | ModifyKind::Other)
    );
    may_move && path.extension().is_none() && sweep::may_be_watched(team, path)
}

fn listen(team: &Path, changes: &Arc<Changes>) -> Result<RecommendedWatcher, String> {
    let (team, changes) = (team.to_path_buf(), Arc::clone(changes));
    let hear = move |event: notify::Result<notify::Event>| match event {
        Ok(event) if event.need_rescan() => changes.push(Change::Lagged),
        Ok(event) if is_telling(event.kind) => {
            for path in &event.paths {
                match meaning(&team, path) {
                    Some(change) => changes.push(change),
                    None if moves_folders(event.kind, &team, path) => changes.wake(),
                    None => {}
                }
            }
        }
        Ok(_) => {}
        Err(_) => changes.push(Change::Lagged),
    };
    let config = Config::default().with_follow_symlinks(false);
    RecommendedWatcher::new(hear, config).map_err(|refused| refused.to_string())
}

impl LocalWatch {
    pub(super) fn start(team: &Path) -> Self {
        let changes = Arc::new(Changes::default());
        let mut watch = Self {
            team: team.to_path_buf(),
            events: listen(team, &changes),
            changes,
            armed: BTreeMap::new(),
            sweep: Sweep::default(),
            found: VecDeque::new(),
            idle: Duration::ZERO,
        };
        watch.look_again();
        watch.found.clear();
        watch
    }

    /// A watch to which the system says nothing.
    #[cfg(test)]
    pub(super) fn blind(team: &Path) -> Self {
        let mut watch = Self::start(team);
        watch.events = Err("for a test".into());
        watch.armed.clear();
        watch.changes = Arc::default();
        watch
    }

    fn pace(&self) -> Duration {
        match (&self.events, self.armed.is_empty()) {
            (Ok(_), false) => SLOW,
            _ => FAST,
        }
    }

    /// Sees to it that every folder is watched, then compares what stands there with what stood there before. In this
    /// order, so that nothing between the two is missed.
    fn look_again(&mut self) {
        self.idle = Duration::ZERO;
        let folders = sweep::folders(&self.team);
        let gone = |path: &PathBuf| !folders.contains_key(path);
        let gone: Vec<PathBuf> = self
            .armed
            .keys()
            .filter(|path| gone(path))
            .cloned()
            .collect();
        for path in gone {
            self.disarm(&path);
        }
        for (path, stamp) in &folders {
            let known = self.armed.get(path);
            if known.is_some_and(|known| known.is_same_file(stamp)) {
                continue;
            }
            self.arm(path, *stamp);
        }
        let changed = self.sweep.compare(&self.team, folders.keys());
        self.found.extend(changed);
        if self.found.len() > CAPACITY {
            self.found.clear();
            self.found.push_back(Change::Lagged);
        }
    }

    fn disarm(&mut self, path: &Path) {
        if let (Some(_), Ok(events)) = (self.armed.remove(path), &mut self.events) {
            // The system may have ended the watch of a folder that is gone before we do.
            let _ = events.unwatch(path);
        }
    }

    fn arm(&mut self, path: &Path, stamp: Stamp) {
        self.disarm(path);
        let Ok(events) = &mut self.events else {
            return;
        };
        match events.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.armed.insert(path.to_path_buf(), stamp);
            }
            Err(refused) if matches!(refused.kind, notify::ErrorKind::PathNotFound) => {}
            Err(refused) => {
                self.armed.clear();
                self.events = Err(refused.to_string());
            }
        }
    }
}

impl Watch for LocalWatch {
    fn next(&mut self, wait: Duration) -> Result<Option<Change>, StoreFailure> {
        let mut left = wait;
        loop {
            if let Some(change) = self.found.pop_front() {
                return Ok(Some(change));
            }
            let step = left.min(self.pace().saturating_sub(self.idle));
            match self.changes.take(step) {
                Taken::Change(change) => {
                    self.sweep.note(&self.team, &change);
                    return Ok(Some(change));
                }
                Taken::Woken => self.look_again(),
                Taken::Nothing => {
                    left -= step;
                    self.idle += step;
                    if self.idle >= self.pace() {
                        self.look_again();
                    }
                    if left.is_zero() && self.found.is_empty() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn slowed_by(&self) -> Option<&str> {
        self.events.as_ref().err().map(String::as_str)
    }
}
