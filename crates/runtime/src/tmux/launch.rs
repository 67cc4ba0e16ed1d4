//! Opening panes for agents, and ending those that are ours.
//!
//! A pane is opened with a gate as its own process: `pitcrew pane exec <file>`, which waits for its file and then becomes
//! the agent. So every pane is known, recorded and set to stay after its process before any agent runs; a launch that
//! fails half way ends the panes that it made, and nothing else has happened. The file holds what no command line may.
//!
//! What always holds: all that is opened in one call is opened or nothing is; only panes and sessions whose server, id and
//! process are the recorded ones are ended, checked by tmux in the same step.

use std::ffi::OsString;
use std::path::PathBuf;

use super::facts::{FORMAT, PaneFacts};
use super::record::{PaneRecord, ServerRecord, is_id};
use super::{Tmux, TmuxError, guard};
use crate::process::Identity;
use pitcrew_core::submit::Sent;

/// How many panes one tmux process opens: its arguments must stay below 16 KiB.
const AT_ONCE: usize = 16;

/// The size of a window that no terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Default for Size {
    /// Wide enough for every program that was measured.
    fn default() -> Self {
        Self {
            width: 120,
            height: 40,
        }
    }
}

/// Where panes are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening<'a> {
    /// In a new session of this name, each in a window of its own. The name is a checked one: letters, digits, `-`, `_`.
    Session {
        /// Its name.
        name: &'a str,
        /// The size of its windows.
        size: Size,
    },
    /// In new windows of the session of a pane that is ours.
    Windows {
        /// That pane.
        beside: &'a PaneRecord,
    },
    /// By splitting the window of a pane, as the user asked for: the only way that changes what somebody else opened.
    Splits {
        /// That pane, such as `%0`.
        of: &'a str,
    },
}

/// One pane to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The window's name.
    pub title: String,
    /// Where the process starts.
    pub folder: PathBuf,
    /// The gate's command line. It is run as it is, without a shell.
    pub gate: Vec<OsString>,
}

/// What came of ending something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is gone, and it was ours.
    Ended,
    /// There was nothing left to end.
    WasGone,
    /// What has its id now is not ours; it was left alone.
    NotOurs,
}

impl Tmux {
    /// Opens one pane for each seat, in their order, and has each kept after its process has ended.
    ///
    /// # Errors
    /// [`TmuxError::NameTaken`] for a session that exists; anything else that tmux says. No pane of this call is left.
    pub fn open(&self, opening: Opening<'_>, seats: &[Seat]) -> Result<Vec<PaneRecord>, TmuxError> {
        let mut opened: Vec<PaneRecord> = Vec::with_capacity(seats.len());
        let made = self.open_all(opening, seats, &mut opened);
        let made = made.and_then(|()| self.keep(&opened));
        if let Err(error) = made {
            let ending = self.unheeding();
            for pane in &opened {
                // What cannot be ended here is a gate without a file: it gives up by itself.
                let _ = ending.end_pane(pane);
            }
            return Err(error);
        }
        Ok(opened)
    }

    fn open_all(
        &self,
        opening: Opening<'_>,
        seats: &[Seat],
        opened: &mut Vec<PaneRecord>,
    ) -> Result<(), TmuxError> {
        for part in seats.chunks(AT_ONCE) {
            let mut words: Vec<OsString> = Vec::new();
            for (at, seat) in part.iter().enumerate() {
                let is_first = at == 0 && opened.is_empty();
                if at > 0 {
                    words.push(";".into());
                }
                let session = opened.first().map(|pane| pane.session_id.clone());
                words.extend(order(opening, is_first, session)?);
                words.extend(["-d", "-P", "-F", FORMAT, "-c"].map(OsString::from));
                words.push(seat.folder.clone().into());
                if !matches!(opening, Opening::Splits { .. }) {
                    words.extend(["-n".into(), OsString::from(&seat.title)]);
                }
                words.push("--".into());
                words.extend(seat.gate.iter().cloned());
            }
            let (answer, refused) = self.ask_partly(words)?;
            let answer = String::from_utf8_lossy(&answer);
            let socket = match opened.first() {
                Some(pane) => pane.server.socket_path.clone(),
                // Panes are open by now: they are recorded first, whatever anybody wishes.
                None => self.unheeding().socket_path()?,
            };
            for line in answer.lines() {
                opened.push(recorded(PaneFacts::read(line)?, socket.clone()));
            }
            if let Some(refused) = refused {
                return Err(refused);
            }
            if answer.lines().count() != part.len() {
                return Err(TmuxError::Garbled {
                    what: "the new panes",
                });
            }
        }
        Ok(())
    }

    /// The path of this server's socket.
    ///
    /// # Errors
    /// When no server answers.
    pub fn socket_path(&self) -> Result<PathBuf, TmuxError> {
        let answer = self.ask(["display-message", "-p", "#{socket_path}"], b"")?;
        Ok(String::from_utf8_lossy(&answer)
            .trim_end_matches('\n')
            .into())
    }

    /// Has tmux keep these panes after their processes.
    fn keep(&self, panes: &[PaneRecord]) -> Result<(), TmuxError> {
        let mut words: Vec<&str> = Vec::new();
        for pane in panes {
            if !words.is_empty() {
                words.push(";");
            }
            words.extend([
                "set-option",
                "-p",
                "-t",
                &pane.pane_id,
                "remain-on-exit",
                "on",
            ]);
        }
        if words.is_empty() {
            return Ok(());
        }
        self.ask(words, b"").map(drop)
    }

