use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

use super::*;
use crate::name::LEADER;
use crate::refusal::NameKind;
use crate::roster::{Recruit, Seat, Settings};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

/// A team of `w1`, `w2` and `w3`.
fn team() -> Team {
    let mut team = Team::new(&name("alpha"), "", "", "/p", at(0));
    for member in ["w1", "w2", "w3"] {
        let recruit = Recruit {
            name: name(member),
            role: String::new(),
            seat: Seat::Headless,
            profile: None,
            task_id: None,
        };
        team.add(recruit).unwrap();
    }
    team
}

fn speaker(who: &str) -> Speaker {
    Speaker {
        name: name(who),
        verified: who != LEADER,
    }
}

fn send(to: &str, draft: &Draft) -> Result<Message, Refusal> {
    compose(&team(), &speaker("w1"), to, draft, "m1".into(), at(30_000))
}

fn check_refused(to: &str, draft: &Draft, code: &str) -> Refusal {
    let refusal = send(to, draft).unwrap_err();
    assert_eq!(refusal.code(), code, "{to:?}");
    refusal
}

fn hello() -> Draft {
    Draft::text("hello")
}

/// What reading `lines` from the start of the log shows.
fn index(lines: &[&[u8]]) -> Unread {
    let mut index = Unread::default();
    let mut at = 0;
    for line in lines {
        let end = at + line.len() as u64 + 1;
        assert!(index.absorb(at, end, line, read_head(line).ok()));
        at = end;
    }
    index
}

fn line(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).unwrap()
}

#[test]
fn a_message_says_who_wrote_what_to_whom_and_when() {
    let draft = Draft {
        body: "hello".into(),
        reply_to: Some("m0".into()),
        intent: Some(Intent::Request),
        idempotency_key: Some("k".into()),
    };
    let message = send("w2", &draft).unwrap();
    assert_eq!(
        String::from_utf8(line(&message)).unwrap(),
        r#"{"type":"message","id":"m1","from":"w1","to":"w2","body":"hello","timestamp":"1970-01-01T00:00:30.000Z","reply_to":"m0","intent":"request","idempotency_key":"k","verified":true}"#
    );
}

#[test]
fn a_bare_message_has_the_reference_s_keys_and_whether_its_sender_was_proved() {
    let human = compose(
        &team(),
        &Speaker::human(),
        "w2",
        &hello(),
        "m1".into(),
        at(0),
    )
    .unwrap();
    assert_eq!(
        String::from_utf8(line(&human)).unwrap(),
        r#"{"type":"message","id":"m1","from":"leader","to":"w2","body":"hello","timestamp":"1970-01-01T00:00:00.000Z","verified":false}"#
    );
}

#[test]
fn receipts_have_the_reference_s_form() {
    assert_eq!(
        String::from_utf8(line(&Receipt::delivered("m1", at(5)))).unwrap(),
        r#"{"type":"delivery-receipt","messageId":"m1","deliveredAt":"1970-01-01T00:00:00.005Z"}"#
    );
    let noted = Receipt::noted("m1", Fact::DeadLettered, at(5), Some("5 times".into()));
    assert_eq!(
        String::from_utf8(line(&noted)).unwrap(),
        r#"{"type":"receipt","messageId":"m1","fact":"dead_lettered","at":"1970-01-01T00:00:00.005Z","detail":"5 times"}"#
    );
}

#[test]
fn every_member_and_the_leader_can_be_written_to_the_sender_too() {
    for to in ["w1", "w2", "w3", "leader"] {
        assert_eq!(
            send(to, &hello()).map(|message| message.to),
            Ok(to.to_string())
        );
    }
}

#[test]
fn a1_an_unknown_recipient_is_refused_with_the_names_that_would_have_worked() {
    for (given, likely) in [
        ("w4", Some("w1")),
        ("W1", Some("w1")),
        ("team-lead", None),
        ("Leader", Some("leader")),
    ] {
        assert_eq!(
            check_refused(given, &hello(), "unknown_recipient"),
            Refusal::UnknownRecipient {
                given: given.into(),
                team: "alpha".into(),
                valid: ["w1", "w2", "w3", "leader"].map(String::from).to_vec(),
                nearest: likely.map(String::from),
            }
        );
    }
    for given in ["w1 ", " w1", "", "../w1", "w1\n", "w1\0", "wörker"] {
        check_refused(given, &hello(), "invalid_name");
    }
}

