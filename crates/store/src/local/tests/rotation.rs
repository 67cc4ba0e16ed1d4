//! A log of which the oldest part goes: what a reader sees while files come and go.

use super::*;

/// A file for every few lines.
fn small(scene: &Scene, keep: usize) -> LocalStore {
    scene.store.clone().rotating(Rotation { at: 64, keep })
}

fn record(n: usize) -> String {
    format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(20))
}

fn add(store: &LocalStore, n: usize) -> Cursor {
    store.append(&Log::Events, &[record(n).as_bytes()]).unwrap()
}

/// Reads on from `from`, a line or two at a time, and answers the numbers met and where it stopped.
fn numbers(store: &LocalStore, mut from: Cursor) -> (Vec<usize>, Cursor) {
    let mut found = Vec::new();
    loop {
        let page = store.read(&Log::Events, from, 50).unwrap();
        assert!(page.base >= from);
        for line in page.lines() {
            let n = line.bytes.strip_prefix(b"{\"n\":").unwrap();
            let n = n.split(|byte| *byte == b',').next().unwrap();
            found.push(std::str::from_utf8(n).unwrap().parse().unwrap());
        }
        let moved = page.next > from;
        from = page.next;
        if page.at_end || !moved {
            return (found, from);
        }
    }
}

fn parts(scene: &Scene) -> Vec<String> {
    let names = std::fs::read_dir(scene.store.folder()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut parts: Vec<String> = names.filter(|name| name.starts_with("events")).collect();
    parts.sort();
    parts
}

#[test]
fn a_full_log_begins_a_new_file_and_cursors_go_on() {
    let scene = scene();
    let store = small(&scene, 100);
    let starts: Vec<Cursor> = (0..20).map(|n| add(&store, n)).collect();
    assert!(parts(&scene).len() > 5, "{:?}", parts(&scene));
    assert_eq!(numbers(&store, 0), ((0..20).collect(), total(20)));
    for (n, start) in starts.iter().enumerate() {
        assert_eq!(numbers(&store, *start).0, (n..20).collect::<Vec<_>>());
    }
    let beyond = store.read(&Log::Events, total(20) + 1, 50);
    assert!(matches!(beyond, Err(StoreFailure::LogTruncated { .. })));
}

fn total(count: usize) -> Cursor {
    (0..count).map(|n| record(n).len() as Cursor + 1).sum()
}

#[test]
fn a_follower_in_an_old_file_reads_it_to_its_end_first() {
    let scene = scene();
    let store = small(&scene, 4);
    add(&store, 0);
    let (seen, cursor) = numbers(&store, 0);
    assert_eq!(seen, [0]);
    for n in 1..6 {
        add(&store, n);
    }
    assert_eq!(numbers(&store, cursor).0, [1, 2, 3, 4, 5]);
}

#[test]
fn who_is_too_far_behind_goes_on_where_the_log_is_kept_and_sees_the_gap() {
    let scene = scene();
    let store = small(&scene, 2);
    for n in 0..30 {
        add(&store, n);
    }
    assert_eq!(parts(&scene).len(), 3, "{:?}", parts(&scene));
    let page = store.read(&Log::Events, 0, 50).unwrap();
    assert!(page.base > 0);
    let (seen, _) = numbers(&store, 0);
    assert_eq!(seen, (30 - seen.len()..30).collect::<Vec<_>>());
    assert_eq!(page.base, total(30 - seen.len()));
}

#[test]
fn a_kill_between_the_steps_of_a_rotation_loses_nothing() {
    let scene = scene();
    let store = small(&scene, 4);
    for n in 0..3 {
        add(&store, n);
    }
    // Renamed, and the new file was never made.
    let base = store.append(&Log::Events, &[]).unwrap() - scene.text("events.jsonl").len() as u64;
    let part = layout::part("events.jsonl", base);
    std::fs::rename(scene.path("events.jsonl"), scene.path(&part)).unwrap();
    assert_eq!(numbers(&store, 0), (vec![0, 1, 2], total(3)));
    assert_eq!(add(&store, 3), total(3));
    assert_eq!(numbers(&store, 0).0, [0, 1, 2, 3]);
}

#[test]
fn a_line_that_a_crash_cut_is_isolated_also_in_a_full_file() {
    let scene = scene();
    let store = small(&scene, 4);
    add(&store, 0);
    let whole = scene.text("events.jsonl");
    let cut = format!("{whole}{}", "t".repeat(64));
    scene.write("events.jsonl", &cut);
    let page = store.read(&Log::Events, total(1), 50).unwrap();
    assert_eq!((page.partial, page.at_end), (64, true));
    assert_eq!(add(&store, 1), total(1) + 65);
    let page = store.read(&Log::Events, total(1), 50).unwrap();
    assert_eq!((page.base, page.partial), (total(1), 0));
    assert_eq!(page.lines().next().unwrap().bytes.len(), 64);
}

#[test]
fn reading_a_rotated_log_writes_nothing() {
    let scene = scene();
    let store = small(&scene, 2);
    assert_eq!(numbers(&store, 0), (vec![], 0));
    assert!(parts(&scene).is_empty());
    for n in 0..9 {
        add(&store, n);
    }
    let before = snapshot(scene.store.folder());
    numbers(&store, 0);
    assert_eq!(snapshot(scene.store.folder()), before);
}

#[test]
fn what_is_no_part_and_has_the_name_of_one_hides_no_event() {
    let scene = scene();
    let store = small(&scene, 100);
    for n in 0..6 {
        add(&store, n);
    }
    std::os::unix::fs::symlink("/", scene.path("events.00000000000000000001.jsonl")).unwrap();
    std::fs::create_dir(scene.path("events.00000000000000000002.jsonl")).unwrap();
    let beyond = scene.path(&format!("events.{}.jsonl", u64::MAX));
    std::fs::write(beyond, "{}\n").unwrap();
    add(&store, 6);
    assert_eq!(numbers(&store, 0).0, (0..7).collect::<Vec<_>>());
}
