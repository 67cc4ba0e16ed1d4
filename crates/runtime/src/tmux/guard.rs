//! Conditions that tmux checks itself, in the step that sends a key.
//!
//! tmux reads no output of a pane between the condition of an `if-shell -F` and the command that it chooses, so what the
//! condition says is still true when the key is written. Three things are said: whose pane it is; where the cursor
//! stands and what the title is; and that the screen shows nothing new, by two searches through the visible rows
//! (`#{C/r:…}`): no row is unknown, and the rows around the cursor are where they were.
//!
//! A condition may be false for a harmless change. It is never true over a dialog that was drawn.

use std::collections::BTreeMap;

use pitcrew_core::submit::Guard;

use super::quote;
use super::record::PaneRecord;

/// The longest pattern that is handed to tmux, in bytes. All arguments together must stay below 16 KiB.
const LONGEST: usize = 7_000;

/// How many signs of a row tell it from others, at most.
const SIGNS: usize = 24;

/// Signs that stand before what a row says: blanks and frames.
const FRAMES: [char; 9] = [' ', '│', '┃', '║', '╎', '┆', '▌', '▐', '|'];

/// The rows beside the cursor's that must be where they were.
const NEAR: usize = 2;

/// The longest row that is compared whole, in characters.
const WHOLE: usize = 200;

/// Whose pane it is, and that a key would reach it and it alone.
pub(super) fn identity(record: &PaneRecord) -> String {
    all(vec![
        equal("#{pid}", &record.server.server_pid.to_string()),
        equal(
            "#{start_time}",
            &record.server.server_started_at.to_string(),
        ),
        equal("#{pane_id}", &record.pane_id),
        equal("#{pane_pid}", &record.process.pid.to_string()),
    ])
}

/// Whose session it is.
pub(super) fn session(record: &PaneRecord) -> String {
    all(vec![
        equal("#{pid}", &record.server.server_pid.to_string()),
        equal(
            "#{start_time}",
            &record.server.server_started_at.to_string(),
        ),
        equal("#{session_id}", &record.session_id),
        equal("#{session_created}", &record.session_created_at.to_string()),
    ])
}

/// Everything that must hold when a key goes out.
pub(super) fn key(record: &PaneRecord, guard: &Guard) -> String {
    let mut conditions = vec![
        identity(record),
        is_off("pane_dead"),
        is_off("pane_in_mode"),
        // Otherwise the key would go to every pane of the window.
        is_off("pane_synchronized"),
        equal("#{cursor_x}", &guard.cursor.x.to_string()),
        equal("#{cursor_y}", &guard.cursor.y.to_string()),
    ];
    if let Some(visible) = guard.cursor_visible {
        conditions.push(equal("#{cursor_flag}", if visible { "1" } else { "0" }));
    }
    if let Some(title) = &guard.title {
        conditions.push(format!("#{{m/r:^{}$,#{{pane_title}}}}", literal(title)));
    }
    if !guard.rows.is_empty() {
        conditions.push(equal(
            &format!("#{{C/r:{}}}", unknown_row(&guard.rows)),
            "0",
        ));
        conditions.extend(rows_in_place(&guard.rows, usize::from(guard.cursor.y)));
    }
    all(conditions)
}

fn equal(format: &str, value: &str) -> String {
    format!("#{{==:{format},{value}}}")
}

/// A flag is `0`, or nothing where tmux writes none.
fn is_off(flag: &str) -> String {
    format!("#{{?{flag},0,1}}")
}

fn all(conditions: Vec<String>) -> String {
    let mut conditions = conditions.into_iter().rev();
    let last = conditions.next().unwrap_or_else(|| "1".to_owned());
    conditions.fold(last, |rest, condition| {
        format!("#{{&&:{condition},{rest}}}")
    })
}

fn literal(text: &str) -> String {
    let mut pattern = String::new();
    text.chars()
        .for_each(|sign| quote::sign(sign, &mut pattern));
    pattern
}

