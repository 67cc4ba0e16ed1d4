use super::*;
use crate::teamfile::ProfileKind;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::restart::Policy;
use pitcrew_core::task::{Status, Task};
use pitcrew_core::{Name, TaskId, Timestamp};

mod crashes;
mod ending;
mod limits;
mod mail;
mod model;
mod tasks;

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

use MailSettlement::{Acknowledge, GiveBack};

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
