//! The port over typed states in this process: nothing is serialized, nothing outlives the process.
//!
//! Each document has a slot and a lock for its transactions (tasks share one, as the port says). A rule runs on a copy
//! that takes the state's place only if the rule keeps it, so a refusal leaves nothing behind and a `view` never waits
//! for a rule. Where the rules of a document are whole and nobody watches, they run on the state itself. A log is
//! one buffer of bytes that looks exactly as its file would, torn tail included; one of which the oldest part goes
//! keeps its last megabytes.
//! States are compared only while somebody watches; nobody else could tell an unchanged write from none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use crate::changes::{Changes, Taken};
use crate::failure::StoreFailure;
use crate::port::{
    Change, Cursor, ErasedRule, Kind, Log, Page, Place, State, Store, Verdict, Watch,
};

/// One team's state in memory. Share it behind an `Arc`.
#[derive(Default)]
pub struct MemoryStore {
    documents: RwLock<BTreeMap<Place, Arc<Slot>>>,
    /// Held while a rule of any task runs.
    tasks: Mutex<()>,
    logs: RwLock<BTreeMap<Log, Arc<Mutex<Buffer>>>>,
    watchers: RwLock<Vec<Weak<Changes>>>,
    /// Those who follow logs alone: for them no state is compared.
    log_watchers: RwLock<Vec<Weak<Changes>>>,
}

/// How many bytes of a log stay of which the oldest part goes; half of them go at once.
const KEPT: usize = 8 * 1024 * 1024;

/// A log from where it is kept on.
#[derive(Default)]
struct Buffer {
    base: Cursor,
    bytes: Vec<u8>,
}

impl Buffer {
    fn end(&self) -> Cursor {
        self.base + self.bytes.len() as Cursor
    }

    /// Drops the older half, whole lines only.
    fn halve(&mut self) {
        let half = self.bytes.len() / 2;
        let end = self.bytes[half..].iter().position(|byte| *byte == b'\n');
        if let Some(end) = end {
            self.bytes.drain(..=half + end);
            self.base += (half + end + 1) as Cursor;
        }
    }
}

#[derive(Default)]
struct Slot {
    /// Held while a rule of this document runs.
    turn: Mutex<()>,
    state: Mutex<Option<State>>,
}

/// A lock whose holder panicked is still good: states are replaced whole, after their rule ran.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts bytes at the end of a log as they are: what another program, or a crash in the middle of a record, would
    /// leave in a file.
    pub fn append_raw(&self, log: &Log, bytes: &[u8]) {
        lock(&self.buffer(log)).bytes.extend_from_slice(bytes);
        self.announce_growth(log);
    }

    /// Cuts a log to its first `len` bytes, as another program could do to a file.
    pub fn truncate(&self, log: &Log, len: usize) {
        lock(&self.buffer(log)).bytes.truncate(len);
        self.announce_growth(log);
    }

    fn known(&self, place: &Place) -> Option<Arc<Slot>> {
        let documents = self
            .documents
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        documents.get(place).cloned()
    }

    fn slot(&self, place: &Place) -> Arc<Slot> {
        self.known(place).unwrap_or_else(|| {
            let mut documents = self
                .documents
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(documents.entry(place.clone()).or_default())
        })
    }

    fn known_buffer(&self, log: &Log) -> Option<Arc<Mutex<Buffer>>> {
        let logs = self.logs.read().unwrap_or_else(PoisonError::into_inner);
        logs.get(log).cloned()
    }

    fn buffer(&self, log: &Log) -> Arc<Mutex<Buffer>> {
        self.known_buffer(log).unwrap_or_else(|| {
            let mut logs = self.logs.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(logs.entry(log.clone()).or_default())
        })
    }

    fn is_watched(&self) -> bool {
        let watchers = self.watchers.read().unwrap_or_else(PoisonError::into_inner);
        watchers.iter().any(|watcher| watcher.strong_count() > 0)
    }

    fn announce(&self, change: impl Fn() -> Change) {
        tell(&self.watchers, change);
    }

    fn announce_growth(&self, log: &Log) {
        tell(&self.watchers, || Change::Log(log.clone()));
        tell(&self.log_watchers, || Change::Log(log.clone()));
    }
}

fn tell(watchers: &RwLock<Vec<Weak<Changes>>>, change: impl Fn() -> Change) {
    let watchers = watchers.read().unwrap_or_else(PoisonError::into_inner);
    for watcher in watchers.iter().filter_map(Weak::upgrade) {
        watcher.push(change());
    }
}

fn begin(watchers: &RwLock<Vec<Weak<Changes>>>) -> Box<dyn Watch> {
    let changes = Arc::new(Changes::default());
    let mut watchers = watchers.write().unwrap_or_else(PoisonError::into_inner);
    watchers.retain(|watcher| watcher.strong_count() > 0);
    watchers.push(Arc::downgrade(&changes));
    Box::new(MemoryWatch { changes })
}

/// Runs a rule that is whole on the state itself. While tests run, that it is whole is seen to.
fn in_place(
    place: &Place,
    rule: &mut dyn ErasedRule,
    state: &mut Option<State>,
) -> Result<Verdict, StoreFailure> {
    if !cfg!(debug_assertions) {
        return Ok(rule.run(state));
    }
    let before = encoded(place, rule, state.as_ref())?;
    let verdict = rule.run(state);
    if verdict == Verdict::Leave && before != encoded(place, rule, state.as_ref())? {
        let why = "a rule refused and had changed something";
        return Err(StoreFailure::corrupt(place, why));
    }
    Ok(verdict)
}

