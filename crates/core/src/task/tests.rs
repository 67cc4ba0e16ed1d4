use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;
use crate::refusal::NameKind;

mod claims;
mod laws;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn pending() -> Task {
    Task::new(&TaskId::new("1").unwrap(), "count the files", at(0))
}

fn claimant<'a>(name: &'a Name, token: &str) -> Claimant<'a> {
    Claimant {
        name,
        token: token.to_string(),
        lease_ms: None,
        holding: 0,
        limit: None,
    }
}

/// A task that `w1` claimed at 10 s under the token `t1`.
fn claimed() -> Task {
    let mut task = pending();
    task.claim(&claimant(&name("w1"), "t1"), &Readiness::Ready, at(10_000))
        .unwrap();
    task
}

fn ended(end: Status) -> Task {
    let mut task = claimed();
    task.finish("t1", end, Some("7".into()), at(20_000))
        .unwrap();
    task
}

fn done() -> Task {
    ended(Status::Completed)
}

fn failed() -> Task {
    ended(Status::Failed)
}

/// What a step makes of a task.
fn check(mut task: Task, step: impl FnOnce(&mut Task) -> Result<(), Refusal>, expected: Task) {
    step(&mut task).unwrap();
    assert_eq!(task, expected);
}

/// That a step is refused, with which code, and leaves the task as it was.
fn check_refused(
    task: Task,
    code: &str,
    step: impl FnOnce(&mut Task) -> Result<(), Refusal>,
) -> Refusal {
    let mut after = task.clone();
    let refusal = step(&mut after).unwrap_err();
    assert_eq!(refusal.code(), code);
    assert_eq!(after, task);
    refusal
}

#[test]
fn a_task_is_written_in_the_reference_s_order() {
    let mut task = claimed();
    task.claim_token = Some("w1-10000-7".into());
    let json = |task: &Task| serde_json::to_string(task).unwrap();
    assert_eq!(
        json(&pending()),
        r#"{"id":"1","description":"count the files","status":"pending","createdAt":"1970-01-01T00:00:00.000Z"}"#
    );
    task.finish(
        "w1-10000-7",
        Status::Completed,
        Some("7".into()),
        at(20_000),
    )
    .unwrap();
    assert_eq!(
        json(&task),
        r#"{"id":"1","description":"count the files","status":"completed","createdAt":"1970-01-01T00:00:00.000Z","owner":"w1","startedAt":"1970-01-01T00:00:10.000Z","claimToken":"w1-10000-7","result":"7","finishedAt":"1970-01-01T00:00:20.000Z","attempts":1}"#
    );
}

