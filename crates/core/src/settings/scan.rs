//! Where everything stands in a JSON text with comments. Scalars are not read, only passed over; what the text means is
//! asked of the strict reader, once for the whole and once for each element that is wanted.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use serde_json::Value;

use super::SettingsError;

/// So deep lists and tables may stand in each other.
const DEEPEST: usize = 100;

/// One value of the text.
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// Where the comma behind it stands.
    pub(super) comma: Option<usize>,
}

pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

/// A key with its value; `start` is where the key begins.
pub(super) struct Member {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) value: Node,
}

impl Node {
    /// The value of `key` in a table; `None` where there is none, and in what is no table.
    pub(super) fn member(&self, key: &str) -> Result<Option<&Self>, SettingsError> {
        let Kind::Object(members) = &self.kind else {
            return Ok(None);
        };
        let mut found = members.iter().filter(|member| member.key == key);
        let first = found.next();
        match found.next() {
            Some(_) => Err(SettingsError::Twice(key.to_string())),
            None => Ok(first.map(|member| &member.value)),
        }
    }

    /// Where its first child begins, and its last child.
    pub(super) fn ends(&self) -> Option<(usize, &Self)> {
        match &self.kind {
            Kind::Object(members) => Some((members.first()?.start, &members.last()?.value)),
            Kind::Array(list) => Some((list.first()?.span.start, list.last()?)),
            Kind::Scalar => None,
        }
    }

    /// What it says.
    pub(super) fn value(&self, text: &str) -> Result<Value, SettingsError> {
        read(&text[self.span.clone()])
    }
}

/// Reads the whole text.
///
/// # Errors
/// When it is no JSON object.
pub(super) fn scan(text: &str) -> Result<Node, SettingsError> {
    let mut scanner = Scanner { text, at: 0 };
    if text.starts_with('\u{FEFF}') {
        scanner.at = '\u{FEFF}'.len_utf8();
    }
    let body = scanner.at;
    scanner.blanks()?;
    let root = scanner.value(0)?;
    scanner.blanks()?;
    if scanner.at < text.len() {
        return Err(scanner.wrong("something stands behind its end"));
    }
    if !matches!(root.kind, Kind::Object(_)) {
        return Err(scanner.wrong("it is another value"));
    }
    read(&text[body..])?;
    Ok(root)
}

/// Reads a value strictly, without its comments and without commas behind last elements.
fn read(text: &str) -> Result<Value, SettingsError> {
    let plain = plain(text);
    serde_json::from_str(&plain).map_err(|refused| SettingsError::Syntax(refused.to_string()))
}

/// The text with blanks instead of comments and of commas before a closing bracket. Lines stay lines.
fn plain(text: &str) -> String {
    let mut scanner = Scanner { text, at: 0 };
    let mut out = String::with_capacity(text.len());
    while let Some(byte) = scanner.peek() {
        let start = scanner.at;
        match byte {
            b'"' => {
                if scanner.string().is_err() {
                    scanner.at = text.len();
                }
                out.push_str(&text[start..scanner.at]);
            }
            b'/' if scanner.blanks().is_ok() && scanner.at > start => {
                let blank = |sign: char| if sign == '\n' { '\n' } else { ' ' };
                out.extend(text[start..scanner.at].chars().map(blank));
            }
            b']' | b'}' => {
                let before = out.trim_end().len();
                if out[..before].ends_with(',') {
                    out.replace_range(before - 1..before, " ");
                }
                out.push(char::from(byte));
                scanner.at = start + 1;
            }
            _ => {
                let sign = text[start..].chars().next().unwrap_or(' ');
                out.push(sign);
                scanner.at = start + sign.len_utf8();
            }
        }
    }
    out
}

