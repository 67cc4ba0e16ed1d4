//! A simulated agent in a terminal, with the quirks of real ones, and with everything that a person or the agent itself
//! may do between two orders.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::{Foreground, Guard, Look, Pane, Sent};
use crate::screen::{Cursor, Facts, Row};

/// How the program takes keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    /// Enter submits.
    EnterOnly,
    /// Only a carriage return by name submits, Enter is a newline.
    CrOnly,
    /// An Enter within 120 ms after a paste is a newline.
    PasteBurst,
    /// The first Enter is lost.
    SwallowsFirst,
    /// Text that comes while a turn runs is kept.
    Queues,
    /// The composer wraps long lines.
    Rewraps,
    /// Every Enter is a newline.
    NeverSubmits,
    /// An Enter takes effect 300 ms later.
    Slow,
    /// An Enter empties the composer and does nothing.
    Drops,
}

pub(super) const QUIRKS: [Quirk; 9] = [
    Quirk::EnterOnly,
    Quirk::CrOnly,
    Quirk::PasteBurst,
    Quirk::SwallowsFirst,
    Quirk::Queues,
    Quirk::Rewraps,
    Quirk::NeverSubmits,
    Quirk::Slow,
    Quirk::Drops,
];

/// What happens on its own before an order is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    DialogOpens,
    DialogCloses,
    HumanTypes,
    HumanErases,
    HumanClears,
    HumanSends,
    TurnBegins,
    TurnEnds,
    Exits,
    PaneGoes,
    CopyMode,
}

pub(super) const EVENTS: [Event; 11] = [
    Event::DialogOpens,
    Event::DialogCloses,
    Event::HumanTypes,
    Event::HumanErases,
    Event::HumanClears,
    Event::HumanSends,
    Event::TurnBegins,
    Event::TurnEnds,
    Event::Exits,
    Event::PaneGoes,
    Event::CopyMode,
];

/// The simulated program and its pane.
#[derive(Debug, Clone)]
pub(super) struct Tui {
    quirk: Quirk,
    pub now: i64,
    pub composer: String,
    /// What was pasted: a submit key over any other text reached a person's.
    pasted: String,
    pub dialog: bool,
    pub busy: bool,
    pub in_mode: bool,
    pub pane: Pane,
    pub transcript: Vec<String>,
    pasted_at: i64,
    swallowed: bool,
    pending: Option<i64>,
    /// Keys and pastes that reached an open dialog.
    pub into_dialog: u32,
    /// Submit keys that reached text with a person's signs in it.
    pub into_foreign: u32,
    /// Clear keys that reached an empty composer, which ends some programs.
    pub clears_of_nothing: u32,
    pub clears: u32,
    pub pastes: u32,
    /// What the program took as turns.
    pub taken: Vec<String>,
    /// What it keeps until its turn has ended.
    pub queued: Vec<String>,
}

impl Tui {
    pub(super) fn new(quirk: Quirk) -> Self {
        Self {
            quirk,
            now: 0,
            composer: String::new(),
            pasted: String::new(),
            dialog: false,
            busy: false,
            in_mode: false,
            pane: Pane::Ours(Foreground::Agent),
            transcript: Vec::new(),
            pasted_at: -10_000,
            swallowed: false,
            pending: None,
            into_dialog: 0,
            into_foreign: 0,
            clears_of_nothing: 0,
            clears: 0,
            pastes: 0,
            taken: Vec::new(),
            queued: Vec::new(),
        }
    }

    pub(super) fn happens(&mut self, event: Event) {
        match event {
            Event::DialogOpens => self.dialog = true,
            Event::DialogCloses => self.dialog = false,
            Event::HumanTypes if !self.dialog => self.composer.push('x'),
            Event::HumanErases if !self.dialog => {
                self.composer.pop();
            }
            Event::HumanClears if !self.dialog => self.empty(),
            Event::HumanSends if !self.dialog => {
                self.empty();
                self.say("what a person wrote");
                self.busy = true;
            }
            Event::TurnBegins => self.busy = true,
            Event::TurnEnds => self.busy = false,
            Event::Exits => self.pane = Pane::Dead,
            Event::PaneGoes => self.pane = Pane::Gone,
            Event::CopyMode => self.in_mode = !self.in_mode,
            _ => {}
        }
    }

    fn empty(&mut self) {
        self.composer.clear();
    }

    fn say(&mut self, text: &str) {
        self.transcript.push(format!("> {text}"));
    }

    /// Puts a text of ours into the composer, as an earlier try left it.
    pub(super) fn leave(&mut self, text: &str) {
        self.composer = text.to_string();
        self.pasted = text.to_string();
    }

    pub(super) fn wait_until(&mut self, now: i64) {
        self.now = self.now.max(now);
        if self.pending.is_some_and(|at| at <= self.now) {
            self.pending = None;
            self.submit();
        }
    }

