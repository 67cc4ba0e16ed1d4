//! Documents under bad conditions: torn texts, leftovers, writers that do not lock, things that cannot be written.

use super::*;
use crate::documents::Heartbeat;
use crate::documents::Offset;
use crate::port::Document;
use crate::port::StoreExt;
use pitcrew_core::board::Board;
use pitcrew_core::claim::{Case, Claims, FilePath, Lines, Mode, Request};
use pitcrew_core::limiter::Limiter;
use pitcrew_core::mailbox::Unread;
use pitcrew_core::task::Task;
use std::os::unix::fs::PermissionsExt;

fn add(scene: &Scene, id: &str) {
    let id = super::id(id);
    let added = scene.store.update(&id, |task: &mut Option<Task>| {
        *task = Some(Task::new(&id, "", Timestamp::from_millis(0)));
        Ok::<_, ()>(())
    });
    added.unwrap().unwrap();
}

fn describe(scene: &Scene, id: &str, words: &str) -> Result<(), StoreFailure> {
    let described = scene
        .store
        .update(&super::id(id), |task: &mut Option<Task>| {
            task.as_mut().unwrap().description = words.into();
            Ok::<_, ()>(())
        });
    described.map(Result::unwrap)
}

#[test]
fn files_and_folders_are_private() {
    let scene = scene();
    add(&scene, "1");
    scene
        .store
        .append(&Log::Mailbox(name("w1")), &[b"{}"])
        .unwrap();
    scene
        .store
        .append(&Log::Outbox(name("w1")), &[b"{}"])
        .unwrap();
    let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o7777;
    for file in [
        "config.json",
        "tasks/1.json",
        "mailbox/w1.jsonl",
        "workers/w1/outbox.jsonl",
    ] {
        assert_eq!(mode(scene.path(file)), 0o600, "{file}");
    }
    for folder in [
        "",
        "tasks",
        "mailbox",
        "workers",
        "workers/w1",
        "dispatch",
        "approvals",
    ] {
        assert_eq!(mode(scene.path(folder)), 0o700, "{folder}");
    }
    assert_eq!(mode(scene.dir.path().join(".omp")), 0o700);
}

#[test]
fn a_document_that_is_half_written_is_read_again() {
    let scene = scene();
    add(&scene, "1");
    let whole = scene.text("tasks/1.json");
    scene.write("tasks/1.json", &whole[..20]);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| scene.store.view::<Task>(&id("1")));
        scene.write("tasks/1.json", &whole);
        assert!(reader.join().unwrap().unwrap().is_some());
    });
}

#[test]
fn a_torn_limiter_or_claim_table_is_never_taken_for_none() {
    let scene = scene();
    for file in ["limits.json", "claims.json"] {
        std::fs::write(scene.path(file), "{\"next\":").unwrap();
    }
    let limits = scene
        .store
        .update(&(), |_: &mut Option<Limiter>| Ok::<_, ()>(()));
    let claims = scene
        .store
        .update(&(), |_: &mut Option<Claims>| Ok::<_, ()>(()));
    for failure in [limits.unwrap_err(), claims.unwrap_err()] {
        assert_eq!(failure.code(), "corrupt_document");
    }
    assert_eq!(scene.text("limits.json"), "{\"next\":");
}

#[test]
fn a_torn_board_is_built_anew() {
    let scene = scene();
    std::fs::write(scene.path(".board.json"), "{").unwrap();
    assert_eq!(scene.store.view::<Board>(&()).unwrap(), None);
    let seen = scene.store.update(&(), |board: &mut Option<Board>| {
        let was_there = board.is_some();
        *board = Some(Board::default());
        Ok::<_, ()>(was_there)
    });
    assert_eq!(seen.unwrap(), Ok(false));
    assert_eq!(
        scene.store.view::<Board>(&()).unwrap(),
        Some(Board::default())
    );
}

#[test]
fn what_other_programs_keep_in_a_claim_or_in_the_limits_survives() {
    let scene = scene();
    let file = FilePath::canonical("a", "/", Case::Kept).unwrap();
    let now = Timestamp::from_millis(0);
    let claim = |start| {
        let lines = Lines::new(start, start).unwrap();
        let w1 = name("w1");
        let extend = Request {
            mode: Mode::Extend,
            ..Request::new(&w1, &file, lines)
        };
        let made = scene.store.update(&(), |claims: &mut Option<Claims>| {
            claims.get_or_insert_default().claim(&extend, now)
        });
        made.unwrap().unwrap();
    };
    claim(1);
    let text = scene.text("claims.json");
    let theirs = text.replace("\"member\":", "\"why\":\"refactoring\",\"member\":");
    std::fs::write(
        scene.path("claims.json"),
        theirs.replacen('{', "{\"x\":1,", 1),
    )
    .unwrap();
    claim(7);
    let text = scene.text("claims.json");
    assert!(
        text.starts_with("{\"x\":1,") && text.contains("\"why\":\"refactoring\""),
        "{text}"
    );
    assert_eq!(
        scene
            .store
            .view::<Claims>(&())
            .unwrap()
            .unwrap()
            .held(now)
            .count(),
        2
    );
}

