use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;
use crate::mailbox::scripted::Said::*;
use crate::mailbox::scripted::{Placed, Said, fates, key, names, placed};

mod laws;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn absorb(index: &mut Unread, cap: usize, line: &Placed) -> bool {
    index.absorb_within(cap, line.at, line.end, &line.bytes, line.head)
}

fn read(script: &[Said]) -> Unread {
    let mut index = Unread::default();
    for line in &placed(script) {
        assert!(absorb(&mut index, OPEN_CAP, line));
    }
    index
}

fn open_names(index: &Unread) -> String {
    names(index.open().map(|open| open.key))
}

/// Which messages are open after `script`, and that each stands where the plain reading has it.
fn check(script: &[Said], open: &str) {
    let index = read(script);
    assert_eq!(open_names(&index), open, "{script:?}");
    assert_eq!(places(&index), model(&placed(script)), "{script:?}");
}

fn places(index: &Unread) -> Vec<(u64, MessageKey)> {
    index.open().map(|open| (open.at, open.key)).collect()
}

fn model(log: &[Placed]) -> Vec<(u64, MessageKey)> {
    let mut open: Vec<_> = fates(log)
        .into_iter()
        .filter_map(|fate| Some((fate.open?, key(fate.id))))
        .collect();
    open.sort_unstable();
    open
}

#[test]
fn a_message_is_open_until_it_is_acknowledged() {
    check(&[Message('a'), Message('b')], "ab");
    check(&[Message('a'), Message('b'), Delivered('a')], "b");
    check(&[Message('a'), Message('b'), Notified('a')], "ab");
}

#[test]
fn a_receipt_before_its_message_counts() {
    check(&[Delivered('a'), Message('a'), Message('b')], "b");
    check(&[DeadLettered('a'), Message('a'), Message('b')], "b");
}

#[test]
fn a_double_is_open_once_and_where_it_stood_first() {
    check(&[Message('a'), Message('b'), Message('a')], "ab");
    check(&[Message('a'), Delivered('a'), Message('a')], "");
}

#[test]
fn an_acknowledgement_inside_any_copy_closes_the_message() {
    check(&[Inline('a'), Message('b')], "b");
    check(&[Message('a'), Inline('a')], "");
    check(&[Inline('a'), Message('a')], "");
}

#[test]
fn damage_and_what_is_no_message_change_nothing() {
    check(&[Damage, Blank, Message('a'), Damage, Notified('z')], "a");
}

#[test]
fn a_dead_letter_is_closed_and_open_again_at_the_end_when_it_is_put_back() {
    check(&[Message('a'), DeadLettered('a'), Message('b')], "b");
    check(
        &[
            Message('a'),
            DeadLettered('a'),
            Message('b'),
            PutBack('a', 1),
        ],
        "ba",
    );
    check(
        &[
            Message('a'),
            DeadLettered('a'),
            PutBack('a', 1),
            DeadLettered('a'),
            Message('a'),
        ],
        "",
    );
}

#[test]
fn what_was_acknowledged_is_never_open_again() {
    check(&[Message('a'), Delivered('a'), PutBack('a', 1)], "");
    check(
        &[
            Message('a'),
            DeadLettered('a'),
            Delivered('a'),
            PutBack('a', 1),
        ],
        "",
    );
}

#[test]
fn a_copy_of_an_open_message_changes_nothing() {
    check(&[Message('a'), Message('b'), PutBack('a', 1)], "ab");
}

#[test]
fn a_message_that_is_put_back_starts_with_fresh_attempts() {
    let script = [Message('a'), DeadLettered('a'), PutBack('a', 1)];
    let log = placed(&script);
    let mut index = read(&script[..1]);
    index.lease("r", at(0), at(10));
    for line in &log[1..] {
        absorb(&mut index, OPEN_CAP, line);
    }
    assert_eq!(
        index.open().cloned().collect::<Vec<_>>(),
        [OpenMessage {
            at: log[2].at,
            key: key('a'),
            attempts: 0,
            lease: None,
            put_back: true
        }]
    );
}

#[test]
fn a_log_that_was_cut_or_replaced_is_noticed_by_its_last_line() {
    let script = [Message('a'), Message('b')];
    let (index, log) = (read(&script), placed(&script));
    let mark = index.mark().unwrap();
    assert_eq!((mark.at, index.scanned()), (log[1].at, log[1].end));
    assert!(index.recognizes(&log[1].bytes));
    assert!(!index.recognizes(&log[0].bytes));
    assert!(!index.recognizes(b""));
    assert!(!Unread::default().recognizes(b""));
}

