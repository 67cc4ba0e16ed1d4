//! An open folder, and everything that is done to the files in it: by handle, never over a link.
//!
//! | what stands at the name | reading | writing |
//! |---|---|---|
//! | nothing | `None` | made, private to the user |
//! | a plain file or folder | used | used |
//! | a plain file with a second name (a hard link) | used | replaced; appending to it: `Escapes` |
//! | a link, a pipe, a socket, a device, a folder for a file | `Escapes` | `Escapes` |
//!
//! A name is one path component and is resolved from the handle with `O_NOFOLLOW`, so what happens to the folder's own
//! path meanwhile changes nothing. Opening never waits (a pipe has no reader) and reading leaves no access time.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::lock::{self, Held};
use super::room;
use crate::failure::StoreFailure;
use crate::port::Durability;

mod draft;
mod listing;

const FILE: Mode = Mode::from_raw_mode(0o600);
const FOLDER: Mode = Mode::from_raw_mode(0o700);

/// What is opened with every flag that makes opening safe.
const SAFE: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

const AS_FOLDER: OFlags = SAFE.union(OFlags::RDONLY).union(OFlags::DIRECTORY);

/// The largest file that is read whole.
const LARGEST: u64 = 64 * 1024 * 1024;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    /// In bytes.
    pub(crate) size: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
}

impl Stamp {
    /// Whether both are states of one file.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

#[derive(Debug)]
pub(crate) struct Folder {
    handle: File,
    path: PathBuf,
}

/// Opens without leaving an access time where that is allowed, which it is for the owner.
fn open_quietly(at: impl AsFd, name: &Path, flags: OFlags) -> Result<File, Errno> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match rustix::fs::openat(&at, name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => {}
        opened => return opened.map(File::from),
    }
    rustix::fs::openat(&at, name, flags, Mode::empty()).map(File::from)
}

/// `Ok(None)` for what does not exist.
fn absent_is_none<T>(result: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NOENT) => Ok(None),
        Err(refused) => Err(refused),
    }
}

fn failed(what: &'static str, path: &Path, refused: Errno) -> StoreFailure {
    match refused {
        // A link, a socket, a folder for a file, a file for a folder.
        Errno::LOOP | Errno::NXIO | Errno::ISDIR | Errno::NOTDIR => StoreFailure::Escapes {
            path: path.to_path_buf(),
        },
        _ => StoreFailure::io(what, path, refused.into()),
    }
}

