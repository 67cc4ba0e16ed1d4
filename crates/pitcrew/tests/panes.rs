//! `profile`, `pane` and `doctor --profiles`: screens judged, panes opened through their gate, captures without secrets.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "these tests start tmux, wait for what it shows, and fail by panicking"
)]

#[path = "sandbox/sandbox.rs"]
mod sandbox;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pitcrew_core::refusal::NameKind;
use pitcrew_core::{Name, Timestamp};
use pitcrew_runtime::process::Environment;
use pitcrew_runtime::tmux::{Entry, Opening, PaneRecord, Seat, Size, Socket, Tmux};
use pitcrew_runtime::wake::PaneSeat;
use pitcrew_store::{Project, StoreExt};
use sandbox::{Sandbox, shared, skipped};
use serde_json::Value;

/// What each captured screen is, by its profile and state.
fn expected(profile: &str, state: &str) -> &'static [&'static str] {
    match (profile, state) {
        ("codex", "first-start" | "err429") | (_, "ready-empty") => &["ready"],
        ("claude", "first-start") | (_, "exited") => &["exited"],
        ("gemini", "first-start") | (_, "permission" | "slash-menu" | "model-picker") => {
            &["dialog"]
        }
        ("copilot" | "opencode" | "qwen", "first-start") => &["unknown", "busy"],
        ("claude" | "opencode", "err429") => &["limit"],
        (_, "err429" | "busy" | "busy-thinking") => &["busy"],
        (_, "draft") => &["draft"],
        _ => &["busy", "draft", "dialog", "limit", "exited", "unknown"],
    }
}

#[test]
fn every_captured_screen_is_judged_right_from_the_command_line() {
    let Some(screens) = shared("cases/screens") else {
        return;
    };
    let sandbox = Sandbox::new();
    let mut seen = 0;
    for folder in fs::read_dir(screens)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
    {
        let folder = folder.path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let profile = name.split('-').next().unwrap();
        let files = fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let files: Vec<_> = files
            .filter(|file| file.extension().is_some_and(|end| end == "txt"))
            .collect();
        let mut line = vec!["profile", "test", profile, "--json"];
        line.extend(files.iter().map(|file| file.to_str().unwrap()));
        let answer = sandbox.call(line).succeeded();
        let lines: Vec<Value> = answer
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect();
        assert_eq!(lines.len(), files.len());
        for (file, line) in files.iter().zip(lines) {
            assert_eq!(line["file"], file.to_str().unwrap());
            let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
            let state = stem.split_once('-').unwrap().1;
            let judged = line["state"].as_str().unwrap();
            assert!(
                expected(profile, state).contains(&judged),
                "{name}/{stem}: {line}"
            );
            assert!(!line["why"].as_str().unwrap().is_empty());
            seen += 1;
        }
    }
    assert!(seen >= 54, "{seen}");
}

#[test]
fn a_screen_that_cannot_be_read_is_unknown_and_the_others_are_judged() {
    let sandbox = Sandbox::new();
    fs::write(
        sandbox.root().join("blank.txt"),
        "\n\n#### cur=0,0 curvis=1\n",
    )
    .unwrap();
    let answer = sandbox
        .call([
            "profile",
            "test",
            "codex",
            "missing.txt",
            "blank.txt",
            "--json",
        ])
        .ended(3);
    let states: Vec<Value> = answer
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(states.len(), 2);
    assert!(states.iter().all(|line| line["state"] == "unknown"));
    let wrong = sandbox
        .call(["profile", "test", "clade", "blank.txt"])
        .ended(2);
    assert!(
        wrong.stderr.contains("did you mean `claude`?"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_profile_of_the_project_lies_over_a_built_in_one() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join(".pitcrew/profiles/panes");
    fs::create_dir_all(&folder).unwrap();
    let text = "profile = 'mine'\nextends = 'claude'\n[pane]\ncommand = ['claude-work', '--x']\n";
    fs::write(folder.join("mine.toml"), text).unwrap();
    fs::write(
        folder.join("codex.toml"),
        "extends = 'codex'\nprofile = 'codex'\n[submit]\nburst = 1\n",
    )
    .unwrap();
    let listed = sandbox
        .call(["profile", "list", "--json"])
        .succeeded()
        .json();
    let names: Vec<&str> = listed["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"mine") && !names.contains(&"codex"),
        "{names:?}"
    );
    assert!(
        listed["problems"][0]
            .as_str()
            .unwrap()
            .contains("codex.toml"),
        "{listed}"
    );
    let found = sandbox.call(["doctor", "--profiles", "--json"]).json();
    let checks = found["checks"].as_array().unwrap();
    assert!(
        checks
            .iter()
            .any(|check| check["check"] == "profile mine" && check["state"] == "good")
    );
    assert!(
        checks
            .iter()
            .any(|check| check["check"] == "profiles" && check["state"] == "bad")
    );
    let claude = checks
        .iter()
        .find(|check| check["check"] == "profile claude")
        .unwrap();
    assert_eq!(claude["message"], "claude is not on PATH");
}

/// A private server whose socket lies in the sandbox; none, with a notice, where there is no tmux.
fn server(sandbox: &Sandbox) -> Option<Server> {
    let environment = Environment::all_of(std::env::vars_os()).unset("TMUX");
    if let Err(error) = Tmux::new(Socket::Default, &environment).version() {
        let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|word| word == "tmux"),
            "tmux is required: {error}"
        );
        skipped(&error.to_string());
        return None;
    }
    let socket = sandbox.root().join("sock");
    let tmux = Tmux::new(Socket::At(socket.clone()), &environment).with_config("/dev/null");
    Some(Server(tmux, socket))
}

