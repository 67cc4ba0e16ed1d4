//! The law of the pages: they stay short, decisions are numbered, and what a page names exists.
//!
//! A page names a file by a relative link, by a path in backticks that starts in a folder of this repository, or by such a
//! path in a fenced block. `*`, `<name>` and `NNN` stand for anything, so only the folder before them has to exist.

use super::{none, root, texts};
use std::collections::BTreeMap;

/// Pages that every reader passes, with the most lines that they may have.
const PAGES: &[(&str, usize)] = &[
    ("README.md", 300),
    ("ARCHITECTURE.md", 150),
    ("CONTRIBUTING.md", 30),
];

/// Folders whose paths a page may name. Others (`target`, `.omp`) are not part of a fresh clone.
const FOLDERS: &[&str] = &["crates/", "docs/", "examples/", ".ci/"];

fn pages() -> BTreeMap<String, String> {
    texts()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".md"))
        .collect()
}

#[test]
fn the_pages_are_there_and_short() {
    let pages = pages();
    let breaches = PAGES.iter().filter_map(|(name, most)| {
        match pages.get(*name).map(|text| text.lines().count()) {
            None => Some(format!("{name} is missing")),
            Some(lines) if lines > *most => Some(format!("{name}: {lines} lines, at most {most}")),
            Some(_) => None,
        }
    });
    none(
        "a newcomer reads README, ARCHITECTURE and CONTRIBUTING in ten minutes",
        breaches,
    );
}

#[test]
fn decisions_are_numbered_pages() {
    let pages = pages();
    let decisions = pages
        .iter()
        .filter_map(|(name, text)| Some((name.strip_prefix("docs/decisions/")?, text)));
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    let mut breaches = Vec::new();
    for (name, text) in decisions {
        let number = name.split('-').next().unwrap_or_default();
        if number.len() != 3
            || !number.bytes().all(|byte| byte.is_ascii_digit())
            || !name[3..].starts_with('-')
        {
            breaches.push(format!("{name}: is called NNN-title.md"));
        }
        if let Some(other) = taken.insert(number, name) {
            breaches.push(format!("{name}: its number is taken by {other}"));
        }
        if text.lines().count() > 60 {
            breaches.push(format!(
                "{name}: {} lines, at most 60",
                text.lines().count()
            ));
        }
        if !text.to_lowercase().contains("not taken") {
            breaches.push(format!("{name}: says which options were not taken"));
        }
    }
    none(
        "a decision is one page with a number of its own and the options that were not taken",
        breaches,
    );
}

#[test]
fn a_page_names_only_what_exists() {
    let texts = texts();
    let exists = |path: &str| root().join(path).exists();
    let mut breaches = Vec::new();
    for (page, text) in texts.iter().filter(|(name, _)| name.ends_with(".md")) {
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, found) in names(text) {
            let there = match &found {
                Name::Link(path) => {
                    exists(&format!("{folder}/{path}")) || exists(path) && folder.is_empty()
                }
                Name::Path(path) => exists(path),
                Name::Source(file) => texts
                    .keys()
                    .any(|name| name == file || name.ends_with(&format!("/{file}"))),
            };
            if !there {
                breaches.push(format!("{page}:{line}: {}", found.text()));
            }
        }
    }
    none(
        "a page that names a file that is gone sends its reader astray",
        breaches,
    );
}

/// A file as a page names it.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    /// Relative to the page.
    Link(String),
    /// From the root.
    Path(String),
    /// Any source file whose path ends so.
    Source(String),
}

impl Name {
    fn text(&self) -> &str {
        match self {
            Self::Link(text) | Self::Path(text) | Self::Source(text) => text,
        }
    }
}

/// All files that a page names, each with its line.
fn names(text: &str) -> Vec<(usize, Name)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let mut note = |name: Option<Name>| found.extend(name.map(|name| (at + 1, name)));
        if fenced {
            line.split_whitespace().for_each(|word| note(path(word)));
            continue;
        }
        line.split('`').skip(1).step_by(2).for_each(|code| {
            code.split_whitespace()
                .for_each(|word| note(path(word).or_else(|| source(word))));
        });
        line.split("](")
            .skip(1)
            .for_each(|rest| note(rest.split(')').next().and_then(link)));
    }
    found
}

fn link(target: &str) -> Option<Name> {
    let path = target.split(['#', ' ']).next().unwrap_or_default();
    (!path.is_empty() && !path.contains(':')).then(|| Name::Link(path.to_owned()))
}

fn path(word: &str) -> Option<Name> {
    let word = word
        .trim_start_matches("./")
        .trim_matches(|c: char| "\"'(),;".contains(c))
        .trim_end_matches('.');
    let word = word.split([':', '#']).next().unwrap_or_default();
    let is_page = word.ends_with(".md")
        && word.chars().next().is_some_and(char::is_uppercase)
        && !word.contains('/');
    let is_root = is_page
        || word.starts_with("LICENSE-")
        || ["Cargo.toml", "deny.toml", "clippy.toml"].contains(&word);
    if !is_root && !FOLDERS.iter().any(|folder| word.starts_with(folder)) {
        return None;
    }
    let fixed = ["*", "<", "{", "NNN", "…"]
        .iter()
        .filter_map(|open| word.find(open))
        .min();
    let path = match fixed {
        Some(at) => word[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
        None => word,
    };
    Some(Name::Path(path.to_owned()))
}

fn source(word: &str) -> Option<Name> {
    let is_file = word.ends_with(".rs") && !word.contains(['*', '<', '{']) && word != "foo.rs";
    is_file.then(|| Name::Source(word.to_owned()))
}

#[test]
fn names_are_found_in_links_code_and_fences() {
    let page = "See [a](docs/a.md#x), [b](https://b.example/c) and `crates/core/src/lib.rs:3`, `mailbox.rs`, `std::fs`.\n\
                ```sh\npitcrew run examples/audit.toml\n```\n`docs/decisions/NNN-title.md` and `README.md`, `inbox.md`\n";
    let path = |text: &str| Name::Path(text.to_owned());
    let expected = vec![
        (1, path("crates/core/src/lib.rs")),
        (1, Name::Source("mailbox.rs".to_owned())),
        (1, Name::Link("docs/a.md".to_owned())),
        (3, path("examples/audit.toml")),
        (5, path("docs/decisions")),
        (5, path("README.md")),
    ];
    assert_eq!(names(page), expected);
}