#[test]
fn a_document_that_stays_torn_is_corrupt_and_left_alone() {
    let scene = scene();
    for text in [
        "",
        "{\"id\":",
        "null",
        "[]",
        "{\"id\":\"1\",\"status\":\"banana\"}",
    ] {
        scene.write("tasks/1.json", text);
        let seen = scene.store.view::<Task>(&id("1"));
        let Err(StoreFailure::CorruptDocument { place, .. }) = seen else {
            panic!("{text}: {seen:?}");
        };
        assert_eq!(place, "tasks/1.json");
        let changed = scene
            .store
            .update(&id("1"), |_: &mut Option<Task>| Ok::<_, ()>(()));
        assert!(matches!(changed, Err(StoreFailure::CorruptDocument { .. })));
        assert_eq!(scene.text("tasks/1.json"), text);
    }
}

/// What the runtime keeps at the index's place, as far as the store is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
struct Index {
    unread: Unread,
}

impl Document for Index {
    type Id = Name;

    fn place(owner: &Name) -> Place {
        Place::Unread(owner.clone())
    }
}

#[test]
fn an_index_that_cannot_be_read_is_built_again() {
    let scene = scene();
    scene.write("mailbox/.w1.unread", "{\"scanned\":12,");
    assert_eq!(scene.store.view::<Index>(&name("w1")).unwrap(), None);
    let kept = scene
        .store
        .update(&name("w1"), |index: &mut Option<Index>| {
            assert_eq!(*index, None);
            *index = Some(Index::default());
            Ok::<_, ()>(())
        });
    kept.unwrap().unwrap();
    assert!(scene.store.view::<Index>(&name("w1")).unwrap().is_some());
}

#[test]
fn a7_a_torn_cursor_is_reported_to_readers_and_can_be_replaced() {
    let scene = scene();
    for text in ["", "{\"bytesRe"] {
        scene.write("mailbox/.w1.offset", text);
        let seen = scene.store.view::<Offset>(&name("w1"));
        assert!(matches!(seen, Err(StoreFailure::CorruptDocument { .. })));
        let kept = scene
            .store
            .update(&name("w1"), |cursor: &mut Option<Offset>| {
                *cursor = Some(Offset { bytes_read: 9 });
                Ok::<_, ()>(())
            });
        kept.unwrap().unwrap();
        assert_eq!(scene.text("mailbox/.w1.offset"), "{\"bytesRead\":9}");
    }
}

#[test]
fn a_draft_that_a_dead_writer_left_is_taken_over() {
    let scene = scene();
    add(&scene, "1");
    scene.write("tasks/.1.json.tmp", "half of a te");
    scene.write("tasks/1.json.tmp.4711.1796055749063", "the reference's");
    assert_eq!(scene.store.list(Kind::Task).unwrap(), ["1"]);
    describe(&scene, "1", "new").unwrap();
    assert!(!scene.path("tasks/.1.json.tmp").exists());
    assert!(scene.path("tasks/1.json.tmp.4711.1796055749063").exists());
    let task = scene.store.view::<Task>(&id("1")).unwrap().unwrap();
    assert_eq!(task.description, "new");
}

#[test]
fn a_writer_that_does_not_lock_is_not_overwritten() {
    let scene = scene();
    add(&scene, "1");
    let mut runs = 0;
    let changed = scene.store.update(&id("1"), |task: &mut Option<Task>| {
        runs += 1;
        let task = task.as_mut().unwrap();
        if runs == 1 {
            let text = scene.text("tasks/1.json");
            let text = text.replacen("\"pending\"", "\"pending\",\n  \"theirs\": 1", 1);
            scene.write("tasks/1.json.new", &text);
            std::fs::rename(scene.path("tasks/1.json.new"), scene.path("tasks/1.json")).unwrap();
        }
        task.description = "ours".into();
        Ok::<_, ()>(())
    });
    changed.unwrap().unwrap();
    let text = scene.text("tasks/1.json");
    assert!(
        text.contains("\"theirs\": 1") && text.contains("ours"),
        "{text}"
    );
    assert_eq!(runs, 2);
}

#[test]
fn a_worker_without_a_folder_gets_one_only_when_something_is_kept() {
    let scene = scene();
    let refused = scene
        .store
        .update(&name("w9"), |_: &mut Option<Heartbeat>| Err::<(), _>(()));
    assert_eq!(refused.unwrap(), Err(()));
    assert_eq!(scene.store.view::<Heartbeat>(&name("w9")).unwrap(), None);
    assert!(!scene.path("workers/w9").exists());
}