    pub(super) fn look(&self) -> Look {
        Look {
            pane: self.pane,
            facts: self.facts(),
        }
    }

    fn holds(&self, guard: &Guard) -> bool {
        let facts = self.facts();
        matches!(self.pane, Pane::Ours(_))
            && !self.in_mode
            && facts.cursor == Some(guard.cursor)
            && facts.cursor_visible == guard.cursor_visible
            && guard
                .title
                .as_ref()
                .is_none_or(|title| facts.title.as_ref() == Some(title))
    }

    pub(super) fn paste(&mut self, text: &str, guard: &Guard) -> Sent {
        if !self.holds(guard) {
            return Sent::Held;
        }
        self.pastes += 1;
        if self.dialog {
            self.into_dialog += 1;
        } else {
            self.composer.push_str(text);
            self.pasted = text.to_string();
            self.pasted_at = self.now;
        }
        Sent::Sent
    }

    pub(super) fn press(&mut self, key: &str, guard: &Guard) -> Sent {
        if !self.holds(guard) {
            return Sent::Held;
        }
        if self.dialog {
            self.into_dialog += 1;
            self.dialog = false;
            return Sent::Sent;
        }
        match key {
            "C-c" if self.composer.is_empty() => self.clears_of_nothing += 1,
            "C-c" => {
                self.clears += 1;
                self.empty();
            }
            _ => self.enter(key),
        }
        Sent::Sent
    }

    fn enter(&mut self, key: &str) {
        let text = self.composer.trim();
        if !text.is_empty() && text != self.pasted {
            self.into_foreign += 1;
        }
        let newline = match self.quirk {
            Quirk::CrOnly => key != "C-m",
            Quirk::PasteBurst => self.now - self.pasted_at < 120,
            Quirk::NeverSubmits => true,
            _ => false,
        };
        if newline {
            self.composer.push('\n');
        } else if self.quirk == Quirk::SwallowsFirst && !self.swallowed {
            self.swallowed = true;
        } else if self.quirk == Quirk::Slow {
            self.pending = self.pending.or(Some(self.now + 300));
        } else {
            self.submit();
        }
    }

    fn submit(&mut self) {
        let text = self.composer.trim().to_string();
        self.empty();
        if text.is_empty() || self.quirk == Quirk::Drops {
            return;
        }
        self.say(&text);
        if self.busy {
            self.queued.push(text);
        } else {
            self.taken.push(text);
            self.busy = true;
        }
    }

    fn columns(&self) -> usize {
        if self.quirk == Quirk::Rewraps { 40 } else { 80 }
    }

    fn facts(&self) -> Facts {
        let columns = self.columns();
        let mut rows: Vec<String> = Vec::new();
        for line in &self.transcript {
            rows.extend(wrapped(line, columns));
        }
        let mut cursor = (1, 0);
        if self.dialog {
            rows.push("Do you want to run this?".into());
            cursor.1 = rows.len();
            rows.push(" ❯ 1. Yes".into());
            rows.push("   2. No".into());
            rows.push(" Enter to confirm · Esc to cancel".into());
        } else {
            if self.busy {
                rows.push("✻ Thinking… (3s)".into());
            }
            rows.push("─".repeat(columns));
            let text: Vec<String> = self
                .composer
                .split('\n')
                .flat_map(|line| wrapped(line, columns - 2))
                .collect();
            for (at, line) in text.iter().enumerate() {
                let head = if at == 0 { "❯ " } else { "  " };
                cursor = (2 + line.chars().count(), rows.len());
                rows.push(format!("{head}{line}"));
            }
            rows.push("─".repeat(columns));
            rows.push(match (self.busy, self.composer.is_empty()) {
                (true, true) => "  esc to interrupt".into(),
                (false, true) => "  ? for shortcuts".into(),
                _ => String::new(),
            });
        }
        Facts {
            rows: rows.into_iter().map(Row::plain).collect(),
            width: u16::try_from(columns).ok(),
            cursor: Some(Cursor {
                x: u16::try_from(cursor.0).unwrap_or(0),
                y: u16::try_from(cursor.1).unwrap_or(0),
            }),
            cursor_visible: Some(!self.dialog),
            alternate_screen: Some(true),
            mouse: Some(false),
            in_mode: Some(self.in_mode),
            command: Some("agent".into()),
            title: Some(if self.busy {
                "⠋ agent".into()
            } else {
                "agent".into()
            }),
        }
    }
}

/// `line` broken at `columns`, at least one row.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let signs: Vec<char> = line.chars().collect();
    if signs.is_empty() {
        return [String::new()].into();
    }
    signs
        .chunks(columns)
        .map(|chunk| chunk.iter().collect())
        .collect()
}
