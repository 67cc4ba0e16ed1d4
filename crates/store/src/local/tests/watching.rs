//! Watching a folder: what is reported, with and without events of the system.

use super::*;
use crate::documents::Heartbeat;
use crate::port::{Change, StoreExt};
use pitcrew_core::task::Task;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(60);

fn expect(watch: &mut dyn Watch, wanted: &Change) {
    loop {
        match watch.next(LONG).unwrap() {
            Some(change) if change == *wanted => return,
            Some(_) => {}
            None => panic!("{wanted:?} was not reported"),
        }
    }
}

fn add(store: &LocalStore, text: &str) -> Change {
    let id = id(text);
    let added = store.update(&id, |task: &mut Option<Task>| {
        *task = Some(Task::new(&id, "", Timestamp::from_millis(0)));
        Ok::<_, ()>(())
    });
    added.unwrap().unwrap();
    Change::Document(Place::Task(id))
}

#[test]
fn drafts_marks_and_output_are_not_reported() {
    let scene = scene();
    scene
        .store
        .worker(&name("w1"))
        .write("inbox.md", b"x")
        .unwrap();
    let mut watch = scene.store.watch().unwrap();
    scene.write("tasks/.1.json.tmp", "{}");
    scene.write("tasks/1.lock", "{}");
    scene.write("tasks/1.json.tmp.1.2", "{}");
    scene
        .store
        .worker(&name("w1"))
        .write("inbox.md", b"y")
        .unwrap();
    drop(scene.store.worker(&name("w1")).append("turn.out").unwrap());
    assert_eq!(watch.next(SHORT).unwrap(), None);
}

#[test]
fn a_change_is_reported_as_one() {
    let scene = scene();
    let mut watch = scene.store.watch().unwrap();
    let change = add(&scene.store, "1");
    assert_eq!(watch.next(LONG).unwrap(), Some(change));
    // Longer than the slow sweep: it must not find again what an event reported.
    assert_eq!(watch.next(Duration::from_millis(1700)).unwrap(), None);
}

#[test]
fn a_worker_that_comes_later_is_watched() {
    let scene = scene();
    let mut watch = scene.store.watch().unwrap();
    let put = |turn_count| {
        let put = scene
            .store
            .update(&name("late"), |state: &mut Option<Heartbeat>| {
                *state = Some(Heartbeat {
                    pid: 1,
                    worker_name: String::new(),
                    team_name: String::new(),
                    last_poll_at: String::new(),
                    turn_count,
                    alive: true,
                });
                Ok::<_, ()>(())
            });
        put.unwrap().unwrap();
    };
    let change = Change::Document(Place::Heartbeat(name("late")));
    put(1);
    expect(&mut *watch, &change);
    put(2);
    expect(&mut *watch, &change);
}

#[test]
fn a_team_that_goes_and_comes_back_is_watched_on() {
    let scene = scene();
    let mut watch = scene.store.watch().unwrap();
    assert!(scene.project.remove_team(&name("t")).unwrap());
    let document = Change::Document(Place::Team);
    expect(&mut *watch, &document);
    while watch.next(SHORT).unwrap().is_some() {}
    let team = Team::new(&name("t"), "", "", "/p", Timestamp::from_millis(0));
    scene.project.create_team(&name("t"), &team).unwrap();
    expect(&mut *watch, &document);
    let change = add(&scene.store, "1");
    expect(&mut *watch, &change);
}

#[test]
fn a_team_that_is_not_there_yet_is_watched_for() {
    let dir = TempDir::new().unwrap();
    let project = Project::at(dir.path()).unwrap();
    let mut watch = project.team(&name("t")).watch().unwrap();
    let team = Team::new(&name("t"), "", "", "/p", Timestamp::from_millis(0));
    project.create_team(&name("t"), &team).unwrap();
    expect(&mut *watch, &Change::Document(Place::Team));
}

#[test]
fn without_events_changes_are_found_by_looking() {
    let scene = scene();
    add(&scene.store, "0");
    let mut watch = watch::LocalWatch::blind(scene.store.folder());
    assert!(watch.slowed_by().is_some());
    let change = add(&scene.store, "1");
    assert_eq!(watch.next(LONG).unwrap(), Some(change));
    std::fs::remove_file(scene.path("tasks/0.json")).unwrap();
    let removed = Change::Document(Place::Task(id("0")));
    assert_eq!(watch.next(LONG).unwrap(), Some(removed));
    assert_eq!(watch.next(SHORT).unwrap(), None);
}
