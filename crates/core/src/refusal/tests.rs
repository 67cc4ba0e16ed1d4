use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Value, json};

use super::*;

mod plane;

use plane::{claims, limits};

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// The names that [`unknown`] says are there.
fn unknown(variant: fn(String, String, Vec<String>, Option<String>) -> Refusal) -> Refusal {
    let valid = texts(&["w1", "leader"]);
    variant("w3".into(), "alpha".into(), valid, Some("w1".into()))
}

/// Every refusal once: what it says, and its facts beside the code.
fn rows() -> Vec<(Refusal, &'static str, Value)> {
    let names = json!({"given": "w3", "team": "alpha", "valid": ["w1", "leader"], "nearest": "w1"});
    let (status, expected) = (Status::Completed, Status::InProgress);
    let (id, member, team) = (
        || "1".to_string(),
        || "w1".to_string(),
        || "alpha".to_string(),
    );
    Vec::from([
        (
            Refusal::InvalidName {
                kind: NameKind::Recipient,
                given: "w 1\u{1b}".into(),
                valid: Vec::from(["w1".into()]),
                nearest: Some("w1".into()),
            },
            r#""w 1\u{1b}" is not a valid recipient name"#,
            json!({"kind": "recipient", "given": "w 1\u{1b}", "valid": ["w1"], "nearest": "w1"}),
        ),
        (
            Refusal::InvalidTaskId { given: "..".into() },
            r#"".." is not a valid task id"#,
            json!({"given": ".."}),
        ),
        (
            Refusal::input("body", "must not be empty"),
            "body: must not be empty",
            json!({"field": "body", "why": "must not be empty"}),
        ),
        (
            unknown(|given, team, valid, nearest| Refusal::UnknownRecipient {
                given,
                team,
                valid,
                nearest,
            }),
            r#"no recipient named "w3" in team alpha"#,
            names.clone(),
        ),
        (
            unknown(|given, team, valid, nearest| Refusal::UnknownSender {
                given,
                team,
                valid,
                nearest,
            }),
            r#"no sender named "w3" in team alpha"#,
            names.clone(),
        ),
        (
            unknown(|given, team, valid, nearest| Refusal::UnknownMember {
                given,
                team,
                valid,
                nearest,
            }),
            r#"no member named "w3" in team alpha"#,
            names,
        ),
        (
            Refusal::TeamNotFound {
                given: "alhpa".into(),
                valid: texts(&["alpha"]),
                nearest: Some("alpha".into()),
            },
            "team alhpa not found",
            json!({"given": "alhpa", "valid": ["alpha"], "nearest": "alpha"}),
        ),
        (
            Refusal::TeamExists { team: team() },
            "team alpha exists already",
            json!({"team": "alpha"}),
        ),
        (
            Refusal::TeamLive {
                team: team(),
                running: texts(&["w1", "w2"]),
            },
            "team alpha is live: w1, w2",
            json!({"team": "alpha", "running": ["w1", "w2"]}),
        ),
        (
            Refusal::MemberExists { member: member() },
            "member w1 exists already",
            json!({"member": "w1"}),
        ),
        (
            Refusal::SenderMismatch {
                claimed: "leader".into(),
                actual: member(),
            },
            "the token belongs to w1, not to leader",
            json!({"claimed": "leader", "actual": "w1"}),
        ),
        (
            Refusal::InvalidToken { team: team() },
            "the token belongs to no present member of team alpha",
            json!({"team": "alpha"}),
        ),
        (
            Refusal::TokenRequired {
                team: team(),
                claimed: member(),
            },
            "team alpha wants a token from whoever speaks as w1",
            json!({"team": "alpha", "claimed": "w1"}),
        ),
        (
            Refusal::BodyTooLarge { size: 9, limit: 8 },
            "the body has 9 bytes, the limit is 8",
            json!({"size": 9, "limit": 8}),
        ),
        (
            Refusal::MessageNotFound {
                id: "m".into(),
                mailbox: member(),
            },
            "no message m in the mailbox of w1",
            json!({"id": "m", "mailbox": "w1"}),
        ),
        (
            Refusal::NotDeadLettered { id: "m".into() },
            "message m is not on the dead-letter list",
            json!({"id": "m"}),
        ),
        (
            Refusal::TaskNotFound { id: id() },
            "task 1 not found",
            json!({"id": "1"}),
        ),
        (
            Refusal::TaskExists { id: id() },
            "task 1 exists already",
            json!({"id": "1"}),
        ),
        (
            Refusal::NotPending {
                id: id(),
                status,
                owner: Some(member()),
            },
            "task 1 status=completed",
            json!({"id": "1", "status": "completed", "owner": "w1"}),
        ),
        (
            Refusal::UnexpectedStatus {
                id: id(),
                status: Status::Pending,
                expected,
            },
            "task 1 status=pending, expected in_progress",
            json!({"id": "1", "status": "pending", "expected": "in_progress"}),
        ),
        (
            Refusal::AlreadyTerminal {
                id: id(),
                status,
                expected,
            },
            "task 1 status=completed, expected in_progress",
            json!({"id": "1", "status": "completed", "expected": "in_progress"}),
        ),
        (
            Refusal::StaleToken {
                id: id(),
                owner: None,
            },
            "claim token mismatch",
            json!({"id": "1", "owner": null}),
        ),
        (
            Refusal::InvalidStatus {
                from: "pending".into(),
                to: "banana".into(),
            },
            "a task cannot go from pending to banana",
            json!({"from": "pending", "to": "banana"}),
        ),
        (
            Refusal::Blocked {
                id: id(),
                on: texts(&["2", "3"]),
                failed: texts(&["3"]),
            },
            "task 1 is blocked by 2, 3",
            json!({"id": "1", "on": ["2", "3"], "failed": ["3"]}),
        ),
        (
            Refusal::AssignedElsewhere {
                id: id(),
                member: member(),
            },
            "task 1 is assigned to w1",
            json!({"id": "1", "member": "w1"}),
        ),
        (
            Refusal::ClaimLimit {
                member: member(),
                holding: 2,
                limit: 2,
            },
            "w1 holds 2 tasks, the limit is 2",
            json!({"member": "w1", "holding": 2, "limit": 2}),
        ),
        (
            Refusal::LeaderOnly {
                member: member(),
                action: "remove the team".into(),
            },
            "only the leader may remove the team, and this is w1",
            json!({"member": "w1", "action": "remove the team"}),
        ),
        (
            Refusal::ShutDown {
                team: team(),
                at: "2026-11-30T16:00:00.000Z".into(),
            },
            "team alpha was shut down at 2026-11-30T16:00:00.000Z",
            json!({"team": "alpha", "at": "2026-11-30T16:00:00.000Z"}),
        ),
        (
            Refusal::RoleDenied {
                role: "researcher".into(),
                action: "call delete_file".into(),
            },
            "the role researcher may not call delete_file",
            json!({"role": "researcher", "action": "call delete_file"}),
        ),
        (
            Refusal::InvalidDependency {
                id: id(),
                fault: DependencyFault::Cycle(texts(&["1", "2", "1"])),
            },
            "task 1 cannot depend so: cycle 1 -> 2 -> 1",
            json!({"id": "1", "fault": {"cycle": ["1", "2", "1"]}}),
        ),
    ])
    .into_iter()
    .chain(claims())
    .chain(limits())
    .collect()
}

