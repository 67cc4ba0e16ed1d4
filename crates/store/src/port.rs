//! The port: one team's durable state, as append-only logs and typed documents.
//!
//! | operation | promise |
//! |---|---|
//! | [`Store::append`] | whole or absent; when it answers, the records are durable, as [`Log::durability`] says |
//! | [`Store::read`] | complete lines from a cursor on, with where each stands; never half a line. A log of which the oldest part is gone goes on at the first line that is kept |
//! | [`StoreExt::view`] | a document as it was at one moment |
//! | [`StoreExt::update`] | a transaction: the rule gets the document, changes it or refuses |
//! | [`Store::list`] | which documents of one kind exist |
//! | [`Store::watch`] | what changed, bounded; lag is reported |
//!
//! A rule is a decision of core: it may run again on a conflict, and one that refuses has changed nothing. While it
//! runs it may `view` any document. Tasks share one lock in every adapter, so what a task's rule sees of other tasks
//! is current; of anything else it sees one moment. It may not `update`: that is answered with `NestedUpdate`
//! instead of waiting for itself.
//!
//! The port is synchronous: every adapter so far answers in the time of a system call, a short command must not pay
//! for a runtime, and an asynchronous caller hands the call to a blocking thread.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::loops::Mode;
use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::StoreFailure;
use crate::layout;

mod rule;
mod typed;

pub use rule::{ErasedRule, State, StoreExt, Verdict};

/// Where a document stands, named by what it is. An adapter maps it to a path, a key or a slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// `config.json`: the team and its members.
    Team,
    /// `tasks/<id>.json`.
    Task(TaskId),
    /// `mailbox/.<recipient>.unread`: the unread index, which may be deleted at any time.
    Unread(Name),
    /// `mailbox/.<recipient>.offset`: the reference's read cursor.
    Offset(Name),
    /// `workers/<name>/.outbox-offset`: how far the outbox was read.
    OutboxOffset(Name),
    /// `workers/<name>/heartbeat.json`.
    Heartbeat(Name),
    /// `workers/<name>/process.json`: the process that a headless member runs now.
    Process(Name),
    /// `workers/<name>/session.json`: what its agent CLI needs to go on where it stopped.
    Session(Name),
    /// `workers/<name>/pane.json`: the pane that a member sits in.
    Pane(Name),
    /// `workers/<name>/.nudge.json`: which line is about to be typed for a member, and which was.
    Nudge(Name),
    /// `workers/<name>/.lives.json`: how the last life of a member in a pane ended, and whether it is started again.
    Lives(Name),
    /// `workers/<name>/.hook.json`: what the hooks of a member's program have told and shown.
    Hook(Name),
    /// `shutdown.json`.
    Shutdown,
    /// `run.json`: the run that drives this team.
    Run,
    /// `claims.json`: who holds which lines.
    Claims,
    /// `limits.json`: what the team may spend, and what it spent.
    Limits,
    /// `<mode>.json` of the project: a loop mode. Stands beside the teams, in the store of the project.
    Loop(Mode),
    /// `monitor.json` of the project: who watches it. Stands beside the teams, in the store of the project.
    Monitor,
    /// `.board.json`: how far the discoveries were looked at, and who was shown what.
    Board,
    /// `.exchanges.json`: who talks with whom in turn, and which requests wait for an answer.
    Exchanges,
}

/// A kind of document, for listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The tasks.
    Task,
    /// The tasks that somebody has claimed and not ended, and perhaps others: as an adapter can tell without reading them.
    ClaimedTask,
}

/// Where it is looked for ended tasks that nobody has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// In the list of them, which is as long as what is owed.
    Listed,
    /// At every task that somebody has or had as well: for those whose writers kept no such list.
    Everywhere,
}

/// An append-only log of lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Log {
    /// `mailbox/<recipient>.jsonl`.
    Mailbox(Name),
    /// `workers/<name>/outbox.jsonl`.
    Outbox(Name),
    /// `discoveries.jsonl`.
    Discoveries,
    /// `events.jsonl`: what happened, for whoever follows. It is kept up to a size, the oldest part goes first.
    Events,
}

impl Log {
    /// How an appended record is kept.
    #[must_use]
    pub fn durability(&self) -> Durability {
        match self {
            Self::Mailbox(_) | Self::Outbox(_) | Self::Discoveries => Durability::Synced,
            Self::Events => Durability::Ordered,
        }
    }

    /// Whether the oldest part of the log goes when it has grown. Cursors count what is gone, so they stay good.
    #[must_use]
    pub fn is_rotated(&self) -> bool {
        *self == Self::Events
    }
}

