//! The reference's files: read, changed and written as it would.

use super::*;
use crate::documents::{Heartbeat, Offset, OutboxOffset, Shutdown};
use crate::port::{Store, StoreExt};
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_core::task::{Claimant, Readiness, Status, Task};

/// Where the recorded cases stand in a checkout that has them.
fn cases() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here
        .ancestors()
        .map(|above| above.join("shared/cases/omp-state"))
        .find(|cases| cases.is_dir());
    #[expect(
        clippy::disallowed_methods,
        reason = "a run that must not skip says so in its environment"
    )]
    let required = std::env::var("PITCREW_REQUIRE").is_ok_and(|names| names.contains("shared"));
    assert!(
        found.is_some() || !required,
        "the recorded cases are missing"
    );
    if found.is_none() {
        println!("skipped: the recorded cases are not in this checkout");
    }
    found
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::write(&to, std::fs::read(&from).unwrap()).unwrap();
        }
    }
}

struct Golden {
    _dir: TempDir,
    project: Project,
    store: LocalStore,
}

/// A private copy of the recorded folder.
fn golden() -> Option<Golden> {
    let dir = TempDir::new().unwrap();
    copy(&cases()?, dir.path());
    let project = Project::at(dir.path()).unwrap();
    let store = project.team(&name("gold"));
    Some(Golden {
        _dir: dir,
        project,
        store,
    })
}

impl Golden {
    fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.store.folder().join(below)).unwrap()
    }
}

#[test]
fn a_recorded_folder_is_read_and_left_as_it_was() {
    let Some(golden) = golden() else { return };
    let before = snapshot(golden.project.root());
    let store = &golden.store;
    assert_eq!(golden.project.teams().unwrap(), [name("gold")]);
    let team = store.view::<Team>(&()).unwrap().unwrap();
    assert_eq!(team.workers.len(), 2);
    let mut ids = store.list(Kind::Task).unwrap();
    ids.sort();
    assert_eq!(ids, ["1", "2", "3", "4"]);
    for id in &ids {
        store.view::<Task>(&super::id(id)).unwrap().unwrap();
    }
    let page = store.read(&Log::Mailbox(Name::leader()), 0, 65536).unwrap();
    assert_eq!(page.lines().count(), 2);
    let offset = store.view::<Offset>(&name("worker-1")).unwrap().unwrap();
    assert_eq!(offset.bytes_read, 604);
    let offset = store.view::<OutboxOffset>(&name("worker-1")).unwrap();
    assert_eq!(offset.unwrap().bytes_read, 227);
    let heartbeat = store.view::<Heartbeat>(&name("worker-2")).unwrap().unwrap();
    assert!(heartbeat.alive);
    assert_eq!(store.view::<Shutdown>(&()).unwrap(), None);
    assert_eq!(snapshot(golden.project.root()), before);
}

#[test]
fn unchanged_states_write_nothing_over_recorded_files() {
    let Some(golden) = golden() else { return };
    let before = snapshot(golden.project.root());
    let same = |_: &mut Option<Task>| Ok::<_, ()>(());
    for id in ["1", "2", "3", "4"] {
        golden.store.update(&super::id(id), same).unwrap().unwrap();
    }
    let refused = golden
        .store
        .update(&(), |team: &mut Option<Team>| {
            *team = None;
            Err::<(), _>(())
        })
        .unwrap();
    assert_eq!(refused, Err(()));
    let refused = golden
        .store
        .update(&name("stranger"), |_: &mut Option<Heartbeat>| {
            Err::<(), _>(())
        });
    assert_eq!(refused.unwrap(), Err(()));
    assert_eq!(snapshot(golden.project.root()), before);
}

