//! What happens in a run as JSON, one object a line.

use std::time::Duration;

use pitcrew_core::Timestamp;
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::run::event::{Happened, Report};
use pitcrew_runtime::run::{Scene, Watcher};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::failed_answer;
use crate::context::CLOCK;
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::{Layout, Ui};

/// Writes each fact as it comes.
pub(super) struct Stream<'u> {
    ui: &'u mut Ui,
}

impl<'u> Stream<'u> {
    pub(super) fn new(ui: &'u mut Ui) -> Self {
        Self { ui }
    }
}

impl Watcher for Stream<'_> {
    fn happened(&mut self, fact: &Happened<'_>) {
        write(self.ui, fact);
    }

    fn look(&mut self, _: &Scene<'_>) {}

    fn pace(&self) -> Option<Duration> {
        None
    }
}

/// The last line: what came of the run.
pub(super) fn finish(ui: &mut Ui, report: &Report) {
    #[derive(Serialize)]
    struct Ended<'a> {
        event: &'static str,
        at: Timestamp,
        #[serde(flatten)]
        report: &'a Report,
    }
    let ended = Ended {
        event: "run_ended",
        at: Timestamp::from_millis(CLOCK.now()),
        report,
    };
    write(ui, &ended);
}

/// The only line when the run did not take place, or the last one when it could not go on.
pub(super) fn refuse(ui: &mut Ui, halt: &Halt) -> Exit {
    let mut line = json!({ "event": "run_refused", "at": Timestamp::from_millis(CLOCK.now()) });
    if let Value::Object(answer) = failed_answer("error", None, halt) {
        for (key, value) in answer {
            line[key] = value;
        }
    }
    write(ui, &line);
    hints::row(halt).exit
}

fn write(ui: &mut Ui, what: &impl Serialize) {
    // Facts are made of text and numbers, which JSON always takes.
    let value = serde_json::to_value(what).unwrap_or_default();
    ui.json(&value, Layout::Compact);
    ui.flush();
}
