//! The ladder against a simulated agent: every quirk alone, and every quirk with every event before every order.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::screen::{ComposerLook, Mark, Place, Shape, Signature};

mod tui;
use tui::{EVENTS, Event, QUIRKS, Quirk, Tui};

const LINE: &str =
    "You have 3 new message(s). Read your mailbox: pitcrew --root '/a/deep/path' inbox --next";

fn mark(name: &str, place: Place, any: &[&str]) -> Mark {
    Mark {
        name: name.into(),
        place,
        any: any.iter().map(ToString::to_string).collect(),
        ..Mark::default()
    }
}

fn signature() -> Signature {
    Signature {
        composer: Some(ComposerLook {
            prompts: vec!["❯".into()],
            column: Some(0),
            cursor: 2,
            cursor_shown: true,
            above: vec![Shape::Starts("──".into())],
            below: vec![Shape::Starts("──".into())],
            continued: crate::screen::Continued::Indent,
            placeholders: vec![],
            placeholder_proof: vec![],
            ghosts: vec![],
            suggests: false,
        }),
        dialog: vec![mark(
            "the keys of a dialog",
            Place::Screen,
            &["enter to confirm"],
        )],
        busy: vec![mark("a spinner", Place::Screen, &["thinking…"])],
        ready: vec![mark("the footer", Place::Below, &["? for shortcuts"])],
        ..Signature::default()
    }
}

fn keys(quirk: Quirk) -> Keys {
    Keys {
        submit: if quirk == Quirk::CrOnly {
            "C-m"
        } else {
            "Enter"
        }
        .into(),
        while_busy: if quirk == Quirk::Queues {
            WhileBusy::Queue
        } else {
            WhileBusy::Wait
        },
        ..Keys::default()
    }
}

/// The most orders of one submission: bounded tries of bounded looks.
const MOST_ORDERS: usize = 120;

fn follow(tui: &mut Tui, submit: &mut Submit, script: &[(usize, Event)]) -> (Outcome, usize) {
    for order in 0..MOST_ORDERS {
        for (_, event) in script.iter().filter(|(at, _)| *at == order) {
            tui.happens(*event);
        }
        let now = Timestamp::from_millis(tui.now);
        match submit.poll() {
            Order::Look => submit.handle_look(now, &tui.look()),
            Order::Paste { text, guard } => {
                let sent = tui.paste(&text, &guard);
                submit.handle_sent(now, sent);
            }
            Order::Press { key, guard } => {
                let sent = tui.press(&key, &guard);
                submit.handle_sent(now, sent);
            }
            Order::WaitUntil(until) => {
                tui.wait_until(until.as_millis());
                submit.handle_time(Timestamp::from_millis(tui.now));
            }
            Order::Done(outcome) => return (outcome, order),
        }
    }
    panic!("no answer after {MOST_ORDERS} orders: {submit:?}");
}

fn run(quirk: Quirk, script: &[(usize, Event)]) -> (Tui, Outcome, usize) {
    let mut tui = Tui::new(quirk);
    let plan = Plan::new(LINE, signature(), keys(quirk)).unwrap();
    let mut submit = Submit::new(plan);
    let (outcome, orders) = follow(&mut tui, &mut submit, script);
    (tui, outcome, orders)
}

/// What must hold whatever happens.
#[track_caller]
fn check_honest(tui: &Tui, outcome: &Outcome, what: &str) {
    assert_eq!(tui.into_dialog, 0, "{what}: a key reached a dialog");
    assert_eq!(
        tui.into_foreign, 0,
        "{what}: a submit key reached foreign text"
    );
    assert_eq!(tui.clears_of_nothing, 0, "{what}: nothing was cleared");
    assert!(tui.clears <= 1, "{what}: cleared {} times", tui.clears);
    assert!(tui.pastes <= 1, "{what}: typed {} times", tui.pastes);
    // A person may add signs after our key; the line itself must be whole.
    let took = |list: &[String]| list.iter().filter(|text| text.contains(LINE)).count();
    match outcome {
        // A turn that begins by itself in the very moment of ours makes the two look the same.
        Outcome::Submitted | Outcome::QueuedByTool => {
            let times = took(&tui.queued) + took(&tui.taken);
            assert_eq!(times, 1, "{what}: a false yes");
        }
        Outcome::NotWoken { left, .. } => {
            assert!(took(&tui.taken) <= 1, "{what}: submitted twice");
            if *left == Left::Nothing && matches!(tui.pane, Pane::Ours(_)) {
                assert!(
                    !tui.composer.contains(LINE),
                    "{what}: {outcome:?} but it is left"
                );
            }
        }
    }
}

