use super::*;
use crate::teamfile::ProfileKind;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::restart::Policy;
use pitcrew_core::task::Task;
use pitcrew_core::{Name, TaskId, Timestamp};

mod model;

fn at(ms: i64) -> Moment {
    Moment {
        ms,
        wall: Timestamp::from_millis(1_000_000 + ms),
    }
}

fn agent(name: &str) -> SeatPlan {
    SeatPlan {
        name: Name::new(NameKind::Member, name).unwrap(),
        kind: ProfileKind::Agent,
        profile: "claude".to_string(),
        answers_mail: true,
        restarts: Policy::default(),
        max_turns: 20,
    }
}

fn script(name: &str) -> SeatPlan {
    SeatPlan {
        kind: ProfileKind::Script,
        profile: "sh".to_string(),
        answers_mail: false,
        ..agent(name)
    }
}

fn task(id: &str, assignee: Option<&str>, blocked_by: &[&str]) -> Task {
    let mut task = Task::new(&TaskId::new(id).unwrap(), "x", at(0).wall);
    task.assignee = assignee.map(str::to_string);
    task.blocked_by = blocked_by.iter().map(ToString::to_string).collect();
    task
}

/// A scheduler with a board that the test changes by hand, as the store would.
struct Scene {
    scheduler: Scheduler,
    tasks: Vec<Task>,
    now: i64,
}

impl Scene {
    fn new(seats: Vec<SeatPlan>, tasks: Vec<Task>) -> Self {
        Self::with(seats, tasks, |_| {})
    }

    fn with(seats: Vec<SeatPlan>, tasks: Vec<Task>, change: impl Fn(&mut RunPlan)) -> Self {
        let mut plan = RunPlan {
            seats,
            tasks: BTreeMap::new(),
            order: tasks.iter().map(|task| task.id.clone()).collect(),
            after_failure: AfterFailure::GoOn,
            time_limit_ms: None,
        };
        change(&mut plan);
        let mut scene = Self {
            scheduler: Scheduler::new(plan, at(0)),
            tasks,
            now: 0,
        };
        scene.show();
        scene
    }

    fn show(&mut self) {
        let board = TaskBoard {
            tasks: self.tasks.clone(),
            unreadable: Vec::new(),
        };
        self.handle(Event::Board(board));
    }

    fn handle(&mut self, event: Event) {
        self.scheduler.handle(event, at(self.now));
    }

    /// All orders there are; a look finds what was seen before.
    fn orders(&mut self) -> Vec<Order> {
        let now = at(self.now);
        let mut orders = Vec::new();
        while let Some(order) = self.scheduler.poll(now) {
            match order {
                Order::Look => self.scheduler.handle(Event::Looked, now),
                order => orders.push(order),
            }
        }
        orders
    }

    fn stand(&mut self, id: &str, status: Status, owner: Option<&str>) {
        let task = self.tasks.iter_mut().find(|task| task.id == id).unwrap();
        task.status = status;
        task.owner = owner.map(str::to_string);
        self.show();
    }

    fn end(&mut self, seat: SeatNo, turn: u32, end: End) -> Vec<Order> {
        self.handle(Event::Ended {
            seat,
            turn,
            end,
            jitter: 0,
        });
        self.orders()
    }

    fn settle(&mut self, seat: SeatNo, turn: u32, id: &str, status: Status, owner: Option<&str>) {
        self.stand(id, status, owner);
        self.handle(Event::Settled {
            seat,
            turn,
            task: Some(status),
        });
    }

    fn mail(&mut self, seat: SeatNo, from_leader: u64, from_peers: u64) {
        let unread = from_leader + from_peers;
        let seen = MailSeen {
            unread,
            from_leader,
            from_peers,
        };
        self.handle(Event::Mail(seat, seen));
    }
}

fn start(seat: SeatNo, turn: u32, id: &str) -> Order {
    starts(seat, turn, id, Held::No)
}

fn starts(seat: SeatNo, turn: u32, id: &str, held: Held) -> Order {
    let id = id.to_string();
    let work = Work::Task { id, held };
    Order::Start { seat, turn, work }
}

fn for_mail(seat: SeatNo, turn: u32) -> Order {
    let work = Work::Mail;
    Order::Start { seat, turn, work }
}

