//! SharedState: the spec's table.

use std::time::Duration;

use pitcrew_runtime::model::ScriptedModel;
use pitcrew_runtime::team::{AgentSpec, Finding, SharedState, Team};

use crate::stage::{builder, team};

async fn with(agents: &[&str]) -> Team {
    let team = team().await;
    spawn(&team, agents).await;
    team
}

async fn spawn(team: &Team, agents: &[&str]) {
    for agent in agents {
        let spec = AgentSpec::new(ScriptedModel::new());
        team.coordinator().spawn_agent(agent, spec).await.unwrap();
    }
}

async fn claim(state: &SharedState, agent: &str, start: u64, end: u64) -> Result<(), &'static str> {
    let claimed = state.claim_region(agent, "src/a.rs", start, end).await;
    claimed.map(drop).map_err(|refused| refused.code())
}

#[tokio::test(start_paused = true)]
async fn get_discoveries_are_in_insertion_order_with_agent_and_time() {
    let team = with(&["alice", "bob"]).await;
    for (agent, topic) in [("alice", "1"), ("bob", "2"), ("alice", "3")] {
        let finding = Finding {
            topic: topic.into(),
            content: "x".into(),
            ..Finding::default()
        };
        team.shared_state()
            .share_discovery(agent, finding)
            .await
            .unwrap();
    }
    let found = team.shared_state().discoveries().await.unwrap();
    let rows: Vec<_> = found
        .iter()
        .map(|found| (found.agent.as_str(), found.topic.as_str()))
        .collect();
    assert_eq!(rows, [("alice", "1"), ("bob", "2"), ("alice", "3")]);
    assert!(found[0].timestamp.as_millis() >= crate::stage::NOW);
}

#[tokio::test(start_paused = true)]
async fn claim_region_conflicts_on_inclusive_overlap_by_another_agent() {
    let team = with(&["alice", "bob"]).await;
    let state = team.shared_state();
    claim(state, "alice", 10, 20).await.unwrap();
    assert_eq!(claim(state, "bob", 20, 30).await, Err("conflict"));
    assert_eq!(claim(state, "bob", 0, 10).await, Err("conflict"));
    assert_eq!(claim(state, "bob", 21, 30).await, Ok(()));
    assert_eq!(claim(state, "bob", 9, 3).await, Err("invalid_range"));
    assert_eq!(state.claims().await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn claim_region_of_the_same_agent_on_the_file_replaces_the_earlier() {
    let team = with(&["alice", "bob"]).await;
    let state = team.shared_state();
    claim(state, "alice", 10, 20).await.unwrap();
    claim(state, "alice", 30, 40).await.unwrap();
    assert_eq!(claim(state, "bob", 10, 20).await, Ok(()));
    assert_eq!(state.claims().await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn release_region_gives_the_file_back() {
    let team = with(&["alice", "bob"]).await;
    let state = team.shared_state();
    claim(state, "alice", 10, 20).await.unwrap();
    state.release_region("alice", "./src/a.rs").await.unwrap();
    assert_eq!(claim(state, "bob", 10, 20).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn claims_expire_after_five_minutes_and_their_holder_is_told() {
    let team = with(&["alice", "bob"]).await;
    let state = team.shared_state();
    claim(state, "alice", 10, 20).await.unwrap();
    tokio::time::sleep(Duration::from_millis(299_900)).await;
    assert_eq!(claim(state, "bob", 10, 20).await, Err("conflict"));
    let mut heard = team.comms().subscribe_agent("alice").unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(state.claims().await.unwrap().is_empty());
    let told = format!("{:?}", heard.next().await.unwrap());
    assert!(told.contains("ran out"), "{told}");
    assert_eq!(claim(state, "bob", 10, 20).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn claim_ttl_can_be_set() {
    let team = builder().claim_ttl_ms(1_000).start().await.unwrap();
    spawn(&team, &["alice"]).await;
    claim(team.shared_state(), "alice", 1, 2).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_001)).await;
    assert!(team.shared_state().claims().await.unwrap().is_empty());
}
