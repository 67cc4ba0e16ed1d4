//! Checks of documents whose rules are whole: an adapter may run them on the state itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Subject, Whole, counting_whole, good, list_checks};
use crate::failure::StoreFailure;
use crate::port::{Change, Place, StoreExt};

list_checks! {
    a_whole_rule_changes_or_leaves_the_state,
    every_change_of_a_whole_rule_counts,
    a_whole_rule_views_nothing,
    a_rule_that_panics_leaves_a_state,
    whoever_watches_sees_a_whole_rule_change,
}

fn count(subject: &Subject) -> Option<u64> {
    let state = good(subject.store.view::<Whole>(&Place::Limits));
    state.map(|Whole(counter)| counter.count)
}

fn a_whole_rule_changes_or_leaves_the_state(subject: &Subject) {
    let refused = subject
        .store
        .update(&Place::Limits, |_: &mut Option<Whole>| Err::<(), _>("no"));
    assert_eq!(good(refused), Err("no"));
    assert_eq!(count(subject), None);
    for expected in 1..4 {
        let counted = subject.store.update(&Place::Limits, counting_whole);
        assert_eq!(good(counted), Ok(expected));
    }
    let refused = subject
        .store
        .update(&Place::Limits, |state: &mut Option<Whole>| {
            Err::<(), _>(state.clone())
        });
    assert!(good(refused).is_err_and(|state| state.is_some()));
    assert_eq!(count(subject), Some(3));
    let removed = subject
        .store
        .update(&Place::Limits, |state: &mut Option<Whole>| {
            *state = None;
            Ok::<_, ()>(())
        });
    assert_eq!(good(removed), Ok(()));
    assert_eq!(count(subject), None);
}

fn every_change_of_a_whole_rule_counts(subject: &Subject) {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert!(good(subject.store.update(&Place::Limits, counting_whole)).is_ok());
                    assert!(count(subject).is_some());
                }
            });
        }
    });
    assert_eq!(count(subject), Some(800));
}

fn a_whole_rule_views_nothing(subject: &Subject) {
    assert!(good(subject.store.update(&Place::Limits, counting_whole)).is_ok());
    for place in [Place::Limits, Place::Claims] {
        let viewed = subject
            .store
            .update(&Place::Limits, |_: &mut Option<Whole>| {
                Err::<(), _>(subject.store.view::<Whole>(&place))
            });
        let viewed = good(viewed);
        assert!(matches!(
            viewed,
            Err(Err(StoreFailure::NestedUpdate { .. }))
        ));
    }
    assert_eq!(count(subject), Some(1));
}

fn a_rule_that_panics_leaves_a_state(subject: &Subject) {
    assert!(good(subject.store.update(&Place::Limits, counting_whole)).is_ok());
    let fallen = catch_unwind(AssertUnwindSafe(|| {
        subject
            .store
            .update(&Place::Limits, |_: &mut Option<Whole>| -> Result<(), ()> {
                panic!("a rule that falls, for a test")
            })
    }));
    assert!(fallen.is_err());
    assert_eq!(count(subject), Some(1));
    assert_eq!(
        good(subject.store.update(&Place::Limits, counting_whole)),
        Ok(2)
    );
}

fn whoever_watches_sees_a_whole_rule_change(subject: &Subject) {
    let mut watch = good(subject.store.watch());
    assert!(good(subject.store.update(&Place::Limits, counting_whole)).is_ok());
    let wanted = Some(Change::Document(Place::Limits));
    let mut next = || good(watch.next(Duration::from_secs(20)));
    while next() != wanted {}
}
