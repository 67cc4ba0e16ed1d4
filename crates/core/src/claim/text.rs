//! A text as claims see it: one number for each line, between a mark for its start and one for its end.
//!
//! Nothing of the text itself is kept. Two lines with the same number are taken for equal; they are, but for one in
//! four thousand million. A carriage return at the end of a line does not count, because version control adds and
//! takes it as it likes. Lines count from 1, and a line break at the very end begins no further line.

use alloc::vec::Vec;

/// What stands before the first line, and after the last.
const START: u32 = 0;
const END: u32 = 1;

/// The lines of one state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLines {
    /// The start mark, the lines, the end mark: line `n` stands at `n`.
    marks: Vec<u32>,
    whole: u64,
}

impl FileLines {
    /// The lines of a text, which need not be UTF-8.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let mut marks = Vec::from([START]);
        if !text.is_empty() {
            let lines = text.strip_suffix(b"\n").unwrap_or(text);
            marks.extend(lines.split(|byte| *byte == b'\n').map(mark));
        }
        marks.push(END);
        let whole = fnv(marks.iter().flat_map(|mark| mark.to_le_bytes()));
        Self { marks, whole }
    }

    /// The lines of what may be no text: with a NUL in its first eight thousand bytes it is taken for binary, as
    /// version control does, and has none.
    #[must_use]
    pub fn of_text(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..8_000).unwrap_or(bytes);
        (!head.contains(&0)).then(|| Self::of(bytes))
    }

    /// How many lines there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.marks.len() as u64 - 2
    }

    /// A number for all of it.
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// The numbers, with the marks at both ends.
    pub(super) fn marks(&self) -> &[u32] {
        &self.marks
    }
}

fn mark(line: &[u8]) -> u32 {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let long = fnv(line.iter().copied());
    let short = (long ^ (long >> 32)) as u32;
    // The two marks at the ends are no line's.
    short.max(END + 1)
}

/// Fowler–Noll–Vo, 64 bits, variant 1a.
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_as_an_editor_counts_them() {
        for (text, count) in [
            ("", 0),
            ("\n", 1),
            ("a", 1),
            ("a\n", 1),
            ("a\n\n", 2),
            ("a\nb", 2),
            ("\n\n", 2),
        ] {
            assert_eq!(FileLines::of(text.as_bytes()).count(), count, "{text:?}");
        }
    }

    #[test]
    fn only_the_kind_of_line_break_does_not_count() {
        let lines = |text: &str| FileLines::of(text.as_bytes());
        assert_eq!(lines("a\r\nb\r\n"), lines("a\nb"));
        assert_ne!(lines("a\nb"), lines("b\na"));
        assert_ne!(lines("a \nb"), lines("a\nb"));
        assert_ne!(lines(""), lines("\n"));
    }
}
