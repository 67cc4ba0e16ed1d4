//! D4, D5, B6 and lost wakes: the monitor over a real tmux, with a clock that runs faster than the world.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pitcrew_core::event::{Fact, Filter, What};
use pitcrew_core::loops::{Mode, Opening, Over, Ralph};
use pitcrew_core::monitor::Ending;
use pitcrew_core::nudge::Timing;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat, Team};
use pitcrew_core::{Name, Timestamp};
use pitcrew_runtime::clock::{Clock, SystemClock, SystemEntropy};
use pitcrew_runtime::desk::{Credentials, Desk};
use pitcrew_runtime::loops::{Loops, Wish};
use pitcrew_runtime::monitor::{TmuxPanes, Watcher};
use pitcrew_runtime::profile::PaneProfiles;
use pitcrew_runtime::wake::PaneSeat;
use pitcrew_store::{Project, StoreExt};

use crate::yard::{Fake, Yard, until, yard};

/// How much faster the monitor's clock runs than the world.
const FASTER: i64 = 12;

/// A clock in a hurry. What is waited for at the terminal takes as long as it takes.
#[derive(Debug)]
struct Hasty {
    wall: i64,
    monotonic: i64,
}

impl Hasty {
    fn new() -> Self {
        Self {
            wall: SystemClock.now(),
            monotonic: SystemClock.monotonic(),
        }
    }

    /// Seconds of the world's time as this clock has them.
    fn seconds(&self, at: Timestamp) -> i64 {
        (at.as_millis() - self.wall) / 1_000
    }
}

impl Clock for Hasty {
    fn now(&self) -> i64 {
        self.wall + (SystemClock.monotonic() - self.monotonic) * FASTER
    }

    fn monotonic(&self) -> i64 {
        (SystemClock.monotonic() - self.monotonic) * FASTER
    }

    fn elapsed_since_boot(&self) -> i64 {
        self.monotonic()
    }
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

/// The team `t` of `w1` in a pane and `w2` without one, and an active loop.
struct Scene<'a> {
    yard: &'a Yard,
    project: Project,
    clock: Hasty,
}

impl<'a> Scene<'a> {
    fn new(yard: &'a Yard, fake: &Fake) -> Self {
        let path = yard.folder.path().join("project");
        std::fs::create_dir_all(&path).unwrap();
        let project = Project::at(&path).unwrap();
        let clock = Hasty::new();
        let now = Timestamp::from_millis(clock.now());
        let mut team = Team::new(&name("t"), "", "", "/p", now);
        for member in ["w1", "w2"] {
            let recruit = Recruit {
                name: name(member),
                role: String::new(),
                seat: Seat::Pane,
                profile: Some("claude".into()),
                task_id: None,
            };
            team.add(recruit).unwrap();
        }
        project.create_team(&name("t"), &team).unwrap();
        let seat = PaneSeat {
            profile: "claude".into(),
            incarnation: 1,
            opened_at: now,
            pane: fake.pane.clone(),
        };
        let store = project.team(&name("t"));
        let kept = store.update(&name("w1"), |record: &mut Option<PaneSeat>| {
            *record = Some(seat.clone());
            Ok::<_, ()>(())
        });
        kept.unwrap().unwrap();
        let wish = Wish {
            aim: "x",
            session_id: None,
            over: Over::Refuse,
        };
        let open = |opening: &Opening<'_>| Ralph::opened(opening, 3);
        Loops::of(&project, &clock).start(&wish, open).unwrap();
        Self {
            yard,
            project,
            clock,
        }
    }

    fn with_desk<A>(&self, act: impl FnOnce(&Desk<'_>) -> A) -> A {
        let (team, store) = (name("t"), self.project.team(&name("t")));
        act(&Desk::new(&team, &store, &self.clock, &SystemEntropy))
    }

    fn watch(&self) -> Ending {
        let profiles = PaneProfiles::built_in();
        let caller = crate::yard::environment();
        let panes = TmuxPanes {
            tmux: &self.yard.tmux,
            profiles: &profiles,
            project: &self.project,
            caller: &caller,
            program: std::path::Path::new("/nowhere/pitcrew"),
        };
        let watcher = Watcher {
            project: &self.project,
            clock: &self.clock,
            entropy: &SystemEntropy,
            panes: &panes,
            timing: Timing::default(),
        };
        watcher.watch_once().unwrap()
    }

    fn cancel(&self) {
        Loops::of(&self.project, &self.clock)
            .cancel(Mode::Ralph)
            .unwrap();
    }

    /// What was decided about w1, with when.
    fn decisions(&self) -> Vec<(i64, String, String)> {
        let mut found = Vec::new();
        self.with_desk(|desk| {
            desk.events_from(0, &Filter::default(), &mut |event| {
                if let What::Known(Fact::NudgeDecided { did, reason, .. }) = event.what {
                    found.push((self.clock.seconds(event.at), did, reason));
                }
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        });
        found
    }

    fn is_decided(&self, reason: &str) -> bool {
        self.decisions().iter().any(|(_, _, found)| found == reason)
    }
}

/// Runs the monitor beside `act`, until that has ended the loop.
fn beside(scene: &Scene<'_>, act: impl FnOnce()) -> Ending {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let ending = scene.watch();
            ended.store(true, Ordering::SeqCst);
            ending
        });
        act();
        scene.cancel();
        until("the end of the monitor", || {
            ended.load(Ordering::SeqCst).then_some(())
        });
        watching.join().unwrap()
    })
}

