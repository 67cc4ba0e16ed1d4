use alloc::string::ToString;
use proptest::prelude::*;

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn name(text: &str) -> Name {
    Name::new(NameKind::Member, text).unwrap()
}

fn recruit(text: &str) -> Recruit {
    Recruit {
        name: name(text),
        role: "coder".into(),
        seat: Seat::Headless,
        profile: Some("sh".into()),
        task_id: Some("1".into()),
    }
}

fn team(members: &[&str]) -> Team {
    let mut team = Team::new(&name("alpha"), "goal", "coder", "/p", at(0));
    for member in members {
        team.add(recruit(member)).unwrap();
    }
    team
}

/// A member as another program may have written it.
fn foreign(name: &str) -> Member {
    serde_json::from_value(serde_json::json!({"name": name, "role": "", "taskId": "1"})).unwrap()
}

/// That `change` is refused with `code` and leaves the team as it was.
fn check_refused<A: core::fmt::Debug>(
    team: &mut Team,
    code: &str,
    change: impl FnOnce(&mut Team) -> Result<A, Refusal>,
) -> Refusal {
    let before = team.clone();
    let refusal = change(team).unwrap_err();
    assert_eq!(refusal.code(), code);
    assert_eq!(*team, before);
    refusal
}

#[test]
fn a_team_is_written_in_the_reference_s_order() {
    let json = serde_json::to_string(&team(&["w1"])).unwrap();
    assert_eq!(
        json,
        r#"{"name":"alpha","task":"goal","role":"coder","workerCount":1,"workers":[{"name":"w1","role":"coder","taskId":"1","seat":"headless","profile":"sh"}],"cwd":"/p","createdAt":"1970-01-01T00:00:00.000Z"}"#
    );
    assert_eq!(serde_json::from_str::<Team>(&json).unwrap(), team(&["w1"]));
}

#[test]
fn a_team_of_the_reference_is_read() {
    let json = r#"{"name":"alpha","task":"t","role":"claude","workerCount":1,"tmuxSession":"omp-team-alpha",
        "tmuxIdentity":{"serverPid":1},"workers":[{"name":"worker-1","role":"claude","paneId":"%1","taskId":"1"}],
        "cwd":"/p","createdAt":"2026-11-30T16:22:28.904Z"}"#;
    let team: Team = serde_json::from_str(json).unwrap();
    let member = team.member("worker-1").unwrap();
    assert_eq!(
        (member.incarnation, member.pane_id.as_deref(), member.seat),
        (1, Some("%1"), None)
    );
    assert_eq!(
        (team.identity(), team.max_body()),
        (Identity::Declared, MAX_BODY)
    );
    assert_eq!(
        (team.max_attempts(), team.claim_limit()),
        (MAX_ATTEMPTS, None)
    );
}

#[test]
fn settings_replace_the_defaults() {
    let mut team = team(&[]);
    team.settings = serde_json::from_str(
        r#"{"identity":"verified","maxBody":9,"maxAttempts":0,"claimLimit":2}"#,
    )
    .ok();
    assert_eq!((team.identity(), team.max_body()), (Identity::Verified, 9));
    assert_eq!(
        (team.max_attempts(), team.claim_limit()),
        (1, Some(2)),
        "at least one attempt"
    );
}

#[test]
fn everybody_has_one_mailbox_the_leader_s_last() {
    let mut team = team(&["w1", "W2"]);
    for odd in ["w2", "no name", "leader", "LEADER", "../w1", ""] {
        team.workers.push(foreign(odd));
    }
    assert_eq!(team.everybody(), [name("w1"), name("W2"), Name::leader()]);
}

#[test]
fn a1_a_recipient_that_cannot_be_is_refused_with_those_that_can() {
    let team = team(&["worker-1"]);
    let valid = ["worker-1", "leader"].map(String::from).to_vec();
    for (given, nearest) in [("worker-1 ", Some("worker-1".to_string())), ("", None)] {
        let (kind, given, valid) = (
            crate::refusal::NameKind::Recipient,
            given.to_string(),
            valid.clone(),
        );
        let refused = team.recipient(&given);
        assert_eq!(
            refused,
            Err(Refusal::InvalidName {
                kind,
                given,
                valid,
                nearest
            })
        );
    }
}