/// A place in a log: bytes from its start. Cursors of one log only grow.
pub type Cursor = u64;

/// A typed document and where it stands. `None` means that it does not exist.
pub trait Document: Any + Clone + Serialize + DeserializeOwned + Send + Sync {
    /// What tells documents of this type apart; `()` when there is one.
    type Id: ?Sized;

    /// Whether every rule over this document keeps core's law (it changes the state completely, or refuses and leaves
    /// it exactly as it was) and views no document while it runs. Then an adapter that keeps typed states runs it on
    /// the state itself and spares the copy, which is what makes large documents cheap in memory.
    const WHOLE_RULES: bool = false;

    /// The place of the document called `id`.
    fn place(id: &Self::Id) -> Place;

    /// Why this state cannot be that of the document called `id`, although it can be read: it says itself that it is
    /// another one. Such a document is corrupt wherever it is read from text.
    fn misplaced(&self, _id: &Self::Id) -> Option<String> {
        None
    }
}

/// How a document is kept: whether a crash may lose the last change of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Synced before the change is acknowledged.
    Synced,
    /// Written in order and not waited for: what a killed process leaves is whole, and the last changes before a power
    /// failure may be lost. A text that cannot be read is never taken for an absent one.
    Ordered,
    /// Derived or short-lived: after a killed process an earlier or the new whole state, never half of one; after a
    /// power failure perhaps nothing.
    Relaxed,
}

impl Place {
    /// How the document at this place is kept.
    #[must_use]
    pub fn durability(&self) -> Durability {
        match self {
            Self::Team
            | Self::Task(_)
            | Self::Process(_)
            | Self::Session(_)
            | Self::Pane(_)
            | Self::Lives(_)
            | Self::Shutdown
            | Self::Run => Durability::Synced,
            Self::Claims | Self::Limits | Self::Loop(_) => Durability::Ordered,
            Self::Unread(_)
            | Self::Offset(_)
            | Self::OutboxOffset(_)
            | Self::Heartbeat(_)
            | Self::Monitor
            | Self::Nudge(_)
            | Self::Hook(_)
            | Self::Board
            | Self::Exchanges => Durability::Relaxed,
        }
    }

    /// Whether the document only repeats what a log says. One that cannot be read counts as absent then: it is built
    /// again, and keys of other writers are not kept in it.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        matches!(self, Self::Unread(_) | Self::Board | Self::Exchanges)
    }

    /// Whether a short text of the document is written over the old one: what says that somebody was there a moment
    /// ago is written with every claim, and a new file costs a claim a tenth of its time.
    #[must_use]
    pub(crate) fn is_overwritten(&self) -> bool {
        matches!(self, Self::Heartbeat(_))
    }
}

/// The path below the team's folder.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        layout::document(self).fmt(f)
    }
}

/// The path below the team's folder.
impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        layout::log(self).fmt(f)
    }
}

/// Lines of a log, without their line ends, in order. Half a line at the end of the log is not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where the first byte of `bytes` stands in the log.
    pub base: Cursor,
    /// Whole lines, each with its line end. A line that is longer than any record stands alone, and only its beginning.
    pub bytes: Vec<u8>,
    /// Where the next page starts.
    pub next: Cursor,
    /// Bytes between `next` and the end of the log, when this page reaches it: a record that is being written or that
    /// a crash cut short.
    pub partial: u64,
    /// Whether this page reaches the end of the log: there was no other whole line. When it does not, there may be.
    pub at_end: bool,
}

/// One line of a [`Page`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLine<'a> {
    /// Where it starts in the log.
    pub at: Cursor,
    /// Where the next line starts.
    pub end: Cursor,
    /// Its bytes without the line end.
    pub bytes: &'a [u8],
}

impl Page {
    /// The end of a log: no whole line, and `partial` bytes from `next` on.
    #[must_use]
    pub fn tail(next: Cursor, partial: u64) -> Self {
        Self {
            base: next,
            bytes: Vec::new(),
            next,
            partial,
            at_end: true,
        }
    }

    /// The page of `bytes`, which reach from `start`, a line start, to `end`, the end of the log, if the last record is
    /// whole and only its line end is missing: another program wrote it, or its writer was killed in between. It gets the
    /// line end here, and from the next append in the log. Else `None`, and `bytes` are as they were.
    pub(crate) fn with_whole_tail(start: Cursor, end: Cursor, bytes: &mut Vec<u8>) -> Option<Self> {
        let last = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let record = pitcrew_core::json::trim(&bytes[last..]);
        let is_whole = record.starts_with(b"{")
            && record.ends_with(b"}")
            && pitcrew_core::json::read::<serde::de::IgnoredAny>(record).is_ok();
        is_whole.then(|| {
            bytes.push(b'\n');
            Self {
                base: start,
                bytes: std::mem::take(bytes),
                next: end,
                partial: 0,
                at_end: true,
            }
        })
    }

