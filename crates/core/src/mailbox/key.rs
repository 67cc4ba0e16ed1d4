//! How a message is named in memory: by 128 bits of its id, whatever the id's length.

use alloc::string::String;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message id as the unread index keeps it: 128 bits of the id's text, so that a million ids cost no more than
/// their places. Ids of our own are UUIDs; two different ids meeting here would hide one message from listing, never
/// lose it from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey(u128);

impl MessageKey {
    /// The key of `id`: FNV-1a over its bytes.
    #[must_use]
    pub fn of(id: &str) -> Self {
        Self::of_bytes(id.as_bytes())
    }

    /// The key of any bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
        const BASIS: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
        Self(bytes.iter().fold(BASIS, |hash, byte| {
            (hash ^ u128::from(*byte)).wrapping_mul(PRIME)
        }))
    }
}

impl Serialize for MessageKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl<'de> Deserialize<'de> for MessageKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match u128::from_str_radix(&text, 16) {
            Ok(bits) if digits => Ok(Self(bits)),
            _ => Err(serde::de::Error::custom("not 32 hexadecimal digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn it_is_the_published_hash() {
        let json = |text: &str| serde_json::to_value(MessageKey::of(text)).unwrap();
        assert_eq!(json(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(json("foobar"), "343e1662793c64bf6f0d3597ba446f18");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in [
            "",
            "x",
            "+1",
            "-1",
            "0123456789012345678901234567890123456789",
        ] {
            let read = serde_json::from_value::<MessageKey>(text.to_string().into());
            assert!(read.is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn it_is_read_as_it_was_written(id in ".{0,40}") {
            let key = MessageKey::of(&id);
            let json = serde_json::to_string(&key).unwrap();
            prop_assert_eq!(serde_json::from_str::<MessageKey>(&json).unwrap(), key);
        }
    }
}
