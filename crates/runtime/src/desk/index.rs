//! Keeping the unread index up with its log.
//!
//! The index is a cache beside the log. Reading commands use it and never write it; commands that write anyway bring
//! it up to the end of the log, so that whoever lists next reads only what is new. When it does not fit its log (cut,
//! replaced, written by another machine) it goes back to the last line that it knows and that still stands there, and
//! reads on from it; the report says so until its reader acknowledges something.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_core::mailbox::{Damage, Head, Mark, MessageKey, Unread, read_head};
use pitcrew_store::{Cursor, Document, Log, Page, PageLine, Place, Store, StoreExt, StoreFailure};
use serde::{Deserialize, Serialize};

use super::{Desk, NotDone};

/// How much of a log is read at once, in bytes.
pub(super) const PAGE: usize = 128 * 1024;

/// A sender whose message carries the log over a multiple of this brings the index up, so that what is not indexed
/// stays bounded without every send looking at the index.
const STRIDE: u64 = 256 * 1024;

/// What is new of a log beyond this is read without a lock, in bytes.
const FAR: u64 = 4 * 1024 * 1024;

/// How many places of damage are remembered; beyond that they are only counted.
const DAMAGE_KEPT: usize = 16;

/// The unread index of one mailbox with the damage met on the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MailIndex {
    /// What is open.
    pub unread: Unread,
    /// The first places that hold no record.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub damage: VecDeque<Damage>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
    /// That the log was cut or replaced, and from where on. Whoever acknowledges next was told, and it is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Damage>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Document for MailIndex {
    type Id = Name;

    fn place(owner: &Name) -> Place {
        Place::Unread(owner.clone())
    }
}

/// An index as it was kept, and brought up without a lock.
struct Prepared {
    from: MailIndex,
    index: MailIndex,
}

/// Why nothing was done with an index under its lock.
enum Halted {
    /// Too much is new; this is the index as it was kept.
    FarBehind(Box<MailIndex>),
    NotDone(NotDone),
}

impl<F: Into<NotDone>> From<F> for Halted {
    fn from(why: F) -> Self {
        Self::NotDone(why.into())
    }
}

impl MailIndex {
    /// Takes in one line; answers whether there was room for it.
    fn absorb(&mut self, line: PageLine<'_>) -> bool {
        if line.at < self.unread.scanned() {
            return true;
        }
        match read_head(line.bytes) {
            Ok(head) => self
                .unread
                .absorb(line.at, line.end, line.bytes, Some(head)),
            Err(why) => {
                self.damaged += 1;
                if self.damage.len() < DAMAGE_KEPT {
                    self.damage.push_back(Damage {
                        at: line.at,
                        len: line.end - line.at,
                        why,
                    });
                }
                self.unread.absorb(line.at, line.end, line.bytes, None)
            }
        }
    }

    /// Goes back to `known`, a line that is still there and its end, or to the start.
    fn lost(&mut self, known: Option<(Mark, Cursor)>, why: String) {
        let at = known.as_ref().map_or(0, |(_, end)| *end);
        match known {
            Some((mark, end)) => {
                let before = self.damage.len() as u64;
                self.damage.retain(|damage| damage.at < end);
                self.damaged -= (before - self.damage.len() as u64).min(self.damaged);
                self.unread.rewind(mark, end);
            }
            None => *self = Self::default(),
        }
        self.cut = Some(Damage { at, len: 0, why });
    }

    /// What is to be reported: where the log was cut, then the first places that hold no record, and how many.
    pub(super) fn findings(self) -> (Vec<Damage>, u64) {
        let found = self.damaged + u64::from(self.cut.is_some());
        (self.cut.into_iter().chain(self.damage).collect(), found)
    }
}