#[test]
fn a_full_index_takes_what_needs_no_room_and_nothing_else() {
    let log = placed(&[
        Message('a'),
        Message('b'),
        Message('a'),
        Damage,
        Message('c'),
        Delivered('a'),
    ]);
    let mut index = Unread::default();
    let taken = |index: &mut Unread| {
        log.iter()
            .map(|line| absorb(index, 2, line))
            .take_while(|taken| *taken)
            .count()
    };
    assert_eq!(taken(&mut index), 4);
    let before = index.clone();
    assert!(!absorb(&mut index, 2, &log[4]));
    assert_eq!(index, before);
    index.settle(log[5].head.unwrap());
    assert_eq!(open_names(&index), "b");
    assert_eq!(taken(&mut index), 6);
    assert_eq!(open_names(&index), "bc");
}

#[test]
fn the_cap_is_what_is_promised() {
    let mut index = Unread::default();
    for n in 0..OPEN_CAP as u64 {
        let head = Head::Message {
            key: MessageKey::of(&n.to_string()),
            delivered: false,
            redelivery: 0,
        };
        assert!(!index.is_full());
        assert!(index.absorb(n, n + 1, b"", Some(head)));
    }
    let (n, head) = (
        OPEN_CAP as u64,
        Head::Message {
            key: key('a'),
            delivered: false,
            redelivery: 0,
        },
    );
    assert!(index.is_full());
    assert!(!index.absorb(n, n + 1, b"", Some(head)));
    assert_eq!((index.open().len(), index.scanned()), (OPEN_CAP, n));
}

#[test]
fn what_a_later_line_says_of_a_message_that_is_not_open_is_left_for_its_turn() {
    let mut index = read(&[Message('a')]);
    let before = index.clone();
    for said in [
        Delivered('z'),
        DeadLettered('z'),
        Inline('z'),
        Message('z'),
        PutBack('a', 1),
        Notified('a'),
        Blank,
    ] {
        index.settle(placed(&[said])[0].head.unwrap());
        assert_eq!(index, before, "{said:?}");
    }
}

fn absorb_at_end(index: &mut Unread, said: Said) {
    let (at, line) = (index.scanned(), &placed(&[said])[0]);
    assert!(index.absorb(at, at + line.end, &line.bytes, line.head));
}

#[test]
fn doubles_are_known_as_far_back_as_is_promised_and_no_further() {
    let far = |between: usize| {
        let mut index = read(&[Message('a'), Delivered('a')]);
        for n in 0..between {
            index.close(MessageKey::of(&n.to_string()));
        }
        absorb_at_end(&mut index, Message('a'));
        open_names(&index)
    };
    assert_eq!(far(MEMORY - 1), "");
    assert_eq!(far(MEMORY), "a");
}

#[test]
fn looking_back_makes_good_for_what_was_forgotten() {
    let check = |before: &[Said], after: &[Said], open: &str| {
        let (first, mut script) = (before.len(), Vec::from(before));
        script.push(Blank);
        script.extend_from_slice(after);
        let (mut index, log) = (Unread::default(), placed(&script));
        for (place, line) in log.iter().enumerate() {
            assert!(absorb(&mut index, OPEN_CAP, line));
            if place == first {
                for n in 0..MEMORY {
                    index.close(MessageKey::of(&n.to_string()));
                    index.give_up(MessageKey::of(&n.to_string()));
                }
            }
        }
        assert!(index.has_forgotten());
        for line in &log {
            if let Some(head) = line.head {
                index.look_back(line.at, head);
            }
        }
        assert_eq!(open_names(&index), open, "{before:?} {after:?}");
        assert_eq!(places(&index), model(&log), "{before:?} {after:?}");
    };
    check(
        &[Message('a'), Delivered('a')],
        &[Message('a'), Message('b')],
        "b",
    );
    check(&[Delivered('a')], &[Message('a')], "");
    check(&[DeadLettered('a')], &[Message('a'), Message('b')], "b");
    check(&[Message('a'), DeadLettered('a')], &[PutBack('a', 1)], "a");
    check(&[Message('a'), Delivered('a')], &[PutBack('a', 1)], "");
    check(&[Inline('a')], &[Message('a')], "");
    check(&[Message('a')], &[Message('a'), Message('b')], "ab");
}

#[test]
fn a_log_that_was_cut_is_known_up_to_a_line_that_still_stands() {
    let script = [Message('a'), Message('b'), Delivered('a'), Message('c')];
    let (mut index, log) = (read(&script), placed(&script));
    let first = index.trail().last().cloned().unwrap();
    assert_eq!(first.at, 0);
    index.rewind(first, log[0].end);
    assert_eq!(
        (index.scanned(), open_names(&index)),
        (log[0].end, String::new())
    );
    // What is written there now is new, and what was acknowledged stays so although its receipt is gone.
    let (at, new) = (log[0].end, &placed(&[Message('z')])[0]);
    assert!(index.absorb(at, at + new.end, &new.bytes, new.head));
    assert_eq!(open_names(&index), "z");
}

