use super::super::Span;
use super::*;
use alloc::vec;
use proptest::prelude::*;

fn hunk(old: (u64, u64), new: (u64, u64)) -> Hunk {
    let span = |(start, count)| Span { start, count };
    Hunk {
        old: span(old),
        new: span(new),
    }
}

fn one(text: &str) -> FilePatch {
    let files = FilePatch::parse(text).unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    files.into_iter().next().unwrap()
}

#[test]
fn a_changed_file_has_its_hunks() {
    let file = one(
        "diff --git a/x y b/x y\nindex 1..2 100644\n--- a/x y\t\n+++ b/x y\t\n@@ -1,2 +1,3 @@ fn\n a\n-b\n+--- no header\n+@@ -9 +9 @@\n@@ -9,0 +11 @@\n+z\n\\ No newline at end of file\n",
    );
    assert_eq!(
        (file.old.as_deref(), file.new.as_deref()),
        (Some("x y"), Some("x y"))
    );
    assert_eq!(file.hunks, [hunk((2, 1), (2, 2)), hunk((10, 0), (11, 1))]);
    assert!(!file.is_whole);
}

#[test]
fn names_on_both_sides_are_read() {
    let renamed = one(
        "diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to \"n\\303\\251w\\t\"\n",
    );
    assert_eq!(
        (renamed.old.as_deref(), renamed.new.as_deref()),
        (Some("old"), Some("n\u{e9}w\t"))
    );
    assert!(renamed.is_whole);
    let gone = one(
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    );
    assert_eq!(
        (gone.old.as_deref(), gone.new.as_deref(), gone.is_whole),
        (Some("x"), None, true)
    );
    let binary = one(
        "diff --git \"a/\\\"q\" \"b/\\\"q\"\nBinary files \"a/\\\"q\" and \"b/\\\"q\" differ\n",
    );
    assert_eq!(
        (binary.new.as_deref(), binary.is_whole),
        (Some("\"q"), true)
    );
    let mode = one("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n");
    assert_eq!(
        (mode.new.as_deref(), mode.is_whole, mode.hunks.len()),
        (Some("x"), false, 0)
    );
    let plain = FilePatch::parse("--- a.c\t2026-01-01\n+++ a.c\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n--- b.c\n+++ b.c\n@@ -2 +2 @@\n-a\n+b\n").unwrap();
    let names: Vec<_> = plain
        .iter()
        .filter_map(|file| file.new.as_deref())
        .collect();
    assert_eq!(names, ["a.c", "b.c"]);
}

#[test]
fn what_is_cut_or_no_diff_is_refused() {
    assert_eq!(FilePatch::parse(""), Ok(vec![]));
    assert_eq!(FilePatch::parse("hello\n"), Err(PatchError::Nothing));
    assert_eq!(
        FilePatch::parse("@@ -1 +1 @@\n-a\n+b\n"),
        Err(PatchError::Nameless { line: 1 })
    );
    let cut = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n";
    assert!(matches!(
        FilePatch::parse(cut),
        Err(PatchError::Damaged { .. })
    ));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(lines in proptest::collection::vec("(diff --git |--- |\\+\\+\\+ |@@ -|rename from |\")?[ab/\"\\\\0-9@+, é\t-]{0,12}", 0..8)) {
        let _ = FilePatch::parse(&lines.join("\n"));
    }
}
