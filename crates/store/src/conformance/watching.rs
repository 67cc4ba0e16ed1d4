//! Checks of watching.

use std::collections::HashSet;
use std::time::Duration;

use super::{Counter, Damage, Subject, counting, good, id, list_checks, mailbox, name};
use crate::port::{Change, Log, Place, StoreExt, Watch};

list_checks! {
    every_kind_of_change_is_reported,
    what_was_there_before_is_not_reported,
    nothing_is_reported_when_nothing_changed,
    what_another_program_appends_is_reported,
    every_watcher_gets_every_change,
    changes_are_never_lost_in_silence,
}

/// Longer than any adapter needs; only a failing check waits for it.
const LONG: Duration = Duration::from_secs(20);

/// Long enough for a change that should not be there to arrive.
const SHORT: Duration = Duration::from_millis(60);

/// Takes changes until `wanted` comes; others before it are fine, since one write may be seen as several changes.
fn expect(watch: &mut dyn Watch, wanted: &Change) {
    loop {
        match good(watch.next(LONG)) {
            Some(change) if change == *wanted => return,
            Some(_) => {}
            None => panic!("{wanted:?} was not reported"),
        }
    }
}

fn drain(watch: &mut dyn Watch) {
    while good(watch.next(SHORT)).is_some() {}
}

fn count(subject: &Subject, place: &Place) -> Change {
    assert!(good(subject.store.update(place, counting)).is_ok());
    Change::Document(place.clone())
}

fn every_kind_of_change_is_reported(subject: &Subject) {
    let mut watch = good(subject.store.watch());
    for log in [mailbox("w1"), Log::Outbox(name("w1")), Log::Discoveries] {
        good(subject.store.append(&log, &[b"one"]));
        expect(&mut *watch, &Change::Log(log));
    }
    let places = [
        Place::Run,
        Place::Task(id("1")),
        Place::Heartbeat(name("w1")),
        Place::Session(name("w2")),
        Place::Unread(name("w1")),
        Place::Claims,
        Place::Limits,
        Place::Board,
    ];
    for place in places {
        let change = count(subject, &place);
        expect(&mut *watch, &change);
        drain(&mut *watch);
        let removed = subject.store.update(&place, |state: &mut Option<Counter>| {
            *state = None;
            Ok::<_, ()>(())
        });
        assert_eq!(good(removed), Ok(()));
        expect(&mut *watch, &change);
    }
}

fn what_was_there_before_is_not_reported(subject: &Subject) {
    count(subject, &Place::Run);
    good(subject.store.append(&mailbox("w1"), &[b"one"]));
    let mut watch = good(subject.store.watch());
    assert_eq!(good(watch.next(SHORT)), None);
}

fn nothing_is_reported_when_nothing_changed(subject: &Subject) {
    count(subject, &Place::Run);
    let mut watch = good(subject.store.watch());
    let same = subject
        .store
        .update(&Place::Run, |_: &mut Option<Counter>| Ok::<_, ()>(()));
    assert_eq!(good(same), Ok(()));
    let refused = subject
        .store
        .update(&Place::Run, |state: &mut Option<Counter>| {
            *state = None;
            Err::<(), _>(())
        });
    assert_eq!(good(refused), Err(()));
    good(subject.store.append(&mailbox("w1"), &[]));
    good(subject.store.view::<Counter>(&Place::Run));
    good(subject.store.read(&mailbox("w1"), 0, 100));
    assert_eq!(good(watch.next(SHORT)), None);
}

fn what_another_program_appends_is_reported(subject: &Subject) {
    let log = mailbox("w1");
    good(subject.store.append(&log, &[b"one"]));
    let mut watch = good(subject.store.watch());
    if subject.damage(&log, Damage::Torn(b"more")) {
        expect(&mut *watch, &Change::Log(log));
    }
}

fn every_watcher_gets_every_change(subject: &Subject) {
    let mut watches = [good(subject.store.watch()), good(subject.store.watch())];
    drop(subject.store.watch());
    let change = count(subject, &Place::Run);
    for watch in &mut watches {
        expect(&mut **watch, &change);
    }
}

/// Nobody takes a change while more of them happen than any adapter keeps. An adapter that hears of them late may
/// still deliver each; one that does not says so.
fn changes_are_never_lost_in_silence(subject: &Subject) {
    let mut watch = good(subject.store.watch());
    let mut missing: HashSet<Change> = (0..crate::changes::CAPACITY + 200)
        .map(|n| count(subject, &Place::Offset(name(&format!("w{n}")))))
        .collect();
    while !missing.is_empty() {
        match good(watch.next(LONG)) {
            Some(Change::Lagged) => break,
            Some(change) => drop(missing.remove(&change)),
            None => panic!("{} changes were lost in silence", missing.len()),
        }
    }
    drain(&mut *watch);
    let change = count(subject, &Place::Run);
    expect(&mut *watch, &change);
}