#[test]
fn a1_a_dissolved_member_is_unknown() {
    let mut team = team();
    team.remove("w2", at(1)).unwrap();
    let sent = compose(&team, &speaker("w1"), "w2", &hello(), "m1".into(), at(2));
    assert_eq!(sent.unwrap_err().code(), "unknown_recipient");
}

#[test]
fn what_is_wrong_is_said_in_the_reference_s_order() {
    let empty = Draft::text("");
    check_refused("no name", &empty, "invalid_name");
    check_refused("w9", &empty, "invalid_input");
    check_refused("w9", &hello(), "unknown_recipient");
}

#[test]
fn a5_odd_bodies_stay_byte_for_byte() {
    for body in [
        "ends with;",
        ";",
        "`x` $(touch x) 'a' \"b\" \\",
        "\t\n\n\n\r\n",
        " ",
        "\u{1b}[201~",
        "\0",
        "\u{1F469}\u{200D}\u{1F4BB}",
        "\u{2028}",
        &"x".repeat(64 * 1024),
        &"\u{1F389}".repeat(256 * 1024),
    ] {
        let written = line(&send("w2", &Draft::text(body)).unwrap());
        assert!(!written.contains(&b'\n'));
        let Ok(Line::Message(read, None)) = read_record(&written) else {
            panic!("{body:?}")
        };
        assert!(read.body == body);
    }
}

#[test]
fn a5_a_body_has_at_least_a_byte_and_at_most_the_team_s_limit() {
    let sized = |bytes: u64| Draft::text("x".repeat(usize::try_from(bytes).unwrap()));
    check_refused("w2", &sized(0), "invalid_input");
    assert!(send("w2", &sized(MAX_BODY)).is_ok());
    assert_eq!(
        check_refused("w2", &sized(MAX_BODY + 1), "body_too_large"),
        Refusal::BodyTooLarge {
            size: MAX_BODY + 1,
            limit: MAX_BODY
        }
    );

    let mut team = team();
    team.settings = Some(Settings {
        max_body: Some(3),
        ..Settings::default()
    });
    let sent = |body: &str| {
        compose(
            &team,
            &speaker("w1"),
            "w2",
            &Draft::text(body),
            "m".into(),
            at(0),
        )
        .map(|_| ())
    };
    assert_eq!(sent("abc"), Ok(()));
    assert_eq!(sent("äb"), Ok(()), "bytes are counted, not letters");
    assert_eq!(
        sent("äöü"),
        Err(Refusal::BodyTooLarge { size: 6, limit: 3 })
    );
}

#[test]
fn keys_have_1_to_200_bytes() {
    let with = |key: &str| {
        let key = || Some(key.to_string());
        [
            Draft {
                reply_to: key(),
                ..hello()
            },
            Draft {
                idempotency_key: key(),
                ..hello()
            },
        ]
    };
    for draft in with(&"k".repeat(MAX_KEY)) {
        assert!(send("w2", &draft).is_ok());
    }
    for draft in [with(""), with(&"k".repeat(MAX_KEY + 1))].as_flattened() {
        check_refused("w2", draft, "invalid_input");
    }
}

#[test]
fn a_broadcast_skips_its_sender_and_reaches_the_leader_last() {
    let to = |who: &Speaker| -> Vec<(String, String)> {
        let mut ids = (1..).map(|n: u32| n.to_string());
        let messages =
            compose_broadcast(&team(), who, &hello(), || ids.next().unwrap(), at(0)).unwrap();
        messages
            .into_iter()
            .map(|message| (message.id, message.to))
            .collect()
    };
    let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter()
            .map(|(id, to)| (id.to_string(), to.to_string()))
            .collect()
    };
    assert_eq!(
        to(&speaker("w2")),
        pairs(&[("1", "w1"), ("2", "w3"), ("3", "leader")])
    );
    assert_eq!(
        to(&Speaker::human()),
        pairs(&[("1", "w1"), ("2", "w2"), ("3", "w3")])
    );
}

#[test]
fn a_broadcast_is_refused_as_a_whole() {
    let refused = compose_broadcast(
        &team(),
        &speaker("w1"),
        &Draft::text(""),
        String::new,
        at(0),
    );
    assert_eq!(refused.unwrap_err().code(), "invalid_input");
}

#[test]
fn a_broadcast_reaches_each_mailbox_once_whoever_wrote_the_roster() {
    let mut team = team();
    for odd in ["W1", "leader", "Leader", "no name"] {
        let mut member = team.workers[0].clone();
        member.name = odd.into();
        team.workers.push(member);
    }
    let messages = compose_broadcast(&team, &speaker("w1"), &hello(), String::new, at(0)).unwrap();
    let to: Vec<_> = messages.iter().map(|message| message.to.as_str()).collect();
    assert_eq!(to, ["w2", "w3", "leader"]);
}