fn reason(outcome: &Outcome) -> Option<(NotWoken, Left)> {
    match outcome {
        Outcome::NotWoken { reason, left, .. } => Some((*reason, *left)),
        _ => None,
    }
}

#[test]
fn c5_every_way_of_taking_enter_ends_in_the_truth() {
    for quirk in QUIRKS {
        let (tui, outcome, orders) = run(quirk, &[]);
        check_honest(&tui, &outcome, &format!("{quirk:?}"));
        let expected = match quirk {
            Quirk::NeverSubmits => Some((NotWoken::NotSubmittedAfterTries, Left::Nothing)),
            Quirk::Drops => Some((NotWoken::CannotTell, Left::Nothing)),
            _ => None,
        };
        assert_eq!(reason(&outcome), expected, "{quirk:?}");
        assert!(
            expected.is_some() || outcome == Outcome::Submitted,
            "{quirk:?}: {outcome:?}"
        );
        assert_eq!(tui.composer, "", "{quirk:?}: leftovers");
        assert!(orders < 60, "{quirk:?}: {orders} orders");
    }
}

#[test]
fn c5_a_program_that_queues_is_typed_into_while_it_works() {
    let (tui, outcome, _) = run(Quirk::Queues, &[(0, Event::TurnBegins)]);
    assert_eq!(outcome, Outcome::QueuedByTool);
    assert_eq!(tui.queued, [LINE]);
}

#[test]
fn c5_a_submission_without_trouble_waits_only_the_profiles_delays() {
    let (tui, outcome, _) = run(Quirk::EnterOnly, &[]);
    assert_eq!(outcome, Outcome::Submitted);
    let delays = Keys::default().delays_ms() - Keys::default().gather_ms;
    assert_eq!(tui.now, i64::from(delays));
}

#[test]
fn c4_each_gate_has_its_reason_and_types_nothing() {
    let cases = [
        (Event::DialogOpens, NotWoken::Dialog),
        (Event::HumanTypes, NotWoken::Draft),
        (Event::TurnBegins, NotWoken::Busy),
        (Event::CopyMode, NotWoken::InCopyMode),
        (Event::Exits, NotWoken::Exited),
        (Event::PaneGoes, NotWoken::PaneGone),
    ];
    for (event, expected) in cases {
        let (tui, outcome, _) = run(Quirk::EnterOnly, &[(0, event)]);
        assert_eq!(
            reason(&outcome),
            Some((expected, Left::Nothing)),
            "{event:?}"
        );
        assert_eq!(tui.pastes, 0, "{event:?}");
    }
}

#[test]
fn c2_a_pane_that_is_not_ours_is_not_touched() {
    let cases = [
        (Pane::NotOurs, NotWoken::NotOurs),
        (Pane::ServerChanged, NotWoken::ServerChanged),
        (Pane::Ours(Foreground::Shell), NotWoken::BareShell),
        (Pane::Ours(Foreground::Unknown), NotWoken::CannotTell),
    ];
    for (pane, expected) in cases {
        let mut tui = Tui::new(Quirk::EnterOnly);
        tui.pane = pane;
        let plan = Plan::new(LINE, signature(), Keys::default()).unwrap();
        let (outcome, _) = follow(&mut tui, &mut Submit::new(plan), &[]);
        assert_eq!(
            reason(&outcome),
            Some((expected, Left::Nothing)),
            "{pane:?}"
        );
        assert_eq!(tui.pastes, 0, "{pane:?}");
    }
}

#[test]
fn c3_a_dialog_that_opens_between_check_and_enter_gets_no_key() {
    // Order 0 looks, 1 pastes, 2 waits, 3 looks, 4 presses.
    for at in 1..=4 {
        let (tui, outcome, _) = run(Quirk::EnterOnly, &[(at, Event::DialogOpens)]);
        let expected = match at {
            1 => (NotWoken::Dialog, Left::Nothing),
            _ => (NotWoken::DialogOpenedBeforeEnter, Left::Text),
        };
        assert_eq!(reason(&outcome), Some(expected), "before order {at}");
        assert_eq!(tui.into_dialog, 0, "before order {at}");
    }
}

