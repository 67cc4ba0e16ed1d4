//! A Rust file as the law sees it: code without comments, literals and test items, and the comments on their own.
//!
//! Every view keeps the file's lines and columns, so that a finding can name its line. Paths are found as they are
//! written and, in `use` declarations, as they are meant: `use std::{fs, io::{self, Read}}` mentions `std::fs`,
//! `std::io` and `std::io::Read`.
//!
//! It is no compiler: renamed imports and paths made by macros pass. Clippy's disallowed methods look there.

use std::collections::BTreeSet;

/// One file in its views.
pub(crate) struct Source {
    /// Code outside test items; everything else is blank.
    code: String,
    /// Comments; everything else is blank.
    comments: String,
    /// Lines that belong to test items, counted from 0.
    test_lines: BTreeSet<usize>,
}

/// A path or a macro call (`println!`) in shipped code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mention {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) path: String,
}

impl Source {
    /// Every item, test or not.
    pub(crate) fn parse_all(text: &str) -> Self {
        let (code, comments) = split(text);
        Self {
            code,
            comments,
            test_lines: BTreeSet::new(),
        }
    }

    /// Without test items.
    pub(crate) fn parse(text: &str) -> Self {
        let Self {
            mut code,
            comments,
            mut test_lines,
        } = Self::parse_all(text);
        while let Some((from, to)) = test_item(&code) {
            test_lines.extend(line_of(&code, from) - 1..line_of(&code, to));
            let blank: String = code[from..to].chars().map(blank).collect();
            code.replace_range(from..to, &blank);
        }
        Self {
            code,
            comments,
            test_lines,
        }
    }

    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Comment lines with their numbers, counted from 1.
    pub(crate) fn comments(&self) -> impl Iterator<Item = (usize, &str)> {
        self.comments
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line.trim()))
    }

    /// Lines that are not part of a test item, comments and blank lines included.
    pub(crate) fn shipped_lines(&self) -> usize {
        self.code.lines().count() - self.test_lines.len()
    }

    /// Every path and macro call of the shipped code, in order, once per line.
    pub(crate) fn mentions(&self) -> BTreeSet<Mention> {
        let mut found: BTreeSet<Mention> = inline_paths(&self.code).collect();
        for (at, tree) in use_trees(&self.code) {
            let line = line_of(&self.code, at);
            found.extend(
                expand("", tree)
                    .into_iter()
                    .map(|path| Mention { line, path }),
            );
        }
        found
    }
}

fn blank(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The line of a byte offset, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Splits a file into its code and its comments. Literals are blank in both; non-ASCII characters become `?`, so that
/// both views have one byte per character.
fn split(text: &str) -> (String, String) {
    let text: Vec<char> = text
        .chars()
        .map(|c| if c.is_ascii() { c } else { '?' })
        .collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let mut at = 0;
    while at < text.len() {
        let after_word = at > 0 && is_word(text[at - 1]);
        let (length, is_comment) = match comment_length(&text[at..]) {
            0 if after_word && text[at] != '"' => (0, false),
            0 => (literal_length(&text[at..]), false),
            length => (length, true),
        };
        for &c in &text[at..at + length] {
            code.push(blank(c));
            comments.push(if is_comment { c } else { blank(c) });
        }
        at += length;
        if length == 0 {
            code.push(text[at]);
            comments.push(blank(text[at]));
            at += 1;
        }
    }
    (code, comments)
}

fn comment_length(text: &[char]) -> usize {
    match text {
        ['/', '/', ..] => text.iter().position(|&c| c == '\n').unwrap_or(text.len()),
        ['/', '*', ..] => {
            let (mut depth, mut at) = (0_usize, 0);
            while at < text.len() {
                match &text[at..] {
                    ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
                    ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
                    _ => at += 1,
                }
                if depth == 0 {
                    return at;
                }
            }
            text.len()
        }
        _ => 0,
    }
}

/// The length of the string or character literal that starts here, with its prefix; 0 for anything else.
fn literal_length(text: &[char]) -> usize {
    let prefix = text
        .iter()
        .take(2)
        .take_while(|c| matches!(c, 'b' | 'c' | 'r'))
        .count();
    let raw = text[..prefix].contains(&'r');
    let hashes = if raw {
        text[prefix..].iter().take_while(|&&c| c == '#').count()
    } else {
        0
    };
    let open = prefix + hashes;
    match text.get(open) {
        Some('"') if raw => {
            let closes = |rest: &[char]| {
                rest[0] == '"' && rest[1..].iter().take_while(|&&c| c == '#').count() >= hashes
            };
            (open + 1..text.len())
                .find(|&at| closes(&text[at..]))
                .map_or(text.len(), |at| at + 1 + hashes)
        }
        Some('"') => quoted_length(text, open, '"'),
        Some('\'') if prefix == 0 || text[0] == 'b' => match &text[open + 1..] {
            ['\\', ..] | [_, '\'', ..] => quoted_length(text, open, '\''),
            _ => 0,
        },
        _ => 0,
    }
}

fn quoted_length(text: &[char], open: usize, quote: char) -> usize {
    let mut at = open + 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    text.len().min(at + 1)
}

/// The first item under `#[cfg(test)]`, from its attribute to its end; the whole file if it says so of itself.
fn test_item(code: &str) -> Option<(usize, usize)> {
    if code.contains("#![cfg(test)]") {
        return Some((0, code.trim_end().len()));
    }
    let from = ["#[cfg(test)]", "#[cfg(all(test,"]
        .iter()
        .filter_map(|attribute| code.find(attribute))
        .min()?;
    let mut at = from;
    while code[at..].starts_with("#[") {
        at = closing(code, at + 1);
        at += code[at..].len() - code[at..].trim_start().len();
    }
    let is_use = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
        .iter()
        .any(|word| code[at..].starts_with(word));
    let bytes = code.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b';' => return Some((from, at + 1)),
            b'{' if is_use => at = closing(code, at),
            b'{' => return Some((from, closing(code, at))),
            b'(' | b'[' => at = closing(code, at),
            _ => at += 1,
        }
    }
    Some((from, code.len()))
}

