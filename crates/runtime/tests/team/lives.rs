//! Lives of agents and of teams: crashes and restarts, parts that break, programs that end and begin again, and the same
//! folder seen from a program and from commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use pitcrew_core::restart::{Standing, Wanted};
use pitcrew_core::roster::Seat;
use pitcrew_runtime::clock::{SystemClock, SystemEntropy};
use pitcrew_runtime::desk::{self, Credentials, Desk};
use pitcrew_runtime::model::{ScriptedModel, ToolAnswer, ToolFn, ToolSpec, Turn};
use pitcrew_runtime::team::{Activity, AgentSpec, Happening, Policy, RunEnd, Start, Status, Team};
use pitcrew_store::port::{ErasedRule, State};
use pitcrew_store::{
    Cursor, Kind, Log, MemoryStore, Page, Place, Project, Store, StoreFailure, Watch,
};
use serde_json::json;

use crate::stage::{beating, builder, name, next, settle, team, until};

#[tokio::test(start_paused = true)]
async fn a_crashed_agent_goes_on_after_its_back_off_with_what_it_was_told() {
    let team = team().await;
    let model = ScriptedModel::new().say("noted").panic("a wire");
    let policy = Policy {
        first_ms: 1_000,
        longest_ms: 1_000,
        ..Policy::default()
    };
    let spec = AgentSpec::new(model.clone()).restart(policy);
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.ask("remember 42").await.unwrap();
    alice.tell("what was it?").await.unwrap();
    model.asked(2).await;
    settle().await;
    assert!(matches!(alice.activity(), Activity::Restarting { .. }));
    let explained = team.coordinator().explain("alice").await.unwrap();
    assert!(matches!(explained.standing, Standing::Due { .. }) && explained.wanted == Wanted::Up);
    assert!(
        explained.why.contains("is started again in") && explained.why.contains("a wire"),
        "{}",
        explained.why
    );
    let begun = tokio::time::Instant::now();
    let seen = model.asked(3).await;
    assert!(
        begun.elapsed() >= Duration::from_millis(400),
        "{:?}",
        begun.elapsed()
    );
    let told = ["remember 42", "what was it?"].map(|text| Turn::User { text: text.into() });
    assert_eq!((&seen[2].turns[0], &seen[2].turns[2]), (&told[0], &told[1]));
    until(|| alice.activity() == Activity::Idle).await;
    let why = team.coordinator().explain("alice").await.unwrap().why;
    assert_eq!(why, "alice runs and waits for a message");
}

