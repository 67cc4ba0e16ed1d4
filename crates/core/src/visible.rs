//! Text from others on a terminal: every control character is made visible, so that no message can move the cursor,
//! set the title, fill the clipboard or reverse the reading order.

use alloc::borrow::Cow;
use alloc::string::String;

/// `text` with its control characters as visible signs. Line ends stay when `lines` says so; tabs always stay.
#[must_use]
pub fn visible(text: &str, lines: Lines) -> Cow<'_, str> {
    let shown = |c: char| sign(c, lines).is_none();
    if text.chars().all(shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match sign(c, lines) {
            // A line end of Windows is one line end.
            Some(_) if c == '\r' && lines == Lines::Keep && rest.peek() == Some(&'\n') => {}
            Some(sign) => out.push(sign),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// What becomes of line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// They stay: the text may have several lines.
    Keep,
    /// They become signs: the text stays on one line.
    Fold,
}

fn sign(c: char, lines: Lines) -> Option<char> {
    match c {
        '\n' if lines == Lines::Keep => None,
        '\t' => None,
        // The control pictures stand in the order of the characters that they picture.
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)),
        '\x7f' => Some('\u{2421}'),
        '\u{80}'..='\u{9f}' => Some('\u{FFFD}'),
        '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}' | '\u{2029}' => Some('\u{FFFD}'),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some('\u{FFFD}'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_become_pictures() {
        assert_eq!(
            visible("a\x1b]52;c;eA==\x07b", Lines::Keep),
            "a\u{241b}]52;c;eA==\u{2407}b"
        );
        assert_eq!(
            visible("\u{9b}2J\u{202e}x", Lines::Keep),
            "\u{FFFD}2J\u{FFFD}x"
        );
    }

    #[test]
    fn plain_text_tabs_and_emoji_stay() {
        for text in ["plain", "a\tb", "\u{1F469}\u{200D}\u{1F4BB}", "naïve ☃"] {
            assert!(
                matches!(visible(text, Lines::Fold), Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn line_ends_stay_or_fold() {
        assert_eq!(visible("a\r\nb\n", Lines::Keep), "a\nb\n");
        assert_eq!(visible("a\nb", Lines::Fold), "a\u{240a}b");
        assert_eq!(visible("a\rb", Lines::Keep), "a\u{240d}b");
    }

    /// Characters that reverse the reading order or end a line without being control characters.
    const REORDERING: [char; 14] = [
        '\u{200e}', '\u{200f}', '\u{061c}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202b}',
        '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
    ];

    #[test]
    fn what_moves_text_about_is_shown_as_lost() {
        for c in REORDERING.into_iter().chain(['\u{80}', '\u{9f}', '\u{85}']) {
            assert_eq!(visible(&alloc::format!("a{c}b"), Lines::Keep), "a\u{FFFD}b");
        }
        assert_eq!(
            visible("\0\x1f\x7f", Lines::Keep),
            "\u{2400}\u{241f}\u{2421}"
        );
        for c in [
            '\u{200d}', '\u{2027}', '\u{202f}', '\u{2065}', '\u{206a}', '\u{a0}', '~', ' ',
        ] {
            let text = alloc::format!("a{c}b");
            assert_eq!(visible(&text, Lines::Fold), text);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_shown_can_control_a_terminal(text in any::<String>()) {
            let harmless = |c: char| c == '\t' || !(c.is_control() || REORDERING.contains(&c));
            let shown = visible(&text, Lines::Fold);
            prop_assert!(shown.chars().all(harmless));
            prop_assert_eq!(shown.chars().count(), text.chars().count());
            let shown = visible(&text, Lines::Keep);
            prop_assert!(shown.chars().all(|c| c == '\n' || harmless(c)));
            prop_assert_eq!(&visible(&shown, Lines::Keep), &shown, "what is shown stays as it is");
        }
    }
}
