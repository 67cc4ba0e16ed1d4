//! A settings file of another program, JSON with or without comments, changed in single places: every other byte stays.
//!
//! | change | where |
//! |---|---|
//! | [`add`] | at the end of the list at a path; lists and tables on the way are made when they are not there |
//! | [`replace`] | one element, in its place |
//! | [`remove`] | one element, and what [`add`] had made around it |
//!
//! Always holds: what was added and is removed again leaves the text byte for byte as it was; an element that was put
//! into an empty list stands right behind its bracket, by which it is told from a list that was made for it. What cannot
//! be read, or holds something else at the path, is refused and nothing is changed. Comments, a comma behind the last
//! element, line ends and indentation are taken as they are.
//!
//! Not here: which elements are whose, and files.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use serde_json::Value;

mod scan;

use scan::{Kind, Member, Node, scan};

/// Why a settings file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// It is no JSON object.
    #[error("is no JSON object: {0}")]
    Syntax(String),
    /// Something else stands where a list or a table is wanted.
    #[error("has something else than {wanted} at `{at}`")]
    Shape {
        /// The keys that lead there.
        at: String,
        /// `a table` or `a list`.
        wanted: &'static str,
    },
    /// A key stands twice, so that nobody can say which one counts.
    #[error("has the key `{0}` twice")]
    Twice(String),
}

/// One element of a list of lists: the key of its list, its place in it, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// The key of the list.
    pub list: String,
    /// Its place in the list.
    pub place: usize,
    /// What it says.
    pub value: Value,
}

/// The elements of every list in the table at `under`, in the order of the text. A table that is not there has none.
///
/// # Errors
/// [`SettingsError`].
pub fn elements(text: &str, under: &str) -> Result<Vec<Element>, SettingsError> {
    let root = scan(text)?;
    let Some(table) = root.member(under)? else {
        return Ok(Vec::new());
    };
    let Kind::Object(members) = &table.kind else {
        return Err(shape(&[under], "a table"));
    };
    let mut found = Vec::new();
    for member in members {
        table.member(&member.key)?;
        let Kind::Array(list) = &member.value.kind else {
            continue;
        };
        for (place, node) in list.iter().enumerate() {
            found.push(Element {
                list: member.key.clone(),
                place,
                value: node.value(text)?,
            });
        }
    }
    Ok(found)
}

/// The text with `element` at the end of the list at `path`.
///
/// # Errors
/// [`SettingsError`].
pub fn add(text: &str, path: [&str; 2], element: &Value) -> Result<String, SettingsError> {
    let root = scan(text)?;
    let style = Style::of(text);
    let Some(table) = root.member(path[0])? else {
        let whole = serde_json::json!({ path[1]: [element] });
        return Ok(style.insert(text, &root, Some(path[0]), &whole));
    };
    if !matches!(table.kind, Kind::Object(_)) {
        return Err(shape(&path[..1], "a table"));
    }
    let Some(list) = table.member(path[1])? else {
        let whole = serde_json::json!([element]);
        return Ok(style.insert(text, table, Some(path[1]), &whole));
    };
    match list.kind {
        Kind::Array(_) => Ok(style.insert(text, list, None, element)),
        _ => Err(shape(&path, "a list")),
    }
}

/// The text with `element` instead of the one at `place` of the list at `path`.
///
/// # Errors
/// [`SettingsError`]; `Shape` when there is no such element.
pub fn replace(
    text: &str,
    path: [&str; 2],
    place: usize,
    element: &Value,
) -> Result<String, SettingsError> {
    let root = scan(text)?;
    let (_, list) = lists(&root, path)?;
    let node = list.get(place).ok_or_else(|| shape(&path, "a list"))?;
    let style = Style::of(text);
    let written = style.written(element, indent_at(text, node.span.start));
    Ok(spliced(text, node.span.clone(), &written))
}

/// The text without the element at `place` of the list at `path`, and without what was made around it.
///
/// # Errors
/// [`SettingsError`]; `Shape` when there is no such element.
pub fn remove(text: &str, path: [&str; 2], place: usize) -> Result<String, SettingsError> {
    let root = scan(text)?;
    let (table, list) = lists(&root, path)?;
    list.get(place).ok_or_else(|| shape(&path, "a list"))?;
    let spans = |node: &Node| -> Vec<Child> {
        match &node.kind {
            Kind::Array(list) => list
                .iter()
                .map(|node| Child::of(node, node.span.start))
                .collect(),
            Kind::Object(members) => {
                let own = |member: &Member| Child::of(&member.value, member.start);
                members.iter().map(own).collect()
            }
            Kind::Scalar => Vec::new(),
        }
    };
    let at = |node: &Node, key: &str| match &node.kind {
        Kind::Object(members) => members.iter().position(|member| member.key == key),
        _ => None,
    };
    let list_node = table.member(path[1])?.unwrap_or(table);
    // From the inside out: a list that was made for the element goes with it, and so does its table.
    let steps = [
        (list_node, Some(place)),
        (table, at(table, path[1])),
        (&root, at(&root, path[0])),
    ];
    for (node, place) in steps {
        let children = spans(node);
        let Some(place) = place.filter(|place| *place < children.len()) else {
            break;
        };
        let was_made = children[place].start > node.span.start + 1;
        let is_root = core::ptr::eq(node, &raw const root);
        if children.len() > 1 || !was_made || is_root {
            return Ok(cut(text, &children, place));
        }
    }
    Err(shape(&path, "a list"))
}

