//! What happens in a run as plain lines, one for each thing that a person would want to know.

use std::time::Duration;

use console::truncate_str;
use pitcrew_runtime::clock::utc_offset_s;
use pitcrew_runtime::run::event::Happened;
use pitcrew_runtime::run::{Scene, Watcher};

use super::words;
use crate::ui::Ui;

/// The longest line, in columns. What a member answered may be one line of any length; the whole is its result.
const WIDEST: usize = 240;

/// Writes a line for each fact.
pub(super) struct Lines<'u> {
    ui: &'u mut Ui,
}

impl<'u> Lines<'u> {
    pub(super) fn new(ui: &'u mut Ui) -> Self {
        Self { ui }
    }
}

impl Watcher for Lines<'_> {
    fn happened(&mut self, fact: &Happened<'_>) {
        let zone = utc_offset_s(fact.at.as_millis());
        if let Some(words) = words::of(fact.fact, zone) {
            let line = format!("{} {words}", words::clock(fact.at, zone));
            self.ui.tell(&truncate_str(&line, WIDEST, "…"));
        }
    }

    fn look(&mut self, _: &Scene<'_>) {}

    fn pace(&self) -> Option<Duration> {
        None
    }
}

/// Says nothing.
pub(super) struct Quiet;

impl Watcher for Quiet {
    fn happened(&mut self, _: &Happened<'_>) {}

    fn look(&mut self, _: &Scene<'_>) {}

    fn pace(&self) -> Option<Duration> {
        None
    }
}