/// The offset behind the bracket that closes the one at `open`.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

/// Paths as written: words joined by `::`, with a `!` if they call a macro. A path that goes on in braces is left to
/// `use_trees`.
fn inline_paths(code: &str) -> impl Iterator<Item = Mention> {
    code.lines().enumerate().flat_map(|(at, line)| {
        let words = line.split(|c: char| !is_word(c) && c != ':' && c != '!');
        words.filter_map(move |word| {
            let path = word.trim_start_matches([':', '!']);
            let is_path = path.starts_with(is_word) && !path.ends_with("::");
            is_path.then(|| Mention {
                line: at + 1,
                path: path.trim_end_matches(':').to_owned(),
            })
        })
    })
}

/// The trees of all `use` declarations, with where they start.
fn use_trees(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices("use ").filter_map(|(at, _)| {
        let before = code[..at].chars().next_back();
        let is_declaration = before.is_none_or(|c| c.is_whitespace());
        let tree = &code[at + 4..];
        let end = tree.find(';')?;
        is_declaration.then_some((at, &tree[..end]))
    })
}

/// `a::{b, c::{self, d as e}}` → `a::b`, `a::c`, `a::c::d`.
fn expand(prefix: &str, tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let name = tree.split(" as ").next().unwrap_or_default().trim();
        let path = format!("{prefix}{name}");
        return vec![
            path.strip_suffix("::self")
                .unwrap_or(&path)
                .trim_start_matches(':')
                .to_owned(),
        ];
    };
    let prefix = format!("{prefix}{}", &tree[..open]);
    let inner = &tree[open + 1..closing(tree, open) - 1];
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .flat_map(|part| expand(&prefix, part))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        Source::parse(text)
            .mentions()
            .into_iter()
            .map(|mention| mention.path)
            .collect()
    }

    fn mentions(text: &str, path: &str) -> bool {
        paths(text).iter().any(|found| found == path)
    }

    #[test]
    fn a_use_tree_mentions_every_path_that_it_brings() {
        let text = "use std::{fs, io::{self, Read as R}, collections::BTreeMap};";
        for path in [
            "std::fs",
            "std::io",
            "std::io::Read",
            "std::collections::BTreeMap",
        ] {
            assert!(mentions(text, path), "{path} in {:?}", paths(text));
        }
        assert!(mentions("pub(crate) use ::std::fs as f;", "std::fs"));
        assert!(!mentions("use std::process::{ExitCode};", "std::process"));
    }

    #[test]
    fn calls_and_macros_are_mentioned_with_their_path() {
        assert!(mentions("let a = std::fs::read(b)?;", "std::fs::read"));
        assert!(mentions(
            "let a = time::Instant::now();",
            "time::Instant::now"
        ));
        assert!(mentions("println!(\"x\");", "println!"));
        assert!(!mentions("writeln!(f)", "println!"));
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        for text in [
            "// std::fs",
            "/* /* std::fs */ std::fs */",
            "let s = \"\\\"std::fs\";",
            "let s = r#\"a\" std::fs\"#;",
            "let s = b\"std::fs\";",
            "let c = '\"'; let d = \"std::fs\"; let e = '\\'';",
        ] {
            assert!(!mentions(text, "std::fs"), "{text}");
        }
        assert!(mentions(
            "let c: &'a str = f('{', '\\\\'); std::fs::read()",
            "std::fs::read"
        ));
    }

    #[test]
    fn test_items_are_not_shipped() {
        let text = "fn a() {}\n\n#[cfg(test)]\nuse std::{fs, io};\n#[cfg(test)]\n#[path = \"x\"]\nmod tests {\n    use std::fs;\n    fn b() { \"}\" }\n}\nfn c() -> [u8; 2] {}\n";
        let source = Source::parse(text);
        assert!(
            !source
                .mentions()
                .iter()
                .any(|mention| mention.path.starts_with("std"))
        );
        assert!(source.code().contains("fn c()"));
        assert_eq!(source.shipped_lines(), 3);
        assert_eq!(
            Source::parse("#![cfg(test)]\nuse std::fs;\n").shipped_lines(),
            0
        );
    }

    #[test]
    fn a_finding_names_its_line() {
        let mentions = Source::parse("//! é\n\nuse std::fs;\n").mentions();
        assert!(mentions.contains(&Mention {
            line: 3,
            path: "std::fs".to_owned()
        }));
    }
}
