//! A log that is kept up to a size: its present file, and parts of it that are not written to any more.
//!
//! | file | holds |
//! |---|---|
//! | `events.jsonl` | the end of the log, from where the last part ends |
//! | `events.<base>.jsonl` | a part: whole lines, the first of which stood at byte `base` of the log |
//!
//! What always holds:
//! - Whoever finds the present file full, under its lock, gives it the name of a part; the next append makes a new one.
//!   Writers who waited for that lock notice that their file is no longer the present one, as with any replaced log.
//! - A part never changes. The oldest go when there are more than are kept.
//! - Cursors go on from part to part, so a reader in a part that is still kept reads on to its end and then the next.
//!   One whose part is gone goes on at the oldest line that is kept, and sees by the page's base how much it missed.
//! - A kill between two steps leaves every line in its place: a log without a present file has only its parts.

use std::fs::File;
use std::io::Write;

use super::{LogFile, OPENINGS, Reader, absent};
use crate::failure::StoreFailure;
use crate::layout;
use crate::local::folder::Stamp;
use crate::local::room;
use crate::port::{Cursor, Page};

/// When a log of which the oldest part goes begins a new file, and how many old ones stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// A file of this size or more is not written to any more, in bytes.
    pub at: u64,
    /// How many files stay beside the present one.
    pub keep: usize,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            at: 8 * 1024 * 1024,
            keep: 4,
        }
    }
}

/// A part that is not written to any more.
struct Part {
    base: Cursor,
    len: u64,
}

impl Part {
    fn end(&self) -> Cursor {
        self.base + self.len
    }
}

impl LogFile<'_> {
    /// The parts that are kept, the oldest first.
    fn parts(&self) -> Result<Vec<Part>, StoreFailure> {
        let names = self.folder.names()?;
        let bases = names.iter().filter_map(|name| {
            let base = layout::part_base(self.name, name)?;
            Some((base, name))
        });
        let mut parts = Vec::new();
        for (base, name) in bases {
            // One that went meanwhile is none, and what is no plain file or ends nowhere nobody wrote as a part.
            let len = self.folder.plain_size(name)?;
            let len = len.filter(|len| base.checked_add(*len).is_some());
            parts.extend(len.map(|len| Part { base, len }));
        }
        parts.sort_by_key(|part| part.base);
        Ok(parts)
    }

    /// Where the present file starts in the log. To be asked under its lock.
    pub(super) fn base(&self) -> Result<Cursor, StoreFailure> {
        if !self.log.is_rotated() {
            return Ok(0);
        }
        Ok(self.parts()?.last().map_or(0, Part::end))
    }

    /// Ends the present file, which is locked; `cut` says that it ends in the middle of a line.
    pub(super) fn begin_anew(&self, mut file: &File, cut: bool) -> Result<(), StoreFailure> {
        if cut {
            let end = file.metadata().map_err(self.failed("look at"))?.len() + 1;
            room::expect(end)
                .and_then(|()| file.write_all(b"\n"))
                .map_err(self.failed("append to"))?;
        }
        let parts = self.parts()?;
        let base = parts.last().map_or(0, Part::end);
        self.folder
            .rename(self.name, &layout::part(self.name, base))?;
        let surplus = (parts.len() + 1).saturating_sub(self.rotation.keep.max(1));
        for old in parts.iter().take(surplus) {
            // What cannot be removed now is surplus at the next turn too.
            let _ = self.folder.remove(&layout::part(self.name, old.base));
        }
        Ok(())
    }

    /// Reads whole lines from wherever they stand.
    pub(super) fn read_parts(&self, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        for _ in 0..OPENINGS {
            let present = self.folder.file(self.name)?;
            let parts = self.parts()?;
            // A file that became a part in between would be counted twice.
            if !is_one(
                present.as_ref().map(|(_, stamp)| stamp),
                self.folder.stamp(self.name)?,
            ) {
                continue;
            }
            if let Some(page) = self.in_parts(&parts, from, limit)? {
                match page {
                    Found::Page(page) => return Ok(page),
                    Found::Gone => continue,
                }
            }
            let base = parts.last().map_or(0, Part::end);
            let len = present.as_ref().map_or(0, |(_, now)| now.size);
            let within = from.saturating_sub(base);
            let Some((file, _)) = present.filter(|_| within <= len) else {
                return absent(self.log, from.max(base), base..base + len);
            };
            let reader = Reader { file: &file, len };
            let page = reader.page(within, limit).map_err(self.failed("read"))?;
            return Ok(moved(page, base));
        }
        Err(self.failed("read")(std::io::ErrorKind::NotFound.into()))
    }

    /// The page from `from` on, if it stands in a part.
    fn in_parts(
        &self,
        parts: &[Part],
        from: Cursor,
        limit: usize,
    ) -> Result<Option<Found>, StoreFailure> {
        let first = parts.iter().position(|part| from < part.end());
        for part in &parts[first.unwrap_or(parts.len())..] {
            let name = layout::part(self.name, part.base);
            let Some((file, _)) = self.folder.file(&name)? else {
                return Ok(Some(Found::Gone));
            };
            let reader = Reader {
                file: &file,
                len: part.len,
            };
            let within = from.saturating_sub(part.base);
            let page = reader.page(within, limit).map_err(self.failed("read"))?;
            if !page.bytes.is_empty() {
                let page = Page {
                    at_end: false,
                    partial: 0,
                    ..moved(page, part.base)
                };
                return Ok(Some(Found::Page(page)));
            }
        }
        Ok(None)
    }
}

enum Found {
    Page(Page),
    /// The part went while it was looked at.
    Gone,
}

fn is_one(opened: Option<&Stamp>, there: Option<Stamp>) -> bool {
    match (opened, there) {
        (Some(opened), Some(there)) => opened.is_same_file(&there),
        (None, None) => true,
        _ => false,
    }
}

/// A page of a file that starts at `base` of the log.
fn moved(page: Page, base: Cursor) -> Page {
    Page {
        base: page.base + base,
        next: page.next + base,
        ..page
    }
}
