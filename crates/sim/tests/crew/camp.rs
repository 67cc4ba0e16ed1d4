//! A project of its own, a tmux server of its own, and profiles whose program is the fake agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const FAKE: &str = env!("CARGO_BIN_EXE_pitcrew-fake");

/// How long anything may take to be seen.
const PATIENCE: Duration = Duration::from_secs(20);

/// The binary, built once for all tests of this program: cargo hands a test the programs of its own package only.
fn pitcrew() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "pitcrew", "--bin", "pitcrew"])
            .args(
                Path::new(FAKE)
                    .parent()
                    .unwrap()
                    .ends_with("release")
                    .then_some("--release"),
            )
            .status()
            .unwrap();
        assert!(built.success());
        Path::new(FAKE).with_file_name("pitcrew")
    })
}

/// A project and a server, ended when dropped.
pub(crate) struct Camp {
    folder: TempDir,
    project: String,
}

/// What one call answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn ended(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("{why}: {self:#?}"))
    }
}

pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "never seen: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A camp; none, with a notice, where there is no tmux.
pub(crate) fn camp() -> Option<Camp> {
    if Command::new("tmux").arg("-V").output().is_err() {
        let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
        let required = required.split(',').any(|word| word.trim() == "tmux");
        assert!(!required, "tmux is required");
        println!("skipped: there is no tmux");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "p/.git",
        "p/.pitcrew/profiles/panes",
        "home",
        "logs",
        "tmux",
    ] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let camp = Camp {
        folder,
        project: "p".into(),
    };
    camp.profile("fake", "--turn-ms 150");
    Some(camp)
}

impl Camp {
    /// Moves the project into a folder further down.
    pub(crate) fn deepen(&mut self, below: &str) {
        fs::create_dir_all(self.path(below)).unwrap();
        let project = format!("{below}/p");
        fs::rename(self.path("p"), self.path(&project)).unwrap();
        self.project = project;
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path(&self.project)
    }

    /// A profile called `name` whose program is the fake agent with these switches.
    pub(crate) fn profile(&self, name: &str, switches: &str) {
        let logs = self.path("logs");
        let script = format!(
            "exec {FAKE} --log {}/$PITCREW_AGENT.log {switches}",
            logs.display()
        );
        let text = format!(
            "profile = \"{name}\"\nextends = \"claude\"\nversion = 1\n[pane]\ncommand = ['sh', '-c', '''{script}''']\n\
             resume = []\nready_within_ms = 15000\nforward = ['FAKE_*']\n"
        );
        let file = self
            .root()
            .join(".pitcrew/profiles/panes")
            .join(format!("{name}.toml"));
        fs::write(file, text).unwrap();
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn team(&self, team: &str, below: &str) -> PathBuf {
        self.root().join(".omp/state/team").join(team).join(below)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(pitcrew());
        command
            .args(words)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("TMUX_TMPDIR", self.path("tmux"))
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .current_dir(self.root());
        command
    }

    pub(crate) fn call(&self, words: &[&str]) -> Answer {
        answer(self.command(words).output().unwrap())
    }

    /// tmux itself, for what a test does beside us.
    pub(crate) fn tmux(&self, words: &[&str]) -> String {
        let answer = Command::new("tmux")
            .args(["-u", "-f", "/dev/null"])
            .args(words)
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .env("TMUX_TMPDIR", self.path("tmux"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&answer.stdout)
            .trim_end()
            .to_owned()
    }

    /// What a member's agent has written down, without times.
    pub(crate) fn notes(&self, member: &str) -> Vec<String> {
        let file = self.path("logs").join(format!("{member}.log"));
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(_, note)| note.to_owned())
            .collect()
    }

    /// The messages that a member's agent has taken.
    pub(crate) fn taken(&self, member: &str) -> Vec<String> {
        let notes = self.notes(member).into_iter();
        notes
            .filter_map(|note| note.strip_prefix("taken ").map(str::to_owned))
            .collect()
    }

    /// How a member is, as `team status` says.
    pub(crate) fn state(&self, team: &str, member: &str) -> String {
        let status = self.call(&["team", "status", team, "--json"]).json();
        let workers = status["snapshot"]["workers"].as_array().unwrap();
        let row = workers.iter().find(|row| row["name"] == member).unwrap();
        row["state"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn await_ready(&self, team: &str, member: &str) {
        until("a ready member", || {
            (self.state(team, member) == "ready").then_some(())
        });
    }
}

pub(crate) fn answer(output: Output) -> Answer {
    Answer {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Drop for Camp {
    fn drop(&mut self) {
        self.call(&["team", "monitor", "stop"]);
        self.tmux(&["kill-server"]);
    }
}
