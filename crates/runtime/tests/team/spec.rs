//! Starting a team, managing agents, roles, the team's tools: the spec's tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pitcrew_runtime::model::{ScriptedModel, ToolAnswer, ToolFn, ToolSpec, Turn};
use pitcrew_runtime::team::{
    AgentSpec, Bus, Comms, Finding, Happening, Registered, Registry, Role, Status, Team, TeamError,
};
use serde_json::json;

use crate::stage::{builder, counting, name, next, settle, team};

fn quiet() -> AgentSpec {
    AgentSpec::new(ScriptedModel::new())
}

#[tokio::test(start_paused = true)]
async fn quick_start() {
    let team = builder()
        .team_name("Research Team")
        .bus(Bus::new())
        .budget(10.0)
        .rpm(60)
        .tpm(100_000)
        .start()
        .await
        .unwrap();
    let coordinator = team
        .registry()
        .coordinator("team_coordinator_team_1")
        .unwrap();
    let alice = quiet()
        .instructions("Research specialist")
        .role(Role::researcher());
    coordinator.spawn_agent("alice", alice).await.unwrap();
    let bob = quiet()
        .instructions("Implementation specialist")
        .role(Role::coder());
    coordinator.spawn_agent("bob", bob).await.unwrap();
    let list = coordinator.list_agents().await.unwrap();
    let rows: Vec<_> = list
        .iter()
        .map(|row| (row.name.as_str(), row.status))
        .collect();
    assert_eq!(rows, [("alice", Status::Running), ("bob", Status::Running)]);
    let status = coordinator.team_status().await.unwrap();
    assert_eq!(status.team_id, name("team_1"));
    assert_eq!(
        (
            status.team_name.as_str(),
            status.agent_count,
            status.agents.len()
        ),
        ("Research Team", 2, 2)
    );
    coordinator.stop_agent("bob").await.unwrap();
    coordinator.dissolve().await.unwrap();
    assert!(coordinator.list_agents().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn team_name_defaults_to_team_id() {
    let status = team().await.coordinator().team_status().await.unwrap();
    assert_eq!(status.team_name, "team_1");
}

#[tokio::test(start_paused = true)]
async fn team_id_is_a_checked_name() {
    let refused = Team::builder("../x").start().await.err().unwrap();
    assert_eq!(refused.code(), "invalid_name");
}

#[tokio::test(start_paused = true)]
async fn any_limit_starts_the_limiter_and_none_does_not() {
    assert!(team().await.rate_limiter().is_none());
    for limited in [
        builder().budget(1.0),
        builder().member_budget(1.0),
        builder().rpm(1),
        builder().tpm(1),
    ] {
        let team = limited.start().await.unwrap();
        assert!(team.rate_limiter().is_some());
        assert!(
            team.registry()
                .whereis("team_rate_limiter_team_1")
                .is_some()
        );
    }
    assert_eq!(
        builder().budget(-1.0).start().await.err().unwrap().code(),
        "invalid_input"
    );
}

#[tokio::test(start_paused = true)]
async fn every_part_is_registered_under_its_derived_name() {
    let registry = Registry::new();
    let team = builder()
        .budget(1.0)
        .registry(registry.clone())
        .start()
        .await
        .unwrap();
    team.coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
    let is = |name: &str| registry.whereis(name);
    assert!(matches!(
        is("team_agent_sup_team_1"),
        Some(Registered::AgentSupervisor(_))
    ));
    assert!(matches!(
        is("team_shared_state_team_1"),
        Some(Registered::SharedState(_))
    ));
    assert!(matches!(
        is("team_rate_limiter_team_1"),
        Some(Registered::RateLimiter(_))
    ));
    assert!(matches!(
        is("team_coordinator_team_1"),
        Some(Registered::Coordinator(_))
    ));
    assert!(matches!(
        is("team:team_1:alice"),
        Some(Registered::Agent(_))
    ));
    assert!(is("team_coordinator_team_2").is_none());
    assert!(is("team:team_1:bob").is_none());
    let again = builder()
        .registry(registry.clone())
        .start()
        .await
        .err()
        .unwrap();
    assert_eq!(again.code(), "already_exists");
    team.shutdown().await.unwrap();
    assert!(is("team_coordinator_team_1").is_none());
    builder().registry(registry).start().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn spawn_agent_gives_the_session_id_and_announces_who_joined() {
    let team = team().await;
    let mut heard = team.comms().subscribe_team().unwrap();
    let alice = team
        .coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
    assert_eq!(alice.session_id(), "team:team_1:alice");
    let joined = Happening::AgentJoined {
        name: name("alice"),
    };
    assert_eq!(next(&mut heard).await, joined);
}

#[tokio::test(start_paused = true)]
async fn spawn_agent_twice_is_already_exists() {
    let team = team().await;
    team.coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
    for taken in ["alice", "ALICE"] {
        let refused = team.coordinator().spawn_agent(taken, quiet()).await;
        assert!(
            matches!(refused, Err(TeamError::AlreadyExists { .. })),
            "{taken}"
        );
    }
    for bad in ["leader", "a b", ""] {
        let refused = team.coordinator().spawn_agent(bad, quiet()).await;
        assert_eq!(refused.unwrap_err().code(), "invalid_name", "{bad}");
    }
    let both = vec![("x".to_string(), quiet()), ("X".to_string(), quiet())];
    let answers = team.coordinator().spawn_agents(both).await.unwrap();
    assert!(answers[0].is_ok());
    assert_eq!(answers[1].as_ref().unwrap_err().code(), "already_exists");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_nobody_talks_to_never_times_out() {
    let team = team().await;
    let alice = team
        .coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(365 * 24 * 3_600)).await;
    assert_eq!(alice.status(), Status::Running);
    assert_eq!(alice.ask("still there?").await.unwrap().text, "done");
}

#[tokio::test(start_paused = true)]
async fn stop_agent_announces_who_left_and_frees_the_name() {
    let team = team().await;
    team.coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
    let mut heard = team.comms().subscribe_team().unwrap();
    team.coordinator().stop_agent("alice").await.unwrap();
    let left = next(&mut heard).await;
    assert!(matches!(left, Happening::AgentLeft { name: who, .. } if who == name("alice")));
    let again = team.coordinator().stop_agent("alice").await.unwrap_err();
    assert_eq!(again.code(), "not_found");
    team.coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_found_comes_with_the_nearest() {
    let team = team().await;
    team.coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
    let refused = team.coordinator().stop_agent("alcie").await.unwrap_err();
    match refused {
        TeamError::NotFound { nearest, .. } => assert_eq!(nearest.as_deref(), Some("alice")),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn dissolve_ends_everybody_and_keeps_the_coordinator() {
    let team = team().await;
    for agent in ["alice", "bob"] {
        team.coordinator()
            .spawn_agent(agent, quiet())
            .await
            .unwrap();
    }
    let mut heard = team.comms().subscribe_team().unwrap();
    team.coordinator().dissolve().await.unwrap();
    let team_id = name("team_1");
    assert_eq!(next(&mut heard).await, Happening::TeamDissolved { team_id });
    assert!(team.coordinator().list_agents().await.unwrap().is_empty());
    let fresh = team
        .coordinator()
        .spawn_agent("alice", quiet())
        .await
        .unwrap();
    assert_eq!(fresh.ask("hello").await.unwrap().text, "done");
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_team_and_says_so_to_every_handle() {
    let team = team().await;
    let coordinator = team.coordinator().clone();
    let alice = coordinator.spawn_agent("alice", quiet()).await.unwrap();
    team.shutdown().await.unwrap();
    assert_eq!(
        coordinator.list_agents().await.unwrap_err().code(),
        "closed"
    );
    assert_eq!(alice.tell("hello").await.unwrap_err().code(), "not_found");
    assert_eq!(team.ended().await, "it was shut down");
}

#[tokio::test(start_paused = true)]
async fn every_tool_is_given_the_teams_deps() {
    let team = builder()
        .team_name("Research")
        .budget(1.0)
        .start()
        .await
        .unwrap();
    let schema = ToolSpec::bare("look", "").schema;
    let look = ToolFn::new("look", "Looks.", schema, |_, context| async move {
        let deps = context.deps.unwrap();
        let claims = deps.shared_state.claims().await.unwrap().len();
        let agents = deps.team_coordinator.list_agents().await.unwrap().len();
        let role = deps.team_role.as_ref().map(|role| role.name.clone());
        ToolAnswer::done(format!(
            "{} {} {role:?} {} {claims} {} {agents}",
            deps.team_id,
            deps.team_name,
            deps.agent_name,
            deps.rate_limiter.is_some(),
        ))
    });
    let model = ScriptedModel::new().call_tool("look", json!({}));
    let spec = AgentSpec::new(model.clone()).role(Role::coder()).tool(look);
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.ask("go").await.unwrap();
    let seen = model.requests().pop().unwrap();
    let Some(Turn::Tools { results }) = seen.turns.last() else {
        panic!("{seen:?}");
    };
    assert_eq!(
        results[0].text,
        "team_1 Research Some(\"coder\") alice 0 true 1"
    );
}

#[test]
fn a_role_has_the_specs_fields_and_defaults() {
    let role = Role {
        denied_tools: Some(vec!["execute_code".to_string()]),
        max_iterations: 10,
        ..Role::new("reviewer", "Review code carefully")
    };
    assert!(!role.allows("execute_code") && role.allows("search"));
    let plain = Role::new("plain", "");
    assert_eq!(
        (
            plain.max_iterations,
            plain.allowed_tools,
            plain.denied_tools
        ),
        (15, None, None)
    );
}

#[test]
fn apply_tool_filter_lets_the_allow_list_win() {
    let list = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let tools = ["search", "delete_file", "look"];
    let kept = |role: &Role| -> Vec<String> {
        let kept = role.filter(&tools, |tool| *tool);
        kept.into_iter().map(ToString::to_string).collect()
    };
    let all = Role::new("r", "");
    assert_eq!(kept(&all), tools);
    let denied = Role {
        denied_tools: list(&["look"]),
        ..all.clone()
    };
    assert_eq!(kept(&denied), ["search", "delete_file"]);
    let both = Role {
        allowed_tools: list(&["look"]),
        ..denied
    };
    assert_eq!(kept(&both), ["look"]);
}

#[test]
fn the_built_in_roles_are_the_specs() {
    let researcher = Role::researcher();
    for tool in [
        "search",
        "read_file",
        "web_fetch",
        "recall",
        "share_discovery",
        "peer_message",
        "broadcast_message",
        "list_team",
    ] {
        assert!(researcher.allows(tool), "{tool}");
    }
    assert!(!researcher.allows("edit_file") && researcher.max_iterations == 15);
    let coder = Role::coder();
    assert!(
        !coder.allows("delete_file") && !coder.allows("drop_table") && coder.allows("edit_file")
    );
    assert_eq!(coder.max_iterations, 15);
    let lead = Role::lead();
    assert!(lead.allows("drop_table") && lead.max_iterations == 20);
    for role in [researcher, coder, lead] {
        assert!(!role.system_prompt.is_empty());
    }
}

/// A team of two: alice plays `model`, bob is quiet.
async fn pair(model: &ScriptedModel) -> (Team, ScriptedModel) {
    let team = team().await;
    let bob = ScriptedModel::new();
    for (agent, model) in [("alice", model), ("bob", &bob)] {
        let spec = AgentSpec::new(model.clone());
        team.coordinator().spawn_agent(agent, spec).await.unwrap();
    }
    (team, bob)
}

#[tokio::test(start_paused = true)]
async fn peer_message_arrives_on_the_recipients_topic_and_in_its_next_call() {
    let model = ScriptedModel::new().call_tool(
        "peer_message",
        json!({"to": "bob", "content": "look at line 9"}),
    );
    let (team, bob) = pair(&model).await;
    let mut heard = team.comms().subscribe_agent("bob").unwrap();
    let alice = team.coordinator().agent("alice").await.unwrap();
    alice.ask("go").await.unwrap();
    let sent = Happening::PeerMessage {
        from: name("alice"),
        to: name("bob"),
        content: "look at line 9".to_string(),
    };
    assert_eq!(next(&mut heard).await, sent);
    let seen = bob.asked(1).await;
    assert!(
        seen[0].said().contains("look at line 9"),
        "{}",
        seen[0].said()
    );
    assert!(
        seen[0]
            .said()
            .contains("from=\"alice\" standing=\"peer\" verified=\"yes\"")
    );
}

#[tokio::test(start_paused = true)]
async fn broadcast_message_arrives_on_the_teams_topic_and_at_everybody_else() {
    let model =
        ScriptedModel::new().call_tool("broadcast_message", json!({"content": "done here"}));
    let (team, bob) = pair(&model).await;
    let mut heard = team.comms().subscribe_team().unwrap();
    let alice = team.coordinator().agent("alice").await.unwrap();
    alice.ask("go").await.unwrap();
    let sent = Happening::TeamBroadcast {
        from: name("alice"),
        content: "done here".to_string(),
    };
    assert_eq!(next(&mut heard).await, sent);
    assert!(bob.asked(1).await[0].said().contains("done here"));
    settle().await;
    assert!(
        !model
            .requests()
            .last()
            .unwrap()
            .said()
            .contains("done here")
    );
}

#[tokio::test(start_paused = true)]
async fn share_discovery_is_on_the_board_and_on_the_teams_topic() {
    let model = ScriptedModel::new().call_tool(
        "share_discovery",
        json!({"topic": "bug", "content": "off by one"}),
    );
    let (team, _) = pair(&model).await;
    let mut heard = team.comms().subscribe_team().unwrap();
    let alice = team.coordinator().agent("alice").await.unwrap();
    alice.ask("go").await.unwrap();
    match next(&mut heard).await {
        Happening::Discovery { from, discovery } => {
            assert_eq!(from, name("alice"));
            assert_eq!(
                (discovery.topic.as_str(), discovery.content.as_str()),
                ("bug", "off by one")
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(team.shared_state().discoveries().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn list_team_and_claim_region_answer_the_model() {
    let model = ScriptedModel::new()
        .call_tool("list_team", json!({}))
        .call_tool(
            "claim_region",
            json!({"file": "src/a.rs", "start_line": 1, "end_line": 9}),
        )
        .call_tool(
            "claim_region",
            json!({"file": "src/b.rs", "start_line": 5, "end_line": 9}),
        );
    let (team, _) = pair(&model).await;
    team.shared_state()
        .claim_region("bob", "src/b.rs", 1, 5)
        .await
        .unwrap();
    let alice = team.coordinator().agent("alice").await.unwrap();
    alice.ask("go").await.unwrap();
    let seen = model.requests().pop().unwrap();
    let answers: Vec<_> = seen
        .turns
        .iter()
        .filter_map(|turn| match turn {
            Turn::Tools { results } => Some((results[0].ok, results[0].text.as_str())),
            _ => None,
        })
        .collect();
    assert!(
        answers[0].0 && answers[0].1.contains("- bob, running"),
        "{answers:?}"
    );
    assert!(answers[1].0, "{answers:?}");
    assert!(
        answers[2].1.starts_with("Conflict") && answers[2].1.contains("bob"),
        "{answers:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_own_tool_is_offered_and_run_beside_the_teams() {
    let calls = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().call_tools(&[("count", json!({})), ("list_team", json!({}))]);
    let team = team().await;
    let spec = AgentSpec::new(model.clone()).tool(counting("count", &calls));
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.ask("go").await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let offered: Vec<String> = model.requests()[0]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    for tool in [
        "count",
        "peer_message",
        "broadcast_message",
        "share_discovery",
        "list_team",
        "claim_region",
    ] {
        assert!(offered.iter().any(|name| name == tool), "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_finding_of_a_stranger_is_refused() {
    let team = team().await;
    let finding = Finding {
        topic: "a".into(),
        content: "b".into(),
        ..Finding::default()
    };
    let refused = team.shared_state().share_discovery("nobody", finding).await;
    assert_eq!(refused.unwrap_err().code(), "unknown_sender");
    assert_eq!(Comms::team_topic("team_1"), "nous:team:team_1");
}
