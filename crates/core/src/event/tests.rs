use super::*;
use crate::mailbox::Intent;
use std::collections::BTreeSet;
use std::vec;

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn sent() -> Fact {
    Fact::MessageSent {
        id: "m1".into(),
        from: name("ann"),
        to: name("bob"),
        length: 5,
        intent: Some(Intent::Request),
        reply_to: None,
    }
}

fn event(fact: &Fact) -> Event {
    let line = Event::encode(&name("t"), fact, at(0)).unwrap();
    Event::decode(line.as_bytes()).unwrap()
}

#[test]
fn an_event_is_one_line_and_reads_back() {
    let line = Event::encode(&name("t"), &sent(), at(0)).unwrap();
    assert_eq!(
        line,
        r#"{"v":1,"at":"1970-01-01T00:00:00.000Z","topic":"nous:team:t:agent:bob","type":"message_sent","id":"m1","from":"ann","to":"bob","length":5,"intent":"request"}"#
    );
    let read = Event::decode(line.as_bytes()).unwrap();
    assert_eq!(read.what, What::Known(sent()));
    assert_eq!((read.version, read.topic), (1, Topic::Agent(name("bob"))));
}

#[test]
fn a_fact_without_fields_is_a_line_too() {
    let read = event(&Fact::TeamShutDown {});
    assert_eq!(read.what, What::Known(Fact::TeamShutDown {}));
}

#[test]
fn what_a_later_version_writes_is_kept() {
    let line = br#"{"v":2,"at":"1970-01-01T00:00:00.000Z","topic":"nous:team:t:moon","type":"moon_rose","who":"ann","n":3}"#;
    let read = Event::decode(line).unwrap();
    assert_eq!((read.version, read.word()), (2, "moon_rose"));
    assert_eq!(read.topic, Topic::Other("moon".into()));
    assert_eq!(read.fields().get("n"), Some(&Value::from(3)));
    assert!(read.concerns(&name("ann")) && !read.concerns(&name("bob")));
    // Known by name, and without what this version needs of it.
    let line = br#"{"v":2,"at":"1970-01-01T00:00:00.000Z","topic":"nous:team:t","type":"task_claimed","tasks":[1]}"#;
    assert!(matches!(
        Event::decode(line).unwrap().what,
        What::Unknown { .. }
    ));
    // With one field more than this version knows.
    let line = br#"{"v":2,"at":"1970-01-01T00:00:00.000Z","topic":"nous:team:t","type":"task_released","task":"1","x":1}"#;
    assert!(matches!(Event::decode(line).unwrap().what, What::Known(_)));
}

#[test]
fn what_is_no_event_is_none() {
    for line in [
        "",
        "null",
        "{}",
        "[1]",
        r#"{"v":1}"#,
        r#"{"type":"message_sent"}"#,
    ] {
        assert_eq!(Event::decode(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn topics_read_back_in_both_forms() {
    for topic in [
        Topic::Team,
        Topic::Context,
        Topic::Agent(name("bob")),
        Topic::Other("moon:x".into()),
    ] {
        assert_eq!(Topic::parse(&topic.of(&name("t"))), Some(topic.clone()));
        assert_eq!(Topic::parse(&topic.to_string()), Some(topic));
    }
    assert_eq!(Topic::parse("agent:../x"), None);
    assert_eq!(Topic::parse(""), None);
}

#[test]
fn a_filter_admits_what_meets_every_condition() {
    let event = event(&sent());
    let admits = |filter: Filter| filter.admits(&event);
    let all = Filter::default;
    assert!(admits(all()));
    assert!(admits(Filter {
        member: Some(name("ann")),
        ..all()
    }));
    assert!(!admits(Filter {
        member: Some(name("cy")),
        ..all()
    }));
    assert!(admits(Filter {
        topics: vec![Topic::Team, Topic::Agent(name("bob"))],
        ..all()
    }));
    assert!(!admits(Filter {
        topics: vec![Topic::Team],
        ..all()
    }));
    assert!(admits(Filter {
        types: vec!["message_sent".into()],
        ..all()
    }));
    assert!(!admits(Filter {
        types: vec!["task_added".into()],
        ..all()
    }));
    assert!(admits(Filter {
        since: Some(at(0)),
        ..all()
    }));
    assert!(!admits(Filter {
        since: Some(at(1)),
        ..all()
    }));
}

#[test]
fn the_schema_names_each_type_once_and_its_owner_among_its_fields() {
    let words: BTreeSet<&str> = SCHEMA.iter().map(|row| row.word).collect();
    assert_eq!(words.len(), SCHEMA.len());
    for row in SCHEMA {
        if let Carrier::Agent(field) = row.carrier {
            assert!(
                row.fields.iter().any(|own| own.name == field),
                "{}",
                row.word
            );
        }
        for field in row.fields {
            // The keys of the envelope are taken.
            assert!(
                !["v", "at", "topic", "type"].contains(&field.name),
                "{}",
                row.word
            );
        }
    }
    let strangers = ["message_sent".to_string(), "moon".into()];
    assert_eq!(Filter::strangers(&strangers).collect::<Vec<_>>(), ["moon"]);
}

#[test]
fn the_page_describes_every_type() {
    let page = page();
    for row in SCHEMA {
        let cell = format!("| `{}` |", row.word);
        assert_eq!(page.matches(&cell).count(), 1, "{}", row.word);
    }
}
