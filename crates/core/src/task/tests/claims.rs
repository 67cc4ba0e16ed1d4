//! Claiming: who gets a task, under which token, for how long.

use super::*;

#[test]
fn a_token_has_the_reference_s_form() {
    assert_eq!(
        claim_token(&name("w-1"), at(1_700_000_000_000), 4_000_000_007),
        "w-1-1700000000000-7"
    );
    assert_eq!(claim_token(&name("w"), at(0), 999_999), "w-0-999999");
}

#[test]
fn a_claim_gives_the_task_one_owner_and_one_token() {
    let expected = Task {
        status: Status::InProgress,
        owner: Some("w1".into()),
        started_at: Some("1970-01-01T00:00:10.000Z".into()),
        claim_token: Some("t1".into()),
        attempts: 1,
        ..pending()
    };
    check(
        pending(),
        |task| task.claim(&claimant(&name("w1"), "t1"), &Readiness::Ready, at(10_000)),
        expected,
    );
}

#[test]
fn b1_only_a_pending_task_can_be_claimed() {
    for (task, status, owner) in [
        (claimed(), Status::InProgress, Some("w1")),
        (done(), Status::Completed, Some("w1")),
        (failed(), Status::Failed, Some("w1")),
    ] {
        let refusal = check_refused(task, "not_pending", |task| {
            task.claim(&claimant(&name("w2"), "t2"), &Readiness::Ready, at(11_000))
        });
        let owner = owner.map(String::from);
        assert_eq!(
            refusal,
            Refusal::NotPending {
                id: "1".into(),
                status,
                owner
            }
        );
    }
}

#[test]
fn a_claim_is_refused_for_the_first_thing_that_stands_against_it() {
    let w1 = name("w1");
    let blocked = Readiness::Blocked {
        on: ["2".to_string()].to_vec(),
        failed: Vec::new(),
    };
    let task = Task {
        assignee: Some("w2".into()),
        ..pending()
    };
    let wanted = Claimant {
        holding: 3,
        limit: Some(3),
        lease_ms: Some(0),
        ..claimant(&w1, "t1")
    };
    let leased = Claimant {
        lease_ms: Some(1),
        ..wanted.clone()
    };
    let refuse = |task: &Task, claimant: &Claimant<'_>, readiness: &Readiness, code: &str| {
        check_refused(task.clone(), code, |task| {
            task.claim(claimant, readiness, at(0))
        })
    };
    refuse(&claimed(), &wanted, &blocked, "not_pending");
    refuse(&task, &wanted, &blocked, "invalid_input");
    refuse(&task, &leased, &blocked, "blocked");
    refuse(&task, &leased, &Readiness::Ready, "assigned_elsewhere");
    let refusal = refuse(&pending(), &leased, &Readiness::Ready, "claim_limit");
    assert_eq!(
        refusal,
        Refusal::ClaimLimit {
            member: "w1".into(),
            holding: 3,
            limit: 3
        }
    );
    let within = Claimant {
        limit: Some(4),
        ..leased
    };
    assert!(pending().claim(&within, &Readiness::Ready, at(0)).is_ok());
}

#[test]
fn a_task_that_is_meant_for_a_member_goes_to_no_other() {
    let task = Task {
        assignee: Some("w1".into()),
        ..pending()
    };
    assert!(
        task.clone()
            .claim(&claimant(&name("w1"), "t"), &Readiness::Ready, at(0))
            .is_ok()
    );
    for other in ["W1", "leader"] {
        check_refused(task.clone(), "assigned_elsewhere", |task| {
            task.claim(&claimant(&name(other), "t"), &Readiness::Ready, at(0))
        });
    }
}

#[test]
fn a_claim_token_is_new() {
    let w1 = name("w1");
    check_refused(pending(), "invalid_input", |task| {
        task.claim(&claimant(&w1, ""), &Readiness::Ready, at(0))
    });
    let lapsed = Task {
        lease_until: Some(at(11_000)),
        ..claimed()
    };
    check_refused(lapsed, "invalid_input", |task| {
        task.claim(&claimant(&w1, "t1"), &Readiness::Ready, at(11_000))
    });
}

#[test]
fn a_claim_can_be_taken_over_once_its_lease_ran_out_and_not_before() {
    let w2 = name("w2");
    let take_over = |task: &mut Task, now| task.claim(&claimant(&w2, "t2"), &Readiness::Ready, now);
    check_refused(leased(), "not_pending", |task| take_over(task, at(14_999)));
    check_refused(leased(), "not_pending", |task| take_over(task, at(-1)));
    let expected = Task {
        owner: Some("w2".into()),
        started_at: Some("1970-01-01T00:00:15.000Z".into()),
        claim_token: Some("t2".into()),
        attempts: 2,
        ..claimed()
    };
    check(leased(), |task| take_over(task, at(15_000)), expected);
    let mut taken = leased();
    take_over(&mut taken, at(15_000)).unwrap();
    check_refused(taken, "stale_token", |task| {
        task.finish("t1", Status::Completed, None, at(15_001))
    });
}

#[test]
fn progress_starts_the_lease_again_and_leaves_the_claim_as_it_was() {
    let expected = Task {
        result: Some("half".into()),
        lease_until: Some(at(17_000)),
        ..leased()
    };
    check(
        leased(),
        |task| task.progress("t1", Some("half".into()), at(12_000)),
        expected,
    );
    let late = Task {
        lease_until: Some(at(25_000)),
        ..leased()
    };
    check(leased(), |task| task.progress("t1", None, at(20_000)), late);
    let foreign = Task {
        lease_until: Some(at(15_000)),
        ..claimed()
    };
    check(
        foreign.clone(),
        |task| task.progress("t1", None, at(12_000)),
        foreign,
    );
}

#[test]
fn a_lapsed_claim_counts_against_its_owner_s_limit_once() {
    let (w1, w2) = (name("w1"), name("w2"));
    let again = |name| Claimant {
        holding: 1,
        limit: Some(1),
        ..claimant(name, "t2")
    };
    assert!(
        leased()
            .claim(&again(&w1), &Readiness::Ready, at(15_000))
            .is_ok()
    );
    check_refused(leased(), "claim_limit", |task| {
        task.claim(&again(&w2), &Readiness::Ready, at(15_000))
    });
}

#[test]
fn absurd_numbers_saturate() {
    let w1 = name("w1");
    let absurd = Claimant {
        lease_ms: Some(i64::MAX),
        ..claimant(&w1, "t")
    };
    let mut task = Task {
        attempts: u32::MAX,
        ..pending()
    };
    task.claim(&absurd, &Readiness::Ready, at(i64::MAX))
        .unwrap();
    assert_eq!(
        (task.attempts, task.lease_until),
        (u32::MAX, Some(at(i64::MAX)))
    );
}

#[test]
fn a_lease_that_ends_further_ahead_than_it_can_has_lapsed() {
    let now = Timestamp::from_millis(1_000_000);
    let mut task = Task::new(&TaskId::new("1").unwrap(), "", now);
    task.status = Status::InProgress;
    (task.lease_ms, task.lease_until) = (Some(600_000), Some(now.plus_millis(600_000)));
    assert!(!task.has_lapsed(now));
    assert!(
        !task.has_lapsed(now.plus_millis(-5_000)),
        "the clock was put right by a little"
    );
    assert!(task.has_lapsed(now.plus_millis(600_000)));
    task.lease_until = Timestamp::parse("2099-01-01T00:00:00Z");
    assert!(task.has_lapsed(now));
}
