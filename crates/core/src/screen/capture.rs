//! A screen in a file: its rows, a blank line, and one last line with the cursor and what the terminal knows.
//!
//! ```text
//! #### cur=2,36 curvis=1 alt=1 mouse=0 cmd=bash title=an agent
//! ```
//!
//! Reading is tolerant: a missing last line, missing or unknown keys and a missing blank line are all taken; what is
//! not there stays unknown. `cmd` and `title` may hold blanks, the title may hold anything and ends the line. Two keys
//! beyond the captured form are read and written: `mode` (a mode of tmux is on) and `size`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use super::facts::{Cursor, Facts, Row};

const MARK: &str = "####";

impl Facts {
    /// Reads a captured screen.
    #[must_use]
    pub fn from_capture(text: &str) -> Self {
        let mut lines: Vec<&str> = text
            .lines()
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .collect();
        while lines.last().is_some_and(|line| line.is_empty()) && lines.len() > 1 {
            let before = lines.iter().rev().find(|line| !line.is_empty());
            if !before.is_some_and(|line| line.starts_with(MARK)) {
                break;
            }
            lines.pop();
        }
        let mut facts = Self::default();
        if lines.last().is_some_and(|line| line.starts_with(MARK)) {
            let told = lines.pop().unwrap_or_default();
            if lines.last().is_some_and(|line| line.is_empty()) {
                lines.pop();
            }
            facts.take_told(told[MARK.len()..].trim_start());
        }
        facts.rows = lines.into_iter().map(Row::plain).collect();
        facts
    }

    /// Takes what the last line tells.
    fn take_told(&mut self, told: &str) {
        let (told, title) = split_key(told, "title");
        let (told, command) = split_key(told, "cmd");
        self.title = title.map(|title| title.trim_end().to_string());
        self.command = command.map(|command| command.trim().to_string());
        for (key, value) in told
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
        {
            match key {
                "cur" => self.cursor = pair(value, ',').map(|(x, y)| Cursor { x, y }),
                "curvis" => self.cursor_visible = flag(value),
                "alt" => self.alternate_screen = flag(value),
                "mouse" => self.mouse = flag(value),
                "mode" => self.in_mode = flag(value),
                "size" => self.width = pair(value, 'x').map(|(width, _)| width),
                _ => {}
            }
        }
    }

    /// Writes the screen in the same form.
    #[must_use]
    pub fn to_capture(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&row.text);
            text.push('\n');
        }
        text.push('\n');
        text.push_str(MARK);
        // Writing to a String cannot fail.
        if let Some(Cursor { x, y }) = self.cursor {
            let _ = write!(text, " cur={x},{y}");
        }
        let flags = [
            ("curvis", self.cursor_visible),
            ("alt", self.alternate_screen),
            ("mouse", self.mouse),
            ("mode", self.in_mode),
        ];
        for (key, value) in flags {
            if let Some(value) = value {
                let _ = write!(text, " {key}={}", u8::from(value));
            }
        }
        if let Some(width) = self.width {
            let _ = write!(text, " size={width}x{}", self.rows.len());
        }
        if let Some(command) = &self.command {
            let _ = write!(text, " cmd={command}");
        }
        if let Some(title) = &self.title {
            let _ = write!(text, " title={title}");
        }
        text.push('\n');
        text
    }
}

/// `told` up to the key, and what follows `key=`.
fn split_key<'a>(told: &'a str, key: &str) -> (&'a str, Option<&'a str>) {
    let starts = told.match_indices(key).map(|(at, _)| at);
    for at in starts {
        let is_word = at == 0 || told[..at].ends_with(' ');
        if let Some(value) = told[at + key.len()..].strip_prefix('=')
            && is_word
        {
            return (&told[..at], Some(value));
        }
    }
    (told, None)
}

fn pair(value: &str, between: char) -> Option<(u16, u16)> {
    let (first, second) = value.split_once(between)?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

fn flag(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn a_capture_is_read() {
        let facts = Facts::from_capture(
            "one\n\n> \n\n#### cur=2,36 curvis=1 alt=0 mouse=0 cmd=bash title=a | b title=c\n",
        );
        assert_eq!(
            facts.rows,
            vec![Row::plain("one"), Row::plain(""), Row::plain("> ")]
        );
        assert_eq!(facts.cursor, Some(Cursor { x: 2, y: 36 }));
        assert_eq!(facts.cursor_visible, Some(true));
        assert_eq!(facts.alternate_screen, Some(false));
        assert_eq!(facts.in_mode, None);
        assert_eq!(facts.command.as_deref(), Some("bash"));
        assert_eq!(facts.title.as_deref(), Some("a | b title=c"));
    }

    #[test]
    fn an_empty_title_is_known_and_a_missing_one_is_not() {
        assert_eq!(
            Facts::from_capture("x\n\n#### cur=0,0 title=")
                .title
                .as_deref(),
            Some("")
        );
        assert_eq!(Facts::from_capture("x\n\n#### cur=0,0").title, None);
    }

    #[test]
    fn what_is_missing_or_odd_stays_unknown() {
        let facts = Facts::from_capture("only\nrows\n");
        assert_eq!(facts.height(), 2);
        assert_eq!(facts.cursor, None);
        let facts = Facts::from_capture("a\r\n\r\n#### cur=2 curvis=yes alt= later=1\r\n\r\n");
        assert_eq!(facts.rows, vec![Row::plain("a")]);
        assert_eq!((facts.cursor, facts.cursor_visible), (None, None));
        assert_eq!(Facts::from_capture(""), Facts::default());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            rows in prop::collection::vec("[^\r\n#]{0,40}", 1..12),
            cursor in prop::option::of((0u16..300, 0u16..100)),
            title in prop::option::of("[a-z ✳⠋|=]{0,20}[a-z]"),
        ) {
            let facts = Facts {
                rows: rows.into_iter().map(Row::plain).collect(),
                cursor: cursor.map(|(x, y)| Cursor { x, y }),
                cursor_visible: Some(true),
                in_mode: Some(false),
                width: Some(80),
                command: Some("bash".into()),
                title,
                ..Facts::default()
            };
            prop_assert_eq!(Facts::from_capture(&facts.to_capture()), facts);
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let _ = Facts::from_capture(&text);
        }
    }
}
