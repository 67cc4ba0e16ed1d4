//! C9, C11, C12: panes behind gates.

use std::time::Instant;

use pitcrew_core::submit::Pane;
use pitcrew_runtime::process::Presence;
use pitcrew_runtime::tmux::{Ended, Entry, Opening, Readiness, Size, TmuxError, TrustPolicy};

use crate::yard::{FAKE, until, write_private, yard};

#[test]
fn c9_eight_agents_are_ready_in_seconds_each_in_a_window_wide_enough() {
    let Some(yard) = yard() else { return };
    let start = Instant::now();
    let names: Vec<String> = (1..=8).map(|at| format!("worker-{at}")).collect();
    let (seats, files): (Vec<_>, Vec<_>) = names.iter().map(|name| yard.seat(name)).unzip();
    let size = Size {
        width: 80,
        height: 24,
    };
    let opening = Opening::Session {
        name: "omp-team-x",
        size,
    };
    let panes = yard.tmux.open(opening, &seats).unwrap();
    let fakes: Vec<_> = names
        .iter()
        .zip(&files)
        .zip(&panes)
        .map(|((name, file), pane)| yard.release(name, file, pane.clone(), &["--start-ms", "300"]))
        .collect();
    let records: Vec<_> = panes.iter().collect();
    let profile = fakes[0].profile();
    let agents: Vec<_> = records.iter().map(|pane| (*pane, &profile)).collect();
    let ready = yard.tmux.await_ready(&agents, TrustPolicy::Ask).unwrap();
    assert_eq!(ready, vec![Readiness::Ready; 8]);
    println!("eight agents were ready after {:?}", start.elapsed());
    assert!(start.elapsed().as_secs() < 5);
    let looks = yard.tmux.look(&records).unwrap();
    assert!(looks.iter().all(|look| look.facts.width == Some(80)));
    assert_eq!(
        yard.raw(&["list-windows", "-t", "=omp-team-x", "-F", "#{window_name}"])
            .lines()
            .count(),
        8
    );
}

#[test]
fn c11_a_session_that_runs_is_refused_and_left_as_it_is() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("omp-team-x", &[]);
    let (seats, _files): (Vec<_>, Vec<_>) = ["a", "b"].iter().map(|name| yard.seat(name)).unzip();
    let opening = Opening::Session {
        name: "omp-team-x",
        size: Size::default(),
    };
    let refused = yard.tmux.open(opening, &seats).unwrap_err();
    assert!(
        matches!(&refused, TmuxError::NameTaken { session } if session == "omp-team-x"),
        "{refused}"
    );
    let panes = yard.tmux.panes().unwrap();
    assert_eq!(panes.len(), 1);
    assert_eq!(panes[0].pane_id, fake.pane.pane_id);
}

#[test]
fn c11_of_four_launches_at_once_one_wins() {
    let Some(yard) = yard() else { return };
    yard.ready("other", &[]);
    let won = std::thread::scope(|scope| {
        let launch = |at: usize| {
            let yard = &yard;
            scope.spawn(move || {
                let (seat, _) = yard.seat(&format!("w{at}"));
                let opening = Opening::Session {
                    name: "omp-team-x",
                    size: Size::default(),
                };
                yard.tmux.open(opening, &[seat]).is_ok()
            })
        };
        let launches: Vec<_> = (0..4).map(launch).collect();
        launches
            .into_iter()
            .map(|launch| launch.join().unwrap())
            .filter(|won| *won)
            .count()
    });
    assert_eq!(won, 1);
    assert_eq!(yard.tmux.panes().unwrap().len(), 2);
}

#[test]
fn a_launch_that_cannot_be_whole_leaves_no_pane() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("mine", &[]);
    yard.raw(&[
        "resize-window",
        "-t",
        &fake.pane.window_id,
        "-x",
        "12",
        "-y",
        "8",
    ]);
    let (seats, _): (Vec<_>, Vec<_>) = (0..9).map(|at| yard.seat(&format!("w{at}"))).unzip();
    let opening = Opening::Splits {
        of: &fake.pane.pane_id,
    };
    let refused = yard.tmux.open(opening, &seats).unwrap_err();
    assert!(matches!(refused, TmuxError::Refused { .. }), "{refused}");
    let left: Vec<_> = yard.tmux.panes().unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].pane_id, fake.pane.pane_id);
}