#[test]
fn a_claim_and_its_end_are_written_as_the_reference_does() {
    let Some(golden) = golden() else { return };
    let at = Timestamp::from_millis(1_796_055_800_000);
    let worker = name("worker-1");
    let claimed = golden.store.update(&id("4"), |task: &mut Option<Task>| {
        let claimant = Claimant {
            name: &worker,
            token: "worker-1-1796055800000-7".into(),
            lease_ms: None,
            holding: 0,
            limit: None,
        };
        task.as_mut()
            .unwrap()
            .claim(&claimant, &Readiness::Ready, at)
    });
    claimed.unwrap().unwrap();
    let head = "{\n  \"id\": \"4\",\n  \"description\": \"extra task 4\",\n";
    let expected = format!(
        "{head}  \"status\": \"in_progress\",\n  \"createdAt\": \"2026-11-30T16:22:28.970Z\",\n  \"owner\": \"worker-1\",\n  \"startedAt\": \"2026-11-30T16:23:20.000Z\",\n  \"claimToken\": \"worker-1-1796055800000-7\",\n  \"attempts\": 1\n}}"
    );
    assert_eq!(golden.text("tasks/4.json"), expected);
    let pid = std::process::id();
    assert_eq!(
        golden.text("tasks/4.lock"),
        format!(r#"{{"owner":"worker-1","pid":{pid},"claimedAt":"2026-11-30T16:23:20.000Z"}}"#)
    );
    let ended = golden.store.update(&id("4"), |task: &mut Option<Task>| {
        let task = task.as_mut().unwrap();
        task.finish(
            "worker-1-1796055800000-7",
            Status::Completed,
            Some("ok ☃".into()),
            at,
        )
    });
    ended.unwrap().unwrap();
    let text = golden.text("tasks/4.json");
    assert!(
        text.starts_with(&format!("{head}  \"status\": \"completed\",\n")),
        "{text}"
    );
    assert!(text.ends_with("\"attempts\": 1,\n  \"result\": \"ok ☃\",\n  \"finishedAt\": \"2026-11-30T16:23:20.000Z\"\n}"), "{text}");
    golden.store.settle(&id("4")).unwrap();
    assert!(!golden.store.folder().join("tasks/4.lock").exists());
}

#[test]
fn a_member_that_joins_changes_only_its_part_of_the_roster() {
    let Some(golden) = golden() else { return };
    let before = golden.text("config.json");
    let identity = "  \"tmuxIdentity\": {\n    \"serverPid\": 7,\n    \"odd\": [\n      1.0,\n      \"\\ud800\"\n    ]\n  },\n  \"workers\"";
    let before = before.replacen("  \"workers\"", identity, 1);
    let before = before.replacen(
        "\"taskId\": \"1\"\n",
        "\"taskId\": \"1\",\n      \"color\": {}\n",
        1,
    );
    std::fs::write(golden.store.folder().join("config.json"), &before).unwrap();
    let recruit = Recruit {
        name: name("w3"),
        role: "coder".into(),
        seat: Seat::Headless,
        profile: None,
        task_id: None,
    };
    let joined = golden.store.update(&(), |team: &mut Option<Team>| {
        team.as_mut().unwrap().add(recruit.clone())
    });
    joined.unwrap().unwrap();
    let added = "    },\n    {\n      \"name\": \"w3\",\n      \"role\": \"coder\",\n      \"seat\": \"headless\"\n    }\n  ],\n  \"cwd\"";
    let expected = before
        .replacen("    }\n  ],\n  \"cwd\"", added, 1)
        .replacen("\"workerCount\": 2", "\"workerCount\": 3", 1);
    assert_eq!(golden.text("config.json"), expected);
}

#[test]
fn the_small_files_have_no_white_space_but_where_the_reference_has_it() {
    let scene = scene();
    let worker = name("worker-1");
    let put = |result: Result<Result<(), ()>, StoreFailure>| result.unwrap().unwrap();
    put(scene.store.update(&worker, |state: &mut Option<Offset>| {
        *state = Some(Offset { bytes_read: 604 });
        Ok(())
    }));
    put(scene
        .store
        .update(&worker, |state: &mut Option<OutboxOffset>| {
            *state = Some(OutboxOffset { bytes_read: 0 });
            Ok(())
        }));
    put(scene
        .store
        .update(&worker, |state: &mut Option<Heartbeat>| {
            *state = Some(Heartbeat {
                pid: 9,
                worker_name: "worker-1".into(),
                team_name: "t".into(),
                last_poll_at: "2026-11-30T16:22:29.488Z".into(),
                turn_count: 2,
                alive: false,
            });
            Ok(())
        }));
    put(scene.store.update(&(), |state: &mut Option<Shutdown>| {
        *state = Some(Shutdown::at(Timestamp::from_millis(0)));
        Ok(())
    }));
    assert_eq!(
        scene.text("mailbox/.worker-1.offset"),
        r#"{"bytesRead":604}"#
    );
    assert_eq!(
        scene.text("workers/worker-1/.outbox-offset"),
        r#"{"bytesRead":0}"#
    );
    assert_eq!(
        scene.text("workers/worker-1/heartbeat.json"),
        r#"{"pid":9,"workerName":"worker-1","teamName":"t","lastPollAt":"2026-11-30T16:22:29.488Z","turnCount":2,"alive":false}"#
    );
    assert_eq!(
        scene.text("shutdown.json"),
        "{\"shutdownAt\":\"1970-01-01T00:00:00.000Z\"}\n"
    );
    assert!(
        scene
            .text("config.json")
            .starts_with("{\n  \"name\": \"t\",\n")
    );
    assert!(scene.text("config.json").ends_with("}\n"));
}

#[test]
fn a_heartbeat_that_becomes_shorter_leaves_no_blanks() {
    let scene = scene();
    let worker = name("worker-1");
    for (pid, alive) in [(4_000_000, false), (9, true), (10, false), (7, true)] {
        let beat = |state: &mut Option<Heartbeat>| {
            *state = Some(Heartbeat {
                pid,
                worker_name: "worker-1".into(),
                team_name: "t".into(),
                last_poll_at: "2026-11-30T16:22:29.488Z".into(),
                turn_count: 2,
                alive,
            });
            Ok::<_, ()>(())
        };
        scene.store.update(&worker, beat).unwrap().unwrap();
        assert_eq!(
            scene.text("workers/worker-1/heartbeat.json"),
            format!(
                r#"{{"pid":{pid},"workerName":"worker-1","teamName":"t","lastPollAt":"2026-11-30T16:22:29.488Z","turnCount":2,"alive":{alive}}}"#
            )
        );
    }
}
