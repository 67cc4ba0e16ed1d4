//! Plain files that are no state: what members print and read, and files that a person named.
//!
//! | what | opened by | links |
//! |---|---|---|
//! | output and overlay below `workers/<name>/` | [`WorkerFiles`] | refused |
//! | results in a delivery folder | [`Delivery`] | refused inside |
//! | a team file, a folder of profiles | [`read_text`], [`texts_in`] | followed: a person named the place |
//! | the names of files that a team works on | [`Workspace`] | resolved, nothing is opened |
//! | what such a file says, changed or new | [`Workspace::text`], [`Workspace::put`] | refused inside the project |
//! | which files there are, as ignore files say | `Workspace::walk` | not followed |
//! | a recording that a person named | [`append_line`], [`read_recording`] | followed: a person named the place |
//! | a hook of version control | [`HookFile`] | never followed: a link is moved as it is |
//! | the settings of an agent CLI | [`SettingsFile`] | followed: a person named the place |
//! | the entry of a pane, with its secrets | [`take_private`] | refused |
//! | manual pages, manifests, captures | [`write_file`] | the folder's followed: a person named it; the file's replaced |
//! | standard output, whether it is there at all | [`stands_for_nothing`] | nothing is opened |
//!
//! Everything made inside a team is private to the user. Opening never waits, also not on a pipe.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pitcrew_core::name::Name;
use rustix::fs::OFlags;

use crate::failure::StoreFailure;
use crate::layout::{self, Branch};
use crate::local::folder::{Folder, Stamp};
use crate::port::Durability;

mod changing;
mod hook;
mod private;
mod recording;
mod settings;
#[cfg(feature = "walk")]
mod walking;
mod whole;
mod workspace;

pub use changing::Put;
pub use hook::{HookFile, Standing};
pub use private::take_private;
pub use recording::{append_line, read_recording};
pub use settings::SettingsFile;
pub use workspace::{Workspace, resolved};

/// The longest name of a worker's file, in bytes.
const LONGEST_NAME: usize = 128;

/// The largest text that is read whole, in bytes.
pub const LARGEST_TEXT: u64 = 4 * 1024 * 1024;

/// The plain files of one worker, below `workers/<name>/` or one folder deeper. A file name is `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`; any
/// other is answered with `Escapes`.
#[derive(Debug, Clone)]
pub struct WorkerFiles {
    team: PathBuf,
    worker: Name,
    /// A folder inside the worker's own.
    inside: Option<String>,
}

impl WorkerFiles {
    pub(crate) fn new(team: &Path, worker: &Name) -> Self {
        Self {
            team: team.to_path_buf(),
            worker: worker.clone(),
            inside: None,
        }
    }

    /// The plain files of the folder `folder` inside the worker's own, which need not exist.
    ///
    /// # Errors
    /// `Escapes` for a name that no file of this kind can have, or inside such a folder.
    pub fn within(&self, folder: &str) -> Result<Self, StoreFailure> {
        self.check(folder)?;
        if self.inside.is_some() {
            return Err(StoreFailure::Escapes {
                path: self.path(folder),
            });
        }
        Ok(Self {
            inside: Some(folder.to_owned()),
            ..self.clone()
        })
    }

    /// Makes the folder if need be, and answers where it is.
    ///
    /// # Errors
    /// When it cannot be made; `Escapes` when a link or a file stands there.
    pub fn make_folder(&self) -> Result<PathBuf, StoreFailure> {
        self.make()?;
        Ok(self.folder())
    }

