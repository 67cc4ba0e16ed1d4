//! tmux: panes that are ours, looked at cheaply, typed into only under a guard, ended only by their identity.
//!
//! | for | read |
//! |---|---|
//! | one server at one socket, asked within a time limit | [`Tmux`] |
//! | telling a pane from every other that had or will have its id | [`PaneRecord`] |
//! | looking at any number of panes with one tmux process or two | [`Tmux::look`], [`Tmux::scan`] |
//! | a key or a paste, checked and sent in one step of the server | [`Tmux::press`], [`Tmux::paste`] |
//! | starting agents behind a gate | [`Tmux::open`], [`Entry`] |
//! | waiting until all of them are ready | [`Tmux::await_ready`] |
//! | one line into a composer, with an answer that never lies | [`submit()`] |
//!
//! What always holds: there is no shell between us and tmux; every call is bounded in time; a missing binary or server
//! is a [`TmuxError`] with its own name; targets are ids, never names that may match another; nothing is typed into,
//! resized or ended unless server, pane and process are the recorded ones, which tmux itself checks in the same step.
//!
//! Not here: what a screen means and which key comes next (core), and when somebody is to be woken.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{CallError, Called, Environment, Wish, call};

mod drive;
mod facts;
mod gate;
mod guard;
mod keys;
mod launch;
mod look;
mod quote;
mod ready;
mod record;
mod session;

pub use drive::{Terminal, submit};
pub use facts::PaneFacts;
pub use gate::{Entry, GateError, enter};
pub use launch::{Ended, Opening, Seat, Size};
pub use ready::{Readiness, TrustPolicy};
pub use record::{PaneRecord, ServerRecord};

/// How long one call may take, unless told otherwise.
pub const LIMIT: Duration = Duration::from_secs(5);

/// The oldest tmux that has everything that is used here: major and minor.
pub const OLDEST: (u32, u32) = (3, 2);

/// What tmux itself needs of the caller's environment. Nothing else reaches it, so that a server that is started by us
/// keeps no secret in its environment.
const FOR_TMUX: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "LANG",
    "LC_*",
    "TZ",
    "TMUX",
    "TMUX_TMPDIR",
    "TMPDIR",
    "XDG_*",
];

/// Which server is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Socket {
    /// The one that `TMUX` names, else the user's default.
    #[default]
    Default,
    /// A name in tmux's own folder (`-L`).
    Named(String),
    /// A path (`-S`).
    At(PathBuf),
}

/// Why tmux did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    /// The program is not there.
    #[error("tmux is not installed")]
    NotInstalled,
    /// It is older than [`OLDEST`].
    #[error("tmux {found} is too old: 3.2 or newer is needed")]
    TooOld {
        /// What it calls itself.
        found: String,
    },
    /// No server answers at the socket.
    #[error("no tmux server answers: {said}")]
    NoServer {
        /// What tmux said.
        said: String,
    },
    /// The server did not answer in time.
    #[error("tmux did not answer within {limit_ms} ms")]
    TimedOut {
        /// How long it had, in milliseconds.
        limit_ms: u128,
    },
    /// The session exists already.
    #[error("tmux session {session} already exists")]
    NameTaken {
        /// Its name.
        session: String,
    },
    /// tmux refused.
    #[error("tmux refused: {said}")]
    Refused {
        /// What tmux said.
        said: String,
    },
    /// tmux answered something else than it should.
    #[error("tmux answered {what} that cannot be read")]
    Garbled {
        /// Which part.
        what: &'static str,
    },
    /// The program could not be talked with.
    #[error(transparent)]
    Broken(CallError),
    /// Somebody wanted the end before it was asked.
    #[error("interrupted")]
    Interrupted,
}

impl TmuxError {
    /// The code in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotInstalled => "tmux_not_installed",
            Self::TooOld { .. } => "tmux_too_old",
            Self::NoServer { .. } => "no_tmux_server",
            Self::TimedOut { .. } => "tmux_timed_out",
            Self::NameTaken { .. } => "session_exists",
            Self::Refused { .. } => "tmux_refused",
            Self::Garbled { .. } => "tmux_garbled",
            Self::Broken(_) => "tmux_broken",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One tmux server, by its socket. It holds nothing open: each call is a process of its own.
#[derive(Debug, Clone)]
pub struct Tmux {
    program: OsString,
    socket: Socket,
    config: Option<PathBuf>,
    environment: Environment,
    limit: Duration,
    wish: Wish,
}

impl Tmux {
    /// The server at `socket`. Of `environment`, the caller's own, only what tmux needs is handed on.
    #[must_use]
    pub fn new(socket: Socket, environment: &Environment) -> Self {
        let base = environment
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut kept = Environment::forwarding(base, &FOR_TMUX);
        if socket != Socket::Default {
            kept = kept.unset("TMUX");
        }
        Self {
            program: "tmux".into(),
            socket,
            config: None,
            environment: kept,
            limit: LIMIT,
            wish: Wish::default(),
        }
    }

    /// With another binary, looked up on PATH unless it is a path.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// With a configuration file of its own, for a server that is started by a call.
    #[must_use]
    pub fn with_config(mut self, config: impl Into<PathBuf>) -> Self {
        self.config = Some(config.into());
        self
    }

    /// With another time limit for each call.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Asked nothing more once this wish has come: each call is an error then.
    #[must_use]
    pub fn heeding(mut self, wish: Wish) -> Self {
        self.wish = wish;
        self
    }

    /// The same for cleaning up, whatever anybody wishes.
    #[must_use]
    pub(crate) fn unheeding(&self) -> Self {
        self.clone().heeding(Wish::default())
    }

