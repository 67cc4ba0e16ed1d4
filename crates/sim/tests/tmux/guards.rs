//! Conditions that tmux checks: true over the screen that was seen, false over every other one.

use pitcrew_core::screen::Facts;
use pitcrew_core::submit::{Guard, Sent};
use pitcrew_sim::fake::skin::SKINS;

use crate::yard::yard;

fn guard(facts: &Facts) -> Guard {
    Guard {
        cursor: facts.cursor.unwrap(),
        cursor_visible: facts.cursor_visible,
        title: facts.title.clone(),
        rows: facts.rows.iter().map(|row| row.text.clone()).collect(),
    }
}

#[test]
fn a_guard_holds_over_the_screen_it_was_made_of_in_every_skin() {
    let Some(yard) = yard() else { return };
    for skin in SKINS {
        let fake = yard.ready(
            skin.profile,
            &[
                "--skin",
                skin.profile,
                "--before",
                "* odd #{x}, [a] (b|c) \\d ^$ 50% \"q\" 'r' ;",
            ],
        );
        for order in [
            "close",
            "say one more row: }#,",
            "dialog",
            "close",
            "type a draft",
            "limit",
        ] {
            fake.order(order);
            yard.settled(&fake);
            let seen = yard.look(&fake);
            let sent = yard
                .tmux
                .press(&fake.pane, "F12", &guard(&seen.facts))
                .unwrap();
            assert_eq!(sent, Sent::Sent, "{} {order}", skin.profile);
        }
    }
}

#[test]
fn a_guard_does_not_hold_over_any_other_screen() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    let seen = guard(&yard.look(&fake).facts);
    let before = fake.bytes();
    for order in [
        "dialog",
        "close",
        "say another row",
        "type x",
        "erase",
        "limit",
        "busy",
    ] {
        fake.order(order);
        yard.settled(&fake);
        if guard(&yard.look(&fake).facts) == seen {
            continue;
        }
        let sent = yard.tmux.press(&fake.pane, "Enter", &seen).unwrap();
        assert_eq!(sent, Sent::Held, "{order}");
        assert_eq!(
            yard.tmux.paste(&fake.pane, "text", &seen).unwrap(),
            Sent::Held,
            "{order}"
        );
    }
    assert_eq!(fake.bytes(), before);
    assert_eq!(yard.raw(&["list-buffers"]), "");
}

#[test]
fn a_row_in_a_blank_place_is_noticed_although_cursor_and_title_stay() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    let seen = yard.look(&fake);
    let holds = guard(&seen.facts);
    for text in [
        "Allow?",
        "    a",
        "│ ? │",
        "❯ 1. Yes",
        "fake claude?",
        "? for shortcuts!",
    ] {
        // Written to the terminal from outside, the cursor put back: what a program does that draws a box.
        let tty = yard.raw(&[
            "display-message",
            "-p",
            "-t",
            &fake.pane.pane_id,
            "#{pane_tty}",
        ]);
        std::fs::write(&tty, format!("\x1b7\x1b[30;3H{text}\x1b8")).unwrap();
        yard.settled(&fake);
        let now = yard.look(&fake);
        assert_eq!(
            (now.facts.cursor, &now.facts.title),
            (seen.facts.cursor, &seen.facts.title)
        );
        assert_ne!(now.facts.rows, seen.facts.rows);
        assert_eq!(
            yard.tmux.press(&fake.pane, "Enter", &holds).unwrap(),
            Sent::Held,
            "{text}"
        );
        std::fs::write(&tty, "\x1b7\x1b[30;1H\x1b[K\x1b8").unwrap();
        yard.settled(&fake);
    }
    assert_eq!(
        yard.tmux.press(&fake.pane, "F12", &holds).unwrap(),
        Sent::Sent
    );
}

#[test]
fn a_key_that_would_reach_every_pane_of_a_window_is_not_sent() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &[]);
    let holds = guard(&yard.look(&fake).facts);
    yard.raw(&[
        "set-option",
        "-w",
        "-t",
        &fake.pane.pane_id,
        "synchronize-panes",
        "on",
    ]);
    assert_eq!(
        yard.tmux.press(&fake.pane, "Enter", &holds).unwrap(),
        Sent::Held
    );
}
