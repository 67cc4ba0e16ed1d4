//! Writers that are killed in the middle of their work.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use pitcrew_core::mailbox::{Line, read_record};
use pitcrew_core::task::{Status, Task};
use pitcrew_core::time::Timestamp;
use pitcrew_store::{Cursor, LocalStore, Log, Reach, Store, StoreExt};

use super::children::{Running, command};
use super::{Chance, Counter, id, name, project, rounds};

const WRITERS: usize = 20;
const EACH: usize = 200;
const KILLED: usize = 3;

fn mailbox() -> Log {
    Log::Mailbox(name("w1"))
}

/// A log as its lines are read, from where the reading stopped.
#[derive(Default)]
struct Reading {
    from: Cursor,
    /// Every record as `(writer, number)`, in the log's order.
    records: Vec<(String, usize)>,
    /// Lines that are no record.
    damage: usize,
}

impl Reading {
    fn go_on(&mut self, store: &LocalStore) {
        loop {
            let page = store.read(&mailbox(), self.from, 64 * 1024).unwrap();
            self.from = page.next;
            for line in page.lines() {
                match read_record(line.bytes) {
                    Ok(Line::Message(message, _)) => {
                        let (writer, n) = message.id.split_once('-').unwrap();
                        self.records.push((writer.to_owned(), n.parse().unwrap()));
                    }
                    Ok(Line::Other) => {}
                    Ok(Line::Receipt(receipt)) => panic!("{receipt:?}"),
                    Err(_) => self.damage += 1,
                }
            }
            if page.at_end {
                return;
            }
        }
    }
}

/// Runs the writers, kills some at a random moment, and answers how many records each got acknowledged.
fn write_and_kill(root: &std::path::Path, chance: &mut Chance) -> HashMap<String, usize> {
    let killed: Vec<Option<u64>> = (0..WRITERS)
        .map(|writer| (writer < KILLED).then(|| chance.below(60)))
        .collect();
    std::thread::scope(|scope| {
        let follow = |(writer, killed): (usize, Option<u64>)| {
            let writer = format!("p{writer}");
            // Large records make it likely that a kill cuts one.
            let pad = if killed.is_some() { "250000" } else { "200" };
            let job = ["append", &writer, &EACH.to_string(), pad];
            let mut running = Running::start(command(root, &job));
            let mut acknowledged = 0;
            while killed.is_none_or(|at| acknowledged as u64 != at) && running.next().is_some() {
                acknowledged += 1;
            }
            if killed.is_some() {
                running.kill();
            }
            let (rest, well) = running.finish();
            assert!(well || killed.is_some());
            (writer, acknowledged + rest.len())
        };
        let followers: Vec<_> = killed
            .into_iter()
            .enumerate()
            .map(|writer| scope.spawn(move || follow(writer)))
            .collect();
        followers
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect()
    })
}

#[test]
fn real_a2_exactly_the_acknowledged_records_in_order_though_writers_are_killed() {
    let mut chance = Chance::new();
    let (mut cut, mut unacknowledged) = (0, 0);
    for _ in 0..rounds() {
        let (dir, store) = project();
        let done = AtomicBool::new(false);
        let (mut followed, acknowledged) = std::thread::scope(|scope| {
            let follower = scope.spawn(|| {
                let mut reading = Reading::default();
                while !done.load(Ordering::Relaxed) {
                    reading.go_on(&store);
                }
                reading
            });
            let acknowledged = write_and_kill(dir.path(), &mut chance);
            done.store(true, Ordering::Relaxed);
            (follower.join().unwrap(), acknowledged)
        });
        store.append(&mailbox(), &[b"{\"type\":\"end\"}"]).unwrap();
        followed.go_on(&store);
        let mut reading = Reading::default();
        reading.go_on(&store);
        assert_eq!(
            followed.records, reading.records,
            "following shows the same"
        );
        let Reading {
            records, damage, ..
        } = reading;
        assert!(
            damage <= KILLED && followed.damage == damage,
            "{damage} lines are cut"
        );
        cut += damage;
        let mut next: HashMap<String, usize> = HashMap::new();
        for (writer, n) in records {
            let next = next.entry(writer).or_default();
            assert_eq!(n, *next, "each once, first in, first out");
            *next += 1;
        }
        for (writer, acknowledged) in acknowledged {
            let there = next.get(&writer).copied().unwrap_or(0);
            let in_flight = there
                .checked_sub(acknowledged)
                .expect("an acknowledged record is lost");
            assert!(
                in_flight <= 1,
                "{writer}: {in_flight} more than acknowledged"
            );
            unacknowledged += in_flight;
        }
    }
    println!(
        "{} rounds: {cut} records cut, {unacknowledged} written but not acknowledged",
        rounds()
    );
}

