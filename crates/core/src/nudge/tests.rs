//! The policy on literal times: one member, its ledger, and whoever asks.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::ledger::Begin;
use super::*;
use crate::refusal::NameKind;
use crate::screen::State;
use crate::submit::{Left, NotWoken, Outcome};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + ms)
}

fn worker() -> Name {
    Name::new(NameKind::Recipient, "worker-1").unwrap()
}

fn mail(unread: u64, newest: i64) -> View {
    View {
        unread,
        newest_unread_at: (unread > 0).then(|| at(newest)),
        progress_at: None,
        standing: Standing::Live,
        wake: Wake::Pane,
        loops: Loops::Inactive,
        idle_since: None,
    }
}

fn lost(reason: NotWoken, left: Left) -> Outcome {
    Outcome::NotWoken {
        reason,
        why: "why".to_string(),
        left,
    }
}

fn ask(ledger: &mut Ledger, ms: i64, trigger: Trigger, view: &View, ticket: &str) -> Decision {
    ledger.handle_trigger(at(ms), trigger, &worker(), view, ticket, &Timing::default())
}

fn send(ledger: &mut Ledger, ms: i64, view: &View) -> Decision {
    ask(ledger, ms, Trigger::Send, view, &ms.to_string())
}

/// A line asked for at `ms`, typed and taken 400 ms later.
fn told(ledger: &mut Ledger, ms: i64, view: &View) {
    assert!(
        matches!(send(ledger, ms, view), Decision::Inject { .. }),
        "{ledger:?}"
    );
    let ticket = ms.to_string();
    assert_eq!(
        ledger.begin(at(ms + 100), &ticket, view),
        Begin::Type {
            unread: view.unread
        }
    );
    ledger.settle(at(ms + 400), &ticket, &Outcome::Submitted, "line");
}

#[test]
fn a_message_is_told_at_once() {
    let mut ledger = Ledger::default();
    assert_eq!(
        send(&mut ledger, 0, &mail(1, 0)),
        Decision::Inject { due_at: at(60) }
    );
}

