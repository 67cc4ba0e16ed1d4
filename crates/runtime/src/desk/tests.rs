//! The desk over the store in memory: whole requests, with time and chance in hand.

use std::ops::ControlFlow;

use pitcrew_core::mailbox::{Draft, Intent, Message};
use pitcrew_core::roster::{Recruit, Seat, Settings, Team};
use pitcrew_core::task::{Readiness, Status, Task};
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_store::memory::MemoryStore;
use pitcrew_store::{Log, Store, StoreExt};

use super::{
    Change, Credentials, Desk, Founding, HEARTBEAT_FRESH_MS, Happened, MailIndex, NotDone, Plan,
    TaskPlan, Wanted, Which,
};
use crate::clock::{ManualClock, SeededEntropy};

mod claims;
mod discoveries;
mod events;
mod exchanges;
mod index;
mod limits;

struct Crew {
    name: Name,
    store: MemoryStore,
    clock: ManualClock,
    entropy: SeededEntropy,
}

fn name(text: &str) -> Name {
    Name::new(pitcrew_core::refusal::NameKind::Member, text).unwrap()
}

fn recruit(text: &str) -> Recruit {
    Recruit {
        name: name(text),
        role: "coder".into(),
        seat: Seat::Headless,
        profile: None,
        task_id: None,
    }
}

impl Crew {
    fn of(members: &[&str]) -> Self {
        let crew = Self {
            name: name("t"),
            store: MemoryStore::new(),
            clock: ManualClock::at(1_796_055_748_904),
            entropy: SeededEntropy::new(1),
        };
        let members = members.iter().map(|member| recruit(member)).collect();
        crew.desk()
            .found(&Plan {
                founding: Founding::default(),
                members,
                tasks: Vec::new(),
            })
            .unwrap();
        crew
    }