#[test]
fn c12_a_secret_is_in_the_agents_environment_and_in_no_command_line_and_no_tmux() {
    let Some(yard) = yard() else { return };
    let (seat, file) = yard.seat("w1");
    let opening = Opening::Session {
        name: "w1",
        size: Size::default(),
    };
    let pane = yard.tmux.open(opening, &[seat]).unwrap().remove(0);
    let secret = "s3cr3t-4711-value";
    let entry = Entry {
        set: vec![
            ("COPILOT_PROVIDER_API_KEY".into(), secret.into()),
            ("OMP_TEAM_WORKER".into(), "1".into()),
        ],
        unset: vec!["HOME".into()],
        command: vec![FAKE.into()],
    };
    write_private(&file, &entry.to_bytes());
    let pid = pane.process.pid;
    let environ = || std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let has = |text: &[u8], part: &str| {
        text.windows(part.len())
            .any(|found| found == part.as_bytes())
    };
    until("the agent", || has(&environ(), secret).then_some(()));
    assert!(has(&environ(), "OMP_TEAM_WORKER=1") && !has(&environ(), "\0HOME="));
    assert!(has(&environ(), "TMUX_PANE="));
    assert!(!file.exists());
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!has(&line, secret));
    }
    for shown in [
        yard.raw(&["show-environment", "-g"]),
        yard.raw(&["show-environment", "-t", "w1"]),
        yard.raw(&["list-panes", "-a", "-F", "#{pane_start_command}"]),
    ] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn a_gate_without_an_entry_gives_up_and_the_pane_says_why() {
    let Some(yard) = yard() else { return };
    let (seat, file) = yard.seat("w1");
    let opening = Opening::Session {
        name: "w1",
        size: Size::default(),
    };
    let pane = yard.tmux.open(opening, &[seat]).unwrap().remove(0);
    write_private(&file, b"no entry");
    until("a dead pane", || {
        let look = yard.tmux.look(&[&pane]).unwrap().remove(0);
        let shown: String = look
            .facts
            .rows
            .iter()
            .map(|row| row.text.as_str())
            .collect();
        let said = shown.contains("cannot be understood");
        (look.pane == Pane::Dead && said).then_some(())
    });
    assert_eq!(yard.tmux.end_pane(&pane).unwrap(), Ended::Ended);
}

#[test]
fn an_agent_is_its_panes_own_process() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    assert_eq!(fake.pane.process.presence(), Presence::Alive);
    assert_eq!(yard.tmux.end_pane(&fake.pane).unwrap(), Ended::Ended);
    until("its end", || {
        (fake.pane.process.presence() == Presence::Gone).then_some(())
    });
}

#[test]
fn fresh_agents_are_waited_for_side_by_side_and_each_has_its_answer() {
    let Some(yard) = yard() else { return };
    let ready = yard.start("a", &["--start-ms", "200"]);
    let asks = yard.start("b", &["--dialog", "start:0"]);
    let trusts = yard.start("c", &["--skin", "gemini", "--trust"]);
    let gone = yard.start("d", &[]);
    gone.wait_for("shown");
    yard.raw(&["kill-pane", "-t", &gone.pane.pane_id]);
    let ends = yard.start("e", &[]);
    ends.wait_for("shown");
    ends.order("exit 7");
    let blank = yard.start("f", &["--start-ms", "600000"]);
    let mut profiles: Vec<_> = [&ready, &asks, &trusts, &gone, &ends, &blank]
        .map(|fake| fake.profile())
        .into();
    profiles
        .iter_mut()
        .for_each(|profile| profile.pane.ready_within_ms = 4_000);
    let panes = [&ready, &asks, &trusts, &gone, &ends, &blank].map(|fake| &fake.pane);
    let agents: Vec<_> = panes.into_iter().zip(&profiles).collect();
    let answers = yard.tmux.await_ready(&agents, TrustPolicy::Ask).unwrap();
    assert_eq!(answers[0], Readiness::Ready);
    assert!(
        matches!(answers[1], Readiness::Asks(_)) && matches!(answers[2], Readiness::Asks(_)),
        "{answers:?}"
    );
    assert_eq!(answers[3], Readiness::Gone);
    // Some versions of tmux never tell the status of a process that ended after its terminal.
    assert!(matches!(answers[4], Readiness::Exited(Some(7) | None)));
    assert_eq!(answers[5], Readiness::Late("the screen is blank".into()));
    for fake in [&asks, &trusts] {
        assert_eq!(fake.bytes(), "");
    }
}

#[test]
fn a_trust_question_is_answered_only_when_the_user_said_so_and_no_other_one_ever() {
    let Some(yard) = yard() else { return };
    let trusts = yard.start("a", &["--trust"]);
    let asks = yard.start("b", &["--dialog", "start:0"]);
    let mut profile = trusts.profile();
    profile.pane.trust = Some(pitcrew_runtime::profile::Trust {
        asks: vec!["Do you trust the files".into()],
        accept: vec!["Enter".into()],
        chosen: "❯ 1. Yes".into(),
    });
    let agents = [(&trusts.pane, &profile), (&asks.pane, &profile)];
    let answers = yard.tmux.await_ready(&agents, TrustPolicy::Accept).unwrap();
    assert_eq!(answers[0], Readiness::Ready, "{:#?}", trusts.notes());
    assert!(matches!(answers[1], Readiness::Asks(_)));
    assert_eq!(trusts.bytes(), "0d");
    assert_eq!(asks.bytes(), "");
}