#[test]
fn what_is_said_again_pushes_nothing_else_out_of_memory() {
    let mut index = read(&[Message('a'), Delivered('a'), Message('b'), Delivered('b')]);
    for _ in 0..MEMORY {
        index.close(key('b'));
    }
    absorb_at_end(&mut index, Message('a'));
    assert_eq!(open_names(&index), "");

    let mut index = read(&[DeadLettered('a'), PutBack('a', 1)]);
    for n in 0..MEMORY - 1 {
        index.give_up(MessageKey::of(&n.to_string()));
    }
    absorb_at_end(&mut index, DeadLettered('a'));
    index.give_up(key('z'));
    absorb_at_end(&mut index, Message('a'));
    assert_eq!(
        open_names(&index),
        "",
        "remembered from the last time that it was given up"
    );
}

#[test]
fn an_index_that_contradicts_itself_is_no_index() {
    let whole = r#"{"scanned":9,"mark":{"at":4,"digest":"0123456789abcdef0123456789abcdef"},
        "open":[{"at":0,"key":"00000000000000000000000000000001"},{"at":4,"key":"00000000000000000000000000000002"}],
        "closed":[]}"#;
    let read = |json: &str| serde_json::from_str::<Unread>(json).unwrap();
    assert_eq!(read(whole).open().len(), 2);
    for (this, that) in [
        (r#""at":4,"key""#, r#""at":5,"key""#),
        (r#""at":4,"key""#, r#""at":0,"key""#),
        ("00000002", "00000001"),
        (r#""scanned":9"#, r#""scanned":4"#),
        (
            r#"{"at":4,"digest":"0123456789abcdef0123456789abcdef"}"#,
            "null",
        ),
    ] {
        assert!(whole.contains(this));
        assert_eq!(
            read(&whole.replacen(this, that, 1)),
            Unread::default(),
            "{that}"
        );
    }
}

#[test]
fn a_lease_of_a_clock_that_was_ahead_holds_nothing() {
    let mut index = read(&[Message('a')]);
    let far = 4_000_000_000_000;
    index.lease("r1", at(far), at(far + 300_000)).unwrap();
    assert!(index.lease("r2", at(1_000), at(2_000)).is_some());
    // A clock that was put right by a little takes nobody's message away.
    let mut index = read(&[Message('a')]);
    index.lease("r1", at(50_000), at(350_000)).unwrap();
    assert!(index.lease("r2", at(0), at(2_000)).is_none());
}

#[test]
fn a_lease_ends_by_time_by_its_reader_or_by_the_acknowledgement() {
    let mut index = read(&[Message('a'), Message('b')]);
    let lease = |reader: &str, until| {
        Some(Lease {
            reader: reader.into(),
            until,
            length_ms: until.as_millis(),
        })
    };
    let first = index.lease("r1", at(0), at(30_000)).unwrap();
    assert_eq!(
        first,
        OpenMessage {
            at: 0,
            key: key('a'),
            attempts: 1,
            lease: lease("r1", at(30_000)),
            put_back: false
        }
    );
    let second = index.lease("r2", at(0), at(30_000)).unwrap();
    assert_eq!(second.key, key('b'));
    assert_eq!(index.lease("r3", at(29_999), at(60_000)), None);

    assert!(index.give_back_attempt(key('b'), 1));
    let again = index.lease("r3", at(29_999), at(60_000)).unwrap();
    assert_eq!((again.key, again.attempts), (key('b'), 2));

    let lapsed = index.lease("r4", at(30_000), at(60_000)).unwrap();
    assert_eq!((lapsed.key, lapsed.attempts), (key('a'), 2));
    index.close(key('a'));
    assert!(!index.holds(key('a')));
    assert_eq!(index.lease("r5", at(59_999), at(90_000)), None);
}

#[test]
fn a_reader_whose_lease_ran_out_takes_nothing_from_the_next_one() {
    let mut index = read(&[Message('a')]);
    let first = index.lease("r", at(0), at(10)).unwrap();
    index.lease("r", at(10), at(20)).unwrap();
    let before = index.clone();
    assert!(!index.give_back_attempt(key('a'), first.attempts));
    assert!(!index.give_back_attempt(key('z'), 1));
    assert_eq!(index, before);
    assert_eq!(index.lease("r", at(19), at(30)), None);
    assert!(index.give_back(key('a')));
    assert!(!index.give_back(key('z')));
    assert!(
        !index.give_back_attempt(key('a'), 2),
        "nobody holds it any more"
    );
    assert_eq!(index.lease("r", at(19), at(30)).unwrap().attempts, 3);
}

#[test]
fn what_nobody_ever_acknowledges_is_exhausted_once_nobody_holds_it() {
    let mut index = read(&[Message('a'), Message('b')]);
    index.lease("r", at(0), at(10)).unwrap();
    index.give_back(key('a'));
    index.lease("r", at(0), at(10)).unwrap();
    let exhausted = |index: &Unread, now| names(index.exhausted(2, at(now)).map(|open| open.key));
    assert_eq!(exhausted(&index, 9), "");
    assert_eq!(exhausted(&index, 10), "a");
    assert!(index.holds(key('a')), "it stays open until it is given up");
}