/// The server and its socket.
struct Server(Tmux, PathBuf);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.1)
            .arg("kill-server")
            .status();
    }
}

fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "never seen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Opens a pane for `member` through the gate and writes down that it sits there.
fn sit(sandbox: &Sandbox, tmux: &Tmux, member: &str, script: &str) -> PaneRecord {
    let file = sandbox.root().join("entry");
    let gate = [
        Path::new(env!("CARGO_BIN_EXE_pitcrew")),
        Path::new("pane"),
        Path::new("exec"),
        &file,
    ];
    let seat = Seat {
        title: member.to_owned(),
        folder: sandbox.root(),
        gate: gate.map(|word| word.as_os_str().to_owned()).into(),
    };
    let opening = Opening::Session {
        name: "omp-team-t",
        size: Size::default(),
    };
    let pane = tmux.open(opening, &[seat]).unwrap().remove(0);
    let store = Project::at(&sandbox.root())
        .unwrap()
        .team(&Name::new(NameKind::Team, "t").unwrap());
    let record = PaneSeat {
        profile: "claude".into(),
        incarnation: 1,
        opened_at: Timestamp::from_millis(0),
        pane: pane.clone(),
    };
    let member = Name::new(NameKind::Member, member).unwrap();
    let kept = store.update(&member, |seat: &mut Option<PaneSeat>| {
        *seat = Some(record.clone());
        Ok::<_, ()>(())
    });
    kept.unwrap().unwrap();
    let entry = Entry {
        command: ["sh", "-c", script].map(Into::into).into(),
        ..Entry::default()
    };
    let draft = sandbox.root().join("draft");
    fs::write(&draft, entry.to_bytes()).unwrap();
    fs::set_permissions(&draft, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::rename(&draft, &file).unwrap();
    pane
}

#[test]
fn a_members_screen_is_captured_with_its_secrets_hidden() {
    let sandbox = Sandbox::with_team(&["ann", "bob"], &[]);
    let Some(server) = server(&sandbox) else {
        return;
    };
    let script =
        "printf 'key sk-ant-0123456789abcdef\\nmine hunter2-hunter2\\nplain words'; exec sleep 600";
    let pane = sit(&sandbox, &server.0, "ann", script);
    until(|| {
        let look = server.0.look(&[&pane]).unwrap().remove(0);
        look.facts
            .rows
            .iter()
            .any(|row| row.text.contains("plain words"))
            .then_some(())
    });
    let mut call = sandbox.command(["pane", "capture", "ann", "--json"]);
    call.env("PATH", "/usr/bin:/bin");
    call.env("MY_SECRET", "hunter2-hunter2");
    let answer = sandbox::answer(call.output().unwrap()).succeeded().json();
    let screen = answer["screen"].as_str().unwrap();
    assert!(
        screen.starts_with("key •••••••••••••••••••••••\nmine •••••••••••••••\nplain words\n"),
        "{screen}"
    );
    assert!(
        screen.contains("\n#### cur=11,2 curvis=1 alt=0"),
        "{screen}"
    );
    assert_eq!(answer["state"], "unknown");

    let mut call = sandbox.command(["pane", "capture", "ann", "--to", "reports"]);
    call.env("PATH", "/usr/bin:/bin");
    let file = sandbox::answer(call.output().unwrap()).succeeded().stdout;
    let saved = fs::read_to_string(file.trim()).unwrap();
    assert!(saved.contains("plain words") && !saved.contains("sk-ant"));
    let judged = sandbox
        .call(["profile", "test", "claude", file.trim(), "--json"])
        .succeeded()
        .json();
    assert_eq!(judged["state"], "unknown");
}

#[test]
fn a_member_without_a_pane_and_a_stranger_have_no_screen() {
    let sandbox = Sandbox::with_team(&["ann"], &[]);
    let answer = sandbox
        .call(["pane", "capture", "ann", "--json"])
        .ended(1)
        .json();
    assert_eq!(answer["code"], "no_pane");
    let answer = sandbox
        .call(["pane", "capture", "anm", "--json"])
        .ended(1)
        .json();
    assert_eq!(
        (answer["code"].as_str(), answer["nearest"].as_str()),
        (Some("unknown_member"), Some("ann"))
    );
}
