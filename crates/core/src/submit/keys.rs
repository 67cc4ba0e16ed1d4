//! How a program takes text, as data: keys, delays, tries.
//!
//! Delays are in milliseconds. The defaults are what works for every program measured so far.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde::Deserialize;

/// What is done while a turn is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhileBusy {
    /// Nothing is typed.
    #[default]
    Wait,
    /// The text is typed: the program keeps it until its turn has ended.
    Queue,
}

/// Whether a submitted text stands in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Echo {
    /// It does, and without it nothing counts as submitted.
    #[default]
    Shown,
    /// It does not: an emptied composer and a turn that began count.
    Hidden,
}

/// How a program takes text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Keys {
    /// The key that submits, as tmux names it.
    pub submit: String,
    /// The key that clears a draft, pressed once at most and only over a draft of ours. None: never cleared.
    pub clear: Option<String>,
    /// Between the paste and the submit key.
    pub burst_ms: u32,
    /// Between the first two looks for the pasted text; each further one waits half as long again.
    pub see_ms: u32,
    /// How often the pasted text is looked for.
    pub see_looks: u8,
    /// From the submit key to the first look after it; each further one waits half as long again.
    pub verify_ms: u32,
    /// How often the effect of one submit key is looked for.
    pub verify_looks: u8,
    /// How often the submit key is sent.
    pub tries: u8,
    /// How long triggers are gathered before one line is typed: the `gather_ms` of the nudge's timing for this program.
    pub gather_ms: u32,
    /// What is done while a turn is running.
    pub while_busy: WhileBusy,
    /// Whether a submitted text stands in the transcript.
    pub echo: Echo,
    /// How the composer shows a long paste instead of its text.
    pub paste_markers: Vec<String>,
    /// Whether the program is a shell, which takes the line as a command.
    pub is_shell: bool,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            submit: "Enter".into(),
            clear: Some("C-c".into()),
            burst_ms: 120,
            see_ms: 80,
            see_looks: 7,
            verify_ms: 150,
            verify_looks: 4,
            tries: 3,
            gather_ms: 60,
            while_busy: WhileBusy::Wait,
            echo: Echo::Shown,
            paste_markers: vec![],
            is_shell: false,
        }
    }
}

impl Keys {
    /// The delays that a submission without trouble takes: gathering, burst, first look after the key.
    #[must_use]
    pub fn delays_ms(&self) -> u32 {
        self.gather_ms + self.burst_ms + self.verify_ms
    }

    /// How long to wait before the look number `look` (from 0) after a submit key.
    pub(super) fn verify_after(&self, look: u8) -> i64 {
        growing(self.verify_ms, look)
    }

    /// How long to wait after the look number `look` (from 1) for the pasted text.
    pub(super) fn see_after(&self, look: u8) -> i64 {
        growing(self.see_ms, look.saturating_sub(1))
    }
}

/// The longest single wait between two looks.
const MOST_MS: i64 = 1_000;

/// `ms`, half as long again for each of `times`.
fn growing(ms: u32, times: u8) -> i64 {
    let mut wait = i64::from(ms);
    for _ in 0..times.min(16) {
        wait = (wait + wait / 2).min(MOST_MS.max(i64::from(ms)));
    }
    wait
}
