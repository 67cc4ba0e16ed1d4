//! The port: one team's durable state, as append-only logs and typed documents.
//!
//! | operation | promise |
//! |---|---|
//! | [`Store::append`] | whole or absent; when it answers, the records are durable |
//! | [`Store::read`] | complete lines from a cursor on, with where each stands; never half a line |
//! | [`StoreExt::view`] | a document as it was at one moment |
//! | [`StoreExt::update`] | a transaction: the rule gets the document, changes it or refuses |
//! | [`Store::list`] | which documents of one kind exist |
//! | [`Store::watch`] | what changed, bounded; lag is reported |
//!
//! A rule is a pure decision of core: it may run again on a conflict, and one that refuses has changed nothing. While
//! a rule runs it may `view` *other* documents; documents of one kind share a lock in every adapter that locks, so
//! what it sees of its own kind is current.
//!
//! The port is synchronous: every adapter so far answers in the time of a system call, a short command must not pay
//! for a runtime, and an asynchronous caller hands the call to a blocking thread.

use std::any::Any;
use std::time::Duration;

use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::roster::Team;
use pitcrew_core::task::Task;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::StoreFailure;

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
    /// `workers/<name>/heartbeat.json`.
    Heartbeat(Name),
    /// `workers/<name>/process.json`: the process that a headless member runs now.
    Process(Name),
    /// `workers/<name>/session.json`: what its agent CLI needs to go on where it stopped.
    Session(Name),
    /// `shutdown.json`.
    Shutdown,
    /// `run.json`: the run that drives this team.
    Run,
}

/// A kind of document, for listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The tasks.
    Task,
}

/// An append-only log of lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Log {
    /// `mailbox/<recipient>.jsonl`.
    Mailbox(Name),
    /// `workers/<name>/outbox.jsonl`.
    Outbox(Name),
}

/// A place in a log: bytes from its start.
pub type Cursor = u64;

/// A typed document and where it stands. `None` means that it does not exist.
pub trait Document: Any + Clone + Serialize + DeserializeOwned + Send + Sync {
    /// What tells documents of this type apart; `()` when there is one.
    type Id: ?Sized;

    /// The place of the document called `id`.
    fn place(id: &Self::Id) -> Place;
}

/// How a document is kept: whether a crash may lose the last change of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Synced before the change is acknowledged.
    Synced,
    /// Derived or short-lived: may fall back to an earlier whole state, never to half of one.
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
            | Self::Shutdown
            | Self::Run => Durability::Synced,
            Self::Unread(_) | Self::Offset(_) | Self::Heartbeat(_) => Durability::Relaxed,
        }
    }
}

/// Lines of a log, without their line ends, in order. Half a line at the end of the log is not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where the first byte of `bytes` stands in the log.
    pub base: Cursor,
    /// Whole lines, each with its line end.
    pub bytes: Vec<u8>,
    /// Where the next page starts.
    pub next: Cursor,
    /// Bytes after the last line end of the log, when this page reaches it: a record that is being written or that a
    /// crash cut short.
    pub partial: u64,
    /// Whether `next` is the end of what can be read now.
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
    /// The lines, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = PageLine<'_>> {
        let mut at = self.base;
        self.bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(move |line| {
                let start = at;
                at += line.len() as u64;
                PageLine {
                    at: start,
                    end: at,
                    bytes: line.strip_suffix(b"\n").unwrap_or(line),
                }
            })
    }
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// What `update` hands to an adapter: a document's type with its type erased, so that the port stays one object.
/// Callers use [`StoreExt`].
pub trait ErasedRule {
    /// Reads the document from JSON, for adapters that keep text.
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    fn decode(&self, json: &[u8]) -> Result<Box<dyn Any + Send + Sync>, String>;
    /// Writes the document as a JSON value.
    ///
    /// # Errors
    /// What cannot be written, in words.
    fn encode(&self, state: &(dyn Any + Send + Sync)) -> Result<serde_json::Value, String>;
    /// A copy, for adapters that keep typed states.
    fn copy(&self, state: &(dyn Any + Send + Sync)) -> Box<dyn Any + Send + Sync>;
    /// Runs the rule on the state. Answers whether the state is to be kept.
    fn run(&mut self, state: &mut Option<Box<dyn Any + Send + Sync>>) -> Verdict;
}

/// What a rule said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Keep what the state is now; `None` removes the document.
    Keep,
    /// The rule refused, or changed nothing: leave everything as it was.
    Leave,
}

/// One team's durable state. See the module's table.
pub trait Store: Send + Sync {
    /// Appends whole lines to a log. A record holds no line end; the adapter adds it.
    ///
    /// # Errors
    /// Nothing was appended, or what was written was taken back; only when that failed too does the next append
    /// isolate a torn line.
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure>;

