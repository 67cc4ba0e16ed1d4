//! C6, C7: many triggers, from many processes, are one line.

use std::ops::ControlFlow;
use std::process::{Child, Command, Stdio};

use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::Draft;
use pitcrew_core::nudge::{Loops, Standing, Trigger, View, Wake, mail_line};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::{Recruit, Seat, Team};
use pitcrew_core::{Name, Timestamp};
use pitcrew_runtime::clock::{Clock, SystemClock, SystemEntropy};
use pitcrew_runtime::desk::{Desk, Entry, Which};
use pitcrew_runtime::tmux::{Socket, Tmux};
use pitcrew_runtime::wake::{PaneSeat, WakeError, Waker, Woken};
use pitcrew_store::local::Creation;
use pitcrew_store::{LocalStore, Project, StoreExt};

use crate::yard::{Fake, Yard, environment, profile, until, yard};

const JOB: &str = "PITCREW_WAKE_TEST_JOB";

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

/// A team of two, and where its files are.
fn found(yard: &Yard, folder: &str, fake: &Fake) -> LocalStore {
    let path = yard.folder.path().join(folder);
    std::fs::create_dir_all(&path).unwrap();
    let project = Project::at(&path).unwrap();
    let mut team = Team::new(&name("t"), "", "", "/p", Timestamp::from_millis(0));
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
    let Creation::Created(store) = project.create_team(&name("t"), &team).unwrap() else {
        panic!("the team exists");
    };
    let seat = PaneSeat {
        profile: "claude".into(),
        incarnation: 1,
        opened_at: Timestamp::from_millis(0),
        pane: fake.pane.clone(),
    };
    let kept = store.update(&name("w1"), |record: &mut Option<PaneSeat>| {
        *record = Some(seat.clone());
        Ok::<_, ()>(())
    });
    kept.unwrap().unwrap();
    store
}

/// One process: sends a message to w1 unless it only looks, then pulls its trigger.
fn wake(store: &LocalStore, trigger: Trigger, round_began: i64) -> Woken {
    let (team, member) = (name("t"), name("w1"));
    let desk = Desk::new(&team, store, &SystemClock, &SystemEntropy);
    let seat = store.view::<PaneSeat>(&member).unwrap().unwrap();
    let tmux = Tmux::new(
        Socket::At(seat.pane.server.socket_path.clone()),
        &environment(),
    );
    let profile = profile(&seat.profile);
    let waker = Waker {
        store,
        clock: &SystemClock,
        entropy: &SystemEntropy,
        member: &member,
        profile: &profile,
    };
    let view = || {
        let unread = desk
            .count_unread(&member)
            .map_err(|failed| WakeError::View(failed.to_string()))?;
        Ok(View {
            unread,
            newest_unread_at: (unread > 0).then(|| desk.now()),
            progress_at: Some(Timestamp::from_millis(round_began)),
            standing: Standing::Live,
            wake: Wake::Pane,
            loops: Loops::Active,
            idle_since: Some(Timestamp::from_millis(round_began - 60_000)),
        })
    };
    let line = |unread| mail_line(unread, &["pitcrew", "inbox", "--next"]);
    waker
        .wake(trigger, view, line, &mut (&tmux, &seat.pane))
        .unwrap()
}

#[test]
fn a_child_pulls_a_trigger() {
    let Ok(job) = std::env::var(JOB) else { return };
    let words: Vec<&str> = job.splitn(3, ' ').collect();
    // All at once: each says that it has started, and waits for the word.
    let folder = std::path::Path::new(words[2]);
    let round = format!("{}.{}", words[1], std::process::id());
    std::fs::write(folder.join(format!("started.{round}")), "").unwrap();
    let go = folder.join(format!("go.{}", words[1]));
    until("the word", || go.exists().then_some(()));
    let store = Project::at(words[2].as_ref()).unwrap().team(&name("t"));
    let began = words[1].parse().unwrap();
    let trigger = match words[0] {
        "send" => {
            let team = name("t");
            let desk = Desk::new(&team, &store, &SystemClock, &SystemEntropy);
            let roster = desk.roster().unwrap();
            desk.send_as(&roster, &Speaker::human(), "w1", &Draft::text("hello"))
                .unwrap();
            Trigger::Send
        }
        "idle" => Trigger::Idle,
        _ => Trigger::Sweep,
    };
    println!("woken {:?}", wake(&store, trigger, began));
}

fn child(job: &str, began: i64, folder: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wakes::a_child_pulls_a_trigger", "--nocapture"])
        .env(JOB, format!("{job} {began} {}", folder.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// One round: these triggers at once. Answers what the children said.
fn round(yard: &Yard, folder: &str, jobs: &[&str]) -> Vec<String> {
    let began = SystemClock.now();
    let path = yard.folder.path().join(folder);
    let children: Vec<Child> = jobs.iter().map(|job| child(job, began, &path)).collect();
    let start = format!("started.{began}.");
    until("all processes", || {
        let names = std::fs::read_dir(&path)
            .unwrap()
            .flatten()
            .map(|file| file.file_name());
        let started = names
            .filter(|name| name.to_string_lossy().starts_with(&start))
            .count();
        (started == jobs.len()).then_some(())
    });
    std::fs::write(path.join(format!("go.{began}")), "").unwrap();
    let said = children.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .filter(|line| line.starts_with("woken "))
            .collect()
    });
    said.collect()
}

/// Rounds of these triggers, each of which must lead to one line with the right count.
fn rounds(yard: &Yard, who: &str, count: usize, jobs: &[&str]) {
    let fake = yard.ready(who, &["--turn-ms", "400"]);
    let store = found(yard, who, &fake);
    let (team, member) = (name("t"), name("w1"));
    let desk = Desk::new(&team, &store, &SystemClock, &SystemEntropy);
    let sends = jobs.iter().filter(|job| **job == "send").count();
    for at in 1..=count {
        let said = round(yard, who, jobs);
        let typed = said
            .iter()
            .filter(|woken| woken.contains("Typed(Submitted)"))
            .count();
        assert_eq!(typed, 1, "round {at}: {said:#?}\n{:#?}", fake.notes());
        assert_eq!(fake.count("taken "), at, "round {at}");
        let last = fake
            .notes()
            .into_iter()
            .rfind(|note| note.starts_with("taken "))
            .unwrap();
        assert!(
            last.starts_with(&format!("taken You have {sends} new message(s).")),
            "round {at}: {last}, {said:#?}"
        );
        let mut ids: Vec<String> = Vec::new();
        let mut each = |entry: Entry| {
            ids.push(entry.message.id.clone());
            Ok(ControlFlow::Continue(()))
        };
        desk.list_mail(&member, Which::Unread, &mut each).unwrap();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        desk.acknowledge(&member, &ids).unwrap();
        assert_eq!(desk.count_unread(&member).unwrap(), 0);
        until("the end of the turn", || {
            (yard.state(&fake).word() == "ready").then_some(())
        });
    }
}

#[test]
fn c6_triggers_that_meet_are_one_injection_in_200_rounds() {
    let Some(yard) = yard() else { return };
    let yard = &yard;
    std::thread::scope(|scope| {
        scope.spawn(move || rounds(yard, "many", 100, &["send", "send", "send", "send"]));
        scope.spawn(move || rounds(yard, "mixed", 100, &["send", "idle", "sweep"]));
    });
}

#[test]
fn c6_ten_sends_at_once_are_one_injection_with_the_right_count() {
    let Some(yard) = yard() else { return };
    rounds(&yard, "ten", 5, &["send"; 10]);
}