impl Folder {
    /// The folder at `path`, whose last component is no link. `None` when there is none.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, StoreFailure> {
        Self::open_as(path, AS_FOLDER)
    }

    /// The folder at `path`, which a person named: a link to it will do.
    pub(crate) fn follow(path: &Path) -> Result<Option<Self>, StoreFailure> {
        Self::open_as(path, AS_FOLDER.difference(OFlags::NOFOLLOW))
    }

    fn open_as(path: &Path, flags: OFlags) -> Result<Option<Self>, StoreFailure> {
        let handle = absent_is_none(open_quietly(CWD, path, flags))
            .map_err(|refused| failed("open", path, refused))?;
        Ok(handle.map(|handle| Self {
            handle,
            path: path.to_path_buf(),
        }))
    }

    /// The folder at `path`, which has to be there.
    pub(crate) fn expect(path: &Path) -> Result<Self, StoreFailure> {
        Self::open(path)?.ok_or_else(|| failed("open", path, Errno::NOENT))
    }

    /// The folder some steps below `path`. `None` when there is none.
    pub(crate) fn descend<'a>(
        path: &Path,
        steps: impl Iterator<Item = &'a str>,
    ) -> Result<Option<Self>, StoreFailure> {
        let mut folder = Self::open(path)?;
        for step in steps {
            folder = match folder {
                Some(folder) => folder.sub(step)?,
                None => break,
            };
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn child(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn refuse(&self, what: &'static str, name: &str) -> impl FnOnce(Errno) -> StoreFailure {
        let path = self.child(name);
        move |refused| failed(what, &path, refused)
    }

    /// A folder inside.
    pub(crate) fn sub(&self, name: &str) -> Result<Option<Self>, StoreFailure> {
        let handle = absent_is_none(open_quietly(&self.handle, name.as_ref(), AS_FOLDER))
            .map_err(self.refuse("open", name))?;
        Ok(handle.map(|handle| Self {
            handle,
            path: self.child(name),
        }))
    }

    /// Makes a folder inside; answers whether it did, or something stands there.
    pub(crate) fn new_sub(&self, name: &str) -> Result<bool, StoreFailure> {
        match rustix::fs::mkdirat(&self.handle, name, FOLDER) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(refused) => Err(self.refuse("create", name)(refused)),
        }
    }

    /// A folder inside, made and put on disk if need be.
    pub(crate) fn sub_or_new(&self, name: &str) -> Result<Self, StoreFailure> {
        for _ in 0..8 {
            if let Some(folder) = self.sub(name)? {
                return Ok(folder);
            }
            if self.new_sub(name)? {
                self.sync()?;
            }
        }
        Err(self.refuse("create", name)(Errno::NOENT))
    }

    /// The file, if it is a plain one, and how it stands.
    fn checked(&self, name: &str, file: File) -> Result<(File, Stamp), StoreFailure> {
        let stat = self.plain(name, &file)?;
        Ok((file, stamp(&stat)))
    }

    fn plain(&self, name: &str, file: &File) -> Result<rustix::fs::Stat, StoreFailure> {
        let stat = rustix::fs::fstat(file).map_err(self.refuse("look at", name))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            return Ok(stat);
        }
        Err(self.escapes(name))
    }

    fn escapes(&self, name: &str) -> StoreFailure {
        StoreFailure::Escapes {
            path: self.child(name),
        }
    }

    /// Opens a file for reading.
    pub(crate) fn file(&self, name: &str) -> Result<Option<(File, Stamp)>, StoreFailure> {
        absent_is_none(open_quietly(
            &self.handle,
            name.as_ref(),
            SAFE | OFlags::RDONLY,
        ))
        .map_err(self.refuse("open", name))?
        .map(|file| self.checked(name, file))
        .transpose()
    }

    /// Opens a file for appending and for reading, made if need be. One that has a second name is not: what is written
    /// would stand under that name too, wherever it is.
    pub(crate) fn appendable(&self, name: &str) -> Result<File, StoreFailure> {
        let flags = SAFE | OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        let file = rustix::fs::openat(&self.handle, name, flags, FILE)
            .map_err(self.refuse("append to", name))?;
        let file = File::from(file);
        let stat = self.plain(name, &file)?;
        if stat.st_nlink > 1 {
            return Err(self.escapes(name));
        }
        Ok(file)
    }

    /// Makes a file for writing; `None` when something stands there.
    pub(crate) fn new_file(&self, name: &str) -> Result<Option<File>, StoreFailure> {
        let flags = SAFE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        match rustix::fs::openat(&self.handle, name, flags, FILE) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::EXIST) => Ok(None),
            Err(refused) => Err(self.refuse("create", name)(refused)),
        }
    }

    /// The whole text of a file, and what tells this state of it from a later one.
    pub(crate) fn read(&self, name: &str) -> Result<Option<(Vec<u8>, Stamp)>, StoreFailure> {
        let Some((mut file, stamp)) = self.file(name)? else {
            return Ok(None);
        };
        if stamp.size > LARGEST {
            return Err(self.refuse("read", name)(Errno::FBIG));
        }
        // One byte of room more than the file has: the read that leaves it free was the last one.
        let mut text = vec![0; usize::try_from(stamp.size).unwrap_or(0) + 1];
        let mut have = 0;
        loop {
            match file.read(&mut text[have..]) {
                Ok(0) => break,
                Ok(more) => have += more,
                Err(again) if again.kind() == std::io::ErrorKind::Interrupted => {}
                Err(refused) => return Err(StoreFailure::io("read", &self.child(name), refused)),
            }
            if have as u64 == stamp.size {
                break;
            }
            if have == text.len() {
                text.resize(have * 2, 0);
            }
        }
        text.truncate(have);
        Ok(Some((text, stamp)))
    }

    /// What tells this folder from a later one at its path.
    pub(crate) fn own_stamp(&self) -> Result<Stamp, StoreFailure> {
        let stat = rustix::fs::fstat(&self.handle)
            .map_err(|refused| failed("look at", &self.path, refused))?;
        Ok(stamp(&stat))
    }

    /// The size of the plain file at `name`, in bytes; `None` when something else or nothing stands there.
    pub(crate) fn plain_size(&self, name: &str) -> Result<Option<u64>, StoreFailure> {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = absent_is_none(stat).map_err(self.refuse("look at", name))?;
        let is_plain = |stat: &rustix::fs::Stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        };
        Ok(stat.filter(is_plain).map(|stat| stamp(&stat).size))
    }

    /// What stands at `name` now, links included.
    pub(crate) fn stamp(&self, name: &str) -> Result<Option<Stamp>, StoreFailure> {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = absent_is_none(stat).map_err(self.refuse("look at", name))?;
        Ok(stat.as_ref().map(stamp))
    }

    /// Gives what stands at `name`, a folder for instance, another name in this folder.
    pub(crate) fn rename(&self, name: &str, to: &str) -> Result<(), StoreFailure> {
        rustix::fs::renameat(&self.handle, name, &self.handle, to)
            .map_err(self.refuse("rename", name))
    }

    /// Makes `name` a link to `target`, whatever file or link stood there. A reader sees the old one or the new one.
    pub(crate) fn link(&self, target: &Path, name: &str, draft: &str) -> Result<(), StoreFailure> {
        let there = rustix::fs::readlinkat(&self.handle, name, Vec::new());
        if there.is_ok_and(|there| there.as_bytes() == target.as_os_str().as_bytes()) {
            return Ok(());
        }
        self.remove(draft)?;
        rustix::fs::symlinkat(target, &self.handle, draft).map_err(self.refuse("link", name))?;
        self.promote(draft, name, Durability::Relaxed)
    }

    /// Removes a file or a link; answers whether there was one.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, StoreFailure> {
        let removed = rustix::fs::unlinkat(&self.handle, name, AtFlags::empty());
        let removed = absent_is_none(removed).map_err(self.refuse("remove", name))?;
        Ok(removed.is_some())
    }

    /// Makes a file of this folder last.
    pub(crate) fn sync_file(&self, file: &File) -> Result<(), StoreFailure> {
        file.sync_all()
            .map_err(|refused| StoreFailure::io("sync", &self.path, refused))
    }

    /// Makes what was created, replaced or removed in this folder last.
    pub(crate) fn sync(&self) -> Result<(), StoreFailure> {
        self.handle
            .sync_all()
            .map_err(|refused| StoreFailure::io("sync", &self.path, refused))
    }

    /// Tries whether a file can be written here and made to last, in one that has no name: it never shows, leaves the
    /// folder's times as they were, and is gone when it is closed.
    pub(crate) fn try_writing(&self) -> Result<(), StoreFailure> {
        const PAGE: [u8; 4096] = [0; 4096];
        let mut file = match self.nameless()? {
            Some(file) => file,
            // Where no file goes without a name, that the folder may be written to has to do.
            None => {
                return rustix::fs::accessat(
                    &self.handle,
                    ".",
                    rustix::fs::Access::WRITE_OK,
                    AtFlags::EACCESS,
                )
                .map_err(|refused| failed("write in", &self.path, refused));
            }
        };
        room::expect(PAGE.len() as u64)
            .and_then(|()| file.write_all(&PAGE))
            .and_then(|()| file.sync_all())
            .map_err(|refused| StoreFailure::io("write in", &self.path, refused))
    }

    #[cfg(target_os = "linux")]
    fn nameless(&self) -> Result<Option<File>, StoreFailure> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.handle, ".", flags, FILE) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(refused) => Err(failed("write in", &self.path, refused)),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn nameless(&self) -> Result<Option<File>, StoreFailure> {
        Ok(None)
    }

    /// Locks the folder itself against other transactions in it.
    pub(crate) fn lock(&self, patience: Duration) -> Result<Held<'_>, StoreFailure> {
        lock::exclusive(&self.handle, &self.path, patience)
    }
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the fields have other types on other systems"
)]
pub(crate) fn stamp(stat: &rustix::fs::Stat) -> Stamp {
    Stamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        changed: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
    }
}
