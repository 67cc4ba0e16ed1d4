//! Captured screens, damaged at random: whatever rows are lost, moved or cut, what was not ready does not become ready.

use super::*;
use pitcrew_core::screen::{Cursor, Row};

/// One kind of damage.
#[derive(Debug, Clone)]
enum Damage {
    /// A row is lost and those below move up, with the cursor or without it.
    Lost { row: usize, cursor_moves: u16 },
    /// A blank row is put in and those below move down, with the cursor or without it.
    Added { row: usize, cursor_moves: u16 },
    /// A row becomes blank.
    Blanked { row: usize },
    /// A row is cut on the right.
    Cut { row: usize, at: usize },
    /// A row loses its left part.
    CutLeft { row: usize, at: usize },
    /// Every row is cut on the right.
    Narrowed { at: usize },
    /// The screen begins further down.
    Scrolled { rows: usize },
    /// The screen ends further up.
    Shortened { rows: usize },
}

fn damage() -> impl Strategy<Value = Damage> {
    let row = 0usize..40;
    prop_oneof![
        (row.clone(), 0u16..2).prop_map(|(row, cursor_moves)| Damage::Lost { row, cursor_moves }),
        (row.clone(), 0u16..2).prop_map(|(row, cursor_moves)| Damage::Added { row, cursor_moves }),
        row.clone().prop_map(|row| Damage::Blanked { row }),
        (row.clone(), 0usize..120).prop_map(|(row, at)| Damage::Cut { row, at }),
        (row.clone(), 0usize..120).prop_map(|(row, at)| Damage::CutLeft { row, at }),
        (10usize..120).prop_map(|at| Damage::Narrowed { at }),
        (1usize..30).prop_map(|rows| Damage::Scrolled { rows }),
        (1usize..30).prop_map(|rows| Damage::Shortened { rows }),
    ]
}

fn cut(row: &mut Row, at: usize) {
    row.text = row.text.chars().take(at).collect();
}

fn moved(cursor: Option<Cursor>, by: i32) -> Option<Cursor> {
    let Cursor { x, y } = cursor?;
    let y = u16::try_from(i32::from(y) + by).ok()?;
    Some(Cursor { x, y })
}

fn damaged(facts: &mut Facts, damage: &Damage) {
    let height = facts.rows.len();
    let below = |row: usize| {
        facts
            .cursor
            .is_some_and(|cursor| usize::from(cursor.y) > row)
    };
    match *damage {
        Damage::Lost { row, cursor_moves } if row < height => {
            let by = i32::from(cursor_moves) * i32::from(below(row));
            facts.rows.remove(row);
            facts.cursor = moved(facts.cursor, -by);
        }
        Damage::Added { row, cursor_moves } if row < height => {
            let by = i32::from(cursor_moves) * i32::from(below(row));
            facts.rows.insert(row, Row::default());
            facts.cursor = moved(facts.cursor, by);
        }
        Damage::Blanked { row } if row < height => facts.rows[row] = Row::default(),
        Damage::Cut { row, at } if row < height => cut(&mut facts.rows[row], at),
        Damage::CutLeft { row, at } if row < height => {
            let t: String = facts.rows[row].text.chars().skip(at).collect();
            facts.rows[row].text = t;
        }
        Damage::Narrowed { at } => facts.rows.iter_mut().for_each(|row| cut(row, at)),
        Damage::Scrolled { rows } => {
            let rows = rows.min(height);
            facts.rows.drain(..rows);
            let by = i32::try_from(rows).unwrap_or(0);
            facts.cursor = moved(facts.cursor, -by);
        }
        Damage::Shortened { rows } => facts.rows.truncate(height.saturating_sub(rows)),
        _ => {}
    }
}

#[test]
fn no_damage_makes_a_screen_ready() {
    let screens: Vec<(Captured, &Signature)> = captured()
        .into_iter()
        .map(|screen| {
            let signature = signature(&screen.profile);
            (screen, signature)
        })
        .filter(|(screen, signature)| judge(&screen.facts, signature).state != State::Ready)
        .collect();
    if screens.is_empty() {
        return;
    }
    let damages = prop::collection::vec(damage(), 1..5);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    });
    let outcome = runner.run(&damages, |damages| {
        for (screen, signature) in &screens {
            let mut facts = screen.facts.clone();
            for damage in &damages {
                damaged(&mut facts, damage);
            }
            let reading = judge(&facts, signature);
            prop_assert_ne!(
                reading.state,
                State::Ready,
                "{}: {}\n{}",
                screen.name,
                reading.why,
                facts.to_capture()
            );
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