    /// Reads about `limit` bytes of whole lines from `from`, at least one line if there is one. A log that does not
    /// exist is empty. A cursor in the middle of a line starts at the next line.
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
    ) -> Result<Option<Box<dyn Any + Send + Sync>>, StoreFailure>;

    /// What [`StoreExt::update`] stands on.
    ///
    /// # Errors
    /// `CorruptDocument` when it cannot be read as its type; the file is left as it is.
    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure>;
}

/// The typed half of the port.
pub trait StoreExt {
    /// The document as it is now.
    ///
    /// # Errors
    /// `CorruptDocument` when it cannot be read as `D`.
    fn view<D: Document>(&self, id: &D::Id) -> Result<Option<D>, StoreFailure>;

    /// Runs `rule` on the document in a transaction. `Ok` keeps what the rule left there (`None` removes the
    /// document, an unchanged state writes nothing); `Err` leaves everything as it was. The rule may run more than
    /// once; the answer of the last run counts.
    ///
    /// # Errors
    /// The outer error is the store's, the inner one the rule's own refusal.
    fn update<D: Document, A, R>(
        &self,
        id: &D::Id,
        rule: impl FnMut(&mut Option<D>) -> Result<A, R>,
    ) -> Result<Result<A, R>, StoreFailure>;
}

struct Typed<D, F, A, R> {
    rule: F,
    answer: Option<Result<A, R>>,
    state: std::marker::PhantomData<fn() -> D>,
}

/// A state whose type the adapter mixed up cannot happen by [`Document::place`], but is answered rather than trusted.
const WRONG_TYPE: &str = "the state has another type than its place";

impl<D: Document, A, R, F: FnMut(&mut Option<D>) -> Result<A, R>> ErasedRule for Typed<D, F, A, R> {
    fn decode(&self, json: &[u8]) -> Result<Box<dyn Any + Send + Sync>, String> {
        let state: D = pitcrew_core::json::read(json).map_err(|refused| refused.to_string())?;
        Ok(Box::new(state))
    }

    fn encode(&self, state: &(dyn Any + Send + Sync)) -> Result<serde_json::Value, String> {
        let state = state.downcast_ref::<D>().ok_or(WRONG_TYPE)?;
        serde_json::to_value(state).map_err(|refused| refused.to_string())
    }

    fn copy(&self, state: &(dyn Any + Send + Sync)) -> Box<dyn Any + Send + Sync> {
        match state.downcast_ref::<D>() {
            Some(state) => Box::new(state.clone()),
            None => Box::new(()),
        }
    }

    fn run(&mut self, state: &mut Option<Box<dyn Any + Send + Sync>>) -> Verdict {
        let mut typed: Option<D> = state
            .take()
            .and_then(|state| state.downcast::<D>().ok())
            .map(|state| *state);
        let answer = (self.rule)(&mut typed);
        let verdict = if answer.is_ok() {
            Verdict::Keep
        } else {
            Verdict::Leave
        };
        self.answer = Some(answer);
        *state = typed.map(|state| Box::new(state) as Box<dyn Any + Send + Sync>);
        verdict
    }
}

impl<S: Store + ?Sized> StoreExt for S {
    fn view<D: Document>(&self, id: &D::Id) -> Result<Option<D>, StoreFailure> {
        let rule = Typed {
            rule: |_: &mut Option<D>| Err::<(), ()>(()),
            answer: None,
            state: std::marker::PhantomData,
        };
        let place = D::place(id);
        match self.view_erased(&place, &rule)? {
            None => Ok(None),
            Some(state) => match state.downcast::<D>() {
                Ok(state) => Ok(Some(*state)),
                Err(_) => Err(StoreFailure::corrupt(&place, WRONG_TYPE)),
            },
        }
    }

    fn update<D: Document, A, R>(
        &self,
        id: &D::Id,
        rule: impl FnMut(&mut Option<D>) -> Result<A, R>,
    ) -> Result<Result<A, R>, StoreFailure> {
        let place = D::place(id);
        let mut typed = Typed {
            rule,
            answer: None,
            state: std::marker::PhantomData,
        };
        self.update_erased(&place, &mut typed)?;
        typed
            .answer
            .ok_or_else(|| StoreFailure::corrupt(&place, "the adapter never ran the rule"))
    }
}

impl Document for Team {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Team
    }
}

impl Document for Task {
    type Id = TaskId;

    fn place(id: &TaskId) -> Place {
        Place::Task(id.clone())
    }
}