#[test]
fn real_a_document_is_whole_and_never_goes_back_though_writers_are_killed() {
    let mut chance = Chance::new();
    let (dir, store) = project();
    let (mut acknowledged, mut killed) = (0, 0);
    for round in 0..rounds() * 10 {
        let job = ["count", "1000", "100000"];
        let mut writers: Vec<Running> = (0..3)
            .map(|_| Running::start(command(dir.path(), &job)))
            .collect();
        for writer in &mut writers {
            for _ in 0..chance.below(6) {
                let count: u64 = writer.next().unwrap().parse().unwrap();
                acknowledged = count.max(acknowledged);
            }
            std::thread::sleep(std::time::Duration::from_micros(chance.below(3000)));
            writer.kill();
            killed += 1;
            let seen = store
                .view::<Counter>(&())
                .unwrap()
                .map_or(0, |seen| seen.count);
            assert!(
                seen >= acknowledged,
                "round {round}: {seen} after {acknowledged}"
            );
        }
        for writer in writers {
            for count in writer.finish().0 {
                acknowledged = count.parse::<u64>().unwrap().max(acknowledged);
            }
        }
    }
    let last = store.update(&(), |state: &mut Option<Counter>| {
        let counter = state.get_or_insert_default();
        counter.count += 1;
        Ok::<_, ()>(counter.count)
    });
    let last = last.unwrap().unwrap();
    assert!(
        last > acknowledged && last <= acknowledged + killed + 1,
        "{last} after {acknowledged}"
    );
    let left: Vec<_> = std::fs::read_dir(store.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().contains("tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn real_what_a_killed_process_owes_is_listed_whenever_it_is_killed() {
    const TASKS: usize = 30;
    let mut chance = Chance::new();
    for round in 0..rounds() * 4 {
        let (dir, store) = project();
        for n in 0..TASKS {
            let id = id(&n.to_string());
            let added = store.update(&id, |task: &mut Option<Task>| {
                *task = Some(Task::new(&id, "", Timestamp::from_millis(0)));
                Ok::<_, ()>(())
            });
            added.unwrap().unwrap();
        }
        let mut writer = Running::start(command(dir.path(), &["end", &TASKS.to_string()]));
        let mut said: Vec<String> = Vec::new();
        for _ in 0..=chance.below(50) {
            said.extend(writer.next());
        }
        std::thread::sleep(std::time::Duration::from_micros(chance.below(3000)));
        writer.kill();
        said.extend(writer.finish().0);
        let says = |what: &str, n: usize| said.contains(&format!("{what} {n}"));

        let now = Timestamp::from_millis(2_000);
        let owed = store.take_over_ended(Reach::Listed, now).unwrap();
        let mut in_doubt = 0;
        for n in 0..TASKS {
            let id = id(&n.to_string());
            let task = store.view::<Task>(&id).unwrap().unwrap();
            let has_ended = task.status == Status::Failed;
            assert!(has_ended || !says("ended", n), "round {round}: {n}");
            let is_owed = owed.contains(&id);
            if is_owed {
                assert!(has_ended && !says("settled", n), "round {round}: {n}");
            } else if has_ended && !says("settled", n) {
                // Settled, and killed before it said so.
                in_doubt += 1;
            }
            let mark = store.folder().join(format!("tasks/{n}.lock"));
            assert_eq!(is_owed, has_ended && mark.exists(), "round {round}: {n}");
        }
        assert!(in_doubt <= 1, "round {round}: {said:?}");
        for id in &owed {
            store.settle(id).unwrap();
        }
        let list = std::fs::read_dir(store.folder().join("tasks/.owed"));
        assert_eq!(list.map_or(0, Iterator::count), 0, "round {round}");
    }
}

/// What a follower has met, as `(writer, number)`, and how many lines were no record.
fn follow(store: &LocalStore, from: &mut Cursor, met: &mut Vec<(String, usize)>) -> usize {
    let mut damage = 0;
    loop {
        let page = store.read(&Log::Events, *from, 3_000).unwrap();
        assert!(page.base >= *from, "a line comes twice");
        for line in page.lines() {
            match read_record(line.bytes) {
                Ok(Line::Message(message, _)) => {
                    let (writer, n) = message.id.split_once('-').unwrap();
                    met.push((writer.to_owned(), n.parse().unwrap()));
                }
                _ => damage += 1,
            }
        }
        let moved = page.next != *from;
        *from = page.next;
        if page.at_end || !moved {
            return damage;
        }
    }
}

#[test]
fn real_writers_that_rotate_a_log_and_are_killed_lose_a_follower_nothing() {
    let mut chance = Chance::new();
    let (dir, store) = project();
    let store = super::children::rotating(store);
    let killed: Vec<u64> = (0..2).map(|_| 1 + chance.below(100)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let (mut from, mut met, mut damage) = (0, Vec::new(), 0);
            while !done.load(Ordering::Acquire) {
                damage += follow(&store, &mut from, &mut met);
            }
            damage += follow(&store, &mut from, &mut met);
            (met, damage)
        });
        let writers: Vec<_> = (0..6)
            .map(|writer| {
                let (root, killed) = (dir.path(), killed.get(writer).copied());
                scope.spawn(move || {
                    let name = format!("e{writer}");
                    let mut running = Running::start(command(root, &["event", &name, "150"]));
                    let mut acknowledged = 0;
                    while killed.is_none_or(|at| acknowledged != at) && running.next().is_some() {
                        acknowledged += 1;
                    }
                    if killed.is_some() {
                        running.kill();
                    }
                    let (rest, _) = running.finish();
                    (name, acknowledged as usize + rest.len())
                })
            })
            .collect();
        let counts: Vec<(String, usize)> =
            writers.into_iter().map(|one| one.join().unwrap()).collect();
        done.store(true, Ordering::Release);
        let (met, damage) = follower.join().unwrap();
        assert!(damage <= killed.len(), "{damage}");
        for (writer, acknowledged) in counts {
            let own = met.iter().filter(|(name, _)| *name == writer);
            let own: Vec<usize> = own.map(|(_, n)| *n).collect();
            assert_eq!(own, (0..own.len()).collect::<Vec<_>>(), "{writer}");
            assert!(own.len() >= acknowledged, "{writer}");
        }
    });
}