#[test]
fn a6_listing_consumes_nothing_and_only_the_named_message_is_acknowledged() {
    let sent = |id: &str| {
        line(&compose(&team(), &speaker("w1"), "w2", &hello(), id.into(), at(0)).unwrap())
    };
    let (a, b, c, d) = (sent("a"), sent("b"), sent("c"), sent("d"));
    let mut index = index(&[&a, &b, &c]);
    let open = |index: &Unread| -> Vec<MessageKey> { index.open().map(|open| open.key).collect() };
    let before = index.clone();
    assert_eq!(open(&index), open(&index));
    assert_eq!(index, before);

    let receipt = line(&Receipt::delivered("b", at(1)));
    let mut end = index.scanned();
    for line in [&d, &receipt] {
        let start = end;
        end += line.len() as u64 + 1;
        assert!(index.absorb(start, end, line, read_head(line).ok()));
    }
    assert_eq!(open(&index), ["a", "c", "d"].map(MessageKey::of));
}

#[test]
fn a9_a_key_asks_for_one_message_of_one_sender() {
    let keyed = Draft {
        idempotency_key: Some("k".into()),
        ..hello()
    };
    let message = send("w2", &keyed).unwrap();
    assert!(same_request(&message, "w1", "k"));
    assert!(!same_request(&message, "w1", "K"));
    assert!(!same_request(&message, "w2", "k"));
    assert!(!same_request(&send("w2", &hello()).unwrap(), "w1", "k"));
}

#[test]
fn a10_a_message_that_its_reader_always_fails_on_is_given_up_and_can_be_put_back() {
    let team = team();
    let message = send("w2", &hello()).unwrap();
    let sent = line(&message);
    let mut unread = index(&[&sent]);
    for attempt in 1..=team.max_attempts() {
        let now = at(i64::from(attempt) * 1_000);
        assert_eq!(unread.exhausted(team.max_attempts(), now).count(), 0);
        let taken = unread.lease("r", now, now.plus_millis(1_000)).unwrap();
        assert_eq!(taken.attempts, attempt);
    }
    let exhausted = unread.exhausted(team.max_attempts(), at(6_000));
    assert_eq!(
        exhausted.map(|open| open.key).collect::<Vec<_>>(),
        [MessageKey::of("m1")]
    );

    let given_up = line(&Receipt::noted("m1", Fact::DeadLettered, at(6_000), None));
    assert_eq!(index(&[&sent, &given_up]).open().len(), 0);
    let again = redelivered(&message);
    assert_eq!(
        again,
        Message {
            redelivery: 1,
            ..message
        }
    );
    assert_eq!(index(&[&sent, &given_up, &line(&again)]).open().len(), 1);
    let twice = redelivered(&again);
    assert_eq!(twice.redelivery, 2);
    assert_eq!(
        redelivered(&Message {
            redelivery: u32::MAX,
            ..twice
        })
        .redelivery,
        u32::MAX
    );
}

#[test]
fn words_are_read_as_they_are_written() {
    for (intent, word) in [
        (Intent::Request, "request"),
        (Intent::Inform, "inform"),
        (Intent::Ack, "ack"),
    ] {
        assert_eq!(Intent::parse(word), Ok(intent));
        assert_eq!(serde_json::to_value(intent).unwrap(), word);
    }
    assert_eq!(Intent::parse("Ack").unwrap_err().code(), "invalid_input");
    for fact in [
        Fact::Notified,
        Fact::Submitted,
        Fact::Shown,
        Fact::DeadLettered,
    ] {
        assert_eq!(Fact::parse(fact.word()), Some(fact));
        assert_eq!(serde_json::to_value(fact).unwrap(), fact.word());
    }
    assert_eq!(Fact::parse("delivered"), None);
}

proptest! {
    #[test]
    fn whatever_is_sent_is_read_back_from_one_line(
        body in any::<String>(),
        to in prop_oneof![3 => "w[1-4]", 1 => ".{0,10}"],
        key in ".{0,10}",
    ) {
        let draft = Draft { body: body.into(), idempotency_key: Some(key), ..Draft::default() };
        if let Ok(message) = send(&to, &draft) {
            prop_assert!(team().recipient(&to).is_ok());
            let written = line(&message);
            prop_assert!(!written.contains(&b'\n'));
            prop_assert_eq!(read_record(&written), Ok(Line::Message(message, None)));
        }
    }
}
