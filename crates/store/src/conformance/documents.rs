//! Checks of documents and their transactions.

use pitcrew_core::task::{Status, Task};
use pitcrew_core::time::Timestamp;

use super::{Counter, Subject, counting, good, id, list_checks, name};
use crate::failure::StoreFailure;
use crate::port::{Kind, Place, StoreExt};

list_checks! {
    a_document_that_nobody_wrote_is_none,
    what_a_rule_keeps_is_there,
    a_refused_rule_leaves_the_state,
    a_rule_that_leaves_none_removes_the_document,
    documents_of_one_type_are_told_apart_by_id,
    every_change_of_many_threads_counts,
    every_lasting_change_of_many_threads_counts,
    a_rule_views_other_documents,
    what_a_rule_sees_of_other_tasks_is_current,
    a_change_inside_a_rule_is_refused,
    every_task_is_listed_once,
}

/// A place whose changes need not last, so that many of them are quick.
fn quick(of: &str) -> Place {
    Place::Heartbeat(name(of))
}

fn add_task(subject: &Subject, id: &str) {
    let id = super::id(id);
    let added = subject.store.update(&id, |task: &mut Option<Task>| {
        *task = Some(Task::new(&id, "", Timestamp::from_millis(0)));
        Ok::<_, ()>(())
    });
    assert_eq!(good(added), Ok(()));
}

fn a_document_that_nobody_wrote_is_none(subject: &Subject) {
    assert_eq!(good(subject.store.view::<Counter>(&Place::Run)), None);
    let seen = subject
        .store
        .update(&Place::Run, |state: &mut Option<Counter>| {
            Err::<(), _>(state.is_none())
        });
    assert_eq!(good(seen), Err(true));
    assert_eq!(good(subject.store.view::<Counter>(&Place::Run)), None);
}

fn what_a_rule_keeps_is_there(subject: &Subject) {
    for count in 1..4 {
        assert_eq!(good(subject.store.update(&Place::Run, counting)), Ok(count));
        let state = good(subject.store.view::<Counter>(&Place::Run));
        assert_eq!(state.map(|state| state.count), Some(count));
    }
}

fn a_refused_rule_leaves_the_state(subject: &Subject) {
    for place in [Place::Run, quick("w1"), Place::Task(id("1"))] {
        assert_eq!(good(subject.store.update(&place, counting)), Ok(1));
        let refused = subject.store.update(&place, |state: &mut Option<Counter>| {
            *state = None;
            Err::<(), _>("no")
        });
        assert_eq!(good(refused), Err("no"));
        let refused = subject.store.update(&place, |state: &mut Option<Counter>| {
            counting(state).map_err(|()| "never")?;
            Err::<(), _>("no")
        });
        assert_eq!(good(refused), Err("no"));
        let state = good(subject.store.view::<Counter>(&place));
        assert_eq!(state.map(|state| state.count), Some(1), "{place}");
    }
}

fn a_rule_that_leaves_none_removes_the_document(subject: &Subject) {
    let place = Place::Task(id("1"));
    assert_eq!(good(subject.store.update(&place, counting)), Ok(1));
    let removed = subject.store.update(&place, |state: &mut Option<Counter>| {
        *state = None;
        Ok::<_, ()>(())
    });
    assert_eq!(good(removed), Ok(()));
    assert_eq!(good(subject.store.view::<Counter>(&place)), None);
    assert!(good(subject.store.list(Kind::Task)).is_empty());
    assert_eq!(good(subject.store.update(&place, counting)), Ok(1));
}

fn documents_of_one_type_are_told_apart_by_id(subject: &Subject) {
    let places = [quick("w1"), quick("w2"), Place::Session(name("w1"))];
    for (more, place) in places.iter().enumerate() {
        for _ in 0..=more {
            assert!(good(subject.store.update(place, counting)).is_ok());
        }
    }
    for (more, place) in places.iter().enumerate() {
        let state = good(subject.store.view::<Counter>(place));
        assert_eq!(state.map(|state| state.count), Some(more as u64 + 1));
    }
}

