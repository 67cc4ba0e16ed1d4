//! Nothing that is not ours is typed into, resized or ended: foreign sessions around a team stay byte for byte as they are.

use std::fs;

use pitcrew_runtime::tmux::{Opening, Size};

use crate::yard::{Yard, yard};

/// Everything about the foreign part that tmux tells.
fn foreign(yard: &Yard, sessions: &[&str]) -> Vec<String> {
    let facts = "#{session_name} #{window_id} #{window_name} #{pane_id} #{pane_pid} #{pane_width}x#{pane_height} \
                 #{cursor_x},#{cursor_y} #{pane_dead} #{pane_in_mode} #{history_size} #{pane_title}";
    let mut told = Vec::new();
    for session in sessions {
        let target = format!("={session}");
        let panes = yard.raw(&["list-panes", "-s", "-t", &target, "-F", facts]);
        for id in yard
            .raw(&["list-panes", "-s", "-t", &target, "-F", "#{pane_id}"])
            .lines()
        {
            told.push(yard.raw(&["capture-pane", "-pe", "-S", "-", "-t", id]));
            told.push(yard.raw(&["show-options", "-p", "-t", id]));
            told.push(yard.raw(&["show-options", "-w", "-t", id]));
        }
        told.push(yard.raw(&["show-options", "-t", &target]));
        told.push(yard.raw(&["show-environment", "-t", &target]));
        told.push(panes);
    }
    told.push(yard.raw(&["show-options", "-g"]));
    told.push(yard.raw(&["list-buffers"]));
    told
}

#[test]
fn nothing_foreign_is_touched() {
    let Some(yard) = yard() else { return };
    // Each writes down every byte that reaches it.
    let heard = |name: &str| yard.folder.path().join(format!("{name}.heard"));
    let names = [
        "omp-team",
        "omp-team-",
        "omp-team-x-2",
        "xomp-team-x",
        "0",
        "w1",
    ];
    for name in names {
        let cat = format!("stty raw -echo; exec cat > '{}'", heard(name).display());
        yard.raw(&[
            "new-session",
            "-d",
            "-x",
            "90",
            "-y",
            "30",
            "-s",
            name,
            &cat,
        ]);
        yard.raw(&[
            "split-window",
            "-d",
            "-t",
            &format!("={name}:"),
            "printf 'a screen'; exec sleep 600",
        ]);
        yard.raw(&[
            "new-window",
            "-d",
            "-n",
            "w1",
            "-t",
            &format!("={name}:"),
            "exec sleep 600",
        ]);
    }
    yard.raw(&["set-buffer", "-b", "mine", "a buffer"]);
    let before = {
        crate::yard::until("screens", || {
            let first = foreign(&yard, &names);
            std::thread::sleep(std::time::Duration::from_millis(30));
            (first == foreign(&yard, &names)).then_some(first)
        })
    };

    let (seats, files): (Vec<_>, Vec<_>) = ["a1", "a2", "a3"]
        .iter()
        .map(|name| yard.seat(name))
        .unzip();
    let opening = Opening::Session {
        name: "omp-team-x",
        size: Size::default(),
    };
    let panes = yard.tmux.open(opening, &seats).unwrap();
    let switches: [&[&str]; 3] = [&[], &["--submit", "never"], &["--skin", "codex"]];
    let fakes: Vec<_> = (0..3)
        .map(|at| {
            yard.release(
                &format!("a{}", at + 1),
                &files[at],
                panes[at].clone(),
                switches[at],
            )
        })
        .collect();
    for fake in &fakes {
        fake.wait_for("shown ready");
        yard.settled(fake);
        yard.submit(fake, "You have 1 new message");
    }
    let beside = Opening::Windows { beside: &panes[0] };
    let (more, _) = yard.seat("a4");
    let fourth = yard.tmux.open(beside, &[more]).unwrap().remove(0);
    yard.tmux.end_pane(&fourth).unwrap();
    yard.tmux.end_pane(&panes[1]).unwrap();
    yard.tmux.end_session(&panes[0]).unwrap();

    assert_eq!(foreign(&yard, &names), before);
    for name in names {
        assert_eq!(fs::read(heard(name)).unwrap(), b"", "{name}");
    }
    let sessions = yard.raw(&["list-sessions", "-F", "#{session_name}"]);
    assert_eq!(sessions.lines().count(), names.len(), "{sessions}");
}
