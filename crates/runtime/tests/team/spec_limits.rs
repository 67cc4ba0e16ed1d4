//! RateLimiter: the spec's table.

use std::time::Duration;

use pitcrew_runtime::model::ScriptedModel;
use pitcrew_runtime::team::{AgentSpec, Micros, Team, TeamBuilder, Used};

use crate::stage::builder;

async fn with(builder: TeamBuilder) -> Team {
    let team = builder.start().await.unwrap();
    for agent in ["alice", "bob"] {
        let spec = AgentSpec::new(ScriptedModel::new());
        team.coordinator().spawn_agent(agent, spec).await.unwrap();
    }
    team
}

fn usd(dollars: f64) -> Option<Micros> {
    Micros::from_usd(dollars)
}

#[tokio::test(start_paused = true)]
async fn acquire_then_record_usage_reconciles_the_reservation() {
    let team = with(builder().budget(10.0).tpm(100_000)).await;
    let limiter = team.rate_limiter().unwrap();
    let id = limiter.acquire("alice", 1_000).await.unwrap();
    assert_eq!(limiter.status().await.unwrap().open_reservations, 1);
    let used = Used {
        tokens: 700,
        cost: usd(0.25),
        reservation: Some(id),
    };
    limiter.record_usage("alice", used).await.unwrap();
    let status = limiter.status().await.unwrap();
    assert_eq!(status.open_reservations, 0);
    assert_eq!(status.budget_remaining, usd(9.75));
    let alice = &status.agents[0];
    assert_eq!(
        (alice.name.as_str(), alice.tokens, alice.requests),
        ("alice", 700, 1)
    );
    assert_eq!(Some(alice.cost), usd(0.25));
}

#[tokio::test(start_paused = true)]
async fn record_usage_without_a_reservation_is_booked_after_the_fact() {
    let team = with(builder().budget(1.0)).await;
    let limiter = team.rate_limiter().unwrap();
    let used = Used {
        tokens: 10,
        cost: usd(0.5),
        reservation: None,
    };
    limiter.record_usage("bob", used).await.unwrap();
    assert_eq!(limiter.status().await.unwrap().budget_remaining, usd(0.5));
}

#[tokio::test(start_paused = true)]
async fn release_refunds() {
    let team = with(builder().tpm(1_000)).await;
    let limiter = team.rate_limiter().unwrap();
    let id = limiter.acquire("alice", 1_000).await.unwrap();
    assert_eq!(
        limiter.acquire("bob", 1).await.unwrap_err().code(),
        "rate_limited"
    );
    limiter.release("alice", id).await.unwrap();
    limiter.acquire("bob", 1_000).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn acquire_fails_with_budget_exceeded_and_rate_limited() {
    let team = with(builder().budget(1.0).member_budget(0.4).rpm(3)).await;
    let limiter = team.rate_limiter().unwrap();
    let used = Used {
        tokens: 1,
        cost: usd(0.4),
        reservation: None,
    };
    limiter.record_usage("alice", used).await.unwrap();
    assert_eq!(
        limiter.acquire("alice", 1).await.unwrap_err().code(),
        "budget_exceeded"
    );
    limiter.acquire("bob", 1).await.unwrap();
    limiter.acquire("bob", 1).await.unwrap();
    assert_eq!(
        limiter.acquire("bob", 1).await.unwrap_err().code(),
        "rate_limited"
    );
    let used = Used {
        tokens: 1,
        cost: usd(0.6),
        reservation: None,
    };
    limiter.record_usage("alice", used).await.unwrap();
    assert_eq!(
        limiter.acquire("bob", 1).await.unwrap_err().code(),
        "budget_exceeded"
    );
}

#[tokio::test(start_paused = true)]
async fn reservations_that_nobody_settles_are_refunded_after_five_minutes() {
    let team = with(builder().tpm(1_000)).await;
    let limiter = team.rate_limiter().unwrap();
    let mut heard = team.comms().subscribe_team().unwrap();
    limiter.acquire("alice", 1_000).await.unwrap();
    tokio::time::sleep(Duration::from_secs(301)).await;
    assert_eq!(limiter.status().await.unwrap().open_reservations, 0);
    let told = format!("{:?}", heard.next().await.unwrap());
    assert!(told.contains("ReservationLapsed"), "{told}");
}