#[test]
fn a_lock_that_is_never_given_up_is_a_failure_in_time() {
    let scene = scene();
    add(&scene, "1");
    let store = scene
        .store
        .clone()
        .waiting_for(std::time::Duration::from_millis(30));
    let tasks = std::fs::File::open(scene.path("tasks")).unwrap();
    tasks.lock().unwrap();
    let changed = store.update(&id("1"), |_: &mut Option<Task>| Ok::<_, ()>(()));
    let Err(StoreFailure::Locked { path }) = changed else {
        panic!("{changed:?}");
    };
    assert_eq!(path, scene.path("tasks"));
    assert!(
        store.view::<Task>(&id("1")).unwrap().is_some(),
        "reading needs no lock"
    );
    tasks.unlock().unwrap();
    store
        .update(&id("1"), |_: &mut Option<Task>| Ok::<_, ()>(()))
        .unwrap()
        .unwrap();
}

#[test]
fn a_document_that_cannot_be_replaced_stays_and_leaves_nothing_behind() {
    let scene = scene();
    add(&scene, "1");
    std::fs::create_dir(scene.path("tasks/.1.json.tmp")).unwrap();
    let before = snapshot(&scene.path("tasks"));
    assert!(describe(&scene, "1", "new").is_err());
    assert_eq!(snapshot(&scene.path("tasks")), before);
    std::fs::remove_dir(scene.path("tasks/.1.json.tmp")).unwrap();
    describe(&scene, "1", "new").unwrap();
}

#[test]
fn a_folder_where_a_document_belongs_is_refused() {
    let scene = scene();
    std::fs::create_dir(scene.path("tasks/1.json")).unwrap();
    let seen = scene.store.view::<Task>(&id("1"));
    assert!(
        matches!(seen, Err(StoreFailure::Escapes { .. })),
        "{seen:?}"
    );
    assert_eq!(
        scene.store.list(Kind::Task).unwrap(),
        ["1"],
        "it is reported, not hidden"
    );
}

#[test]
fn a_team_that_is_gone_is_not_made_again_by_writing() {
    let scene = scene();
    assert!(scene.project.remove_team(&name("t")).unwrap());
    let changed = scene
        .store
        .update(&id("1"), |_: &mut Option<Task>| Ok::<_, ()>(()));
    assert!(
        matches!(changed, Err(StoreFailure::Io { .. })),
        "{changed:?}"
    );
    let appended = scene.store.append(&Log::Mailbox(name("w1")), &[b"{}"]);
    assert!(
        matches!(appended, Err(StoreFailure::Io { .. })),
        "{appended:?}"
    );
    assert_eq!(scene.store.view::<Team>(&()).unwrap(), None);
    assert!(scene.store.list(Kind::Task).unwrap().is_empty());
    assert!(!scene.store.folder().exists());
}

fn beat(store: &LocalStore, worker: &str, at: &str) {
    let beat = crate::documents::Heartbeat {
        pid: 7,
        worker_name: worker.to_owned(),
        team_name: "t".to_owned(),
        last_poll_at: at.to_owned(),
        turn_count: 1,
        alive: true,
    };
    let kept = store.update(&name(worker), |state: &mut Option<_>| {
        *state = Some(beat.clone());
        Ok::<(), ()>(())
    });
    kept.unwrap().unwrap();
}

#[test]
fn a_heartbeat_is_written_over_the_last_one() {
    let scene = scene();
    let (file, first) = ("workers/w/heartbeat.json", "2026-01-01T00:00:00.000Z");
    beat(&scene.store, "w", first);
    let before = std::fs::metadata(scene.path(file)).unwrap();
    let text = scene.text(file).replace('}', ",\"mood\":\"calm\"}");
    std::fs::write(scene.path(file), &text).unwrap();

    beat(&scene.store, "w", "soon");
    let shorter = text.replace(first, "soon");
    let kept = scene.text(file);
    assert_eq!(kept, shorter, "nothing of the old text is left");

    use std::os::unix::fs::MetadataExt;
    let after = std::fs::metadata(scene.path(file)).unwrap();
    assert_eq!(before.ino(), after.ino(), "one file, no draft");
    beat(&scene.store, "w", first);
    assert_eq!(scene.text(file), text);
}

#[test]
fn a_heartbeat_with_a_second_name_is_replaced() {
    let scene = scene();
    beat(&scene.store, "w", "first");
    let (file, other) = (scene.path("workers/w/heartbeat.json"), scene.path("other"));
    std::fs::hard_link(&file, &other).unwrap();
    let text = scene.text("other");
    beat(&scene.store, "w", "later");
    assert_eq!(
        scene.text("other"),
        text,
        "what has another name is not ours to write"
    );
    assert!(scene.text("workers/w/heartbeat.json").contains("later"));
}
