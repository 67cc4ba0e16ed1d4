//! JSON as it occurs in folders that other programs write: read what can be read, say what cannot.
//!
//! Seen in the field: a byte order mark before a line, CRLF, bytes that are no UTF-8, and lone surrogates
//! (`\ud800`), which `JSON.stringify` writes and a strict reader refuses. [`repair`] turns each into plain JSON text
//! with U+FFFD where a character is lost. It is tried only when the strict reading failed, so the common line pays
//! nothing.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads one JSON value from `line`, strictly first and repaired second.
///
/// # Errors
/// What the strict reader says of the repaired text.
pub fn read<'a, T>(line: &'a [u8]) -> Result<T, serde_json::Error>
where
    T: for<'de> Deserialize<'de>,
{
    let line: &'a [u8] = trim(line);
    match serde_json::from_slice(line) {
        Ok(value) => Ok(value),
        Err(first) => match repair(line) {
            Some(text) => serde_json::from_str(&text),
            None => Err(first),
        },
    }
}

/// Reads one JSON object from `line`, as [`read`] does, and of a key that stands in it several times the last one, as
/// `JSON.parse` does: everybody who reads a document reads the same then. What a struct is read from must be an object: a list of its
/// values in order, which a derived reader takes too, was never written by anybody.
///
/// # Errors
/// What the reader says, or that it is no object.
pub fn read_object<T>(line: &[u8]) -> Result<T, serde_json::Error>
where
    T: for<'de> Deserialize<'de>,
{
    let line = trim(line);
    match line.first() {
        // Only a derived reader minds doubles, so the reading of any value is tried when that one refused.
        None | Some(b'{') => read(line).or_else(|refused| {
            let value = read::<serde_json::Value>(line).map_err(|_| refused)?;
            T::deserialize(value)
        }),
        Some(_) => Err(serde::de::Error::custom("not a JSON object")),
    }
}

/// The object in `line` with the last value of every key that stands in it several times, as `JSON.parse` reads it. `None`
/// when it is no object.
#[must_use]
pub fn last_of_each(line: &[u8]) -> Option<String> {
    let entries: BTreeMap<String, Box<RawValue>> = read(line).ok()?;
    serde_json::to_string(&entries).ok()
}

/// `line` without surrounding white space and without a byte order mark in front.
#[must_use]
pub fn trim(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(line)
        .trim_ascii()
}

/// Reads a text where other programs may keep a value of any type: such a value becomes its JSON text.
///
/// # Errors
/// What the reader says.
pub fn any_as_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(value.map(|value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }))
}

/// `line` as JSON text that a strict reader takes, if something in it needed mending; else `None`.
#[must_use]
pub fn repair(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let broken_bytes = matches!(text, Cow::Owned(_));
    let mended = mend_surrogates(&text);
    match (mended, broken_bytes) {
        (Some(text), _) => Some(text),
        (None, true) => Some(text.into_owned()),
        (None, false) => None,
    }
}

/// Replaces every `\uXXXX` escape that is half of a surrogate pair without its other half.
fn mend_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = escape_at(bytes, at) else {
            at += 2;
            continue;
        };
        let high = (0xD800..0xDC00).contains(&unit);
        let low = (0xDC00..0xE000).contains(&unit);
        let paired =
            high && escape_at(bytes, at + 6).is_some_and(|next| (0xDC00..0xE000).contains(&next));
        if paired {
            at += 12;
            continue;
        }
        if high || low {
            out.push_str(&text[copied..at]);
            out.push_str("\\ufffd");
            copied = at + 6;
        }
        at += 6;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// The code unit of the `\uXXXX` escape that starts at `at`, if one does.
