//! The programs that are measured: the release binary, and small ones that do the least possible.
//!
//! The small ones are compiled from `programs/` with the compiler that is there, as `cargo build --release` would.

use crate::Outcome;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where each program lies.
pub(crate) struct Programs {
    pub(crate) pitcrew: PathBuf,
    pub(crate) empty: PathBuf,
    pub(crate) append: PathBuf,
    pub(crate) peak: PathBuf,
}

impl Programs {
    /// Builds all of them; `pitcrew` only if no other binary is named.
    pub(crate) fn build(folder: &Path, pitcrew: Option<PathBuf>) -> Outcome<Self> {
        Ok(Self {
            pitcrew: existing(pitcrew.map_or_else(release_binary, Ok)?)?,
            empty: compile(folder, "empty", include_str!("programs/empty.rs"), &[])?,
            append: compile(folder, "append", include_str!("programs/append.rs"), &[])?,
            peak: compile(
                folder,
                "peak",
                include_str!("programs/peak.rs"),
                &["-Ctarget-feature=+crt-static"],
            )?,
        })
    }
}

/// Builds the binary into the target folder that this benchmark was built into.
fn release_binary() -> Outcome<PathBuf> {
    let own = std::env::current_exe()?;
    let target = own
        .ancestors()
        .nth(3)
        .ok_or("a benchmark lies in target/release/deps")?;
    let build = Invocation::new(env!("CARGO")).args([
        "build",
        "--release",
        "-p",
        "pitcrew",
        "--target-dir",
    ]);
    build.arg(target).answer()?;
    Ok(target.join("release").join("pitcrew"))
}

fn existing(path: PathBuf) -> Outcome<PathBuf> {
    path.canonicalize()
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

fn compile(folder: &Path, name: &str, text: &str, flags: &[&str]) -> Outcome<PathBuf> {
    let (source, program) = (folder.join(name).with_extension("rs"), folder.join(name));
    std::fs::write(&source, text)?;
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let rustc = if rustc.exists() {
        rustc
    } else {
        PathBuf::from("rustc")
    };
    let compile =
        Invocation::new(rustc).args(["--edition", "2024", "-O", "-Cstrip=debuginfo", "-o"]);
    compile.arg(&program).arg(&source).args(flags).answer()?;
    Ok(program)
}

/// A command line that can be run any number of times.
#[derive(Clone)]
pub(crate) struct Invocation {
    program: OsString,
    arguments: Vec<OsString>,
}

impl Invocation {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
        }
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.arguments.extend(
            arguments
                .into_iter()
                .map(|argument| argument.as_ref().to_owned()),
        );
        self
    }

    /// The same command line, run by `program`.
    pub(crate) fn under(self, program: &Path) -> Self {
        Self::new(program).arg(self.program).args(self.arguments)
    }

    /// Ready to be started: no input, no output, and nothing of a surrounding team in the environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark starts what it measures"
    )]
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        for name in [
            "PITCREW_TEAM",
            "PITCREW_AGENT",
            "PITCREW_TOKEN",
            "PITCREW_ROOT",
            "TMUX",
            "TMUX_PANE",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Runs it once for what it prints.
    pub(crate) fn answer(&self) -> Outcome<Output> {
        let answer = self
            .command()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()?;
        if answer.status.success() {
            return Ok(answer);
        }
        let words = [&answer.stdout[..], &answer.stderr[..]].concat();
        Err(format!(
            "{} failed ({}): {}",
            self.line(),
            answer.status,
            String::from_utf8_lossy(&words)
        )
        .into())
    }

    pub(crate) fn line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }
}
