//! The faults of in-process teams, as the model sees them: what stood in its requests, and what did not happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pitcrew_core::event::Fact;
use pitcrew_runtime::model::{
    ModelError, Reply, ScriptedModel, ToolAnswer, ToolFn, ToolSpec, Turn,
};
use pitcrew_runtime::team::{
    Activity, AgentSpec, Emitted, Finding, Happening, Policy, Role, RunEnd, Status, Team, When,
};
use pitcrew_store::{Document, MemoryStore, Place, Store, StoreExt};
use serde_json::json;

use crate::stage::{beating, builder, counting, hear, name, next, settle, team, until};

async fn spawn(team: &Team, agent: &str, model: &ScriptedModel) -> pitcrew_runtime::team::Agent {
    let spec = AgentSpec::new(model.clone());
    team.coordinator().spawn_agent(agent, spec).await.unwrap()
}

fn finding(topic: &str, content: &str) -> Finding {
    Finding {
        topic: topic.to_string(),
        content: content.to_string(),
        ..Finding::default()
    }
}

/// In how many of a model's requests' last turns `text` stands.
fn times(model: &ScriptedModel, text: &str) -> usize {
    let requests = model.requests();
    requests
        .last()
        .map_or(0, |seen| seen.said().matches(text).count())
}

#[tokio::test(start_paused = true)]
async fn g1_mail_and_findings_are_in_an_idle_agents_next_call_once() {
    let team = team().await;
    let model = ScriptedModel::new();
    spawn(&team, "alice", &model).await;
    spawn(&team, "bob", &ScriptedModel::new()).await;
    settle().await;
    assert!(model.requests().is_empty());
    team.shared_state()
        .share_discovery("bob", finding("bug", "off by one"))
        .await
        .unwrap();
    settle().await;
    assert!(model.requests().is_empty(), "a finding wakes nobody");
    team.send("alice", "what about the bug?").await.unwrap();
    let seen = model.asked(1).await[0].said();
    assert!(
        seen.contains("what about the bug?") && seen.contains("off by one"),
        "{seen}"
    );
    settle().await;
    let alice = team.coordinator().agent("alice").await.unwrap();
    alice.ask("anything else?").await.unwrap();
    for text in ["what about the bug?", "off by one"] {
        assert_eq!(
            times(&model, text),
            1,
            "{text} stands in the history and is not shown again"
        );
    }
    let unread = team
        .at_desk(|desk| desk.count_unread(&name("alice")))
        .await
        .unwrap();
    assert_eq!(unread, 0);
}

