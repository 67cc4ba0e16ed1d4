//! What a team in a program costs: `cargo run --release -p pitcrew-runtime --example team_bench`.
//!
//! | line | what is measured |
//! |---|---|
//! | spawn, stop | agents a second, one by one and many at once, in a team in memory |
//! | memory | growth of the process for each idle agent of 10,000 |
//! | fan-out | publications a second to 1,000 listeners that all hear all of them |
//! | latency | from a message's `send` to the model call that shows it, median of 1,000 |
//! | idle | processor time of 1,000 idle agents over two seconds |
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement prints, reads clocks, and stops when it cannot go on"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pitcrew_runtime::model::ScriptedModel;
use pitcrew_runtime::team::{AgentSpec, Bus, Happening, Team};
use serde_json::json;

fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split(' ').collect();
    let ticks: u64 = fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("agent-{n}")).collect()
}

fn rate(count: usize, begun: Instant) -> String {
    format!("{:.0}/s", count as f64 / begun.elapsed().as_secs_f64())
}

async fn spawning(count: usize, together: usize) {
    let team = Team::builder("bench").start().await.unwrap();
    let spec = AgentSpec::new(ScriptedModel::new());
    let before = resident();
    let begun = Instant::now();
    for some in names(count).chunks(together) {
        let agents = some
            .iter()
            .map(|name| (name.clone(), spec.clone()))
            .collect();
        for spawned in team.coordinator().spawn_agents(agents).await.unwrap() {
            spawned.unwrap();
        }
    }
    let spawned = rate(count, begun);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let each = resident().saturating_sub(before) / count;
    let begun = Instant::now();
    for some in names(count).chunks(together) {
        for stopped in team.coordinator().stop_agents(some.to_vec()).await.unwrap() {
            stopped.unwrap();
        }
    }
    println!(
        "spawn {spawned}, stop {} ({count} agents, {together} at once); {each} bytes per idle agent",
        rate(count, begun)
    );
    team.shutdown().await.unwrap();
}

async fn fan_out() {
    const LISTENERS: usize = 1_000;
    const PUBLICATIONS: usize = 4_992;
    const ROUND: usize = 64;
    let bus = Bus::new();
    let heard = Arc::new(AtomicUsize::new(0));
    for _ in 0..LISTENERS {
        let mut listening = bus.subscribe("topic");
        let heard = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Some(happening) = listening.next().await {
                match &*happening {
                    Happening::Said(_) => heard.fetch_add(1, Ordering::Relaxed),
                    _ => 0,
                };
            }
        });
    }
    let begun = Instant::now();
    for round in 1..=PUBLICATIONS / ROUND {
        for n in 0..ROUND {
            bus.publish("topic", Happening::Said(json!(n)));
        }
        // What is measured is publications that everybody has heard.
        while heard.load(Ordering::Relaxed) < round * ROUND * LISTENERS {
            tokio::task::yield_now().await;
        }
    }
    println!(
        "fan-out {} to {LISTENERS} listeners",
        rate(PUBLICATIONS, begun)
    );
}

async fn latency() {
    let team = Team::builder("bench").start().await.unwrap();
    let model = ScriptedModel::new();
    let spec = AgentSpec::new(model.clone());
    team.coordinator().spawn_agent("alice", spec).await.unwrap();
    let mut spans = Vec::new();
    for n in 1..=300 {
        let begun = Instant::now();
        team.send("alice", "hello").await.unwrap();
        model.asked(n).await;
        spans.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    spans.sort();
    println!("latency {:?} median, {:?} p99", spans[150], spans[297]);
}

async fn idle() {
    let team = Team::builder("bench").start().await.unwrap();
    let spec = AgentSpec::new(ScriptedModel::new());
    let agents = names(1_000).into_iter().map(|name| (name, spec.clone()));
    team.coordinator()
        .spawn_agents(agents.collect())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = processor();
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!(
        "idle {:?} of a core in 2 s with 1,000 agents",
        processor() - before
    );
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    for (count, together) in [
        (1_000, 1),
        (1_000, 1_000),
        (10_000, 1_000),
        (10_000, 10_000),
    ] {
        spawning(count, together).await;
    }
    fan_out().await;
    latency().await;
    idle().await;
}
