//! Nothing that pitcrew did not start is typed into, resized or ended: a whole life of a team beside sessions, windows and
//! panes of somebody else, compared byte for byte.

use crate::camp::{Camp, camp};

/// Every foreign pane: what tmux knows of it, and its screen with its scrollback.
fn foreign(camp: &Camp, panes: &[String]) -> Vec<String> {
    let format = "#{session_name} #{session_id} #{session_created} #{window_id} #{window_name} #{pane_id} #{pane_pid} \
                  #{pane_width}x#{pane_height} #{window_width}x#{window_height} #{cursor_x},#{cursor_y} #{pane_dead} \
                  #{history_size} #{pane_in_mode} #{pane_title} #{remain-on-exit}";
    panes
        .iter()
        .map(|pane| {
            let facts = camp.tmux(&["display", "-p", "-t", pane, format]);
            let screen = camp.tmux(&["capture-pane", "-e", "-p", "-S", "-", "-t", pane]);
            format!("{facts}\n{screen}")
        })
        .collect()
}

#[test]
fn what_pitcrew_did_not_start_stays_byte_for_byte() {
    let Some(camp) = camp() else { return };
    let mut panes = Vec::new();
    // Names that begin as the team's does, end as it does, or are one sign longer.
    for name in [
        "mine",
        "omp-team-alph",
        "omp-team-alpha-2",
        "omp-team-alphabet",
        "alpha",
        "worker-1",
    ] {
        let format = "#{pane_id}";
        let script = "echo this is mine; echo half a dra; exec sleep 600";
        panes.push(camp.tmux(&[
            "new-session",
            "-d",
            "-P",
            "-F",
            format,
            "-x",
            "90",
            "-y",
            "25",
            "-n",
            "shell",
            "-s",
            name,
            script,
        ]));
        panes.push(camp.tmux(&[
            "new-window",
            "-d",
            "-P",
            "-F",
            format,
            "-n",
            "worker-1",
            "-t",
            &format!("={name}:"),
            script,
        ]));
        panes.push(camp.tmux(&[
            "split-window",
            "-d",
            "-P",
            "-F",
            format,
            "-t",
            panes.last().unwrap(),
            "exec cat",
        ]));
    }
    crate::camp::until("drawn screens", || {
        let drawn = |pane: &&String| {
            camp.tmux(&["capture-pane", "-p", "-t", pane])
                .contains("half a dra")
        };
        (panes.iter().filter(drawn).count() == 12).then_some(())
    });
    let before = foreign(&camp, &panes);
    let options = camp.tmux(&["show-options", "-g"])
        + &camp.tmux(&["show-options", "-gw"])
        + &camp.tmux(&["list-buffers"]);

    let words = ["team", "3:fake", "look around", "--name", "alpha", "--json"];
    camp.call(&words).ended(0);
    // A window that somebody opens in the team's own session is foreign too.
    panes.push(camp.tmux(&[
        "new-window",
        "-d",
        "-P",
        "-F",
        "#{pane_id}",
        "-t",
        "=omp-team-alpha:",
        "exec sleep 600",
    ]));
    let guest = foreign(&camp, &panes[panes.len() - 1..]);
    camp.await_ready("alpha", "worker-1");
    camp.call(&["--team", "alpha", "send", "worker-1", "hello"])
        .ended(0);
    camp.call(&["--team", "alpha", "broadcast", "hello all"])
        .ended(0);
    camp.call(&["--team", "alpha", "team", "restart", "worker-2"])
        .ended(0);
    camp.call(&["team", "status", "alpha"]).ended(0);
    camp.call(&["who", "--team", "alpha"]).ended(0);
    camp.call(&words).ended(1);
    let ended = camp
        .call(&["team", "shutdown", "alpha", "--json"])
        .ended(0)
        .json();
    assert_eq!(ended["killedPanes"], 3);
    assert_eq!(ended["killedSession"], false);
    assert!(
        ended["leftAlone"].to_string().contains("did not open"),
        "{ended}"
    );

    assert_eq!(foreign(&camp, &panes[panes.len() - 1..]), guest);
    panes.pop();
    assert_eq!(foreign(&camp, &panes), before);
    let after = camp.tmux(&["show-options", "-g"])
        + &camp.tmux(&["show-options", "-gw"])
        + &camp.tmux(&["list-buffers"]);
    assert_eq!(after, options);
}

#[test]
fn c2_a_pane_id_that_is_somebody_elses_by_now_is_left_alone() {
    let Some(camp) = camp() else { return };
    camp.call(&["team", "1:fake", "x", "--name", "alpha", "--json"])
        .ended(0);
    camp.tmux(&["kill-server"]);
    // The new server hands out the same ids from the beginning.
    let format = "#{pane_id}";
    let panes: Vec<String> = (0..3)
        .map(|at| {
            camp.tmux(&[
                "new-session",
                "-d",
                "-P",
                "-F",
                format,
                "-s",
                &format!("omp-team-alpha{at}"),
                "exec cat",
            ])
        })
        .collect();
    let recorded = std::fs::read_to_string(camp.team("alpha", "config.json")).unwrap();
    assert!(
        panes
            .iter()
            .any(|pane| recorded.contains(&format!("\"paneId\": \"{pane}\"")))
    );
    let before = foreign(&camp, &panes);
    let sent = camp
        .call(&["--team", "alpha", "send", "worker-1", "hello", "--json"])
        .ended(0)
        .json();
    assert_eq!(
        (sent["nudged"].as_bool(), sent["wake"]["reason"].as_str()),
        (Some(false), Some("server_changed"))
    );
    let ended = camp
        .call(&["team", "shutdown", "alpha", "--json"])
        .ended(0)
        .json();
    assert_eq!(ended["killedPanes"], 0);
    assert_eq!(foreign(&camp, &panes), before);
}