#[test]
fn a1_a_name_is_found_exactly_and_a_near_one_is_offered() {
    let team = team(&["worker-1", "worker-2"]);
    for known in ["worker-1", "worker-2", "leader"] {
        assert_eq!(team.recipient(known), Ok(name(known)));
    }
    let valid = || {
        ["worker-1", "worker-2", "leader"]
            .map(String::from)
            .to_vec()
    };
    for (given, nearest) in [
        ("Worker-1", Some("worker-1")),
        ("worker-3", Some("worker-1")),
        ("bob", None),
    ] {
        let (given, team_id, nearest) = (
            given.to_string(),
            "alpha".to_string(),
            nearest.map(String::from),
        );
        assert_eq!(
            team.recipient(&given),
            Err(Refusal::UnknownRecipient {
                given,
                team: team_id,
                valid: valid(),
                nearest
            })
        );
    }
}

#[test]
fn a13_a_stranger_is_neither_sender_nor_worker() {
    let team = team(&["w1"]);
    let (given, valid) = (
        "mallory".to_string(),
        ["w1", "leader"].map(String::from).to_vec(),
    );
    let (team_id, nearest) = ("alpha".to_string(), None);
    assert_eq!(
        team.sender("mallory"),
        Err(Refusal::UnknownSender {
            given: given.clone(),
            team: team_id.clone(),
            valid: valid.clone(),
            nearest: nearest.clone()
        })
    );
    assert_eq!(
        team.worker("mallory"),
        Err(Refusal::UnknownMember {
            given,
            team: team_id,
            valid,
            nearest
        })
    );
    assert_eq!(
        (team.sender("leader"), team.worker("leader")),
        (Ok(Name::leader()), Ok(Name::leader()))
    );
}

#[test]
fn a_name_is_taken_in_every_case_and_the_leader_s_always() {
    let mut team = team(&["w1"]);
    for taken in ["w1", "W1"] {
        let refusal = check_refused(&mut team, "member_exists", |team| team.add(recruit(taken)));
        assert_eq!(
            refusal,
            Refusal::MemberExists {
                member: "w1".into()
            }
        );
    }
    for reserved in ["leader", "Leader"] {
        check_refused(&mut team, "invalid_name", |team| {
            team.add(recruit(reserved))
        });
    }
}

#[test]
fn the_count_follows_who_comes_and_goes() {
    let mut team = team(&["w1", "w2"]);
    assert_eq!(team.worker_count, 2);
    let gone = team.remove("w1", at(5)).unwrap();
    assert_eq!((gone.name.as_str(), team.worker_count), ("w1", 1));
    assert_eq!(
        team.former,
        [Former {
            name: "w1".into(),
            incarnation: 1,
            left_at: at(5)
        }]
    );
    assert_eq!(
        (team.member("w1"), team.everybody()),
        (None, [name("w2"), Name::leader()].to_vec())
    );
}

#[test]
fn only_members_can_leave_or_be_started() {
    let mut team = team(&["w1"]);
    team.workers.push(foreign("leader"));
    team.workers.push(foreign("no name"));
    for (who, code) in [
        ("w9", "unknown_member"),
        ("W1", "unknown_member"),
        ("no name", "unknown_member"),
        ("leader", "role_denied"),
    ] {
        check_refused(&mut team, code, |team| team.remove(who, at(0)));
        check_refused(&mut team, code, |team| team.incarnate(who, "h".into()));
    }
}

#[test]
fn each_token_starts_an_incarnation_and_ends_the_one_before() {
    let mut team = team(&["w1", "w2"]);
    assert_eq!(team.incarnate("w1", "hash-1".into()), Ok(1));
    assert_eq!(team.token_holder("hash-1"), Some(name("w1")));
    assert_eq!(team.incarnate("w1", "hash-2".into()), Ok(2));
    assert_eq!(team.token_holder("hash-1"), None);
    assert_eq!(team.token_holder("hash-2"), Some(name("w1")));
    assert_eq!(team.incarnate("w2", "hash-3".into()), Ok(1));
}

