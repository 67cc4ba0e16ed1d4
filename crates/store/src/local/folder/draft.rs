//! Replacing the text of a file: a draft beside it that takes its place in one step, or one write over a short text.
//!
//! What always holds: a reader sees the old text or the new one; what a writer leaves that fails or is killed is the old
//! text, and at most a draft that the next writer removes. Drafts have fixed names, so the folder is locked.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::OFlags;

use super::{Folder, SAFE, Stamp, open_quietly};
use crate::failure::StoreFailure;
use crate::local::room;
use crate::port::Durability;

/// What is written to a disk in one piece, in bytes.
const SECTOR: usize = 512;

impl Folder {
    /// Writes a short `text` over the one of the same file that `stamp` is of, in one write inside one sector. If that was
    /// longer, spaces cover the rest of it and are then cut off. `false` where that cannot be done.
    pub(crate) fn overwrite(
        &self,
        name: &str,
        text: &[u8],
        stamp: &Stamp,
    ) -> Result<bool, StoreFailure> {
        let size = text
            .len()
            .max(usize::try_from(stamp.size).unwrap_or(usize::MAX));
        if size > SECTOR || room::expect(size as u64).is_err() {
            return Ok(false);
        }
        let Ok(file) = open_quietly(&self.handle, name.as_ref(), SAFE | OFlags::WRONLY) else {
            return Ok(false);
        };
        let stat = rustix::fs::fstat(&file).map_err(self.refuse("look at", name))?;
        // A second name of the file may stand anywhere.
        if super::stamp(&stat) != *stamp || stat.st_nlink != 1 {
            return Ok(false);
        }
        let mut filled = text.to_vec();
        filled.resize(size, b' ');
        match rustix::io::pwrite(&file, &filled, 0) {
            Ok(written) if written == size => {}
            written => return written.map(|_| false).map_err(self.refuse("write", name)),
        }
        if text.len() < size {
            rustix::fs::ftruncate(&file, text.len() as u64).map_err(self.refuse("write", name))?;
        }
        Ok(true)
    }

    /// Writes `text` under the name `draft`, from where [`Self::promote`] puts it into place. Whatever stands there
    /// already, a dead writer left. On failure nothing stays.
    pub(crate) fn write_draft(
        &self,
        draft: &str,
        text: &[u8],
        durability: Durability,
    ) -> Result<File, StoreFailure> {
        room::expect(text.len() as u64)
            .map_err(|refused| StoreFailure::io("write", &self.child(draft), refused))?;
        let mut file = loop {
            match self.new_file(draft)? {
                Some(file) => break file,
                None => drop(self.remove(draft)?),
            }
        };
        let written = file.write_all(text).and_then(|()| match durability {
            Durability::Synced => file.sync_data(),
            Durability::Ordered | Durability::Relaxed => Ok(()),
        });
        match written {
            Ok(()) => Ok(file),
            Err(refused) => Err(self.without(draft, "write", refused)),
        }
    }

    /// Puts a draft in the place of `name` in one step: a reader sees the old text or the new one.
    ///
    /// A draft that was not synced is exchanged with what stands there, where the system can. Replacing would do as
    /// well, but makes some file systems write the draft out on the spot, which costs more than the rest together.
    pub(crate) fn promote(
        &self,
        draft: &str,
        name: &str,
        durability: Durability,
    ) -> Result<(), StoreFailure> {
        if durability == Durability::Relaxed && self.exchange(draft, name) {
            // What is left under the draft's name is the old text. Should this fail, the next writer removes it.
            let _ = self.remove(draft);
            return Ok(());
        }
        rustix::fs::renameat(&self.handle, draft, &self.handle, name)
            .map_err(|refused| self.without(draft, "replace", refused.into()))
    }

    /// Whether `draft` and `name` changed places: not where one is missing or the system has no such step.
    #[cfg(target_os = "linux")]
    fn exchange(&self, draft: &str, name: &str) -> bool {
        use rustix::fs::{RenameFlags, renameat_with};
        renameat_with(
            &self.handle,
            draft,
            &self.handle,
            name,
            RenameFlags::EXCHANGE,
        )
        .is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn exchange(&self, _: &str, _: &str) -> bool {
        false
    }

    /// The failure of a draft that is taken away. Should that fail as well, the next writer does it.
    fn without(&self, draft: &str, what: &'static str, refused: io::Error) -> StoreFailure {
        let _ = self.remove(draft);
        StoreFailure::io(what, &self.child(draft), refused)
    }

    /// Whether the file system under this folder keeps the old text of a replaced file until the new one is written,
    /// and takes the renaming along when the new one is synced. ext4 does, as it is mounted unless somebody asks for
    /// less; of others it is not assumed.
    pub(crate) fn replaces_whole(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            const EXT4: u64 = 0xEF53;
            rustix::fs::fstatfs(&self.handle)
                .is_ok_and(|system| u64::try_from(system.f_type) == Ok(EXT4))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }
}
