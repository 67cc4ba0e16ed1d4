//! What tmux tells of a pane in one line, and reading that line.
//!
//! Numbers come first, divided by blanks; then the title after its length in bytes, and last the command, so that neither
//! can pass for anything else. The command has no length: tmux asks the system for it each time it is named, and between
//! two times it may be another.

use pitcrew_core::screen::{Cursor, Facts};

use super::TmuxError;

/// The format of the line.
pub(super) const FORMAT: &str = "#{pid} #{start_time} #{pane_id} #{pane_pid} #{pane_dead} #{session_id} \
#{session_created} #{window_id} #{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} \
#{mouse_any_flag} #{pane_in_mode} e#{pane_dead_status} s#{pane_dead_signal} #{n:pane_title} #{pane_title} \
#{pane_current_command}";

/// One pane, as tmux tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneFacts {
    /// The server's process.
    pub server_pid: u32,
    /// When the server started, in seconds.
    pub server_started_at: i64,
    /// The pane.
    pub pane_id: String,
    /// Its process.
    pub pane_pid: u32,
    /// Whether that process has ended and the pane was kept.
    pub is_dead: bool,
    /// Its exit status then, where tmux tells one.
    pub exit_status: Option<i32>,
    /// The signal that ended it, where tmux tells one.
    pub exit_signal: Option<i32>,
    /// The session.
    pub session_id: String,
    /// When it was made, in seconds.
    pub session_created_at: i64,
    /// The window.
    pub window_id: String,
    /// Cursor, flags, command and title; no rows.
    pub facts: Facts,
}

impl PaneFacts {
    /// Reads one line.
    pub(super) fn read(line: &str) -> Result<Self, TmuxError> {
        Self::parse(line).ok_or(TmuxError::Garbled {
            what: "a line about a pane",
        })
    }

    fn parse(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let (word, after) = rest.split_once(' ')?;
            rest = after;
            Some(word)
        };
        let server_pid = word()?.parse().ok()?;
        let server_started_at = word()?.parse().ok()?;
        let pane_id = word()?.to_owned();
        let pane_pid = word()?.parse().ok()?;
        let is_dead = is_set(word()?);
        let session_id = word()?.to_owned();
        let session_created_at = word()?.parse().ok()?;
        let window_id = word()?.to_owned();
        let width = word()?.parse().ok()?;
        let _height: u16 = word()?.parse().ok()?;
        let cursor = Cursor {
            x: word()?.parse().ok()?,
            y: word()?.parse().ok()?,
        };
        let mut facts = Facts {
            width: Some(width),
            cursor: Some(cursor),
            cursor_visible: Some(is_set(word()?)),
            alternate_screen: Some(is_set(word()?)),
            mouse: Some(is_set(word()?)),
            in_mode: Some(is_set(word()?)),
            ..Facts::default()
        };
        let exit_status = word()?.strip_prefix('e')?.parse().ok();
        let exit_signal = word()?.strip_prefix('s')?.parse().ok();
        let title: usize = word()?.parse().ok()?;
        facts.title = Some(rest.get(..title)?.to_owned());
        facts.command = Some(rest.get(title..)?.strip_prefix(' ')?.to_owned());
        Some(Self {
            server_pid,
            server_started_at,
            pane_id,
            pane_pid,
            is_dead,
            exit_status,
            exit_signal,
            session_id,
            session_created_at,
            window_id,
            facts,
        })
    }
}

/// tmux writes a flag as a number, and some flags as nothing when they are off.
fn is_set(word: &str) -> bool {
    !matches!(word, "" | "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_command_and_title_say() {
        let head = "10 1700000000 %3 12 0 $1 1700000001 @2 80 24 5 6 1 0 0 0 e s";
        let read = PaneFacts::read(&format!("{head} 11 c ü %9 1 2 a b")).unwrap();
        assert_eq!(read.facts.command.as_deref(), Some("a b"));
        assert_eq!(read.facts.title.as_deref(), Some("c ü %9 1 2"));
        assert!(PaneFacts::read(&format!("{head} 12 c ü %9 1 2 a b")).is_err());
        assert_eq!(
            (read.pane_pid, read.is_dead, read.exit_status),
            (12, false, None)
        );
    }

    #[test]
    fn a_dead_pane_has_its_status() {
        let line = "10 17 %3 12 1 $1 17 @2 80 24 0 0 1 0 0 0 e127 s 0  ";
        let read = PaneFacts::read(line).unwrap();
        assert_eq!(
            (read.is_dead, read.exit_status, read.exit_signal),
            (true, Some(127), None)
        );
        let killed = PaneFacts::read(&line.replace("e127 s", "e s9")).unwrap();
        assert_eq!((killed.exit_status, killed.exit_signal), (None, Some(9)));
        assert_eq!(read.facts.title.as_deref(), Some(""));
    }
}
