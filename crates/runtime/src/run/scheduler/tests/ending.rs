//! How a run comes to its end: interrupts, limits, failures, and nothing left to do.

use super::*;

#[test]
fn an_interrupt_asks_and_a_second_one_kills_and_nothing_starts_in_between() {
    let tasks = vec![task("t", None, &[]), task("u", None, &[])];
    let mut scene = Scene::new(vec![agent("a"), agent("b"), agent("c")], tasks);
    assert_eq!(scene.orders().len(), 2);
    scene.handle(Event::Interrupted);
    scene.mail(2, 1, 0);
    assert_eq!(scene.orders(), [Order::Stop(0), Order::Stop(1)]);
    let orders = scene.end(0, 1, End::Stopped);
    assert_eq!(orders, [settle(0, 1, Settlement::PutBack, GiveBack)]);
    scene.settle(0, 1, "t", Status::Pending, Some("a"));
    scene.handle(Event::Interrupted);
    assert_eq!(scene.orders(), [Order::Kill(1)]);
    scene.end(1, 1, End::Stopped);
    scene.settle(1, 1, "u", Status::Pending, Some("b"));
    assert_eq!(
        scene.orders(),
        [Order::Finish(Finish::Ended(Ending::Interrupted))]
    );
}

#[test]
fn an_interrupt_takes_back_what_was_ordered_and_not_begun() {
    let mut scene = Scene::new(
        vec![agent("a"), agent("b")],
        vec![task("t", None, &[]), task("u", None, &[])],
    );
    assert_eq!(scene.scheduler.poll(at(0)), Some(start(0, 1, "t")));
    scene.handle(Event::Interrupted);
    assert_eq!(scene.orders(), [Order::Stop(0)]);
}

#[test]
fn the_first_failure_ends_a_run_that_does_not_keep_going() {
    let tasks = vec![
        task("t", Some("a"), &[]),
        task("u", Some("b"), &[]),
        task("v", None, &[]),
    ];
    let mut scene = Scene::with(vec![agent("a"), agent("b")], tasks, |plan| {
        plan.after_failure = AfterFailure::End;
    });
    assert_eq!(scene.orders().len(), 2);
    scene.end(0, 1, End::Failed);
    scene.settle(0, 1, "t", Status::Failed, Some("a"));
    assert_eq!(scene.orders(), [Order::Stop(1)]);
    scene.end(1, 1, End::Stopped);
    scene.settle(1, 1, "u", Status::Pending, Some("b"));
    assert_eq!(
        scene.orders(),
        [Order::Finish(Finish::Ended(Ending::FirstFailure))]
    );
}

#[test]
fn the_run_ends_when_its_time_is_up_and_sleep_does_not_count() {
    let mut scene = Scene::with(vec![agent("a")], vec![task("t", None, &[])], |plan| {
        plan.time_limit_ms = Some(10_000);
    });
    scene.orders();
    assert_eq!(scene.scheduler.deadline(at(0)), Some(10_000));
    scene.now = 50_000;
    scene.handle(Event::Slept(45_000));
    assert_eq!(scene.orders(), []);
    scene.now = 55_000;
    assert_eq!(scene.orders(), [Order::Stop(0)]);
    scene.end(0, 1, End::Stopped);
    scene.settle(0, 1, "t", Status::Pending, Some("a"));
    assert_eq!(
        scene.orders(),
        [Order::Finish(Finish::Ended(Ending::TimeLimit))]
    );
}

#[test]
fn a_run_looks_at_everything_before_it_says_that_nothing_is_left() {
    let mut scene = Scene::new(vec![agent("a"), agent("b")], vec![task("t", None, &[])]);
    assert_eq!(scene.scheduler.poll(at(0)), Some(start(0, 1, "t")));
    scene.handle(Event::Ended {
        seat: 0,
        turn: 1,
        end: End::Succeeded,
        jitter: 0,
    });
    scene.scheduler.poll(at(0));
    scene.settle(0, 1, "t", Status::Completed, Some("a"));
    assert_eq!(scene.scheduler.poll(at(0)), Some(Order::Look));
    // What a sent to b in its turn shows only now.
    scene.mail(1, 0, 1);
    scene.handle(Event::Looked);
    assert_eq!(scene.scheduler.poll(at(0)), Some(for_mail(1, 1)));
}
