//! Words inside commands that tmux parses itself, and texts inside its formats.
//!
//! Arguments of our own call reach tmux as they are, and need none of this. The commands that `if-shell` chooses from are
//! text for its parser; a pattern inside a format must not end the format.

/// `word` as one word for tmux's command parser, whatever stands in it.
pub(super) fn word(word: &str) -> String {
    let mut quoted = String::with_capacity(word.len() + 2);
    quoted.push('\'');
    for sign in word.chars() {
        match sign {
            '\'' => quoted.push_str("'\"'\"'"),
            _ => quoted.push(sign),
        }
    }
    quoted.push('\'');
    quoted
}

/// One sign of a text as an extended regular expression inside a format.
pub(super) fn sign(sign: char, into: &mut String) {
    match sign {
        '#' => into.push_str("##"),
        ',' => into.push_str("#,"),
        '}' => into.push_str("[#}]"),
        '.' | '[' | ']' | '(' | ')' | '*' | '+' | '?' | '{' | '|' | '^' | '$' | '\\' => {
            into.push('\\');
            into.push(sign);
        }
        _ => into.push(sign),
    }
}

/// A bracket of a regular expression inside a format: one sign that is none of `signs`.
pub(super) fn none_of(signs: &[char], into: &mut String) {
    into.push_str("[^");
    let has = |sign: char| signs.contains(&sign);
    if has(']') {
        into.push(']');
    }
    for sign in signs {
        match sign {
            // Their places: `]` first, `[`, `^` and `-` last, where they mean themselves.
            ']' | '[' | '^' | '-' => {}
            '#' => into.push_str("##"),
            ',' => into.push_str("#,"),
            '}' => into.push_str("#}"),
            _ => into.push(*sign),
        }
    }
    for last in ['[', '^', '-'] {
        if has(last) {
            into.push(last);
        }
    }
    into.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(word("Enter"), "'Enter'");
        assert_eq!(word("a'b;c $x"), "'a'\"'\"'b;c $x'");
    }

    #[test]
    fn a_pattern_does_not_end_its_format() {
        let mut pattern = String::new();
        for each in "a.#,}".chars() {
            sign(each, &mut pattern);
        }
        assert_eq!(pattern, "a\\.###,[#}]");
        let mut bracket = String::new();
        none_of(&['-', 'x', ']', '^', '}', '['], &mut bracket);
        assert_eq!(bracket, "[^]x#}[^-]");
    }
}
