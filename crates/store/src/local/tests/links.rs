//! What is no plain file or folder is refused wherever it stands, and what it leads to is left alone.

use super::*;
use crate::documents::{Heartbeat, Offset, OutboxOffset, Shutdown};
use crate::port::StoreExt;
use pitcrew_core::task::Task;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

/// Every way to a file or folder of a team, by the path that it goes over.
fn ways(store: &LocalStore) -> Vec<(&'static str, Option<StoreFailure>)> {
    let w1 = name("w1");
    let set = |_: &mut Option<Task>| Ok::<_, ()>(());
    let shutdown = |state: &mut Option<Shutdown>| {
        *state = Some(Shutdown::at(Timestamp::from_millis(0)));
        Ok::<_, ()>(())
    };
    let rename = |team: &mut Option<Team>| {
        team.as_mut().unwrap().task.push('x');
        Ok::<_, ()>(())
    };
    vec![
        ("config.json", store.view::<Team>(&()).err()),
        ("config.json", store.update(&(), rename).err()),
        ("shutdown.json", store.update(&(), shutdown).err()),
        ("tasks/1.json", store.view::<Task>(&id("1")).err()),
        ("tasks/1.json", store.update(&id("1"), set).err()),
        ("tasks", store.list(Kind::Task).err()),
        (
            "mailbox/w1.jsonl",
            store.read(&Log::Mailbox(w1.clone()), 0, 9).err(),
        ),
        (
            "mailbox/w1.jsonl",
            store.append(&Log::Mailbox(w1.clone()), &[b"{}"]).err(),
        ),
        ("mailbox/.w1.offset", store.view::<Offset>(&w1).err()),
        (
            "workers/w1/outbox.jsonl",
            store.append(&Log::Outbox(w1.clone()), &[b"{}"]).err(),
        ),
        (
            "workers/w1/outbox.jsonl",
            store.read(&Log::Outbox(w1.clone()), 0, 9).err(),
        ),
        (
            "workers/w1/heartbeat.json",
            store.view::<Heartbeat>(&w1).err(),
        ),
        (
            "workers/w1/.outbox-offset",
            store.view::<OutboxOffset>(&w1).err(),
        ),
        (
            "workers/w1/turn.out",
            store.worker(&w1).append("turn.out").err(),
        ),
        (
            "workers/w1/turn.out",
            store.worker(&w1).tail("turn.out", 9).err(),
        ),
    ]
}

/// Puts something bad at every path in turn and goes every way.
fn everywhere(put: impl Fn(&Path)) {
    let paths = [
        "config.json",
        "shutdown.json",
        "tasks",
        "tasks/1.json",
        "mailbox",
        "mailbox/w1.jsonl",
        "mailbox/.w1.offset",
        "workers",
        "workers/w1",
        "workers/w1/outbox.jsonl",
        "workers/w1/heartbeat.json",
        "workers/w1/.outbox-offset",
        "workers/w1/turn.out",
    ];
    for bad in paths {
        let scene = scene();
        let path = scene.path(bad);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir_all(&path);
        put(&path);
        let mut refused = 0;
        for (way, failure) in ways(&scene.store) {
            if way == bad || way.starts_with(&format!("{bad}/")) {
                assert!(
                    matches!(&failure, Some(StoreFailure::Escapes { path: at }) if *at == path),
                    "{way} over {bad}: {failure:?}"
                );
                refused += 1;
            } else {
                assert!(failure.is_none(), "{way} beside {bad}: {failure:?}");
            }
        }
        assert!(refused > 0, "{bad} is on no way");
    }
}

#[test]
fn links_are_not_followed() {
    let outside = TempDir::new().unwrap();
    let file = outside.path().join("file");
    std::fs::write(&file, "{\"bytesRead\":1}\n").unwrap();
    std::fs::create_dir_all(outside.path().join("w1")).unwrap();
    let before = snapshot(outside.path());
    everywhere(|path| symlink(&file, path).unwrap());
    everywhere(|path| symlink(outside.path(), path).unwrap());
    everywhere(|path| symlink(outside.path().join("nothing"), path).unwrap());
    assert_eq!(snapshot(outside.path()), before);
}

#[test]
fn pipes_and_sockets_neither_hang_nor_pass() {
    everywhere(|path| {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    });
    // The path of a socket has a short limit: it is made elsewhere and moved.
    let near = TempDir::new().unwrap();
    everywhere(|path| {
        let made = near.path().join("s");
        drop(UnixListener::bind(&made).unwrap());
        std::fs::rename(&made, path).unwrap();
    });
}

