//! A provider that takes no more: who waits, for how long, and what it costs.

use super::*;
use MailSettlement::{GiveBack, Keep};

#[test]
fn f9_a_limit_of_the_provider_pauses_everybody_of_the_profile_and_nobody_else() {
    let mut other = agent("c");
    other.profile = "codex".to_string();
    let tasks = vec![
        task("t", Some("a"), &[]),
        task("u", Some("b"), &["x"]),
        task("x", Some("c"), &[]),
        task("v", Some("c"), &["x"]),
    ];
    let mut scene = Scene::new(vec![agent("a"), agent("b"), other], tasks);
    assert_eq!(scene.orders(), [start(0, 1, "t"), start(2, 1, "x")]);
    scene.stand("t", Status::InProgress, Some("a"));
    let orders = scene.end(0, 1, End::Limited(Some(3_600_000)));
    assert_eq!(orders, [settle(0, 1, Settlement::Hold, Keep)]);
    scene.settle(0, 1, "t", Status::InProgress, Some("a"));
    scene.end(2, 1, End::Succeeded);
    scene.settle(2, 1, "x", Status::Completed, Some("c"));
    assert_eq!(scene.orders(), [start(2, 2, "v")], "b waits with a");
    scene.mail(1, 1, 0);
    assert_eq!(scene.orders(), [], "mail keeps coming and waits too");
    let states: Vec<SeatState> = scene.scheduler.view(at(5)).map(|seat| seat.state).collect();
    assert_eq!(states[0], SeatState::Limited(3_600_000));
    assert_eq!(states[1], SeatState::Limited(3_601_000));
    scene.now = 3_600_000;
    assert_eq!(scene.orders(), [starts(0, 2, "t", Held::Yes)]);
    scene.now += 1_000;
    assert_eq!(scene.orders(), [start(1, 1, "u")]);
}

#[test]
fn a_limit_without_an_end_is_met_again_with_growing_pauses_and_counts_no_turn() {
    let mut plan = agent("a");
    plan.max_turns = 1;
    let mut scene = Scene::new(vec![plan], vec![task("t", None, &[])]);
    let mut turn = 1;
    scene.orders();
    for pause in [60_000, 120_000, 240_000, 480_000, 900_000, 900_000] {
        scene.stand("t", Status::InProgress, Some("a"));
        scene.end(0, turn, End::Limited(None));
        scene.settle(0, turn, "t", Status::InProgress, Some("a"));
        assert_eq!(scene.orders(), []);
        assert_eq!(
            scene.scheduler.deadline(at(scene.now)),
            Some(scene.now + pause)
        );
        scene.now += pause;
        turn += 1;
        assert_eq!(scene.orders(), [starts(0, turn, "t", Held::Yes)]);
    }
}

#[test]
fn a_limit_that_is_met_again_after_its_end_is_waited_for_longer_each_time() {
    let mut scene = Scene::new(vec![agent("a")], vec![task("t", None, &[])]);
    let mut turn = 1;
    scene.orders();
    for pause in [1_000, 30_000, 60_000, 120_000, 240_000, 480_000, 900_000] {
        scene.stand("t", Status::InProgress, Some("a"));
        let over_already = Some(scene.now - 5_000);
        scene.end(0, turn, End::Limited(over_already));
        scene.settle(0, turn, "t", Status::InProgress, Some("a"));
        assert_eq!(scene.orders(), []);
        let deadline = scene.scheduler.deadline(at(scene.now));
        assert_eq!(deadline, Some(scene.now + pause));
        assert!(!scene.scheduler.is_hopeless(&scene.tasks[0]));
        scene.now += pause;
        turn += 1;
        assert_eq!(scene.orders(), [starts(0, turn, "t", Held::Yes)]);
        // It is met again only after a while.
        scene.now += 10;
    }
}

#[test]
fn members_that_meet_one_limit_together_do_not_make_it_longer() {
    let tasks = vec![task("t", Some("a"), &[]), task("u", Some("b"), &[])];
    let mut scene = Scene::new(vec![agent("a"), agent("b")], tasks);
    assert_eq!(scene.orders(), [start(0, 1, "t"), start(1, 1, "u")]);
    for (seat, id, name) in [(0, "t", "a"), (1, "u", "b")] {
        scene.now += 10;
        scene.stand(id, Status::InProgress, Some(name));
        scene.end(seat, 1, End::Limited(Some(5_000)));
        scene.settle(seat, 1, id, Status::InProgress, Some(name));
    }
    assert_eq!(scene.orders(), []);
    assert_eq!(scene.scheduler.deadline(at(scene.now)), Some(5_000));
}

#[test]
fn who_is_held_back_by_the_teams_limits_keeps_its_task_and_costs_no_turn() {
    let mut scene = Scene::with(
        vec![agent("a"), agent("b")],
        vec![task("t", Some("a"), &[]), task("u", Some("b"), &[])],
        |plan| plan.seats[0].max_turns = 1,
    );
    assert_eq!(scene.orders(), [start(0, 1, "t"), start(1, 1, "u")]);
    let orders = scene.end(0, 1, End::HeldBack(60_000));
    assert_eq!(orders, [settle(0, 1, Settlement::Hold, Keep)]);
    scene.settle(0, 1, "t", Status::InProgress, Some("a"));
    assert_eq!(scene.orders(), []);
    let states: Vec<SeatState> = scene.scheduler.view(at(0)).map(|seat| seat.state).collect();
    assert_eq!(states, [SeatState::HeldBack(60_000), SeatState::Running(0)]);
    scene.now = 60_000;
    assert_eq!(scene.orders(), [starts(0, 2, "t", Held::Yes)]);
}

#[test]
fn other_limits_let_members_try_again_that_were_held_back_or_barred() {
    let tasks = vec![
        task("t", Some("a"), &[]),
        task("u", Some("b"), &[]),
        task("v", None, &[]),
    ];
    let mut scene = Scene::new(vec![agent("a"), agent("b"), agent("c")], tasks);
    let starting = [start(0, 1, "t"), start(1, 1, "u"), start(2, 1, "v")];
    assert_eq!(scene.orders(), starting);
    scene.end(0, 1, End::HeldBack(60_000));
    scene.settle(0, 1, "t", Status::InProgress, Some("a"));
    let orders = scene.end(1, 1, End::Barred(StopReason::OutOfBudget));
    let told = Order::Tell(1, StopReason::OutOfBudget);
    assert_eq!(orders, [told, settle(1, 1, Settlement::PutBack, GiveBack)]);
    scene.settle(1, 1, "u", Status::Pending, None);
    assert_eq!(scene.orders(), []);
    scene.handle(Event::LimitsChanged);
    assert_eq!(
        scene.orders(),
        [starts(0, 2, "t", Held::Yes), start(1, 2, "u")]
    );
}