#[test]
fn a_retired_token_is_nobodys_and_the_next_starts_another_incarnation() {
    let mut team = team(&["w1", "w2"]);
    team.incarnate("w1", "hash-1".into()).unwrap();
    team.retire_token("w1").unwrap();
    assert_eq!(team.token_holder("hash-1"), None);
    assert_eq!(team.incarnate("w1", "hash-2".into()), Ok(2));
    team.retire_token("w2").unwrap();
    assert_eq!(team.incarnate("w2", "hash-3".into()), Ok(1), "it had none");
    assert!(team.retire_token("leader").is_err());
}

#[test]
fn the_incarnations_of_a_name_go_on_after_it_left() {
    let mut team = team(&["w1"]);
    team.incarnate("w1", "hash-1".into()).unwrap();
    team.incarnate("w1", "hash-2".into()).unwrap();
    team.remove("w1", at(1)).unwrap();
    assert_eq!(team.token_holder("hash-2"), None);
    team.add(recruit("W1")).unwrap();
    assert_eq!((team.workers[0].incarnation, team.former.len()), (3, 0));
    assert_eq!(team.incarnate("W1", "hash-3".into()), Ok(3));
}

#[test]
fn a_name_that_left_more_than_once_goes_on_from_its_last_life() {
    let mut team = team(&[]);
    for (name, incarnation) in [("w1", 4), ("W1", 7), ("w2", 9), ("w1", 2)] {
        let (name, left_at) = (name.to_string(), at(0));
        team.former.push(Former {
            name,
            incarnation,
            left_at,
        });
    }
    team.add(recruit("w1")).unwrap();
    assert_eq!(
        (team.workers[0].incarnation, team.former.len()),
        (8, 1),
        "w2 stays"
    );
}

#[test]
fn absurd_incarnations_saturate() {
    let mut team = team(&["w1"]);
    team.workers[0].incarnation = u32::MAX;
    team.incarnate("w1", "hash-1".into()).unwrap();
    assert_eq!(team.incarnate("w1", "hash-2".into()), Ok(u32::MAX));
    team.remove("w1", at(1)).unwrap();
    team.add(recruit("w1")).unwrap();
    assert_eq!(team.workers[0].incarnation, u32::MAX);
}

#[test]
fn no_token_is_the_leader_s_or_a_stranger_s() {
    let mut team = team(&["w1"]);
    for odd in ["leader", "no name", "W1"] {
        team.workers.push(Member {
            token_hash: Some(odd.into()),
            ..foreign(odd)
        });
    }
    for odd in ["leader", "no name", "W1", ""] {
        assert_eq!(team.token_holder(odd), None, "{odd}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add(&'static str),
    Remove(&'static str),
    Incarnate(&'static str),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let who = || proptest::sample::select(&["w1", "W1", "w2", "leader", "x"][..]);
    let step = prop_oneof![
        3 => who().prop_map(Step::Add),
        1 => who().prop_map(Step::Remove),
        2 => who().prop_map(Step::Incarnate),
    ];
    proptest::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn names_stay_unique_lives_only_grow_and_a_refusal_changes_nothing(steps in steps()) {
        let mut team = team(&[]);
        let lives = |team: &Team| -> u32 {
            let present = team.workers.iter().filter(|member| member.name.eq_ignore_ascii_case("w1"));
            let former = team.former.iter().filter(|former| former.name.eq_ignore_ascii_case("w1"));
            let of_each = present.map(|member| member.incarnation).chain(former.map(|former| former.incarnation));
            of_each.max().unwrap_or(0)
        };
        for (n, step) in steps.into_iter().enumerate() {
            let before = team.clone();
            let done = match step {
                Step::Add(who) => team.add(recruit(who)).is_ok(),
                Step::Remove(who) => team.remove(who, at(0)).is_ok(),
                Step::Incarnate(who) => team.incarnate(who, n.to_string()).is_ok(),
            };
            prop_assert!(done || team == before);
            prop_assert!(lives(&team) >= lives(&before));
            prop_assert_eq!(team.worker_count as usize, team.workers.len());
            prop_assert_eq!(team.everybody().len(), team.workers.len() + 1);
            let json = serde_json::to_string(&team).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Team>(&json).unwrap(), &team);
        }
    }
}
