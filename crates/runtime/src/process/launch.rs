//! What to start, and starting it: one program, found by us, in a session and process group of its own.
//!
//! The program is looked up before anything is started, so that "not found" names the folders that were searched
//! and is never confused with a missing working folder. There is no shell in between unless the command names one.
//! (A script without a `#!` line is run by `sh`, as `execvp` does everywhere.)
//! A session of its own means: no controlling terminal. A program that asks for a password on the terminal fails
//! at once instead of stopping for ever, and the terminal's Ctrl-C reaches us alone.
//!
//! What always holds: a refusal to start leaves nothing running and says which kind it is ([`SpawnError::code`]).
//!
//! Not here: following the process ([`super::group`]).

use super::capture::Capture;
use super::environment::Environment;
use super::mark::Mark;
use super::spawn_error::SpawnError;
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The signal with which a group is asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// SIGTERM: end.
    #[default]
    Terminate,
    /// SIGINT, as from Ctrl-C: some programs save their session only then.
    Interrupt,
}

/// How a group is stopped: asked, waited for, killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// How it is asked.
    pub ask: Ask,
    /// How long it may take to end by itself after that.
    pub grace: Duration,
}

impl Default for Ladder {
    /// SIGTERM, and ten seconds.
    fn default() -> Self {
        Self {
            ask: Ask::default(),
            grace: Duration::from_secs(10),
        }
    }
}

/// What the process reads on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Nothing: end of file at once.
    #[default]
    Nothing,
    /// These bytes, then end of file. A process that does not read them is not waited for.
    Bytes(Vec<u8>),
}

/// One command to be started as a group.
#[derive(Debug)]
pub struct Launch {
    program: OsString,
    arguments: Vec<OsString>,
    folder: PathBuf,
    environment: Environment,
    pub(super) mark: Mark,
    pub(super) input: Input,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    pub(super) limit: Option<Duration>,
    pub(super) ladder: Ladder,
}