/// Whether the beginning of a text ends inside a comment that goes on to the end of its line.
pub(super) fn ends_in_comment(head: &str) -> bool {
    let mut scanner = Scanner { text: head, at: 0 };
    while let Some(byte) = scanner.peek() {
        let start = scanner.at;
        let passed = match byte {
            b'"' => scanner.string().map(drop),
            b'/' if head[start..].starts_with("//") && !head[start..].contains('\n') => {
                return true;
            }
            b'/' => scanner.comment(),
            _ => Ok(()),
        };
        if passed.is_err() {
            return false;
        }
        if scanner.at == start {
            scanner.at = start + head[start..].chars().next().map_or(1, char::len_utf8);
        }
    }
    false
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, what: &str) -> SettingsError {
        let line = self.text[..self.at.min(self.text.len())]
            .matches('\n')
            .count()
            + 1;
        SettingsError::Syntax(alloc::format!("{what}, in line {line}"))
    }

    /// Passes over blanks and comments.
    fn blanks(&mut self) -> Result<(), SettingsError> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let start = self.at;
            self.comment()?;
            if self.at == start {
                return Ok(());
            }
        }
    }

    /// Passes over one comment, if one stands here.
    fn comment(&mut self) -> Result<(), SettingsError> {
        let rest = &self.text[self.at..];
        if rest.starts_with("//") {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            let end = rest.get(2..).and_then(|rest| rest.find("*/"));
            self.at += end.ok_or_else(|| self.wrong("a comment has no end"))? + 4;
        }
        Ok(())
    }

    /// Passes over a string.
    fn string(&mut self) -> Result<Range<usize>, SettingsError> {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return Ok(start..self.at),
                b'\\' => self.at += 1,
                _ => {}
            }
        }
        self.at = start;
        Err(self.wrong("a text has no end"))
    }

    fn value(&mut self, depth: usize) -> Result<Node, SettingsError> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') if depth < DEEPEST => Kind::Object(self.object(depth)?),
            Some(b'[') if depth < DEEPEST => Kind::Array(self.array(depth)?),
            Some(b'"') => {
                self.string()?;
                Kind::Scalar
            }
            Some(byte) if byte.is_ascii_alphanumeric() || byte == b'-' => {
                let ends = |sign: char| !(sign.is_ascii_alphanumeric() || "+-.".contains(sign));
                let rest = &self.text[self.at..];
                self.at += rest.find(ends).unwrap_or(rest.len());
                Kind::Scalar
            }
            _ => return Err(self.wrong("a value is missing or stands too deep")),
        };
        Ok(Node {
            span: start..self.at,
            kind,
            comma: None,
        })
    }

    /// What follows an item: its comma, if it has one.
    fn comma(&mut self) -> Result<Option<usize>, SettingsError> {
        self.blanks()?;
        let comma = (self.peek() == Some(b',')).then_some(self.at);
        if comma.is_some() {
            self.at += 1;
            self.blanks()?;
        }
        Ok(comma)
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, SettingsError> {
        self.at += 1;
        self.blanks()?;
        let mut members = Vec::new();
        loop {
            match self.peek() {
                Some(b'}') => break,
                Some(b'"')
                    if members
                        .last()
                        .is_none_or(|last: &Member| last.value.comma.is_some()) => {}
                _ => return Err(self.wrong("a key is missing")),
            }
            let span = self.string()?;
            let key = serde_json::from_str(&self.text[span.clone()]);
            let key = key.map_err(|_| self.wrong("a key cannot be read"))?;
            self.blanks()?;
            if self.peek() != Some(b':') {
                return Err(self.wrong("a colon is missing"));
            }
            self.at += 1;
            self.blanks()?;
            let mut value = self.value(depth + 1)?;
            value.comma = self.comma()?;
            members.push(Member {
                key,
                start: span.start,
                value,
            });
        }
        self.at += 1;
        Ok(members)
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node>, SettingsError> {
        self.at += 1;
        self.blanks()?;
        let mut list: Vec<Node> = Vec::new();
        while self.peek() != Some(b']') {
            if list.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.wrong("a comma is missing"));
            }
            let mut value = self.value(depth + 1)?;
            value.comma = self.comma()?;
            list.push(value);
        }
        self.at += 1;
        Ok(list)
    }
}
