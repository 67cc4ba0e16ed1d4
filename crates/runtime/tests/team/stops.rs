//! A thousand moments at which an agent can be ended: in the middle of a tool, of a stream, of a wait, between two. After
//! each nothing of it moves, and nothing that it held is left. A seed that fails is printed; `PITCREW_SEED` replays it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pitcrew_runtime::clock::{Entropy, SeededEntropy};
use pitcrew_runtime::model::{ModelError, ScriptedModel};
use pitcrew_runtime::team::{AgentSpec, Happening, Policy, Team, TeamBuilder, When};
use pitcrew_store::{Log, MemoryStore, Project, Store};
use serde_json::json;

use crate::stage::{beating, builder, name};

/// Chance as numbers.
struct Dice(SeededEntropy);

impl Dice {
    fn below(&self, most: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes).unwrap();
        u64::from_le_bytes(bytes) % most
    }
}

/// A model that does a bit of everything, each thing taking its time.
fn busy(dice: &Dice) -> ScriptedModel {
    let mut model = ScriptedModel::new().estimating(500, None);
    for _ in 0..30 {
        let span = Duration::from_millis(1 + dice.below(20));
        model = match dice.below(7) {
            0 => model.call_tool("beat", json!({})),
            1 => model.call_tools(&[
                ("beat", json!({})),
                (
                    "claim_region",
                    json!({"file": "a.rs", "start_line": 1, "end_line": 9}),
                ),
                ("beat", json!({})),
            ]),
            2 => model.call_tool("peer_message", json!({"to": "bob", "content": "hi"})),
            3 => model.call_tool("share_discovery", json!({"topic": "t", "content": "c"})),
            4 => model.fail(ModelError::Unavailable { why: "503".into() }),
            5 => model
                .after(span)
                .call_tool("broadcast_message", json!({"content": "all"})),
            _ => model.stream(&["one ", "two ", "three"], span),
        };
    }
    model
}

/// Everything that the team has written, by the length of its logs and the claims and limits as they are.
async fn state(team: &Team, store: &dyn Store) -> String {
    let end = |log: Log| store.append(&log, &[]).unwrap();
    let logs = [
        end(Log::Mailbox(name("bob"))),
        end(Log::Mailbox(name("alice"))),
        end(Log::Mailbox(pitcrew_core::Name::leader())),
        end(Log::History(name("alice"))),
        end(Log::Discoveries),
        end(Log::Events),
    ];
    let claims = team.shared_state().claims().await.unwrap();
    let limits = team.rate_limiter().unwrap().status().await.unwrap();
    format!("{logs:?} {claims:?} {limits:?}")
}

async fn one(seed: u64) -> String {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    try_out(seed, builder().store(Arc::clone(&store)), store).await
}

async fn try_out(seed: u64, builder: TeamBuilder, store: Arc<dyn Store>) -> String {
    let dice = Dice(SeededEntropy::new(seed));
    let team = builder.tpm(1_000_000).start().await.unwrap();
    let beats = Arc::new(AtomicUsize::new(0));
    let model = busy(&dice);
    let tool = beating("beat", &beats, 5, Duration::from_millis(3));
    let spec = AgentSpec::new(model.clone()).tool(tool).restart(Policy {
        when: When::Never,
        ..Policy::default()
    });
    let quiet = AgentSpec::new(ScriptedModel::new()).wakes(pitcrew_runtime::team::Wakes::OnUser);
    team.coordinator().spawn_agent("bob", quiet).await.unwrap();
    let alice = team
        .coordinator()
        .spawn_agent("alice", spec.clone())
        .await
        .unwrap();
    let mut heard = alice.subscribe();
    alice.tell("go").await.unwrap();
    if dice.below(2) == 0 {
        team.send("alice", "and this").await.unwrap();
    }
    // To the microsecond, so that every await is hit in the end; sometimes a number of steps without any time.
    if dice.below(3) == 0 {
        for _ in 0..dice.below(60) {
            tokio::task::yield_now().await;
        }
    } else {
        tokio::time::sleep(Duration::from_micros(dice.below(60_000))).await;
    }
    let kind = dice.below(4);
    match kind {
        0 => team.coordinator().stop_agent("alice").await.unwrap(),
        1 => team
            .coordinator()
            .kill_agent("alice", "seed")
            .await
            .unwrap(),
        2 => team.coordinator().dissolve().await.unwrap(),
        _ => team.shutdown().await.unwrap(),
    }
    let before = (
        beats.load(Ordering::SeqCst),
        model.requests().len(),
        state(&team, &*store).await,
    );
    while heard.ready().is_some() {}
    tokio::time::sleep(Duration::from_secs(120)).await;
    let after = (
        beats.load(Ordering::SeqCst),
        model.requests().len(),
        state(&team, &*store).await,
    );
    assert_eq!(
        before, after,
        "something moved after the end ({kind}) of seed {seed}"
    );
    assert!(
        after.2.contains(" [] ") && after.2.contains("open_reservations: 0"),
        "seed {seed}: {}",
        after.2
    );
    assert!(
        heard
            .ready()
            .is_none_or(|last| matches!(*last, Happening::Lagged { .. })),
        "it was heard after its end, seed {seed}"
    );
    if kind < 3 {
        team.coordinator().spawn_agent("alice", spec).await.unwrap();
    }
    format!("{kind} {before:?}")
}

#[tokio::test(start_paused = true)]
async fn a_thousand_random_stop_points_leave_nothing_that_moves() {
    let chosen = std::env::vars().find(|(key, _)| key == "PITCREW_SEED");
    let seeds = match chosen {
        Some((_, seed)) => {
            let seed = seed.parse().unwrap();
            seed..seed + 1
        }
        None => 1..1_001,
    };
    for seed in seeds {
        one(seed).await;
    }
}

/// On a disk every step sits on another thread, where dropping who asked for it does not end it.
#[tokio::test(start_paused = true)]
async fn real_stop_points_on_a_disk_leave_nothing_that_moves() {
    for seed in 1..41 {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::at(folder.path()).unwrap();
        let store: Arc<dyn Store> = Arc::new(project.team(&name("team_1")));
        try_out(seed, builder().project(folder.path()), store).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_seed_tells_the_same_story_twice() {
    for seed in [3, 77, 512] {
        let first = one(seed).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(counts(&first), counts(&one(seed).await), "seed {seed}");
    }
}

/// How it ended, after how many beats and calls.
fn counts(story: &str) -> String {
    story.split(',').take(2).collect()
}