    /// Goes no further when somebody wanted the end.
    ///
    /// # Errors
    /// [`TmuxError::Interrupted`].
    pub(crate) fn heed(&self) -> Result<(), TmuxError> {
        match self.wish.has_come() {
            true => Err(TmuxError::Interrupted),
            false => Ok(()),
        }
    }

    /// The same binary and settings at the socket of a recorded pane.
    #[must_use]
    pub fn at(&self, socket: &Path) -> Self {
        let mut other = self.clone();
        other.socket = Socket::At(socket.to_path_buf());
        other.environment = other.environment.unset("TMUX");
        other
    }

    /// What the program calls itself, such as `3.3a`.
    ///
    /// # Errors
    /// [`TmuxError::NotInstalled`], [`TmuxError::TooOld`], or what went wrong on the way.
    pub fn version(&self) -> Result<String, TmuxError> {
        let called = self.call(&["-V".into()], b"")?;
        let said = String::from_utf8_lossy(&called.stdout);
        let found = said.trim().trim_start_matches("tmux ").to_owned();
        match numbers(&found) {
            Some(version) if version < OLDEST => Err(TmuxError::TooOld { found }),
            _ => Ok(found),
        }
    }

    /// Asks the server: commands as arguments, `;` between them, and what they read on standard input.
    pub(crate) fn ask<A: Into<OsString>>(
        &self,
        commands: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, TmuxError> {
        let called = self.called(commands, input)?;
        if called.status.success() {
            return Ok(called.stdout);
        }
        Err(refused(&String::from_utf8_lossy(&called.stderr)))
    }

    /// Asks the server, and answers whatever came of it.
    fn called<A: Into<OsString>>(
        &self,
        commands: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Called, TmuxError> {
        // `-u`: what is printed is UTF-8 whatever the locale says.
        let mut arguments: Vec<OsString> = vec!["-u".into()];
        match &self.socket {
            Socket::Default => {}
            Socket::Named(name) => arguments.extend(["-L".into(), name.into()]),
            Socket::At(path) => arguments.extend(["-S".into(), path.into()]),
        }
        if let Some(config) = &self.config {
            arguments.extend(["-f".into(), config.into()]);
        }
        arguments.extend(commands.into_iter().map(Into::into));
        self.call(&arguments, input)
    }

    fn call(&self, arguments: &[OsString], input: &[u8]) -> Result<Called, TmuxError> {
        self.heed()?;
        let called = call(
            &self.program,
            arguments,
            &self.environment,
            input,
            self.limit,
        );
        called.map_err(|error| match error {
            CallError::NotInstalled { .. } => TmuxError::NotInstalled,
            CallError::TimedOut { limit_ms, .. } => TmuxError::TimedOut { limit_ms },
            other => TmuxError::Broken(other),
        })
    }
}

/// What a refusal of tmux means.
fn refused(said: &str) -> TmuxError {
    let said = said.trim().to_owned();
    let none = [
        "no server running",
        "error connecting to",
        "server exited",
        "lost server",
        "no sessions",
        // What a server says that has lost its last session and has not ended yet.
        "no current target",
    ];
    if none.iter().any(|words| said.contains(words)) {
        return TmuxError::NoServer { said };
    }
    match said.strip_prefix("duplicate session: ") {
        Some(session) => TmuxError::NameTaken {
            session: session.to_owned(),
        },
        None => TmuxError::Refused { said },
    }
}

/// Major and minor of `3.3a`, `next-3.4` or `3.2-rc`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let start = version.find(|sign: char| sign.is_ascii_digit())?;
    let (major, rest) = version[start..].split_once('.')?;
    let digits = rest.len()
        - rest
            .trim_start_matches(|sign: char| sign.is_ascii_digit())
            .len();
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (said, expected) in [
            ("3.3a", Some((3, 3))),
            ("3.10", Some((3, 10))),
            ("next-3.6", Some((3, 6))),
            ("3.2-rc2", Some((3, 2))),
            ("openbsd", None),
        ] {
            assert_eq!(numbers(said), expected, "{said}");
        }
        assert!((3, 1) < OLDEST && (3, 10) > OLDEST);
    }

    #[test]
    fn what_tmux_says_has_a_name() {
        for (said, code) in [
            ("no server running on /x/default\n", "no_tmux_server"),
            (
                "error connecting to /x (No such file or directory)",
                "no_tmux_server",
            ),
            ("server exited unexpectedly", "no_tmux_server"),
            ("no current target", "no_tmux_server"),
            ("duplicate session: omp-team-a", "session_exists"),
            ("can't find pane: %9", "tmux_refused"),
        ] {
            assert_eq!(refused(said).code(), code, "{said}");
        }
    }

    #[test]
    fn c1_a_missing_binary_is_a_reason() {
        let tmux = Tmux::new(Socket::Default, &Environment::empty()).with_program("/nowhere/tmux");
        assert!(matches!(tmux.version(), Err(TmuxError::NotInstalled)));
    }

    #[test]
    fn c12_only_what_tmux_needs_reaches_it() {
        let caller = [
            ("PATH", "/bin"),
            ("COPILOT_PROVIDER_API_KEY", "s"),
            ("PITCREW_TOKEN", "t"),
        ]
        .map(|(name, value)| (name.into(), value.into()));
        let tmux = Tmux::new(Socket::Default, &Environment::all_of(caller));
        let names: Vec<_> = tmux
            .environment
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect();
        assert_eq!(names, ["PATH"]);
    }
}
