//! Hides what looks like a secret on a screen that is to be shown to others.
//!
//! | hidden | how it is told |
//! |---|---|
//! | a value that the caller knows to be secret | wherever it stands, over row ends too |
//! | a key of a known vendor | its beginning: `sk-`, `ghp_`, `AIza`, … |
//! | what is assigned to a name such as `API_KEY` or `password` | the name before `=` or `:` |
//! | what follows `Bearer` | the word before it |
//! | a long run of letters and digits | 24 of them or more, both kinds |
//!
//! Always holds: a hidden sign is one sign, so nothing on the screen moves. It hides too much rather than too little; what
//! it cannot know, a short password in plain words for instance, it does not hide.

use alloc::string::String;
use alloc::vec::Vec;

/// What stands for a hidden sign.
pub const HIDDEN: char = '•';

/// How the keys of vendors begin.
const BEGINNINGS: [&str; 16] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "AIza",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "hf_",
    "eyJ",
];

/// Names whose values are secret, in small letters and without `_` and `-`.
const NAMES: [&str; 8] = [
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "authorization",
    "accesskey",
    "privatekey",
];

/// The shortest value that is hidden because of what stands before it.
const SHORTEST: usize = 6;

/// The shortest run of letters and digits that is hidden for its length alone.
const LONG: usize = 24;

/// The shortest secret of the caller's that is hidden: shorter ones would hide half the screen.
const KNOWN: usize = 8;

/// Hides secrets in rows that follow each other. A row that is `width` signs long goes on in the next one; `known` are
/// values that are secret for certain.
pub fn hide(rows: &mut [String], width: usize, known: &[String]) {
    let mut signs: Vec<char> = Vec::new();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (row, text) in rows.iter().enumerate() {
        let mut length = 0;
        for (column, sign) in text.chars().enumerate() {
            signs.push(sign);
            places.push((row, column));
            length = column + 1;
        }
        if length < width || width == 0 {
            signs.push('\n');
            places.push((row, usize::MAX));
        }
    }
    let hidden = hidden(&signs, known);
    let mut rewritten: Vec<Vec<char>> = rows.iter().map(|row| row.chars().collect()).collect();
    for ((row, column), is_hidden) in places.into_iter().zip(hidden) {
        if is_hidden && let Some(sign) = rewritten[row].get_mut(column) {
            *sign = HIDDEN;
        }
    }
    for (row, signs) in rows.iter_mut().zip(rewritten) {
        *row = signs.into_iter().collect();
    }
}

/// A text with the values of `known` and the keys of known vendors hidden, and nothing else: for what is kept and read by
/// programs again, where a long number may be one that matters.
#[must_use]
pub fn without_keys(text: &str, known: &[String]) -> String {
    let mut signs: Vec<char> = text.chars().collect();
    for secret in known
        .iter()
        .filter(|secret| secret.chars().count() >= KNOWN)
    {
        let secret: Vec<char> = secret.chars().collect();
        let mut at = 0;
        while at + secret.len() <= signs.len() {
            if signs[at..at + secret.len()] == secret[..] {
                signs[at..at + secret.len()].fill(HIDDEN);
                at += secret.len();
            } else {
                at += 1;
            }
        }
    }
    let mut at = 0;
    while at < signs.len() {
        let word = signs[at..].iter().take_while(|sign| is_of_a_key(**sign));
        let end = at + word.count();
        if begins_a_key(&signs[at..end]) {
            signs[at..end].fill(HIDDEN);
        }
        at = end.max(at + 1);
    }
    signs.into_iter().collect()
}

/// Which signs are hidden.
fn hidden(signs: &[char], known: &[String]) -> Vec<bool> {
    let mut hidden = Vec::new();
    hidden.resize(signs.len(), false);
    let mut hide = |from: usize, to: usize| hidden[from..to].iter_mut().for_each(|is| *is = true);
    for secret in known {
        let secret: Vec<char> = secret.chars().collect();
        if secret.len() >= KNOWN {
            let starts = signs.windows(secret.len()).enumerate();
            starts
                .filter(|(_, part)| *part == secret.as_slice())
                .for_each(|(at, _)| hide(at, at + secret.len()));
        }
    }
    let mut at = 0;
    while at < signs.len() {
        let end = at
            + signs[at..]
                .iter()
                .take_while(|sign| is_of_a_key(**sign))
                .count();
        if end == at {
            at += 1;
            continue;
        }
        let word = &signs[at..end];
        if begins_a_key(word) || is_named(&signs[..at], word.len()) {
            hide(at, end);
        } else {
            long_runs(word)
                .into_iter()
                .for_each(|(from, to)| hide(at + from, at + to));
        }
        at = end;
    }
    hidden
}