fn send(scene: &Scene<'_>, body: &str) {
    let who = Credentials {
        claimed: Some("w2".into()),
        ..Credentials::default()
    };
    let draft = pitcrew_core::mailbox::Draft {
        body: body.into(),
        intent: None,
        reply_to: None,
        idempotency_key: None,
    };
    scene.with_desk(|desk| desk.send(&who, "w1", &draft).unwrap());
}

#[test]
fn d4_real_an_idle_pane_is_prompted_three_times_then_the_leader_is_told() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("idle", &[]);
    let scene = Scene::new(&yard, &fake);
    let ending = beside(&scene, || {
        until("that it is given up", || {
            scene.is_decided("given_up").then_some(())
        });
        // Twice as long again: nothing more is typed.
        std::thread::sleep(Duration::from_secs(2));
    });
    assert_eq!(ending, Ending::NoLoop);
    let decisions = scene.decisions();
    let prompted = decisions.iter().filter(|(_, did, _)| did == "prompted");
    let prompted: Vec<i64> = prompted.map(|(at, ..)| *at).collect();
    assert_eq!(prompted.len(), 3, "{decisions:?}");
    for (at, (least, most)) in prompted.iter().zip([(30, 50), (65, 100), (100, 150)]) {
        assert!((least..=most).contains(at), "{prompted:?}");
    }
    assert_eq!(fake.count("taken "), 3, "{:?}", fake.notes());
    let told = scene.with_desk(|desk| desk.count_unread(&Name::leader()).unwrap());
    assert_eq!(told, 1);
}

#[test]
fn real_a_wake_that_was_lost_while_the_pane_was_busy_is_made_good() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("sweep", &[]);
    fake.order("busy");
    yard.settled(&fake);
    let scene = Scene::new(&yard, &fake);
    beside(&scene, || {
        send(&scene, "mail without a wake");
        until("that it is busy", || scene.is_decided("busy").then_some(()));
        assert_eq!(fake.count("taken "), 0);
        fake.order("idle");
        until("a line", || (fake.count("taken ") == 1).then_some(()));
    });
    let decisions = scene.decisions();
    assert!(
        decisions.iter().any(|(_, did, _)| did == "prompted"),
        "{decisions:?}"
    );
}

#[test]
fn c3_real_an_open_dialog_is_a_reason_and_gets_no_key() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("dialog", &[]);
    fake.order("dialog");
    yard.settled(&fake);
    let scene = Scene::new(&yard, &fake);
    let before = fake.bytes();
    beside(&scene, || {
        send(&scene, "x");
        until("that a dialog is open", || {
            scene.is_decided("dialog").then_some(())
        });
        std::thread::sleep(Duration::from_millis(1_500));
    });
    assert_eq!(fake.bytes(), before);
}

#[test]
fn b6_d5_real_a_killed_agent_gives_its_task_back_and_leaves_nothing_to_watch() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("killed", &[]);
    let scene = Scene::new(&yard, &fake);
    let who = Credentials {
        claimed: Some("w1".into()),
        ..Credentials::default()
    };
    let task = scene.with_desk(|desk| {
        let plan = pitcrew_runtime::desk::TaskPlan {
            description: "a".into(),
            ..pitcrew_runtime::desk::TaskPlan::default()
        };
        let task = desk.add_tasks(&[plan]).unwrap().remove(0);
        desk.claim(&who, &task, None).unwrap();
        task
    });
    let pid = fake.pane.process.pid.to_string();
    let killed = Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    assert!(killed.success());
    until("the end of the agent", || {
        (fake.pane.process.presence() != pitcrew_runtime::process::Presence::Alive).then_some(())
    });
    assert_eq!(scene.watch(), Ending::NoLiveTeam);
    let status = scene.with_desk(|desk| desk.task(&task).unwrap().status);
    assert_eq!(status, pitcrew_core::task::Status::Pending);
}
