//! What holds of the index whatever a log says and in whatever order readers come.

use proptest::prelude::*;

use super::*;
use crate::mailbox::scripted::scripts;

fn saved_and_read(index: &Unread) -> Unread {
    serde_json::from_str(&serde_json::to_string(index).unwrap()).unwrap()
}

/// Reads `log` on from where `index` stands, as a caller does: when the index is full of messages, the rest of the log
/// is looked at for what closes them. Answers whether the end of the log was reached.
fn catch_up(index: &mut Unread, cap: usize, log: &[Placed]) -> bool {
    loop {
        let rest = log.iter().skip_while(|line| line.at < index.scanned());
        let rest: Vec<&Placed> = rest.collect();
        if rest.iter().all(|line| absorb(index, cap, line)) {
            return true;
        }
        let scanned = index.scanned();
        for line in rest.iter().filter(|line| line.at >= scanned) {
            if let Some(head) = line.head {
                index.settle(head);
            }
        }
        if index.open.len() >= cap {
            return false;
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Lease { for_ms: i64 },
    Tick(i64),
    GiveBack(usize),
    Acknowledge(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..100_i64).prop_map(|for_ms| Step::Lease { for_ms }),
        3 => (-150..150_i64).prop_map(Step::Tick),
        2 => (0..8_usize).prop_map(Step::GiveBack),
        1 => (0..8_usize).prop_map(Step::Acknowledge),
    ];
    proptest::collection::vec(step, 0..60)
}

/// One handing-out, as the reader remembers it.
struct Take {
    key: MessageKey,
    attempt: u32,
    until: Timestamp,
    /// Neither given back, nor acknowledged, nor taken over by another reader.
    stands: bool,
}

proptest! {
    #[test]
    fn what_is_open_is_what_the_whole_log_says(script in scripts(40)) {
        prop_assert_eq!(places(&read(&script)), model(&placed(&script)));
    }

    #[test]
    fn lines_that_are_offered_again_change_nothing(script in scripts(20), from in 0..20_usize) {
        let (mut index, log) = (read(&script), placed(&script));
        let before = index.clone();
        for line in log.iter().skip(from) {
            prop_assert!(absorb(&mut index, OPEN_CAP, line));
        }
        prop_assert_eq!(index, before);
    }

    #[test]
    fn going_on_from_a_saved_index_is_the_same(script in scripts(30), cut in 0..30_usize) {
        let log = placed(&script);
        let (mut index, cut) = (read(&script[..cut.min(script.len())]), cut.min(log.len()));
        index.lease("r", at(0), at(10));
        let saved = saved_and_read(&index);
        prop_assert_eq!(&saved, &index);
        let mut index = saved;
        for open in index.open.values_mut() {
            (open.attempts, open.lease) = (0, None);
        }
        for line in &log[cut..] {
            absorb(&mut index, OPEN_CAP, line);
        }
        prop_assert_eq!(index, read(&script));
    }

    #[test]
    fn windows_show_each_open_message_once_and_in_order(script in scripts(40), cap in 1..5_usize) {
        let (mut index, log) = (Unread::default(), placed(&script));
        let mut shown = Vec::new();
        loop {
            let ended = catch_up(&mut index, cap, &log);
            prop_assert!(index.open.len() <= cap);
            shown.extend(places(&index));
            if ended {
                break;
            }
            index.next_window();
        }
        prop_assert_eq!(shown, model(&log));
    }

    #[test]
    fn a_reader_that_acknowledges_gets_each_open_message_once_and_in_order(script in scripts(40), cap in 1..5_usize) {
        let (mut index, log) = (Unread::default(), placed(&script));
        let mut read = Vec::new();
        loop {
            catch_up(&mut index, cap, &log);
            index = saved_and_read(&index);
            let Some(open) = index.lease("r", at(0), at(10)) else { break };
            read.push((open.at, open.key));
            index.close(open.key);
        }
        prop_assert_eq!(read, model(&log));
    }

    #[test]
    fn no_message_is_held_twice_whatever_the_clock_does(steps in steps()) {
        const LIMIT: u32 = 3;
        let mut index = read(&[Message('a'), Message('b'), Message('c')]);
        let (mut now, mut takes) = (at(1_000), Vec::<Take>::new());
        for step in steps {
            let held = |key: MessageKey, takes: &[Take]| {
                takes.iter().any(|take| take.key == key && take.stands && take.until > now)
            };
            match step {
                Step::Tick(ms) => now = now.plus_millis(ms),
                Step::Lease { for_ms } => match index.lease("r", now, now.plus_millis(for_ms)) {
                    Some(open) => {
                        prop_assert!(!held(open.key, &takes));
                        let earlier = takes.iter_mut().filter(|take| take.key == open.key);
                        let count = earlier.map(|take| take.stands = false).count();
                        prop_assert_eq!(open.attempts as usize, count + 1);
                        let (key, attempt, until) = (open.key, open.attempts, now.plus_millis(for_ms));
                        takes.push(Take { key, attempt, until, stands: true });
                    }
                    None => prop_assert!(index.open().all(|open| held(open.key, &takes))),
                },
                Step::GiveBack(which) => {
                    let Some(take) = takes.get_mut(which) else { continue };
                    prop_assert_eq!(index.give_back_attempt(take.key, take.attempt), take.stands);
                    take.stands = false;
                }
                Step::Acknowledge(which) => {
                    let Some(key) = takes.get(which).map(|take| take.key) else { continue };
                    index.close(key);
                    takes.iter_mut().filter(|take| take.key == key).for_each(|take| take.stands = false);
                }
            }
            let expected = index.open().filter(|open| {
                let taken = takes.iter().filter(|take| take.key == open.key).count();
                taken as u32 >= LIMIT && !takes.iter().any(|t| t.key == open.key && t.stands && t.until > now)
            });
            prop_assert!(index.exhausted(LIMIT, now).eq(expected));
        }
    }
}