#[tokio::test(start_paused = true)]
async fn restart_agent_begins_a_new_life_with_the_same_history() {
    let team = team().await;
    let model = ScriptedModel::new();
    let alice = team
        .coordinator()
        .spawn_agent("alice", AgentSpec::new(model.clone()))
        .await
        .unwrap();
    alice.ask("one").await.unwrap();
    let mut heard = team.comms().subscribe_team().unwrap();
    team.coordinator().restart_agent("alice").await.unwrap();
    assert!(matches!(
        next(&mut heard).await,
        Happening::AgentLeft { .. }
    ));
    assert!(matches!(
        next(&mut heard).await,
        Happening::AgentJoined { .. }
    ));
    alice.ask("two").await.unwrap();
    assert_eq!(model.requests()[1].said(), "one\ntwo");
    assert_eq!(alice.history().await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_stopped_begins_anew_unless_told_otherwise() {
    let team = team().await;
    let model = ScriptedModel::new();
    let spec = AgentSpec::new(model.clone());
    for (start, said) in [
        (Start::Anew, "two"),
        (Start::WhereItStopped, "one\ntwo\ntwo"),
    ] {
        let alice = team
            .coordinator()
            .spawn_agent("alice", spec.clone())
            .await
            .unwrap();
        if start == Start::Anew {
            alice.ask("one").await.unwrap();
        }
        team.coordinator().stop_agent("alice").await.unwrap();
        let again = spec.clone().start(start);
        let alice = team
            .coordinator()
            .spawn_agent("alice", again)
            .await
            .unwrap();
        alice.ask("two").await.unwrap();
        assert_eq!(model.requests().last().unwrap().said(), said);
        team.coordinator().stop_agent("alice").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ended_in_the_middle_of_a_tool_goes_on_and_repairs_the_call() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let beats = Arc::new(AtomicUsize::new(0));
    {
        let team = builder().store(Arc::clone(&store)).start().await.unwrap();
        let model = ScriptedModel::new().call_tool("beat", json!({}));
        let spec =
            AgentSpec::new(model).tool(beating("beat", &beats, 100, Duration::from_millis(10)));
        let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
        alice.tell("go").await.unwrap();
        until(|| beats.load(Ordering::SeqCst) > 3).await;
        // The program ends without a word.
    }
    settle().await;
    let team = builder().store(store).start().await.unwrap();
    let model = ScriptedModel::new().say("I looked again.");
    let alice = team
        .coordinator()
        .spawn_agent("alice", AgentSpec::new(model.clone()))
        .await
        .unwrap();
    let seen = model.asked(1).await;
    let Turn::Tools { results } = &seen[0].turns[2] else {
        panic!("{:?}", seen[0].turns);
    };
    assert!(
        !results[0].ok && results[0].text.contains("interrupted"),
        "{results:?}"
    );
    until(|| alice.activity() == Activity::Idle).await;
    let member = team
        .at_desk(|desk| desk.roster().map(|team| team.member("alice").cloned()))
        .await;
    let member = member.unwrap().unwrap();
    assert_eq!((member.incarnation, member.seat), (2, Some(Seat::Model)));
}

/// A store that panics when its claims are read, once it is told to.
#[derive(Default)]
struct Cracked {
    store: MemoryStore,
    cracks: AtomicBool,
}

impl Store for Cracked {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        self.store.append(log, records)
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        self.store.read(log, from, limit)
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        self.store.list(kind)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        self.store.watch()
    }

    fn is_prompt(&self) -> bool {
        true
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        assert!(
            *place != Place::Claims || !self.cracks.swap(false, Ordering::SeqCst),
            "cracked"
        );
        self.store.view_erased(place, rule)
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        self.store.update_erased(place, rule)
    }
}

#[tokio::test(start_paused = true)]
async fn when_a_part_of_the_team_panics_all_are_started_again_and_the_agents_go_on() {
    let store = Arc::new(Cracked::default());
    let team = builder()
        .store(Arc::clone(&store) as Arc<dyn Store>)
        .start()
        .await
        .unwrap();
    let model = ScriptedModel::new();
    let alice = team
        .coordinator()
        .spawn_agent("alice", AgentSpec::new(model.clone()))
        .await
        .unwrap();
    alice.ask("one").await.unwrap();
    team.shared_state()
        .claim_region("alice", "a.rs", 1, 2)
        .await
        .unwrap();
    settle().await;
    let mut heard = team.comms().subscribe_team().unwrap();
    store.cracks.store(true, Ordering::SeqCst);
    // Whoever keeps the claims looks when one of them ends.
    let released = tokio::spawn({
        let state = team.shared_state().clone();
        async move {
            tokio::time::sleep(Duration::from_secs(301)).await;
            state.claims().await.unwrap().len()
        }
    });
    assert!(matches!(
        next(&mut heard).await,
        Happening::AgentLeft { .. }
    ));
    assert!(matches!(
        next(&mut heard).await,
        Happening::AgentJoined { .. }
    ));
    assert_eq!(released.await.unwrap(), 0);
    assert_eq!(alice.ask("two").await.unwrap().end, RunEnd::Answered);
    assert_eq!(model.requests().last().unwrap().said().lines().count(), 2);
    assert_eq!(team.coordinator().list_agents().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_agent_that_blocks_its_thread_is_shut_out_and_named() {
    let team = Team::builder("team_1").start().await.unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (entered, mut inside) = tokio::sync::mpsc::unbounded_channel();
    let released = std::sync::Mutex::new(released);
    let schema = ToolSpec::bare("block", "").schema;
    let block = ToolFn::new("block", "Blocks.", schema, move |_, _| {
        entered.send(()).unwrap();
        // Until the test lets it go.
        released.lock().unwrap().recv().unwrap();
        std::future::ready(ToolAnswer::done("let go"))
    });
    let model = ScriptedModel::new().call_tool("block", json!({}));
    let spec = AgentSpec::new(model.clone()).tool(block);
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.tell("go").await.unwrap();
    inside.recv().await.unwrap();
    let refused = team.coordinator().stop_agent("alice").await.unwrap_err();
    assert_eq!(refused.code(), "blocked");
    assert_eq!(
        (alice.status(), alice.activity()),
        (Status::Stopped, Activity::Ended)
    );
    let end = || team.at_desk(|desk| desk.store().append(&Log::History(name("alice")), &[]));
    let before = end().await.unwrap();
    release.send(()).unwrap();
    team.shutdown().await.unwrap();
    assert_eq!((end().await.unwrap(), model.requests().len()), (before, 1));
}

#[tokio::test]
async fn real_commands_on_the_same_folder_and_a_team_in_a_program_see_one_another() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    let team = Team::builder("demo")
        .project(folder.path())
        .tpm(1_000_000)
        .start()
        .await
        .unwrap();
    let model = ScriptedModel::new().call_tool(
        "peer_message",
        json!({"to": "leader", "content": "found it"}),
    );
    let spec = AgentSpec::new(model.clone());
    team.coordinator().spawn_agent("alice", spec).await.unwrap();
    let project = Project::at(folder.path()).unwrap();
    let demo = name("demo");
    let outside = project.team(&demo);
    let (clock, entropy) = (SystemClock, SystemEntropy);
    let desk = Desk::new(&demo, &outside, &clock, &entropy);
    let status = desk.status().unwrap();
    assert_eq!(status.members.len(), 1);
    assert_eq!(
        desk.standing(&name("alice"), 1).unwrap(),
        desk::Standing::Running
    );
    // What another process writes wakes the agent.
    let draft = pitcrew_core::mailbox::Draft::text("where is it?");
    desk.send(&Credentials::default(), "alice", &draft).unwrap();
    let seen = model.asked(2).await;
    assert!(seen[0].said().contains("where is it?"));
    let mut told = Vec::new();
    let leader = pitcrew_core::Name::leader();
    desk.mail_since(&leader, 0, &mut |message, _| told.push(message.body))
        .unwrap();
    assert_eq!(told, ["found it"]);
    team.coordinator().stop_agent("alice").await.unwrap();
    assert!(desk.roster().unwrap().workers.is_empty());
    team.shutdown().await.unwrap();
}