#[tokio::test(start_paused = true)]
async fn g1_mail_that_comes_in_the_middle_of_a_run_is_in_its_next_call_once() {
    let team = team().await;
    let beats = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new()
        .call_tool("beat", json!({}))
        .say("fine");
    let spec =
        AgentSpec::new(model.clone()).tool(beating("beat", &beats, 3, Duration::from_millis(10)));
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    spawn(&team, "bob", &ScriptedModel::new()).await;
    let asked = tokio::spawn({
        let alice = alice.clone();
        async move { alice.ask("go").await.unwrap() }
    });
    until(|| beats.load(Ordering::SeqCst) == 1).await;
    team.send("alice", "one more thing").await.unwrap();
    let broadcast = Happening::TeamBroadcast {
        from: name("bob"),
        content: "for all".into(),
    };
    team.comms().broadcast_team(broadcast).await.unwrap();
    team.shared_state()
        .share_discovery("bob", finding("x", "a finding"))
        .await
        .unwrap();
    assert_eq!(asked.await.unwrap().end, RunEnd::Answered);
    assert_eq!(beats.load(Ordering::SeqCst), 3, "mail does not interrupt");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    for text in ["one more thing", "for all", "a finding"] {
        assert!(!requests[0].said().contains(text), "{text}");
        assert_eq!(times(&model, text), 1, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn g1_mail_counts_as_read_only_once_its_call_has_succeeded() {
    let team = team().await;
    let model = ScriptedModel::new().silence();
    spawn(&team, "alice", &model).await;
    team.send("alice", "hello").await.unwrap();
    model.asked(1).await;
    settle().await;
    let unread = || team.at_desk(|desk| desk.count_unread(&name("alice")));
    assert_eq!(unread().await.unwrap(), 1);
    team.coordinator().kill_agent("alice", "try").await.unwrap();
    model.asked(2).await;
    settle().await;
    assert_eq!(unread().await.unwrap(), 0);
    assert_eq!(times(&model, "hello"), 1);
}

#[tokio::test(start_paused = true)]
async fn g2_a_tool_that_the_role_forbids_is_neither_offered_nor_run() {
    let calls = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().call_tool("delete_file", json!({"path": "a"}));
    let team = team().await;
    let spec = AgentSpec::new(model.clone())
        .role(Role::researcher())
        .tool(counting("delete_file", &calls))
        .tool(counting("search", &calls));
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.ask("clean up").await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    let requests = model.requests();
    let offered: Vec<&str> = requests[0]
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert!(
        offered.contains(&"search") && !offered.contains(&"delete_file"),
        "{offered:?}"
    );
    assert!(!offered.contains(&"claim_region"), "{offered:?}");
    let Some(Turn::Tools { results }) = requests[1].turns.last() else {
        panic!("{requests:?}");
    };
    assert!(
        !results[0].ok && results[0].text.contains("may not use delete_file"),
        "{results:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn g2_a_role_of_ones_own_holds_for_the_teams_tools_too() {
    let model = ScriptedModel::new().call_tool("broadcast_message", json!({"content": "x"}));
    let team = team().await;
    let role = Role {
        denied_tools: Some(vec!["broadcast_message".to_string()]),
        ..Role::new("hermit", "Keep to yourself.")
    };
    let spec = AgentSpec::new(model.clone()).role(role);
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.ask("go").await.unwrap();
    assert!(model.requests()[0].system.contains("Keep to yourself."));
    let told = team
        .at_desk(|desk| desk.count_unread(&pitcrew_core::Name::leader()))
        .await;
    assert_eq!(told.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn g3_max_iterations_count_per_run_and_end_it_with_a_reason() {
    for limit in [3, 20] {
        let calls = Arc::new(AtomicUsize::new(0));
        let mut model = ScriptedModel::new();
        for _ in 0..2 * limit {
            model = model.call_tool("count", json!({}));
        }
        let role = Role {
            max_iterations: limit,
            ..Role::new("r", "")
        };
        let team = team().await;
        let spec = AgentSpec::new(model.clone())
            .role(role)
            .tool(counting("count", &calls));
        let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
        for run in 1..=2 {
            let report = alice.ask("go").await.unwrap();
            assert_eq!(report.end, RunEnd::MaxIterations { limit });
            assert_eq!(
                (report.iterations, report.end.word()),
                (limit, "max_iterations")
            );
            assert_eq!(model.requests().len(), (limit * run) as usize);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g4_an_observer_of_a_run_sees_each_event_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new()
        .call_tool("count", json!({}))
        .stream(&["it ", "is ", "one"], Duration::from_millis(5));
    let team = team().await;
    let spec = AgentSpec::new(model).tool(counting("count", &calls));
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    settle().await;
    let mut heard = alice.subscribe();
    alice.tell("how many?").await.unwrap();
    let is_over = |happening: &Happening| matches!(happening, Happening::Output(output) if output.what == Emitted::Status(Activity::Idle));
    let heard_all: Vec<Emitted> = hear(&mut heard, is_over)
        .await
        .into_iter()
        .map(|happening| match happening {
            Happening::Output(output) => output.what,
            other => panic!("{other:?}"),
        })
        .collect();
    let call = |id: &str| (id.to_string(), "count".to_string());
    let (id, tool) = call("call-1");
    assert_eq!(
        heard_all,
        [
            Emitted::Status(Activity::Thinking),
            Emitted::Status(Activity::UsingTools {
                names: vec![tool.clone()]
            }),
            Emitted::ToolCalled {
                id: id.clone(),
                name: tool.clone()
            },
            Emitted::ToolAnswered {
                id,
                name: tool,
                ok: true
            },
            Emitted::Status(Activity::Thinking),
            Emitted::Delta("it ".into()),
            Emitted::Delta("is ".into()),
            Emitted::Delta("one".into()),
            Emitted::RunEnded(pitcrew_runtime::team::Report {
                end: RunEnd::Answered,
                text: "it is one".into(),
                iterations: 2,
            }),
            Emitted::Status(Activity::Idle),
        ]
    );
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(heard.ready(), None, "no echo");
}

#[tokio::test(start_paused = true)]
async fn g5_every_kind_of_end_in_the_middle_of_a_tool_is_told_and_leaves_nothing() {
    for end in ["stop", "kill", "dissolve"] {
        let team = builder().tpm(1_000_000).start().await.unwrap();
        let beats = Arc::new(AtomicUsize::new(0));
        let model = ScriptedModel::new().call_tool("beat", json!({}));
        let spec = AgentSpec::new(model.clone())
            .restart(Policy {
                when: When::Never,
                ..Policy::default()
            })
            .tool(beating("beat", &beats, 1_000, Duration::from_millis(10)));
        let alice = team
            .coordinator()
            .spawn_agent("alice", spec.clone())
            .await
            .unwrap();
        team.shared_state()
            .claim_region("alice", "a.rs", 1, 9)
            .await
            .unwrap();
        team.rate_limiter()
            .unwrap()
            .acquire("alice", 5)
            .await
            .unwrap();
        alice.tell("go").await.unwrap();
        until(|| beats.load(Ordering::SeqCst) >= 3).await;
        let mut heard = team.comms().subscribe_team().unwrap();
        match end {
            "stop" => team.coordinator().stop_agent("alice").await.unwrap(),
            "kill" => team
                .coordinator()
                .kill_agent("alice", "by hand")
                .await
                .unwrap(),
            _ => team.coordinator().dissolve().await.unwrap(),
        }
        let done = beats.load(Ordering::SeqCst);
        assert!(
            team.shared_state().claims().await.unwrap().is_empty(),
            "{end}"
        );
        assert_eq!(
            team.rate_limiter()
                .unwrap()
                .status()
                .await
                .unwrap()
                .open_reservations,
            0,
            "{end}"
        );
        let told = next(&mut heard).await;
        let is_told = match end {
            "stop" => {
                matches!(&told, Happening::AgentLeft { name: who, .. } if *who == name("alice"))
            }
            "kill" => {
                matches!(&told, Happening::AgentCrashed { reason, .. } if reason == "killed: by hand")
            }
            _ => matches!(&told, Happening::TeamDissolved { .. }),
        };
        assert!(is_told, "{end}: {told:?}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            (beats.load(Ordering::SeqCst), model.requests().len()),
            (done, 1),
            "{end}"
        );
        team.coordinator().spawn_agent("alice", spec).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn g5_an_agent_that_finishes_leaves_and_one_that_panics_crashes() {
    let team = team().await;
    let mut heard = team.comms().subscribe_team().unwrap();
    let alice = spawn(&team, "alice", &ScriptedModel::new()).await;
    alice.finish();
    assert_eq!(
        next(&mut heard).await,
        Happening::AgentJoined {
            name: name("alice")
        }
    );
    let left = Happening::AgentLeft {
        name: name("alice"),
        reason: Some("finished".into()),
    };
    assert_eq!(next(&mut heard).await, left);
    assert!(team.coordinator().list_agents().await.unwrap().is_empty());
    let model = ScriptedModel::new().panic("broken wire").say("back again");
    let alice = spawn(&team, "alice", &model).await;
    alice.tell("go").await.unwrap();
    next(&mut heard).await;
    let crashed = Happening::AgentCrashed {
        name: name("alice"),
        reason: "panicked: broken wire".into(),
    };
    assert_eq!(next(&mut heard).await, crashed);
    assert_eq!(
        next(&mut heard).await,
        Happening::AgentJoined {
            name: name("alice")
        }
    );
    assert!(
        model.asked(2).await[1].said().contains("go"),
        "what it was told is not lost"
    );
}

#[tokio::test(start_paused = true)]
async fn g5_a_tool_that_panics_is_an_answer_and_no_crash() {
    let team = team().await;
    let schema = ToolSpec::bare("boom", "").schema;
    let boom = ToolFn::new("boom", "Breaks.", schema, |_, _| async {
        assert!(std::hint::black_box(1) == 2, "index out of range");
        ToolAnswer::done("")
    });
    let model = ScriptedModel::new().call_tool("boom", json!({}));
    let spec = AgentSpec::new(model.clone()).tool(boom);
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    assert_eq!(alice.ask("go").await.unwrap().end, RunEnd::Answered);
    let seen = model.requests();
    let Some(Turn::Tools { results }) = seen[1].turns.last() else {
        panic!("{seen:?}");
    };
    assert!(
        !results[0].ok && results[0].text.contains("index out of range"),
        "{results:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn g6_four_crashes_in_five_seconds_fail_that_agent_alone() {
    let team = builder().budget(10.0).start().await.unwrap();
    let mut model = ScriptedModel::new();
    for n in 1..=4 {
        model = model.panic(&n.to_string());
    }
    let bob = spawn(&team, "bob", &ScriptedModel::new()).await;
    bob.ask("hello").await.unwrap();
    team.shared_state()
        .claim_region("bob", "a.rs", 1, 9)
        .await
        .unwrap();
    let alice = spawn(&team, "alice", &model).await;
    let mut heard = team.comms().subscribe_team().unwrap();
    alice.tell("go").await.unwrap();
    until(|| matches!(alice.activity(), Activity::Failed { .. })).await;
    let mut crashes = 0;
    while let Some(happening) = heard.ready() {
        crashes += usize::from(matches!(*happening, Happening::AgentCrashed { .. }));
    }
    assert_eq!((crashes, model.requests().len()), (4, 4));
    assert_eq!(
        (alice.status(), bob.status()),
        (Status::Stopped, Status::Running)
    );
    let why = team.coordinator().explain("alice").await.unwrap().why;
    assert!(
        why.contains("stays down") && why.contains("restarted 3 times within 5000 ms"),
        "{why}"
    );
    settle().await;
    let told = team.at_desk(|desk| {
        let mut told = Vec::new();
        let leader = pitcrew_core::Name::leader();
        desk.mail_since(&leader, 0, &mut |message, _| told.push(message.body))
            .map(|_| told)
    });
    let told = told.await.unwrap();
    assert!(
        told.len() == 1 && told[0].contains("alice stays down"),
        "{told:?}"
    );
    assert_eq!(team.shared_state().claims().await.unwrap().len(), 1);
    team.send("alice", "are you there?").await.unwrap();
    assert_eq!(bob.ask("still there?").await.unwrap().end, RunEnd::Answered);
    team.coordinator().restart_agent("alice").await.unwrap();
    let seen = model.asked(5).await;
    assert!(seen[4].said().contains("are you there?") && seen[4].said().contains("go"));
}

#[tokio::test(start_paused = true)]
async fn g7_a_message_to_nobody_is_an_answer_that_a_model_can_read() {
    let team = team().await;
    let model =
        ScriptedModel::new().call_tool("peer_message", json!({"to": "bobb", "content": "x"}));
    spawn(&team, "bob", &ScriptedModel::new()).await;
    let alice = spawn(&team, "alice", &model).await;
    alice.ask("go").await.unwrap();
    let seen = model.requests();
    let Some(Turn::Tools { results }) = seen[1].turns.last() else {
        panic!("{seen:?}");
    };
    assert!(
        !results[0].ok && results[0].text.contains("did you mean bob?"),
        "{results:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn g7_a_shared_state_that_is_down_is_an_answer_that_a_model_can_read() {
    let store = Arc::new(MemoryStore::new());
    let team = builder()
        .store(store.clone() as Arc<dyn Store>)
        .start()
        .await
        .unwrap();
    let model = ScriptedModel::new()
        .call_tool(
            "claim_region",
            json!({"file": "a.rs", "start_line": 1, "end_line": 2}),
        )
        .say("then without");
    let alice = spawn(&team, "alice", &model).await;
    settle().await;
    // Not what its place says: the claims cannot be read any more.
    let broken = store.update::<NoClaims, (), std::convert::Infallible>(&(), |slot| {
        *slot = Some(NoClaims {});
        Ok(())
    });
    broken.unwrap().unwrap();
    assert_eq!(alice.ask("go").await.unwrap().text, "then without");
    let seen = model.requests();
    let Some(Turn::Tools { results }) = seen[1].turns.last() else {
        panic!("{seen:?}");
    };
    assert!(
        !results[0].ok && results[0].text.contains("something broke"),
        "{results:?}"
    );
    assert_eq!(alice.status(), Status::Running);
}

/// Something else where the claims stand.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct NoClaims {}

impl Document for NoClaims {
    type Id = ();

    fn place((): &()) -> Place {
        Place::Claims
    }
}

#[tokio::test(start_paused = true)]
async fn g8_a_new_message_of_the_user_ends_the_run_and_both_are_kept() {
    let team = team().await;
    let model = ScriptedModel::new()
        .stream(&["thinking ", "about"], Duration::from_secs(10))
        .say("both done");
    let alice = spawn(&team, "alice", &model).await;
    let first = tokio::spawn({
        let alice = alice.clone();
        async move { alice.ask("the first").await.unwrap() }
    });
    model.asked(1).await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    let second = alice.ask("the second").await.unwrap();
    let first = first.await.unwrap();
    assert_eq!(
        (first.end, first.text.as_str()),
        (RunEnd::Interrupted, "thinking ")
    );
    assert_eq!(
        (second.end, second.text.as_str()),
        (RunEnd::Answered, "both done")
    );
    let seen = model.requests().pop().unwrap();
    assert_eq!(seen.said(), "the first\nthe second");
    assert!(
        format!("{:?}", seen.turns[1]).contains("thinking "),
        "{:?}",
        seen.turns
    );
}

#[tokio::test(start_paused = true)]
async fn g8_a_message_in_the_middle_of_a_tool_leaves_no_call_without_its_result() {
    let team = team().await;
    let beats = Arc::new(AtomicUsize::new(0));
    let calls = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().call_tools(&[("beat", json!({})), ("count", json!({}))]);
    let spec = AgentSpec::new(model.clone())
        .tool(beating("beat", &beats, 100, Duration::from_millis(10)))
        .tool(counting("count", &calls));
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.tell("the first").await.unwrap();
    until(|| beats.load(Ordering::SeqCst) == 2).await;
    alice.ask("the second").await.unwrap();
    let seen = model.requests().pop().unwrap();
    let Turn::Tools { results } = &seen.turns[2] else {
        panic!("{:?}", seen.turns);
    };
    assert!(
        !results[0].ok && results[0].text.contains("interrupted"),
        "{results:?}"
    );
    assert!(
        results[1].ok,
        "what has answered stays answered: {results:?}"
    );
    assert_eq!(beats.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_ends_and_the_agent_waits_for_the_next_word() {
    let team = team().await;
    let model = ScriptedModel::new().silence();
    let alice = spawn(&team, "alice", &model).await;
    let asked = tokio::spawn({
        let alice = alice.clone();
        async move { alice.ask("go").await.unwrap() }
    });
    model.asked(1).await;
    alice.cancel();
    assert_eq!(asked.await.unwrap().end, RunEnd::Cancelled);
    assert_eq!(alice.ask("again").await.unwrap().end, RunEnd::Answered);
    assert_eq!(times(&model, "go"), 1);
}

#[tokio::test(start_paused = true)]
async fn g9_whatever_a_provider_does_the_reservation_is_released_and_the_mail_tried_again() {
    let limited = ModelError::RateLimited {
        why: "slow down".into(),
        retry_after_ms: Some(7_000),
    };
    let down = ModelError::Unavailable { why: "503".into() };
    for (model, least_ms) in [
        (ScriptedModel::new().fail(limited), 7_000),
        (ScriptedModel::new().fail(down), 250),
        (ScriptedModel::new().silence(), 60_000),
    ] {
        let team = builder().tpm(1_000_000).start().await.unwrap();
        let spec = AgentSpec::new(model.clone()).call_limit(Duration::from_secs(60));
        team.coordinator().spawn_agent("alice", spec).await.unwrap();
        let begun = tokio::time::Instant::now();
        team.send("alice", "hello").await.unwrap();
        model.asked(1).await;
        tokio::time::sleep(Duration::from_millis(least_ms - 1)).await;
        let unread = team
            .at_desk(|desk| desk.count_unread(&name("alice")))
            .await
            .unwrap();
        assert_eq!((unread, model.requests().len()), (1, 1));
        let seen = model.asked(2).await;
        assert!(begun.elapsed() >= Duration::from_millis(least_ms));
        assert_eq!(seen[1].said().matches("hello").count(), 1);
        settle().await;
        let status = team.rate_limiter().unwrap().status().await.unwrap();
        assert_eq!(
            (
                status.open_reservations,
                status.agents[0].tokens,
                status.agents[0].requests
            ),
            (0, 120, 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn g9_a_provider_that_stays_down_ends_the_run_and_mail_is_tried_again_later() {
    let team = team().await;
    let mut model = ScriptedModel::new();
    for _ in 0..7 {
        model = model.fail(ModelError::Unavailable { why: "503".into() });
    }
    let alice = spawn(&team, "alice", &model).await;
    let mut heard = alice.subscribe();
    team.send("alice", "hello").await.unwrap();
    let is_over = |happening: &Happening| matches!(happening, Happening::Output(output) if matches!(output.what, Emitted::RunEnded(_)));
    let heard = hear(&mut heard, is_over).await;
    let last = format!("{:?}", heard.last().unwrap());
    assert!(
        last.contains("ModelFailed") && last.contains("503"),
        "{last}"
    );
    let seen = model.asked(8).await;
    assert_eq!(seen[7].said().matches("hello").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn g9_a_message_that_the_provider_refuses_is_a_dead_letter_in_the_end() {
    let team = team().await;
    let mut model = ScriptedModel::new();
    for _ in 0..6 {
        model = model.fail(ModelError::Rejected {
            why: "content".into(),
        });
    }
    spawn(&team, "alice", &model).await;
    team.send("alice", "poison").await.unwrap();
    team.send("alice", "good").await.unwrap();
    let seen = model.asked(7).await;
    assert!(seen[0].said().contains("poison") && seen[0].said().contains("good"));
    assert!(seen[1].said().contains("poison") && !seen[1].said().contains("good"));
    settle().await;
    let last = model.requests().pop().unwrap().said();
    assert!(last.contains("good") && !last.contains("poison"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn g10_agents_that_only_thank_each_other_are_damped_and_the_leader_is_told() {
    let team = team().await;
    let thanks = |to: &str| {
        let mut model = ScriptedModel::new();
        for _ in 0..40 {
            model = model
                .call_tool("peer_message", json!({"to": to, "content": "thank you!"}))
                .say("");
        }
        model
    };
    let (ann, bob) = (thanks("bob"), thanks("ann"));
    spawn(&team, "ann", &ann).await;
    spawn(&team, "bob", &bob).await;
    let mut heard = team.comms().subscribe_agent("leader").unwrap();
    team.send("ann", "say hello to bob").await.unwrap();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let turns = ann.requests().len() + bob.requests().len();
    assert!(turns < 60, "{turns}");
    let told = hear(&mut heard, |happening| {
        matches!(happening, Happening::PeerMessage { .. })
    })
    .await;
    let told = format!("{:?}", told.last().unwrap());
    assert!(told.contains("no task moved meanwhile"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_says_what_it_used_and_what_others_do_is_a_fact() {
    let team = builder().budget(1.0).start().await.unwrap();
    let model = ScriptedModel::new().reply(Reply {
        text: "x".into(),
        ..Reply::default()
    });
    let mut heard = team.comms().subscribe_team().unwrap();
    spawn(&team, "alice", &model).await.ask("go").await.unwrap();
    let heard = hear(&mut heard, |happening| {
        matches!(happening, Happening::Fact(Fact::UsageRecorded { .. }))
    });
    let heard = heard.await;
    assert!(matches!(
        heard.last(),
        Some(Happening::Fact(Fact::UsageRecorded { tokens: 120, .. }))
    ));
}
