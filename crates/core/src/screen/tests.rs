//! Marks and composers on their own, with looks made for the purpose.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn facts(rows: &[&str]) -> Facts {
    Facts {
        rows: rows.iter().map(|row| Row::plain(*row)).collect(),
        ..Facts::default()
    }
}

/// Whether a signature with this one busy mark sees it.
fn sees(mark: Mark, facts: &Facts) -> bool {
    let signature = Signature {
        busy: vec![mark],
        ..Signature::default()
    };
    judge(facts, &signature).busy.is_some()
}

fn says(any: &str) -> Mark {
    Mark {
        name: "it".into(),
        any: words(&[any]),
        ..Mark::default()
    }
}

#[test]
fn a_phrase_is_found_over_a_wrap_between_words_and_within_one() {
    let mark = || says("esc to cancel");
    assert!(sees(mark(), &facts(&["  press ESC   to cancel now"])));
    assert!(sees(
        mark(),
        &facts(&["│ press esc to      │", "│ cancel            │"])
    ));
    assert!(sees(mark(), &facts(&["press esc to can", "cel"])));
    // A blank row ends a phrase, and so does a row that does not reach the edge, within a word.
    assert!(!sees(mark(), &facts(&["press esc to", "", "cancel"])));
    assert!(!sees(
        mark(),
        &facts(&["press esc to can", "cel", "a row that is longer than they"])
    ));
}

#[test]
fn a_mark_that_asks_for_nothing_is_never_seen() {
    assert!(!sees(Mark::default(), &facts(&["text"])));
    let none = Mark {
        none: words(&["x"]),
        cursor: Some(Shown::Shown),
        ..Mark::default()
    };
    let mut shown = facts(&["text"]);
    shown.cursor_visible = Some(true);
    assert!(!sees(none, &shown));
}

#[test]
fn every_condition_of_a_mark_must_hold_in_one_row() {
    let mark = |column_most: usize| Mark {
        starts: words(&["*"]),
        column_most: Some(column_most),
        all: words(&["wait"]),
        none: words(&["done"]),
        ..says("…")
    };
    assert!(sees(mark(0), &facts(&["* Wait… 3s"])));
    assert!(!sees(mark(0), &facts(&["  * wait… 3s"])));
    assert!(sees(mark(2), &facts(&["  * wait… 3s"])));
    assert!(!sees(mark(0), &facts(&["* wait… done"])));
    assert!(!sees(mark(0), &facts(&["* wait", "", "x …"])));
}

#[test]
fn a_sign_may_be_asked_for_by_its_neighbours() {
    let spinner = Mark {
        place: Place::Title,
        starts_between: words(&["⠁⣿"]),
        ..Mark::default()
    };
    let titled = |title: &str| Facts {
        title: Some(title.into()),
        ..facts(&["x"])
    };
    assert!(sees(spinner.clone(), &titled("⠧ thing")));
    assert!(!sees(spinner.clone(), &titled("thing ⠧")));
    assert!(!sees(spinner, &facts(&["⠧"])));
}

#[test]
fn the_cursor_and_the_kind_of_screen_count_only_when_known() {
    let mark = || Mark {
        cursor: Some(Shown::Hidden),
        alternate: Some(Shown::Hidden),
        ..says("bye")
    };
    let mut seen = facts(&["bye"]);
    assert!(!sees(mark(), &seen));
    seen.cursor_visible = Some(false);
    assert!(!sees(mark(), &seen));
    seen.alternate_screen = Some(false);
    assert!(sees(mark(), &seen));
}