fn escape_at(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = core::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn text(line: &[u8]) -> Option<String> {
        read::<String>(line).ok()
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        assert_eq!(text(br#""a \ud800 b""#).as_deref(), Some("a \u{FFFD} b"));
        assert_eq!(
            text(br#""\udc00\ud800""#).as_deref(),
            Some("\u{FFFD}\u{FFFD}")
        );
        assert_eq!(
            text(br#""\ud800\ud83c\udf89""#).as_deref(),
            Some("\u{FFFD}\u{1F389}")
        );
    }

    #[test]
    fn a_pair_and_an_escaped_backslash_are_left_alone() {
        assert_eq!(text(br#""\ud83c\udf89""#).as_deref(), Some("\u{1F389}"));
        assert_eq!(text(br#""\\ud800""#).as_deref(), Some("\\ud800"));
    }

    #[test]
    fn marks_line_ends_and_broken_bytes_are_tolerated() {
        assert_eq!(text(b"\xEF\xBB\xBF\"x\"\r").as_deref(), Some("x"));
        assert_eq!(text(b"  \"x\" ").as_deref(), Some("x"));
        assert_eq!(text(b"\"a\xFFb\"").as_deref(), Some("a\u{FFFD}b"));
    }

    #[test]
    fn what_is_no_json_stays_no_json() {
        for line in [&b""[..], b"{", b"{\"not valid", b"\"\\ud800", b"\\u"] {
            assert!(read::<serde_json::Value>(line).is_err());
        }
    }

    #[test]
    fn an_object_is_wanted_where_one_is_read() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Named {
            name: String,
        }
        let named = |line: &[u8]| read_object::<Named>(line).map_err(|refused| refused.to_string());
        let name = |name: &str| Ok(Named { name: name.into() });
        assert_eq!(named(b"\xEF\xBB\xBF {\"name\":\"a\"}\r\n"), name("a"));
        assert_eq!(named(b"{\"name\":\"\\ud800\"}"), name("\u{FFFD}"));
        for line in [&b"[\"a\"]"[..], b"\"a\"", b"null", b"1", b"x"] {
            assert_eq!(named(line), Err("not a JSON object".into()));
        }
        for line in [&b""[..], b"  ", b"{}", b"{"] {
            assert!(named(line).is_err());
        }
    }

    #[test]
    fn of_a_key_that_stands_twice_the_last_one_counts() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Named {
            name: String,
        }
        let twice = br#"{"name":"a","other":1,"name":"b"}"#;
        let named: Named = read_object(twice).unwrap();
        let any: serde_json::Value = read_object(twice).unwrap();
        assert_eq!((named.name.as_str(), &any["name"]), ("b", &"b".into()));
        assert!(read_object::<Named>(br#"{"name":"a","name":1}"#).is_err());
    }

    #[test]
    fn what_reads_strictly_needs_no_repair() {
        for line in [
            &b"{}"[..],
            br#""\ud83c\udf89""#,
            b"\"\xC3\xA9\"",
            b"not json",
        ] {
            assert_eq!(repair(line), None);
        }
        assert_eq!(repair(br#"\ud800\"#).as_deref(), Some(r"\ufffd\"));
        assert_eq!(
            repair(br#"\udfff\ue000\udbff"#).as_deref(),
            Some(r"\ufffd\ue000\ufffd")
        );
        assert_eq!(repair(b"\xFF\\ud800").as_deref(), Some("\u{FFFD}\\ufffd"));
        assert_eq!(
            repair(br"\\ud800\n\ud800").as_deref(),
            Some(r"\\ud800\n\ufffd"),
            "an escaped backslash escapes nothing"
        );
        assert_eq!(repair(br"\ud8zz \ud80"), None);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = read::<serde_json::Value>(&line);
        }

        #[test]
        fn repairing_touches_nothing_but_what_is_broken(text in "([a-zé]|\\\\(n|u00e9|u20ac)|\\\\ud83c\\\\udf89){0,12}") {
            prop_assert_eq!(repair(text.as_bytes()), None);
            let mut broken = Vec::from(text.as_bytes());
            broken.extend_from_slice(b"\\ud800");
            prop_assert_eq!(repair(&broken), Some(alloc::format!("{text}\\ufffd")));
        }

        #[test]
        fn every_string_of_code_units_is_read(units in proptest::collection::vec(any::<u16>(), 0..12)) {
            let mut json: Vec<u8> = Vec::from(&b"\""[..]);
            for unit in &units {
                json.extend_from_slice(alloc::format!("\\u{unit:04x}").as_bytes());
            }
            json.push(b'"');
            prop_assert_eq!(text(&json), Some(String::from_utf16_lossy(&units)));
        }
    }
}
