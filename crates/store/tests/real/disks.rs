//! Disks that are full, limited or read-only.

use std::path::Path;
use std::process::Command;

use pitcrew_store::{Log, Store, StoreExt};

use super::children::{Running, assert_only, command_after};
use super::{Counter, name, project};

#[test]
fn real_a_record_over_the_file_size_limit_is_taken_back() {
    for pad in [300, 3000, 30_000] {
        let (dir, store) = project();
        // 100 blocks of 512 bytes, or of 1024 in some shells. The signal would end the child before it can take back.
        let limit = "ulimit -f 100; trap '' XFSZ";
        let job = ["append_until_full", &pad.to_string()];
        let (said, well) = Running::start(command_after(limit, dir.path(), &job)).finish();
        assert!(well, "{said:?}");
        assert_only(&store, said.len() - 1, pad);
        store.append(&Log::Mailbox(name("w1")), &[b"{}"]).unwrap();
    }
}

#[test]
fn real_a_document_over_the_file_size_limit_leaves_the_old_one() {
    let (dir, store) = project();
    let before = store.update(&(), |state: &mut Option<Counter>| {
        *state = Some(Counter::default());
        Ok::<_, ()>(())
    });
    before.unwrap().unwrap();
    let limit = "ulimit -f 10; trap '' XFSZ";
    let job = ["count", "1", "50000"];
    let (said, _) = Running::start(command_after(limit, dir.path(), &job)).finish();
    assert_eq!(said, ["storage_full"]);
    assert_eq!(
        store.view::<Counter>(&()).unwrap(),
        Some(Counter::default())
    );
    assert!(!store.folder().join(".run.json.tmp").exists());
}

/// Runs a child's job after `line` in a mount namespace of its own, if this machine lets a test have one.
fn mounted(line: &str, dir: &Path, job: &[&str]) -> Option<(Vec<String>, bool)> {
    let line = line.replace("DIR", dir.to_str().unwrap());
    let can = Command::new("unshare")
        .args(["-rm", "sh", "-c", &line])
        .output()
        .is_ok_and(|done| done.status.success());
    if !can {
        println!("skipped: this machine lets no test mount anything");
        return None;
    }
    let inner = command_after(&line, dir, job);
    let mut outer = Command::new("unshare");
    outer
        .arg("-rm")
        .arg(inner.get_program())
        .args(inner.get_args());
    for (key, value) in inner.get_envs() {
        outer.env(key, value.unwrap());
    }
    Some(Running::start(outer).finish())
}

#[test]
fn real_a_full_disk_takes_whole_records_only() {
    for pad in [100, 5000] {
        let (dir, _) = project();
        let line = "cp -a DIR/.omp DIR/kept && mount -t tmpfs -o size=400k tmpfs DIR/.omp && cp -a DIR/kept/. DIR/.omp/";
        let job = ["append_until_full", &pad.to_string()];
        let Some((said, well)) = mounted(line, dir.path(), &job) else {
            return;
        };
        assert!(well, "{said:?}");
        assert_eq!(said.last().map(String::as_str), Some("storage_full"));
        assert!(said.len() > 10, "{said:?}");
    }
}

#[test]
fn real_a_read_only_folder_is_read_and_says_so_when_written() {
    let (dir, store) = project();
    store.append(&Log::Mailbox(name("w1")), &[b"{}"]).unwrap();
    let line = "mount --bind DIR DIR && mount -o remount,ro,bind DIR";
    let Some((said, well)) = mounted(line, dir.path(), &["try_everything"]) else {
        return;
    };
    assert!(well);
    let expected = [
        "append not_permitted",
        "append_new not_permitted",
        "update not_permitted",
        "create not_permitted",
        "remove not_permitted",
        "inbox not_permitted",
        "read ok",
        "view ok",
        "teams ok",
    ];
    assert_eq!(said, expected);
}
