//! Logs as files: what is written, where it ends, what is taken back.

use super::*;

fn w1() -> Log {
    Log::Mailbox(name("w1"))
}

fn append(scene: &Scene, record: &str) -> Cursor {
    scene.store.append(&w1(), &[record.as_bytes()]).unwrap()
}

#[test]
fn records_are_lines_and_nothing_else() {
    let scene = scene();
    append(&scene, "{\"a\":1}");
    append(&scene, "{\"b\":2}");
    assert_eq!(scene.text("mailbox/w1.jsonl"), "{\"a\":1}\n{\"b\":2}\n");
    let left: Vec<_> = std::fs::read_dir(scene.path("mailbox")).unwrap().collect();
    assert_eq!(left.len(), 1, "no lock file and no draft stay");
}

#[test]
fn a3_a_cut_record_is_isolated_and_reported() {
    let scene = scene();
    append(&scene, "{\"a\":1}");
    let whole = scene.text("mailbox/w1.jsonl");
    scene.write("mailbox/w1.jsonl", &format!("{whole}{{\"cut"));
    let page = scene.store.read(&w1(), 0, 1000).unwrap();
    assert_eq!((page.next, page.partial), (8, 5));
    assert_eq!(append(&scene, "{\"b\":2}"), 14);
    append(&scene, "{\"c\":3}");
    assert_eq!(
        scene.text("mailbox/w1.jsonl"),
        "{\"a\":1}\n{\"cut\n{\"b\":2}\n{\"c\":3}\n"
    );
    let page = scene.store.read(&w1(), 0, 1000).unwrap();
    let starts: Vec<u64> = page.lines().map(|line| line.at).collect();
    assert_eq!(starts, [0, 8, 14, 22]);
}

#[test]
fn a_log_that_was_replaced_while_its_lock_was_awaited_gets_the_record() {
    let scene = scene();
    append(&scene, "old");
    let old = std::fs::File::open(scene.path("mailbox/w1.jsonl")).unwrap();
    old.lock().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| append(&scene, "new"));
        scene.write("mailbox/w1.rotated", "rotated\n");
        std::fs::rename(
            scene.path("mailbox/w1.rotated"),
            scene.path("mailbox/w1.jsonl"),
        )
        .unwrap();
        old.unlock().unwrap();
        writer.join().unwrap();
    });
    let text = scene.text("mailbox/w1.jsonl");
    assert_eq!(text, "rotated\nnew\n");
}

#[test]
fn a_tail_without_line_end_costs_no_memory_to_read() {
    let scene = scene();
    append(&scene, "one");
    let path = scene.path("mailbox/w1.jsonl");
    // A hole, as a crash leaves one: on no disk, and not in memory either.
    let len = 1 << 25;
    let log = std::fs::File::options().write(true).open(path).unwrap();
    log.set_len(len).unwrap();
    let page = scene.store.read(&w1(), 0, 4).unwrap();
    assert_eq!((page.bytes.as_slice(), page.at_end), (&b"one\n"[..], false));
    let page = scene.store.read(&w1(), 4, 4).unwrap();
    assert_eq!(
        (page.bytes.len(), page.partial, page.at_end),
        (0, len - 4, true)
    );
    assert_eq!(append(&scene, "two"), len + 1);
}

#[test]
fn reading_leaves_no_access_time() {
    let scene = scene();
    append(&scene, "one");
    let path = scene.path("mailbox/w1.jsonl");
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    let times = std::fs::FileTimes::new().set_accessed(long_ago);
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_times(times)
        .unwrap();
    scene.store.read(&w1(), 0, 100).unwrap();
    let accessed = path.metadata().unwrap().accessed().unwrap();
    if cfg!(target_os = "linux") {
        assert_eq!(accessed, long_ago);
    }
}

#[test]
fn a_log_whose_place_is_taken_by_a_folder_fails_alone() {
    let scene = scene();
    std::fs::create_dir(scene.path("mailbox/w2.jsonl")).unwrap();
    let refused = scene.store.append(&Log::Mailbox(name("w2")), &[b"{}"]);
    assert!(
        matches!(refused, Err(StoreFailure::Escapes { .. })),
        "{refused:?}"
    );
    append(&scene, "{}");
}
