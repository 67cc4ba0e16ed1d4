//! Checks of logs.

use super::{Damage, Subject, good, list_checks, mailbox};
use crate::failure::StoreFailure;
use crate::port::{Cursor, Log, Page, Store};

list_checks! {
    a_log_that_nobody_wrote_is_empty,
    records_are_read_in_the_order_of_their_appends,
    an_append_answers_where_its_first_record_stands,
    no_records_change_nothing,
    a_record_with_a_line_end_is_refused_whole,
    logs_are_told_apart,
    records_of_many_threads_are_whole_and_in_order_per_writer,
    a_page_keeps_its_limit,
    a_line_longer_than_the_limit_is_a_page,
    a_cursor_inside_a_line_starts_at_the_next,
    a_cursor_beyond_the_end_is_told,
    records_of_any_bytes_come_back,
    a_torn_record_is_counted_and_isolated_once,
    a_whole_last_record_without_its_line_end_is_a_line,
    a_log_that_was_cut_is_told,
}

fn append(subject: &Subject, log: &Log, records: &[&str]) -> Cursor {
    let records: Vec<&[u8]> = records.iter().map(|record| record.as_bytes()).collect();
    good(subject.store.append(log, &records))
}

/// Every line of the log, page by page.
fn all(store: &dyn Store, log: &Log, limit: usize) -> (Vec<String>, Page) {
    let (mut lines, mut from) = (Vec::new(), 0);
    loop {
        let page = good(store.read(log, from, limit));
        let end = page.base + page.bytes.len() as u64;
        // Only the very last line may be one byte longer than it stands there.
        assert!(page.base >= from && (page.next == end || (page.at_end && page.next + 1 == end)));
        for line in page.lines() {
            lines.push(String::from_utf8_lossy(line.bytes).into_owned());
        }
        if page.at_end {
            return (lines, page);
        }
        assert!(page.next > from || page.bytes.is_empty(), "reading gets on");
        from = page.next;
    }
}

fn a_log_that_nobody_wrote_is_empty(subject: &Subject) {
    let page = good(subject.store.read(&mailbox("w1"), 0, 100));
    assert_eq!(page, Page::tail(0, 0));
}

fn records_are_read_in_the_order_of_their_appends(subject: &Subject) {
    let log = mailbox("w1");
    append(subject, &log, &["one"]);
    append(subject, &log, &["two", "three"]);
    append(subject, &log, &["four"]);
    for limit in [1, 5, 9, 1000] {
        let (lines, page) = all(&*subject.store, &log, limit);
        assert_eq!(lines, ["one", "two", "three", "four"], "{limit}");
        assert_eq!((page.next, page.partial), (19, 0));
    }
}

fn an_append_answers_where_its_first_record_stands(subject: &Subject) {
    let log = mailbox("w1");
    assert_eq!(append(subject, &log, &["one"]), 0);
    assert_eq!(append(subject, &log, &["two", "three"]), 4);
    let at = append(subject, &log, &["four"]);
    let page = good(subject.store.read(&log, at, 100));
    assert_eq!((page.base, page.bytes.as_slice()), (14, &b"four\n"[..]));
    let lines: Vec<_> = page.lines().map(|line| (line.at, line.end)).collect();
    assert_eq!(lines, [(14, 19)]);
}

fn no_records_change_nothing(subject: &Subject) {
    let log = mailbox("w1");
    assert_eq!(append(subject, &log, &[]), 0);
    append(subject, &log, &["one"]);
    assert_eq!(append(subject, &log, &[]), 4);
    assert_eq!(all(&*subject.store, &log, 100).0, ["one"]);
}

fn a_record_with_a_line_end_is_refused_whole(subject: &Subject) {
    let log = mailbox("w1");
    let refused = subject.store.append(&log, &[b"good", b"not\ngood"]);
    assert!(matches!(refused, Err(StoreFailure::BrokenRecord { .. })));
    assert!(all(&*subject.store, &log, 100).0.is_empty());
}

fn logs_are_told_apart(subject: &Subject) {
    let outbox = Log::Outbox(super::name("w1"));
    append(subject, &mailbox("w1"), &["to w1"]);
    append(subject, &mailbox("leader"), &["to the leader"]);
    append(subject, &outbox, &["by w1"]);
    assert_eq!(all(&*subject.store, &mailbox("w1"), 100).0, ["to w1"]);
    assert_eq!(all(&*subject.store, &outbox, 100).0, ["by w1"]);
    assert!(all(&*subject.store, &mailbox("w2"), 100).0.is_empty());
}

fn records_of_many_threads_are_whole_and_in_order_per_writer(subject: &Subject) {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    let log = mailbox("w1");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let log = &log;
            scope.spawn(move || {
                for n in 0..EACH {
                    let tail = "x".repeat(n * 97);
                    append(subject, log, &[&format!("{writer} {n} {tail}")]);
                }
            });
        }
        // A reader at the same time sees whole records only.
        for _ in 0..50 {
            for line in all(&*subject.store, &log, 4096).0 {
                assert_whole(&line);
            }
        }
    });
    let (lines, page) = all(&*subject.store, &log, 4096);
    assert_eq!((lines.len(), page.partial), (WRITERS * EACH, 0));
    let mut next = [0; WRITERS];
    for line in &lines {
        let (writer, n) = assert_whole(line);
        assert_eq!(n, next[writer], "first in, first out");
        next[writer] += 1;
    }
}