    /// The folder, which need not exist.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        let mut path = self.team.clone();
        path.extend(self.steps());
        path
    }

    fn steps(&self) -> impl Iterator<Item = &str> {
        let worker = Branch::Worker(self.worker.as_str());
        worker.steps().chain(self.inside.as_deref())
    }

    /// Where `file` stands, for showing it and for telling an agent about it.
    #[must_use]
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder().join(file)
    }

    fn check(&self, file: &str) -> Result<(), StoreFailure> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_good = file.len() <= LONGEST_NAME
            && file.starts_with(|first: char| first.is_ascii_alphanumeric())
            && file.bytes().all(is_plain);
        if is_good {
            return Ok(());
        }
        Err(StoreFailure::Escapes {
            path: self.path(file),
        })
    }

    fn open(&self) -> Result<Option<Folder>, StoreFailure> {
        Folder::descend(&self.team, self.steps())
    }

    fn make(&self) -> Result<Folder, StoreFailure> {
        let mut folder = Folder::expect(&self.team)?;
        for step in self.steps() {
            folder = folder.sub_or_new(step)?;
        }
        Ok(folder)
    }

    /// Makes an empty file and opens it for writing; `None` when the name is taken.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(&self, file: &str) -> Result<Option<File>, StoreFailure> {
        self.check(file)?;
        self.make()?.new_file(file)
    }

    /// Opens a file for appending, made if need be.
    ///
    /// # Errors
    /// When the file cannot be opened; `Escapes` when it is a link or no plain file.
    pub fn append(&self, file: &str) -> Result<File, StoreFailure> {
        self.check(file)?;
        self.make()?.appendable(file)
    }

    /// Replaces a file's text in one step: a reader sees the old text or the new one. Its last change may be lost in a
    /// power failure.
    ///
    /// # Errors
    /// When it cannot be written; the old text is still there then.
    pub fn write(&self, file: &str, text: &[u8]) -> Result<(), StoreFailure> {
        self.check(file)?;
        let folder = self.make()?;
        let _held = folder.lock(crate::local::PATIENCE)?;
        let draft = layout::draft(file);
        folder.write_draft(&draft, text, Durability::Relaxed)?;
        folder.promote(&draft, file, Durability::Relaxed)
    }

    /// Removes a file; answers whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, file: &str) -> Result<bool, StoreFailure> {
        self.check(file)?;
        match self.open()? {
            Some(folder) => folder.remove(file),
            None => Ok(false),
        }
    }

    /// The last `limit` bytes of a file, or all of it; `None` when there is none.
    ///
    /// # Errors
    /// When the file cannot be read; `Escapes` when it is a link or no plain file.
    pub fn tail(&self, file: &str, limit: u64) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.check(file)?;
        let opened = match self.open()? {
            Some(folder) => folder.file(file)?,
            None => None,
        };
        let read = |(mut opened, now): (File, Stamp)| {
            let start = now.size.saturating_sub(limit);
            opened.seek(SeekFrom::Start(start))?;
            let mut text = Vec::new();
            opened.take(limit).read_to_end(&mut text)?;
            Ok(text)
        };
        opened
            .map(read)
            .transpose()
            .map_err(|refused: io::Error| StoreFailure::io("read", &self.path(file), refused))
    }

    /// The names of the worker's files, sorted; names that no file of this kind can have are left out.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, StoreFailure> {
        let Some(folder) = self.open()? else {
            return Ok(Vec::new());
        };
        let mut names = folder.names()?;
        names.retain(|name| self.check(name).is_ok());
        names.sort();
        Ok(names)
    }
}

/// A folder into which lanes deliver: `manifest.json` and a `<lane>.result.md` for each.
#[derive(Debug, Clone)]
pub struct Delivery {
    folder: PathBuf,
}

impl Delivery {
    /// The delivery folder `folder`, which need not exist.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
        }
    }

    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        match Folder::follow(&self.folder)? {
            Some(folder) => Ok(folder.read(file)?.map(|(text, _)| text)),
            None => Ok(None),
        }
    }

    /// The text of `manifest.json`; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn manifest(&self) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.read("manifest.json")
    }

    /// The result of a lane as it is so far; `None` when it has not begun to deliver.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn result(&self, lane: &Name) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.read(&format!("{lane}.result.md"))
    }
}

/// The text of a file that a person named, up to [`LARGEST_TEXT`].
///
/// # Errors
/// When it is missing, no plain file, too large, not UTF-8, or cannot be read.
pub fn read_text(path: &Path) -> Result<String, StoreFailure> {
    read_up_to(path, LARGEST_TEXT)
}

/// Opening waits for nobody, also not at the end of a pipe.
fn nonblock() -> io::Result<i32> {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(io::Error::other)
}

