//! A private repository with a team and the guard in it, and git called there with nothing of the caller's settings.
#![allow(
    dead_code,
    reason = "each test program includes this file and uses what it needs of it"
)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::sandbox::{Answer, Sandbox, answer};

#[expect(
    clippy::disallowed_methods,
    reason = "where git is on this machine is a matter of the machine that runs the tests"
)]
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// A repository whose project has team `t` with ada and bob.
pub(crate) struct Repository {
    pub(crate) sandbox: Sandbox,
}

impl Repository {
    /// With the guard installed.
    pub(crate) fn new() -> Self {
        let here = Self::bare();
        here.call(["guard", "install"]).succeeded();
        here
    }

    /// Calls the binary as a person, with git on its PATH.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, line: impl IntoIterator<Item = A>) -> Answer {
        answer(self.prepared(line).output().unwrap())
    }

    /// Calls a program in the project as a person, with git on its PATH.
    #[expect(
        clippy::disallowed_methods,
        reason = "the binary is called where it was copied to"
    )]
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        program: &Path,
        line: impl IntoIterator<Item = A>,
    ) -> Answer {
        let mut command = Command::new(program);
        command
            .args(line)
            .env_clear()
            .env("PATH", search_path())
            .current_dir(self.root());
        answer(command.output().unwrap())
    }

    fn prepared<A: AsRef<OsStr>>(&self, line: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.sandbox.command(line);
        command
            .env("PATH", search_path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Without the guard.
    pub(crate) fn bare() -> Self {
        let sandbox = Sandbox::with_team(&["ada", "bob"], &[]);
        let here = Self { sandbox };
        here.git(["init", "-q"]).succeeded();
        here.write(".git/info/exclude", ".omp\n.trees\n");
        here
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.sandbox.root()
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    pub(crate) fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes one line for each number.
    pub(crate) fn numbered(&self, file: &str, numbers: RangeInclusive<u32>) {
        let lines: String = numbers.map(|n| format!("line {n}\n")).collect();
        self.write(file, lines);
    }

    /// Replaces a text that is there.
    pub(crate) fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "{from:?} is not in {file}");
        self.write(file, text.replacen(from, to, 1));
    }

    pub(crate) fn claim(&self, member: &str, file: &str, start: u32, end: u32) {
        let (start, end) = (start.to_string(), end.to_string());
        self.as_member(member, ["claim", file, &start, &end, "--extend"])
            .succeeded();
    }

    pub(crate) fn as_member<A: AsRef<OsStr>>(
        &self,
        member: &str,
        line: impl IntoIterator<Item = A>,
    ) -> Answer {
        let mut command = self.prepared(line);
        command
            .env("PITCREW_TEAM", "t")
            .env("PITCREW_AGENT", member);
        answer(command.output().unwrap())
    }

    #[expect(clippy::disallowed_methods, reason = "a test of the guard calls git")]
    fn command<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        member: Option<&str>,
        line: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new("git");
        command
            .args(line)
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", self.root().parent().unwrap().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "somebody")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "a@example.org")))
            .current_dir(folder)
            .stdin(Stdio::null());
        if let Some(member) = member {
            command
                .env("PITCREW_TEAM", "t")
                .env("PITCREW_AGENT", member);
        }
        command
    }

    /// Git, called by a person.
    pub(crate) fn git<A: AsRef<OsStr>>(&self, line: impl IntoIterator<Item = A>) -> Answer {
        answer(self.command(&self.root(), None, line).output().unwrap())
    }

    /// Git, called by a member.
    pub(crate) fn git_as<A: AsRef<OsStr>>(
        &self,
        member: &str,
        line: impl IntoIterator<Item = A>,
    ) -> Answer {
        self.git_in(&self.root(), member, line)
    }

    /// Git, called by a member in a folder.
    pub(crate) fn git_in<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        member: &str,
        line: impl IntoIterator<Item = A>,
    ) -> Answer {
        answer(self.command(folder, Some(member), line).output().unwrap())
    }

    /// Commits everything without being looked at.
    pub(crate) fn commit(&self, message: &str) {
        self.git(["add", "-A"]).succeeded();
        self.git(["commit", "-qm", message, "--no-verify"])
            .succeeded();
    }

    /// Tries to commit everything, as a person.
    pub(crate) fn commits(&self, message: &str) -> Answer {
        self.git(["add", "-A"]).succeeded();
        self.git(["commit", "-qm", message])
    }

    /// Tries to commit everything, as a member.
    pub(crate) fn commits_as(&self, member: &str, message: &str) -> Answer {
        self.git(["add", "-A"]).succeeded();
        self.git_as(member, ["commit", "-qm", message])
    }
}