/// Every line of `log` from `from` on, until `each` says stop or the log ends. Answers the last page's tail: how many
/// bytes of a line without its end there are.
pub(super) fn each_line(
    store: &dyn Store,
    log: &Log,
    from: Cursor,
    mut each: impl FnMut(PageLine<'_>) -> ControlFlow<()>,
) -> Result<u64, StoreFailure> {
    let mut cursor = from;
    loop {
        let page: Page = store.read(log, cursor, PAGE)?;
        for line in page.lines() {
            if each(line).is_break() {
                return Ok(0);
            }
        }
        if page.at_end || page.next == cursor {
            return Ok(page.partial);
        }
        cursor = page.next;
    }
}

impl Desk<'_> {
    /// The index of `owner`'s mailbox as it was kept, if it still fits the log.
    pub(super) fn kept_index(&self, owner: &Name) -> Result<MailIndex, NotDone> {
        // An index that cannot be read is no loss: the log says everything again.
        let kept = match self.store.view::<MailIndex>(owner) {
            Ok(kept) => kept.unwrap_or_default(),
            Err(failure) if failure.is_of_one_file() => MailIndex::default(),
            Err(failure) => return Err(failure.into()),
        };
        self.fitted(owner, kept)
    }

    /// `index` if it fits the log of `owner`. Of a log that was cut or replaced what still stands there is known, by
    /// the last line of the index's trail that does, and the rest is read again: so nothing new is missed, and what
    /// was acknowledged stays so.
    fn fitted(&self, owner: &Name, mut index: MailIndex) -> Result<MailIndex, NotDone> {
        let Some(last) = index.unread.mark().cloned() else {
            return Ok(index);
        };
        let log = Log::Mailbox(owner.clone());
        let scanned = index.unread.scanned();
        // A last record without its line end has been given one since, if something was appended.
        let end = self.end_of(&log, &last)?;
        if end.is_some_and(|end| end == scanned || end == scanned + 1) {
            return Ok(index);
        }
        let why = match self.store.read(&log, scanned, 1) {
            Err(StoreFailure::LogTruncated { len, .. }) => {
                format!(
                    "the mailbox was cut: it has {len} bytes now and was read up to byte {scanned}"
                )
            }
            Ok(_) => format!("the mailbox was replaced: it was read up to byte {scanned}"),
            Err(failure) => return Err(failure.into()),
        };
        let trail: Vec<Mark> = index.unread.trail().cloned().collect();
        for mark in trail {
            if let Some(end) = self.end_of(&log, &mark)? {
                index.lost(Some((mark, end)), why);
                return Ok(index);
            }
        }
        index.lost(None, why);
        Ok(index)
    }

    /// Where the line of `mark` ends, if it still stands where it stood.
    fn end_of(&self, log: &Log, mark: &Mark) -> Result<Option<Cursor>, NotDone> {
        let page = match self.store.read(log, mark.at, 1) {
            Ok(page) => page,
            Err(StoreFailure::LogTruncated { .. }) => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };
        let is_it = |line: &PageLine<'_>| {
            line.at == mark.at && MessageKey::of_bytes(line.bytes) == mark.digest
        };
        Ok(page.lines().next().filter(is_it).map(|line| line.end))
    }

    /// Reads on from where `index` stands until the log ends or the index is full of messages that are open to the
    /// end of the log. Answers the bytes of a line without its end, when the end was reached.
    pub(super) fn catch_up(
        &self,
        owner: &Name,
        index: &mut MailIndex,
    ) -> Result<Option<u64>, NotDone> {
        let log = Log::Mailbox(owner.clone());
        loop {
            let goes_on = index.unread.settled().is_some();
            if goes_on {
                self.settle_rest(&log, index)?;
                if !index.unread.make_room() {
                    return Ok(None);
                }
            }
            let from = index.unread.scanned();
            let mut full = false;
            let partial = each_line(self.store, &log, from, |line| {
                full = !index.absorb(line);
                if full {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            if (from == 0 || goes_on) && index.unread.has_forgotten() {
                self.look_back(&log, index)?;
            }
            if !full {
                return Ok(Some(partial));
            }
            index.unread.settle_to(index.unread.scanned());
        }
    }

    /// Looks through what was absorbed once more, for what the index has forgotten since.
    fn look_back(&self, log: &Log, index: &mut MailIndex) -> Result<(), NotDone> {
        let end = index.unread.scanned();
        each_line(self.store, log, 0, |line| {
            if line.at >= end || index.unread.open().len() == 0 {
                return ControlFlow::Break(());
            }
            if let Ok(head) = read_head(line.bytes) {
                index.unread.look_back(line.at, head);
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Closes what later lines of the log say is closed, those that were not looked through yet.
    fn settle_rest(&self, log: &Log, index: &mut MailIndex) -> Result<(), NotDone> {
        if index.unread.open().len() == 0 {
            return Ok(());
        }
        let scanned = index.unread.scanned();
        let from = index.unread.settled().unwrap_or(scanned).max(scanned);
        let unread = &mut index.unread;
        let mut settle = |from: Cursor| {
            let mut end = from;
            each_line(self.store, log, from, |line| {
                match read_head(line.bytes) {
                    Ok(Head::Other) | Err(_) => {}
                    Ok(head) => unread.settle(head),
                }
                end = line.end;
                ControlFlow::Continue(())
            })
            .map(|_| end)
        };
        let end = match settle(from) {
            // The log was cut behind what was absorbed, so there is less to look through than before.
            Err(StoreFailure::LogTruncated { .. }) => settle(scanned)?,
            end => end?,
        };
        index.unread.settle_to(end);
        Ok(())
    }

    /// Runs `rule` on the index of `owner`, brought up to the log first, and keeps the result.
    ///
    /// One lock guards the indexes of all mailboxes. So of a log of which much is new, most is read before that lock is
    /// taken: however long it is, the others wait only for what was written meanwhile.
    pub(super) fn with_index<A>(
        &self,
        owner: &Name,
        mut rule: impl FnMut(&mut MailIndex) -> Result<A, NotDone>,
    ) -> Result<A, NotDone> {
        let mut prepared: Option<Prepared> = None;
        loop {
            let on_index = |slot: &mut Option<MailIndex>| {
                // A rule that refuses must leave what it was given, so it works on a copy.
                let kept = slot.clone().unwrap_or_default();
                let mut index = match &prepared {
                    Some(prepared) if prepared.from == kept => prepared.index.clone(),
                    _ => kept.clone(),
                };
                index = self.fitted(owner, index)?;
                if prepared.is_none() && self.is_far_behind(owner, &index)? {
                    return Err(Halted::FarBehind(Box::new(kept)));
                }
                self.catch_up(owner, &mut index)?;
                let answer = rule(&mut index)?;
                *slot = Some(index);
                Ok(answer)
            };
            let answer = self
                .store
                .update::<MailIndex, A, Halted>(owner, on_index)
                .map_err(NotDone::from)?;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(Halted::NotDone(not_done)) => return Err(not_done),
                Err(Halted::FarBehind(from)) => {
                    let from = *from;
                    let mut index = self.fitted(owner, from.clone())?;
                    self.catch_up(owner, &mut index)?;
                    prepared = Some(Prepared { from, index });
                }
            }
        }
    }

    /// Whether so much of the log is new to `index` that nobody should wait for its reading.
    fn is_far_behind(&self, owner: &Name, index: &MailIndex) -> Result<bool, NotDone> {
        let far = index.unread.scanned().saturating_add(FAR);
        match self.store.read(&Log::Mailbox(owner.clone()), far, 1) {
            Ok(page) => Ok(!page.bytes.is_empty() || page.partial > 0),
            Err(StoreFailure::LogTruncated { .. }) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Brings the index up after a write. The write is durable whatever comes of this: an index that stays behind
    /// costs the next reader time and nothing else, so a failure here is not the writer's failure.
    pub(super) fn refresh_index(&self, owner: &Name) {
        let _ = self.with_index(owner, |_| Ok(()));
    }

    /// As [`Desk::refresh_index`], for senders: only when the message at `at` ends the present stride.
    pub(super) fn refresh_index_now_and_then(&self, owner: &Name, at: Cursor, len: u64) {
        if at / STRIDE != (at + len) / STRIDE {
            self.refresh_index(owner);
        }
    }
}
