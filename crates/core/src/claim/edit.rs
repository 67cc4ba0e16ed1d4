//! Which lines of a file an edit is about to replace, by the texts in which agents describe edits.
//!
//! | described as | replaced |
//! |---|---|
//! | a text that is to give way to another | the lines of every place where it is |
//! | a patch of chunks without numbers, as `apply_patch` takes it | the lines that its one place has and it takes out |
//!
//! What cannot be found, or is nothing, is answered with `None`: then nobody can say which lines.

use alloc::string::String;
use alloc::vec::Vec;

use super::Span;

/// The lines of every place where `old` is in `text`.
#[must_use]
pub fn replaced(text: &[u8], old: &[u8]) -> Option<Vec<Span>> {
    let first = *old.first()?;
    let (mut spans, mut line, mut at) = (Vec::new(), 1, 0);
    while let Some(byte) = text.get(at) {
        if *byte == first && text[at..].starts_with(old) {
            // A line break at the end belongs to the line that it ends.
            let inside = old.strip_suffix(b"\n").unwrap_or(old);
            let breaks = inside.iter().filter(|byte| **byte == b'\n').count() as u64;
            spans.push(Span {
                start: line,
                count: breaks + 1,
            });
            line += old.iter().filter(|byte| **byte == b'\n').count() as u64;
            at += old.len();
            continue;
        }
        line += u64::from(*byte == b'\n');
        at += 1;
    }
    (!spans.is_empty()).then_some(spans)
}

/// One file of a patch without line numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LooseFile {
    /// Its name, as the patch has it.
    pub name: String,
    /// Its name afterwards, when that is another.
    pub to: Option<String>,
    /// Whether it is changed in places; else it is new or deleted.
    pub is_update: bool,
    chunks: Vec<Vec<String>>,
}

impl LooseFile {
    /// The files of such a patch: whatever stands behind `*** Update File:` and its like. Text that is none has none.
    #[must_use]
    pub fn parse(text: &str) -> Vec<Self> {
        let mut files: Vec<Self> = Vec::new();
        for line in text.lines() {
            let named = |word: &str| {
                line.strip_prefix(word)
                    .map(|name| String::from(name.trim()))
            };
            if let Some(name) = named("*** Update File: ") {
                files.push(Self {
                    name,
                    is_update: true,
                    ..Self::default()
                });
            } else if let Some(name) =
                named("*** Add File: ").or_else(|| named("*** Delete File: "))
            {
                files.push(Self {
                    name,
                    ..Self::default()
                });
            } else if let Some(file) = files.last_mut() {
                file.take(line);
            }
        }
        files
    }

    fn take(&mut self, line: &str) {
        if let Some(to) = line.strip_prefix("*** Move to: ") {
            self.to = Some(String::from(to.trim()));
        } else if line.starts_with("@@") {
            self.chunks.push(Vec::new());
        } else if !line.starts_with("***") {
            if self.chunks.is_empty() {
                self.chunks.push(Vec::new());
            }
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.push(String::from(line));
            }
        }
    }

    /// The lines of the present file that it replaces, if every chunk has one place there.
    #[must_use]
    pub fn spans(&self, text: &str) -> Option<Vec<Span>> {
        if !self.is_update || self.to.is_some() {
            return None;
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut spans = Vec::new();
        for chunk in self.chunks.iter().filter(|chunk| !chunk.is_empty()) {
            spans.extend(placed(chunk, &lines)?);
        }
        Some(spans)
    }
}

/// What one chunk takes out and puts in, in the one place where it fits.
fn placed(chunk: &[String], lines: &[&str]) -> Option<Vec<Span>> {
    let old = |line: &String| match line.strip_prefix([' ', '-']) {
        Some(rest) => Some(String::from(rest)),
        // An empty line of context, whose space somebody cut off.
        None => line.is_empty().then(String::new),
    };
    if !chunk
        .iter()
        .all(|line| line.is_empty() || line.starts_with([' ', '-', '+']))
    {
        return None;
    }
    let before: Vec<String> = chunk.iter().filter_map(old).collect();
    if before.is_empty() {
        return None;
    }
    let mut places = lines.windows(before.len()).enumerate();
    let fits = |window: &[&str]| window.iter().zip(&before).all(|(one, two)| one == two);
    let (at, _) = places.find(|(_, window)| fits(window))?;
    if places.any(|(_, window)| fits(window)) {
        return None;
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut line = at as u64 + 1;
    for written in chunk {
        let gone = match written.as_bytes().first() {
            Some(b'-') => 1,
            Some(b'+') => 0,
            _ => {
                line += 1;
                continue;
            }
        };
        match spans.last_mut() {
            Some(last) if last.end() == line => last.count += gone,
            _ => spans.push(Span {
                start: line,
                count: gone,
            }),
        }
        line += gone;
    }
    Some(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "one\ntwo\nthree\ntwo\nfour\n";

    fn at(start: u64, count: u64) -> Span {
        Span { start, count }
    }

    #[test]
    fn a_text_is_in_all_its_places() {
        let find = |old: &str| replaced(TEXT.as_bytes(), old.as_bytes());
        assert_eq!(find("two"), Some(alloc::vec![at(2, 1), at(4, 1)]));
        assert_eq!(find("two\nthree\n"), Some(alloc::vec![at(2, 2)]));
        assert_eq!(find("wo\nth"), Some(alloc::vec![at(2, 2)]));
        assert_eq!(find("five"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn a_chunk_replaces_what_it_takes_out() {
        let patch = "*** Begin Patch\n*** Update File: src/a\n@@ fn x\n one\n-two\n+2\n+2b\n three\n@@\n two\n+new\n four\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n*** End Patch\n";
        let files = LooseFile::parse(patch);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["src/a", "b", "c"]);
        assert_eq!(files[0].spans(TEXT), Some(alloc::vec![at(2, 1), at(5, 0)]));
        assert_eq!(files[0].spans("something else"), None);
        assert_eq!(files[1].spans(TEXT), None);
        assert_eq!(
            (files[2].to.as_deref(), files[2].spans(TEXT)),
            (Some("d"), None)
        );
        // What fits twice says nothing.
        let twice = LooseFile::parse("*** Update File: a\n@@\n-two\n");
        assert_eq!(twice[0].spans(TEXT), None);
        assert!(LooseFile::parse("echo hello").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(patch in "(\\*\\*\\* Update File: a\n)?([-+ @é]?[ab]?\n){0,9}", text in "([abé]?\n){0,9}") {
            for file in LooseFile::parse(&patch) {
                let _ = file.spans(&text);
            }
            let _ = replaced(text.as_bytes(), patch.as_bytes());
        }
    }
}
