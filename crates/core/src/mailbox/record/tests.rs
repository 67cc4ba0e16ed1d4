use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

use super::*;

fn bare(id: &str, body: &str) -> Message {
    Message {
        id: id.into(),
        from: "a".into(),
        to: "b".into(),
        body: body.into(),
        timestamp: "t".into(),
        reply_to: None,
        intent: None,
        idempotency_key: None,
        verified: None,
        redelivery: 0,
    }
}

/// What a line is, in full, and that its head says the same.
fn check(line: impl AsRef<[u8]>, expected: Line) {
    let line = line.as_ref();
    let shown = String::from_utf8_lossy(line);
    let head = match &expected {
        Line::Message(message, delivered_at) => Head::Message {
            key: MessageKey::of(&message.id),
            delivered: delivered_at.is_some(),
            redelivery: message.redelivery,
        },
        Line::Receipt(Receipt::Delivered { message_id, .. }) => {
            Head::Delivered(MessageKey::of(message_id))
        }
        Line::Receipt(Receipt::Noted {
            message_id,
            fact: Fact::DeadLettered,
            ..
        }) => Head::DeadLettered(MessageKey::of(message_id)),
        Line::Receipt(Receipt::Noted { .. }) | Line::Other => Head::Other,
    };
    assert_eq!(read_head(line), Ok(head), "{shown}");
    assert_eq!(read_record(line), Ok(expected), "{shown}");
}

fn check_damage(line: impl AsRef<[u8]>, why: &str) {
    let line = line.as_ref();
    let shown = String::from_utf8_lossy(line);
    let (head, record) = (read_head(line).unwrap_err(), read_record(line).unwrap_err());
    assert!(head.contains(why), "{shown}: {head}");
    assert!(record.contains(why), "{shown}: {record}");
}

