//! What every adapter must show, as named checks that know nothing of the adapter.
//!
//! [`run`] gives each check a fresh store. An adapter whose logs can be damaged from outside brings a way to do it
//! ([`Subject::with_damage`]); the checks about damage are passed over for one that has none.
//! A check fails by panicking; `run` goes on and names all that failed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pitcrew_core::name::{Name, TaskId};
use pitcrew_core::refusal::{NameKind, Refusal};
use serde::{Deserialize, Serialize};

use crate::failure::StoreFailure;
use crate::port::{Document, Log, Place, Store};

mod documents;
mod logs;
mod watching;
mod whole;

/// What happens to a log behind its adapter's back.
#[derive(Debug, Clone, Copy)]
pub enum Damage<'a> {
    /// Bytes appear at its end, as a crash in the middle of a record leaves them.
    Torn(&'a [u8]),
    /// It is cut to so many bytes.
    CutTo(u64),
}

type Damaging = Box<dyn Fn(&dyn Store, &Log, Damage<'_>) + Send + Sync>;

/// A fresh store of the adapter under test, in which the team exists and has no task.
pub struct Subject {
    store: Box<dyn Store>,
    damage: Option<Damaging>,
    _guard: Box<dyn Any + Send + Sync>,
}

impl Subject {
    /// A store. `guard` is kept as long as the store is used: its folder or server, for instance.
    #[must_use]
    pub fn new(store: impl Store + 'static, guard: impl Any + Send + Sync) -> Self {
        Self {
            store: Box::new(store),
            damage: None,
            _guard: Box::new(guard),
        }
    }

    /// The store with a way to damage its logs.
    #[must_use]
    pub fn with_damage(
        self,
        damage: impl Fn(&dyn Store, &Log, Damage<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            damage: Some(Box::new(damage)),
            ..self
        }
    }

    /// Damages a log, if the adapter's logs can be damaged.
    fn damage(&self, log: &Log, damage: Damage<'_>) -> bool {
        if let Some(how) = &self.damage {
            how(&*self.store, log, damage);
        }
        self.damage.is_some()
    }
}

/// A check, by its name.
pub type Check = (&'static str, fn(&Subject));

/// Every check.
pub fn checks() -> impl Iterator<Item = Check> {
    let groups = [
        documents::CHECKS,
        whole::CHECKS,
        logs::CHECKS,
        watching::CHECKS,
    ];
    groups.into_iter().flatten().copied()
}

/// Runs every check on a store of its own.
///
/// # Panics
/// When a check failed, after all of them ran, with the names of those that did.
pub fn run(make: impl Fn() -> Subject) {
    let fails = |check: fn(&Subject)| {
        let subject = make();
        catch_unwind(AssertUnwindSafe(|| check(&subject))).is_err()
    };
    let failed: Vec<&str> = checks()
        .filter(|(_, check)| fails(*check))
        .map(|(name, _)| name)
        .collect();
    assert!(failed.is_empty(), "failed: {failed:?}");
}

/// Lists functions as checks under their own names.
macro_rules! list_checks {
    ($($check:ident,)*) => {
        pub(super) const CHECKS: &[super::Check] = &[$((stringify!($check), $check)),*];
    };
}
use list_checks;

/// A document of the suite's own: a number that says whether every change was counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Counter {
    count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Document for Counter {
    type Id = Place;

    fn place(place: &Place) -> Place {
        place.clone()
    }
}

/// The same, whose rules are whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Whole(Counter);

impl Document for Whole {
    type Id = Place;

    const WHOLE_RULES: bool = true;

    fn place(place: &Place) -> Place {
        place.clone()
    }
}

fn counting_whole(state: &mut Option<Whole>) -> Result<u64, ()> {
    let Whole(counter) = state.get_or_insert_default();
    counter.count += 1;
    Ok(counter.count)
}

fn counting(state: &mut Option<Counter>) -> Result<u64, ()> {
    let counter = state.get_or_insert_default();
    counter.count += 1;
    Ok(counter.count)
}

fn good<T>(result: Result<T, StoreFailure>) -> T {
    match result {
        Ok(value) => value,
        Err(failure) => panic!("{}: {failure}", failure.code()),
    }
}

fn valid<T>(result: Result<T, Refusal>) -> T {
    match result {
        Ok(value) => value,
        Err(refusal) => panic!("{refusal}"),
    }
}

fn name(text: &str) -> Name {
    valid(Name::new(NameKind::Member, text))
}

fn id(text: &str) -> TaskId {
    valid(TaskId::new(text))
}

fn mailbox(owner: &str) -> Log {
    Log::Mailbox(name(owner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::tests::subject;
    use crate::memory::MemoryStore;
    use std::sync::Arc;

    #[test]
    fn memory_conforms() {
        run(|| {
            let store = Arc::new(MemoryStore::new());
            let damaged = Arc::clone(&store);
            Subject::new(store, ()).with_damage(move |_, log, damage| match damage {
                Damage::Torn(bytes) => damaged.append_raw(log, bytes),
                Damage::CutTo(len) => damaged.truncate(log, usize::try_from(len).unwrap()),
            })
        });
    }

    #[test]
    fn local_conforms() {
        run(subject);
    }

    #[test]
    #[should_panic(expected = "failed: [\"logs_are_told_apart\"")]
    fn an_adapter_at_fault_is_named() {
        run(|| {
            let store = MemoryStore::new();
            store.append(&mailbox("w2"), &[b"a stranger's"]).unwrap();
            Subject::new(store, ())
        });
    }
}
