//! The faults of limits, as the model sees them: which calls were made, and which never were.

use std::sync::Arc;
use std::time::Duration;

use pitcrew_core::limiter::WhenUnreachable;
use pitcrew_runtime::model::{ModelError, Reply, ScriptedModel, Usage};
use pitcrew_runtime::team::{AgentSpec, Micros, RunEnd, Team, Used};
use pitcrew_store::port::{ErasedRule, State};
use pitcrew_store::{Cursor, Kind, Log, MemoryStore, Page, Place, Store, StoreFailure, Watch};

use crate::stage::{NOW, builder, settle};

fn usd(dollars: f64) -> Option<Micros> {
    Micros::from_usd(dollars)
}

#[tokio::test(start_paused = true)]
async fn f1_ten_calls_of_60_cents_with_a_dollar_left_are_one_call() {
    let team = builder().budget(1.0).start().await.unwrap();
    let mut models = Vec::new();
    let mut asked = Vec::new();
    for n in 0..10 {
        let reply = Reply {
            text: "x".into(),
            cost: usd(0.6),
            ..Reply::default()
        };
        let model = ScriptedModel::new()
            .estimating(1_000, usd(0.6))
            .after(Duration::from_secs(5))
            .reply(reply);
        let spec = AgentSpec::new(model.clone());
        let agent = team
            .coordinator()
            .spawn_agent(&format!("a{n}"), spec)
            .await
            .unwrap();
        models.push(model);
        asked.push(tokio::spawn(
            async move { agent.ask("go").await.unwrap().end },
        ));
    }
    let mut ends = Vec::new();
    for end in asked {
        ends.push(end.await.unwrap().word());
    }
    let calls: usize = models.iter().map(|model| model.requests().len()).sum();
    assert_eq!(calls, 1);
    assert_eq!(ends.iter().filter(|end| **end == "answered").count(), 1);
    assert_eq!(
        ends.iter().filter(|end| **end == "limit_reached").count(),
        9
    );
    let status = team.rate_limiter().unwrap().status().await.unwrap();
    assert_eq!(status.budget_remaining, usd(0.4));
}

#[tokio::test(start_paused = true)]
async fn f2_a_call_that_used_less_than_it_set_aside_gives_no_phantom_credit() {
    let team = builder().tpm(1_000).start().await.unwrap();
    let usage = Usage {
        input: 90,
        output: 10,
        cached: 0,
    };
    let first = ScriptedModel::new()
        .estimating(1_000, None)
        .after(Duration::from_secs(59))
        .reply(Reply {
            text: "x".into(),
            usage,
            ..Reply::default()
        });
    let spec = AgentSpec::new(first);
    let alice = team.coordinator().spawn_agent("alice", spec).await.unwrap();
    alice.ask("go").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let limiter = team.rate_limiter().unwrap();
    assert_eq!(
        limiter.acquire("alice", 1_900).await.unwrap_err().code(),
        "never_fits"
    );
}

#[tokio::test(start_paused = true)]
async fn f3_a_reservation_is_settled_once_whoever_tries_twice() {
    let team = builder().tpm(1_000).start().await.unwrap();
    let spec = AgentSpec::new(ScriptedModel::new());
    team.coordinator()
        .spawn_agents(vec![("alice".into(), spec.clone()), ("bob".into(), spec)])
        .await
        .unwrap();
    let limiter = team.rate_limiter().unwrap();
    let id = limiter.acquire("alice", 500).await.unwrap();
    let used = Used {
        tokens: 100,
        cost: None,
        reservation: Some(id),
    };
    let booked = limiter.record_usage("bob", used).await.unwrap();
    assert_eq!(booked.owner.as_str(), "alice");
    assert_eq!(
        limiter
            .record_usage("alice", used)
            .await
            .unwrap_err()
            .code(),
        "already_settled"
    );
    assert_eq!(
        limiter.release("alice", id).await.unwrap_err().code(),
        "already_settled"
    );
    assert_eq!(limiter.status().await.unwrap().agents[0].tokens, 100);
}

