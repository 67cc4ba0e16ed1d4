//! The one module that writes: data on standard output, words on standard error.
//!
//! A reader that went away (`pitcrew inbox | head -1`) ends the command quietly: the first broken pipe is remembered
//! and everything after it is dropped.

use std::io::{self, Write};

use anstyle::Style;
use pitcrew_core::visible::{Lines, visible};
use serde_json::Value;

use crate::environment::Environment;

/// Bold, for headings.
pub const HEADING: Style = Style::new().bold();
/// Dim, for what is of less interest.
pub const FAINT: Style = Style::new().dimmed();

/// How JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Two spaces, as the reference's `--json`.
    Pretty,
    /// One line, as the reference's `team api` without `--json`.
    Compact,
}

/// Where a command writes.
pub struct Ui {
    out: io::BufWriter<io::Stdout>,
    closed: bool,
    out_colored: bool,
    err_colored: bool,
    /// Whether the caller asked for JSON.
    pub json: bool,
}

impl Ui {
    /// Writers for this process.
    pub fn new(environment: &Environment, json: bool) -> Self {
        Self {
            out: io::BufWriter::new(io::stdout()),
            closed: false,
            out_colored: environment.stdout_is_terminal && !environment.no_color,
            err_colored: environment.stderr_is_terminal && !environment.no_color,
            json,
        }
    }

    /// Whether whoever reads standard output is still there.
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    fn took(&mut self, result: io::Result<()>) {
        if result.is_err() {
            self.closed = true;
        }
    }

    /// Writes bytes of data as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        if !self.closed {
            let result = self.out.write_all(bytes);
            self.took(result);
        }
    }

    /// Writes one line of data. Control characters are made visible when a person reads it.
    pub fn line(&mut self, text: &str) {
        let shown = visible(text, Lines::Fold);
        self.raw(shown.as_bytes());
        self.raw(b"\n");
    }

    /// Writes a text of others, which may have several lines, with its control characters made visible.
    pub fn text(&mut self, text: &str) {
        let shown = visible(text, Lines::Keep);
        self.raw(shown.as_bytes());
        self.raw(b"\n");
    }

    /// Writes a JSON answer.
    pub fn json(&mut self, value: &Value, layout: Layout) {
        let text = match layout {
            Layout::Pretty => serde_json::to_string_pretty(value),
            Layout::Compact => serde_json::to_string(value),
        };
        // A value has no keys that are not text, so it can always be written.
        self.raw(text.unwrap_or_default().as_bytes());
        self.raw(b"\n");
    }

    /// `text` in `style`, when standard output shows colours.
    pub fn styled(&self, style: Style, text: &str) -> String {
        if self.out_colored {
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }

    /// Writes a line of styled text that this program made itself.
    pub fn own_line(&mut self, text: &str) {
        self.raw(text.as_bytes());
        self.raw(b"\n");
    }

    /// Hands on what was written so far.
    pub fn flush(&mut self) {
        let result = self.out.flush();
        self.took(result);
    }

    /// Says something to the person: a warning, a hint, progress.
    pub fn say(&self, text: &str) {
        let shown = visible(text, Lines::Keep);
        // When standard error is gone there is nobody left to tell.
        let _ = writeln!(io::stderr(), "{shown}");
    }

    /// Says what went wrong and what to do next.
    pub fn complain(&self, message: &str, hint: Option<&str>) {
        let error = Style::new()
            .bold()
            .fg_color(Some(anstyle::AnsiColor::Red.into()));
        let (on, off) = if self.err_colored {
            (format!("{error}"), format!("{error:#}"))
        } else {
            Default::default()
        };
        let _ = writeln!(
            io::stderr(),
            "{on}error{off}: {}",
            visible(message, Lines::Keep)
        );
        if let Some(hint) = hint {
            let _ = writeln!(io::stderr(), " hint: {}", visible(hint, Lines::Keep));
        }
    }
}
