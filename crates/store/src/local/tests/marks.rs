//! The reference's mark beside a claimed task.

use super::*;
use crate::port::{Kind, Store, StoreExt};
use pitcrew_core::task::{Claimant, Readiness, Status, Task};
use std::time::Duration;

const NOW: i64 = 1_796_055_800_000;

fn with_task() -> Scene {
    let scene = scene();
    let added = scene.store.update(&id("1"), |task: &mut Option<Task>| {
        *task = Some(Task::new(&id("1"), "", Timestamp::from_millis(0)));
        Ok::<_, ()>(())
    });
    added.unwrap().unwrap();
    scene
}

fn claim(scene: &Scene, worker: &str) -> Result<(), pitcrew_core::Refusal> {
    try_claim(scene, worker).unwrap()
}

fn finish(scene: &Scene, end: Status, now: Timestamp) {
    let ended = scene.store.update(&id("1"), |task: &mut Option<Task>| {
        task.as_mut().unwrap().finish("w1-token", end, None, now)
    });
    ended.unwrap().unwrap();
}

fn try_claim(
    scene: &Scene,
    worker: &str,
) -> Result<Result<(), pitcrew_core::Refusal>, StoreFailure> {
    let worker = name(worker);
    scene.store.update(&id("1"), |task: &mut Option<Task>| {
        let claimant = Claimant {
            name: &worker,
            token: format!("{worker}-token"),
            lease_ms: None,
            holding: 0,
            limit: None,
        };
        let now = Timestamp::from_millis(NOW);
        task.as_mut()
            .unwrap()
            .claim(&claimant, &Readiness::Ready, now)
    })
}

