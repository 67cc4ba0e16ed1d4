//! C1, C2: panes that are gone, and panes that belong to somebody else.

use pitcrew_core::submit::Pane;
use pitcrew_runtime::tmux::{Ended, Socket, Tmux, TmuxError};

use crate::yard::{environment, reason, yard};

#[test]
fn c1_a_killed_pane_a_killed_session_and_a_missing_server_have_a_reason() {
    let Some(yard) = yard() else { return };
    let (one, two, three) = (
        yard.ready("a", &[]),
        yard.ready("b", &[]),
        yard.ready("c", &[]),
    );
    yard.raw(&["kill-pane", "-t", &one.pane.pane_id]);
    yard.raw(&["kill-session", "-t", "b"]);
    let looks = yard
        .tmux
        .look(&[&one.pane, &two.pane, &three.pane])
        .unwrap();
    assert_eq!((looks[0].pane, looks[1].pane), (Pane::Gone, Pane::Gone));
    assert!(matches!(looks[2].pane, Pane::Ours(_)));
    for fake in [&one, &two] {
        assert_eq!(reason(&yard.submit(fake, "hello")), "pane_gone");
    }
    yard.raw(&["kill-server"]);
    assert_eq!(reason(&yard.submit(&three, "hello")), "pane_gone");
    assert_eq!(yard.tmux.end_pane(&three.pane).unwrap(), Ended::WasGone);
    assert_eq!(yard.tmux.end_session(&three.pane).unwrap(), Ended::WasGone);
}

#[test]
fn c1_a_missing_binary_is_an_answer_and_no_hang() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("a", &[]);
    let missing = yard.tmux.clone().with_program("/nowhere/tmux");
    assert!(matches!(
        missing.look(&[&fake.pane]),
        Err(TmuxError::NotInstalled)
    ));
    let plan = fake.profile().plan("hello").unwrap();
    let outcome = pitcrew_runtime::tmux::submit(&mut (&missing, &fake.pane), plan);
    assert_eq!(reason(&outcome), "transport_failed");
}

#[test]
fn c1_a_server_that_hangs_is_given_up_in_time() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("a", &[]);
    let server = fake.pane.server.server_pid.to_string();
    let signal = |name: &str| {
        std::process::Command::new("kill")
            .args([name, &server])
            .status()
            .unwrap();
    };
    signal("-STOP");
    let hasty = yard
        .tmux
        .clone()
        .with_limit(std::time::Duration::from_millis(200));
    let looked = hasty.look(&[&fake.pane]);
    signal("-CONT");
    assert!(
        matches!(looked, Err(TmuxError::TimedOut { .. })),
        "{looked:?}"
    );
}

#[test]
fn c2_after_a_restart_of_the_server_nothing_is_typed_or_ended() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("a", &[]);
    yard.raw(&["kill-server"]);
    crate::yard::until("the end of the server", || {
        yard.tmux.panes().unwrap().is_empty().then_some(())
    });
    // Somebody else's server at the same socket, with the same ids.
    yard.raw(&[
        "new-session",
        "-d",
        "-x",
        "80",
        "-y",
        "24",
        "-s",
        "a",
        "cat",
    ]);
    // A new server answers its first client a moment before it has its panes.
    let pane = crate::yard::until("the pane of the new server", || {
        let panes = yard.raw(&["list-panes", "-a", "-F", "#{pane_id}"]);
        (!panes.is_empty()).then_some(panes)
    });
    assert_eq!(pane, fake.pane.pane_id);
    assert_eq!(reason(&yard.submit(&fake, "hello")), "server_changed");
    assert_eq!(yard.tmux.end_pane(&fake.pane).unwrap(), Ended::NotOurs);
    assert_eq!(yard.tmux.end_session(&fake.pane).unwrap(), Ended::NotOurs);
    assert_eq!(yard.raw(&["capture-pane", "-p", "-t", "a"]), "");
}

#[test]
fn c2_the_same_id_with_another_process_is_not_ours() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("a", &[]);
    yard.raw(&["respawn-pane", "-k", "-t", &fake.pane.pane_id, "cat"]);
    assert_eq!(reason(&yard.submit(&fake, "hello")), "not_ours");
    assert_eq!(yard.tmux.end_pane(&fake.pane).unwrap(), Ended::NotOurs);
    assert_eq!(yard.raw(&["capture-pane", "-p", "-t", "a"]), "");
}

#[test]
fn c2_the_same_id_at_another_socket_is_not_ours() {
    let (Some(yard), Some(other)) = (yard(), yard()) else {
        return;
    };
    let fake = yard.ready("a", &[]);
    let theirs = other.ready("a", &[]);
    assert_eq!(fake.pane.pane_id, theirs.pane.pane_id);
    let there = other.tmux.look(&[&fake.pane]).unwrap().remove(0);
    assert_eq!(there.pane, Pane::ServerChanged);
    assert_eq!(other.tmux.end_pane(&fake.pane).unwrap(), Ended::NotOurs);
    // The record leads to the right one.
    let found = other.tmux.at(&fake.pane.server.socket_path);
    assert!(matches!(
        found.look(&[&fake.pane]).unwrap()[0].pane,
        Pane::Ours(_)
    ));
}

#[test]
fn c2_a_session_whose_name_is_a_beginning_is_left_alone() {
    let Some(yard) = yard() else { return };
    let ours = yard.ready("omp-team-a", &[]);
    let theirs = yard.ready("omp-team-a-2", &[]);
    assert_eq!(yard.tmux.end_session(&ours.pane).unwrap(), Ended::Ended);
    assert_eq!(yard.tmux.end_session(&ours.pane).unwrap(), Ended::WasGone);
    assert_eq!(
        yard.raw(&["list-sessions", "-F", "#{session_name}"]),
        "omp-team-a-2"
    );
    assert!(matches!(yard.look(&theirs).pane, Pane::Ours(_)));
}

#[test]
fn a_socket_without_a_server_has_no_panes() {
    let Some(yard) = yard() else { return };
    assert_eq!(yard.tmux.panes().unwrap(), []);
    let nowhere = Tmux::new(Socket::At(yard.folder.path().join("none")), &environment());
    assert!(matches!(
        nowhere.socket_path(),
        Err(TmuxError::NoServer { .. })
    ));
}
