//! The team's store with an ear: what is written through it reaches those whom it concerns at once.
//!
//! | written | who hears |
//! |---|---|
//! | a message in a mailbox | the agent whose mailbox it is |
//! | claims and limits | who keeps them (`team/keeping.rs`) |
//! | an event | whoever listens on the bus (`team/publisher.rs`) |
//!
//! The store behind it is the truth and is asked for everything. What others write, in this process or elsewhere, is
//! heard through the store's own watch (`team/watching.rs`); hearing of the same thing twice does no harm.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use pitcrew_core::{Name, TaskId, Timestamp};
use pitcrew_store::port::{ErasedRule, State};
use pitcrew_store::{Cursor, Kind, Log, Page, Place, Reach, Store, StoreFailure, Watch};

use super::agent::Cell;
use super::keeping::Moved;
use super::publisher::Publisher;

/// What a message begins with in a mailbox; receipts concern nobody who waits for mail.
const MESSAGE: &[u8] = b"{\"type\":\"message\"";

/// The agents that live, by name, and their bells.
#[derive(Default)]
pub(crate) struct Bells {
    cells: RwLock<HashMap<Name, Arc<Cell>>>,
}

impl Bells {
    pub(crate) fn hang(&self, cell: &Arc<Cell>) {
        let mut cells = self.cells.write().unwrap_or_else(PoisonError::into_inner);
        cells.insert(cell.name.clone(), Arc::clone(cell));
    }

    /// The agent of exactly that name.
    pub(crate) fn find(&self, name: &Name) -> Option<Arc<Cell>> {
        let cells = self.cells.read().unwrap_or_else(PoisonError::into_inner);
        cells.get(name).cloned()
    }

    pub(crate) fn take_down(&self, name: &Name) {
        let mut cells = self.cells.write().unwrap_or_else(PoisonError::into_inner);
        cells.remove(name);
    }

    pub(crate) fn ring(&self, name: &Name) {
        let cells = self.cells.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = cells.get(name) {
            cell.inbox.ring();
        }
    }

    pub(crate) fn ring_all(&self) {
        let cells = self.cells.read().unwrap_or_else(PoisonError::into_inner);
        cells.values().for_each(|cell| cell.inbox.ring());
    }
}

/// The team's store with an ear.
pub(crate) struct RoutedStore {
    store: Arc<dyn Store>,
    bells: Arc<Bells>,
    publisher: Arc<Publisher>,
    moved: Arc<Moved>,
}

impl RoutedStore {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        bells: Arc<Bells>,
        publisher: Arc<Publisher>,
        moved: Arc<Moved>,
    ) -> Self {
        Self {
            store,
            bells,
            publisher,
            moved,
        }
    }

    fn heard(&self, log: &Log, records: &[&[u8]]) {
        match log {
            Log::Mailbox(owner) => {
                let mut messages = records.iter().filter(|line| line.starts_with(MESSAGE));
                if let Some(first) = messages.next() {
                    self.publisher.remember(log, first);
                    messages.for_each(|line| self.publisher.remember(log, line));
                    self.bells.ring(owner);
                }
            }
            Log::Discoveries => records
                .iter()
                .for_each(|line| self.publisher.remember(log, line)),
            Log::Events => self.publisher.publish(),
            Log::Outbox(_) | Log::History(_) => {}
        }
    }
}

impl Store for RoutedStore {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        let at = self.store.append(log, records)?;
        self.heard(log, records);
        Ok(at)
    }

    fn append_blind(&self, log: &Log, records: &[&[u8]]) -> Result<(), StoreFailure> {
        self.store.append_blind(log, records)?;
        self.heard(log, records);
        Ok(())
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        self.store.read(log, from, limit)
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        self.store.list(kind)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        self.store.watch()
    }

    fn watch_logs(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        self.store.watch_logs()
    }

    fn is_prompt(&self) -> bool {
        self.store.is_prompt()
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        self.store.view_erased(place, rule)
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        self.store.update_erased(place, rule)?;
        self.moved.note(place);
        Ok(())
    }

    fn settle(&self, task: &TaskId) -> Result<(), StoreFailure> {
        self.store.settle(task)
    }

    fn take_over_ended(&self, reach: Reach, now: Timestamp) -> Result<Vec<TaskId>, StoreFailure> {
        self.store.take_over_ended(reach, now)
    }
}
