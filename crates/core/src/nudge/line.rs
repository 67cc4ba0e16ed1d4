//! The lines that are typed: one row of plain text each, with the command that shows more.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// The line that tells of `unread` messages and of the `command` that lists them, given word by word.
#[must_use]
pub fn mail_line(unread: u64, command: &[&str]) -> String {
    let command = joined(command);
    format!("You have {unread} new message(s). Read your mailbox: {command}")
}

/// The line for an idle pane without mail, with the `command` that shows its tasks.
#[must_use]
pub fn idle_line(command: &[&str]) -> String {
    let command = joined(command);
    format!(
        "Your loop is still active. Go on with your task, or report what holds you up: {command}"
    )
}

fn joined(words: &[&str]) -> String {
    let words: Vec<Cow<'_, str>> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// `word` as one word of a shell, on one line whatever it holds. Words with control characters get the `$'…'` form,
/// which bash, zsh and ksh read.
#[must_use]
pub fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return Cow::Borrowed(word);
    }
    if !word.chars().any(char::is_control) {
        return Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")));
    }
    let mut text = String::from("$'");
    for sign in word.chars() {
        match sign {
            '\'' | '\\' => {
                text.push('\\');
                text.push(sign);
            }
            sign if sign.is_control() => {
                let mut bytes = [0; 4];
                for byte in sign.encode_utf8(&mut bytes).bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(text, "\\x{byte:02x}");
                }
            }
            sign => text.push(sign),
        }
    }
    text.push('\'');
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c10_a_line_is_whole_and_runnable_for_any_path() {
        assert_eq!(
            mail_line(3, &["pitcrew", "--root", "/a/it's deep", "inbox", "--next"]),
            r"You have 3 new message(s). Read your mailbox: pitcrew --root '/a/it'\''s deep' inbox --next"
        );
        assert_eq!(quoted("two\nlines'"), r"$'two\x0alines\''");
        assert_eq!(quoted(""), "''");
        let long = "x".repeat(2_000);
        assert!(mail_line(1, &["pitcrew", &long]).ends_with(&long));
    }

    #[test]
    fn a_line_is_one_line() {
        for word in ["\n", "\r\n", "a\tb", "\u{1b}[201~", "\u{85}"] {
            assert!(
                !mail_line(1, &[word]).chars().any(char::is_control),
                "{word:?}"
            );
            assert!(
                !idle_line(&[word]).chars().any(char::is_control),
                "{word:?}"
            );
        }
    }
}
