//! The reference's mark beside a claimed task.

use super::*;
use crate::port::{Kind, Reach, Store, StoreExt};
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
        scene.store.take_over_ended(Reach::Listed, at).unwrap()
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

/// The files of one end, as they stand after each of its steps in turn.
fn steps_of_an_end(scene: &Scene, step: usize) {
    std::fs::create_dir_all(scene.path("tasks/.owed")).unwrap();
    let task = scene.text("tasks/1.json");
    let steps: [&dyn Fn(); 5] = [
        &|| scene.write("tasks/.owed/1", ""),
        &|| scene.write("tasks/1.lock", &mark(dead(), 0)),
        &|| {
            let ended = task.replacen("\"in_progress\"", "\"failed\"", 1);
            scene.write("tasks/1.json", &ended);
        },
        &|| std::fs::remove_file(scene.path("tasks/1.lock")).unwrap(),
        &|| std::fs::remove_file(scene.path("tasks/.owed/1")).unwrap(),
    ];
    for done in &steps[..step] {
        done();
    }
}

#[test]
fn an_end_that_is_cut_off_at_any_step_is_owed_or_owes_nothing() {
    let owes = [false, false, false, true, false, false];
    for (step, owes) in owes.into_iter().enumerate() {
        for reach in [Reach::Listed, Reach::Everywhere] {
            let scene = with_task();
            claim(&scene, "w1").unwrap();
            scene.write("tasks/1.lock", &mark(dead(), 0));
            steps_of_an_end(&scene, step);
            let at = Timestamp::from_millis(NOW);
            let owed = scene.store.take_over_ended(reach, at).unwrap();
            assert_eq!(!owed.is_empty(), owes, "step {step}, {reach:?}");
            let is_listed = scene.path("tasks/.owed/1").exists();
            assert_eq!(is_listed, owes, "step {step}: what owes nothing is struck");
            for id in owed {
                scene.store.settle(&id).unwrap();
            }
            assert!(!scene.path("tasks/.owed/1").exists(), "step {step}");
            assert_eq!(scene.path("tasks/1.lock").exists(), step < 3, "step {step}");
        }
    }
}

#[test]
fn what_is_owed_and_not_listed_is_found_by_whoever_looks_everywhere_or_finds_no_list() {
    for has_list in [true, false] {
        let scene = with_task();
        claim(&scene, "w1").unwrap();
        steps_of_an_end(&scene, 3);
        std::fs::remove_dir_all(scene.path("tasks/.owed")).unwrap();
        if has_list {
            std::fs::create_dir(scene.path("tasks/.owed")).unwrap();
        }
        let at = Timestamp::from_millis(NOW);
        let owed = |reach| scene.store.take_over_ended(reach, at).unwrap();
        if has_list {
            assert!(owed(Reach::Listed).is_empty());
            assert_eq!(owed(Reach::Everywhere), [id("1")]);
        } else {
            assert_eq!(owed(Reach::Listed), [id("1")]);
        }
        // Should whoever took it over be killed as well, the list tells the next.
        scene.write("tasks/1.lock", &mark(dead(), 0));
        assert_eq!(owed(Reach::Listed), [id("1")]);
    }
}

#[test]
fn a_claim_begins_the_list_and_an_end_that_comes_to_nothing_leaves_none_in_it() {
    let scene = with_task();
    assert!(!scene.path("tasks/.owed").exists());
    claim(&scene, "w1").unwrap();
    let listed = || {
        std::fs::read_dir(scene.path("tasks/.owed"))
            .unwrap()
            .count()
    };
    assert_eq!(listed(), 0);
    // No text can take the place of a document whose draft is a folder that is not empty.
    std::fs::create_dir_all(scene.path("tasks/.1.json.tmp/x")).unwrap();
    let ended = scene.store.update(&id("1"), |task: &mut Option<Task>| {
        let now = Timestamp::from_millis(NOW);
        task.as_mut()
            .unwrap()
            .finish("w1-token", Status::Failed, None, now)
    });
    assert!(ended.is_err(), "{ended:?}");
    assert_eq!(listed(), 0);
}

#[test]
fn a_task_that_is_put_back_or_removed_owes_nothing_any_more() {
    for is_removed in [true, false] {
        let scene = with_task();
        claim(&scene, "w1").unwrap();
        finish(&scene, Status::Failed, Timestamp::from_millis(NOW));
        assert!(scene.path("tasks/.owed/1").exists());
        let changed = scene.store.update(&id("1"), |task: &mut Option<Task>| {
            if is_removed {
                *task = None;
                return Ok(());
            }
            task.as_mut().unwrap().retry(None)
        });
        changed.unwrap().unwrap();
        assert!(!scene.path("tasks/.owed/1").exists());
        assert!(!scene.path("tasks/1.lock").exists());
    }
}

#[test]
fn what_is_odd_in_the_list_hides_nothing_that_is_owed() {
    let scene = with_task();
    claim(&scene, "w1").unwrap();
    steps_of_an_end(&scene, 3);
    scene.write("tasks/.owed/not a task", "x");
    std::fs::create_dir(scene.path("tasks/.owed/folder")).unwrap();
    std::os::unix::fs::symlink("/", scene.path("tasks/.owed/link")).unwrap();
    scene.write("tasks/.owed/9", "");
    scene.write("tasks/9.lock", "not json");
    scene.write("tasks/9.json", "{");
    let at = Timestamp::from_millis(NOW);
    let owed = scene.store.take_over_ended(Reach::Listed, at).unwrap();
    assert_eq!(owed, [id("1")]);
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
    // One that cannot be removed keeps no other.
    for n in 0..9 {
        scene.write(&format!("tasks/{n}.lock"), &mark(dead(), 0));
    }
    std::fs::remove_file(scene.path("tasks/4.lock")).unwrap();
    std::fs::create_dir(scene.path("tasks/4.lock")).unwrap();
    assert!(scene.store.clear_claim_marks().is_err());
    let left = std::fs::read_dir(scene.path("tasks")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name());
    let marks = left.filter(|name| name.to_string_lossy().ends_with(".lock"));
    assert_eq!(marks.count(), 1);
}