/// What a row says: trailing blanks are never seen by a search.
fn said(row: &str) -> &str {
    row.trim_end_matches(' ')
}

/// The rows around the cursor, each at its place. A search finds the first row only, so a text that stands further up
/// as well cannot be asked for.
fn rows_in_place(rows: &[String], cursor: usize) -> Vec<String> {
    let near = cursor.saturating_sub(NEAR)..rows.len().min(cursor + NEAR + 1);
    let first = |at: usize| rows[..at].iter().all(|row| said(row) != said(&rows[at]));
    let short = |at: usize| rows[at].chars().count() <= WHOLE;
    near.filter(|at| first(*at) && short(*at))
        .map(|at| {
            let row = literal(said(&rows[at]));
            equal(&format!("#{{C/r:^{row}$}}"), &(at + 1).to_string())
        })
        .collect()
}

/// The beginnings of rows as a tree of signs.
#[derive(Default)]
struct Node {
    /// A row ends here.
    ends: bool,
    /// A row goes on beyond what is compared.
    open: bool,
    next: BTreeMap<char, Node>,
}

impl Node {
    fn of(rows: &[String], signs: usize) -> Self {
        let mut root = Self::default();
        for row in rows {
            let mut node = &mut root;
            let row = said(row).trim_start_matches(FRAMES);
            for sign in row.chars().take(signs) {
                node = node.next.entry(sign).or_default();
            }
            match row.chars().count() > signs {
                true => node.open = true,
                false => node.ends = true,
            }
        }
        root
    }

    /// Writes what leaves the tree from here: another sign, an end too early, or a way down that leaves it later.
    fn write(&self, besides: &[char], into: &mut String) {
        let mut known: Vec<char> = besides.to_vec();
        known.extend(self.next.keys());
        into.push('(');
        match known.is_empty() {
            true => into.push('.'),
            false => quote::none_of(&known, into),
        }
        if besides.is_empty() && !self.ends {
            into.push_str("|$");
        }
        for (sign, node) in self.next.iter().filter(|(_, node)| !node.open) {
            into.push('|');
            quote::sign(*sign, into);
            node.write(&[], into);
        }
        into.push(')');
    }
}

/// A pattern that matches every row that is none of `rows`, as far as their first signs tell. Blank rows are known.
fn unknown_row(rows: &[String]) -> String {
    let mut signs = SIGNS;
    loop {
        let mut pattern = String::from("^[");
        pattern.extend(FRAMES);
        pattern.push_str("]*");
        Node::of(rows, signs).write(&FRAMES, &mut pattern);
        if pattern.len() <= LONGEST || signs <= 2 {
            return pattern;
        }
        signs -= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    #[test]
    fn conditions_nest_two_by_two() {
        assert_eq!(
            all(vec!["a".into(), "b".into(), "c".into()]),
            "#{&&:a,#{&&:b,c}}"
        );
        assert_eq!(all(vec![]), "1");
    }

    #[test]
    fn a_pattern_of_unknown_rows_leaves_the_tree_of_known_ones() {
        let mut pattern = String::new();
        Node::of(&rows(&["ab", "  a", "│ c│"]), 2).write(&[], &mut pattern);
        assert_eq!(
            pattern,
            "([^ac]|$|a([^b]|b(.|$))|c([^│]|$|│(.)))".replace("b(.|$)", "b(.)")
        );
    }

    #[test]
    fn a_row_that_stands_further_up_as_well_is_not_asked_for() {
        let found = rows_in_place(&rows(&["──", "> x", "──", ""]), 1);
        assert_eq!(
            found,
            [
                "#{==:#{C/r:^──$},1}",
                "#{==:#{C/r:^> x$},2}",
                "#{==:#{C/r:^$},4}"
            ]
        );
    }

    #[test]
    fn a_pattern_stays_within_what_tmux_takes() {
        let many: Vec<String> = (0..90u32)
            .map(|at| format!("{} row of many different ones {at}", at * 7919 % 9973))
            .collect();
        assert!(unknown_row(&many).len() <= LONGEST);
    }
}
