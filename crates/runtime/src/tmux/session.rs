//! Sessions: by their exact names, and shown to a person.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use pitcrew_core::departure::Departure;

use super::launch::recorded;
use super::record::PaneRecord;
use super::{Socket, Tmux, TmuxError};
use crate::process::CallError;

/// How many rows above the visible ones are looked at for what a program said last.
const ROWS_BACK: &str = "-20";

/// How often tmux is asked for a status that it does not tell, and how long is waited in between.
const ASKED_FOR_STATUS: u32 = 5;
const BETWEEN_ASKING: Duration = Duration::from_millis(40);

impl Tmux {
    /// Whether a session of exactly this name is there, whoever made it.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn has_session(&self, name: &str) -> Result<bool, TmuxError> {
        // The names are compared here: a target of tmux is a pattern.
        match self.ask(["list-sessions", "-F", "#{session_name}"], b"") {
            Ok(answer) => Ok(String::from_utf8_lossy(&answer)
                .lines()
                .any(|found| found == name)),
            Err(TmuxError::NoServer { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The last row of text in a pane, what has scrolled out of sight included; tmux's own note about a dead pane aside.
    ///
    /// # Errors
    /// When there is no such pane, or tmux does not answer.
    pub fn last_words(&self, pane: &PaneRecord) -> Result<Option<String>, TmuxError> {
        if !pane.is_sound() {
            return Ok(None);
        }
        let answer = self.ask(
            ["capture-pane", "-p", "-S", ROWS_BACK, "-t", &pane.pane_id],
            b"",
        )?;
        let text = String::from_utf8_lossy(&answer);
        let mut rows = text.lines().map(str::trim).rev();
        let row = rows.find(|row| !row.is_empty() && !row.starts_with("Pane is dead"));
        Ok(row.map(str::to_owned))
    }

    /// How the process of a pane ended that is known to have ended. tmux learns that a terminal was closed before it learns
    /// the status, and sometimes never does, so it is asked a few times.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn departure(&self, pane: &PaneRecord) -> Result<Departure, TmuxError> {
        for _ in 0..ASKED_FOR_STATUS {
            let found = self.panes()?;
            if !found.iter().any(|facts| pane.server.is_of(facts)) {
                return Ok(Departure::ServerGone);
            }
            let Some(own) = found.iter().find(|facts| pane.is_of(facts)) else {
                return Ok(Departure::Closed);
            };
            match (own.exit_signal, own.exit_status) {
                (Some(signal), _) => return Ok(Departure::Killed(signal)),
                (None, Some(status)) => return Ok(Departure::Exited(status)),
                (None, None) => {}
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "tmux tells nobody when it has learned a status"
            )]
            std::thread::sleep(BETWEEN_ASKING);
        }
        Ok(Departure::Untold)
    }

    /// The record of a pane that is there, whoever opened it.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn record_of(&self, pane_id: &str) -> Result<Option<PaneRecord>, TmuxError> {
        let found = self.panes()?;
        let Some(facts) = found.into_iter().find(|facts| facts.pane_id == pane_id) else {
            return Ok(None);
        };
        Ok(Some(recorded(facts, self.socket_path()?)))
    }

    /// Whether the session of a recorded pane is still there.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn has_session_of(&self, pane: &PaneRecord) -> Result<bool, TmuxError> {
        Ok(self.panes()?.iter().any(|facts| {
            facts.session_id == pane.session_id
                && facts.session_created_at == pane.session_created_at
                && pane.server.is_of(facts)
        }))
    }

    /// Shows the session of a pane on this terminal, until the person leaves it. From inside the same server the terminal
    /// changes over to it at once. `here` is the caller's `TMUX`, where it has one.
    ///
    /// # Errors
    /// When tmux cannot be started.
    pub fn show(&self, pane: &PaneRecord, here: Option<&str>) -> Result<ExitStatus, TmuxError> {
        let is_inside = match (&self.socket, here.and_then(|here| here.split(',').next())) {
            (Socket::At(socket), Some(here)) => socket.as_os_str() == here,
            _ => false,
        };
        let order = match is_inside {
            true => "switch-client",
            false => "attach-session",
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "tmux draws on the caller's own terminal and ends when the person leaves it"
        )]
        let mut command = Command::new(&self.program);
        if !is_inside {
            command.env_remove("TMUX");
        }
        command
            .arg("-S")
            .arg(&pane.server.socket_path)
            .args([order, "-t", &pane.session_id])
            .status()
            .map_err(|source| {
                let program = self.program.to_string_lossy().into_owned();
                TmuxError::Broken(CallError::Broken { program, source })
            })
    }
}
