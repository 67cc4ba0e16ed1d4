//! A unified diff as a list of changed files, as `git diff` and `diff -u` write it.
//!
//! Only what the guard asks is read: names on both sides, which lines, and whether there are lines at all. Bodies of
//! hunks are passed over by their counted lengths, so text that looks like a header is none. Names in quotation marks
//! are read as version control writes them.

use alloc::string::String;
use alloc::vec::Vec;

use super::shift::{Hunk, Span};

/// Why a text is no unified diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// A hunk stands where no file was named.
    #[error("line {line}: a hunk without the name of its file")]
    Nameless {
        /// Where, counted from 1.
        line: usize,
    },
    /// A hunk is cut, or its header cannot be read.
    #[error("line {line}: a hunk that is damaged")]
    Damaged {
        /// Where, counted from 1.
        line: usize,
    },
    /// There is text, and no file in it.
    #[error("it names no file")]
    Nothing,
}

/// One changed file of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePatch {
    /// Its name before, unless it is new.
    pub old: Option<String>,
    /// Its name after, unless it is deleted.
    pub new: Option<String>,
    /// Where it changes, without the lines around that a diff shows.
    pub hunks: Vec<Hunk>,
    has_hunks: bool,
    /// Whether more changes than lines: it is binary, renamed, new or deleted.
    pub is_whole: bool,
}

impl FilePatch {
    /// The files of a unified diff.
    ///
    /// # Errors
    /// When it is none, or is cut.
    pub fn parse(text: &str) -> Result<Vec<Self>, PatchError> {
        let mut files: Vec<Self> = Vec::new();
        let mut lines = text.split('\n').enumerate();
        while let Some((at, line)) = lines.next() {
            let damaged = || PatchError::Damaged { line: at + 1 };
            if let Some(names) = line.strip_prefix("diff --git ") {
                let (old, new) =
                    both(names).map_or((None, None), |name| (Some(name.clone()), Some(name)));
                let file = Self {
                    old,
                    new,
                    ..Self::default()
                };
                files.push(file);
            } else if line.starts_with("@@ -") {
                let hunk = Hunk::parse(line).ok_or_else(damaged)?;
                let file = files
                    .last_mut()
                    .ok_or(PatchError::Nameless { line: at + 1 })?;
                let body = lines.by_ref().map(|(_, line)| line);
                file.hunks.extend(changed(hunk, body).ok_or_else(damaged)?);
                file.has_hunks = true;
            } else if let Some(name) = line.strip_prefix("--- ") {
                // Without a header of its own, this line begins the file.
                if files
                    .last()
                    .is_none_or(|file| file.has_hunks || file.old.is_none() && file.new.is_none())
                {
                    files.push(Self::default());
                }
                if let Some(file) = files.last_mut() {
                    file.old = named(name);
                    file.is_whole |= file.old.is_none();
                }
            } else if let (Some(name), Some(file)) = (line.strip_prefix("+++ "), files.last_mut()) {
                file.new = named(name);
                file.is_whole |= file.new.is_none();
            } else if let Some(file) = files.last_mut() {
                file.header(line);
            }
        }
        files.retain(|file| file.old.is_some() || file.new.is_some());
        match files.is_empty() && !text.trim().is_empty() {
            true => Err(PatchError::Nothing),
            false => Ok(files),
        }
    }

    /// Takes in a line between the name of a file and its first hunk.
    fn header(&mut self, line: &str) {
        let name = |prefix| line.strip_prefix(prefix).map(unquoted);
        if let Some(from) = name("rename from ") {
            self.old = Some(from);
            self.is_whole = true;
        } else if let Some(to) = name("rename to ").or_else(|| name("copy to ")) {
            self.new = Some(to);
            self.is_whole = true;
        } else if line.starts_with("copy from ") {
            // What is copied stays as it is.
            self.old = None;
        } else if [
            "Binary files ",
            "GIT binary patch",
            "new file mode",
            "deleted file mode",
        ]
        .iter()
        .any(|word| line.starts_with(word))
        {
            self.is_whole = true;
        }
    }
}

/// The places inside one hunk that change, by its body. `None` when the body is cut or is none.
fn changed<'a>(hunk: Hunk, mut body: impl Iterator<Item = &'a str>) -> Option<Vec<Hunk>> {
    let mut found: Vec<Hunk> = Vec::new();
    let (mut old, mut new) = (hunk.old.start, hunk.new.start);
    while old < hunk.old.end() || new < hunk.new.end() {
        let (gone, come) = match body.next()?.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => continue,
            // An empty line of context, whose space somebody cut off.
            Some(b' ' | b'\r') | None => (1, 1),
            Some(_) => return None,
        };
        if gone != come {
            match found.last_mut() {
                Some(last) if last.old.end() == old && last.new.end() == new => {
                    last.old.count += gone;
                    last.new.count += come;
                }
                _ => found.push(Hunk {
                    old: Span {
                        start: old,
                        count: gone,
                    },
                    new: Span {
                        start: new,
                        count: come,
                    },
                }),
            }
        }
        (old, new) = (old + gone, new + come);
    }
    (old == hunk.old.end() && new == hunk.new.end()).then_some(found)
}

/// The name on a `---` or `+++` line. `/dev/null` is none.
fn named(text: &str) -> Option<String> {
    // `diff -u` writes a time behind a tabulator.
    let text = match text.starts_with('"') {
        true => text,
        false => text.split('\t').next().unwrap_or(text),
    };
    let name = unquoted(text.trim_end_matches('\r'));
    (name != "/dev/null").then(|| stripped(&name))
}

/// Without the `a/` or `b/` in front.
fn stripped(name: &str) -> String {
    let rest = name
        .split_once('/')
        .filter(|(side, _)| matches!(*side, "a" | "b" | "i" | "w" | "c" | "o"));
    String::from(rest.map_or(name, |(_, rest)| rest))
}

/// The one name on a `diff --git` line, which is the same on both sides unless further lines say otherwise.
fn both(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\r');
    if text.starts_with('"') {
        let end = closing(text)?;
        return Some(stripped(&unquoted(text.get(..=end)?)));
    }
    let middle = text.len() / 2;
    let (old, new) = (text.get(..middle)?, text.get(middle + 1..)?);
    let (old, new) = (stripped(old), stripped(new));
    (old == new).then_some(old)
}

/// Where the quotation mark that closes the one at the start is.
fn closing(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A name as it is, when it is written in quotation marks. Bytes that are no UTF-8 become a mark that no name has.
fn unquoted(text: &str) -> String {
    let text = text.trim_end_matches('\r');
    let Some(inside) = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return text.into();
    };
    let mut bytes = Vec::new();
    let mut rest = inside.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'3') => {
                let mut value = digit - b'0';
                for digit in rest.by_ref().take(2) {
                    value = value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'));
                }
                bytes.push(value);
            }
            Some(letter) => bytes.push(match letter {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 7,
                b'b' => 8,
                b'v' => 11,
                b'f' => 12,
                other => other,
            }),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
