//! What happens in a run as plain lines, one for each thing that a person would want to know.

use std::time::Duration;

use pitcrew_runtime::clock::utc_offset_s;
use pitcrew_runtime::run::event::Happened;
use pitcrew_runtime::run::{Scene, Watcher};

use super::words;
use crate::ui::Ui;

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
            self.ui
                .tell(&format!("{} {words}", words::clock(fact.at, zone)));
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
