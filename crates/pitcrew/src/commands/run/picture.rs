//! A few lines at the bottom of a terminal that are drawn anew in place, with other lines scrolling by above.
//!
//! The cursor waits at the start of the line below the picture, so what the terminal itself writes there (`^C`) is
//! cleared with the next drawing. Nothing is written when nothing changed. A picture that was drawn for a wider
//! terminal is cleared by the rows that it takes now.
//!
//! When the terminal is gone nobody looks, so what cannot be written is dropped.

use std::fmt::Write as _;

use console::{Term, measure_text_width, truncate_str};

/// A picture on standard error.
pub(super) struct Picture {
    term: Term,
    drawn: Vec<String>,
}

impl Picture {
    pub(super) fn new() -> Self {
        Self {
            term: Term::stderr(),
            drawn: Vec::new(),
        }
    }

    /// How many rows the terminal has.
    pub(super) fn rows(&self) -> usize {
        usize::from(self.term.size().0)
    }

    fn columns(&self) -> usize {
        usize::from(self.term.size().1).max(20)
    }

    /// Shows these lines in the place of those before, each cut to the terminal's width.
    pub(super) fn draw(&mut self, lines: &[String]) {
        let columns = self.columns();
        let lines: Vec<String> = lines
            .iter()
            .map(|line| truncate_str(line, columns - 1, "…").into_owned())
            .collect();
        if lines != self.drawn {
            self.put("", lines);
        }
    }

    /// Writes a line that stays, above the picture.
    pub(super) fn scroll(&mut self, line: &str) {
        let line = truncate_str(line, self.columns() - 1, "…").into_owned() + "\n";
        let drawn = self.drawn.clone();
        self.put(&line, drawn);
    }

    /// Takes the picture away.
    pub(super) fn clear(&mut self) {
        if !self.drawn.is_empty() {
            self.put("", Vec::new());
        }
    }

    /// One write, so that no half of a picture is ever seen.
    fn put(&mut self, above: &str, lines: Vec<String>) {
        let mut text = erase(&self.drawn, self.columns());
        text.push_str(above);
        for line in &lines {
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = lines;
        let _nobody_looks = self.term.write_str(&text);
    }
}

/// What clears the rows of a picture that ends above the cursor, and everything below.
fn erase(drawn: &[String], columns: usize) -> String {
    let rows: usize = drawn
        .iter()
        .map(|line| measure_text_width(line).div_ceil(columns).max(1))
        .sum();
    let mut text = String::from("\r");
    if rows > 0 {
        let _ = write!(text, "\x1b[{rows}A");
    }
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_erased_by_the_rows_that_it_takes_now() {
        let drawn = ["x".repeat(30), String::new()];
        assert_eq!(erase(&drawn, 80), "\r\x1b[2A\x1b[J");
        assert_eq!(erase(&drawn, 20), "\r\x1b[3A\x1b[J");
        assert_eq!(erase(&[], 80), "\r\x1b[J");
    }
}
