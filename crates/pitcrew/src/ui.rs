//! The one module that writes: data on standard output, words on standard error.
//!
//! A reader that went away (`pitcrew inbox | head -1`) ends the command quietly: the first broken pipe is remembered
//! and everything after it is dropped. Any other failure to write is said, and the command has failed.
//!
//! In words, control characters of others are made visible, whether a person or a program reads. JSON is the form for
//! what must come through byte for byte: it escapes most of them by itself, and on a terminal the others too.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use pitcrew_core::visible::{Lines, visible};
use pitcrew_runtime::process::Stream;
use serde_json::Value;

use crate::environment::Environment;
use crate::halt::{Exit, Halt};

/// Bold, for headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// Dim, for what is of less interest.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// For what is as it should be.
pub(crate) const GOOD: Style =
    Style::new().fg_color(Some(anstyle::Color::Ansi(anstyle::AnsiColor::Green)));
/// For what is not.
pub(crate) const BAD: Style =
    Style::new().fg_color(Some(anstyle::Color::Ansi(anstyle::AnsiColor::Red)));

/// How JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Two spaces, as the reference's `--json`.
    Pretty,
    /// One line, as the reference's `team api` without `--json`.
    Compact,
}

/// Where a command writes.
pub(crate) struct Ui {
    out: io::BufWriter<io::Stdout>,
    /// Why nothing is written any more.
    closed: Option<io::ErrorKind>,
    on_terminal: bool,
    out_colored: bool,
    err_colored: bool,
    /// Whether the caller asked for JSON.
    pub json: bool,
}

impl Ui {
    /// Writers for this process.
    pub(crate) fn new(environment: &Environment, json: bool) -> Self {
        Self {
            out: io::BufWriter::new(io::stdout()),
            closed: None,
            on_terminal: environment.stdout_is_terminal(),
            out_colored: !json && environment.stdout_is_colored(),
            err_colored: !json && environment.stderr_is_colored(),
            json,
        }
    }

    /// Refuses to take what can be shown only once when there is no standard output to show it on.
    ///
    /// # Errors
    /// `system_failed`.
    pub(crate) fn expect_a_reader(&self) -> Result<(), Halt> {
        if pitcrew_store::files::stands_for_nothing(io::stdout()) {
            return Err(Halt::System {
                what: "show it",
                why: "standard output is closed; nothing was taken".to_string(),
            });
        }
        Ok(())
    }

    /// Whether whoever reads standard output is still there.
    pub(crate) fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    fn took(&mut self, result: io::Result<()>) {
        if let Err(refused) = result {
            self.closed.get_or_insert(refused.kind());
        }
    }

