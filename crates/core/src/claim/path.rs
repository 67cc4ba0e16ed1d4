//! File paths in the one form in which they are compared: relative to the project folder, with `/`.
//!
//! This is the lexical half. Whoever calls it resolves symlinks against the file system first and hands over the
//! absolute path; what does not exist yet may be handed over as it is. Then: `.` and `..` are resolved, the project
//! folder is cut off, every part is brought to Unicode NFC, and where the file system folds case, case is folded.
//! A path that leaves the project folder, or names the folder itself, is refused.
//!
//! Folding is by upper and then lower case, which makes a few names equal that a file system may tell apart (`ß` and
//! `ss`): the worst that can happen is a conflict too many.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize, Serializer};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::refusal::Refusal;

/// The longest path, in bytes.
pub const MOST_BYTES: usize = 4_096;

/// What the file system makes of case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// `A` and `a` are two files.
    #[default]
    Kept,
    /// `A` and `a` are one file.
    Folded,
}

/// A file inside the project, in canonical form. A copy is cheap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct FilePath(Arc<str>);

impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl TryFrom<String> for FilePath {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        // Case cannot be judged here: what is written was canonical where it was written.
        let path = Self::canonical(&text, "/", Case::Kept)?;
        match *path.0 == text {
            true => Ok(path),
            false => Err(Refusal::input("file", "is not in canonical form")),
        }
    }
}

impl FilePath {
    /// The file that `given` names in the project folder `root`, an absolute path. `given` is absolute or relative to
    /// `root`.
    ///
    /// # Errors
    /// `outside_root`; `invalid_input` for an empty or overlong path and for one with a NUL.
    pub fn canonical(given: &str, root: &str, case: Case) -> Result<Self, Refusal> {
        if given.is_empty() || given.len() > MOST_BYTES || given.contains('\0') {
            let why = "must have 1 to 4096 bytes and no NUL";
            return Err(Refusal::input("file", why));
        }
        let mut folder: Vec<Cow<'_, str>> = Vec::new();
        walk(&mut folder, root, case);
        // A relative path may leave the folder on its way and come back.
        let mut parts = match given.starts_with('/') {
            true => Vec::new(),
            false => folder.clone(),
        };
        walk(&mut parts, given, case);
        match parts.strip_prefix(folder.as_slice()) {
            Some(inside) if !inside.is_empty() => Ok(Self(inside.join("/").into())),
            _ => Err(Refusal::OutsideRoot {
                given: given.into(),
                root: root.into(),
            }),
        }
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `folder` or lies below it.
    #[must_use]
    pub fn is_below(&self, folder: &Self) -> bool {
        let rest = self.0.strip_prefix(&*folder.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Goes the way of `path` from `parts`; above the top is the top.
fn walk<'a>(parts: &mut Vec<Cow<'a, str>>, path: &'a str, case: Case) {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(normal(part, case)),
        }
    }
}

fn normal(part: &str, case: Case) -> Cow<'_, str> {
    match case {
        Case::Kept if is_nfc(part) => Cow::Borrowed(part),
        Case::Kept => Cow::Owned(part.nfc().collect()),
        Case::Folded => Cow::Owned(folded(part)),
    }
}