#[test]
fn every_code_has_exactly_one_row() {
    let rows: Vec<_> = rows().iter().map(|(refusal, ..)| refusal.code()).collect();
    assert_eq!(rows, Refusal::CODES);
}

#[test]
fn the_code_is_the_serialized_tag_and_the_facts_stand_beside_it() {
    for (refusal, _, facts) in rows() {
        let mut expected = facts;
        expected["code"] = refusal.code().into();
        assert_eq!(serde_json::to_value(&refusal).unwrap(), expected);
    }
}

#[test]
fn what_it_says_is_a_lower_case_fragment() {
    for (refusal, says, _) in rows() {
        assert_eq!(refusal.to_string(), says);
        assert!(!says.starts_with(char::is_uppercase), "{says}");
        assert!(!says.ends_with(['.', '!', ' ']), "{says}");
        assert!(!says.contains(char::is_control), "{says}");
    }
}

#[test]
fn every_fault_of_a_dependency_is_said_in_words() {
    let check = |fault: DependencyFault, says: &str, facts: Value| {
        assert_eq!(serde_json::to_value(&fault).unwrap(), facts);
        let refusal = Refusal::InvalidDependency {
            id: "1".into(),
            fault,
        };
        assert_eq!(refusal.to_string(), says);
    };
    check(
        DependencyFault::Itself,
        "task 1 cannot depend so: it waits for itself",
        json!("itself"),
    );
    check(
        DependencyFault::Unknown("9".into()),
        "task 1 cannot depend so: there is no task 9",
        json!({"unknown": "9"}),
    );
    check(
        DependencyFault::Cycle(texts(&["1", "2", "1"])),
        "task 1 cannot depend so: cycle 1 -> 2 -> 1",
        json!({"cycle": ["1", "2", "1"]}),
    );
}

#[test]
fn every_kind_of_name_has_its_serialized_word() {
    for kind in [
        NameKind::Team,
        NameKind::Member,
        NameKind::Recipient,
        NameKind::Lane,
    ] {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
    }
}