fn is_of_a_key(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "-_.+/~".contains(sign)
}

fn begins_a_key(word: &[char]) -> bool {
    let starts = |start: &&str| start.chars().eq(word.iter().copied().take(start.len()));
    word.len() >= 12 && BEGINNINGS.iter().any(starts)
}

/// Whether a secret's name stands before this value, or the word `Bearer`.
fn is_named(before: &[char], length: usize) -> bool {
    if length < SHORTEST {
        return false;
    }
    let before: String = before[before.len().saturating_sub(48)..].iter().collect();
    let before = before.trim_end_matches([' ', '"', '\'', '\n']);
    if before.to_ascii_lowercase().ends_with("bearer") {
        return true;
    }
    let Some(name) = before.strip_suffix(['=', ':']) else {
        return false;
    };
    let name = name.trim_end_matches([' ', '"', '\'']);
    let letters = name.rsplit(|sign: char| !sign.is_ascii_alphanumeric() && !"_-".contains(sign));
    let name: String = letters
        .take(1)
        .flat_map(str::chars)
        .filter(|sign| !"_-".contains(*sign))
        .map(|sign| sign.to_ascii_lowercase())
        .collect();
    NAMES.iter().any(|secret| name.ends_with(secret))
}

fn long_runs(word: &[char]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut from = 0;
    while from < word.len() {
        let run = word[from..]
            .iter()
            .take_while(|sign| sign.is_ascii_alphanumeric())
            .count();
        let part = &word[from..from + run];
        let mixed =
            part.iter().any(char::is_ascii_digit) && part.iter().any(char::is_ascii_alphabetic);
        if run >= LONG && mixed {
            runs.push((from, from + run));
        }
        from += run.max(1);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::vec;

    fn hidden_in(rows: &[&str], width: usize, known: &[&str]) -> Vec<String> {
        let mut rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
        let known: Vec<String> = known.iter().map(|known| (*known).to_owned()).collect();
        hide(&mut rows, width, &known);
        rows
    }

    fn check(row: &str, shown: &str) {
        assert_eq!(hidden_in(&[row], 200, &[]), [shown], "{row}");
    }

    #[test]
    fn keys_of_vendors_and_assigned_secrets_are_hidden_sign_by_sign() {
        check(
            "use sk-ant-api03-abc_DEF now",
            "use •••••••••••••••••••• now",
        );
        check(
            "export OPENAI_API_KEY=hunter22",
            "export OPENAI_API_KEY=••••••••",
        );
        check("password: \"correct-horse\"", "password: \"•••••••••••••\"");
        check(
            "Authorization: Bearer abcdef0123",
            "Authorization: •••••• ••••••••••",
        );
        check(
            "id 0123456789abcdef0123456789abcdef.",
            "id ••••••••••••••••••••••••••••••••.",
        );
    }

    #[test]
    fn of_a_kept_text_only_keys_are_hidden() {
        let known = ["my-own-value".to_owned(), "short".to_owned()];
        let kept = without_keys(
            "a sk-ant-api03-abc b my-own-value! short 0123456789abcdef0123456789abcdef password: hunter22",
            &known,
        );
        assert_eq!(
            kept,
            "a •••••••••••••••• b ••••••••••••! short 0123456789abcdef0123456789abcdef password: hunter22"
        );
    }

    #[test]
    fn ordinary_words_stay() {
        for row in [
            "You have 3 new message(s). Read your mailbox: pitcrew inbox --next",
            "tokens: 1234 in, 99 out",
            "claude-sonnet-4-20250514 in ~/projects/pitcrew/crates/core/src/mask.rs",
            "❯ 1. Yes   2. No (esc)",
            "the secret is out",
        ] {
            check(row, row);
        }
    }

    #[test]
    fn a_secret_that_goes_on_in_the_next_row_is_hidden_whole() {
        let rows = hidden_in(
            &["key my-own-val", "ue-4711 and on"],
            14,
            &["my-own-value-4711"],
        );
        assert_eq!(rows, ["key ••••••••••", "••••••• and on"]);
        assert_eq!(hidden_in(&["short x"], 80, &["x"]), ["short x"]);
        assert_eq!(hidden_in(&[], 80, &[]), vec![] as Vec<String>);
    }
}