    fn desk(&self) -> Desk<'_> {
        Desk::new(&self.name, &self.store, &self.clock, &self.entropy)
    }

    fn unread(&self, owner: &str) -> Vec<Message> {
        self.listed(owner, Which::Unread)
    }

    fn listed(&self, owner: &str, which: Which) -> Vec<Message> {
        let mut messages = Vec::new();
        self.desk()
            .list_mail(&name(owner), which, &mut |mail| {
                messages.push(mail.message);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        messages
    }

    fn bodies(&self, owner: &str) -> Vec<String> {
        self.unread(owner)
            .into_iter()
            .map(|message| message.body.to_string())
            .collect()
    }

    fn raw(&self, owner: &str, line: &str) {
        self.store
            .append(&Log::Mailbox(name(owner)), &[line.as_bytes()])
            .unwrap();
    }

    fn settings(&self, settings: Settings) {
        self.store
            .update::<Team, (), ()>(&(), |team| {
                team.as_mut().ok_or(())?.settings = Some(settings.clone());
                Ok(())
            })
            .unwrap()
            .unwrap();
    }

    fn task(&self, description: &str, blocked_by: &[&str]) -> TaskId {
        let blocked_by = blocked_by
            .iter()
            .map(|id| TaskId::new(id).unwrap())
            .collect();
        let plan = TaskPlan {
            description: description.into(),
            blocked_by,
            ..TaskPlan::default()
        };
        self.desk().add_tasks(&[plan]).unwrap().remove(0)
    }

    fn claim(&self, who: &str, id: &TaskId) -> Task {
        self.desk().claim(&as_member(who), id, None).unwrap()
    }
}

fn as_member(member: &str) -> Credentials {
    Credentials {
        token: None,
        claimed: Some(member.into()),
    }
}

fn keyed(body: &str, key: &str) -> Draft {
    Draft {
        idempotency_key: Some(key.into()),
        ..Draft::text(body)
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, NotDone>) -> Refusal {
    match result {
        Err(NotDone::Refused(refusal)) => refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, NotDone>) -> &'static str {
    refusal(result).code()
}

fn end<'a>(to: &'a str, token: &'a str) -> Change<'a> {
    Change {
        from: "in_progress",
        to,
        token,
        result: None,
    }
}

#[test]
fn a1_an_unknown_recipient_is_refused_and_nothing_is_created() {
    let crew = Crew::of(&["w1", "w2"]);
    for to in ["w3", "W1", "team-lead"] {
        let Refusal::UnknownRecipient { valid, .. } = refusal(crew.desk().send(
            &Credentials::default(),
            to,
            &Draft::text("x"),
        )) else {
            panic!("{to}")
        };
        assert_eq!(valid, ["w1", "w2", "leader"]);
    }
    for to in ["w1 ", "", "../w1"] {
        assert_eq!(
            code(
                crew.desk()
                    .send(&Credentials::default(), to, &Draft::text("x"))
            ),
            "invalid_name",
            "{to:?}"
        );
    }
    crew.desk().remove_member("w2").unwrap();
    assert_eq!(
        code(
            crew.desk()
                .send(&Credentials::default(), "w2", &Draft::text("x"))
        ),
        "unknown_recipient"
    );
    assert!(crew.unread("w1").is_empty());
}

#[test]
fn a1_a_team_that_does_not_exist_is_not_found_even_for_its_leader() {
    let store = MemoryStore::new();
    let (team, clock, entropy) = (name("ghost"), ManualClock::at(0), SeededEntropy::new(1));
    let desk = Desk::new(&team, &store, &clock, &entropy);
    assert_eq!(
        code(desk.send(&Credentials::default(), "leader", &Draft::text("x"))),
        "team_not_found"
    );
    assert_eq!(
        store
            .read(&Log::Mailbox(Name::leader()), 0, 10)
            .unwrap()
            .bytes,
        b""
    );
}

#[test]
fn a3_a_cut_record_is_reported_and_what_follows_is_listed() {
    let crew = Crew::of(&["w1"]);
    crew.desk()
        .send(&Credentials::default(), "w1", &Draft::text("first"))
        .unwrap();
    crew.raw(
        "w1",
        r#"{"type":"message","id":"cut","from":"leader","to":"w1","bo"#,
    );
    let sent = crew
        .desk()
        .send(&Credentials::default(), "w1", &Draft::text("second"))
        .unwrap();
    crew.desk().acknowledge(&name("w1"), &[&sent.id]).unwrap();
    assert_eq!(crew.bodies("w1"), ["first"]);
    let report = crew
        .desk()
        .list_mail(&name("w1"), Which::Unread, &mut |_| {
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!((report.damaged, report.listed), (1, 1));
    assert!(report.damage[0].at > 0 && report.damage[0].len > 0);
}

#[test]
fn a4_what_is_a_message_is_shown_and_what_is_not_is_counted() {
    let crew = Crew::of(&["w1"]);
    let message = |id: &str| {
        format!(r#"{{"type":"message","id":"{id}","from":"a","to":"w1","body":"{id}"}}"#)
    };
    crew.raw(
        "w1",
        r#"{"type":"delivery-receipt","messageId":"early","deliveredAt":"t"}"#,
    );
    for line in ["null", r#"{"not valid"#] {
        crew.raw("w1", line);
    }
    crew.raw("w1", &format!("\u{FEFF}{}", message("bom")));
    crew.raw("w1", &format!("  {}\r", message("crlf")));
    crew.raw(
        "w1",
        r#"{"type":"message","id":"lone","from":"a","to":"w1","body":"\ud800"}"#,
    );
    crew.raw(
        "w1",
        r#"{"id":"untyped","from":"a","to":"w1","body":"untyped"}"#,
    );
    crew.raw("w1", &message("twice"));
    crew.raw("w1", &message("twice"));
    crew.raw("w1", &message("early"));
    crew.store
        .append(
            &Log::Mailbox(name("w1")),
            &[b"{\"id\":\"bytes\",\"from\":\"a\",\"to\":\"w1\",\"body\":\"\xFF\"}"],
        )
        .unwrap();
    assert_eq!(
        crew.bodies("w1"),
        ["bom", "crlf", "\u{FFFD}", "untyped", "twice", "\u{FFFD}"]
    );
    let all: Vec<String> = crew
        .listed("w1", Which::All)
        .into_iter()
        .map(|message| message.id)
        .collect();
    assert_eq!(
        all,
        ["bom", "crlf", "lone", "untyped", "twice", "early", "bytes"]
    );
    let report = crew
        .desk()
        .list_mail(&name("w1"), Which::All, &mut |_| {
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(report.damaged, 2);
}

#[test]
fn a5_bodies_come_back_byte_for_byte_or_are_refused() {
    let crew = Crew::of(&["w1"]);
    let long = "x".repeat(1024 * 1024);
    let bodies = [
        "ends with;",
        ";",
        "`x`",
        "$(touch x)",
        "\"'",
        "\t\n\n\n",
        "a\r\nb",
        "\x1b[201~",
        "\0",
        "👩‍💻",
        &long,
    ];
    for body in bodies {
        crew.desk()
            .send(&Credentials::default(), "w1", &Draft::text(body))
            .unwrap();
    }
    assert_eq!(crew.bodies("w1"), bodies);
    assert_eq!(
        code(
            crew.desk()
                .send(&Credentials::default(), "w1", &Draft::text(""))
        ),
        "invalid_input"
    );
    let over = format!("{long}x");
    assert_eq!(
        code(
            crew.desk()
                .send(&Credentials::default(), "w1", &Draft::text(over))
        ),
        "body_too_large"
    );
}

#[test]
fn a6_listing_consumes_nothing_and_only_the_named_one_is_marked() {
    let crew = Crew::of(&["w1"]);
    let ids: Vec<String> = (0..3)
        .map(|n| {
            crew.desk()
                .send(&Credentials::default(), "w1", &Draft::text(format!("{n}")))
                .unwrap()
                .id
        })
        .collect();
    assert_eq!(crew.bodies("w1"), ["0", "1", "2"]);
    assert_eq!(crew.bodies("w1"), ["0", "1", "2"]);
    crew.desk().acknowledge(&name("w1"), &[&ids[1]]).unwrap();
    crew.desk()
        .send(&Credentials::default(), "w1", &Draft::text("3"))
        .unwrap();
    assert_eq!(crew.bodies("w1"), ["0", "2", "3"]);
    assert_eq!(crew.desk().count_unread(&name("w1")).unwrap(), 3);
    crew.desk().acknowledge(&name("w1"), &[&ids[1]]).unwrap();
    assert_eq!(
        code(crew.desk().acknowledge(&name("w1"), &[&ids[0], "ghost"])),
        "message_not_found"
    );
    assert_eq!(
        crew.bodies("w1"),
        ["0", "2", "3"],
        "an unknown id among several acknowledges none"
    );
}

#[test]
fn a7_readers_that_share_a_mailbox_get_each_message_once() {
    let crew = Crew::of(&["w1"]);
    for n in 0..200 {
        crew.desk()
            .send(&Credentials::default(), "w1", &Draft::text(format!("{n}")))
            .unwrap();
    }
    let mut got = Vec::new();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|reader| {
                let crew = &crew;
                scope.spawn(move || {
                    let mut bodies = Vec::new();
                    while let Some(taken) = crew
                        .desk()
                        .take(&name("w1"), &format!("r{reader}"), 60_000)
                        .unwrap()
                    {
                        crew.desk()
                            .acknowledge(&name("w1"), &[&taken.message.id])
                            .unwrap();
                        bodies.push(taken.message.body.parse::<u32>().unwrap());
                    }
                    bodies
                })
            })
            .collect();
        for reader in readers {
            got.extend(reader.join().unwrap());
        }
    });
    got.sort_unstable();
    assert_eq!(got, (0..200).collect::<Vec<u32>>());
}

#[test]
fn a7_an_index_that_is_gone_costs_no_message_and_a_cut_mailbox_is_noticed() {
    let crew = Crew::of(&["w1"]);
    let first = crew
        .desk()
        .send(&Credentials::default(), "w1", &Draft::text("first"))
        .unwrap();
    crew.desk()
        .send(&Credentials::default(), "w1", &Draft::text("second"))
        .unwrap();
    crew.desk().acknowledge(&name("w1"), &[&first.id]).unwrap();
    crew.store
        .update::<MailIndex, (), ()>(&name("w1"), |index| {
            *index = None;
            Ok(())
        })
        .unwrap()
        .unwrap();
    assert_eq!(crew.bodies("w1"), ["second"]);
    let mut lost = MailIndex::default();
    lost.unread.absorb(5_000, 6_000, b"gone", None);
    crew.store
        .update::<MailIndex, (), ()>(&name("w1"), |index| {
            *index = Some(lost.clone());
            Ok(())
        })
        .unwrap()
        .unwrap();
    assert_eq!(crew.bodies("w1"), ["second"]);
    let report = crew
        .desk()
        .list_mail(&name("w1"), Which::Unread, &mut |_| {
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(report.damaged, 1, "the cut is reported");
}

#[test]
fn a8_a_broadcast_reaches_members_in_order_then_the_leader_and_not_its_sender() {
    let crew = Crew::of(&["w1", "w2", "w3"]);
    let outcome = crew
        .desk()
        .broadcast(&as_member("w2"), &Draft::text("all hands"))
        .unwrap();
    let reached: Vec<&str> = outcome.outcomes.iter().map(|(to, _)| to.as_str()).collect();
    assert_eq!(reached, ["w1", "w3", "leader"]);
    assert!(outcome.outcomes.iter().all(|(_, result)| result.is_ok()));
    let ids: std::collections::BTreeSet<String> = outcome
        .outcomes
        .iter()
        .map(|(_, result)| result.as_ref().unwrap().id.clone())
        .collect();
    assert_eq!(ids.len(), 3);
    let outcome = crew
        .desk()
        .broadcast(&Credentials::default(), &Draft::text("from above"))
        .unwrap();
    assert_eq!(outcome.outcomes.len(), 3, "the leader does not hear itself");
}

#[test]
fn a9_one_key_is_one_message_also_from_several_senders_at_once() {
    let crew = Crew::of(&["w1", "w2"]);
    let ids: std::collections::BTreeSet<String> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..8)
            .map(|_| {
                let crew = &crew;
                scope.spawn(move || {
                    crew.desk()
                        .send(&as_member("w2"), "w1", &keyed("x", "k\"1"))
                        .unwrap()
                        .id
                })
            })
            .collect();
        senders
            .into_iter()
            .map(|sender| sender.join().unwrap())
            .collect()
    });
    assert_eq!(ids.len(), 1);
    assert_eq!(crew.unread("w1").len(), 1);
    assert!(
        !crew
            .desk()
            .send(&Credentials::default(), "w1", &keyed("x", "k\"1"))
            .unwrap()
            .again,
        "another sender"
    );
    crew.desk()
        .acknowledge(&name("w1"), &[ids.first().unwrap()])
        .unwrap();
    assert!(
        crew.desk()
            .send(&as_member("w2"), "w1", &keyed("x", "k\"1"))
            .unwrap()
            .again,
        "also when it was used"
    );
}

#[test]
fn a10_a_message_that_fails_every_time_is_dead_lettered_its_sender_is_told_and_it_can_be_put_back()
{
    let crew = Crew::of(&["w1", "w2"]);
    let sent = crew
        .desk()
        .send(&as_member("w2"), "w1", &Draft::text("poison"))
        .unwrap();
    for attempt in 1..=5 {
        let taken = crew.desk().take(&name("w1"), "r", 1_000).unwrap().unwrap();
        assert_eq!(taken.attempt, attempt);
        assert_eq!(
            crew.desk().take(&name("w1"), "other", 1_000).unwrap(),
            None,
            "nobody else gets it meanwhile"
        );
        crew.clock.advance(1_000);
    }
    assert_eq!(crew.desk().take(&name("w1"), "r", 1_000).unwrap(), None);
    assert!(crew.unread("w1").is_empty());
    assert_eq!(crew.listed("w1", Which::Dead).len(), 1);
    let notice = crew.unread("w2");
    assert_eq!(notice.len(), 1);
    assert_eq!(
        (notice[0].reply_to.as_deref(), notice[0].intent),
        (Some(sent.id.as_str()), Some(Intent::Inform))
    );
    crew.desk().redeliver(&name("w1"), &sent.id).unwrap();
    assert_eq!(
        code(crew.desk().redeliver(&name("w1"), &sent.id)),
        "not_dead_lettered"
    );
    assert_eq!(crew.listed("w1", Which::All).len(), 1, "each id once");
    let taken = crew.desk().take(&name("w1"), "r", 1_000).unwrap().unwrap();
    assert_eq!((taken.message.id, taken.attempt), (sent.id.clone(), 1));
    crew.desk().acknowledge(&name("w1"), &[&sent.id]).unwrap();
    assert!(crew.unread("w1").is_empty());
}

#[test]
fn a_message_that_is_given_back_goes_to_the_next_reader_at_once() {
    let crew = Crew::of(&["w1"]);
    let sent = crew
        .desk()
        .send(&Credentials::default(), "w1", &Draft::text("x"))
        .unwrap();
    crew.desk().take(&name("w1"), "a", 60_000).unwrap().unwrap();
    crew.desk().give_back(&name("w1"), &sent.id, None).unwrap();
    assert_eq!(
        crew.desk()
            .take(&name("w1"), "b", 60_000)
            .unwrap()
            .unwrap()
            .attempt,
        2
    );
    assert_eq!(
        code(crew.desk().give_back(&name("w1"), "ghost", None)),
        "message_not_found"
    );
}

#[test]
fn a12_a_token_speaks_for_its_member_and_an_old_one_for_nobody() {
    let crew = Crew::of(&["w1", "w2"]);
    let (token, incarnation) = crew.desk().issue_token("w1").unwrap();
    assert_eq!(incarnation, 1);
    let with = |token: &str, claimed: Option<&str>| Credentials {
        token: Some(token.into()),
        claimed: claimed.map(str::to_string),
    };
    let desk = crew.desk();
    assert_eq!(
        code(desk.send(&with(&token, Some("leader")), "w2", &Draft::text("x"))),
        "sender_mismatch"
    );
    desk.send(&with(&token, None), "w2", &Draft::text("x"))
        .unwrap();
    let message = crew.unread("w2").remove(0);
    assert_eq!(
        (message.from.as_str(), message.verified),
        ("w1", Some(true))
    );
    assert_eq!(desk.issue_token("w1").unwrap().1, 2);
    assert_eq!(
        code(desk.send(&with(&token, None), "w2", &Draft::text("x"))),
        "invalid_token"
    );
}

#[test]
fn a13_a_stranger_sends_claims_and_reports_nothing() {
    let crew = Crew::of(&["w1"]);
    let id = crew.task("x", &[]);
    let desk = crew.desk();
    assert_eq!(
        code(desk.send(&as_member("ghost"), "w1", &Draft::text("x"))),
        "unknown_sender"
    );
    assert_eq!(
        code(desk.broadcast(&as_member("ghost"), &Draft::text("x"))),
        "unknown_sender"
    );
    assert_eq!(
        code(desk.claim(&as_member("ghost"), &id, None)),
        "unknown_member"
    );
    assert_eq!(desk.task(&id).unwrap().status, Status::Pending);
    assert_eq!(
        crew.store
            .read(&Log::Outbox(name("ghost")), 0, 10)
            .unwrap()
            .bytes,
        b""
    );
}

#[test]
fn b1_of_many_claimants_one_wins_and_its_token_is_the_one_that_is_kept() {
    let crew = Crew::of(&["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"]);
    for _ in 0..25 {
        let id = crew.task("x", &[]);
        let won: Vec<Task> = std::thread::scope(|scope| {
            let racers: Vec<_> = (1..=8)
                .map(|n| {
                    let (crew, id) = (&crew, &id);
                    scope.spawn(move || crew.desk().claim(&as_member(&format!("w{n}")), id, None))
                })
                .collect();
            racers
                .into_iter()
                .filter_map(|racer| racer.join().unwrap().ok())
                .collect()
        });
        assert_eq!(won.len(), 1);
        assert_eq!(crew.desk().task(&id).unwrap(), won[0]);
    }
}

#[test]
fn b2_of_two_ends_with_one_token_one_counts() {
    let crew = Crew::of(&["w1"]);
    let id = crew.task("x", &[]);
    let token = crew.claim("w1", &id).claim_token.unwrap();
    let results: Vec<_> = std::thread::scope(|scope| {
        let enders: Vec<_> = ["completed", "failed"]
            .into_iter()
            .map(|to| {
                let (crew, id, token) = (&crew, &id, &token);
                scope.spawn(move || {
                    crew.desk()
                        .transition(id, None, end(to, token))
                        .map(|task| task.status)
                })
            })
            .collect();
        enders
            .into_iter()
            .map(|ender| ender.join().unwrap())
            .collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    let kept = crew.desk().task(&id).unwrap().status;
    assert!(
        results
            .iter()
            .any(|result| result.as_ref().is_ok_and(|status| *status == kept))
    );
}

#[test]
fn b3_steps_that_do_not_exist_and_old_tokens_change_nothing() {
    let crew = Crew::of(&["w1"]);
    let desk = crew.desk();
    let id = crew.task("x", &[]);
    let step = |from: &str, to: &str, token: &str| {
        code(desk.transition(
            &id,
            None,
            Change {
                from,
                to,
                token,
                result: None,
            },
        ))
    };
    assert_eq!(step("pending", "completed", "any"), "invalid_status");
    let old = crew.claim("w1", &id).claim_token.unwrap();
    desk.take_back(&id, Some(&old)).unwrap();
    crew.clock.advance(1);
    let token = crew.claim("w1", &id).claim_token.unwrap();
    assert_eq!(step("in_progress", "banana", &token), "invalid_status");
    assert_eq!(step("in_progress", "", &token), "invalid_status");
    assert_eq!(step("in_progress", "completed", &old), "stale_token");
    assert_eq!(step("in_progress", "completed", ""), "stale_token");
    desk.transition(&id, None, end("completed", &token))
        .unwrap();
    assert_eq!(step("completed", "pending", &token), "already_terminal");
    assert_eq!(step("in_progress", "failed", &token), "already_terminal");
}

#[test]
fn b4_a_failure_blocks_what_waits_for_it_the_leader_is_told_once_and_a_retry_unblocks() {
    let crew = Crew::of(&["w1"]);
    let desk = crew.desk();
    let first = crew.task("first", &[]);
    let second = crew.task("second", &[first.as_str()]);
    let Refusal::Blocked { on, failed, .. } = refusal(desk.claim(&as_member("w1"), &second, None))
    else {
        panic!()
    };
    assert_eq!((on.len(), failed.len()), (1, 0));
    let token = crew.claim("w1", &first).claim_token.unwrap();
    desk.transition(&first, Some(&name("w1")), end("failed", &token))
        .unwrap();
    assert_eq!(crew.unread("leader").len(), 1);
    let Refusal::Blocked { failed, .. } = refusal(desk.claim(&as_member("w1"), &second, None))
    else {
        panic!()
    };
    assert_eq!(failed, [first.to_string()]);
    desk.retry(&first).unwrap();
    let token = crew.claim("w1", &first).claim_token.unwrap();
    desk.transition(&first, None, end("completed", &token))
        .unwrap();
    let board = desk.tasks().unwrap();
    assert_eq!(board.readiness(&board.tasks[1]), Readiness::Ready);
    crew.claim("w1", &second);
}

#[test]
fn b4_dependencies_that_cannot_be_add_no_task() {
    let crew = Crew::of(&["w1"]);
    let id = |text: &str| TaskId::new(text).unwrap();
    let plan = |text: &str, on: &[&str]| TaskPlan {
        id: Some(id(text)),
        description: text.into(),
        blocked_by: on.iter().map(|on| id(on)).collect(),
        assignee: None,
    };
    for plans in [
        vec![plan("a", &["a"])],
        vec![plan("a", &["ghost"])],
        vec![plan("a", &["b"]), plan("b", &["c"]), plan("c", &["a"])],
    ] {
        assert_eq!(code(crew.desk().add_tasks(&plans)), "invalid_dependency");
    }
    assert_eq!(
        code(crew.desk().add_tasks(&[plan("a", &[]), plan("A", &[])])),
        "task_exists"
    );
    assert!(crew.desk().tasks().unwrap().tasks.is_empty());
    crew.desk()
        .add_tasks(&[plan("late", &["early"]), plan("early", &[])])
        .unwrap();
    assert_eq!(crew.desk().tasks().unwrap().tasks.len(), 2);
}

#[test]
fn a_claim_limit_holds_for_several_claims_at_once() {
    let crew = Crew::of(&["w1"]);
    crew.settings(Settings {
        claim_limit: Some(2),
        ..Settings::default()
    });
    let ids: Vec<TaskId> = (0..6).map(|n| crew.task(&format!("{n}"), &[])).collect();
    let codes: Vec<_> = std::thread::scope(|scope| {
        let racers: Vec<_> = ids
            .iter()
            .map(|id| {
                let crew = &crew;
                scope.spawn(move || crew.desk().claim(&as_member("w1"), id, None).map(|_| ()))
            })
            .collect();
        racers
            .into_iter()
            .map(|racer| racer.join().unwrap())
            .collect()
    });
    assert_eq!(codes.iter().filter(|result| result.is_ok()).count(), 2);
}

#[test]
fn the_next_task_is_the_oldest_that_is_ready_and_not_another_member_s() {
    let crew = Crew::of(&["w1", "w2"]);
    let desk = crew.desk();
    let for_other = TaskPlan {
        description: "for w2".into(),
        assignee: Some("w2".into()),
        ..TaskPlan::default()
    };
    let plain = TaskPlan {
        description: "plain".into(),
        ..TaskPlan::default()
    };
    let ids = desk.add_tasks(&[for_other, plain]).unwrap();
    crew.task("blocked", &[ids[0].as_str()]);
    assert_eq!(
        desk.claim_next(&as_member("w1"), None).unwrap().unwrap().id,
        ids[1].as_str()
    );
    assert_eq!(desk.claim_next(&as_member("w1"), None).unwrap(), None);
    assert_eq!(
        code(desk.claim(&as_member("w1"), &ids[0], None)),
        "assigned_elsewhere"
    );
}

#[test]
fn a_lease_that_ran_out_lets_another_take_over_and_progress_renews_it() {
    let crew = Crew::of(&["w1", "w2"]);
    let desk = crew.desk();
    let id = crew.task("x", &[]);
    let token = desk
        .claim(&as_member("w1"), &id, Some(10_000))
        .unwrap()
        .claim_token
        .unwrap();
    crew.clock.advance(9_000);
    desk.transition(&id, None, end("in_progress", &token))
        .unwrap();
    crew.clock.advance(9_000);
    assert_eq!(code(desk.claim(&as_member("w2"), &id, None)), "not_pending");
    crew.clock.advance(1_000);
    desk.claim(&as_member("w2"), &id, None).unwrap();
    assert_eq!(
        code(desk.transition(&id, None, end("completed", &token))),
        "stale_token"
    );
}

#[test]
fn a_claim_without_a_lease_outlives_any_silence() {
    let crew = Crew::of(&["w1", "w2"]);
    let id = crew.task("x", &[]);
    crew.claim("w1", &id);
    crew.clock.advance(365 * 24 * 3_600_000);
    assert_eq!(
        code(crew.desk().claim(&as_member("w2"), &id, None)),
        "not_pending"
    );
}

#[test]
fn of_two_founders_one_wins() {
    let crew = Crew::of(&["w1"]);
    assert_eq!(code(crew.desk().found(&Plan::default())), "team_exists");
    assert_eq!(crew.desk().roster().unwrap().workers.len(), 1);
}

#[test]
fn a_status_shows_tasks_reports_mail_and_who_was_heard_of_lately() {
    let crew = Crew::of(&["w1", "w2"]);
    let desk = crew.desk();
    let id = crew.task("x", &[]);
    let token = crew.claim("w1", &id).claim_token.unwrap();
    desk.transition(&id, Some(&name("w1")), end("in_progress", &token))
        .unwrap();
    desk.send(&as_member("w1"), "w2", &Draft::text("hi"))
        .unwrap();
    desk.send(&as_member("w1"), "leader", &Draft::text("hi"))
        .unwrap();
    let status = desk.status().unwrap();
    let seen: Vec<_> = status
        .members
        .iter()
        .map(|member| (member.heartbeat_stale, member.outbox_new, member.unread))
        .collect();
    assert_eq!(seen, [(false, 1, 0), (true, 0, 1)]);
    assert_eq!((status.leader_unread, status.shut_down_at), (1, None));
    assert_eq!(status.board.tasks.len(), status.tasks_as_written.len());
    assert_eq!(status.team_as_written["workers"][1]["name"], "w2");

    crew.clock.advance(HEARTBEAT_FRESH_MS);
    assert!(!desk.status().unwrap().members[0].heartbeat_stale);
    crew.clock.advance(1);
    assert!(desk.status().unwrap().members[0].heartbeat_stale);
    desk.mark_shut_down().unwrap();
    assert!(desk.status().unwrap().shut_down_at.is_some());
}

fn look(crew: &Crew, me: &str, wanted: &[Wanted]) -> Option<Happened> {
    crew.desk().look(&name(me), wanted).unwrap().happened
}

#[test]
fn waiting_for_mail_ends_with_a_message_that_no_reader_holds() {
    let crew = Crew::of(&["w1", "w2"]);
    let desk = crew.desk();
    let wanted = [Wanted::Message];
    assert_eq!(look(&crew, "w1", &wanted), None);
    desk.send(&as_member("w2"), "w1", &Draft::text("a"))
        .unwrap();
    desk.send(&as_member("w2"), "w1", &Draft::text("b"))
        .unwrap();
    let Some(Happened::Mail { unread, oldest }) = look(&crew, "w1", &wanted) else {
        panic!("mail is there")
    };
    assert_eq!((unread, &*oldest.body), (2, "a"));
    desk.take(&name("w1"), "r", 5_000).unwrap();
    desk.take(&name("w1"), "r", 9_000).unwrap();
    let look_again = desk.look(&name("w1"), &wanted).unwrap();
    assert_eq!(look_again.happened, None);
    assert_eq!(look_again.again_at, Some(desk.now().plus_millis(5_000)));
    crew.clock.advance(5_000);
    assert!(look(&crew, "w1", &wanted).is_some());
}

#[test]
fn waiting_for_a_task_ends_when_it_is_ready_and_mine() {
    let crew = Crew::of(&["w1", "w2"]);
    let desk = crew.desk();
    let first = crew.task("first", &[]);
    let second = crew.task("second", &[first.as_str()]);
    let third = TaskPlan {
        description: "for w1".into(),
        assignee: Some("w1".into()),
        ..TaskPlan::default()
    };
    let third = desk.add_tasks(&[third]).unwrap().remove(0);
    let ready = |me: &str, wanted: Wanted| match look(&crew, me, &[wanted]) {
        Some(Happened::Ready(task)) => Some(task.id),
        Some(other) => panic!("not waited for: {other:?}"),
        None => None,
    };
    assert_eq!(ready("w2", Wanted::AnyTask).as_deref(), Some("1"));
    assert_eq!(ready("w2", Wanted::Task(second.clone())), None);
    assert_eq!(ready("w2", Wanted::Task(third.clone())), None);
    assert_eq!(ready("w1", Wanted::Task(third)).as_deref(), Some("3"));
    let token = desk
        .claim(&as_member("w1"), &first, Some(8_000))
        .unwrap()
        .claim_token
        .unwrap();
    assert_eq!(ready("w2", Wanted::AnyTask), None);
    let look = desk.look(&name("w2"), &[Wanted::AnyTask]).unwrap();
    assert_eq!(look.again_at, Some(desk.now().plus_millis(8_000)));
    crew.clock.advance(8_000);
    assert_eq!(ready("w2", Wanted::AnyTask).as_deref(), Some("1"));
    desk.transition(&first, None, end("completed", &token))
        .unwrap();
    assert_eq!(ready("w2", Wanted::Task(second)).as_deref(), Some("2"));
    let wanted = [Wanted::Task(first)];
    assert_eq!(code(desk.look(&name("w2"), &wanted)), "already_terminal");
}

#[test]
fn waiting_for_an_end_is_over_with_either_end_and_an_unknown_task_is_refused() {
    let crew = Crew::of(&["w1"]);
    let desk = crew.desk();
    let id = crew.task("x", &[]);
    let wanted = [Wanted::End(id.clone())];
    assert_eq!(look(&crew, "leader", &wanted), None);
    let token = crew.claim("w1", &id).claim_token.unwrap();
    desk.transition(&id, None, end("failed", &token)).unwrap();
    let Some(Happened::Ended(task)) = look(&crew, "leader", &wanted) else {
        panic!("it has ended")
    };
    assert_eq!(task.status, Status::Failed);
    let unknown = [Wanted::End(TaskId::new("99").unwrap())];
    assert_eq!(code(desk.look(&name("w1"), &unknown)), "task_not_found");
}

#[test]
fn only_changes_that_matter_touch_what_is_waited_for() {
    use pitcrew_store::{Change as Changed, Place};
    let me = name("w1");
    let id = TaskId::new("1").unwrap();
    let task = Changed::Document(Place::Task(id.clone()));
    let mine = Changed::Log(Log::Mailbox(me.clone()));
    let other = Changed::Log(Log::Mailbox(name("w2")));
    for (wanted, change, touched) in [
        (Wanted::Message, &mine, true),
        (Wanted::Message, &other, false),
        (Wanted::Message, &task, false),
        (Wanted::AnyTask, &task, true),
        (Wanted::Task(id.clone()), &task, true),
        (Wanted::End(id.clone()), &mine, false),
        (Wanted::End(id), &Changed::Lagged, true),
    ] {
        assert_eq!(
            wanted.is_touched_by(&me, change),
            touched,
            "{wanted:?} {change:?}"
        );
    }
}

#[test]
fn mail_since_a_place_goes_on_where_it_ended() {
    let crew = Crew::of(&["w1"]);
    let desk = crew.desk();
    let send = |body: &str| {
        desk.send(&Credentials::default(), "w1", &Draft::text(body))
            .unwrap()
    };
    let since = |from: u64| {
        let mut bodies = Vec::new();
        let end = desk.mail_since(&name("w1"), from, &mut |message, _| {
            bodies.push(message.body)
        });
        (end.unwrap(), bodies)
    };
    send("a");
    let (end, bodies) = since(0);
    assert_eq!(bodies, ["a"]);
    assert_eq!(since(end), (end, Vec::new()));
    crew.raw("w1", "no record");
    let id = send("b").id;
    desk.acknowledge(&name("w1"), &[&id]).unwrap();
    let (later, bodies) = since(end);
    assert_eq!(bodies, ["b"], "whether it was acknowledged since or not");
    assert!(later > end);
    let mut report = desk.list_mail(&name("w1"), Which::Unread, &mut |_| {
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(report.as_mut().unwrap().end, later);
}

#[test]
fn a_plan_is_drawn_up_without_writing() {
    let other = Crew {
        name: name("u"),
        store: MemoryStore::new(),
        clock: ManualClock::at(0),
        entropy: SeededEntropy::new(2),
    };
    let plan = Plan {
        founding: Founding::default(),
        members: vec![recruit("a")],
        tasks: vec![TaskPlan {
            description: "x".into(),
            ..TaskPlan::default()
        }],
    };
    let blueprint = other.desk().draw_up(&plan).unwrap();
    assert_eq!(code(other.desk().roster()), "team_not_found");
    assert_eq!(blueprint.team.workers.len(), 1);
    let tasks = blueprint.tasks.iter();
    let tasks: Vec<_> = tasks
        .map(|(id, task)| (id.as_str(), task.description.as_str()))
        .collect();
    assert_eq!(tasks, [("1", "x")]);
    let double = Plan {
        members: vec![recruit("a"), recruit("A")],
        ..plan
    };
    assert_eq!(code(other.desk().draw_up(&double)), "member_exists");
}
