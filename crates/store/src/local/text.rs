//! JSON as text, by its outline: where its parts stand and how it is laid out, without reading what it says.
//!
//! Strings and numbers are never decoded, so each keeps the bytes it was written with: a lone surrogate, an escape
//! that nobody needed, `1.0`, bytes that are no UTF-8. The text was read as JSON before it comes here; a text that
//! has no such outline is answered with `None`, and nothing here recurses, however deep it is.

use crate::layout::Form;

fn skip_space(text: &[u8], from: usize) -> usize {
    let space = text[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace());
    from + space.count()
}

/// Where the string that starts at `from` ends.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Where the number or word that starts at `from` ends.
fn scalar_end(text: &[u8], from: usize) -> Option<usize> {
    let word = text[from..]
        .iter()
        .take_while(|byte| !matches!(byte, b',' | b':' | b']' | b'}' | b'[' | b'{' | b'"'))
        .take_while(|byte| !byte.is_ascii_whitespace())
        .count();
    (word > 0).then_some(from + word)
}

/// Where the value that starts at `from` ends.
fn value_end(text: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = from;
    loop {
        at = match text.get(at)? {
            b'"' => string_end(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at + 1
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at + 1
            }
            b',' | b':' if depth > 0 => at + 1,
            byte if byte.is_ascii_whitespace() && depth > 0 => at + 1,
            _ => scalar_end(text, at)?,
        };
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The entries of an object, each key with its quotation marks, in their order.
pub(super) fn entries(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut entries = Vec::new();
    let mut at = opened(text, b'{')?;
    if text.get(at) == Some(&b'}') {
        return Some(entries);
    }
    loop {
        if text.get(at) != Some(&b'"') {
            return None;
        }
        let key = at..string_end(text, at)?;
        at = skip_space(text, key.end);
        if text.get(at) != Some(&b':') {
            return None;
        }
        let start = skip_space(text, at + 1);
        let value = start..value_end(text, start)?;
        at = skip_space(text, value.end);
        entries.push((text.get(key)?, text.get(value)?));
        match text.get(at)? {
            b',' => at = skip_space(text, at + 1),
            b'}' => return Some(entries),
            _ => return None,
        }
    }
}

/// The elements of an array, in their order.
pub(super) fn elements(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut elements = Vec::new();
    let mut at = opened(text, b'[')?;
    if text.get(at) == Some(&b']') {
        return Some(elements);
    }
    loop {
        let value = at..value_end(text, at)?;
        at = skip_space(text, value.end);
        elements.push(text.get(value)?);
        match text.get(at)? {
            b',' => at = skip_space(text, at + 1),
            b']' => return Some(elements),
            _ => return None,
        }
    }
}

/// The first place inside the bracket `open`, with which `text` begins.
fn opened(text: &[u8], open: u8) -> Option<usize> {
    (text.first() == Some(&open)).then(|| skip_space(text, 1))
}

/// `text`, a whole JSON value, laid out in `form` as `JSON.stringify` does.
pub(super) fn laid_out(text: &[u8], form: Form) -> Vec<u8> {
    let pretty = matches!(form, Form::Pretty | Form::PrettyLine);
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    let mut depth = 0usize;
    let mut at = 0;
    let line = |out: &mut Vec<u8>, depth: usize| {
        if pretty {
            out.push(b'\n');
            out.resize(out.len() + 2 * depth, b' ');
        }
    };
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let end = string_end(text, at).unwrap_or(text.len()).min(text.len());
                out.extend_from_slice(&text[at..end]);
                at = end;
                continue;
            }
            b'{' | b'[' => {
                out.push(*byte);
                let inside = skip_space(text, at + 1);
                if let Some(close @ (b'}' | b']')) = text.get(inside) {
                    out.push(*close);
                    at = inside + 1;
                    continue;
                }
                depth += 1;
                line(&mut out, depth);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(*byte);
            }
            b',' => {
                out.push(b',');
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(if pretty { b": " } else { b":" }),
            space if space.is_ascii_whitespace() => {}
            other => out.push(*other),
        }
        at += 1;
    }
    if matches!(form, Form::PrettyLine | Form::CompactLine) {
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
            Just(Value::from("\\\" {}[]:, \u{2028} ☃")),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((".{0,4}", inner), 0..5)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn parts_keep_the_bytes_they_were_written_with() {
        let text = br#"{ "a" : "\ud800" , "b":[1.0 , {"x":[]}],"\u0063":-1e3}"#;
        let entries = entries(text).unwrap();
        let expected: [(&[u8], &[u8]); 3] = [
            (b"\"a\"", br#""\ud800""#),
            (b"\"b\"", br#"[1.0 , {"x":[]}]"#),
            (br#""\u0063""#, b"-1e3"),
        ];
        assert_eq!(entries, expected);
        let expected: [&[u8]; 2] = [b"1.0", br#"{"x":[]}"#];
        assert_eq!(elements(entries[1].1).unwrap(), expected);
    }

    #[test]
    fn a_text_without_outline_is_none() {
        for text in [
            "",
            "{",
            "[",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{1:2}",
            "{\"a\" 1}",
            "[1 2]",
            "[1,",
            "]",
            "{\"a\\",
        ] {
            assert_eq!(entries(text.as_bytes()), None, "{text}");
            assert_eq!(elements(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
        assert_eq!(value_end(&deep, 0), Some(deep.len()));
        assert_eq!(laid_out(&deep, Form::Compact), deep);
    }

    proptest! {
        #[test]
        fn laying_out_is_what_a_json_writer_does(value in value()) {
            let compact = serde_json::to_vec(&value).unwrap();
            let pretty = serde_json::to_vec_pretty(&value).unwrap();
            prop_assert_eq!(&laid_out(&pretty, Form::Compact), &compact);
            prop_assert_eq!(&laid_out(&compact, Form::Pretty), &pretty);
            prop_assert_eq!(value_end(&pretty, 0), Some(pretty.len()));
        }

        #[test]
        fn no_text_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..60), brackets in r#"[\[\]{}:,"\\a1 ]{0,40}"#) {
            for text in [&text[..], brackets.as_bytes()] {
                let _ = (entries(text), elements(text), laid_out(text, Form::Pretty));
            }
        }
    }
}
