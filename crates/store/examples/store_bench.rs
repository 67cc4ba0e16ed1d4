//! Prints what the adapters cost, beside bare loops that do the same with nothing around them.
//!
//! `cargo run --release -p pitcrew-store --example store_bench`. Figures of disks are to be read as ratios: each
//! pair ran on the same disk, one after the other.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads clocks, starts processes and prints"
)]

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use pitcrew_core::name::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::time::Timestamp;
use pitcrew_store::{
    Document, Durability, LocalStore, Log, MemoryStore, Place, Project, Store, StoreExt,
};
use serde::{Deserialize, Serialize};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const PROCESSES: u32 = 8;

/// A document of the size of a task.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counter {
    count: u64,
    description: String,
}

/// The smallest document.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Number(u64);

impl Document for Number {
    type Id = Place;

    fn place(place: &Place) -> Place {
        place.clone()
    }
}

impl Document for Counter {
    type Id = Place;

    fn place(place: &Place) -> Place {
        place.clone()
    }
}

fn count(state: &mut Option<Counter>) -> Result<u64, ()> {
    let counter = state.get_or_insert_with(|| Counter {
        count: 0,
        description: "d".repeat(300),
    });
    counter.count += 1;
    Ok(counter.count)
}

fn name(text: &str) -> Outcome<Name> {
    Ok(Name::new(NameKind::Member, text)?)
}

fn store(root: &Path) -> Outcome<LocalStore> {
    Ok(Project::at(root)?.team(&name("t")?))
}

fn record() -> Vec<u8> {
    let body = "b".repeat(120);
    format!(r#"{{"type":"message","id":"34c8855b-7548-4bd6-8b02-093e6aaee6da","from":"w1","to":"w2","body":"{body}","timestamp":"2026-11-30T16:22:29.680Z"}}"#).into_bytes()
}

/// What a process does `times` times. The bare ones are what the adapter is measured against.
fn work(kind: &str, root: &Path, times: u32) -> Outcome {
    let store = store(root)?;
    let log = Log::Mailbox(name("w2")?);
    let record = record();
    let line = [&record[..], b"\n"].concat();
    let bare = root.join("bare");
    for _ in 0..times {
        match kind {
            "append" => drop(store.append(&log, &[&record])?),
            "bare_append" => {
                let path = bare.join("log");
                let mut file = File::options().append(true).create(true).open(path)?;
                file.lock()?;
                file.write_all(&line)?;
                file.sync_data()?;
            }
            "update" => drop(store.update(&Place::Run, count)?),
            "bare_update" => bare_update(&bare, Durability::Synced)?,
            "relaxed" => drop(store.update(&Place::Heartbeat(name("w1")?), count)?),
            "bare_relaxed" => bare_update(&bare, Durability::Relaxed)?,
            "view" => drop(store.view::<Counter>(&Place::Run)?),
            "read" => drop(store.read(&log, 0, 64 * 1024)?),
            other => return Err(format!("no such work: {other}").into()),
        }
    }
    Ok(())
}

/// Locked read, change, write, rename; with the syncs that make it last.
fn bare_update(folder: &Path, durability: Durability) -> Outcome {
    let lock = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join("lock"))?;
    lock.lock()?;
    let path = folder.join("document");
    let mut state: Option<Counter> = match std::fs::read(&path) {
        Ok(text) => Some(serde_json::from_slice(&text)?),
        Err(_) => None,
    };
    count(&mut state).map_err(|()| "refused")?;
    let draft = folder.join("draft");
    let mut file = File::create(&draft)?;
    file.write_all(&serde_json::to_vec_pretty(&state)?)?;
    if durability == Durability::Synced {
        file.sync_data()?;
    }
    std::fs::rename(draft, path)?;
    if durability == Durability::Synced {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The time that one piece of work takes when `processes` do it at once.
fn timed(kind: &str, root: &Path, processes: u32, times: u32) -> Outcome<Duration> {
    let exe = std::env::current_exe()?;
    let started = Instant::now();
    let mut children = Vec::new();
    for _ in 0..processes {
        let mut child = Command::new(&exe);
        child.arg(kind).arg(root).arg(times.to_string());
        children.push(child.spawn()?);
    }
    for mut child in children {
        if !child.wait()?.success() {
            return Err(format!("{kind} failed").into());
        }
    }
    Ok(started.elapsed() / (processes * times))
}

fn compare(what: &str, root: &Path, processes: u32, times: u32) -> Outcome {
    let bare = format!("bare_{what}");
    // Taken in turns, so that what else the machine does meets both.
    let mut best = [Duration::MAX; 2];
    for _ in 0..3 {
        for (best, kind) in best.iter_mut().zip([what, &bare]) {
            *best = timed(kind, root, processes, times)?.min(*best);
        }
    }
    let [ours, theirs] = best;
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{what:>8} × {processes}: {ours:>10.1?} each, bare {theirs:>10.1?}, ratio {ratio:.2}");
    Ok(())
}

fn in_memory() -> Outcome {
    let store = MemoryStore::new();
    let place = Place::Run;
    let times = 2_000_000;
    let started = Instant::now();
    for _ in 0..times {
        let _ = store.update(&place, |state: &mut Option<Number>| {
            state.get_or_insert(Number(0)).0 += 1;
            Ok::<_, ()>(())
        })?;
    }
    let rate = f64::from(times) / started.elapsed().as_secs_f64();
    println!("memory, a number: {rate:.0} updates/s");
    let started = Instant::now();
    for _ in 0..times {
        let _ = store.update(&Place::Shutdown, count)?;
    }
    let rate = f64::from(times) / started.elapsed().as_secs_f64();
    println!("memory, 300 bytes of text: {rate:.0} updates/s");
    let (log, record) = (Log::Mailbox(name("w1")?), record());
    let started = Instant::now();
    for _ in 0..times {
        store.append(&log, &[&record])?;
    }
    let rate = f64::from(times) / started.elapsed().as_secs_f64();
    println!("memory, appends of {} bytes: {rate:.0}/s", record.len());
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [kind, root, times] = arguments.as_slice() {
        return work(kind, Path::new(root), times.parse()?);
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    std::fs::create_dir(root.join("bare"))?;
    let team = Team::new(&name("t")?, "", "", "/p", Timestamp::from_millis(0));
    Project::at(root)?.create_team(&name("t")?, &team)?;
    in_memory()?;
    for processes in [1, PROCESSES] {
        compare("append", root, processes, 300)?;
        compare("update", root, processes, 100)?;
        compare("relaxed", root, processes, 500)?;
    }
    for kind in ["view", "read"] {
        println!("{kind:>8}: {:.1?}", timed(kind, root, 1, 20_000)?);
    }
    Ok(())
}
