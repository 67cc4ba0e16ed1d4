//! A run on a real terminal: tmux on a private socket, 80 by 24.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at what it did not expect"
)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]
#![expect(
    clippy::disallowed_methods,
    reason = "a terminal is a program of its own"
)]

#[path = "crew/crew.rs"]
mod crew;

use std::process::Command;

use crew::Crew;

/// A terminal in a tmux server of its own, which ends with it.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// Opens one in the project, running `line`; `None`, with a notice, where there is no tmux and none is required.
    fn open(crew: &Crew, line: &str) -> Option<Self> {
        let socket = crew.root().parent().unwrap().join("tmux");
        let terminal = Self {
            socket: socket.display().to_string(),
        };
        if Command::new("tmux").arg("-V").output().is_err() {
            let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
            assert!(
                !required.split(',').any(|word| word == "tmux"),
                "tmux is required and missing"
            );
            eprintln!("skipped: there is no tmux");
            return None;
        }
        let root = crew.root().display().to_string();
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "-c",
            &root,
            "env",
            "-i",
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "TERM=screen-256color",
            "LANG=C.UTF-8",
            "sh",
            "-c",
            line,
        ]);
        Some(terminal)
    }

    fn tmux(&self, line: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-S", &self.socket])
            .args(line)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What stands on the screen, line by line.
    fn screen(&self) -> Vec<String> {
        let screen = self.tmux(&["capture-pane", "-p"]);
        screen
            .lines()
            .map(|line| line.trim_end().to_string())
            .collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn the_picture_is_drawn_in_place_and_an_interrupt_leaves_no_trace_of_it() {
    let crew = Crew::new(
        "[defaults]\nprofile = 'sh'\n[[members]]\nname = 'quick'\n[[members]]\nname = 'slow-member'\n\
         [[tasks]]\nid = 'short'\nfor = 'quick'\ndescription = 'x'\nscript = 'echo fine'\n\
         [[tasks]]\nid = 'long'\nfor = 'slow-member'\ndescription = 'x'\nscript = 'trap \"\" TERM; tmux -S ../tmux wait-for -S up; while :; do sleep 0.02; done'\n",
    );
    let line = format!(
        "trap : INT; '{}' run --grace 300ms team.toml; echo \"status $?\"; tmux -S ../tmux wait-for -S over; exec sleep 300",
        env!("CARGO_BIN_EXE_pitcrew")
    );
    let Some(terminal) = Terminal::open(&crew, &line) else {
        return;
    };
    terminal.tmux(&["wait-for", "up"]);
    // Each look is a process of its own, so this ends after seconds if the picture never comes.
    let is_drawn = |screen: &Vec<String>| {
        let has = |text: &str| screen.iter().any(|line| line.contains(text));
        has("quick: completed short: fine") && has("1 of 2 tasks")
    };
    let busy = (0..2_000).map(|_| terminal.screen()).find(is_drawn);
    let busy = busy.expect("the picture is drawn");
    let head = busy
        .iter()
        .filter(|line| line.contains("1 of 2 tasks"))
        .count();
    assert_eq!(head, 1, "{busy:#?}");
    assert!(
        busy.iter().any(|line| line.contains("slow-member  long")),
        "{busy:#?}"
    );
    assert!(
        busy.iter().any(|line| line.trim() == "quick        idle"),
        "{busy:#?}"
    );
    terminal.tmux(&["send-keys", "C-c"]);
    terminal.tmux(&["wait-for", "over"]);
    let end = terminal.screen();
    assert!(
        !end.iter().any(|line| line.contains("of 2 tasks  ")),
        "the picture is gone: {end:#?}"
    );
    for part in [
        "interrupted: asking slow-member to end; once more kills",
        "slow-member: was killed after ",
        "slow-member did not finish long: it was killed",
        "long   slow-member  pending       -  the run ended before",
        "status 130",
    ] {
        assert!(
            end.iter().any(|line| line.contains(part)),
            "{part}\n{end:#?}"
        );
    }
}
