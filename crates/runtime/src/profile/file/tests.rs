use super::*;
use crate::profile::{Origin, Profile};

const WHOLE: &str = "version = 1\nname = 'x'\nprogram = 'x'\n[turn]\nfresh = ['-p']\n[answer]\nat = [{ from = 'stdout' }]\n";

fn read(text: &str) -> Result<Profile, ProfileError> {
    let path = Path::new("x.toml");
    let (table, _) = parse(path, text)?;
    build(path, Origin::BuiltIn, table)
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn the_smallest_profile_has_a_time_limit_and_a_prompt_on_stdin() {
    let profile = read(WHOLE).unwrap();
    assert_eq!(
        (
            profile.time_limit_ms(),
            profile.prompt(),
            profile.can_resume()
        ),
        (1_800_000, Via::Stdin, false)
    );
}

#[test]
fn an_unknown_key_or_table_is_refused_with_its_line_and_column() {
    assert_eq!(
        refused("version = 1\nname = 'x'\nprogam = 'x'\n")
            .split(": unknown")
            .next(),
        Some("x.toml:3:1")
    );
    let table = refused(&format!("{WHOLE}\n[panel]\nkeys = 1\n"));
    assert!(
        table.starts_with("x.toml:9:2: unknown field `panel`"),
        "{table}"
    );
    let nested = refused(&format!("{WHOLE}[limits]\n  exits = [1]\n  é = 1"));
    assert!(nested.starts_with("x.toml:10:3: "), "{nested}");
    let place = refused(&WHOLE.replace("from = 'stdout'", "form = 'stdout'"));
    assert!(place.contains("unknown field `form`"), "{place}");
    let source = refused(&WHOLE.replace("'stdout'", "'stdot'"));
    assert!(
        source.starts_with("x.toml:7:16: unknown variant `stdot`"),
        "{source}"
    );
}

#[test]
fn the_panes_table_is_kept_unread() {
    let profile = read(&format!("{WHOLE}[pane]\nanything = {{ goes = [1, 2] }}\n")).unwrap();
    assert!(profile.pane().unwrap().contains_key("anything"));
}

#[test]
fn what_a_profile_needs_is_named() {
    for (without, key) in [
        ("version = 1\n", "`version`"),
        ("name = 'x'\n", "`name`"),
        ("program = 'x'\n", "`program`"),
        ("fresh = ['-p']\n", "`turn.fresh`"),
        ("at = [{ from = 'stdout' }]\n", "`answer.at`"),
    ] {
        let error = refused(&WHOLE.replace(without, ""));
        assert!(error.contains(key), "{error}");
    }
    for (was, is, says) in [
        ("version = 1", "version = 2", "`version`: 2 is not known"),
        ("name = 'x'", "name = '../x'", "`name`"),
        ("program = 'x'", "program = './x'", "`program`"),
        ("['-p']", "['{promt}']", "{promt}"),
        ("['-p']", "['{session}']", "{new_session}"),
        ("['-p']", "['{prompt}']", "is not \"argument\""),
        ("['-p']", "['-p']\nresume = ['-p']", "needs `{session}`"),
        ("['-p']", "['-p']\nprompt = 'argument'", "needs `{prompt}`"),
        ("['-p']", "['-p']\nprompt = 'file'", "{prompt_file}"),
        ("['-p']", "['-p']\ntime_limit_s = 0", "must not be 0"),
        ("'stdout' }", "'answer_file' }", "needs `{answer_file}`"),
        ("'stdout' }", "'stdout', field = 'a' }", "`answer.at`"),
        ("[turn]", "[tools]\nall = ['-y']\n[turn]", "needs `{tools}`"),
        (
            "[turn]",
            "[env]\nset = { 'A=B' = 'c' }\n[turn]",
            "no name of a variable",
        ),
    ] {
        let error = refused(&WHOLE.replace(was, is));
        assert!(error.contains(says), "{is}: {error}");
    }
}

#[test]
fn tables_are_laid_over_key_by_key_and_lists_whole() {
    let mut base: toml::Table = toml::from_str("a = 1\nl = [1, 2]\n[t]\nx = 1\ny = 2\n").unwrap();
    lay_over(
        &mut base,
        toml::from_str("l = [3]\n[t]\ny = 3\nz = 4\n").unwrap(),
    );
    assert_eq!(
        base,
        toml::from_str("a = 1\nl = [3]\n[t]\nx = 1\ny = 3\nz = 4\n").unwrap()
    );
}