#[test]
fn a4_what_is_a_message_is_shown_whatever_its_line_looks_like() {
    let whole = r#"{"type":"message","id":"1","from":"a","to":"b","body":"x","timestamp":"t"}"#;
    let message = || Line::Message(bare("1", "x"), None);
    check(whole, message());
    check(format!("\u{feff}{whole}"), message());
    check(format!("  {whole}\r"), message());
    check(whole.replacen(r#""type":"message","#, "", 1), message());
    check(
        whole.replacen(r#""type":"message""#, r#""type":null"#, 1),
        message(),
    );
    check(
        whole.replacen('x', r"\ud800 \ud83c\udf89", 1),
        Line::Message(
            Message {
                body: Body::of_json(r#""\ud800 \ud83c\udf89""#).unwrap(),
                ..bare("1", "")
            },
            None,
        ),
    );
    check(
        b"{\"id\":\"1\",\"from\":\"a\",\"to\":\"b\",\"body\":\"\xFF\",\"timestamp\":\"t\"}",
        Line::Message(bare("1", "\u{FFFD}"), None),
    );
    check(
        whole.replacen(
            r#""timestamp":"t""#,
            r#""deliveredAt":"d","timestamp":"t","later":[{}]"#,
            1,
        ),
        Line::Message(bare("1", "x"), Some("d".into())),
    );
}

#[test]
fn a4_what_is_no_record_is_damage_and_says_why() {
    for line in [
        "null",
        "[]",
        "\"x\"",
        "7",
        "x",
        "\u{1}",
        r#"["message","1","a","b","x","t"]"#,
    ] {
        check_damage(line, "not a JSON object");
    }
    for line in [
        "{\"not valid",
        r#"{"id":"1","from":"a","to":"b","body":"x""#,
        "{} {}",
    ] {
        check_damage(line, "at line 1");
    }
    for line in [
        "{}",
        r#"{"id":"1","from":"a","to":"b"}"#,
        r#"{"id":"1","from":null,"to":"b","body":"x"}"#,
        r#"{"id":1,"from":"a","to":"b","body":"x"}"#,
        r#"{"type":"message","messageId":"1"}"#,
    ] {
        check_damage(line, "not a message");
    }
    for line in [
        r#"{"type":"delivery-receipt","messageId":1}"#,
        r#"{"type":"receipt","fact":"shown"}"#,
    ] {
        check_damage(line, "a receipt without messageId");
    }
    check_damage(
        r#"{"type":7,"id":"1","from":"a","to":"b","body":"x"}"#,
        "type is no text",
    );
}

#[test]
fn of_a_key_that_stands_twice_the_last_one_counts_for_every_reader() {
    check(
        r#"{"id":"1","from":"a","to":"b","body":"y","id":"2","body":"x","timestamp":"t"}"#,
        Line::Message(bare("2", "x"), None),
    );
    check(
        r#"{"id":"1","from":"a","to":"b","body":"x\ud800","body":"x","timestamp":"u","timestamp":"t"}"#,
        Line::Message(bare("1", "x"), None),
    );
    check(
        r#"{"type":"delivery-receipt","messageId":"1","deliveredAt":"d","messageId":"2"}"#,
        Line::Receipt(Receipt::Delivered {
            message_id: "2".into(),
            delivered_at: "d".into(),
        }),
    );
}

#[test]
fn a_body_of_another_type_is_shown_as_its_json_byte_for_byte() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for body in [r#"["x",  1]"#, "{}", "123", "1e999", "true", &deep] {
        check(
            format!(r#"{{"id":"1","from":"a","to":"b","timestamp":"t","body": {body} }}"#),
            Line::Message(bare("1", body), None),
        );
    }
}

#[test]
fn a_key_of_ours_with_a_value_of_another_type_spoils_only_itself() {
    check(
        r#"{"id":"1","from":"a","to":"b","body":"x","timestamp":"t","redelivery":"no","intent":7,"verified":"yes",
            "fact":[1],"messageId":{"a":-1.5},"reply_to":null,"idempotency_key":null}"#,
        Line::Message(bare("1", "x"), None),
    );
}

#[test]
fn every_key_of_ours_is_read() {
    check(
        r#"{"type":"message","id":"1","from":"a","to":"b","body":"x","timestamp":"t","reply_to":"0","intent":"ack",
            "idempotency_key":"k","verified":false,"redelivery":2}"#,
        Line::Message(
            Message {
                reply_to: Some("0".into()),
                intent: Some(Intent::Ack),
                idempotency_key: Some("k".into()),
                verified: Some(false),
                redelivery: 2,
                ..bare("1", "x")
            },
            None,
        ),
    );
}

#[test]
fn receipts_are_read_and_facts_of_a_later_version_are_let_be() {
    let delivered = |delivered_at: &str| {
        Line::Receipt(Receipt::Delivered {
            message_id: "1".into(),
            delivered_at: delivered_at.into(),
        })
    };
    check(
        r#"{"type":"delivery-receipt","messageId":"1","deliveredAt":"d"}"#,
        delivered("d"),
    );
    check(
        r#"{"type":"delivery-receipt","messageId":"1"}"#,
        delivered(""),
    );
    for fact in [
        Fact::Notified,
        Fact::Submitted,
        Fact::Shown,
        Fact::DeadLettered,
    ] {
        check(
            format!(
                r#"{{"type":"receipt","messageId":"1","fact":"{}","at":"t","detail":"d"}}"#,
                fact.word()
            ),
            Line::Receipt(Receipt::Noted {
                message_id: "1".into(),
                fact,
                at: "t".into(),
                detail: Some("d".into()),
            }),
        );
    }
    check(
        r#"{"type":"receipt","messageId":"1","fact":"framed"}"#,
        Line::Other,
    );
    check(r#"{"type":"receipt","messageId":"1"}"#, Line::Other);
    check(r#"{"type":"poll","id":[3]}"#, Line::Other);
    check("", Line::Other);
    check(" \r", Line::Other);
    check("\u{feff}", Line::Other);
}

#[test]
fn a_line_tells_when_its_message_was_delivered() {
    let told = |line: &str| {
        read_record(line.as_bytes())
            .unwrap()
            .delivered_at()
            .map(ToString::to_string)
    };
    let message = r#"{"id":"1","from":"a","to":"b","body":"x","deliveredAt":"d"}"#;
    assert_eq!(told(message).as_deref(), Some("d"));
    assert_eq!(told(&message.replace(r#""d""#, "null")), None);
    assert_eq!(
        told(r#"{"type":"delivery-receipt","messageId":"1","deliveredAt":"d"}"#).as_deref(),
        Some("d")
    );
    assert_eq!(
        told(r#"{"type":"receipt","messageId":"1","fact":"shown","at":"d"}"#),
        None
    );
    assert_eq!(told(""), None);
}

/// Any JSON value, nested and odd, as text.
fn values() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        Just("true".to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        Just("1e999".to_string()),
        Just("-0.5".to_string()),
        r#""([a-z]|\\ud8[0-9a-f]{2}|\\u00e9|\\n|é){0,6}""#,
        Just(format!("{}{}", "[".repeat(200), "]".repeat(200))),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3)
                .prop_map(|all| format!("[{}]", all.join(","))),
            inner.prop_map(|value| format!(r#"{{"type":{value}}}"#)),
        ]
    })
}

/// Lines that come near to being records: the keys of records in any order and number, with any value.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    const KEYS: [&str; 16] = [
        "type",
        "id",
        "from",
        "to",
        "body",
        "timestamp",
        "deliveredAt",
        "messageId",
        "fact",
        "at",
        "detail",
        "redelivery",
        "verified",
        "intent",
        "reply_to",
        "x",
    ];
    let kind = prop_oneof![
        Just("message"),
        Just("receipt"),
        Just("delivery-receipt"),
        Just("later")
    ];
    let pair = prop_oneof![
        1 => kind.prop_map(|kind| format!(r#""type":"{kind}""#)),
        3 => ("(id|from|to|body|messageId)", "[a-c]").prop_map(|(key, value)| format!(r#""{key}":"{value}""#)),
        2 => (proptest::sample::select(&KEYS[..]), values()).prop_map(|(key, value)| format!(r#""{key}":{value}"#)),
    ];
    let pairs = proptest::collection::vec(pair, 0..9);
    let rest = proptest::option::weighted(0.2, (any::<proptest::sample::Index>(), any::<u8>()));
    (pairs, rest).prop_map(|(pairs, flaw)| {
        let base = r#""id":"1","from":"a","to":"b""#;
        let mut line = format!(
            "{{{base}{}{}}}",
            if pairs.is_empty() { "" } else { "," },
            pairs.join(",")
        );
        if pairs.len() > 4 {
            line = line.replacen(base, r#""x":0"#, 1);
        }
        let mut line = line.into_bytes();
        if let Some((place, byte)) = flaw {
            let place = place.index(line.len());
            line[place] = byte;
        }
        line
    })
}

proptest! {
    #[test]
    fn the_head_of_a_line_is_the_head_of_its_record(
        line in prop_oneof![4 => lines(), 1 => proptest::collection::vec(any::<u8>(), 0..80)],
    ) {
        match (read_head(&line), read_record(&line)) {
            (Ok(Head::Message { key, delivered, redelivery }), Ok(Line::Message(message, delivered_at))) => {
                prop_assert_eq!(key, MessageKey::of(&message.id));
                prop_assert_eq!(delivered, delivered_at.is_some());
                prop_assert_eq!(redelivery, message.redelivery);
            }
            (Ok(Head::Delivered(key)), Ok(Line::Receipt(Receipt::Delivered { message_id, .. }))) => {
                prop_assert_eq!(key, MessageKey::of(&message_id));
            }
            (Ok(Head::DeadLettered(key)), Ok(Line::Receipt(Receipt::Noted { message_id, fact, .. }))) => {
                prop_assert_eq!((key, fact), (MessageKey::of(&message_id), Fact::DeadLettered));
            }
            (Ok(Head::Other), Ok(Line::Other)) => {}
            (Ok(Head::Other), Ok(Line::Receipt(Receipt::Noted { fact, .. }))) => {
                prop_assert_ne!(fact, Fact::DeadLettered);
            }
            (Err(_), Err(_)) => {}
            (head, record) => prop_assert!(false, "{head:?} {record:?}"),
        }
    }

    #[test]
    fn a_message_is_read_as_it_was_written(
        body in any::<String>(),
        from in ".{0,8}",
        reply_to in proptest::option::of(".{0,8}"),
        intent in proptest::sample::select(&[None, Some(Intent::Request), Some(Intent::Inform), Some(Intent::Ack)][..]),
        verified in any::<Option<bool>>(),
        redelivery in any::<u32>(),
    ) {
        let message = Message {
            from, reply_to, intent, verified, redelivery, idempotency_key: Some("\"k\\".into()), ..bare("1", &body)
        };
        let line = serde_json::to_vec(&message).unwrap();
        prop_assert!(!line.contains(&b'\n'));
        prop_assert_eq!(read_record(&line), Ok(Line::Message(message, None)));
    }
}
