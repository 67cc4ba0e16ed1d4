//! Reading a mailbox without changing anything: neither the log nor a cursor nor the index moves.
//!
//! Memory stays bounded however long the mailbox is: messages are handed on one by one, and at most a window of their
//! places is held. What is no record is reported with its place.

use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_core::mailbox::{
    Damage, Head, Lease, Line, Listing, Message, MessageKey, read_head, read_record,
};
use pitcrew_store::{Cursor, Log, Page, StoreFailure};

use super::index::{PAGE, each_line};
use super::{Desk, NotDone};

/// Which messages of a mailbox to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Neither acknowledged nor given up.
    Unread,
    /// Given up.
    Dead,
    /// Every one.
    All,
}

/// One message of a mailbox with what is known about it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The message.
    pub message: Message,
    /// Its line as it stands in the log, with keys that this version does not know.
    pub line: Vec<u8>,
    /// When it was acknowledged.
    pub delivered_at: Option<String>,
    /// Whether it was given up.
    pub dead: bool,
    /// How often a reader took it without acknowledging, where that is known.
    pub attempts: u32,
    /// Which reader has it now, until when.
    pub lease: Option<Lease>,
}

/// What reading a mailbox showed beside its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailReport {
    /// How many messages were handed on.
    pub listed: u64,
    /// The first places that hold no record.
    pub damage: Vec<Damage>,
    /// How many such places were met.
    pub damaged: u64,
    /// Where the whole lines of the log ended, when it was read to its end.
    pub end: Cursor,
}

/// What is in a mailbox, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailCounts {
    /// Messages that are neither acknowledged nor given up.
    pub unread: u64,
    /// The first places that hold no record.
    pub damage: Vec<Damage>,
    /// How many such places there are.
    pub damaged: u64,
}

/// The last record of a log when it has no end.
fn cut_tail(at: Cursor, len: u64) -> Damage {
    let why = "the last record is cut short, or still being written".to_string();
    Damage { at, len, why }
}

impl MailReport {
    fn cut_tail(&mut self, at: Cursor, len: u64) {
        self.end = at;
        if len > 0 {
            self.damaged += 1;
            self.damage.push(cut_tail(at, len));
        }
    }
}

/// Reads single lines of a log at rising places, with few reads for places that stand close.
struct LineReader<'a> {
    desk: Desk<'a>,
    log: Log,
    page: Option<Page>,
}

impl<'a> LineReader<'a> {
    fn new(desk: Desk<'a>, owner: &Name) -> Self {
        Self {
            desk,
            log: Log::Mailbox(owner.clone()),
            page: None,
        }
    }

    fn line(&mut self, at: Cursor) -> Result<Option<Vec<u8>>, StoreFailure> {
        if let Some(line) = self.page.as_ref().and_then(|page| line_of(page, at)) {
            return Ok(Some(line));
        }
        let page = self.desk.store.read(&self.log, at, PAGE / 4)?;
        let line = line_of(&page, at);
        self.page = Some(page);
        Ok(line)
    }
}

fn line_of(page: &Page, at: Cursor) -> Option<Vec<u8>> {
    let start = usize::try_from(at.checked_sub(page.base)?).ok()?;
    let rest = page.bytes.get(start..).filter(|rest| !rest.is_empty())?;
    let end = memchr::memchr(b'\n', rest)?;
    Some(rest[..end].to_vec())
}