#[test]
fn what_a_dialog_left_behind_is_submitted_once_it_has_closed() {
    let (mut tui, outcome, _) = run(Quirk::EnterOnly, &[(3, Event::DialogOpens)]);
    assert_eq!(
        reason(&outcome),
        Some((NotWoken::DialogOpenedBeforeEnter, Left::Text))
    );
    tui.dialog = false;
    let plan = Plan::new(LINE, signature(), Keys::default()).unwrap();
    let plan = plan.after_leftover(Some(LINE.into()));
    let (outcome, _) = follow(&mut tui, &mut Submit::new(plan), &[]);
    assert_eq!(outcome, Outcome::Submitted);
    assert_eq!((tui.pastes, tui.taken.len()), (1, 1));
}

#[test]
fn a_leftover_that_says_something_else_is_cleared_first() {
    let old = "You have 2 new message(s). Read your mailbox: pitcrew inbox --next";
    let mut tui = Tui::new(Quirk::EnterOnly);
    tui.leave(old);
    let plan = Plan::new(LINE, signature(), Keys::default()).unwrap();
    let mut submit = Submit::new(plan.clone().after_leftover(Some(old.into())));
    let (outcome, _) = follow(&mut tui, &mut submit, &[]);
    assert_eq!(outcome, Outcome::Submitted);
    assert_eq!((tui.clears, tui.taken), (1, vec![LINE.to_string()]));

    let mut tui = Tui::new(Quirk::EnterOnly);
    tui.composer = "what a person writes".into();
    let mut submit = Submit::new(plan.after_leftover(Some(old.into())));
    let (outcome, _) = follow(&mut tui, &mut submit, &[]);
    assert_eq!(reason(&outcome), Some((NotWoken::Draft, Left::Nothing)));
    assert_eq!((tui.clears, tui.pastes), (0, 0));
}

#[test]
fn c3_no_event_before_any_order_makes_it_lie_or_harm() {
    for quirk in QUIRKS {
        let (_, _, orders) = run(quirk, &[]);
        for at in 0..=orders {
            for event in EVENTS {
                let (tui, outcome, _) = run(quirk, &[(at, event)]);
                check_honest(
                    &tui,
                    &outcome,
                    &format!("{quirk:?}, {event:?} before order {at}"),
                );
            }
        }
    }
}

#[test]
fn c3_no_two_events_make_it_lie_or_harm() {
    for quirk in QUIRKS {
        let (_, _, orders) = run(quirk, &[]);
        let orders = orders.min(11);
        for first in [
            Event::DialogOpens,
            Event::HumanTypes,
            Event::TurnBegins,
            Event::HumanClears,
        ] {
            for second in EVENTS {
                for at in 0..=orders {
                    for then in at..=orders {
                        let (tui, outcome, _) = run(quirk, &[(at, first), (then, second)]);
                        let what =
                            format!("{quirk:?}, {first:?} before {at}, {second:?} before {then}");
                        check_honest(&tui, &outcome, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn a_restless_pane_is_given_up() {
    let restless: Vec<(usize, Event)> =
        (0..MOST_ORDERS).map(|at| (at, Event::HumanTypes)).collect();
    let (tui, outcome, _) = run(Quirk::EnterOnly, &restless[1..]);
    check_honest(&tui, &outcome, "restless");
    assert!(reason(&outcome).is_some());
}

#[test]
fn a_failing_tmux_is_a_reason() {
    let plan = Plan::new(LINE, signature(), Keys::default()).unwrap();
    let mut submit = Submit::new(plan);
    submit.handle_failure("no server running");
    let outcome = submit.outcome().unwrap();
    assert_eq!(
        reason(outcome),
        Some((NotWoken::TransportFailed, Left::Nothing))
    );
}

#[test]
fn only_one_plain_line_can_be_submitted() {
    let plan = |text: &str| Plan::new(text, signature(), Keys::default()).map(|_| ());
    assert_eq!(plan("two\nlines"), Err(PlanRefused::Control));
    assert_eq!(plan("esc \x1b[201~"), Err(PlanRefused::Control));
    assert_eq!(plan("  "), Err(PlanRefused::Empty));
    assert_eq!(plan("/quit"), Err(PlanRefused::Command('/')));
    assert_eq!(plan("ends with;"), Ok(()));
}

#[test]
fn an_answer_that_comes_without_an_order_changes_nothing() {
    let plan = Plan::new(LINE, signature(), Keys::default()).unwrap();
    let mut submit = Submit::new(plan);
    submit.handle_time(Timestamp::from_millis(1_000));
    submit.handle_sent(Timestamp::from_millis(1_000), Sent::Sent);
    assert_eq!(submit.poll(), Order::Look);
}
