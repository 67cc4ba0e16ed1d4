//! Rows with colours, as `tmux capture-pane -e` writes them, taken apart into text and tints.
//!
//! Only the foreground and dimming are kept: that is what tells a placeholder from a draft. Other escape sequences are
//! skipped whole, so none of their bytes ends up in the text.

use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::Chars;

use super::facts::{Facts, Row, Tint};

#[derive(Clone, Copy)]
struct Pen {
    dim: bool,
    colour: Tint,
}

impl Pen {
    const PLAIN: Self = Self {
        dim: false,
        colour: Tint::Plain,
    };

    fn tint(self) -> Tint {
        if self.dim { Tint::Dim } else { self.colour }
    }

    /// Applies the parameters of one `ESC [ … m`.
    fn select(&mut self, parameters: &str) {
        let mut numbers = parameters
            .split([';', ':'])
            .map(|number| number.parse::<u16>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::PLAIN,
                2 => self.dim = true,
                22 => self.dim = false,
                30..=37 => self.colour = indexed(number - 30),
                90..=97 => self.colour = indexed(number - 82),
                39 => self.colour = Tint::Plain,
                38 => {
                    if let Some(colour) = extended(&mut numbers) {
                        self.colour = colour;
                    }
                }
                48 => {
                    let _ = extended(&mut numbers);
                }
                _ => {}
            }
        }
    }
}

fn indexed(number: u16) -> Tint {
    Tint::Indexed(u8::try_from(number).unwrap_or(0))
}

fn extended(numbers: &mut impl Iterator<Item = u16>) -> Option<Tint> {
    let mut byte = || Some(u8::try_from(numbers.next()?).unwrap_or(u8::MAX));
    match byte()? {
        5 => Some(Tint::Indexed(byte()?)),
        2 => Some(Tint::Rgb(byte()?, byte()?, byte()?)),
        _ => None,
    }
}

/// Reads rows with colours. The pen runs on from row to row, as tmux writes them.
pub(super) fn rows(text: &str) -> Vec<Row> {
    let mut pen = Pen::PLAIN;
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    lines
        .map(|line| {
            let mut row = Row {
                text: String::with_capacity(line.len()),
                tints: Some(Vec::new()),
            };
            let mut signs = line.chars().peekable();
            while let Some(sign) = signs.next() {
                match sign {
                    '\x1b' => escape(&mut signs, &mut pen),
                    '\r' => {}
                    _ => {
                        row.text.push(sign);
                        if let Some(tints) = &mut row.tints {
                            tints.push(pen.tint());
                        }
                    }
                }
            }
            row
        })
        .collect()
}

/// Skips one escape sequence after its `ESC`, and follows it when it selects a colour.
fn escape(signs: &mut Peekable<Chars<'_>>, pen: &mut Pen) {
    match signs.next() {
        Some('[') => {
            let mut parameters = String::new();
            for sign in signs.by_ref() {
                if ('\x40'..='\x7e').contains(&sign) {
                    if sign == 'm' {
                        pen.select(&parameters);
                    }
                    return;
                }
                parameters.push(sign);
            }
        }
        Some(']' | 'P' | '_' | '^') => string(signs),
        Some('(' | ')' | '*' | '+' | '#') => {
            let _ = signs.next();
        }
        _ => {}
    }
}

/// Skips up to the end of a string sequence: BEL or `ESC \`.
fn string(signs: &mut Peekable<Chars<'_>>) {
    while let Some(sign) = signs.next() {
        if sign == '\x07' {
            return;
        }
        if sign == '\x1b' {
            let _ = signs.next_if_eq(&'\\');
            return;
        }
    }
}

impl Facts {
    /// These facts with the rows of `text`, as `capture-pane -e` wrote them at the same moment.
    #[must_use]
    pub fn drawn(mut self, text: &str) -> Self {
        self.rows = rows(text);
        self
    }

    /// These facts with the colours of `text`, the same screen as `capture-pane -e` wrote it. A row that does not say
    /// the same as before keeps its text and gets no colours: the screen moved between the two looks.
    #[must_use]
    pub fn coloured(mut self, text: &str) -> Self {
        for (row, seen) in self.rows.iter_mut().zip(rows(text)) {
            if row.text.trim_end() == seen.text.trim_end() {
                row.tints = seen.tints;
                row.text = seen.text;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn colours_and_dimming_are_kept_per_character() {
        let seen = rows(
            "\x1b[1m>\x1b[0m\x1b[39m \x1b[2mab\n\x1b[0mc\x1b[38;2;1;2;3md\x1b[48;5;7me\x1b[38;5;9mf\n",
        );
        assert_eq!(seen[0].text, "> ab");
        assert_eq!(
            seen[0].tints,
            Some(vec![Tint::Plain, Tint::Plain, Tint::Dim, Tint::Dim])
        );
        assert_eq!(seen[1].text, "cdef");
        assert_eq!(
            seen[1].tints,
            Some(vec![
                Tint::Plain,
                Tint::Rgb(1, 2, 3),
                Tint::Rgb(1, 2, 3),
                Tint::Indexed(9)
            ])
        );
    }

    #[test]
    fn other_sequences_leave_nothing_behind() {
        assert_eq!(
            rows("a\x1b]0;title\x07b\x1b[2Kc\x1b(Bd\x1b]8;;x\x1b\\e")[0].text,
            "abcde"
        );
        assert_eq!(rows("cut\x1b[38;2")[0].text, "cut");
    }

    #[test]
    fn a_row_that_moved_gets_no_colours() {
        let facts = Facts {
            rows: vec![Row::plain("same"), Row::plain("old")],
            ..Facts::default()
        };
        let facts = facts.coloured("\x1b[2msame  \nnew\n");
        assert!(facts.rows[0].tints.is_some());
        assert_eq!(facts.rows[1], Row::plain("old"));
    }
}
