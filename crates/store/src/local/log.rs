//! A log as a file: whole lines, appended under the file's own lock and read without any.
//!
//! What always holds:
//! - A record is one `write` on `O_APPEND`, with its line end. If it came out short it is finished or taken back.
//! - A line that a crash cut short gets its line end from the next append, once, because that runs under the lock.
//! - The log was synced before an append answers, unless its records are not waited for ([`Log::durability`]). The sync
//!   comes after the lock, so that writers who wait for each other's lines share one; until then a reader may see a
//!   line that is not acknowledged yet.
//! - A log that has a byte in it also has a lasting entry in its folder.
//! - A reader never sees half a line: its pages end at a line end, whatever is being written behind it; a last record
//!   that is whole and lacks its line end is a line. Of a line that
//!   is longer than any record it sees the beginning, so that memory stays bounded whatever stands in the file.
//!
//! - Cursors of a log of which the oldest part goes (`parts`) count from where it once began.
//!
//! The reference appends without a lock, also in one write; its lines and ours do not mix.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::folder::{Folder, Stamp, stamp};
use super::lock;
use super::room;
use crate::failure::StoreFailure;
use crate::port::{Cursor, Durability, Log, Page};

mod parts;

pub use parts::Rotation;

/// How often a log that is replaced again and again is opened anew.
const OPENINGS: u32 = 64;

/// The step in which a line without end is searched for its end, in bytes.
const STRIDE: usize = 64 * 1024;

/// The longest record, in bytes. Bodies are far shorter, also with every character escaped.
const LONGEST: u64 = 64 * 1024 * 1024;

/// How much of a longer line is shown, which is enough to see that it is no record.
const SHOWN: u64 = 4096;

/// A log in its folder.
pub(super) struct LogFile<'a> {
    pub(super) folder: &'a Folder,
    pub(super) name: &'a str,
    pub(super) log: &'a Log,
    pub(super) rotation: Rotation,
}

/// What an append is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Where the first record stands. In a log that is kept in parts, the folder is listed for that.
    Place,
    /// Nothing of use.
    Nothing,
}

/// One append, from where the log ended before it.
struct Written {
    start: u64,
    end: u64,
}

impl LogFile<'_> {
    fn is_synced(&self) -> bool {
        self.log.durability() == Durability::Synced
    }

    fn failed(&self, what: &'static str) -> impl Fn(io::Error) -> StoreFailure + '_ {
        move |refused| StoreFailure::io(what, &self.folder.child(self.name), refused)
    }

    /// Appends records, which hold no line end, and answers where the first of them stands if that is wanted.
    pub(super) fn append(
        &self,
        records: &[&[u8]],
        wanted: Wanted,
        patience: Duration,
    ) -> Result<Cursor, StoreFailure> {
        if records.iter().any(|record| record.len() as u64 >= LONGEST) {
            return Err(self.failed("append to")(io::ErrorKind::FileTooLarge.into()));
        }
        for _ in 0..OPENINGS {
            let file = self.folder.appendable(self.name)?;
            let path = self.folder.child(self.name);
            let held = lock::exclusive(&file, &path, patience)?;
            let Some(now) = self.current(&file)? else {
                continue;
            };
            let cut = self.make_ready(&file, &now)?;
            if self.log.is_rotated() && now.size >= self.rotation.at {
                self.begin_anew(&file, cut)?;
                continue;
            }
            let base = match wanted {
                Wanted::Place => self.base()?,
                Wanted::Nothing => 0,
            };
            let written = self.write(&file, records, cut)?;
            drop(held);
            if self.is_synced()
                && let Err(refused) = file.sync_data()
            {
                let _held = lock::exclusive(&file, &path, patience)?;
                take_back(&file, &written);
                return Err(self.failed("sync")(refused));
            }
            return Ok(base + written.start + u64::from(cut));
        }
        Err(self.failed("append to")(io::ErrorKind::NotFound.into()))
    }

    /// What the locked file is now; `None` when another one took its place while the lock was waited for.
    fn current(&self, file: &File) -> Result<Option<Stamp>, StoreFailure> {
        let stat =
            rustix::fs::fstat(file).map_err(|refused| self.failed("look at")(refused.into()))?;
        let here = stamp(&stat);
        let there = self.folder.stamp(self.name)?;
        Ok(there
            .is_some_and(|there| there.is_same_file(&here))
            .then_some(here))
    }

    /// Answers whether the log ends in the middle of a line. An empty log gets a lasting entry in its folder first.
    fn make_ready(&self, file: &File, now: &Stamp) -> Result<bool, StoreFailure> {
        if now.size == 0 {
            if self.is_synced() {
                self.folder.sync()?;
            }
            return Ok(false);
        }
        let mut last = [0];
        file.read_exact_at(&mut last, now.size - 1)
            .map_err(self.failed("read"))?;
        Ok(last != [b'\n'])
    }

    fn write(
        &self,
        mut file: &File,
        records: &[&[u8]],
        cut: bool,
    ) -> Result<Written, StoreFailure> {
        let size = records.iter().map(|record| record.len() + 1).sum::<usize>();
        let mut text = Vec::with_capacity(size + 1);
        if cut {
            text.push(b'\n');
        }
        for record in records {
            text.extend_from_slice(record);
            text.push(b'\n');
        }
        let end = file.metadata().map_err(self.failed("look at"))?.len() + text.len() as u64;
        room::expect(end).map_err(self.failed("append to"))?;
        let mut done = 0;
        while done < text.len() {
            let refused = match file.write(&text[done..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(more) => {
                    done += more;
                    continue;
                }
                Err(again) if again.kind() == io::ErrorKind::Interrupted => continue,
                Err(refused) => refused,
            };
            if done > 0 {
                take_back(file, &self.extent(file, done)?);
            }
            return Err(self.failed("append to")(refused));
        }
        self.extent(file, done)
    }
}

impl LogFile<'_> {
    /// Where the `done` bytes stand that were just written.
    fn extent(&self, file: &File, done: usize) -> Result<Written, StoreFailure> {
        let end =
            rustix::fs::tell(file).map_err(|refused| self.failed("look at")(refused.into()))?;
        Ok(Written {
            start: end.saturating_sub(done as u64),
            end,
        })
    }

    /// Where the log ends now.
    pub(super) fn end(&self) -> Result<Cursor, StoreFailure> {
        let base = self.base()?;
        let now = self.folder.stamp(self.name)?;
        Ok(base + now.map_or(0, |now| now.size))
    }

    /// Reads whole lines, as [`crate::port::Store::read`] says.
    pub(super) fn read(&self, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        if self.log.is_rotated() {
            return self.read_parts(from, limit);
        }
        let opened = self.folder.file(self.name)?;
        let len = opened.as_ref().map_or(0, |(_, now)| now.size);
        let Some((file, _)) = opened.filter(|_| from <= len) else {
            return absent(self.log, from, 0..len);
        };
        let reader = Reader { file: &file, len };
        reader.page(from, limit).map_err(self.failed("read"))
    }
}