    /// Ends a pane and its process, if it is still this one.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn end_pane(&self, pane: &PaneRecord) -> Result<Ended, TmuxError> {
        let order = format!("kill-pane -t {}", pane.pane_id);
        self.end(pane, &guard::identity(pane), &order, |facts| {
            facts.pane_id == pane.pane_id
        })
    }

    /// Ends the session of a pane, if it is still the one that was recorded. Whatever else was opened in it ends too.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn end_session(&self, pane: &PaneRecord) -> Result<Ended, TmuxError> {
        let found = self.panes()?;
        let inside = found
            .iter()
            .find(|facts| facts.session_id == pane.session_id);
        let Some(inside) = inside else {
            return Ok(Ended::WasGone);
        };
        // The condition needs a pane of that session to look from.
        let from = PaneRecord {
            pane_id: inside.pane_id.clone(),
            ..pane.clone()
        };
        let order = format!("kill-session -t {}", pane.session_id);
        self.end(&from, &guard::session(pane), &order, |facts| {
            facts.session_id == pane.session_id
        })
    }

    fn end(
        &self,
        pane: &PaneRecord,
        condition: &str,
        order: &str,
        is_there: impl Fn(&PaneFacts) -> bool,
    ) -> Result<Ended, TmuxError> {
        match self.when(pane, &[], condition, order, "", b"") {
            Ok(Sent::Sent) => Ok(Ended::Ended),
            Ok(Sent::Held) if self.panes()?.iter().any(&is_there) => Ok(Ended::NotOurs),
            Ok(_) => Ok(Ended::WasGone),
            // With its last session the server goes, and may go before it has answered.
            Err(TmuxError::Garbled { .. }) => self.after(is_there),
            // Or it is there without any session, so that the words after the order have no place to be said in.
            Err(TmuxError::NoServer { said })
                if ["server exited", "lost server", "no current target"]
                    .iter()
                    .any(|words| said.contains(words)) =>
            {
                self.after(is_there)
            }
            Err(TmuxError::NoServer { .. }) => Ok(Ended::WasGone),
            Err(error) => Err(error),
        }
    }

    /// What came of an order that was not answered.
    fn after(&self, is_there: impl Fn(&PaneFacts) -> bool) -> Result<Ended, TmuxError> {
        match self.panes()?.iter().any(&is_there) {
            true => Ok(Ended::NotOurs),
            false => Ok(Ended::Ended),
        }
    }

    /// What was answered before tmux refused, with the refusal.
    fn ask_partly(&self, words: Vec<OsString>) -> Result<(Vec<u8>, Option<TmuxError>), TmuxError> {
        let called = self.called(words, b"")?;
        let refused = (!called.status.success())
            .then(|| super::refused(&String::from_utf8_lossy(&called.stderr)));
        match refused {
            Some(refused) if called.stdout.is_empty() => Err(refused),
            refused => Ok((called.stdout, refused)),
        }
    }
}

/// The command that opens the next pane.
fn order(
    opening: Opening<'_>,
    is_first: bool,
    session: Option<String>,
) -> Result<Vec<OsString>, TmuxError> {
    let refused = |said: &str| TmuxError::Refused {
        said: said.to_owned(),
    };
    let words: Vec<String> = match opening {
        Opening::Session { name, size } if is_first => {
            let good = |sign: u8| sign.is_ascii_alphanumeric() || b"-_".contains(&sign);
            if name.is_empty() || name.starts_with('-') || !name.bytes().all(good) {
                return Err(refused("a session's name is letters, digits, `-` and `_`"));
            }
            let (width, height) = (size.width.to_string(), size.height.to_string());
            ["new-session", "-s", name, "-x", &width, "-y", &height]
                .map(str::to_owned)
                .into()
        }
        // In the same call the session is known by its name only: `=` and `:` make it exact.
        Opening::Session { name, .. } => {
            let target = session.map_or_else(|| format!("={name}:"), |id| format!("{id}:"));
            ["new-window", "-t", &target].map(str::to_owned).into()
        }
        Opening::Windows { beside } => {
            if !beside.is_sound() {
                return Err(refused("the recorded pane has no id"));
            }
            let target = format!("{}:", beside.session_id);
            ["new-window", "-t", &target].map(str::to_owned).into()
        }
        Opening::Splits { of } => {
            if !is_id('%', of) {
                return Err(refused("a pane's id is `%` and a number"));
            }
            ["split-window", "-h", "-t", of].map(str::to_owned).into()
        }
    };
    Ok(words.into_iter().map(OsString::from).collect())
}

pub(super) fn recorded(facts: PaneFacts, socket_path: PathBuf) -> PaneRecord {
    let bare = |pid| Identity {
        pid,
        start_time: None,
        boot_id: None,
        pid_namespace: None,
    };
    PaneRecord {
        server: ServerRecord {
            socket_path,
            server_pid: facts.server_pid,
            server_started_at: facts.server_started_at,
            server_process: Identity::of(facts.server_pid),
        },
        session_id: facts.session_id,
        session_created_at: facts.session_created_at,
        window_id: facts.window_id,
        pane_id: facts.pane_id,
        process: Identity::of(facts.pane_pid).unwrap_or_else(|| bare(facts.pane_pid)),
    }
}
