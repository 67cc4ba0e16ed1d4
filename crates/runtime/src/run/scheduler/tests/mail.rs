//! Mail: whom it wakes, in which order, and when talk is damped.

use super::*;

#[test]
fn mail_brings_a_turn_to_who_can_answer() {
    let mut with_script = script("s");
    with_script.answers_mail = true;
    let seats = vec![agent("a"), script("mute"), with_script];
    let mut scene = Scene::new(seats, vec![task("t", Some("a"), &[])]);
    assert_eq!(scene.orders(), [start(0, 1, "t")]);
    for seat in 0..3 {
        scene.mail(seat, 0, 1);
    }
    assert_eq!(
        scene.orders(),
        [for_mail(2, 1)],
        "a is in a turn, mute cannot answer"
    );
    scene.end(2, 1, End::Succeeded);
    scene.mail(2, 0, 0);
    scene.handle(Event::Settled {
        seat: 2,
        turn: 1,
        task: None,
    });
    scene.end(0, 1, End::Succeeded);
    scene.settle(0, 1, "t", Status::Completed, Some("a"));
    assert_eq!(scene.orders(), [for_mail(0, 2)], "it came during the turn");
}

#[test]
fn a_script_does_mail_first_but_never_twice_while_a_task_waits() {
    let mut plan = script("s");
    plan.answers_mail = true;
    let tasks = vec![task("t", None, &[]), task("u", None, &[])];
    let mut scene = Scene::with(vec![plan], tasks, |plan| {
        for id in ["t", "u"] {
            let terms = TaskTerms {
                kind: ProfileKind::Script,
                retries: 0,
            };
            plan.tasks.insert(id.to_string(), terms);
        }
    });
    scene.mail(0, 0, 3);
    let mut seen = Vec::new();
    for turn in 1..=4 {
        let orders = scene.orders();
        scene.end(0, turn, End::Succeeded);
        match orders.as_slice() {
            [
                Order::Start {
                    work: Work::Task { id, .. },
                    ..
                },
            ] => {
                seen.push(id.clone());
                let id = id.clone();
                scene.settle(0, turn, &id, Status::Completed, Some("s"));
            }
            [Order::Start { .. }] => {
                seen.push("mail".to_string());
                scene.handle(Event::Settled {
                    seat: 0,
                    turn,
                    task: None,
                });
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["mail", "t", "mail", "u"]);
}

#[test]
fn g10_two_members_that_only_thank_each_other_are_damped_and_the_leader_is_told() {
    let mut scene = Scene::new(vec![agent("a"), agent("b")], vec![]);
    let mut turns = [0, 0];
    let mut told = 0;
    scene.mail(0, 0, 1);
    for _ in 0..40 {
        let orders = scene.orders();
        for order in &orders {
            match order {
                Order::Tell(_, StopReason::OnlyTalk { turns }) => {
                    assert_eq!(*turns, 6);
                    told += 1;
                }
                Order::Start { seat, turn, .. } => {
                    turns[*seat] += 1;
                    scene.end(*seat, *turn, End::Succeeded);
                    scene.mail(*seat, 0, 0);
                    scene.mail(1 - *seat, 0, 1);
                    scene.handle(Event::Settled {
                        seat: *seat,
                        turn: *turn,
                        task: None,
                    });
                }
                Order::Finish(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(turns, [6, 6]);
    assert_eq!(told, 1, "b's last letter wakes nobody");
    assert!(scene.scheduler.over);
    // Why it was not answered stays to be seen.
    let states: Vec<SeatState> = scene.scheduler.view(at(0)).map(|seat| seat.state).collect();
    let muted = SeatState::Stopped(StopReason::OnlyTalk { turns: 6 });
    assert_eq!(states, [muted, SeatState::Idle]);
}

#[test]
fn a_word_of_the_leader_or_a_change_of_a_task_ends_the_damping() {
    for by_leader in [true, false] {
        let mut scene = Scene::new(vec![agent("a")], vec![task("t", Some("nobody"), &[])]);
        scene.stand("t", Status::InProgress, Some("outside"));
        scene.mail(0, 0, 1);
        for turn in 1..=6 {
            assert_eq!(scene.orders(), [for_mail(0, turn)]);
            scene.end(0, turn, End::Succeeded);
            scene.handle(Event::Settled {
                seat: 0,
                turn,
                task: None,
            });
        }
        let talk = StopReason::OnlyTalk { turns: 6 };
        assert_eq!(scene.orders(), [Order::Tell(0, talk)]);
        assert_eq!(scene.orders(), []);
        if by_leader {
            scene.mail(0, 1, 1);
        } else {
            scene.stand("t", Status::Completed, Some("outside"));
        }
        assert_eq!(scene.orders(), [for_mail(0, 7)]);
    }
}