fn encoded(
    place: &Place,
    rule: &dyn ErasedRule,
    state: Option<&State>,
) -> Result<Option<Vec<u8>>, StoreFailure> {
    state
        .map(|state| rule.encode(&**state))
        .transpose()
        .map_err(|why| StoreFailure::corrupt(place, &why))
}

impl Store for MemoryStore {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        if records.iter().any(|record| record.contains(&b'\n')) {
            return Err(StoreFailure::BrokenRecord {
                log: log.to_string(),
            });
        }
        let buffer = self.buffer(log);
        let mut buffer = lock(&buffer);
        if records.is_empty() {
            return Ok(buffer.end());
        }
        if buffer.bytes.last().is_some_and(|last| *last != b'\n') {
            buffer.bytes.push(b'\n');
        }
        let start = buffer.end();
        for record in records {
            buffer.bytes.extend_from_slice(record);
            buffer.bytes.push(b'\n');
        }
        if log.is_rotated() && buffer.bytes.len() > KEPT {
            buffer.halve();
        }
        drop(buffer);
        self.announce_growth(log);
        Ok(start)
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        let buffer = self.known_buffer(log).unwrap_or_default();
        let buffer = lock(&buffer);
        let within = from.saturating_sub(buffer.base);
        let page = page(&buffer.bytes, within, limit);
        let page = page.ok_or_else(|| StoreFailure::LogTruncated {
            log: log.to_string(),
            len: buffer.end(),
            cursor: from,
            start: buffer.base,
        })?;
        Ok(Page {
            base: page.base + buffer.base,
            next: page.next + buffer.base,
            ..page
        })
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        let documents = self
            .documents
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let of_kind = documents.iter().filter_map(|(place, slot)| match place {
            Place::Task(id) => match kind {
                // Which are claimed stands in states whose types are not known here.
                Kind::Task | Kind::ClaimedTask => Some((id, slot)),
            },
            _ => None,
        });
        Ok(of_kind
            .filter(|(_, slot)| lock(&slot.state).is_some())
            .map(|(id, _)| id.to_string())
            .collect())
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        Ok(begin(&self.watchers))
    }

    fn watch_logs(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        Ok(begin(&self.log_watchers))
    }

    fn is_prompt(&self) -> bool {
        true
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        let slot = self.known(place);
        Ok(slot.and_then(|slot| lock(&slot.state).as_ref().map(|state| rule.copy(&**state))))
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        let slot = self.slot(place);
        let _turn = match place {
            Place::Task(_) => lock(&self.tasks),
            _ => lock(&slot.turn),
        };
        if rule.is_whole() && !self.is_watched() {
            if in_place(place, rule, &mut lock(&slot.state))? == Verdict::Keep {
                // For who began to watch meanwhile.
                self.announce(|| Change::Document(place.clone()));
            }
            return Ok(());
        }
        let mut state = lock(&slot.state).as_ref().map(|state| rule.copy(&**state));
        if rule.run(&mut state) == Verdict::Leave {
            return Ok(());
        }
        let watched = self.is_watched();
        if watched {
            let before = encoded(place, rule, lock(&slot.state).as_ref())?;
            if before == encoded(place, rule, state.as_ref())? {
                return Ok(());
            }
        }
        *lock(&slot.state) = state;
        if watched {
            self.announce(|| Change::Document(place.clone()));
        }
        Ok(())
    }
}

/// A page of a log of `bytes`; `None` when `from` is beyond its end.
fn page(bytes: &[u8], from: Cursor, limit: usize) -> Option<Page> {
    let from = usize::try_from(from)
        .ok()
        .filter(|from| *from <= bytes.len())?;
    let after_line_end = |from: usize| {
        let found = bytes[from..].iter().position(|byte| *byte == b'\n');
        found.map(|end| from + end + 1)
    };
    let is_line_start = from == 0 || bytes[from - 1] == b'\n';
    let Some(start) = (if is_line_start {
        Some(from)
    } else {
        after_line_end(from)
    }) else {
        return Some(Page::tail(from as Cursor, (bytes.len() - from) as u64));
    };
    let reach = bytes.len().min(start.saturating_add(limit));
    let end = bytes.len() as Cursor;
    let is_long = || after_line_end(start).is_none();
    if (reach == bytes.len() || is_long())
        && let Some(page) =
            Page::with_whole_tail(start as Cursor, end, &mut bytes[start..].to_vec())
    {
        return Some(page);
    }
    let last_in_reach = bytes[start..reach].iter().rposition(|byte| *byte == b'\n');
    let end = match last_in_reach {
        Some(last) => start + last + 1,
        None => match after_line_end(start) {
            Some(end) => end,
            None => {
                let partial = (bytes.len() - start) as u64;
                return Some(Page::tail(start as Cursor, partial));
            }
        },
    };
    let at_end = reach.max(end) == bytes.len();
    Some(Page {
        base: start as Cursor,
        bytes: bytes[start..end].to_vec(),
        next: end as Cursor,
        partial: if at_end {
            (bytes.len() - end) as u64
        } else {
            0
        },
        at_end,
    })
}

struct MemoryWatch {
    changes: Arc<Changes>,
}

impl Watch for MemoryWatch {
    fn next(&mut self, wait: Duration) -> Result<Option<Change>, StoreFailure> {
        match self.changes.take(wait) {
            Taken::Change(change) => Ok(Some(change)),
            Taken::Woken | Taken::Nothing => Ok(None),
        }
    }
}