fn folded(part: &str) -> String {
    let mut text = part.nfc().to_string();
    // Twice, because a folded letter may compose with its neighbour into one that folds again.
    for _ in 0..2 {
        let lower = text
            .chars()
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase);
        text = lower.nfc().collect();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOT: &str = "/srv/u/project";

    fn path(given: &str, case: Case) -> Result<String, &'static str> {
        let path = FilePath::canonical(given, ROOT, case);
        path.map(|path| path.to_string())
            .map_err(|refusal| refusal.code())
    }

    #[track_caller]
    fn one(given: &str, expected: &str) {
        assert_eq!(path(given, Case::Kept).as_deref(), Ok(expected), "{given}");
    }

    #[test]
    fn e1_every_way_of_writing_a_path_is_one_file() {
        for given in [
            "src/a.rs",
            "./src/a.rs",
            "src//a.rs",
            "src/./b/../a.rs",
            "/srv/u/project/src/a.rs",
            "/srv/u/./project/src/a.rs",
            "/srv/x/../u/project/src/a.rs",
            "../project/src/a.rs",
        ] {
            one(given, "src/a.rs");
        }
    }

    #[test]
    fn e1_composed_and_decomposed_letters_are_one_file() {
        one("src/nai\u{308}ve.rs", "src/na\u{ef}ve.rs");
        one("src/na\u{ef}ve.rs", "src/na\u{ef}ve.rs");
        let root = FilePath::canonical("/e\u{301}/a", "/\u{e9}", Case::Kept);
        assert_eq!(root.unwrap().as_str(), "a");
    }

    #[test]
    fn e1_case_is_folded_only_where_the_file_system_folds_it() {
        one("Src/A.rs", "Src/A.rs");
        assert_eq!(path("Src/A.RS", Case::Folded).as_deref(), Ok("src/a.rs"));
        assert_eq!(path("/Srv/U/Project/A", Case::Folded).as_deref(), Ok("a"));
        assert_eq!(path("/Srv/U/Project/A", Case::Kept), Err("outside_root"));
        assert_eq!(
            path("\u{3a3}\u{3c2}", Case::Folded).as_deref(),
            Ok("\u{3c3}\u{3c3}")
        );
    }

    #[test]
    fn a_path_that_leaves_the_project_is_refused() {
        for given in [
            "..",
            "../x",
            "src/../../x",
            "/etc/passwd",
            "/srv/u/project-2/a",
            "/srv/u",
            ".",
            "./",
            "/srv/u/project/",
            "/srv/u/project/..",
            "../../../../..",
        ] {
            assert_eq!(path(given, Case::Kept), Err("outside_root"), "{given}");
        }
        for given in ["", "a\0b", &"x".repeat(MOST_BYTES + 1)] {
            assert_eq!(path(given, Case::Kept), Err("invalid_input"));
        }
    }

    #[test]
    fn a_path_in_a_document_must_be_canonical() {
        for text in ["../x", "/x", "a//b", "./a", "a/", "", "nai\u{308}ve"] {
            let json = serde_json::to_string(text).unwrap();
            assert!(serde_json::from_str::<FilePath>(&json).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<FilePath>("\"a/b\"").is_ok());
    }

    #[test]
    fn a_folder_covers_what_lies_below_it() {
        let file = |text: &str| FilePath::canonical(text, ROOT, Case::Kept).unwrap();
        assert!(file("src/a.rs").is_below(&file("src")));
        assert!(file("src").is_below(&file("src")));
        assert!(!file("src2/a.rs").is_below(&file("src")));
    }

    proptest! {
        #[test]
        fn a_canonical_path_stays_and_stays_inside(
            given in proptest::collection::vec("(\\.|\\.\\.|a|B|ß|e\u{301}|\u{3c2}|)", 1..8),
            fold: bool,
        ) {
            let case = if fold { Case::Folded } else { Case::Kept };
            let given = given.join("/");
            if let Ok(path) = FilePath::canonical(&given, ROOT, case) {
                prop_assert!(path.0.split('/').all(|part| !["", ".", ".."].contains(&part)));
                let again = FilePath::canonical(&path.0, ROOT, case).unwrap();
                prop_assert_eq!(&again, &path);
                let json = serde_json::to_string(&path).unwrap();
                prop_assert_eq!(serde_json::from_str::<FilePath>(&json).unwrap(), path);
            }
        }

        #[test]
        fn folding_is_done_after_one_time(given in "[^/\0]{1,20}") {
            let once = folded(&given);
            prop_assert_eq!(folded(&once), once);
        }
    }
}
