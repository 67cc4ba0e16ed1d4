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

/// Captured screens with their colours; none, with a notice, where they are not.
fn captured() -> Vec<(std::path::PathBuf, String)> {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = here
        .ancestors()
        .map(|folder| folder.join("shared/cases/screens"));
    let Some(folder) = folders.find(|folder| folder.is_dir()) else {
        let required = std::env::var("PITCREW_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|word| word.trim() == "shared"),
            "captured screens are required"
        );
        println!("skipped: no captured screens");
        return Vec::new();
    };
    let programs = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir());
    let files = programs.flat_map(|program| std::fs::read_dir(program.path()).unwrap().flatten());
    let ansi = files
        .map(|file| file.path())
        .filter(|file| file.extension().is_some_and(|end| end == "ansi"));
    ansi.map(|file| (file.clone(), std::fs::read_to_string(file).unwrap()))
        .collect()
}

#[test]
fn a_guard_holds_over_every_captured_screen_and_notices_one_more_row() {
    let Some(yard) = yard() else { return };
    let fake = yard.ready("w1", &["--start-ms", "0"]);
    let tty = yard.raw(&[
        "display-message",
        "-p",
        "-t",
        &fake.pane.pane_id,
        "#{pane_tty}",
    ]);
    let mut noticed = 0;
    for (file, screen) in captured() {
        let rows: Vec<&str> = screen.split('\n').take(40).collect();
        let mut frame = String::from("\x1b[?25l\x1b[H\x1b[2J");
        for (at, row) in rows.iter().enumerate() {
            frame.push_str(&format!("\x1b[{};1H{row}\x1b[0m", at + 1));
        }
        std::fs::write(&tty, format!("{frame}\x1b[20;9H\x1b[?25h")).unwrap();
        if Facts::default().drawn(&screen).is_blank() {
            continue;
        }
        yard.settled(&fake);
        let holds = guard(&yard.look(&fake).facts);
        let sent = yard.tmux.press(&fake.pane, "F12", &holds).unwrap();
        assert_eq!(sent, Sent::Sent, "{}", file.display());
        let Some(blank) = holds.rows.iter().rposition(|row| row.trim().is_empty()) else {
            continue;
        };
        std::fs::write(
            &tty,
            format!(
                "\x1b7\x1b[{};4H1. Yes, and do not ask again\x1b8",
                blank + 1
            ),
        )
        .unwrap();
        yard.settled(&fake);
        let sent = yard.tmux.press(&fake.pane, "Enter", &holds).unwrap();
        assert_eq!(sent, Sent::Held, "{}", file.display());
        noticed += 1;
    }
    println!("{noticed} dialogs were noticed");
    assert!(!fake.bytes().contains("0d"));
}
