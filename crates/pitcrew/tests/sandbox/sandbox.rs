//! A private project for one test, and the binary called in it: nothing of the caller's environment gets in.
//!
//! Every call has an empty environment and its own home. Answers are whole: status, standard output, standard error.
#![allow(
    dead_code,
    reason = "each test program includes this file and uses what it needs of it"
)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A project in a folder of its own.
pub(crate) struct Sandbox {
    folder: TempDir,
}

/// What one call answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// A project without a team.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["project/.git", "home"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        Self { folder }
    }

    /// A project with a team called `t` of these members and tasks.
    pub(crate) fn with_team(members: &[&str], tasks: &[&str]) -> Self {
        let sandbox = Self::new();
        let mut line = vec!["team", "init", "t"];
        line.extend(members.iter().flat_map(|member| ["--member", member]));
        line.extend(tasks.iter().flat_map(|task| ["--task", task]));
        sandbox.call(line).succeeded();
        sandbox
    }

    /// A copy of the folder that the reference wrote. `None`, with a notice, where it is missing and not required.
    pub(crate) fn golden() -> Option<Self> {
        let source = shared("cases/omp-state")?;
        let sandbox = Self::new();
        copy(&source.join(".omp"), &sandbox.root().join(".omp"));
        copy(&source.join("delivery"), &sandbox.root().join("delivery"));
        Some(sandbox)
    }

    /// The project's root.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// A path below the folder of a team.
    pub(crate) fn team(&self, team: &str, below: &str) -> PathBuf {
        self.root().join(".omp/state/team").join(team).join(below)
    }

    /// The text of a file below the folder of a team.
    pub(crate) fn read(&self, team: &str, below: &str) -> String {
        let path = self.team(team, below);
        fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
    }

    /// A call of the binary in the project's root, to be changed further.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test of the binary starts the binary"
    )]
    pub(crate) fn command<A: AsRef<OsStr>>(&self, line: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pitcrew"));
        command
            .args(line)
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .current_dir(self.root())
            .stdin(Stdio::null());
        command
    }

    /// Calls the binary.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, line: impl IntoIterator<Item = A>) -> Answer {
        answer(self.command(line).output().expect("the binary starts"))
    }

    /// Calls the binary as a member of team `t`, by the environment that members have.
    pub(crate) fn call_as<A: AsRef<OsStr>>(
        &self,
        member: &str,
        line: impl IntoIterator<Item = A>,
    ) -> Answer {
        let mut command = self.command(line);
        command
            .env("PITCREW_TEAM", "t")
            .env("PITCREW_AGENT", member);
        answer(command.output().expect("the binary starts"))
    }

    /// Calls the binary with `input` on its standard input.
    pub(crate) fn feed<A: AsRef<OsStr>>(
        &self,
        line: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Answer {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // A binary that answers without reading closes the pipe; that is its right.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("the binary ends");
        writer.join().expect("the writer ends");
        answer(output)
    }

    /// One request of `team api`, with `--json`.
    pub(crate) fn api(&self, request: &str, input: &Value) -> Answer {
        self.call([
            "team",
            "api",
            request,
            "--input",
            &input.to_string(),
            "--json",
        ])
    }

    /// The tasks of team `t` as `task list --json` has them.
    pub(crate) fn task(&self, team: &str, id: &str) -> Value {
        let text = self.read(team, &format!("tasks/{id}.json"));
        serde_json::from_str(&text).expect("a task is JSON")
    }
}

impl Answer {
    /// The answer of a call that must have succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        self.ended(0)
    }

    /// The answer of a call that must have ended with `status`.
    #[track_caller]
    pub(crate) fn ended(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        // Halves of surrogate pairs are answered as they are kept, which only a tolerant reader takes.
        pitcrew_core::json::read(self.stdout.as_bytes())
            .unwrap_or_else(|why| panic!("{why}: {self:#?}"))
    }
}

/// What a finished process answered.
pub(crate) fn answer(output: Output) -> Answer {
    Answer {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The keys of an object, in their order.
#[track_caller]
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let object = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"));
    object.keys().map(String::as_str).collect()
}

/// A number from the environment: how often to repeat what is worth repeating.
#[expect(
    clippy::disallowed_methods,
    reason = "rounds are a matter of the machine that runs the tests"
)]
pub(crate) fn rounds(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => otherwise,
    }
}

/// Kills what it holds when a test ends early.
pub(crate) struct Reaped(pub(crate) Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of the material that is shared beside the repository.
#[expect(
    clippy::disallowed_methods,
    reason = "whether something may be missing is a matter of the machine that runs the tests"
)]
pub(crate) fn shared(below: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here
        .ancestors()
        .map(|folder| folder.join("shared").join(below))
        .find(|folder| folder.is_dir());
    let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
    assert!(
        found.is_some() || !required.split(',').any(|word| word == "shared"),
        "shared/{below} is required and missing"
    );
    if found.is_none() {
        skipped(&format!("there is no shared/{below}"));
    }
    found
}

/// Says why a test shows nothing on this machine.
#[expect(
    clippy::print_stderr,
    reason = "a test that was skipped must not look like one that ran"
)]
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to copy").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            copy(&entry.path(), &target);
        } else {
            // Copied by its bytes: the source may be read-only.
            let bytes = fs::read(entry.path()).expect("a file to copy");
            fs::write(target, bytes).expect("a file");
        }
    }
}