    /// The lines, oldest first. The last one ends where the next page starts, also when only its beginning is here.
    pub fn lines(&self) -> impl Iterator<Item = PageLine<'_>> {
        let mut at = self.base;
        let mut left = self.bytes.len();
        self.bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(move |line| {
                let start = at;
                left -= line.len();
                at = match left {
                    0 => self.next,
                    _ => at + line.len() as u64,
                };
                PageLine {
                    at: start,
                    end: at,
                    bytes: line.strip_suffix(b"\n").unwrap_or(line),
                }
            })
    }
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// A log grew.
    Log(Log),
    /// A document was written or removed.
    Document(Place),
    /// Changes came faster than they were taken: look at everything again.
    Lagged,
}

/// A bounded stream of changes.
pub trait Watch: Send {
    /// The next change, or `None` when nothing changed within `wait`. Changes to one place may be reported as one.
    ///
    /// # Errors
    /// When the adapter can watch no longer.
    fn next(&mut self, wait: Duration) -> Result<Option<Change>, StoreFailure>;

    /// Why changes are noticed late, if they are: a watch that has to look again and again says so.
    fn slowed_by(&self) -> Option<&str> {
        None
    }
}

/// One team's durable state. See the module's table.
pub trait Store: Send + Sync {
    /// Appends whole lines to a log, next to each other, and answers where the first of them stands. A record holds
    /// no line end; the adapter adds it. No records change nothing.
    ///
    /// # Errors
    /// `BrokenRecord` for a record that holds a line end. After any other failure nothing was appended, or what was
    /// written was taken back; only when that failed too does the next append isolate a torn line.
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure>;

    /// Appends as [`Self::append`] does, for whoever need not know where: where a log is kept in parts, finding that out
    /// costs more than writing.
    ///
    /// # Errors
    /// As [`Self::append`].
    fn append_blind(&self, log: &Log, records: &[&[u8]]) -> Result<(), StoreFailure> {
        self.append(log, records).map(drop)
    }

    /// Reads at most `limit` bytes of whole lines from `from`; one line if the first is longer. A log that does not
    /// exist is empty. A cursor in the middle of a line starts at the next line, and one in a part that is not kept any
    /// more at the first line that is: [`Page::base`] says where.
    ///
    /// # Errors
    /// `LogTruncated` when `from` is beyond the end of the log.
    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure>;

    /// The ids of the documents of one kind, in no order.
    ///
    /// # Errors
    /// When the place cannot be read.
    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure>;

    /// Watches every change from now on.
    ///
    /// # Errors
    /// When the adapter cannot watch at all.
    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure>;

    /// What [`StoreExt::view`] stands on.
    ///
    /// # Errors
    /// `CorruptDocument` when it cannot be read as its type.
    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure>;

    /// What [`StoreExt::update`] stands on.
    ///
    /// # Errors
    /// `CorruptDocument` when it cannot be read as its type; it is left as it is. Only a document that is
    /// [`Durability::Relaxed`] counts as absent then, so that a new one can take its place.
    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure>;

    /// Notes that what follows from the end of a task is done. Until then a store that outlives its writers keeps that
    /// it is owed; one that does not has nothing to note.
    ///
    /// # Errors
    /// When that cannot be noted: then it stays owed.
    fn settle(&self, _task: &TaskId) -> Result<(), StoreFailure> {
        Ok(())
    }

    /// The tasks that have ended and whose writers are gone without [`Store::settle`]. The caller owes it from now on,
    /// and nobody else is handed them as long as it lives.
    ///
    /// # Errors
    /// When the tasks cannot be looked at.
    fn take_over_ended(&self, _reach: Reach, _now: Timestamp) -> Result<Vec<TaskId>, StoreFailure> {
        Ok(Vec::new())
    }
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        (**self).append(log, records)
    }

    fn append_blind(&self, log: &Log, records: &[&[u8]]) -> Result<(), StoreFailure> {
        (**self).append_blind(log, records)
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        (**self).read(log, from, limit)
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        (**self).list(kind)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        (**self).watch()
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        (**self).view_erased(place, rule)
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        (**self).update_erased(place, rule)
    }

    fn settle(&self, task: &TaskId) -> Result<(), StoreFailure> {
        (**self).settle(task)
    }

    fn take_over_ended(&self, reach: Reach, now: Timestamp) -> Result<Vec<TaskId>, StoreFailure> {
        (**self).take_over_ended(reach, now)
    }
}
