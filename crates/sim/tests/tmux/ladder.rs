//! C5: every way in which a program takes a message, or does not.

use pitcrew_core::submit::Outcome;

use crate::yard::{Yard, reason, yard};

const TEXT: &str = "You have 3 new message(s). Read your mailbox: pitcrew inbox --next";

fn try_one(yard: &Yard, name: &str, switches: &[&str]) -> (Outcome, Vec<String>) {
    let fake = yard.ready(name, switches);
    let outcome = yard.submit(&fake, TEXT);
    (outcome, fake.notes())
}

fn taken(notes: &[String]) -> usize {
    notes
        .iter()
        .filter(|note| **note == format!("taken {TEXT}"))
        .count()
}

#[test]
fn c5_each_program_is_given_the_text_once() {
    let Some(yard) = yard() else { return };
    for skin in ["claude", "codex", "copilot", "gemini", "opencode", "qwen"] {
        let (outcome, notes) = try_one(&yard, skin, &["--skin", skin]);
        assert_eq!(outcome, Outcome::Submitted, "{skin} {notes:#?}");
        assert_eq!(taken(&notes), 1, "{skin}");
    }
}

#[test]
fn c5_quirks_that_end_well() {
    let Some(yard) = yard() else { return };
    for (name, switches) in [
        ("burst", &["--burst-ms", "100"][..]),
        ("swallows", &["--swallow", "1"]),
        ("swallows-two", &["--swallow", "2"]),
        ("slow-key", &["--submit-ms", "300"]),
        ("slow-screen", &["--draw-ms", "60"]),
        ("raw-paste", &["--no-bracketed"]),
        ("no-turn", &["--turn-ms", "0"]),
        ("alternate", &["--skin", "opencode", "--swallow", "1"]),
    ] {
        let (outcome, notes) = try_one(&yard, name, switches);
        assert_eq!(outcome, Outcome::Submitted, "{name} {notes:#?}");
        assert_eq!(taken(&notes), 1, "{name}");
    }
}

#[test]
fn c5_long_lines_that_are_wrapped_are_recognised() {
    let Some(yard) = yard() else { return };
    let size = pitcrew_runtime::tmux::Size {
        width: 50,
        height: 20,
    };
    for skin in ["claude", "codex", "opencode"] {
        let fake = yard.start_at(skin, &["--skin", skin], size);
        fake.wait_for("shown ready");
        yard.settled(&fake);
        let text = format!("{TEXT} {}", "and some more words ".repeat(6).trim_end());
        assert_eq!(yard.submit(&fake, &text), Outcome::Submitted, "{skin}");
        assert_eq!(fake.count(&format!("taken {text}")), 1);
    }
}

#[test]
fn c5_quirks_that_cannot_end_well_are_no_yes_and_leave_nothing() {
    let Some(yard) = yard() else { return };
    for (name, switches, code) in [
        (
            "never",
            &["--submit", "never"][..],
            "not_submitted_after_tries",
        ),
        (
            "line-feed",
            &["--submit", "line-feed"],
            "not_submitted_after_tries",
        ),
        ("drops", &["--drops"], "cannot_tell"),
    ] {
        let fake = yard.ready(name, switches);
        let outcome = yard.submit(&fake, TEXT);
        assert_eq!(reason(&outcome), code, "{name} {:#?}", fake.notes());
        yard.settled(&fake);
        assert_eq!(taken(&fake.notes()), 0, "{name}");
        assert_eq!(yard.state(&fake).word(), "ready", "{name}: leftovers");
    }
}

#[test]
fn c5_a_program_that_queues_says_so() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    fake.order("busy");
    yard.settled(&fake);
    let mut profile = fake.profile();
    profile.submit.while_busy = pitcrew_core::submit::WhileBusy::Queue;
    let plan = profile.plan(TEXT).unwrap();
    let outcome = pitcrew_runtime::tmux::submit(&mut (&yard.tmux, &fake.pane), plan);
    assert_eq!(outcome, Outcome::QueuedByTool, "{:#?}", fake.notes());
    assert_eq!(fake.count(&format!("queued {TEXT}")), 1);
}

#[test]
fn c5_a_program_that_crashes_at_the_key_is_no_yes() {
    let Some(yard) = yard() else { return };
    let (outcome, _) = try_one(&yard, "w1", &["--crash", "3"]);
    assert_eq!(reason(&outcome), "exited");
}

#[test]
fn a5_odd_texts_arrive_as_they_are() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &["--turn-ms", "0"]);
    for text in [
        "ends with;",
        "a ; b",
        "`touch x` $(touch y) \"q\" 'r' \\ ~ %5 #{pane_id}",
        "naïve ☃ 👩‍👩‍👧",
    ] {
        yard.settled(&fake);
        assert_eq!(
            yard.submit(&fake, text),
            Outcome::Submitted,
            "{text} {:#?}",
            fake.notes()
        );
        assert_eq!(fake.count(&format!("taken {text}")), 1, "{text}");
    }
}