#[test]
fn c6_ten_sends_at_once_are_one_line_with_the_right_count() {
    let mut ledger = Ledger::default();
    let mut injections = 0;
    for n in 0..10 {
        match send(&mut ledger, n * 20, &mail(n.unsigned_abs() + 1, n * 20)) {
            Decision::Inject { .. } => injections += 1,
            Decision::Joined { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(injections, 1);
    // The first asker comes at the time that it was given, and hears that more came.
    let due_at = at(180 + 60);
    assert_eq!(
        ledger.begin(at(60), "0", &mail(10, 180)),
        Begin::Gather { due_at }
    );
    assert_eq!(
        ledger.begin(due_at, "0", &mail(10, 180)),
        Begin::Type { unread: 10 }
    );
    assert_eq!(ledger.pending.as_ref().unwrap().triggers, 10);
}

#[test]
fn c6_send_idle_and_sweep_within_half_a_second_are_one_line() {
    let orders = [
        [Trigger::Send, Trigger::Idle, Trigger::Sweep],
        [Trigger::Idle, Trigger::Sweep, Trigger::Send],
        [Trigger::Sweep, Trigger::Send, Trigger::Idle],
    ];
    for triggers in orders {
        for gap in [0, 100, 166, 249] {
            let mut ledger = Ledger::default();
            let mut lines = 0;
            let view = View {
                loops: Loops::Active,
                idle_since: Some(at(-60_000)),
                ..mail(2, -5_000)
            };
            for (n, trigger) in triggers.into_iter().enumerate() {
                let ms = gap * i64::try_from(n).unwrap();
                let ticket = n.to_string();
                // Whoever holds the ticket is done after 150 ms, so the later ones may meet it or come after it.
                let mut clock = IdleClock::default();
                let idle_since = match ledger.injected_at {
                    Some(injected_at) => clock.handle_scan(at(ms), State::Ready, Some(injected_at)),
                    None => view.idle_since,
                };
                let view = View { idle_since, ..view };
                if let Decision::Inject { .. } = ask(&mut ledger, ms, trigger, &view, &ticket) {
                    lines += 1;
                    assert_eq!(
                        ledger.begin(at(ms + 60), &ticket, &view),
                        Begin::Type { unread: 2 }
                    );
                    if gap >= 150 {
                        ledger.settle(at(ms + 150), &ticket, &Outcome::Submitted, "line");
                    }
                }
            }
            assert_eq!(lines, 1, "{triggers:?} every {gap} ms");
        }
    }
}

#[test]
fn c6_the_ledger_survives_being_written_and_read() {
    let mut ledger = Ledger::default();
    assert!(matches!(
        send(&mut ledger, 0, &mail(1, 0)),
        Decision::Inject { .. }
    ));
    let text = serde_json::to_string(&ledger).unwrap();
    let mut other: Ledger = serde_json::from_str(&text).unwrap();
    assert_eq!(other, ledger);
    assert!(matches!(
        send(&mut other, 10, &mail(2, 10)),
        Decision::Joined { .. }
    ));
    assert_eq!(
        serde_json::from_str::<Ledger>("{}").unwrap(),
        Ledger::default()
    );
}

#[test]
fn a_holder_that_died_is_replaced() {
    let mut ledger = Ledger::default();
    assert!(matches!(
        send(&mut ledger, 0, &mail(1, 0)),
        Decision::Inject { .. }
    ));
    assert!(matches!(
        send(&mut ledger, 14_999, &mail(2, 14_999)),
        Decision::Joined { .. }
    ));
    assert!(matches!(
        send(&mut ledger, 15_000, &mail(3, 15_000)),
        Decision::Inject { .. }
    ));
    assert_eq!(
        ledger.begin(at(16_000), "0", &mail(3, 15_000)),
        Begin::Withdrawn
    );
}

#[test]
fn c7_two_hundred_messages_in_five_seconds_are_one_line() {
    let mut ledger = Ledger::default();
    told(&mut ledger, 0, &mail(1, 0));
    for n in 1..200_i64 {
        let ms = 400 + n * 25;
        let decision = send(&mut ledger, ms, &mail(n.unsigned_abs() + 1, ms));
        assert_eq!(decision, Decision::Quiet(Quiet::AlreadyTold), "message {n}");
    }
    // What came after the line was counted is not forgotten: a sweep tells it.
    let view = mail(200, 5_375);
    assert!(matches!(
        ask(&mut ledger, 10_000, Trigger::Sweep, &view, "sweep"),
        Decision::Inject { .. }
    ));
}

#[test]
fn c7_an_answered_line_covers_nothing_new() {
    let mut ledger = Ledger::default();
    told(&mut ledger, 0, &mail(1, 0));
    let answered = View {
        progress_at: Some(at(1_000)),
        ..mail(1, 2_000)
    };
    assert!(matches!(
        send(&mut ledger, 2_000, &answered),
        Decision::Inject { .. }
    ));
}

#[test]
fn c7_read_mail_and_a_dissolved_team_get_no_line() {
    let mut ledger = Ledger::default();
    assert_eq!(
        send(&mut ledger, 0, &mail(0, 0)),
        Decision::Quiet(Quiet::NothingUnread)
    );
    // Read, or dissolved, between the question and the typing.
    for view in [
        mail(0, 0),
        View {
            standing: Standing::Dissolved,
            ..mail(1, 0)
        },
    ] {
        let mut ledger = Ledger::default();
        assert!(matches!(
            send(&mut ledger, 0, &mail(1, 0)),
            Decision::Inject { .. }
        ));
        assert_eq!(ledger.begin(at(100), "0", &view), Begin::Withdrawn);
        assert_eq!(ledger.pending, None);
    }
}

#[test]
fn a_hook_keeps_the_pane_from_being_typed_into() {
    let mut ledger = Ledger::default();
    let view = View {
        wake: Wake::Hook,
        loops: Loops::Active,
        idle_since: Some(at(-60_000)),
        ..mail(1, 0)
    };
    for trigger in [Trigger::Send, Trigger::Sweep, Trigger::Idle] {
        assert_eq!(
            ask(&mut ledger, 0, trigger, &view, "t"),
            Decision::Quiet(Quiet::Hooked)
        );
    }
}

#[test]
fn mail_that_a_hook_has_shown_needs_no_line_and_newer_mail_does() {
    let mut ledger = Ledger::default();
    assert!(matches!(
        send(&mut ledger, 0, &mail(1, 0)),
        Decision::Inject { .. }
    ));
    ledger.note_shown(at(50));
    assert_eq!(
        ledger.begin(at(100), "0", &mail(1, 0)),
        Begin::Withdrawn,
        "while it was gathered"
    );
    for trigger in [Trigger::Send, Trigger::Sweep] {
        assert_eq!(
            ask(&mut ledger, 5_000, trigger, &mail(1, 50), "t"),
            Decision::Quiet(Quiet::AlreadyTold)
        );
    }
    assert!(matches!(
        send(&mut ledger, 6_000, &mail(2, 5_900)),
        Decision::Inject { .. }
    ));
}

/// Runs the monitor's scans, every 5 s from `from` to `to`, against a pane that is ready and never reacts; answers when
/// lines were typed and when the leader was told.
fn scans(
    ledger: &mut Ledger,
    from: i64,
    to: i64,
    unread: u64,
    loops: Loops,
) -> (Vec<i64>, Vec<i64>) {
    let (mut lines, mut told) = (vec![], vec![]);
    let mut clock = IdleClock::default();
    for ms in (from..=to).step_by(5_000) {
        let idle_since = clock.handle_scan(at(ms), State::Ready, ledger.injected_at);
        let view = View {
            loops,
            idle_since,
            ..mail(unread, 0)
        };
        for trigger in [Trigger::Sweep, Trigger::Idle] {
            let ticket = ms.to_string();
            match ask(ledger, ms, trigger, &view, &ticket) {
                Decision::Inject { .. } => {
                    assert_eq!(
                        ledger.begin(at(ms + 60), &ticket, &view),
                        Begin::Type { unread }
                    );
                    ledger.settle(at(ms + 300), &ticket, &Outcome::Submitted, "line");
                    lines.push(ms / 1_000);
                }
                Decision::Escalate { .. } => told.push(ms / 1_000),
                Decision::Joined { .. } | Decision::Quiet(_) => {}
            }
        }
    }
    (lines, told)
}

#[test]
fn d4_an_idle_pane_is_prompted_three_times_and_the_leader_told_once() {
    let mut ledger = Ledger::default();
    let (lines, told) = scans(&mut ledger, 0, 4_500_000, 0, Loops::Active);
    assert_eq!(lines, [30, 65, 100]);
    assert_eq!(told, [135]);
}

#[test]
fn d4_without_a_loop_nobody_is_prompted() {
    let mut ledger = Ledger::default();
    let (lines, told) = scans(&mut ledger, 0, 600_000, 0, Loops::Inactive);
    assert_eq!((lines, told), (vec![], vec![]));
}

#[test]
fn c7_one_message_ignored_for_75_minutes_is_told_three_times_at_most() {
    let mut ledger = Ledger::default();
    told(&mut ledger, 0, &mail(1, 0));
    let (lines, told) = scans(&mut ledger, 5_000, 4_500_000, 1, Loops::Active);
    assert_eq!(lines.len() + 1, 3, "{lines:?}");
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn d4_progress_starts_the_count_again() {
    let mut ledger = Ledger::default();
    let (lines, _) = scans(&mut ledger, 0, 100_000, 0, Loops::Active);
    assert_eq!(lines.len(), 3);
    let view = View {
        progress_at: Some(at(110_000)),
        loops: Loops::Active,
        idle_since: Some(at(111_000)),
        ..mail(0, 0)
    };
    assert!(matches!(
        ask(&mut ledger, 145_000, Trigger::Idle, &view, "again"),
        Decision::Inject { .. }
    ));
    assert_eq!(ledger.unanswered, 0);
}

#[test]
fn the_leader_is_told_of_mail_but_never_prompted_for_idling() {
    let mut ledger = Ledger::default();
    let view = View {
        loops: Loops::Active,
        idle_since: Some(at(-60_000)),
        ..mail(1, 0)
    };
    let leader = Name::leader();
    let timing = Timing::default();
    assert_eq!(
        ledger.handle_trigger(at(0), Trigger::Idle, &leader, &view, "t", &timing),
        Decision::Quiet(Quiet::LeaderNeverPrompted)
    );
    assert!(matches!(
        ledger.handle_trigger(at(0), Trigger::Send, &leader, &view, "t", &timing),
        Decision::Inject { .. }
    ));
}

#[test]
fn a_lost_wake_is_made_good_by_the_next_sweeps() {
    let mut ledger = Ledger::default();
    let view = mail(1, 0);
    assert!(matches!(
        send(&mut ledger, 0, &view),
        Decision::Inject { .. }
    ));
    ledger.settle(at(200), "0", &lost(NotWoken::Dialog, Left::Nothing), "line");
    assert_eq!(
        (ledger.lost, ledger.unanswered),
        (Some(NotWoken::Dialog), 0)
    );
    for ms in [5_000, 10_000, 15_000] {
        let ticket = ms.to_string();
        let decision = ask(&mut ledger, ms, Trigger::Sweep, &view, &ticket);
        assert!(
            matches!(decision, Decision::Inject { .. }),
            "{ms}: {decision:?}"
        );
        let outcome = if ms == 15_000 {
            Outcome::Submitted
        } else {
            lost(NotWoken::Dialog, Left::Nothing)
        };
        let _ = ledger.begin(at(ms + 60), &ticket, &view);
        ledger.settle(at(ms + 300), &ticket, &outcome, "line");
    }
    assert_eq!(
        ask(&mut ledger, 20_000, Trigger::Sweep, &view, "20"),
        Decision::Quiet(Quiet::AlreadyTold)
    );
    assert_eq!(ledger.lost, None);
}

#[test]
fn a_wake_that_its_sender_never_tried_is_swept() {
    let mut ledger = Ledger::default();
    let view = mail(1, 0);
    assert_eq!(
        ask(&mut ledger, 100, Trigger::Sweep, &view, "t"),
        Decision::Quiet(Quiet::AlreadyTold),
        "its sender is still at it"
    );
    assert!(matches!(
        ask(&mut ledger, 5_000, Trigger::Sweep, &view, "t"),
        Decision::Inject { .. }
    ));
}

#[test]
fn a_line_that_cannot_be_submitted_is_tried_with_pauses_and_then_given_up() {
    let mut ledger = Ledger::default();
    let view = mail(1, 0);
    let (mut tries, mut told) = (vec![], 0);
    for ms in (5_000..400_000).step_by(5_000) {
        let ticket = ms.to_string();
        match ask(&mut ledger, ms, Trigger::Sweep, &view, &ticket) {
            Decision::Inject { .. } => {
                tries.push(ms / 1_000);
                let outcome = lost(NotWoken::NotSubmittedAfterTries, Left::Nothing);
                ledger.settle(at(ms + 2_000), &ticket, &outcome, "line");
            }
            Decision::Escalate { unanswered } => {
                assert_eq!(unanswered, 3);
                told += 1;
            }
            _ => {}
        }
    }
    assert_eq!((tries, told), (vec![5, 40, 75], 1));
}

#[test]
fn what_was_left_in_the_composer_is_remembered_until_it_is_gone() {
    let mut ledger = Ledger::default();
    let view = mail(1, 0);
    assert!(matches!(
        send(&mut ledger, 0, &view),
        Decision::Inject { .. }
    ));
    let outcome = lost(NotWoken::DialogOpenedBeforeEnter, Left::Text);
    ledger.settle(at(500), "0", &outcome, "the first line");
    assert_eq!(ledger.leftover.as_deref(), Some("the first line"));
    assert!(matches!(
        ask(&mut ledger, 5_000, Trigger::Sweep, &view, "s"),
        Decision::Inject { .. }
    ));
    ledger.settle(
        at(5_200),
        "s",
        &lost(NotWoken::Dialog, Left::Text),
        "another line",
    );
    assert_eq!(ledger.leftover.as_deref(), Some("the first line"));
    ledger.settle(at(6_000), "s", &Outcome::Submitted, "another line");
    assert_eq!(ledger.leftover, None);
}

#[test]
fn the_leader_hears_who_does_not_react() {
    assert_eq!(
        escalation(&worker(), 3, 2),
        "worker-1 did not react to 3 prompts and is not prompted any more. 2 message(s) wait unread."
    );
}

#[test]
fn what_was_noted_under_a_clock_that_was_ahead_keeps_no_line_back() {
    const YEAR: i64 = 365 * 24 * 60 * 60 * 1_000;
    let (then, now) = (mail(1, YEAR), mail(1, 0));
    // Somebody was about to type.
    let mut ledger = Ledger::default();
    send(&mut ledger, YEAR, &then);
    assert_eq!(
        send(&mut ledger, 0, &now),
        Decision::Inject { due_at: at(60) }
    );
    // It was told, and the leader was told that nothing followed.
    let mut ledger = Ledger::default();
    told(&mut ledger, YEAR, &then);
    ledger.escalated_at = Some(at(YEAR));
    ledger.unanswered = Timing::default().most;
    assert!(matches!(
        ask(&mut ledger, 60_000, Trigger::Sweep, &now, "s"),
        Decision::Escalate { .. }
    ));
    // Typing failed.
    let mut ledger = Ledger {
        failed_at: Some(at(YEAR)),
        ..Ledger::default()
    };
    assert!(matches!(
        ask(&mut ledger, 60_000, Trigger::Sweep, &now, "s"),
        Decision::Inject { .. }
    ));
}
