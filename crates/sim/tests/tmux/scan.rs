//! C13: a scan costs one tmux process, however many panes there are.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pitcrew_core::submit::Pane;
use pitcrew_runtime::tmux::{Opening, PaneRecord, Size};

use crate::yard::{Yard, yard};

fn panes(yard: &Yard, count: usize) -> Vec<PaneRecord> {
    let (seats, _): (Vec<_>, Vec<_>) = (0..count).map(|at| yard.seat(&format!("w{at}"))).unzip();
    let opening = Opening::Session {
        name: "omp-team-x",
        size: Size::default(),
    };
    yard.tmux.open(opening, &seats).unwrap()
}

#[test]
fn c13_fifty_panes_are_scanned_with_one_tmux_process() {
    let Some(yard) = yard() else { return };
    let panes = panes(&yard, 50);
    let marks = yard.folder.path().join("calls");
    let wrapper = yard.folder.path().join("tmux");
    let script = format!(
        "#!/bin/sh\necho call >> '{}'\nexec tmux \"$@\"\n",
        marks.display()
    );
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let counted = yard.tmux.clone().with_program(&wrapper);
    let records: Vec<_> = panes.iter().collect();
    let profile = crate::yard::profile("claude");
    let agents: Vec<_> = records.iter().map(|pane| (*pane, &profile)).collect();
    let looks: Vec<_> = counted
        .scan(&agents)
        .unwrap()
        .into_iter()
        .map(|(look, _)| look)
        .collect();
    assert_eq!(looks.len(), 50);
    assert!(
        looks
            .iter()
            .all(|look| matches!(look.pane, Pane::Ours(_)) && look.facts.height() == 40)
    );
    assert_eq!(fs::read_to_string(&marks).unwrap().lines().count(), 1);
}

#[test]
fn a_pane_that_is_gone_spoils_no_other_ones_look() {
    let Some(yard) = yard() else { return };
    let panes = panes(&yard, 4);
    yard.raw(&["kill-pane", "-t", &panes[1].pane_id]);
    let records: Vec<_> = panes.iter().collect();
    let looks = yard.tmux.look(&records).unwrap();
    let gone: Vec<bool> = looks.iter().map(|look| look.pane == Pane::Gone).collect();
    assert_eq!(gone, [false, true, false, false]);
}

#[test]
fn a_scan_says_what_a_look_with_colours_says_with_at_most_two_processes() {
    let Some(yard) = yard() else { return };
    let fakes = [
        yard.ready("a", &["--skin", "claude"]),
        yard.ready("b", &["--skin", "codex"]),
        yard.ready("c", &["--skin", "qwen"]),
    ];
    fakes[1].order("type a draft");
    fakes[2].order("dialog");
    fakes.iter().for_each(|fake| yard.settled(fake));
    let profiles: Vec<_> = fakes.iter().map(|fake| fake.profile()).collect();
    let agents: Vec<_> = fakes.iter().map(|fake| &fake.pane).zip(&profiles).collect();
    let scanned = yard.tmux.scan(&agents).unwrap();
    for (fake, (look, reading)) in fakes.iter().zip(&scanned) {
        assert_eq!(reading.state, yard.state(fake));
        assert_eq!(look.pane, yard.look(fake).pane);
    }
    let states: Vec<_> = scanned
        .iter()
        .map(|(_, reading)| reading.state.word())
        .collect();
    assert_eq!(states, ["ready", "draft", "dialog"]);
}
