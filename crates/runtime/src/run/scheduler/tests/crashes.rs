//! What crashes and failures do to a task, and who goes on with it.

use super::*;
use MailSettlement::GiveBack;

#[test]
fn a_failed_task_is_tried_again_with_growing_pauses_and_then_failed() {
    let mut scene = Scene::with(vec![agent("a")], vec![task("t", None, &[])], |plan| {
        let terms = TaskTerms {
            kind: ProfileKind::Agent,
            retries: 2,
        };
        plan.tasks.insert("t".to_string(), terms);
    });
    for (turn, pause) in [(1, 1_000), (2, 2_000)] {
        assert_eq!(scene.orders(), [start(0, turn, "t")]);
        let orders = scene.end(0, turn, End::Failed);
        assert_eq!(orders, [settle(0, turn, Settlement::PutBack, GiveBack)]);
        scene.settle(0, turn, "t", Status::Pending, Some("a"));
        assert_eq!(scene.orders(), []);
        assert_eq!(
            scene.scheduler.deadline(at(scene.now)),
            Some(scene.now + pause)
        );
        scene.now += pause;
    }
    assert_eq!(scene.orders(), [start(0, 3, "t")]);
    let orders = scene.end(0, 3, End::Failed);
    assert_eq!(orders, [settle(0, 3, Settlement::Fail, GiveBack)]);
    scene.settle(0, 3, "t", Status::Failed, Some("a"));
    assert_eq!(scene.orders(), [Order::Finish(Finish::Done)]);
}

#[test]
fn what_a_member_failed_itself_counts_once_and_is_put_back_while_it_has_retries() {
    for end in [End::Succeeded, End::Failed] {
        let mut scene = Scene::with(vec![agent("a")], vec![task("t", None, &[])], |plan| {
            let terms = TaskTerms {
                kind: ProfileKind::Agent,
                retries: 1,
            };
            plan.tasks.insert("t".to_string(), terms);
        });
        scene.orders();
        scene.end(0, 1, end);
        scene.settle(0, 1, "t", Status::Failed, Some("a"));
        assert_eq!(scene.orders(), [Order::Retry("t".to_string())], "{end:?}");
        scene.stand("t", Status::Pending, Some("a"));
        scene.now += 1_000;
        assert_eq!(scene.orders(), [start(0, 2, "t")]);
        scene.end(0, 2, end);
        scene.settle(0, 2, "t", Status::Failed, Some("a"));
        assert_eq!(scene.orders(), [Order::Finish(Finish::Done)], "{end:?}");
    }
}

#[test]
fn a_turn_with_refused_tools_is_not_tried_again() {
    let mut scene = Scene::with(vec![agent("a")], vec![task("t", None, &[])], |plan| {
        let terms = TaskTerms {
            kind: ProfileKind::Agent,
            retries: 5,
        };
        plan.tasks.insert("t".to_string(), terms);
    });
    scene.orders();
    let orders = scene.end(0, 1, End::Refused);
    assert_eq!(orders, [settle(0, 1, Settlement::Fail, GiveBack)]);
    scene.settle(0, 1, "t", Status::Failed, Some("a"));
    assert_eq!(scene.orders(), [Order::Finish(Finish::Done)]);
}

#[test]
fn a_crash_holds_the_task_for_the_restart_until_there_is_none() {
    let mut plan = agent("a");
    plan.restarts.most = 2;
    let mut scene = Scene::new(vec![plan], vec![task("t", Some("a"), &[])]);
    assert_eq!(scene.orders(), [start(0, 1, "t")]);
    for (turn, pause) in [(1, 1_000), (2, 2_000)] {
        scene.stand("t", Status::InProgress, Some("a"));
        let orders = scene.end(0, turn, End::Crashed);
        assert_eq!(orders, [settle(0, turn, Settlement::Hold, GiveBack)]);
        scene.settle(0, turn, "t", Status::InProgress, Some("a"));
        assert_eq!(scene.orders(), []);
        assert_eq!(
            scene.scheduler.deadline(at(scene.now)),
            Some(scene.now + pause)
        );
        let state = scene.scheduler.view(at(scene.now)).next().unwrap().state;
        assert_eq!(state, SeatState::Restarting(scene.now + pause));
        scene.now += pause;
        assert_eq!(scene.orders(), [starts(0, turn + 1, "t", Held::Yes)]);
    }
    let gave_up = StopReason::GaveUp { restarts: 2 };
    let orders = scene.end(0, 3, End::Crashed);
    let put_back = settle(0, 3, Settlement::PutBack, GiveBack);
    assert_eq!(orders, [Order::Tell(0, gave_up), put_back]);
    scene.settle(0, 3, "t", Status::Pending, Some("a"));
    assert_eq!(scene.orders(), [Order::Finish(Finish::Done)]);
    assert!(scene.scheduler.is_hopeless(&scene.tasks[0]));
}

#[test]
fn another_member_takes_what_a_crashed_one_had_to_give_back() {
    let mut plan = agent("a");
    plan.restarts.most = 0;
    let mut scene = Scene::new(
        vec![plan, agent("b")],
        vec![task("t", None, &[]), task("u", Some("b"), &[])],
    );
    assert_eq!(scene.orders(), [start(0, 1, "t"), start(1, 1, "u")]);
    scene.end(0, 1, End::Crashed);
    scene.settle(0, 1, "t", Status::Pending, Some("a"));
    assert_eq!(scene.orders(), []);
    scene.end(1, 1, End::Succeeded);
    scene.settle(1, 1, "u", Status::Completed, Some("b"));
    assert_eq!(scene.orders(), [start(1, 2, "t")]);
}

#[test]
fn a_lost_session_is_gone_on_with_in_a_fresh_one_at_once_and_only_once() {
    let mut scene = Scene::new(vec![agent("a")], vec![task("t", None, &[])]);
    scene.orders();
    scene.stand("t", Status::InProgress, Some("a"));
    scene.end(0, 1, End::SessionLost);
    scene.settle(0, 1, "t", Status::InProgress, Some("a"));
    assert_eq!(scene.orders(), [starts(0, 2, "t", Held::Yes)]);
    let orders = scene.end(0, 2, End::SessionLost);
    assert_eq!(orders, [settle(0, 2, Settlement::Hold, GiveBack)]);
    scene.settle(0, 2, "t", Status::InProgress, Some("a"));
    assert_eq!(scene.orders(), []);
    assert_eq!(scene.scheduler.deadline(at(0)), Some(1_000));
}
