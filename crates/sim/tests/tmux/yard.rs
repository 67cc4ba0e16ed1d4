//! A private tmux server in a private folder, and fake agents in it.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pitcrew_core::screen::State;
use pitcrew_core::submit::{Look, Outcome};
use pitcrew_runtime::process::Environment;
use pitcrew_runtime::profile::{PaneProfile, PaneProfiles};
use pitcrew_runtime::tmux::{Entry, Opening, PaneRecord, Seat, Size, Socket, Tmux, submit};
use tempfile::TempDir;

pub(crate) const FAKE: &str = env!("CARGO_BIN_EXE_pitcrew-fake");

/// How long anything may take to be seen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server of its own, ended when dropped.
pub(crate) struct Yard {
    pub(crate) folder: TempDir,
    pub(crate) tmux: Tmux,
}

/// A fake agent in a pane.
pub(crate) struct Fake {
    pub(crate) pane: PaneRecord,
    pub(crate) log: PathBuf,
    control: PathBuf,
    profile: String,
}

pub(crate) fn environment() -> Environment {
    Environment::all_of(std::env::vars_os())
        .unset("TMUX")
        .unset("TMUX_PANE")
}

/// A yard; none, with a notice, where there is no tmux.
pub(crate) fn yard() -> Option<Yard> {
    let probe = Tmux::new(Socket::Default, &environment()).version();
    if let Err(error) = probe {
        let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
        let required = required.split(',').any(|word| word.trim() == "tmux");
        assert!(!required, "tmux is required: {error}");
        println!("skipped: {error}");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let tmux = Tmux::new(Socket::At(folder.path().join("sock")), &environment())
        .with_config("/dev/null")
        .with_limit(Duration::from_secs(20));
    Some(Yard { folder, tmux })
}

impl Drop for Yard {
    fn drop(&mut self) {
        let _ = self.raw(&["kill-server"]);
    }
}

pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "never seen: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn write_private(path: &Path, bytes: &[u8]) {
    let draft = path.with_extension("draft");
    fs::write(&draft, bytes).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&draft, path).unwrap();
}

pub(crate) fn profile(name: &str) -> PaneProfile {
    PaneProfiles::built_in().get(name).unwrap().clone()
}

impl Yard {
    /// tmux itself, for what a test does behind our back.
    pub(crate) fn raw(&self, words: &[&str]) -> String {
        let socket = self.folder.path().join("sock");
        let answer = Command::new("tmux")
            .arg("-u")
            .arg("-S")
            .arg(socket)
            .args(["-f", "/dev/null"])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&answer.stdout)
            .trim_end()
            .to_owned()
    }

    pub(crate) fn seat(&self, name: &str) -> (Seat, PathBuf) {
        let file = self.folder.path().join(format!("{name}.entry"));
        let gate = [
            OsString::from(FAKE),
            "pane-exec".into(),
            file.clone().into(),
        ];
        let seat = Seat {
            title: name.to_owned(),
            folder: self.folder.path().to_owned(),
            gate: gate.into(),
        };
        (seat, file)
    }

    /// A fake agent in a session of its own; not waited for.
    pub(crate) fn start(&self, name: &str, switches: &[&str]) -> Fake {
        self.start_at(name, switches, Size::default())
    }

    pub(crate) fn start_at(&self, name: &str, switches: &[&str], size: Size) -> Fake {
        let (seat, file) = self.seat(name);
        let opening = Opening::Session { name, size };
        let pane = self.tmux.open(opening, &[seat]).unwrap().remove(0);
        self.release(name, &file, pane, switches)
    }

    /// Lets the agent in behind an open gate.
    pub(crate) fn release(
        &self,
        name: &str,
        file: &Path,
        pane: PaneRecord,
        switches: &[&str],
    ) -> Fake {
        let log = self.folder.path().join(format!("{name}.log"));
        let control = self.folder.path().join(format!("{name}.pipe"));
        assert!(
            Command::new("mkfifo")
                .arg(&control)
                .status()
                .unwrap()
                .success()
        );
        let mut command: Vec<OsString> = vec![FAKE.into(), "--log".into(), log.clone().into()];
        command.extend(["--control".into(), control.clone().into()]);
        command.extend(switches.iter().map(OsString::from));
        let entry = Entry {
            command,
            ..Entry::default()
        };
        write_private(file, &entry.to_bytes());
        let skin = switches.iter().position(|switch| *switch == "--skin");
        let profile = skin.map_or("claude", |at| switches[at + 1]).to_owned();
        Fake {
            pane,
            log,
            control,
            profile,
        }
    }

    /// A fake agent that has shown its first frame.
    pub(crate) fn ready(&self, name: &str, switches: &[&str]) -> Fake {
        let fake = self.start(name, switches);
        fake.wait_for("shown ");
        self.settled(&fake);
        fake
    }

    pub(crate) fn look(&self, fake: &Fake) -> Look {
        self.tmux.look(&[&fake.pane]).unwrap().remove(0)
    }

    pub(crate) fn state(&self, fake: &Fake) -> State {
        fake.profile().judge(&self.look(fake).facts).state
    }

    /// Waits until tmux has read what the agent has drawn.
    pub(crate) fn settled(&self, fake: &Fake) {
        until("a screen that stands still", || {
            let first = self.look(fake);
            std::thread::sleep(Duration::from_millis(15));
            (!first.facts.is_blank() && first == self.look(fake)).then_some(())
        });
    }

    pub(crate) fn submit(&self, fake: &Fake, text: &str) -> Outcome {
        let plan = fake.profile().plan(text).unwrap();
        submit(&mut (&self.tmux, &fake.pane), plan)
    }
}

impl Fake {
    pub(crate) fn profile(&self) -> PaneProfile {
        profile(&self.profile)
    }

    /// What it has written down, without times.
    pub(crate) fn notes(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(_, note)| note.to_owned())
            .collect()
    }

    pub(crate) fn count(&self, start: &str) -> usize {
        self.notes()
            .iter()
            .filter(|note| note.starts_with(start))
            .count()
    }

    pub(crate) fn wait_for(&self, start: &str) {
        until(start, || (self.count(start) > 0).then_some(()));
    }

    /// Gives an order and waits until it is obeyed and shown.
    pub(crate) fn order(&self, order: &str) {
        let before = self.count("obeyed");
        let mut pipe = fs::OpenOptions::new()
            .write(true)
            .open(&self.control)
            .unwrap();
        pipe.write_all(format!("{order}\n").as_bytes()).unwrap();
        until(order, || (self.count("obeyed") > before).then_some(()));
    }

    /// Every byte that reached it.
    pub(crate) fn bytes(&self) -> String {
        let notes = self.notes();
        notes
            .iter()
            .filter_map(|note| note.strip_prefix("bytes "))
            .collect()
    }
}

/// The reason and what is left of a wake that was none.
#[track_caller]
pub(crate) fn reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::NotWoken { reason, .. } => reason.code(),
        other => panic!("woken: {other:?}"),
    }
}
