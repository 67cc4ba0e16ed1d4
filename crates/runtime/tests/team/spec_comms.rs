//! Comms: the spec's topics, builders and events.

use pitcrew_core::Timestamp;
use pitcrew_core::board::Discovery;
use pitcrew_runtime::model::ScriptedModel;
use pitcrew_runtime::team::{AgentSpec, Bus, Comms, Happening, Team};
use serde_json::json;

use crate::stage::{NOW, builder, name, next, settle, team};

async fn with_bob() -> (Team, ScriptedModel) {
    let team = team().await;
    let model = ScriptedModel::new();
    for (agent, model) in [("alice", ScriptedModel::new()), ("bob", model.clone())] {
        let spec = AgentSpec::new(model);
        team.coordinator().spawn_agent(agent, spec).await.unwrap();
    }
    (team, model)
}

fn peer(to: &str, content: &str) -> Happening {
    Happening::PeerMessage {
        from: name("alice"),
        to: name(to),
        content: content.to_string(),
    }
}

#[test]
fn the_topics_are_the_specs() {
    assert_eq!(Comms::team_topic("t"), "nous:team:t");
    assert_eq!(Comms::context_topic("t"), "nous:team:t:context");
    assert_eq!(Comms::agent_topic("t", "alice"), "nous:team:t:agent:alice");
}

#[tokio::test(start_paused = true)]
async fn send_to_agent_is_heard_once_and_seen_by_the_model() {
    let (team, model) = with_bob().await;
    let mut heard = team.comms().subscribe_agent("bob").unwrap();
    team.comms()
        .send_to_agent("bob", peer("bob", "check this"))
        .await
        .unwrap();
    assert_eq!(next(&mut heard).await, peer("bob", "check this"));
    assert!(model.asked(1).await[0].said().contains("check this"));
    settle().await;
    while let Some(more) = heard.ready() {
        assert!(matches!(*more, Happening::Fact(_)), "{more:?}");
    }
    let refused = team.comms().send_to_agent("bobb", peer("bobb", "x")).await;
    assert_eq!(refused.unwrap_err().code(), "unknown_recipient");
    let refused = team.comms().send_to_agent("alice", peer("bob", "x")).await;
    assert_eq!(refused.unwrap_err().code(), "invalid_input");
}

#[tokio::test(start_paused = true)]
async fn broadcast_team_carries_findings_broadcasts_and_anything_else() {
    let (team, model) = with_bob().await;
    let mut heard = team.comms().subscribe_team().unwrap();
    let found = Discovery::new(&name("alice"), "bug", "here", Timestamp::from_millis(NOW)).unwrap();
    let discovery = Happening::Discovery {
        from: name("alice"),
        discovery: found,
    };
    team.comms().broadcast_team(discovery).await.unwrap();
    assert!(matches!(
        next(&mut heard).await,
        Happening::Discovery { .. }
    ));
    let broadcast = Happening::TeamBroadcast {
        from: name("alice"),
        content: "all".into(),
    };
    team.comms()
        .broadcast_team(broadcast.clone())
        .await
        .unwrap();
    assert_eq!(next(&mut heard).await, broadcast);
    team.comms()
        .broadcast_team(Happening::Said(json!(1)))
        .await
        .unwrap();
    assert_eq!(next(&mut heard).await, Happening::Said(json!(1)));
    let said = model.asked(1).await[0].said();
    assert!(said.contains("here") && said.contains("all"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn the_context_topic_carries_changes_of_the_shared_state() {
    let (team, _) = with_bob().await;
    let mut heard = team.comms().subscribe_context().unwrap();
    team.shared_state()
        .claim_region("bob", "a.rs", 1, 2)
        .await
        .unwrap();
    let told = format!("{:?}", heard.next().await.unwrap());
    assert!(told.contains("ClaimMade"), "{told}");
    assert_eq!(team.comms().publish_context(Happening::Said(json!("x"))), 1);
}

#[tokio::test(start_paused = true)]
async fn two_teams_share_a_bus_and_hear_nothing_of_each_other() {
    let bus = Bus::new();
    let one = builder().bus(bus.clone()).start().await.unwrap();
    let two = Team::builder("team_12").bus(bus).start().await.unwrap();
    let mut heard = one.comms().subscribe_team().unwrap();
    let spec = AgentSpec::new(ScriptedModel::new());
    two.coordinator()
        .spawn_agent("x", spec.clone())
        .await
        .unwrap();
    one.coordinator().spawn_agent("y", spec).await.unwrap();
    assert_eq!(
        next(&mut heard).await,
        Happening::AgentJoined { name: name("y") }
    );
}
