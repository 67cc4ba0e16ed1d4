//! What holds of a task whatever is asked of it, in any order, by anybody.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Claim {
        who: usize,
        lease_ms: Option<i64>,
    },
    Transition {
        from: &'static str,
        to: &'static str,
    },
    Release,
    Progress,
    Finish(Status),
    TakeBack,
    Retry {
        with_token: bool,
    },
}

/// A step, which of the tokens given out so far it carries (0 is the newest), and how much time passes before it.
fn steps() -> impl Strategy<Value = Vec<(Step, usize, i64)>> {
    let lease = proptest::option::of(1..50_i64);
    let word = || {
        proptest::sample::select(&["pending", "in_progress", "completed", "failed", "banana"][..])
    };
    let status = [
        Status::Pending,
        Status::InProgress,
        Status::Completed,
        Status::Failed,
    ];
    let step = prop_oneof![
        4 => (0..3_usize, lease).prop_map(|(who, lease_ms)| Step::Claim { who, lease_ms }),
        2 => (word(), word()).prop_map(|(from, to)| Step::Transition { from, to }),
        1 => Just(Step::Release),
        1 => Just(Step::Progress),
        1 => proptest::sample::select(status.to_vec()).prop_map(Step::Finish),
        1 => Just(Step::TakeBack),
        1 => any::<bool>().prop_map(|with_token| Step::Retry { with_token }),
    ];
    let token = prop_oneof![3 => Just(0), 1 => 0..4_usize];
    proptest::collection::vec((step, token, -20..40_i64), 0..50)
}

/// What holds of a task at any moment.
fn check_whole(task: &Task) {
    let is_held = task.status == Status::InProgress;
    let is_ended = matches!(task.status, Status::Completed | Status::Failed);
    assert_eq!(task.owner.is_some(), is_held || is_ended, "{task:?}");
    assert_eq!(task.claim_token.is_some(), is_held || is_ended, "{task:?}");
    assert_eq!(task.finished_at.is_some(), is_ended, "{task:?}");
    assert!(task.lease_until.is_none() || is_held, "{task:?}");
    assert_eq!(
        task.lease_until.is_some(),
        task.lease_ms.is_some(),
        "{task:?}"
    );
}

proptest! {
    #[test]
    fn one_owner_at_a_time_and_a_stale_token_changes_nothing(steps in steps()) {
        let names = ["w1", "w2", "leader"].map(name);
        let (mut task, mut tokens, mut now) = (pending(), Vec::<String>::new(), at(1_000));
        for (step, age, ms) in steps {
            now = now.plus_millis(ms);
            let before = task.clone();
            let token = tokens.iter().rev().nth(age).cloned().unwrap_or_default();
            let mut needs_token = true;
            let outcome = match step {
                Step::Claim { who, lease_ms } => {
                    needs_token = false;
                    let token = alloc::format!("t{}", tokens.len());
                    tokens.push(token.clone());
                    let claimant = Claimant { lease_ms, ..claimant(&names[who], &token) };
                    task.claim(&claimant, &Readiness::Ready, now)
                }
                Step::Transition { from, to } => task.transition(from, to, &token, Some("r".into()), now),
                Step::Release => task.release(&token),
                Step::Progress => task.progress(&token, None, now),
                Step::Finish(end) => task.finish(&token, end, None, now),
                Step::TakeBack => task.take_back(Some(&token)),
                Step::Retry { with_token } => {
                    needs_token = with_token;
                    task.retry(with_token.then_some(token.as_str()))
                }
            };
            check_whole(&task);
            let is_current = before.claim_token.as_deref() == Some(token.as_str());
            match outcome {
                Err(_) => prop_assert_eq!(&task, &before),
                Ok(()) => {
                    prop_assert!(!needs_token || is_current);
                    prop_assert_ne!(before.status, Status::Completed);
                    let lapsed = before.lease_until.is_some_and(|until| until <= now);
                    let changes_owner = before.status == Status::InProgress
                        && task.status == Status::InProgress
                        && task.claim_token != before.claim_token;
                    prop_assert!(!changes_owner || lapsed);
                }
            }
            prop_assert_eq!(task.attempts - before.attempts, u32::from(!needs_token && outcome.is_ok()
                && task.status == Status::InProgress));
            let json = serde_json::to_string(&task).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Task>(&json).unwrap(), &task);
        }
    }
}