fn mark(pid: u32, age_ms: i64) -> String {
    let at = Timestamp::from_millis(NOW - age_ms);
    format!(r#"{{"owner":"theirs","pid":{pid},"claimedAt":"{at}"}}"#)
}

/// A process that has ended.
fn dead() -> u32 {
    0x3FFF_FFFF
}

fn is_ours(scene: &Scene) -> bool {
    let text = scene.text("tasks/1.lock");
    text.contains("\"owner\":\"w1\"") && text.contains(&format!("\"pid\":{},", std::process::id()))
}

#[test]
fn orphans_are_replaced() {
    let orphans = [
        mark(dead(), 0),
        mark(std::process::id(), 600_000),
        mark(std::process::id(), -600_000),
        r#"{"owner":"theirs","pid":1}"#.into(),
        r#"{"owner":"theirs","pid":1,"claimedAt":"soon"}"#.into(),
        String::new(),
        "not json".into(),
    ];
    for orphan in orphans {
        let scene = with_task();
        scene.write("tasks/1.lock", &orphan);
        claim(&scene, "w1").unwrap();
        assert!(is_ours(&scene), "{orphan}");
    }
}

#[test]
fn a_claim_of_the_reference_that_runs_comes_first() {
    let scene = with_task();
    scene.write("tasks/1.lock", &mark(std::process::id(), 10));
    let refused = std::thread::scope(|scope| {
        let ours = scope.spawn(|| claim(&scene, "w1"));
        let text = scene.text("tasks/1.json");
        let text = text.replacen("\"pending\"", "\"in_progress\"", 1);
        scene.write("tasks/1.json.tmp.1.2", &text);
        std::fs::rename(
            scene.path("tasks/1.json.tmp.1.2"),
            scene.path("tasks/1.json"),
        )
        .unwrap();
        ours.join().unwrap()
    });
    assert_eq!(refused.unwrap_err().code(), "not_pending");
    assert!(scene.text("tasks/1.lock").contains("theirs"));
}

#[test]
fn a_claim_of_the_reference_that_gives_up_lets_us_in() {
    let scene = with_task();
    scene.write("tasks/1.lock", &mark(std::process::id(), 10));
    std::thread::scope(|scope| {
        let ours = scope.spawn(|| claim(&scene, "w1"));
        std::fs::remove_file(scene.path("tasks/1.lock")).unwrap();
        ours.join().unwrap().unwrap();
    });
    assert!(is_ours(&scene));
}

#[test]
fn a_claim_of_the_reference_that_never_ends_is_waited_for_only_so_long_and_kept() {
    let scene = with_task();
    scene.write("tasks/1.lock", &mark(std::process::id(), 900));
    let refused = try_claim(&scene, "w1").unwrap_err();
    assert_eq!(refused.code(), "claim_race");
    assert!(scene.text("tasks/1.lock").contains("theirs"));
}

#[test]
fn what_follows_from_an_end_is_owed_until_it_is_settled() {
    let scene = with_task();
    claim(&scene, "w1").unwrap();
    let now = Timestamp::from_millis(NOW);
    let owed = |later: i64| {
        let at = Timestamp::from_millis(NOW + later);
        scene.store.take_over_ended(at).unwrap()
    };
    assert!(owed(10_000).is_empty(), "it is in progress");
    finish(&scene, Status::Failed, now);
    assert!(is_ours(&scene) && owed(0).is_empty(), "we are at it");
    // The writer died.
    scene.write("tasks/1.lock", &mark(dead(), 0));
    assert_eq!(owed(0), [id("1")]);
    assert!(owed(0).is_empty(), "one takes it over");
    scene.store.settle(&id("1")).unwrap();
    assert!(!scene.path("tasks/1.lock").exists());
    assert!(owed(10_000).is_empty());
}

#[test]
fn while_a_running_claim_is_waited_for_other_tasks_move() {
    let scene = with_task();
    scene.write("tasks/1.lock", &mark(std::process::id(), 0));
    let impatient = scene.store.clone().waiting_for(Duration::from_millis(400));
    std::thread::scope(|scope| {
        let ours = scope.spawn(|| claim(&scene, "w1"));
        for n in 2..5 {
            let other = id(&n.to_string());
            let added = impatient.update(&other, |task: &mut Option<Task>| {
                *task = Some(Task::new(&other, "", Timestamp::from_millis(0)));
                Ok::<_, ()>(())
            });
            added.unwrap().unwrap();
        }
        std::fs::remove_file(scene.path("tasks/1.lock")).unwrap();
        ours.join().unwrap().unwrap();
    });
}

#[test]
fn the_mark_goes_with_the_claim_and_a_takeover_renews_it() {
    for end in [Status::Completed, Status::Failed] {
        let scene = with_task();
        claim(&scene, "w1").unwrap();
        finish(&scene, end, Timestamp::from_millis(NOW));
        scene.store.settle(&id("1")).unwrap();
        assert!(!scene.path("tasks/1.lock").exists());
    }
    let scene = with_task();
    claim(&scene, "w2").unwrap();
    let taken = scene.store.update(&id("1"), |task: &mut Option<Task>| {
        let task = task.as_mut().unwrap();
        (task.owner, task.claim_token) = (Some("w1".into()), Some("w1-token".into()));
        Ok::<_, ()>(())
    });
    taken.unwrap().unwrap();
    assert!(is_ours(&scene));
    let released = scene.store.update(&id("1"), |task: &mut Option<Task>| {
        task.as_mut().unwrap().release("w1-token")
    });
    released.unwrap().unwrap();
    assert!(!scene.path("tasks/1.lock").exists());
}

#[test]
fn changing_a_pending_task_leaves_a_mark_that_is_not_ours() {
    let scene = with_task();
    scene.write("tasks/1.lock", &mark(std::process::id(), 0));
    let changed = scene.store.update(&id("1"), |task: &mut Option<Task>| {
        task.as_mut().unwrap().description = "more".into();
        Ok::<_, ()>(())
    });
    changed.unwrap().unwrap();
    assert!(scene.text("tasks/1.lock").contains("theirs"));
}

#[test]
fn a_refused_claim_makes_no_mark() {
    let scene = with_task();
    claim(&scene, "w2").unwrap();
    let before = snapshot(&scene.path("tasks"));
    assert_eq!(claim(&scene, "w1").unwrap_err().code(), "not_pending");
    assert_eq!(snapshot(&scene.path("tasks")), before);
}

#[test]
fn claimed_tasks_are_listed_without_reading_any() {
    let scene = with_task();
    let claimed = || scene.store.list(Kind::ClaimedTask).unwrap();
    assert!(claimed().is_empty());
    claim(&scene, "w1").unwrap();
    scene.write("tasks/2.json", "torn");
    assert_eq!(claimed(), ["1"]);
    finish(&scene, Status::Completed, Timestamp::from_millis(NOW));
    scene.store.settle(&id("1")).unwrap();
    assert!(claimed().is_empty());
}

#[test]
fn a_shutdown_clears_every_mark_and_counts_them() {
    let scene = with_task();
    claim(&scene, "w1").unwrap();
    scene.write("tasks/7.lock", &mark(dead(), 0));
    assert_eq!(scene.store.clear_claim_marks().unwrap(), 2);
    assert_eq!(scene.store.clear_claim_marks().unwrap(), 0);
    assert!(scene.path("tasks/1.json").exists());
}
