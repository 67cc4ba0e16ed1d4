//! The driver over a scripted pane and a clock that moves by hand.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pitcrew_core::Name;
use pitcrew_core::departure::Departure;
use pitcrew_core::event::{Fact, Filter, What};
use pitcrew_core::liveness::{Loss, Verdict};
use pitcrew_core::loops::{Mode, Opening, Over, Ralph};
use pitcrew_core::monitor::Shows;
use pitcrew_core::nudge::{Decision, Loops as Active, Standing, Timing, View, Wake};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::restart::When;
use pitcrew_core::roster::{Recruit, Respawn, Seat, Settings};
use pitcrew_core::screen::State;
use pitcrew_core::submit::Outcome;
use pitcrew_core::task::Status;

use super::*;
use crate::clock::{ManualClock, SystemEntropy};
use crate::desk::{Change, Credentials, Desk, TaskPlan};
use crate::loops::{Loops, Wish};
use crate::panes::{Occasion, PaneError, Restarted, Wakened};
use crate::tmux::{PaneRecord, ServerRecord};
use crate::wake::{NudgeRecord, PaneSeat, WakeError};
use pitcrew_store::LocalStore;

static ENTROPY: SystemEntropy = SystemEntropy;

/// What happens at which second.
type Later<'a> = (i64, Box<dyn Fn() + 'a>);

/// One pane that shows what it is told to, and takes every line.
struct Script<'a> {
    clock: &'a ManualClock,
    begun: i64,
    shows: RefCell<Shows>,
    life: Rc<Cell<Verdict>>,
    how: Cell<Departure>,
    /// When members were started again, in seconds since the beginning.
    renewed: RefCell<Vec<i64>>,
    /// When lines were taken, in seconds since the beginning.
    rung: RefCell<Vec<i64>>,
    /// What happens at which second.
    then: RefCell<Vec<Later<'a>>>,
}

impl<'a> Script<'a> {
    fn ready(clock: &'a ManualClock) -> Self {
        Self {
            clock,
            begun: clock.now(),
            shows: RefCell::new(Shows::Screen(State::Ready, String::new())),
            life: Rc::new(Cell::new(Verdict::Alive)),
            how: Cell::new(Departure::Killed(9)),
            renewed: RefCell::new(Vec::new()),
            rung: RefCell::new(Vec::new()),
            then: RefCell::new(Vec::new()),
        }
    }

    fn at(&self, second: i64, act: impl Fn() + 'a) {
        self.then.borrow_mut().push((second, Box::new(act)));
    }

    fn seconds(&self) -> i64 {
        (self.clock.now() - self.begun) / 1_000
    }
}

impl Panes for Script<'_> {
    fn look(&self, seats: &[&PaneSeat]) -> Vec<Shows> {
        seats.iter().map(|_| self.shows.borrow().clone()).collect()
    }

    fn life(&self, _: &PaneSeat) -> Verdict {
        self.life.get()
    }

    fn departure(&self, _: &PaneSeat) -> Departure {
        self.how.get()
    }

    fn renew(
        &self,
        desk: &Desk<'_>,
        _: &LocalStore,
        member: &Name,
        incarnation: u32,
    ) -> Result<Option<Restarted>, PaneError> {
        let failed = PaneError::NoPane {
            member: member.to_string(),
        };
        let begun = crate::panes::begin_by_policy(desk, member, incarnation)?;
        if begun {
            self.renewed.borrow_mut().push(self.seconds());
            crate::panes::end_start(desk, member, incarnation, Some(&failed.to_string()))?;
            return Err(failed);
        }
        Ok(None)
    }

    fn ring(
        &self,
        desk: &Desk<'_>,
        member: &Name,
        occasion: Occasion,
    ) -> Result<Wakened, WakeError> {
        let view = View {
            unread: 0,
            newest_unread_at: None,
            progress_at: None,
            standing: Standing::Live,
            wake: Wake::Pane,
            loops: Active::Active,
            idle_since: occasion.idle_since,
        };
        let (now, timing) = (desk.now(), Timing::default());
        let decided = desk
            .store()
            .update(member, |slot: &mut Option<NudgeRecord>| {
                let ledger = &mut slot.get_or_insert_default().0;
                let decision =
                    ledger.handle_trigger(now, occasion.trigger, member, &view, "t", &timing);
                if matches!(decision, Decision::Inject { .. }) {
                    ledger.settle(now, "t", &Outcome::Submitted, "x");
                }
                Ok::<_, ()>(decision)
            })?;
        Ok(match decided {
            Ok(Decision::Inject { .. }) => {
                self.rung.borrow_mut().push(self.seconds());
                Wakened::Submitted
            }
            Ok(Decision::Escalate { .. }) => Wakened::not("escalated", ""),
            Ok(Decision::Quiet(quiet)) => Wakened::not(quiet.code(), ""),
            Ok(Decision::Joined { .. }) | Err(()) => Wakened::not("no_answer", ""),
        })
    }

    fn wait(&self, millis: i64) {
        self.clock.advance(millis);
        let now = self.seconds();
        let mut then = self.then.borrow_mut();
        let (due, later) = then.drain(..).partition(|(second, _)| *second <= now);
        *then = later;
        drop(then);
        let due: Vec<Later<'_>> = due;
        for (_, act) in due {
            act();
        }
    }
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