fn lists<'n>(root: &'n Node, path: [&str; 2]) -> Result<(&'n Node, &'n [Node]), SettingsError> {
    let table = root.member(path[0])?;
    let table = table.ok_or_else(|| shape(&path[..1], "a table"))?;
    let list = table.member(path[1])?;
    match list.map(|list| &list.kind) {
        Some(Kind::Array(list)) => Ok((table, list)),
        _ => Err(shape(&path, "a list")),
    }
}

fn shape(path: &[&str], wanted: &'static str) -> SettingsError {
    SettingsError::Shape {
        at: path.join("."),
        wanted,
    }
}

/// How a text is laid out.
struct Style<'t> {
    line_end: &'static str,
    unit: &'t str,
}

impl<'t> Style<'t> {
    fn of(text: &'t str) -> Self {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut indents = text.lines().filter_map(|line| {
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            (!indent.is_empty() && !line.trim().is_empty()).then_some(indent)
        });
        let unit = indents.next().unwrap_or("  ");
        Self { line_end, unit }
    }

    /// `value` as text, its further lines indented by `base` and the text's own unit.
    fn written(&self, value: &Value, base: &str) -> String {
        // What was read as JSON, or made of texts and numbers, can always be written.
        let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
        let mut out = String::new();
        for (at, line) in pretty.lines().enumerate() {
            let plain = line.trim_start_matches(' ');
            if at > 0 {
                out.push_str(self.line_end);
                out.push_str(base);
                out.push_str(&self.unit.repeat((line.len() - plain.len()) / 2));
            }
            out.push_str(plain);
        }
        out
    }

    /// `text` with an item at the end of `container`.
    fn insert(&self, text: &str, container: &Node, key: Option<&str>, value: &Value) -> String {
        let item = |base: &str| {
            let written = self.written(value, base);
            match key {
                Some(key) => format!("{}: {written}", Value::from(key)),
                None => written,
            }
        };
        let open = container.span.start;
        let Some((first, last)) = container.ends() else {
            let at = open + 1;
            return spliced(text, at..at, &item(indent_at(text, open)));
        };
        let close = container.span.end - 1;
        let own_lines = text[open..first].contains('\n');
        let (last, has_comma) = (last.span.end, last.comma.is_some());
        let end = last + text[last..close].trim_end().len();
        let after_line_comment = scan::ends_in_comment(&text[..end]);
        let base = indent_at(text, first);
        let gap = match own_lines || after_line_comment {
            true => format!("{}{base}", self.line_end),
            false => " ".to_owned(),
        };
        let mut out = String::with_capacity(text.len() + 64);
        out.push_str(&text[..last]);
        if !has_comma {
            out.push(',');
        }
        out.push_str(&text[last..end]);
        out.push_str(&gap);
        out.push_str(&item(base));
        if has_comma {
            out.push(',');
        }
        out.push_str(&text[end..]);
        out
    }
}

/// The blanks at the beginning of the line of `at`.
fn indent_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn spliced(text: &str, span: Range<usize>, new: &str) -> String {
    [&text[..span.start], new, &text[span.end..]].concat()
}

/// One item of a list or a table: where it begins and ends, and the comma behind it.
struct Child {
    start: usize,
    end: usize,
    comma: Option<usize>,
}

impl Child {
    fn of(node: &Node, start: usize) -> Self {
        Self {
            start,
            end: node.span.end,
            comma: node.comma,
        }
    }
}

/// `text` without the child at `place`, and without the comma and the blanks that came with it. Comments stay.
fn cut(text: &str, children: &[Child], place: usize) -> String {
    let child = &children[place];
    let before = place.checked_sub(1).and_then(|before| children.get(before));
    let (head, between, tail) = match (child.comma, before.and_then(|before| before.comma)) {
        (Some(comma), _) => (
            &text[..child.start],
            &text[child.end..comma],
            &text[comma + 1..],
        ),
        (None, Some(comma)) => {
            let kept = [&text[..comma], &text[comma + 1..child.start]].concat();
            return joined(&kept, &text[child.end..]);
        }
        (None, None) if children.len() == 1 => {
            return [&text[..child.start], &text[child.end..]].concat();
        }
        (None, None) => (&text[..child.start], "", &text[child.end..]),
    };
    if place == 0 {
        // The first one stays where its line begins.
        return [head, between, tail.trim_start()].concat();
    }
    joined(head, &[between, tail].concat())
}

/// `head` without the blanks at its end, then `tail`; the blanks stay where they end a comment.
fn joined(head: &str, tail: &str) -> String {
    let plain = head.trim_end();
    let ends_comment = scan::ends_in_comment(plain) && !tail.starts_with(['\n', '\r']);
    match ends_comment {
        true => [head, tail].concat(),
        false => [plain, tail].concat(),
    }
}

#[cfg(test)]
mod tests;
