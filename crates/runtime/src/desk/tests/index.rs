//! The unread index of a mailbox that is far ahead of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pitcrew_store::port::{ErasedRule, Kind, State};
use pitcrew_store::{Cursor, Page, Place, StoreFailure, Watch};

use super::*;

/// A store that counts how much of a log is read while an index is locked.
struct Counting<'a> {
    store: &'a MemoryStore,
    locked: AtomicBool,
    read: AtomicU64,
}

impl Store for Counting<'_> {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        self.store.append(log, records)
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        let page = self.store.read(log, from, limit)?;
        if self.locked.load(Ordering::Relaxed) {
            let more = page.bytes.len() as u64;
            self.read.fetch_add(more, Ordering::Relaxed);
        }
        Ok(page)
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        self.store.list(kind)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        self.store.watch()
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        self.store.view_erased(place, rule)
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        self.locked.store(true, Ordering::Relaxed);
        let updated = self.store.update_erased(place, rule);
        self.locked.store(false, Ordering::Relaxed);
        updated
    }
}

#[test]
fn a_mailbox_of_any_length_is_read_before_the_lock_of_all_indexes_is_taken() {
    let crew = Crew::of(&["ann", "bob"]);
    let body = "x".repeat(100_000);
    for n in 0..120 {
        let line = format!(
            r#"{{"type":"message","id":"{n}","from":"bob","to":"ann","body":"{body}","timestamp":"t"}}"#
        );
        crew.raw("ann", &line);
    }
    let store = Counting {
        store: &crew.store,
        locked: false.into(),
        read: 0.into(),
    };
    let desk = Desk::new(&crew.name, &store, &crew.clock, &crew.entropy);
    let read = || store.read.swap(0, Ordering::Relaxed);
    let taken = desk.take(&name("ann"), "ann", 1_000).unwrap().unwrap();
    assert_eq!((taken.message.id.as_str(), taken.attempt), ("0", 1));
    let most = 1_000_000;
    let under_lock = read();
    assert!(under_lock < most, "{under_lock} bytes");
    // What comes to less is read where it is needed.
    crew.raw(
        "ann",
        r#"{"type":"delivery-receipt","messageId":"1","deliveredAt":"d"}"#,
    );
    let taken = desk.take(&name("ann"), "ann", 1_000).unwrap().unwrap();
    assert_eq!(taken.message.id, "2");
    let under_lock = read();
    assert!(under_lock < most, "{under_lock} bytes");
}