impl Desk<'_> {
    /// Hands every message of `owner`'s mailbox that `which` asks for to `each`, oldest first, each id once. A mailbox
    /// that does not exist is empty.
    ///
    /// # Errors
    /// When the log cannot be read, or what `each` answers.
    pub fn list_mail(
        &self,
        owner: &Name,
        which: Which,
        each: &mut dyn FnMut(Entry) -> Result<ControlFlow<()>, NotDone>,
    ) -> Result<MailReport, NotDone> {
        match which {
            Which::Unread => self.list_unread(owner, each),
            Which::Dead | Which::All => self.list_windows(owner, which, each),
        }
    }

    /// How many messages of `owner` are unread.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn count_unread(&self, owner: &Name) -> Result<u64, NotDone> {
        Ok(self.count_mail(owner)?.unread)
    }

    /// What is in the mailbox of `owner`, counted and not read.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn count_mail(&self, owner: &Name) -> Result<MailCounts, NotDone> {
        let mut index = self.kept_index(owner)?;
        let mut unread = 0;
        loop {
            let end = self.catch_up(owner, &mut index)?;
            unread += index.unread.open().len() as u64;
            if let Some(partial) = end {
                let scanned = index.unread.scanned();
                let (mut damage, mut damaged) = index.findings();
                if partial > 0 {
                    damaged += 1;
                    damage.push(cut_tail(scanned, partial));
                }
                return Ok(MailCounts {
                    unread,
                    damage,
                    damaged,
                });
            }
            index.unread.next_window();
        }
    }

    /// Hands every message that stands in `owner`'s mailbox from `from` on to `each`, in the order of the log and
    /// whether it was acknowledged since or not. Answers where the next call goes on.
    ///
    /// # Errors
    /// When the log cannot be read; `LogTruncated` when it is shorter than `from`.
    pub fn mail_since(
        &self,
        owner: &Name,
        from: Cursor,
        each: &mut dyn FnMut(Message, &[u8]),
    ) -> Result<Cursor, NotDone> {
        let mut end = from;
        each_line(self.store, &Log::Mailbox(owner.clone()), from, |line| {
            if let Ok(Line::Message(message, _)) = read_record(line.bytes) {
                each(message, line.bytes);
            }
            end = line.end;
            ControlFlow::Continue(())
        })?;
        Ok(end)
    }

    fn list_unread(
        &self,
        owner: &Name,
        each: &mut dyn FnMut(Entry) -> Result<ControlFlow<()>, NotDone>,
    ) -> Result<MailReport, NotDone> {
        let mut index = self.kept_index(owner)?;
        let mut report = MailReport::default();
        let mut reader = LineReader::new(*self, owner);
        loop {
            let end = self.catch_up(owner, &mut index)?;
            let mut wanted = true;
            for open in index.unread.open() {
                let Some(line) = reader.line(open.at)? else {
                    continue;
                };
                let Ok(Line::Message(message, delivered_at)) = read_record(&line) else {
                    continue;
                };
                let (attempts, lease) = (open.attempts, open.lease.clone());
                report.listed += 1;
                if each(Entry {
                    message,
                    line,
                    delivered_at,
                    dead: false,
                    attempts,
                    lease,
                })?
                .is_break()
                {
                    wanted = false;
                    break;
                }
            }
            if !wanted {
                (report.damage, report.damaged) = index.findings();
                return Ok(report);
            }
            if let Some(partial) = end {
                let scanned = index.unread.scanned();
                (report.damage, report.damaged) = index.findings();
                report.cut_tail(scanned, partial);
                return Ok(report);
            }
            index.unread.next_window();
        }
    }

    fn list_windows(
        &self,
        owner: &Name,
        which: Which,
        each: &mut dyn FnMut(Entry) -> Result<ControlFlow<()>, NotDone>,
    ) -> Result<MailReport, NotDone> {
        let mut report = MailReport::default();
        // What is gone from the log is known to the index alone.
        if let Some(cut) = self.kept_index(owner)?.cut {
            report.damaged += 1;
            report.damage.push(cut);
        }
        let mut reader = LineReader::new(*self, owner);
        let mut receipts = LineReader::new(*self, owner);
        let mut from = 0;
        loop {
            let (window, next) = self.window(owner, from, &mut report)?;
            for listed in window.messages() {
                if which == Which::Dead && (listed.dead.is_none() || listed.delivered.is_some()) {
                    continue;
                }
                let Some(line) = reader.line(listed.at)? else {
                    continue;
                };
                let Ok(Line::Message(message, inline)) = read_record(&line) else {
                    continue;
                };
                let receipt = listed
                    .delivered
                    .map(|at| receipts.line(at))
                    .transpose()?
                    .flatten();
                let delivered_at = receipt.as_deref().and_then(delivery_time).or(inline);
                let dead = listed.dead.is_some() && delivered_at.is_none();
                report.listed += 1;
                if each(Entry {
                    message,
                    line,
                    delivered_at,
                    dead,
                    attempts: 0,
                    lease: None,
                })?
                .is_break()
                {
                    return Ok(report);
                }
            }
            match next {
                Some(next) => from = next,
                None => return Ok(report),
            }
        }
    }

    /// The window of messages from `from` on, settled by the whole log, and where the next one starts.
    fn window(
        &self,
        owner: &Name,
        from: Cursor,
        report: &mut MailReport,
    ) -> Result<(Listing, Option<Cursor>), NotDone> {
        let log = Log::Mailbox(owner.clone());
        let mut window = Listing::default();
        let mut next = None;
        let mut end = from;
        let partial = each_line(self.store, &log, from, |line| {
            match read_head(line.bytes) {
                Ok(head) if next.is_some() => window.settle(line.at, head),
                Ok(head) => {
                    if !window.fill(line.at, head) {
                        next = Some(line.at);
                        window.settle(line.at, head);
                    }
                }
                Err(why) if next.is_none() => {
                    report.damaged += 1;
                    report.damage.push(Damage {
                        at: line.at,
                        len: line.end - line.at,
                        why,
                    });
                }
                Err(_) => {}
            }
            end = line.end;
            ControlFlow::Continue(())
        })?;
        if next.is_none() {
            report.cut_tail(end, partial);
        }
        if from > 0 {
            each_line(self.store, &log, 0, |line| {
                if line.at >= from {
                    return ControlFlow::Break(());
                }
                if let Ok(head) = read_head(line.bytes) {
                    window.settle(line.at, head);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok((window, next))
    }

    /// The message called `id` in `owner`'s mailbox, read, unread or given up.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn find_message(&self, owner: &Name, id: &str) -> Result<Option<Entry>, NotDone> {
        let log = Log::Mailbox(owner.clone());
        let wanted = MessageKey::of(id);
        let (mut found, mut delivered, mut dead) = (None, None, None);
        each_line(self.store, &log, 0, |line| {
            match read_head(line.bytes) {
                Ok(Head::Message {
                    key, redelivery, ..
                }) if key == wanted => {
                    if found.is_none() {
                        found = Some(line.bytes.to_vec());
                    } else if redelivery > 0 {
                        dead = None;
                    }
                }
                Ok(Head::Delivered(key)) if key == wanted => delivered = Some(line.bytes.to_vec()),
                Ok(Head::DeadLettered(key)) if key == wanted => dead = Some(()),
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        let Some(line) = found else { return Ok(None) };
        let Ok(Line::Message(message, inline)) = read_record(&line) else {
            return Ok(None);
        };
        let delivered_at = delivered.as_deref().and_then(delivery_time).or(inline);
        let dead = dead.is_some() && delivered_at.is_none();
        Ok(Some(Entry {
            message,
            line,
            delivered_at,
            dead,
            attempts: 0,
            lease: None,
        }))
    }
}

fn delivery_time(line: &[u8]) -> Option<String> {
    read_record(line).ok()?.delivered_at().map(str::to_string)
}