#[test]
fn a_link_in_place_of_a_draft_is_removed_and_not_written_through() {
    let scene = scene();
    let outside = TempDir::new().unwrap();
    let file = outside.path().join("file");
    std::fs::write(&file, "theirs").unwrap();
    symlink(&file, scene.path(".shutdown.json.tmp")).unwrap();
    let kept = scene.store.update(&(), |state: &mut Option<Shutdown>| {
        *state = Some(Shutdown::at(Timestamp::from_millis(0)));
        Ok::<_, ()>(())
    });
    kept.unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs");
}

#[test]
fn a_team_whose_folder_is_a_link_is_refused() {
    let scene = scene();
    let outside = TempDir::new().unwrap();
    let teams = scene.store.folder().parent().unwrap();
    symlink(outside.path(), teams.join("linked")).unwrap();
    let store = scene.project.team(&name("linked"));
    let appended = store.append(&Log::Mailbox(name("w1")), &[b"{}"]);
    assert!(
        matches!(appended, Err(StoreFailure::Escapes { .. })),
        "{appended:?}"
    );
    assert!(store.view::<Team>(&()).is_err());
    assert_eq!(scene.project.teams().unwrap(), [name("t")]);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_file_name_of_a_worker_cannot_lead_anywhere() {
    let scene = scene();
    let files = scene.store.worker(&name("w1"));
    for bad in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc/passwd",
        ".hidden",
        "a\0b",
        "a b",
        &"x".repeat(129),
    ] {
        assert!(
            matches!(files.append(bad), Err(StoreFailure::Escapes { .. })),
            "{bad:?}"
        );
        assert!(
            matches!(files.create(bad), Err(StoreFailure::Escapes { .. })),
            "{bad:?}"
        );
        assert!(
            matches!(files.write(bad, b""), Err(StoreFailure::Escapes { .. })),
            "{bad:?}"
        );
        assert!(
            matches!(files.tail(bad, 1), Err(StoreFailure::Escapes { .. })),
            "{bad:?}"
        );
    }
    assert!(!scene.path("workers/w1").exists());
}

#[test]
fn a_file_with_a_second_name_is_read_and_replaced_and_never_appended_to() {
    let outside = TempDir::new().unwrap();
    let file = outside.path().join("file");
    let text = "{\"bytesRead\":1}\n";
    std::fs::write(&file, text).unwrap();
    let scene = scene();
    let w1 = name("w1");
    for path in ["mailbox", "workers/w1"] {
        std::fs::create_dir_all(scene.path(path)).unwrap();
    }
    let logs = [
        "mailbox/w1.jsonl",
        "workers/w1/outbox.jsonl",
        "workers/w1/turn.out",
    ];
    for path in logs.iter().chain(&["workers/w1/.outbox-offset"]) {
        std::fs::hard_link(&file, scene.path(path)).unwrap();
    }
    let appended = [
        scene
            .store
            .append(&Log::Mailbox(w1.clone()), &[b"{}"])
            .err(),
        scene.store.append(&Log::Outbox(w1.clone()), &[b"{}"]).err(),
        scene.store.worker(&w1).append("turn.out").err(),
    ];
    for (path, failure) in logs.iter().zip(appended) {
        let at = scene.path(path);
        assert!(
            matches!(&failure, Some(StoreFailure::Escapes { path }) if *path == at),
            "{failure:?}"
        );
    }
    let page = scene.store.read(&Log::Mailbox(w1.clone()), 0, 99).unwrap();
    assert_eq!(page.bytes, text.as_bytes());
    let moved = scene
        .store
        .update(&w1, |offset: &mut Option<OutboxOffset>| {
            offset.as_mut().unwrap().bytes_read = 2;
            Ok::<_, ()>(())
        });
    moved.unwrap().unwrap();
    assert_eq!(scene.text("workers/w1/.outbox-offset"), "{\"bytesRead\":2}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let mut odd = scene.store.oddities().unwrap();
    odd.retain(|odd| matches!(odd, crate::local::Oddity::Shared { .. }));
    assert_eq!(odd.len(), 2, "{odd:?}");
    // A copy in its place is a file of its own.
    std::fs::remove_file(scene.path("mailbox/w1.jsonl")).unwrap();
    std::fs::copy(&file, scene.path("mailbox/w1.jsonl")).unwrap();
    scene.store.append(&Log::Mailbox(w1), &[b"{}"]).unwrap();
}
