//! Random runs against a naive world: a list of tasks, a set of turns, a clock that only the test moves.
//!
//! The world keeps its own books and checks each order against them.

use super::*;
use crate::clock::{Entropy, SeededEntropy};
use crate::desk::Sight;
use proptest::prelude::*;
use std::collections::BTreeSet;

struct World {
    scheduler: Scheduler,
    chance: SeededEntropy,
    now: i64,
    tasks: Vec<Task>,
    plans: Vec<SeatPlan>,
    terms: BTreeMap<String, TaskTerms>,
    /// Who is in which turn, for what, and whether it was told to end.
    turns: BTreeMap<SeatNo, (u32, Work, bool)>,
    settling: BTreeSet<SeatNo>,
    started: u32,
    ended: u32,
    settled: u32,
    counted: Vec<u32>,
    crashes: Vec<u32>,
    failures: BTreeMap<String, u32>,
    mail: Vec<(u64, u64)>,
    ending: bool,
    finished: Option<Finish>,
    /// No more surprises: let it come to its end.
    calm: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let chance = SeededEntropy::new(seed);
        let roll = |below: u64| draw(&chance, below);
        let seats = 1 + roll(4) as usize;
        let plans: Vec<SeatPlan> = (0..seats)
            .map(|at| {
                let mut plan = if roll(3) == 0 {
                    script(&format!("m{at}"))
                } else {
                    agent(&format!("m{at}"))
                };
                plan.answers_mail = plan.kind == ProfileKind::Agent || roll(2) == 0;
                plan.profile = format!("p{}", roll(2));
                plan.restarts.most = roll(3) as u32;
                plan.restarts.within_ms = i64::MAX / 4;
                plan.max_turns = 1 + roll(12) as u32;
                plan
            })
            .collect();
        let count = roll(9) as usize;
        let mut terms = BTreeMap::new();
        let tasks: Vec<Task> = (0..count)
            .map(|at| {
                let id = format!("t{at}");
                let assignee = (roll(2) == 0).then(|| format!("m{}", roll(seats as u64)));
                let on: Vec<String> = (0..at)
                    .filter(|_| roll(4) == 0)
                    .map(|on| format!("t{on}"))
                    .collect();
                let on: Vec<&str> = on.iter().map(String::as_str).collect();
                let kind = if roll(3) == 0 {
                    ProfileKind::Script
                } else {
                    ProfileKind::Agent
                };
                let retries = roll(3) as u32;
                terms.insert(id.clone(), TaskTerms { kind, retries });
                task(&id, assignee.as_deref(), &on)
            })
            .collect();
        let plan = RunPlan {
            seats: plans.clone(),
            tasks: terms.clone(),
            order: tasks.iter().map(|task| task.id.clone()).collect(),
            after_failure: if roll(4) == 0 {
                AfterFailure::End
            } else {
                AfterFailure::GoOn
            },
            time_limit_ms: (roll(4) == 0).then(|| 1 + roll(200_000) as i64),
        };
        let mut world = Self {
            scheduler: Scheduler::new(plan, at(0)),
            chance,
            now: 0,
            tasks,
            terms,
            turns: BTreeMap::new(),
            settling: BTreeSet::new(),
            started: 0,
            ended: 0,
            settled: 0,
            counted: vec![0; seats],
            crashes: vec![0; seats],
            failures: BTreeMap::new(),
            mail: vec![(0, 0); seats],
            plans,
            ending: false,
            finished: None,
            calm: false,
        };
        world.show();
        world
    }

    fn roll(&self, below: u64) -> u64 {
        draw(&self.chance, below)
    }

    fn show(&mut self) {
        let tasks = self.tasks.clone();
        if self.roll(2) == 0 {
            for task in tasks {
                let seen = Event::Task(task.id.clone(), Sight::There(Box::new(task)));
                self.scheduler.handle(seen, at(self.now));
            }
            return;
        }
        let board = TaskBoard {
            tasks,
            unreadable: Vec::new(),
        };
        self.scheduler.handle(Event::Board(board), at(self.now));
    }

    fn show_mail(&mut self, seat: SeatNo) {
        let (from_leader, from_peers) = self.mail[seat];
        let seen = MailSeen {
            unread: from_leader + from_peers,
            from_leader,
            from_peers,
        };
        self.scheduler.handle(Event::Mail(seat, seen), at(self.now));
    }

    fn find(&mut self, id: &str) -> &mut Task {
        self.tasks.iter_mut().find(|task| task.id == id).unwrap()
    }

    fn owns(&self, seat: SeatNo, id: &str) -> bool {
        let name = self.plans[seat].name.as_str();
        let mine =
            |task: &&Task| task.status == Status::InProgress && task.owner.as_deref() == Some(name);
        self.tasks.iter().filter(mine).any(|task| task.id == id)
    }

    fn is_ready(&self, id: &str) -> bool {
        let task = self.tasks.iter().find(|task| task.id == id).unwrap();
        let done = |on: &String| {
            self.tasks
                .iter()
                .any(|task| task.id == *on && task.status == Status::Completed)
        };
        task.status == Status::Pending && task.blocked_by.iter().all(done)
    }

    /// Carries out every order, checking each.
    fn carry_out(&mut self) {
        while let Some(order) = self.scheduler.poll(at(self.now)) {
            assert!(
                self.finished.is_none(),
                "nothing follows the finish: {order:?}"
            );
            match order {
                Order::Start { seat, turn, work } => self.start(seat, turn, work),
                Order::Stop(seat) | Order::Kill(seat) => {
                    self.ending = true;
                    self.turns
                        .get_mut(&seat)
                        .expect("only who runs is stopped")
                        .2 = true;
                }
                Order::Settle {
                    seat,
                    turn,
                    task,
                    mail,
                } => self.settle(seat, turn, task, mail),
                Order::PutBack { seat, task } => {
                    if self.owns(seat, &task) {
                        self.find(&task).status = Status::Pending;
                        self.show();
                    }
                }
                Order::Retry(id) => {
                    let task = self.find(&id);
                    assert_eq!(task.status, Status::Failed);
                    task.status = Status::Pending;
                    self.show();
                }
                Order::Tell(..) => {}
                Order::Look => {
                    self.show();
                    for seat in 0..self.plans.len() {
                        self.show_mail(seat);
                    }
                    self.scheduler.handle(Event::Looked, at(self.now));
                }
                Order::Finish(finish) => self.finish(finish),
            }
        }
    }

    fn start(&mut self, seat: SeatNo, turn: u32, work: Work) {
        assert!(!self.ending, "an ended run starts nothing");
        assert!(!self.turns.contains_key(&seat), "one turn for each member");
        assert!(!self.settling.contains(&seat), "the turn before is settled");
        assert!(
            self.counted[seat] < self.plans[seat].max_turns,
            "no more turns than it may take"
        );
        self.counted[seat] += 1;
        if let Work::Task { id, held } = &work {
            let elsewhere = |(_, other, _): &&(u32, Work, bool)| matches!(other, Work::Task { id: other, .. } if other == id);
            assert!(
                !self.turns.values().any(|turn| elsewhere(&turn)),
                "one turn for each task"
            );
            let kind = self
                .terms
                .get(id)
                .map_or(ProfileKind::Agent, |terms| terms.kind);
            assert_eq!(self.plans[seat].kind, kind, "it suits its member");
            let claimed = match held {
                Held::Yes => self.owns(seat, id),
                Held::No => self.is_ready(id) && self.roll(12) != 0,
            };
            if !claimed {
                self.not_started(seat, turn);
                return;
            }
            let name = self.plans[seat].name.to_string();
            let task = self.find(id);
            assert!(
                task.assignee
                    .as_ref()
                    .is_none_or(|assignee| *assignee == name)
            );
            (task.status, task.owner) = (Status::InProgress, Some(name));
            self.show();
        } else if self.roll(12) == 0 {
            self.not_started(seat, turn);
            return;
        }
        self.started += 1;
        self.turns.insert(seat, (turn, work, false));
    }

    fn not_started(&mut self, seat: SeatNo, turn: u32) {
        self.counted[seat] -= 1;
        self.scheduler
            .handle(Event::NotStarted { seat, turn }, at(self.now));
    }

    fn settle(
        &mut self,
        seat: SeatNo,
        turn: u32,
        settlement: Option<Settlement>,
        mail: MailSettlement,
    ) {
        assert!(self.settling.remove(&seat), "it ended before");
        self.settled += 1;
        let (_, work, _) = self.turns.remove(&seat).unwrap();
        assert_eq!(settlement.is_some(), matches!(work, Work::Task { .. }));
        let mut status = None;
        if let (Work::Task { id, .. }, Some(settlement)) = (&work, settlement) {
            if self.owns(seat, id) {
                let task = self.find(id);
                task.status = match settlement {
                    Settlement::Complete => Status::Completed,
                    Settlement::Fail => Status::Failed,
                    Settlement::PutBack => Status::Pending,
                    Settlement::Hold => Status::InProgress,
                };
                status = Some(task.status);
            } else {
                status = Some(self.find(id).status).filter(|status| *status != Status::InProgress);
            }
            if status == Some(Status::Failed) {
                *self.failures.entry(id.clone()).or_default() += 1;
            }
        }
        if mail == MailSettlement::Acknowledge {
            self.mail[seat] = (0, 0);
        }
        self.show();
        self.show_mail(seat);
        self.scheduler.handle(
            Event::Settled {
                seat,
                turn,
                task: status,
            },
            at(self.now),
        );
    }

    fn finish(&mut self, finish: Finish) {
        assert!(
            self.turns.is_empty() && self.settling.is_empty(),
            "everybody has ended"
        );
        assert_eq!(
            (self.started, self.ended),
            (self.settled, self.settled),
            "all that started is accounted for"
        );
        if finish == Finish::Done {
            for task in self.tasks.clone() {
                assert_ne!(
                    task.status,
                    Status::InProgress,
                    "nobody works on {}",
                    task.id
                );
                let open = task.status == Status::Pending && self.is_ready(&task.id);
                assert!(
                    !open || self.scheduler.is_hopeless(&task),
                    "{} was left although it could be done",
                    task.id
                );
            }
        } else {
            let held = self
                .tasks
                .iter()
                .filter(|task| task.status == Status::InProgress);
            assert!(
                held.clone()
                    .all(|task| task.owner.as_deref() == Some("outside")),
                "nothing stays in progress"
            );
        }
        self.finished = Some(finish);
    }

    fn something_happens(&mut self) {
        match self.roll(if self.calm { 4 } else { 12 }) {
            0..=3 => self.a_turn_ends_or_time_passes(),
            4 => self.now += 1 + self.roll(3_000) as i64,
            5 | 6 => {
                let seat = self.roll(self.plans.len() as u64) as usize;
                let leader = self.roll(3) == 0;
                self.mail[seat].0 += u64::from(leader);
                self.mail[seat].1 += u64::from(!leader);
                self.show_mail(seat);
            }
            7 | 8 => self.somebody_changes_a_task(),
            9 if self.roll(8) == 0 => {
                self.ending = true;
                self.scheduler.handle(Event::Interrupted, at(self.now));
            }
            9 if self.roll(20) == 0 => {
                self.ending = true;
                self.scheduler.handle(Event::Broke, at(self.now));
            }
            10 => {
                let slept = self.roll(100_000) as i64;
                self.now += slept;
                self.scheduler.handle(Event::Slept(slept), at(self.now));
            }
            _ => {}
        }
    }

    fn a_turn_ends_or_time_passes(&mut self) {
        let running: Vec<SeatNo> = self.turns.keys().copied().collect();
        if running.is_empty() {
            match self.scheduler.deadline(at(self.now)) {
                Some(at) => self.now = at.max(self.now),
                None => self.somebody_outside_is_done(),
            }
            return;
        }
        let seat = running[self.roll(running.len() as u64) as usize];
        let (turn, _, told) = self.turns[&seat].clone();
        let end = match self.roll(if told { 2 } else { 10 }) {
            0 if told => End::Stopped,
            0..=3 => End::Succeeded,
            4 | 5 => End::Failed,
            6 => End::Crashed,
            7 if !self.calm => {
                End::Limited((self.roll(2) == 0).then(|| self.now + self.roll(100_000) as i64))
            }
            8 if !self.calm => End::SessionLost,
            9 => End::Refused,
            _ => End::Succeeded,
        };
        self.now += self.roll(5_000) as i64;
        self.ended += 1;
        self.settling.insert(seat);
        match end {
            End::Crashed => self.crashes[seat] += 1,
            End::Limited(_) => self.counted[seat] -= 1,
            // The scheduler takes a second one in a row as a crash, which counts.
            End::SessionLost if !self.scheduler.seats[seat].lost_session => self.counted[seat] -= 1,
            _ => {}
        }
        let jitter = self.roll(1_001) as u16;
        self.scheduler.handle(
            Event::Ended {
                seat,
                turn,
                end,
                jitter,
            },
            at(self.now),
        );
    }

    /// Members end, release and lose their tasks by themselves; strangers claim and end tasks.
    fn somebody_changes_a_task(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        let at = self.roll(self.tasks.len() as u64) as usize;
        let (id, status) = (self.tasks[at].id.clone(), self.tasks[at].status);
        let ready = self.is_ready(&id);
        let held = |seat: &Seat| seat.held.as_deref() == Some(id.as_str());
        let between_turns = self.scheduler.seats.iter().any(held);
        let task = &mut self.tasks[at];
        match status {
            Status::InProgress if !between_turns => {
                task.status = [Status::Completed, Status::Failed, Status::Pending]
                    [draw(&self.chance, 3) as usize];
            }
            Status::Pending if ready && draw(&self.chance, 3) == 0 => {
                (task.status, task.owner) = (Status::InProgress, Some("outside".to_string()));
            }
            _ => {}
        }
        self.show();
    }

    fn somebody_outside_is_done(&mut self) {
        let outside = |task: &&mut Task| task.status == Status::InProgress;
        if let Some(task) = self.tasks.iter_mut().find(outside) {
            task.status = Status::Completed;
        }
        self.show();
    }
}

fn draw(chance: &SeededEntropy, below: u64) -> u64 {
    let mut bytes = [0; 8];
    chance.fill(&mut bytes).unwrap();
    u64::from_le_bytes(bytes) % below.max(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_laws_hold_and_the_run_comes_to_its_end(seed in any::<u64>()) {
        let mut world = World::new(seed);
        for step in 0..4_000 {
            world.carry_out();
            if world.finished.is_some() {
                break;
            }
            world.calm = step > 150;
            world.something_happens();
        }
        prop_assert!(world.finished.is_some(), "the run never ends");
        for (seat, plan) in world.plans.iter().enumerate() {
            // Each row of crashes is followed by at most so many restarts; a good turn begins a new row.
            let rows = world.counted[seat] + 1;
            prop_assert!(world.crashes[seat] <= rows * (plan.restarts.most + 1));
        }
    }
}