/// The text of a plain file of at most so many bytes.
fn read_up_to(path: &Path, largest: u64) -> Result<String, StoreFailure> {
    let read = || {
        let file = File::options()
            .read(true)
            .custom_flags(nonblock()?)
            .open(path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is no plain file"));
        }
        if found.len() > largest {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut text = String::new();
        file.take(largest).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|refused| StoreFailure::io("read", path, refused))
}

/// A file that was read because of where it stands, with what went wrong with it alone.
#[derive(Debug)]
pub struct FoundText {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says.
    pub text: Result<String, StoreFailure>,
}

/// Writes a file into a folder that a person named, made if need be. What stood there is replaced in one step.
///
/// # Errors
/// When the folder or the file cannot be written; what stood there still does.
pub fn write_file(folder: &Path, name: &str, text: &[u8]) -> Result<(), StoreFailure> {
    std::fs::create_dir_all(folder)
        .map_err(|refused| StoreFailure::io("create", folder, refused))?;
    whole::put(folder, name, text, None)
}

/// The texts of the files in `folder` whose name ends in `.<extension>`, sorted by name. A folder that does not exist holds none.
///
/// # Errors
/// When the folder cannot be listed.
pub fn texts_in(folder: &Path, extension: &str) -> Result<Vec<FoundText>, StoreFailure> {
    let failed = |refused| StoreFailure::io("list", folder, refused);
    let entries = match std::fs::read_dir(folder) {
        Err(absent) if absent.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: PathBuf| FoundText {
        text: read_text(&path),
        path,
    };
    Ok(paths.into_iter().map(read).collect())
}

/// Whether `output`, the standard output of this process, was closed before the process began. What is written then goes
/// nowhere: the null device, open for reading too, was put in its place so that no file can get there by accident. Null
/// devices that a caller names are as a rule open for writing only, and count as an output that is to go nowhere.
#[must_use]
pub fn stands_for_nothing(output: impl AsFd) -> bool {
    let is_null = || {
        let (out, null) = (rustix::fs::fstat(&output)?, rustix::fs::stat("/dev/null")?);
        Ok::<_, rustix::io::Errno>((out.st_rdev, out.st_ino) == (null.st_rdev, null.st_ino))
    };
    let reads_too = |flags: OFlags| flags & OFlags::RWMODE == OFlags::RDWR;
    rustix::fs::fcntl_getfl(&output).is_ok_and(reads_too) && is_null().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_core::refusal::NameKind;

    fn files(team: &Path) -> WorkerFiles {
        WorkerFiles::new(team, &Name::new(NameKind::Member, "w1").unwrap())
    }

    #[test]
    fn a_folder_inside_a_worker_has_files_of_its_own() {
        let team = tempfile::tempdir().unwrap();
        let turn = files(team.path()).within("turn-1").unwrap();
        assert_eq!(turn.tail("stdout", 9).unwrap(), None);
        assert!(!team.path().join("workers").exists());
        turn.write("prompt.md", b"do it").unwrap();
        assert_eq!(turn.names().unwrap(), ["prompt.md"]);
        assert_eq!(turn.path("x"), team.path().join("workers/w1/turn-1/x"));
        let work = files(team.path()).within("work").unwrap();
        assert_eq!(
            work.make_folder().unwrap(),
            team.path().join("workers/w1/work")
        );
    }

    #[test]
    fn a_folder_inside_a_worker_cannot_lead_anywhere() {
        let (team, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let worker = files(team.path());
        for bad in ["", "..", ".x", "a/b", "/tmp"] {
            assert!(worker.within(bad).is_err(), "{bad:?}");
        }
        assert!(worker.within("a").unwrap().within("b").is_err());
        worker.make_folder().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), team.path().join("workers/w1/out")).unwrap();
        let linked = worker.within("out").unwrap();
        assert!(matches!(
            linked.append("x"),
            Err(StoreFailure::Escapes { .. })
        ));
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_null_device_that_reads_too_stands_for_nothing_and_one_that_only_writes_is_an_output() {
        let null = |reads| {
            let mut options = std::fs::File::options();
            options.read(reads).write(true).open("/dev/null").unwrap()
        };
        assert!(stands_for_nothing(null(true)));
        assert!(!stands_for_nothing(null(false)));
        assert!(!stands_for_nothing(tempfile::tempfile().unwrap()));
    }
}