fn settle(seat: SeatNo, turn: u32, task: Settlement, mail: MailSettlement) -> Order {
    Order::Settle {
        seat,
        turn,
        task: Some(task),
        mail,
    }
}

use MailSettlement::{Acknowledge, GiveBack, Keep};

#[test]
fn members_take_their_own_tasks_first_and_wait_for_what_is_blocked() {
    let tasks = vec![
        task("free", None, &[]),
        task("mine", Some("b"), &[]),
        task("later", Some("a"), &["free", "mine"]),
    ];
    let mut scene = Scene::new(vec![agent("a"), agent("b")], tasks);
    assert_eq!(scene.orders(), [start(0, 1, "free"), start(1, 1, "mine")]);
    for (seat, id, owner) in [(0, "free", "a"), (1, "mine", "b")] {
        scene.stand(id, Status::InProgress, Some(owner));
        let orders = scene.end(seat, 1, End::Succeeded);
        assert_eq!(orders, [settle(seat, 1, Settlement::Complete, Acknowledge)]);
        scene.settle(seat, 1, id, Status::Completed, Some(owner));
    }
    assert_eq!(scene.orders(), [start(0, 2, "later")]);
    scene.end(0, 2, End::Succeeded);
    scene.settle(0, 2, "later", Status::Completed, Some("a"));
    assert_eq!(scene.orders(), [Order::Finish(Finish::Done)]);
    assert_eq!(scene.orders(), []);
}

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

#[test]
fn a_member_takes_no_more_turns_than_it_may() {
    let mut plan = agent("a");
    plan.max_turns = 1;
    let mut scene = Scene::new(vec![plan], vec![task("t", None, &[]), task("u", None, &[])]);
    assert_eq!(scene.orders(), [start(0, 1, "t")]);
    scene.end(0, 1, End::Succeeded);
    scene.settle(0, 1, "t", Status::Completed, Some("a"));
    let used_up = StopReason::TurnsUsedUp { turns: 1 };
    assert_eq!(
        scene.orders(),
        [Order::Tell(0, used_up), Order::Finish(Finish::Done)]
    );
}

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
fn a_task_that_somebody_outside_has_is_waited_for() {
    let mut scene = Scene::new(
        vec![agent("a")],
        vec![task("t", None, &[]), task("u", None, &["t"])],
    );
    scene.stand("t", Status::InProgress, Some("outside"));
    assert_eq!(scene.orders(), []);
    scene.stand("t", Status::Completed, Some("outside"));
    assert_eq!(scene.orders(), [start(0, 1, "u")]);
}

#[test]
fn a_lease_of_somebody_outside_runs_out_by_the_clock() {
    let mut scene = Scene::new(vec![agent("a")], vec![task("t", None, &[])]);
    scene.tasks[0].lease_until = Some(at(5_000).wall);
    scene.stand("t", Status::InProgress, Some("outside"));
    assert_eq!(scene.orders(), []);
    assert_eq!(scene.scheduler.deadline(at(0)), Some(5_000));
    scene.now = 5_000;
    assert_eq!(scene.orders(), [start(0, 1, "t")]);
}

#[test]
fn a_claim_that_was_lost_is_tried_again_later_and_counts_no_turn() {
    let mut scene = Scene::new(vec![agent("a")], vec![task("t", None, &[])]);
    assert_eq!(scene.orders(), [start(0, 1, "t")]);
    scene.handle(Event::NotStarted { seat: 0, turn: 1 });
    assert_eq!(scene.orders(), []);
    scene.now = 1_000;
    assert_eq!(scene.orders(), [start(0, 2, "t")]);
    assert_eq!(scene.scheduler.seats[0].counted, 1);
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

#[test]
fn a_late_report_about_an_older_turn_changes_nothing() {
    let mut scene = Scene::new(vec![agent("a")], vec![task("t", None, &[])]);
    scene.orders();
    scene.handle(Event::NotStarted { seat: 0, turn: 1 });
    scene.now = 1_000;
    scene.orders();
    assert_eq!(scene.end(0, 1, End::Succeeded), []);
    assert_eq!(
        scene.scheduler.view(at(1_000)).next().unwrap().state,
        SeatState::Running(1_000)
    );
}