/// What reading a log answers that is not there, or that ends before `from`. Its present file is `present` of the log.
pub(super) fn absent(
    log: &Log,
    from: Cursor,
    present: Range<Cursor>,
) -> Result<Page, StoreFailure> {
    let Range { start, end: len } = present;
    if from <= len {
        return Ok(Page::tail(from, 0));
    }
    Err(StoreFailure::LogTruncated {
        log: log.to_string(),
        len,
        cursor: from,
        start,
    })
}

/// Cuts off what was written, if nobody wrote behind it. Should that fail, the line without end stays and the next
/// append isolates it; the caller reports what went wrong first.
fn take_back(file: &File, written: &Written) {
    let is_last = file.metadata().is_ok_and(|now| now.len() == written.end);
    if is_last {
        let _ = file.set_len(written.start);
    }
}

/// A log as long as it was when reading began.
struct Reader<'a> {
    file: &'a File,
    len: u64,
}

impl Reader<'_> {
    /// Reads up to `size` bytes from `at`, fewer only where the log ends.
    fn bytes(&self, at: u64, size: u64) -> io::Result<Vec<u8>> {
        let size = size.min(self.len - at);
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        let mut have = 0;
        while have < bytes.len() {
            match self.file.read_at(&mut bytes[have..], at + have as u64) {
                Ok(0) => break,
                Ok(more) => have += more,
                Err(again) if again.kind() == io::ErrorKind::Interrupted => {}
                Err(refused) => return Err(refused),
            }
        }
        bytes.truncate(have);
        Ok(bytes)
    }

    /// Where the line that `at` stands in ends, its line end included. Reads in steps, so that bytes without any line
    /// end cost no memory.
    fn after_line(&self, mut at: u64) -> io::Result<Option<u64>> {
        while at < self.len {
            let step = self.bytes(at, STRIDE as u64)?;
            if let Some(end) = step.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(at + end as u64 + 1));
            }
            if step.is_empty() {
                break;
            }
            at += step.len() as u64;
        }
        Ok(None)
    }

    fn page(&self, from: u64, limit: usize) -> io::Result<Page> {
        let is_line_start = from == 0 || self.bytes(from - 1, 1)? == [b'\n'];
        let Some(start) = (if is_line_start {
            Some(from)
        } else {
            self.after_line(from)?
        }) else {
            return Ok(Page::tail(from, self.len - from));
        };
        let mut bytes = self.bytes(start, limit as u64)?;
        if start + bytes.len() as u64 == self.len
            && let Some(page) = Page::with_whole_tail(start, self.len, &mut bytes)
        {
            return Ok(page);
        }
        let reach = start + bytes.len() as u64;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => bytes.truncate(last + 1),
            None => match self.after_line(reach)? {
                Some(end) if end - start > LONGEST => {
                    let mut bytes = self.bytes(start, SHOWN)?;
                    bytes.push(b'\n');
                    return Ok(Page {
                        base: start,
                        bytes,
                        next: end,
                        partial: 0,
                        at_end: end == self.len,
                    });
                }
                Some(end) => bytes = self.bytes(start, end - start)?,
                None => {
                    let size = self.len - start;
                    if size > LONGEST {
                        return Ok(Page::tail(start, size));
                    }
                    let mut bytes = self.bytes(start, size)?;
                    let page = Page::with_whole_tail(start, self.len, &mut bytes);
                    return Ok(page.unwrap_or_else(|| Page::tail(start, size)));
                }
            },
        }
        let next = start + bytes.len() as u64;
        let at_end = reach.max(next) == self.len;
        Ok(Page {
            base: start,
            bytes,
            next,
            partial: if at_end { self.len - next } else { 0 },
            at_end,
        })
    }
}
