//! The one place that reads the process environment. Everything else is handed what it needs of it.
//!
//! | variable | meaning |
//! |---|---|
//! | `PITCREW_ROOT` | the project's root, so that a member in a sub-package finds its team |
//! | `PITCREW_TEAM` | the team that commands mean when none is named |
//! | `PITCREW_AGENT` | the member that commands speak as when none is named |
//! | `PITCREW_TOKEN` | what proves it |
//! | `PITCREW_WORK` | set in the turns of headless members |
//! | `NO_COLOR` | any value: no colours |
//!
//! What every command needs is read once. What only long commands need is read when they ask.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use crate::halt::Halt;

/// What the process was given.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
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
    /// The first of those that say who is meant and are no text: whoever they name, it is not the one that is meant
    /// when they are unset.
    pub unreadable: Option<&'static str>,
}

/// Variables that say who is meant.
const NAMING: [&str; 3] = ["PITCREW_TEAM", "PITCREW_AGENT", "PITCREW_TOKEN"];

impl Environment {
    /// Reads it once.
    pub(crate) fn read() -> Self {
        Self {
            args: std::env::args_os().collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            root: variable("PITCREW_ROOT").map(PathBuf::from),
            team: text("PITCREW_TEAM"),
            agent: text("PITCREW_AGENT"),
            token: text("PITCREW_TOKEN"),
            unreadable: NAMING.into_iter().find(|name| !is_text(name)),
        }
    }

    /// Where this program itself stands, for whoever is to start it later.
    pub(crate) fn own_program(&self) -> Result<PathBuf, Halt> {
        self.program().map_err(|refused| Halt::System {
            what: "find this program",
            why: refused.to_string(),
        })
    }

    /// Every variable, for programs that inherit them.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        std::env::vars_os()
    }

    /// Where this program is.
    pub(crate) fn program(&self) -> std::io::Result<PathBuf> {
        std::env::current_exe()
    }

    /// The user's folder for configurations, where the environment tells it.
    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        let named = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))
    }

    /// The folder in which an agent CLI keeps what is the user's: the one that `variable` names, else `home` below the
    /// home folder. `None` where the environment tells neither.
    pub(crate) fn cli_home(&self, named: &str, home: &str) -> Option<PathBuf> {
        let named = variable(named).map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(variable("HOME")?).join(home)))
    }

    /// Whether this is a turn of a headless member, whose mail stands in its prompt.
    pub(crate) fn is_headless_turn(&self) -> bool {
        variable("PITCREW_WORK").is_some()
    }

    /// Whether standard output is a terminal.
    pub(crate) fn stdout_is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// Whether standard output shows colours.
    pub(crate) fn stdout_is_colored(&self) -> bool {
        std::io::stdout().is_terminal() && !is_plain()
    }

    /// Whether what stands on standard error can be drawn anew: it is a terminal that can do that.
    pub(crate) fn stderr_can_be_redrawn(&self) -> bool {
        std::io::stderr().is_terminal() && text("TERM").is_some_and(|term| term != "dumb")
    }

    /// Whether the terminal shows more than ASCII, by what the environment says about its characters.
    pub(crate) fn shows_unicode(&self) -> bool {
        let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text);
        said.is_some_and(|said| {
            let said = said.to_ascii_lowercase();
            said.contains("utf-8") || said.contains("utf8")
        })
    }

    /// Whether standard error shows colours.
    pub(crate) fn stderr_is_colored(&self) -> bool {
        std::io::stderr().is_terminal() && !is_plain()
    }
}

/// Whether colours are unwanted on any stream.
fn is_plain() -> bool {
    variable("NO_COLOR").is_some() || text("TERM").as_deref() == Some("dumb")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn is_text(name: &str) -> bool {
    variable(name).is_none_or(|value| value.to_str().is_some())
}

/// A variable that is no text counts as absent; [`Environment::unreadable`] says so where that would be another answer.
fn text(name: &str) -> Option<String> {
    variable(name).and_then(|value| value.into_string().ok())
}