fn assert_whole(line: &str) -> (usize, usize) {
    let mut words = line.split(' ');
    let mut number = || words.next().and_then(|word| word.parse::<usize>().ok());
    let (Some(writer), Some(n)) = (number(), number()) else {
        panic!("not a record: {line}");
    };
    let tail = words.next().unwrap_or_default();
    assert!(
        tail.len() == n * 97 && tail.bytes().all(|byte| byte == b'x'),
        "cut: {line}"
    );
    (writer, n)
}

fn a_page_keeps_its_limit(subject: &Subject) {
    let log = mailbox("w1");
    append(subject, &log, &["12345"; 20]);
    for (limit, expected) in [
        (12, 12),
        (13, 12),
        (17, 12),
        (18, 18),
        (119, 114),
        (120, 120),
    ] {
        let page = good(subject.store.read(&log, 0, limit));
        assert_eq!((page.bytes.len(), page.next), (expected, expected as u64));
        assert_eq!(page.at_end, expected == 120, "{limit}");
    }
}

fn a_line_longer_than_the_limit_is_a_page(subject: &Subject) {
    let log = mailbox("w1");
    let long = "y".repeat(200_000);
    append(subject, &log, &["a", &long, "b"]);
    assert_eq!(good(subject.store.read(&log, 0, 10)).bytes, b"a\n");
    let page = good(subject.store.read(&log, 2, 10));
    assert_eq!((page.bytes.len(), page.next), (200_001, 200_003));
    assert_eq!(all(&*subject.store, &log, 0).0, ["a", &long, "b"]);
}

fn a_cursor_inside_a_line_starts_at_the_next(subject: &Subject) {
    let log = mailbox("w1");
    append(subject, &log, &["one", "two"]);
    for (from, base, bytes) in [
        (0, 0, &b"one\ntwo\n"[..]),
        (1, 4, b"two\n"),
        (3, 4, b"two\n"),
        (4, 4, b"two\n"),
        (5, 8, b""),
        (8, 8, b""),
    ] {
        let page = good(subject.store.read(&log, from, 100));
        assert_eq!((page.base, page.bytes.as_slice()), (base, bytes), "{from}");
        assert!(page.at_end);
    }
}

fn a_cursor_beyond_the_end_is_told(subject: &Subject) {
    let log = mailbox("w1");
    for len in [0, 4] {
        let read = subject.store.read(&log, len + 1, 100);
        let Err(StoreFailure::LogTruncated {
            len: found, cursor, ..
        }) = read
        else {
            panic!("{read:?}");
        };
        assert_eq!((found, cursor), (len, len + 1));
        append(subject, &log, &["one"]);
    }
}

fn records_of_any_bytes_come_back(subject: &Subject) {
    let log = mailbox("w1");
    let records: [&[u8]; 5] = [
        b"\xFF\xFE\0",
        b"",
        b"\r",
        "☃".as_bytes(),
        b"{\"a\":\"\\ud800\"}",
    ];
    good(subject.store.append(&log, &records));
    let page = good(subject.store.read(&log, 0, 100));
    let lines: Vec<&[u8]> = page.lines().map(|line| line.bytes).collect();
    assert_eq!(lines, records);
}

fn a_torn_record_is_counted_and_isolated_once(subject: &Subject) {
    let log = mailbox("w1");
    append(subject, &log, &["one"]);
    if !subject.damage(&log, Damage::Torn(b"{\"half")) {
        return;
    }
    for from in [0, 4] {
        let page = good(subject.store.read(&log, from, 100));
        assert_eq!((page.next, page.partial, page.at_end), (4, 6, true));
    }
    let page = good(subject.store.read(&log, 7, 100));
    assert_eq!((page.next, page.partial, page.at_end), (7, 3, true));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| append(subject, &log, &["two"]));
        }
    });
    let (lines, page) = all(&*subject.store, &log, 100);
    assert_eq!(lines[..3], ["one", "{\"half", "two"]);
    assert_eq!((lines.len(), page.partial), (10, 0));
}

fn a_whole_last_record_without_its_line_end_is_a_line(subject: &Subject) {
    let log = mailbox("w1");
    append(subject, &log, &["one"]);
    if !subject.damage(&log, Damage::Torn(b"{\"a\":1}")) {
        return;
    }
    for limit in [4, 100] {
        let (lines, page) = all(&*subject.store, &log, limit);
        assert_eq!(lines, ["one", "{\"a\":1}"]);
        assert_eq!((page.next, page.partial, page.at_end), (11, 0, true));
    }
    assert_eq!(append(subject, &log, &["two"]), 12);
    let page = good(subject.store.read(&log, 11, 100));
    assert_eq!((page.base, page.next), (12, 16), "nothing is read twice");
    let (lines, _) = all(&*subject.store, &log, 100);
    assert_eq!(lines, ["one", "{\"a\":1}", "two"]);
}

fn a_log_that_was_cut_is_told(subject: &Subject) {
    let log = mailbox("w1");
    append(subject, &log, &["one", "two"]);
    if !subject.damage(&log, Damage::CutTo(5)) {
        return;
    }
    let read = subject.store.read(&log, 8, 100);
    assert!(matches!(
        read,
        Err(StoreFailure::LogTruncated {
            len: 5,
            cursor: 8,
            ..
        })
    ));
    assert_eq!(append(subject, &log, &["three"]), 6);
    assert_eq!(all(&*subject.store, &log, 100).0, ["one", "t", "three"]);
}
