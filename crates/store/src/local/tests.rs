//! Tests of the local adapter, by what they are about.

use std::io::Write;
use std::path::{Path, PathBuf};

use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::time::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::conformance::{Damage, Subject};

mod documents;
mod formats;
mod links;
mod logs;
mod marks;
mod projects;
mod rotation;
mod state;
mod watching;

pub(crate) fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// A project with the team `t` in a private folder.
struct Scene {
    dir: TempDir,
    project: Project,
    store: LocalStore,
}

fn scene() -> Scene {
    let dir = TempDir::new().unwrap();
    let project = Project::at(dir.path()).unwrap();
    let team = Team::new(&name("t"), "", "", "/p", Timestamp::from_millis(0));
    let Creation::Created(store) = project.create_team(&name("t"), &team).unwrap() else {
        panic!("the name is taken");
    };
    Scene {
        dir,
        project,
        store,
    }
}

impl Scene {
    fn path(&self, below: &str) -> PathBuf {
        self.store.folder().join(below)
    }

    fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap()
    }

    fn write(&self, below: &str, text: &str) {
        std::fs::write(self.path(below), text).unwrap();
    }
}

/// Every file and folder below `folder` with its text, modes and times, for telling that nothing changed.
fn snapshot(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let stat = path.symlink_metadata().unwrap();
            let text = if stat.is_file() {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
            } else {
                String::new()
            };
            let times = (
                stat.mtime(),
                stat.mtime_nsec(),
                stat.ctime(),
                stat.ctime_nsec(),
            );
            found.push(format!(
                "{} {:o} {} {times:?} {text}",
                path.display(),
                stat.mode(),
                stat.ino()
            ));
            if stat.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A local store for the conformance suite, whose logs are damaged behind its back.
pub(crate) fn subject() -> Subject {
    let scene = scene();
    let folder = scene.store.folder().to_path_buf();
    Subject::new(scene.store, scene.dir).with_damage(move |_, log, damage| {
        let path = folder.join(layout::log(log).path());
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        match damage {
            Damage::Torn(bytes) => file.write_all(bytes).unwrap(),
            Damage::CutTo(len) => file.set_len(len).unwrap(),
        }
    })
}