#[test]
fn choices_need_a_pointer_and_a_neighbour() {
    let choice = || Mark {
        choices: words(&["❯"]),
        ..Mark::default()
    };
    assert!(sees(choice(), &facts(&["│ ❯ 1. Yes │", "│   2. No  │"])));
    assert!(sees(choice(), &facts(&["1) Yes", "❯ 2) No"])));
    assert!(!sees(choice(), &facts(&["❯ 1. Yes"])));
    assert!(!sees(choice(), &facts(&["1. Yes", "2. No"])));
    assert!(!sees(choice(), &facts(&["❯ 1.5 times", "2.5 times"])));
    assert!(!sees(
        choice(),
        &facts(&["❯ 1. Yes", "", "", "", "", "2. No"])
    ));
}

fn boxed() -> ComposerLook {
    ComposerLook {
        prompts: words(&[">"]),
        column: Some(0),
        cursor: 2,
        cursor_shown: true,
        above: vec![Shape::Only("-".into())],
        below: vec![Shape::Only("-".into())],
        continued: Continued::Indent,
        placeholders: words(&["Ask"]),
        placeholder_proof: vec![],
        ghosts: vec![Tint::Dim],
        suggests: false,
    }
}

fn composer(rows: &[&str], x: u16, y: u16) -> Composer {
    let mut seen = facts(rows);
    seen.cursor = Some(Cursor { x, y });
    let signature = Signature {
        composer: Some(boxed()),
        ..Signature::default()
    };
    judge(&seen, &signature).composer
}

#[test]
fn a_composer_needs_its_whole_frame_and_the_cursor_inside() {
    assert_eq!(composer(&["---", "> ", "---"], 2, 1), Composer::Empty);
    assert_eq!(composer(&["---", ">", "---"], 2, 1), Composer::Empty);
    for (rows, x, y) in [
        (["", "> ", "---"], 2, 1),
        (["---", "> ", ""], 2, 1),
        (["-x-", "> ", "---"], 2, 1),
        (["---", " > ", "---"], 3, 1),
        (["---", "> ", "---"], 1, 1),
        (["---", "> ", "---"], 2, 0),
        (["---", "> ", "---"], 2, 9),
    ] {
        assert_eq!(composer(&rows, x, y), Composer::Absent, "{rows:?} {x},{y}");
    }
}

#[test]
fn a_draft_is_whatever_stands_in_it_or_moved_the_cursor() {
    let draft = |text: &str| Composer::Draft(text.into());
    assert_eq!(composer(&["---", "> abc", "---"], 5, 1), draft("abc"));
    assert_eq!(composer(&["---", "> abc", "---"], 2, 1), draft("abc"));
    assert_eq!(composer(&["---", ">    ", "---"], 4, 1), draft(""));
    assert_eq!(
        composer(&["---", "> a", "", "  b", "---"], 3, 3),
        draft("a\n\nb")
    );
    assert_eq!(composer(&["---", "> ", "  b", "---"], 2, 1), draft("\nb"));
    // The prompt is scrolled out of sight.
    assert_eq!(composer(&["---", "  b", "  c", "---"], 3, 2), draft("b\nc"));
    assert_eq!(composer(&["---", "  ", "---"], 2, 1), draft(""));
}

#[test]
fn a_signature_without_a_composer_or_without_proofs_knows_no_ready() {
    let mut seen = facts(&["---", "> ", "---"]);
    seen.cursor = Some(Cursor { x: 2, y: 1 });
    assert_eq!(judge(&seen, &Signature::default()).state, State::Unknown);
    let signature = Signature {
        composer: Some(boxed()),
        ..Signature::default()
    };
    let reading = judge(&seen, &signature);
    assert_eq!((reading.state, reading.at_rest), (State::Unknown, false));
}

#[test]
fn a_limit_hides_the_proofs_only_from_the_state() {
    let mut seen = facts(&["limit reached", "---", "> ", "---", "hint"]);
    seen.cursor = Some(Cursor { x: 2, y: 2 });
    let signature = Signature {
        composer: Some(boxed()),
        limit: vec![says("limit reached")],
        ready: vec![says("hint")],
        ..Signature::default()
    };
    let reading = judge(&seen, &signature);
    assert_eq!((reading.state, reading.at_rest), (State::Limit, true));
}