    /// Writes bytes of data as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if self.is_open() {
            let result = self.out.write_all(bytes);
            self.took(result);
        }
    }

    /// Writes a text of others as it is, for a program; on a terminal its control characters are made visible.
    pub(crate) fn whole(&mut self, text: &str) {
        if self.on_terminal {
            self.text(text.trim_end_matches('\n'));
        } else {
            self.raw(text.as_bytes());
        }
    }

    /// Writes a piece of JSON. Characters that a terminal takes as orders and JSON does not escape are escaped there.
    pub(crate) fn json_piece(&mut self, text: &str) {
        match self.on_terminal {
            true => self.raw(without_orders(text).as_bytes()),
            false => self.raw(text.as_bytes()),
        }
    }

    /// Writes one line of data.
    pub(crate) fn line(&mut self, text: &str) {
        let shown = visible(text, Lines::Fold);
        self.raw(shown.as_bytes());
        self.raw(b"\n");
    }

    /// Writes a text of others, which may have several lines.
    pub(crate) fn text(&mut self, text: &str) {
        let shown = visible(text, Lines::Keep);
        self.raw(shown.as_bytes());
        self.raw(b"\n");
    }

    /// Writes a text of others with each line set in, so that none of it can pass for a line of this program.
    pub(crate) fn indented(&mut self, text: &str) {
        let shown = visible(text, Lines::Keep);
        for line in shown.split('\n') {
            self.raw(b"    ");
            self.raw(line.as_bytes());
            self.raw(b"\n");
        }
    }

    /// Writes a JSON answer.
    pub(crate) fn json(&mut self, value: &Value, layout: Layout) {
        let text = match layout {
            Layout::Pretty => serde_json::to_string_pretty(value),
            Layout::Compact => serde_json::to_string(value),
        };
        // A value has no keys that are not text, so it can always be written.
        self.json_piece(&text.unwrap_or_default());
        self.raw(b"\n");
    }

    /// `text` in `style`, when standard output shows colours.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        styled(self.out_colored, style, text)
    }

    /// `text` in `style`, when standard error shows colours.
    pub(crate) fn styled_on_stderr(&self, style: Style, text: &str) -> String {
        styled(self.err_colored, style, text)
    }

    /// How wide the terminal is that standard output is written to, if it is one.
    pub(crate) fn columns(&self) -> Option<usize> {
        let term = console::Term::stdout();
        term.is_term().then(|| usize::from(term.size().1))
    }

    /// Writes a line of styled text that this program made itself.
    pub(crate) fn own_line(&mut self, text: &str) {
        self.raw(text.as_bytes());
        self.raw(b"\n");
    }

    /// Hands on what was written so far.
    pub(crate) fn flush(&mut self) {
        if self.is_open() {
            let result = self.out.flush();
            self.took(result);
        }
    }

    /// Hands on everything and answers how the command ended: as `exit` says, unless its answer could not be written.
    pub(crate) fn finish(&mut self, exit: Exit) -> Exit {
        self.flush();
        match self.closed {
            None | Some(io::ErrorKind::BrokenPipe) => exit,
            Some(kind) => {
                let hint = match exit {
                    Exit::Done => {
                        Some("whatever it changed stays changed; look before you ask again")
                    }
                    _ => None,
                };
                self.complain(&format!("cannot write the answer: {kind}"), hint);
                Exit::Failed
            }
        }
    }

    /// Tells the person what happens, in one line.
    pub(crate) fn tell(&mut self, text: &str) {
        let shown = visible(text, Lines::Fold);
        // When standard error is gone there is nobody left to tell.
        let _ = writeln!(io::stderr(), "{shown}");
    }

    /// Says something to the person: a warning, a hint, progress.
    pub(crate) fn say(&mut self, text: &str) {
        self.flush();
        let shown = visible(text, Lines::Keep);
        let shown = styled(self.err_colored, FAINT, &shown);
        // When standard error is gone there is nobody left to tell.
        let _ = writeln!(io::stderr(), "{shown}");
    }

    /// Says what went wrong and what to do next.
    pub(crate) fn complain(&mut self, message: &str, hint: Option<&str>) {
        self.flush();
        let word = styled(self.err_colored, BAD.bold(), "error");
        let mut text = format!("{word}: {}\n", visible(message, Lines::Keep));
        if let Some(hint) = hint {
            text.push_str(&format!(" hint: {}\n", visible(hint, Lines::Keep)));
        }
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Hands output of another program on as it comes, byte for byte. When nobody reads it any more, it is dropped: the
/// other program goes on.
pub(crate) fn hand_on(to: Stream) -> impl FnMut(&[u8]) + Send + 'static {
    move |bytes| {
        let _ = match to {
            Stream::Stdout => io::stdout()
                .write_all(bytes)
                .and_then(|()| io::stdout().flush()),
            Stream::Stderr => io::stderr().write_all(bytes),
        };
    }
}

fn styled(colored: bool, style: Style, text: &str) -> String {
    if colored {
        format!("{style}{text}{style:#}")
    } else {
        text.to_string()
    }
}

/// JSON in which every character that a terminal takes as an order is escaped. The line ends of the layout are the only
/// control characters outside of strings.
fn without_orders(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        let is_order = matches!(
            visible(c.encode_utf8(&mut [0; 4]), Lines::Fold),
            Cow::Owned(_)
        );
        if is_order && c != '\n' {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_json_on_a_terminal_holds_no_orders_and_says_the_same() {
        let value = serde_json::json!({ "body": "\u{9b}2J\u{202e}x\u{1b}]0;t\u{7}\u{7f} naïve ☃" });
        for text in [
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let shown = without_orders(&text);
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
            assert!(
                shown.chars().all(|c| c == '\n' || !c.is_control()) && !shown.contains('\u{202e}')
            );
            assert!(shown.contains("naïve ☃"));
        }
    }
}