#[test]
fn what_other_programs_keep_where_text_belongs_is_read_as_text() {
    let json = r#"{"id":"1","description":null,"status":"failed","owner":5,"result":{"a":[1]},"startedAt":null}"#;
    let task: Task = serde_json::from_str(json).unwrap();
    assert_eq!(
        (task.description.as_str(), task.owner.as_deref()),
        ("", Some("5"))
    );
    assert_eq!(
        (task.result.as_deref(), task.started_at),
        (Some(r#"{"a":[1]}"#), None)
    );
    let json = r#"{"id":"1","status":"pending","result":"\"x\"","attempts":0}"#;
    assert_eq!(
        serde_json::from_str::<Task>(json)
            .unwrap()
            .result
            .as_deref(),
        Some("\"x\"")
    );
}

/// A task that `w1` claimed at 10 s for 5 s.
fn leased() -> Task {
    let (mut task, w1) = (pending(), name("w1"));
    let claimant = Claimant {
        lease_ms: Some(5_000),
        ..claimant(&w1, "t1")
    };
    task.claim(&claimant, &Readiness::Ready, at(10_000))
        .unwrap();
    assert_eq!(task.lease_until, Some(at(15_000)));
    task
}

#[test]
fn progress_keeps_the_last_result() {
    let with = |result: &str| Task {
        result: Some(result.into()),
        ..claimed()
    };
    check(
        claimed(),
        |task| task.progress("t1", Some("a".into()), at(11_000)),
        with("a"),
    );
    check(
        with("a"),
        |task| task.progress("t1", None, at(11_000)),
        with("a"),
    );
    check(
        with("a"),
        |task| task.progress("t1", Some("b".into()), at(11_000)),
        with("b"),
    );
}

#[test]
fn an_end_keeps_who_ended_it_and_under_which_token() {
    for end in [Status::Completed, Status::Failed] {
        let expected = Task {
            status: end,
            result: Some("7".into()),
            finished_at: Some("1970-01-01T00:00:20.000Z".into()),
            ..claimed()
        };
        check(
            claimed(),
            |task| task.finish("t1", end, Some("7".into()), at(20_000)),
            expected.clone(),
        );
        check(
            leased(),
            |task| task.finish("t1", end, Some("7".into()), at(20_000)),
            expected,
        );
    }
    let partly = Task {
        result: Some("half".into()),
        ..claimed()
    };
    let mut task = partly.clone();
    task.finish("t1", Status::Failed, None, at(20_000)).unwrap();
    assert_eq!(task.result, partly.result);
}

#[test]
fn a_task_ends_as_completed_or_failed_and_in_no_other_way() {
    for end in [Status::Pending, Status::InProgress] {
        check_refused(claimed(), "invalid_status", |task| {
            task.finish("t1", end, None, at(20_000))
        });
    }
}

#[test]
fn b2_of_two_ends_at_once_the_first_one_counts() {
    for first in [Status::Completed, Status::Failed] {
        for second in [Status::Completed, Status::Failed] {
            let refusal = check_refused(ended(first), "already_terminal", |task| {
                task.finish("t1", second, None, at(20_001))
            });
            let (id, expected) = ("1".into(), Status::InProgress);
            assert_eq!(
                refusal,
                Refusal::AlreadyTerminal {
                    id,
                    status: first,
                    expected
                }
            );
        }
    }
}

#[test]
fn b3_words_and_steps_that_do_not_exist_are_refused() {
    for (task, from, to, code) in [
        (claimed(), "in_progress", "banana", "invalid_status"),
        (claimed(), "in_progress", "", "invalid_status"),
        (claimed(), "", "completed", "invalid_status"),
        (claimed(), "in_progress", "Completed", "invalid_status"),
        (done(), "in_progress", "banana", "invalid_status"),
        (done(), "completed", "pending", "already_terminal"),
        (done(), "completed", "failed", "already_terminal"),
        (done(), "in_progress", "failed", "already_terminal"),
        (done(), "failed", "pending", "already_terminal"),
        (failed(), "in_progress", "completed", "already_terminal"),
        (failed(), "failed", "completed", "invalid_status"),
        (pending(), "pending", "completed", "invalid_status"),
        (pending(), "pending", "in_progress", "invalid_status"),
        (pending(), "in_progress", "completed", "unexpected_status"),
        (pending(), "failed", "pending", "unexpected_status"),
        (claimed(), "failed", "pending", "unexpected_status"),
    ] {
        for token in ["t1", "t0", ""] {
            let task = task.clone();
            check_refused(task, code, |task| {
                task.transition(from, to, token, Some("x".into()), at(30_000))
            });
        }
    }
}

#[test]
fn b3_an_older_owner_s_token_opens_nothing() {
    let stale = || {
        let mut task = claimed();
        task.release("t1").unwrap();
        task.claim(&claimant(&name("w2"), "t2"), &Readiness::Ready, at(15_000))
            .unwrap();
        task
    };
    for token in ["t1", "", "T2", "t2 "] {
        for to in ["in_progress", "completed", "failed", "pending"] {
            let refusal = check_refused(stale(), "stale_token", |task| {
                task.transition("in_progress", to, token, Some("x".into()), at(20_000))
            });
            assert_eq!(
                refusal,
                Refusal::StaleToken {
                    id: "1".into(),
                    owner: Some("w2".into())
                }
            );
        }
        check_refused(stale(), "stale_token", |task| task.take_back(Some(token)));
    }
    check_refused(failed(), "stale_token", |task| {
        task.transition("failed", "pending", "t0", None, at(30_000))
    });
    let unclaimed = Task {
        status: Status::InProgress,
        ..pending()
    };
    check_refused(unclaimed, "stale_token", |task| task.release(""));
}

#[test]
fn a_caller_s_words_name_the_steps() {
    let step = |task: Task, from: &str, to: &str, result: Option<&str>, expected: Task| {
        let result = result.map(String::from);
        check(
            task,
            |task| task.transition(from, to, "t1", result, at(20_000)),
            expected,
        );
    };
    let with = |task: Task| Task {
        result: Some("7".into()),
        ..task
    };
    step(
        claimed(),
        "in_progress",
        "in_progress",
        Some("7"),
        with(claimed()),
    );
    step(claimed(), "in_progress", "completed", Some("7"), done());
    step(claimed(), "in_progress", "failed", Some("7"), failed());
    let released = || Task {
        attempts: 1,
        ..pending()
    };
    step(
        with(claimed()),
        "in_progress",
        "pending",
        None,
        with(released()),
    );
    step(
        claimed(),
        "in_progress",
        "pending",
        Some("7"),
        with(released()),
    );
    step(failed(), "failed", "pending", None, released());
}

#[test]
fn a_released_task_is_pending_again_with_what_there_was_of_a_result() {
    let released = Task {
        attempts: 1,
        result: Some("half".into()),
        ..pending()
    };
    let half = Task {
        result: Some("half".into()),
        ..claimed()
    };
    check(half, |task| task.release("t1"), released.clone());
    check(
        Task {
            result: Some("half".into()),
            ..leased()
        },
        |task| task.release("t1"),
        released,
    );
}

#[test]
fn b6_a_task_is_taken_back_only_from_the_claim_that_was_looked_at() {
    check(
        claimed(),
        |task| task.take_back(Some("t1")),
        Task {
            attempts: 1,
            ..pending()
        },
    );
    check_refused(claimed(), "stale_token", |task| task.take_back(None));
    check_refused(pending(), "unexpected_status", |task| task.take_back(None));
    check_refused(done(), "already_terminal", |task| {
        task.take_back(Some("t1"))
    });
    let unclaimed = Task {
        status: Status::InProgress,
        owner: Some("w9".into()),
        ..pending()
    };
    check(unclaimed, |task| task.take_back(None), pending());
}

#[test]
fn a_failed_task_can_be_tried_again_by_whoever_failed_or_on_the_leader_s_word() {
    let again = Task {
        attempts: 1,
        ..pending()
    };
    check(failed(), |task| task.retry(None), again.clone());
    check(failed(), |task| task.retry(Some("t1")), again);
    for token in ["", "t0"] {
        check_refused(failed(), "stale_token", |task| task.retry(Some(token)));
    }
    check_refused(done(), "already_terminal", |task| task.retry(None));
    check_refused(claimed(), "unexpected_status", |task| task.retry(None));
    check_refused(pending(), "unexpected_status", |task| task.retry(None));
}
