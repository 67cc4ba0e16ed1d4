//! Races between whole processes.

use std::collections::HashMap;

use pitcrew_core::task::Task;
use pitcrew_core::time::Timestamp;
use pitcrew_store::{Log, Project, Store, StoreExt};
use tempfile::TempDir;

use super::children::{Running, command};
use super::{Counter, id, name, project, rounds};

#[test]
fn real_one_of_many_processes_creates_a_team() {
    for _ in 0..rounds() {
        let dir = TempDir::new().unwrap();
        let start = |n| {
            let given = if n % 2 == 0 { "race" } else { "Race" };
            Running::start(command(dir.path(), &["create", given]))
        };
        let racers: Vec<Running> = (0..8).map(start).collect();
        let said: Vec<String> = racers
            .into_iter()
            .flat_map(|racer| racer.finish().0)
            .collect();
        let won = said.iter().filter(|said| *said == "created").count();
        assert_eq!((said.len(), won), (8, 1), "{said:?}");
        let teams = Project::at(dir.path()).unwrap().teams().unwrap();
        assert_eq!(teams.len(), 1);
    }
}

#[test]
fn real_b1_one_of_many_processes_claims_each_task() {
    const TASKS: usize = 40;
    for _ in 0..rounds() {
        let (dir, store) = project();
        for n in 0..TASKS {
            let id = id(&n.to_string());
            let added = store.update(&id, |task: &mut Option<Task>| {
                *task = Some(Task::new(&id, "", Timestamp::from_millis(0)));
                Ok::<_, ()>(())
            });
            added.unwrap().unwrap();
            if n % 2 == 0 {
                let orphan = format!(
                    r#"{{"owner":"gone","pid":{},"claimedAt":"1970-01-01T00:00:00.900Z"}}"#,
                    0x3FFF_FFFF
                );
                std::fs::write(store.folder().join(format!("tasks/{n}.lock")), orphan).unwrap();
            }
        }
        let racers = (0..8).map(|n| {
            let worker = format!("w{n}");
            let job = ["claim", &worker, &TASKS.to_string()];
            (worker.clone(), Running::start(command(dir.path(), &job)))
        });
        let mut winners = HashMap::new();
        for (worker, racer) in racers.collect::<Vec<_>>() {
            let (won, well) = racer.finish();
            assert!(well);
            for task in won {
                assert_eq!(winners.insert(task, worker.clone()), None, "two winners");
            }
        }
        assert_eq!(winners.len(), TASKS);
        for (task, worker) in winners {
            let on_disk = store.view::<Task>(&id(&task)).unwrap().unwrap();
            assert_eq!(on_disk.claim_token, Some(format!("{worker}-{task}")));
            assert_eq!(on_disk.attempts, 1);
        }
    }
}

#[test]
fn real_every_change_of_every_process_counts() {
    let (dir, store) = project();
    let start = |_| Running::start(command(dir.path(), &["count", "40", "10"]));
    let racers: Vec<Running> = (0..8).map(start).collect();
    let mut seen: Vec<u64> = Vec::new();
    for racer in racers {
        let (said, well) = racer.finish();
        assert!(well);
        seen.extend(said.iter().map(|said| said.parse::<u64>().unwrap()));
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=320).collect::<Vec<u64>>());
    assert_eq!(store.view::<Counter>(&()).unwrap().unwrap().count, 320);
}

#[test]
fn real_a3_a_cut_record_is_isolated_once_by_racing_processes() {
    for _ in 0..rounds() {
        let (dir, store) = project();
        let path = store.folder().join("mailbox/w1.jsonl");
        std::fs::write(&path, "{\"type\":\"message\",\"id\":\"cut").unwrap();
        let start = |n: usize| {
            let job = ["append", &format!("p{n}"), "5", "50"];
            Running::start(command(dir.path(), &job))
        };
        let racers: Vec<Running> = (0..8).map(start).collect();
        assert!(racers.into_iter().all(|racer| racer.finish().1));
        let page = store.read(&Log::Mailbox(name("w1")), 0, 1 << 20).unwrap();
        let lines: Vec<_> = page.lines().collect();
        assert_eq!((lines.len(), page.partial), (41, 0));
        let is_record = |line: &[u8]| pitcrew_core::mailbox::read_record(line).is_ok();
        assert!(
            !is_record(lines[0].bytes),
            "the cut record stands alone, at 0"
        );
        assert!(lines[1..].iter().all(|line| is_record(line.bytes)));
    }
}
