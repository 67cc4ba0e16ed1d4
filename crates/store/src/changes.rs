//! A bounded queue of changes between those who make them and one who watches.
//!
//! A change that waits already is not queued again, so a busy log takes one place however often it grows. More than
//! [`CAPACITY`] different ones are replaced by a single `Lagged`: nothing is lost in silence and memory stays bounded.

use std::collections::{HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::port::Change;

/// The most different changes that wait at once.
pub(crate) const CAPACITY: usize = 1024;

/// What [`Changes::take`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Change(Change),
    /// Somebody called [`Changes::wake`].
    Woken,
    /// Nothing happened for as long as the caller would wait.
    Nothing,
}

#[derive(Default)]
pub(crate) struct Changes {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    order: VecDeque<Change>,
    known: HashSet<Change>,
    lagged: bool,
    woken: bool,
}

impl Waiting {
    fn is_idle(&self) -> bool {
        self.order.is_empty() && !self.lagged && !self.woken
    }

    fn lag(&mut self) {
        self.order.clear();
        self.known.clear();
        self.lagged = true;
    }
}

impl Changes {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, change: Change) {
        let mut waiting = self.lock();
        if change == Change::Lagged {
            waiting.lag();
        } else if waiting.lagged || !waiting.known.insert(change.clone()) {
            return;
        } else if waiting.order.len() < CAPACITY {
            waiting.order.push_back(change);
        } else {
            waiting.lag();
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Ends the watcher's wait without a change.
    pub(crate) fn wake(&self) {
        self.lock().woken = true;
        self.arrived.notify_one();
    }

    /// Takes the oldest change, waiting up to `wait` for one.
    pub(crate) fn take(&self, wait: Duration) -> Taken {
        let waiting = self.lock();
        let (mut waiting, _) = self
            .arrived
            .wait_timeout_while(waiting, wait, |waiting| waiting.is_idle())
            .unwrap_or_else(PoisonError::into_inner);
        if waiting.lagged {
            waiting.lagged = false;
            return Taken::Change(Change::Lagged);
        }
        if let Some(change) = waiting.order.pop_front() {
            waiting.known.remove(&change);
            return Taken::Change(change);
        }
        if std::mem::take(&mut waiting.woken) {
            return Taken::Woken;
        }
        Taken::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{Log, Place};
    use pitcrew_core::Name;
    use pitcrew_core::name::TaskId;

    fn task(n: usize) -> Change {
        Change::Document(Place::Task(TaskId::new(&n.to_string()).unwrap()))
    }

    #[test]
    fn a_change_that_waits_is_not_queued_again() {
        let changes = Changes::default();
        let log = Change::Log(Log::Mailbox(Name::leader()));
        changes.push(log.clone());
        changes.push(task(1));
        changes.push(log.clone());
        assert_eq!(changes.take(Duration::ZERO), Taken::Change(log.clone()));
        changes.push(log.clone());
        assert_eq!(changes.take(Duration::ZERO), Taken::Change(task(1)));
        assert_eq!(changes.take(Duration::ZERO), Taken::Change(log));
        assert_eq!(changes.take(Duration::ZERO), Taken::Nothing);
    }

    #[test]
    fn too_many_changes_are_one_lag_and_then_it_goes_on() {
        let changes = Changes::default();
        for n in 0..CAPACITY + 20 {
            changes.push(task(n));
        }
        assert_eq!(changes.take(Duration::ZERO), Taken::Change(Change::Lagged));
        changes.push(task(3));
        assert_eq!(changes.take(Duration::ZERO), Taken::Change(task(3)));
        assert_eq!(changes.take(Duration::ZERO), Taken::Nothing);
    }

    #[test]
    fn a_watcher_is_woken_by_another_thread() {
        let changes = Changes::default();
        std::thread::scope(|scope| {
            scope.spawn(|| changes.wake());
            assert_eq!(changes.take(Duration::from_secs(20)), Taken::Woken);
        });
    }
}
