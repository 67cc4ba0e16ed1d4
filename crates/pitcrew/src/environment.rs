//! The one place that reads the process environment. Everything else is handed what it needs of it.
//!
//! | variable | meaning |
//! |---|---|
//! | `PITCREW_ROOT` | the project's root, so that a member in a sub-package finds its team |
//! | `PITCREW_TEAM` | the team that commands mean when none is named |
//! | `PITCREW_AGENT` | the member that commands speak as when none is named |
//! | `PITCREW_TOKEN` | what proves it |
//! | `NO_COLOR` | any value: no colours |

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

/// What the process was given.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The command line, the program's own name first.
    pub args: Vec<OsString>,
    /// The folder that the command was called in.
    pub cwd: PathBuf,
    /// `PITCREW_ROOT`.
    pub root: Option<PathBuf>,
    /// `PITCREW_TEAM`.
    pub team: Option<String>,
    /// `PITCREW_AGENT`.
    pub agent: Option<String>,
    /// `PITCREW_TOKEN`.
    pub token: Option<String>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard input is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// Whether colours are unwanted on any stream.
    pub no_color: bool,
    /// Every variable, for members that inherit some of them.
    pub variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Reads it once.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn read() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let path = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        Self {
            args: std::env::args_os().collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            root: path("PITCREW_ROOT"),
            team: text("PITCREW_TEAM"),
            agent: text("PITCREW_AGENT"),
            token: text("PITCREW_TOKEN"),
            home: path("HOME"),
            config_home: path("XDG_CONFIG_HOME"),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            no_color: text("NO_COLOR").is_some() || text("TERM").as_deref() == Some("dumb"),
            variables: std::env::vars_os().collect(),
        }
    }
}