impl Launch {
    /// Starts `program` in `folder`. A name without `/` is searched in the `PATH` of `environment`, one with `/` is
    /// taken from `folder`. Until told otherwise: no input, default captures without a sink, no time limit.
    pub fn new(
        program: impl Into<OsString>,
        folder: impl Into<PathBuf>,
        environment: Environment,
        mark: Mark,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            folder: folder.into(),
            environment,
            mark,
            input: Input::default(),
            stdout: Capture::default(),
            stderr: Capture::default(),
            limit: None,
            ladder: Ladder::default(),
        }
    }

    /// Adds arguments, each handed over as it is.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// What stands on standard input.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Where standard output goes.
    #[must_use]
    pub fn stdout(mut self, capture: Capture) -> Self {
        self.stdout = capture;
        self
    }

    /// Where standard error goes.
    #[must_use]
    pub fn stderr(mut self, capture: Capture) -> Self {
        self.stderr = capture;
        self
    }

    /// The longest the process may run before it is stopped. Time during which the machine sleeps does not count.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// How it is stopped.
    #[must_use]
    pub fn ladder(mut self, ladder: Ladder) -> Self {
        self.ladder = ladder;
        self
    }

    /// Starts the process; its three streams are pipes, its input is closed if there is none.
    pub(super) fn start(&self) -> Result<Box<dyn ChildWrapper>, SpawnError> {
        let folder = self.absolute_folder()?;
        let program = self.find_program(&folder)?;
        let input = match self.input {
            Input::Nothing => Stdio::null(),
            Input::Bytes(_) => Stdio::piped(),
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that starts processes"
        )]
        let mut command = Command::new(&program);
        command
            .arg0(&self.program)
            .args(&self.arguments)
            .current_dir(&folder)
            .env_clear()
            .envs(self.environment.iter())
            .env(Mark::VARIABLE, self.mark.value())
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        match command.spawn() {
            Ok(child) => Ok(child.into_inner()),
            Err(error) => Err(self.explain(&program, error)),
        }
    }

    /// Where the program is that would be started, found the way it will be found then. Nothing is started.
    ///
    /// # Errors
    /// As a start would be refused, as far as that can be seen from outside.
    pub fn locate(&self) -> Result<PathBuf, SpawnError> {
        self.find_program(&self.absolute_folder()?)
    }

    /// The child changes its folder before it looks at its program's path.
    fn absolute_folder(&self) -> Result<PathBuf, SpawnError> {
        if !self.folder.is_dir() {
            return Err(SpawnError::FolderNotFound {
                folder: self.folder.clone(),
            });
        }
        std::path::absolute(&self.folder).map_err(|source| SpawnError::Other {
            path: self.folder.clone(),
            source,
        })
    }

    fn find_program(&self, folder: &Path) -> Result<PathBuf, SpawnError> {
        let not_found = |searched| SpawnError::ProgramNotFound {
            program: self.program.to_string_lossy().into_owned(),
            searched,
        };
        if self.program.as_bytes().contains(&b'/') {
            let path = folder.join(&self.program);
            return match usable(&path) {
                Usable::Yes => Ok(path),
                Usable::NotExecutable => Err(SpawnError::ProgramNotExecutable { path }),
                Usable::Absent => Err(not_found(Vec::new())),
            };
        }
        let search = self.environment.value("PATH").unwrap_or(OsStr::new(""));
        // An empty entry would mean the working folder, where anybody's file may lie.
        let folders: Vec<PathBuf> = std::env::split_paths(search)
            .filter(|folder| !folder.as_os_str().is_empty())
            .map(|entry| folder.join(entry))
            .collect();
        let mut not_executable = None;
        if !self.program.is_empty() {
            for path in folders.iter().map(|folder| folder.join(&self.program)) {
                match usable(&path) {
                    Usable::Yes => return Ok(path),
                    Usable::NotExecutable => not_executable = not_executable.or(Some(path)),
                    Usable::Absent => {}
                }
            }
        }
        Err(match not_executable {
            Some(path) => SpawnError::ProgramNotExecutable { path },
            None => not_found(folders),
        })
    }

    fn explain(&self, program: &Path, error: io::Error) -> SpawnError {
        let path = program.to_path_buf();
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::TOOBIG) => self.too_long(),
            Some(Errno::NOENT) if !self.folder.is_dir() => SpawnError::FolderNotFound {
                folder: self.folder.clone(),
            },
            Some(Errno::ACCESS)
                if rustix::fs::access(&self.folder, rustix::fs::Access::EXEC_OK).is_err() =>
            {
                SpawnError::FolderNotUsable {
                    folder: self.folder.clone(),
                }
            }
            Some(Errno::NOENT) => SpawnError::InterpreterNotFound { path },
            Some(Errno::ACCESS | Errno::PERM) => SpawnError::ProgramNotExecutable { path },
            Some(Errno::NOEXEC) => SpawnError::NotAProgram { path },
            Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
                SpawnError::Exhausted { source: error }
            }
            None if error.kind() == io::ErrorKind::InvalidInput => SpawnError::NulByte,
            _ => SpawnError::Other {
                path,
                source: error,
            },
        }
    }

    fn too_long(&self) -> SpawnError {
        let arguments = self.arguments.iter().map(|argument| argument.len() + 1);
        let variables = self
            .environment
            .iter()
            .map(|(name, value)| name.len() + value.len() + 2);
        let lengths: Vec<usize> = arguments.chain(variables).collect();
        SpawnError::ArgumentsTooLong {
            total: lengths.iter().sum(),
            longest: lengths.into_iter().max().unwrap_or(0),
        }
    }
}

enum Usable {
    Yes,
    NotExecutable,
    Absent,
}

fn usable(path: &Path) -> Usable {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() => match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
            Ok(()) => Usable::Yes,
            Err(_) => Usable::NotExecutable,
        },
        Ok(_) => Usable::Absent,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Usable::NotExecutable,
        Err(_) => Usable::Absent,
    }
}
