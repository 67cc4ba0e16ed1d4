use super::*;
use crate::refusal::NameKind;
use crate::roster::{Recruit, Seat, Settings};
use crate::time::Timestamp;

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

/// `w1` with the token `token-1`, `w2` with `token-2`, `w3` without one.
fn team(identity: Identity) -> Team {
    let now = Timestamp::from_millis(0);
    let mut team = Team::new(&name("alpha"), "", "", "/p", now);
    team.settings = Some(Settings {
        identity: Some(identity),
        ..Settings::default()
    });
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
    team.incarnate("w1", hash_token("token-1")).unwrap();
    team.incarnate("w2", hash_token("token-2")).unwrap();
    team
}

const BOTH: [Identity; 2] = [Identity::Declared, Identity::Verified];

fn check(
    identity: Identity,
    token: Option<&str>,
    claimed: Option<&str>,
    expected: Result<(&str, bool), &str>,
) {
    let answer = identify(&team(identity), token, claimed);
    let expected = expected
        .map(|(who, verified)| Speaker {
            name: name(who),
            verified,
        })
        .map_err(str::to_string);
    assert_eq!(
        answer.map_err(|refusal| refusal.code().to_string()),
        expected,
        "{identity:?} {token:?} {claimed:?}"
    );
}

#[test]
fn a_token_speaks_for_its_member_alone() {
    for identity in BOTH {
        check(identity, Some("token-1"), None, Ok(("w1", true)));
        check(identity, Some("token-1"), Some("w1"), Ok(("w1", true)));
        check(identity, Some("token-2"), Some("w2"), Ok(("w2", true)));
    }
}

#[test]
fn a12_a_member_s_token_cannot_speak_as_the_leader_or_as_another() {
    for identity in BOTH {
        for claimed in ["leader", "w2", "W1", "mallory", ""] {
            check(
                identity,
                Some("token-1"),
                Some(claimed),
                Err("sender_mismatch"),
            );
        }
    }
    assert_eq!(
        identify(&team(Identity::Declared), Some("token-1"), Some("leader")),
        Err(Refusal::SenderMismatch {
            claimed: "leader".into(),
            actual: "w1".into()
        })
    );
}

#[test]
fn a_token_of_nobody_present_is_refused_whatever_it_claims() {
    for identity in BOTH {
        for token in ["", "token-3", "TOKEN-1", &hash_token("token-1")] {
            for claimed in [None, Some("leader"), Some("w1")] {
                check(identity, Some(token), claimed, Err("invalid_token"));
            }
        }
    }
}

#[test]
fn what_an_earlier_incarnation_still_says_is_refused() {
    let mut team = team(Identity::Declared);
    team.incarnate("w1", hash_token("token-9")).unwrap();
    assert_eq!(
        identify(&team, Some("token-1"), None).unwrap_err().code(),
        "invalid_token"
    );
    assert_eq!(
        identify(&team, Some("token-9"), None),
        Ok(Speaker {
            name: name("w1"),
            verified: true
        })
    );
    team.remove("w1", Timestamp::from_millis(1)).unwrap();
    assert_eq!(
        identify(&team, Some("token-9"), None).unwrap_err().code(),
        "invalid_token"
    );
}

#[test]
fn without_a_token_the_human_at_the_keyboard_speaks() {
    for identity in BOTH {
        check(identity, None, None, Ok(("leader", false)));
        check(identity, None, Some("leader"), Ok(("leader", false)));
    }
    assert_eq!(
        identify(&team(Identity::Declared), None, None),
        Ok(Speaker::human())
    );
}

#[test]
fn a_declared_member_is_marked_as_unproved_unless_the_team_wants_proof() {
    check(Identity::Declared, None, Some("w1"), Ok(("w1", false)));
    check(Identity::Verified, None, Some("w1"), Err("token_required"));
}

#[test]
fn a13_a_stranger_cannot_speak() {
    for identity in BOTH {
        for claimed in ["mallory", "Leader", "W1", "leader ", "", "../w1"] {
            check(identity, None, Some(claimed), Err("unknown_sender"));
        }
    }
}

#[test]
fn standing_is_what_a_recipient_should_make_of_a_sender() {
    for (who, verified, expected, word) in [
        ("w1", true, Standing::Peer, "peer"),
        ("w1", false, Standing::Peer, "peer"),
        ("leader", true, Standing::Leader, "leader"),
        ("leader", false, Standing::Human, "human"),
    ] {
        let speaker = Speaker {
            name: name(who),
            verified,
        };
        assert_eq!((speaker.standing(), expected.word()), (expected, word));
        assert_eq!(serde_json::to_value(expected).unwrap(), word);
    }
    assert_eq!(
        standing("Leader", false),
        Standing::Peer,
        "no other spelling is the leader"
    );
}

#[test]
fn a_token_is_kept_as_its_sha_256() {
    assert_eq!(
        hash_token("abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}