fn count(subject: &Subject, place: &Place, threads: u64, each: u64) {
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut last = 0;
                for _ in 0..each {
                    let now = good(subject.store.update(place, counting));
                    assert!(now > Ok(last), "{now:?} after {last}");
                    last = now.unwrap_or(last);
                }
            });
        }
    });
    let state = good(subject.store.view::<Counter>(place));
    assert_eq!(state.map(|state| state.count), Some(threads * each));
}

fn every_change_of_many_threads_counts(subject: &Subject) {
    count(subject, &quick("w1"), 8, 200);
}

fn every_lasting_change_of_many_threads_counts(subject: &Subject) {
    count(subject, &Place::Run, 4, 5);
}

fn a_rule_views_other_documents(subject: &Subject) {
    add_task(subject, "1");
    add_task(subject, "2");
    assert_eq!(good(subject.store.update(&Place::Run, counting)), Ok(1));
    let seen = subject.store.update(&id("1"), |task: &mut Option<Task>| {
        let other = good(subject.store.view::<Task>(&id("2")));
        let run = good(subject.store.view::<Counter>(&Place::Run));
        let own = good(subject.store.view::<Task>(&id("1")));
        Ok::<_, ()>((other.is_some(), run.map(|run| run.count), own == *task))
    });
    assert_eq!(good(seen), Ok((true, Some(1), true)));
}

/// Of many tasks at most one may be in progress, which each rule finds out by looking at the others.
fn what_a_rule_sees_of_other_tasks_is_current(subject: &Subject) {
    let ids: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    for id in &ids {
        add_task(subject, id);
    }
    let is_running = |id: &String| {
        let task = good(subject.store.view::<Task>(&super::id(id)));
        task.is_some_and(|task| task.status == Status::InProgress)
    };
    let start = |id: &String| {
        let started = subject
            .store
            .update(&super::id(id), |task: &mut Option<Task>| {
                let task = task.as_mut().ok_or(())?;
                if ids.iter().any(is_running) {
                    return Err(());
                }
                std::thread::yield_now();
                task.status = Status::InProgress;
                Ok(())
            });
        good(started).is_ok()
    };
    let winners = std::thread::scope(|scope| {
        let racers: Vec<_> = ids.iter().map(|id| scope.spawn(|| start(id))).collect();
        racers
            .into_iter()
            .map(|racer| racer.join().unwrap_or(false))
            .filter(|won| *won)
            .count()
    });
    assert_eq!(winners, 1);
    assert_eq!(ids.iter().filter(|id| is_running(id)).count(), 1);
}

fn a_change_inside_a_rule_is_refused(subject: &Subject) {
    let nested = subject
        .store
        .update(&Place::Run, |state: &mut Option<Counter>| {
            let inner = subject.store.update(&Place::Run, counting);
            assert!(matches!(inner, Err(StoreFailure::NestedUpdate { .. })));
            let inner = subject.store.update(&quick("w1"), counting);
            assert!(matches!(inner, Err(StoreFailure::NestedUpdate { .. })));
            counting(state)
        });
    assert_eq!(good(nested), Ok(1));
    assert_eq!(good(subject.store.update(&quick("w1"), counting)), Ok(1));
}

fn every_task_is_listed_once(subject: &Subject) {
    assert!(good(subject.store.list(Kind::Task)).is_empty());
    for id in ["1", "10", "a-B_c"] {
        add_task(subject, id);
        add_task(subject, id);
    }
    assert_eq!(good(subject.store.update(&Place::Run, counting)), Ok(1));
    let mut ids = good(subject.store.list(Kind::Task));
    ids.sort();
    assert_eq!(ids, ["1", "10", "a-B_c"]);
    // Of claimed ones a list may have more, and none that is no task.
    let claimed = good(subject.store.list(Kind::ClaimedTask));
    assert!(claimed.iter().all(|id| ids.contains(id)));
}
