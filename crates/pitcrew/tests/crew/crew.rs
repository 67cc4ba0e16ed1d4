//! A project with a team file, and runs of it with real processes. Nothing of the caller's environment gets in.
//!
//! A run that is watched is read line by line from `--json`, so that a test waits for what it needs to have happened
//! and never for time to pass.
#![allow(
    dead_code,
    reason = "each test program includes this file and uses what it needs of it"
)]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// So long a test waits for something that must happen. Only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(150);

/// Where shells and their tools are.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A project with a team file.
pub(crate) struct Crew {
    folder: TempDir,
    root: PathBuf,
}

/// What a finished run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Crew {
    /// A project called `project`, with `file` as its `team.toml`.
    pub(crate) fn new(file: &str) -> Self {
        Self::at("project", file)
    }

    /// A project in a folder of that name, with `file` as its `team.toml`.
    pub(crate) fn at(project: &str, file: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // A path in the process table is the real one.
        let real = folder.path().canonicalize().expect("a real path");
        let root = real.join(project);
        fs::create_dir_all(root.join(".git")).expect("a folder");
        fs::create_dir_all(real.join("home")).expect("a folder");
        let crew = Self { folder, root };
        crew.write("team.toml", file);
        crew
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    /// The text of a file of the project; empty when there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap_or_default()
    }

    /// A path below the folder of the team `team`.
    pub(crate) fn team(&self, below: &str) -> PathBuf {
        self.root.join(".omp/state/team/team").join(below)
    }

    pub(crate) fn task(&self, id: &str) -> Value {
        let text = fs::read(self.team(&format!("tasks/{id}.json"))).expect("a task");
        serde_json::from_slice(&text).expect("a task is JSON")
    }

    /// How the tasks stand, as `id status` in the order of their files.
    pub(crate) fn statuses(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = fs::read_dir(self.team("tasks"))
            .map(|entries| entries.flatten().collect::<Vec<_>>())
            .unwrap_or_default()
            .iter()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
            .filter_map(|entry| {
                let task: Value = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
                let text = |key: &str| task[key].as_str().unwrap_or_default().to_string();
                Some((text("id"), text("status")))
            })
            .collect();
        found.sort();
        found
    }

    /// The binary in the project's root.
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
            .env("PATH", PATH)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    /// Calls the binary and waits for its end.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, line: impl IntoIterator<Item = A>) -> Ran {
        let output = self.command(line).output().expect("the binary starts");
        Ran {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs the team file to its end.
    pub(crate) fn run(&self, options: &[&str]) -> Ran {
        let line = ["run", "team.toml"].iter().chain(options);
        self.call(line)
    }

    /// Runs the team file, watched.
    pub(crate) fn start(&self, options: &[&str]) -> Watched {
        let line = ["run", "team.toml", "--json"].iter().chain(options);
        Watched::of(self.command(line))
    }

    /// The processes that belong to this project's members, whoever started them.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let mark = format!("PITCREW_ROOT={}", self.root.display());
        let is_ours = |environment: &[u8]| {
            let mut pairs = environment.split(|byte| *byte == 0);
            pairs.any(|pair| pair == mark.as_bytes())
        };
        let entries = fs::read_dir("/proc").expect("a process table").flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .filter(|pid| {
                // A zombie's environment is empty; a process that just ended has none.
                fs::read(format!("/proc/{pid}/environ")).is_ok_and(|found| is_ours(&found))
            })
            .collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for pid in self.processes() {
            signal(pid, "KILL");
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn ended(self, status: i32) -> Self {
        assert_eq!(self.status.code(), Some(status), "{self:#?}");
        self
    }
}

/// A run that goes on, with what it told so far.
pub(crate) struct Watched {
    child: Child,
    lines: Receiver<Value>,
    pub(crate) seen: Vec<Value>,
}

impl Watched {
    pub(crate) fn of(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                let value = serde_json::from_str(&line).expect("each line is JSON");
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next fact that `wanted` accepts; those before are passed over.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(fact) => {
                    self.seen.push(fact.clone());
                    if wanted(&fact) {
                        return fact;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("it did not happen: {:#?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the run ended before: {:#?}", self.seen)
                }
            }
        }
    }

    /// Waits for a fact of that name about that member.
    #[track_caller]
    pub(crate) fn event(&mut self, name: &str, member: &str) -> Value {
        self.until(|fact| fact["event"] == name && fact["member"] == member)
    }

    /// Takes in facts until so many have come, the run has ended, or the time is over.
    pub(crate) fn for_a_while(&mut self, facts: usize, time: Duration) {
        for _ in 0..facts {
            match self.lines.recv_timeout(time) {
                Ok(fact) => self.seen.push(fact),
                Err(_) => return,
            }
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Kills the run itself, and nothing else.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the end. Answers the exit status, what was told, and standard error.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Value>, String) {
        while let Ok(fact) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(fact);
        }
        let mut stderr = String::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            let _ = pipe.read_to_string(&mut stderr);
        }
        let status = self.child.wait().expect("the binary ends");
        assert_eq!(status.signal(), None, "{stderr}");
        let seen = std::mem::take(&mut self.seen);
        (status.code(), seen, stderr)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to one process.
#[expect(
    clippy::disallowed_methods,
    reason = "a test sends the signals that a person would"
)]
pub(crate) fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// The facts of one name.
pub(crate) fn facts<'f>(seen: &'f [Value], name: &str) -> Vec<&'f Value> {
    seen.iter().filter(|fact| fact["event"] == name).collect()
}

/// The last fact: what came of the run.
#[track_caller]
pub(crate) fn report(seen: &[Value]) -> &Value {
    let last = seen.last().expect("something was told");
    assert_eq!(last["event"], "run_ended", "{seen:#?}");
    last
}