/// A project with the team `t` of `w1` in a pane, and an active loop.
struct Scene {
    _folder: tempfile::TempDir,
    project: Project,
    clock: ManualClock,
}

fn recruit(name: &Name) -> Recruit {
    Recruit {
        name: name.clone(),
        role: "coder".into(),
        seat: Seat::Pane,
        profile: Some("bash".into()),
        task_id: None,
    }
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::at(folder.path()).unwrap();
        let clock = ManualClock::at(1_700_000_000_000);
        let scene = Self {
            _folder: folder,
            project,
            clock,
        };
        let team = name("t");
        let founded = pitcrew_core::roster::Team::new(&team, "", "coder", "/", scene.now());
        scene.project.create_team(&team, &founded).unwrap();
        scene.with_desk(|desk| {
            desk.add_member(&recruit(&name("w1"))).unwrap();
            let kept = desk.store().update(&name("w1"), |slot| {
                *slot = Some(seat());
                Ok::<_, ()>(())
            });
            kept.unwrap().unwrap();
        });
        scene
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now())
    }

    fn with_desk<A>(&self, act: impl Fn(&Desk<'_>) -> A) -> A {
        let (team, store) = (name("t"), self.project.team(&name("t")));
        act(&Desk::new(&team, &store, &self.clock, &ENTROPY))
    }

    fn start_loop(&self) {
        let wish = Wish {
            aim: "x",
            session_id: None,
            over: Over::Refuse,
        };
        let open = |opening: &Opening<'_>| Ralph::opened(opening, 3);
        Loops::of(&self.project, &self.clock)
            .start(&wish, open)
            .unwrap();
    }

    fn watch(&self, panes: &Script<'_>) -> Ending {
        let watcher = Watcher {
            project: &self.project,
            clock: &self.clock,
            entropy: &ENTROPY,
            panes,
            timing: Timing::default(),
        };
        watcher.watch_once().unwrap()
    }

    /// The decisions about members, as `did reason`.
    fn decisions(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.with_desk(|desk| {
            let mut seen = Vec::new();
            desk.events_from(0, &Filter::default(), &mut |event| {
                seen.extend(match event.what {
                    What::Known(Fact::NudgeDecided { did, reason, .. }) => {
                        Some(format!("{did} {reason}"))
                    }
                    What::Known(Fact::AgentCrashed { reason, .. }) => Some(reason),
                    What::Known(Fact::AgentLeft { reason, .. }) => {
                        Some(format!("left: {}", reason.unwrap_or_default()))
                    }
                    What::Known(Fact::AgentFailed { reason, .. }) => {
                        Some(format!("failed: {reason}"))
                    }
                    What::Known(Fact::MonitorEnded { reason }) => Some(format!("end {reason}")),
                    _ => None,
                });
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
            seen
        })
        .into_iter()
        .for_each(|line| found.push(line));
        found
    }
}

fn seat() -> PaneSeat {
    PaneSeat {
        profile: "bash".into(),
        incarnation: 1,
        opened_at: Timestamp::from_millis(0),
        pane: PaneRecord {
            server: ServerRecord {
                socket_path: "/nowhere".into(),
                server_pid: 1,
                server_started_at: 0,
                server_process: None,
            },
            session_id: "$0".into(),
            session_created_at: 0,
            window_id: "@0".into(),
            pane_id: "%0".into(),
            process: Identity::own(),
        },
    }
}

#[test]
fn d4_an_idle_pane_is_prompted_at_30_65_and_100_seconds_and_every_decision_is_written_down() {
    let scene = Scene::new();
    scene.start_loop();
    let panes = Script::ready(&scene.clock);
    panes.at(300, || {
        Loops::of(&scene.project, &scene.clock)
            .cancel(Mode::Ralph)
            .unwrap();
    });
    assert_eq!(scene.watch(&panes), Ending::NoLoop);
    assert_eq!(*panes.rung.borrow(), [30, 65, 100]);
    assert_eq!(
        scene.decisions(),
        [
            "nothing not_idle",
            "prompted submitted",
            "nothing not_idle",
            "prompted submitted",
            "nothing not_idle",
            "prompted submitted",
            "nothing not_idle",
            "escalated escalated",
            "nothing given_up",
            "nothing loop_inactive",
            "end no_loop"
        ]
    );
}

#[test]
fn d5_a_cancelled_loop_ends_the_monitor_at_once_and_a_request_too() {
    let scene = Scene::new();
    scene.start_loop();
    let panes = Script::ready(&scene.clock);
    panes.at(12, || {
        Loops::of(&scene.project, &scene.clock)
            .cancel(Mode::Ralph)
            .unwrap();
    });
    assert_eq!(scene.watch(&panes), Ending::NoLoop);
    assert_eq!(panes.seconds(), 12);

    scene.start_loop();
    panes.at(20, || ask(&scene.project, scene.now()).unwrap());
    assert_eq!(scene.watch(&panes), Ending::Asked);
    assert_eq!(panes.seconds(), 20);
    let record = scene.project.state().view::<MonitorRecord>(&()).unwrap();
    assert_eq!(record.unwrap().reason.as_deref(), Some("asked"));
}

#[test]
fn d5_the_last_task_done_ends_it_within_two_scans() {
    let scene = Scene::new();
    let who = Credentials {
        claimed: Some("w1".into()),
        ..Credentials::default()
    };
    let task = scene.with_desk(|desk| {
        let plan = TaskPlan {
            description: "a".into(),
            ..TaskPlan::default()
        };
        let task = desk.add_tasks(&[plan]).unwrap().remove(0);
        let task = desk.claim(&who, &task, None).unwrap();
        (task.id, task.claim_token.unwrap_or_default())
    });
    scene.start_loop();
    let panes = Script::ready(&scene.clock);
    panes.at(12, || {
        scene.with_desk(|desk| {
            let done = Change {
                from: "in_progress",
                to: "completed",
                token: &task.1,
                result: None,
            };
            let id = pitcrew_core::TaskId::new(&task.0).unwrap();
            desk.transition(&id, Some(&name("w1")), done).unwrap();
        });
    });
    assert_eq!(scene.watch(&panes), Ending::NoLiveTeam);
    assert_eq!(panes.seconds(), 20);
}

#[test]
fn b6_the_tasks_of_a_member_that_is_gone_go_back_and_the_leader_is_told_once() {
    let scene = Scene::new();
    let who = Credentials {
        claimed: Some("w1".into()),
        ..Credentials::default()
    };
    let id = scene.with_desk(|desk| {
        let plan = TaskPlan {
            description: "a".into(),
            ..TaskPlan::default()
        };
        let task = desk.add_tasks(&[plan]).unwrap().remove(0);
        desk.claim(&who, &task, None).unwrap();
        task
    });
    scene.start_loop();
    let panes = Script::ready(&scene.clock);
    let life = Rc::clone(&panes.life);
    panes.at(7, move || life.set(Verdict::Gone { why: Loss::Ended }));
    assert_eq!(scene.watch(&panes), Ending::NoLiveTeam);
    let status = scene.with_desk(|desk| desk.task(&id).unwrap().status);
    assert_eq!((status, panes.seconds()), (Status::Pending, 15));
    // Another monitor sees the same member.
    assert_eq!(scene.watch(&panes), Ending::NoLiveTeam);
    let told = scene.with_desk(|desk| desk.count_unread(&Name::leader()).unwrap());
    assert_eq!(told, 1);
    assert_eq!(
        scene.decisions(),
        [
            "nothing not_idle",
            "it was killed by signal 9",
            "end no_live_team",
            "end no_live_team"
        ]
    );
}

fn renew_members(scene: &Scene, when: When) {
    scene.with_desk(|desk| {
        desk.change_roster(|team| {
            team.settings = Some(Settings {
                respawn: Some(Respawn {
                    when,
                    ..Respawn::default()
                }),
                ..Settings::default()
            });
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn a_crashed_member_is_started_again_with_back_off_then_given_up_and_the_leader_told() {
    let scene = Scene::new();
    renew_members(&scene, When::AfterFailure);
    let panes = Script::ready(&scene.clock);
    let life = Rc::clone(&panes.life);
    panes.at(7, move || life.set(Verdict::Gone { why: Loss::Ended }));
    // Without a loop: the team wants its members back.
    assert_eq!(scene.watch(&panes), Ending::NoLoop);
    assert_eq!(panes.renewed.borrow().len(), 3);
    let inbox = scene.with_desk(|desk| desk.count_unread(&Name::leader()).unwrap());
    assert_eq!(inbox, 2);
    assert_eq!(
        scene.decisions(),
        [
            "nothing loop_inactive",
            "it was killed by signal 9",
            "nothing gone",
            "failed: it was started again 3 times within 10 min",
            "end no_loop"
        ]
    );
}

#[test]
fn a_member_that_a_person_ended_is_told_as_left_and_stays_so() {
    for how in [Departure::Exited(0), Departure::Closed] {
        let scene = Scene::new();
        renew_members(&scene, When::AfterFailure);
        scene.start_loop();
        let panes = Script::ready(&scene.clock);
        panes.how.set(how);
        panes.life.set(Verdict::Gone { why: Loss::Ended });
        assert_eq!(scene.watch(&panes), Ending::NoLiveTeam);
        assert_eq!(panes.renewed.borrow().len(), 0);
        let left = format!("left: {}", how.words());
        assert_eq!(scene.decisions(), [&left, "end no_live_team"]);
    }
}

#[test]
fn the_claims_of_a_member_that_is_gone_end_although_it_is_not_started_again() {
    let scene = Scene::new();
    scene.start_loop();
    scene.with_desk(|desk| {
        let member = name("w1");
        let file = "a.rs".to_string().try_into().unwrap();
        let request = pitcrew_core::claim::Request {
            member: &member,
            file: &file,
            lines: pitcrew_core::claim::Lines::new(1, 9).unwrap(),
            ttl_ms: 600_000,
            mode: pitcrew_core::claim::Mode::Replace,
            patience: pitcrew_core::claim::Patience::None,
            anchor: None,
        };
        desk.claim_lines_as(&request).unwrap();
    });
    let panes = Script::ready(&scene.clock);
    panes.life.set(Verdict::Gone { why: Loss::Ended });
    assert_eq!(scene.watch(&panes), Ending::NoLiveTeam);
    let held = scene.with_desk(|desk| desk.claims().unwrap().held(desk.now()).count());
    assert_eq!(held, 0);
}

#[test]
fn without_a_loop_or_a_live_team_nothing_is_started() {
    let scene = Scene::new();
    let ensured = |scene: &Scene| {
        let program = Path::new("/nowhere/pitcrew");
        ensure(
            &scene.project,
            &scene.clock,
            &ENTROPY,
            program,
            &Environment::empty(),
            &[],
        )
    };
    assert_eq!(ensured(&scene).unwrap(), Ensured::NoLoop);
    scene.start_loop();
    assert!(matches!(ensured(&scene), Err(MonitorError::Start { .. })));
    assert!(!scene.project.is_watched().unwrap());
    let held = scene.project.watch_over().unwrap();
    assert_eq!(ensured(&scene).unwrap(), Ensured::Running);
    drop(held);
    scene.with_desk(|desk| desk.mark_shut_down().unwrap());
    assert_eq!(ensured(&scene).unwrap(), Ensured::NoLiveTeam);
}
