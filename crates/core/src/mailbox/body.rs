//! What a message says: text, in which halves of surrogate pairs may stand alone.
//!
//! JSON can write `\ud800` and JavaScript keeps it; a Rust text cannot. Such a body is shown with U+FFFD in the place of
//! each half, and keeps the JSON text that it came in, so that what is written of it is what was meant.
//!
//! Always holds: what is shown is what [`json::read`] makes of the JSON text; a body without halves keeps none.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::Deref;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json;

/// The body of a message. It serializes as what is shown of it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Body {
    shown: String,
    /// A JSON string, where what is shown is not all of it.
    exact: Option<Box<str>>,
}

impl Body {
    /// The body that `literal` says, a JSON string with its quotes.
    ///
    /// # Errors
    /// When it is none, also with every half of a pair mended.
    pub fn of_json(literal: &str) -> Result<Self, serde_json::Error> {
        if let Ok(shown) = serde_json::from_str(literal) {
            return Ok(Self { shown, exact: None });
        }
        Ok(Self {
            shown: json::read(literal.as_bytes())?,
            exact: Some(literal.into()),
        })
    }

    /// Its JSON text, where that says more than what is shown.
    #[must_use]
    pub fn exact(&self) -> Option<Box<RawValue>> {
        // It was read as JSON, so it is JSON.
        let exact = self.exact.as_deref()?.to_owned();
        RawValue::from_string(exact).ok()
    }

    /// Writes the body exactly into `line`, the JSON text of an object in which it stands as `key` as it is shown.
    pub(super) fn restore(&self, key: &str, line: String) -> String {
        let (Some(exact), Ok(shown)) = (&self.exact, serde_json::to_string(&self.shown)) else {
            return line;
        };
        // Inside a text every quote is escaped, so this is the key and nothing that somebody wrote.
        let (was, is) = (
            alloc::format!("\"{key}\":{shown}"),
            alloc::format!("\"{key}\":{exact}"),
        );
        line.replacen(&was, &is, 1)
    }
}

impl From<String> for Body {
    fn from(shown: String) -> Self {
        Self { shown, exact: None }
    }
}

impl From<&str> for Body {
    fn from(shown: &str) -> Self {
        shown.to_string().into()
    }
}

impl Deref for Body {
    type Target = str;

    fn deref(&self) -> &str {
        &self.shown
    }
}

impl PartialEq<str> for Body {
    fn eq(&self, other: &str) -> bool {
        self.exact.is_none() && self.shown == other
    }
}

impl PartialEq<&str> for Body {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.exact {
            Some(exact) => f.write_str(exact),
            None => self.shown.fmt(f),
        }
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::{Line, Message, read_record, redelivered};
    use alloc::format;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn message(from: &str, body: Body) -> Message {
        Message {
            id: "1".into(),
            from: from.into(),
            to: "b".into(),
            body,
            timestamp: "t".into(),
            reply_to: None,
            intent: None,
            idempotency_key: None,
            verified: None,
            redelivery: 0,
        }
    }

    fn read_back(message: &Message) -> Message {
        match read_record(&message.line().unwrap()) {
            Ok(Line::Message(message, None)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn half_of_a_pair_is_shown_as_one_character_and_written_as_it_came() {
        let body = Body::of_json(r#""a\ud800b""#).unwrap();
        assert_eq!(&*body, "a\u{FFFD}b");
        assert_eq!(serde_json::to_string(&body).unwrap(), "\"a\u{FFFD}b\"");
        assert_ne!(body, Body::from("a\u{FFFD}b"));
        // Whoever sends it can name itself so that its name looks like the body.
        let odd = message(r#""body":"a\ufffdb""#, body);
        let line = redelivered(&odd).line().unwrap();
        let line = core::str::from_utf8(&line).unwrap();
        assert!(line.contains(r#""body":"a\ud800b","timestamp""#), "{line}");
        assert_eq!(read_back(&odd), odd);
    }

    #[test]
    fn whole_text_keeps_no_second_form_and_what_is_no_text_is_refused() {
        for literal in [r#""a""#, r#""\ud83c\udf89""#, r#""\u0000""#] {
            assert!(
                Body::of_json(literal).unwrap().exact().is_none(),
                "{literal}"
            );
        }
        for literal in ["", "1", r#""\ud800"#, r#""\ud8""#, r#"{"\ud800":1}"#] {
            assert!(Body::of_json(literal).is_err(), "{literal}");
        }
    }

    proptest! {
        #[test]
        fn every_text_of_javascript_is_kept(
            units in proptest::collection::vec(prop_oneof![
                3 => 0x20_u16..0x7F, 2 => 0xD7F0_u16..0xE010, 1 => any::<u16>(),
            ], 0..20),
        ) {
            let escaped: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let literal = format!("\"{}\"", escaped.concat());
            let body = Body::of_json(&literal).unwrap();
            prop_assert_eq!(&*body, String::from_utf16_lossy(&units));
            prop_assert_eq!(body.exact().is_some(), String::from_utf16(&units).is_err());
            let sent = message("a", body);
            prop_assert_eq!(&read_back(&sent), &sent);
        }
    }
}