#[tokio::test(start_paused = true)]
async fn f5_a_call_above_the_tokens_of_a_minute_is_never_made_and_says_so() {
    let team = builder().tpm(100).start().await.unwrap();
    let model = ScriptedModel::new().estimating(5_000, None);
    let alice = team
        .coordinator()
        .spawn_agent("alice", AgentSpec::new(model.clone()))
        .await
        .unwrap();
    let report = alice.ask("go").await.unwrap();
    assert!(
        matches!(&report.end, RunEnd::LimitReached { code, .. } if code == "never_fits"),
        "{report:?}"
    );
    assert!(model.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn f6_rpm_and_tpm_hold_without_a_budget_and_calls_wait_for_room() {
    let team = builder().rpm(2).start().await.unwrap();
    let model = ScriptedModel::new();
    let alice = team
        .coordinator()
        .spawn_agent("alice", AgentSpec::new(model.clone()))
        .await
        .unwrap();
    let begun = tokio::time::Instant::now();
    for _ in 0..2 {
        alice.ask("go").await.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
    let third = alice.ask("go").await.unwrap();
    assert_eq!(third.end, RunEnd::Answered);
    assert!(
        begun.elapsed() >= Duration::from_secs(59),
        "{:?}",
        begun.elapsed()
    );
}

/// A store whose limits cannot be read.
struct NoLimits(MemoryStore);

impl Store for NoLimits {
    fn append(&self, log: &Log, records: &[&[u8]]) -> Result<Cursor, StoreFailure> {
        self.0.append(log, records)
    }

    fn read(&self, log: &Log, from: Cursor, limit: usize) -> Result<Page, StoreFailure> {
        self.0.read(log, from, limit)
    }

    fn list(&self, kind: Kind) -> Result<Vec<String>, StoreFailure> {
        self.0.list(kind)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, StoreFailure> {
        self.0.watch()
    }

    fn is_prompt(&self) -> bool {
        true
    }

    fn view_erased(
        &self,
        place: &Place,
        rule: &dyn ErasedRule,
    ) -> Result<Option<State>, StoreFailure> {
        self.0.view_erased(place, rule)
    }

    fn update_erased(&self, place: &Place, rule: &mut dyn ErasedRule) -> Result<(), StoreFailure> {
        if *place == Place::Limits {
            return Err(StoreFailure::corrupt(place, "unreachable"));
        }
        self.0.update_erased(place, rule)
    }
}

#[tokio::test(start_paused = true)]
async fn f8_calls_are_refused_while_the_limiter_is_unreachable_unless_the_team_chose_otherwise() {
    for choice in [WhenUnreachable::Refuse, WhenUnreachable::Admit] {
        let model = ScriptedModel::new();
        let team = builder()
            .store(Arc::new(NoLimits(MemoryStore::new())))
            .when_limiter_unreachable(choice)
            .start()
            .await
            .unwrap();
        let alice = team
            .coordinator()
            .spawn_agent("alice", AgentSpec::new(model.clone()))
            .await
            .unwrap();
        let end = alice.ask("go").await.unwrap().end;
        let (word, calls) = match choice {
            WhenUnreachable::Refuse => ("limit_reached", 0),
            WhenUnreachable::Admit => ("answered", 1),
        };
        assert_eq!(
            (end.word(), model.requests().len()),
            (word, calls),
            "{end:?}"
        );
    }
}

async fn two(team: &Team, one: &ScriptedModel, other: &ScriptedModel) {
    for (agent, model) in [("alice", one), ("bob", other)] {
        team.coordinator()
            .spawn_agent(agent, AgentSpec::new(model.clone()))
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn f9_a_usage_limit_pauses_the_whole_team_and_mail_keeps_coming() {
    let team = builder().rpm(1_000).start().await.unwrap();
    let resets_at_ms = NOW + 3_600_000;
    let limit = ModelError::UsageLimit {
        why: "resets 15:00".into(),
        resets_at_ms,
    };
    let (alice, bob) = (ScriptedModel::new().fail(limit), ScriptedModel::new());
    two(&team, &alice, &bob).await;
    let begun = tokio::time::Instant::now();
    team.send("alice", "one").await.unwrap();
    alice.asked(1).await;
    settle().await;
    team.send("bob", "two").await.unwrap();
    team.send("alice", "three").await.unwrap();
    tokio::time::sleep(Duration::from_secs(3_500)).await;
    assert_eq!((alice.requests().len(), bob.requests().len()), (1, 0));
    let seen = alice.asked(2).await;
    bob.asked(1).await;
    let took = begun.elapsed();
    assert!((3_600..3_610).contains(&took.as_secs()), "{took:?}");
    assert!(seen[1].said().contains("one") && seen[1].said().contains("three"));
}
