//! `limits record | release`: what a model call really used, or that it was not made.

use pitcrew_core::TaskId;
use pitcrew_core::limiter::{Basis, Recorded, Report, ReservationId};
use pitcrew_core::price::Micros;
use serde_json::{Value, json};

use super::{dollars, say};
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of `limits record`.
pub(super) const RECORD: Entry =
    Entry::new::<Record>("record", "Book what a model call really used");
/// The row of `limits release`.
pub(super) const RELEASE: Entry = Entry::new::<Release>(
    "release",
    "Give back what was set aside for a call that was not made",
);

/// Book what a model call really used
///
/// With the number of its reservation, in its place; without one, for a call that never asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Record {
    /// The reservation
    #[arg(value_name = "RESERVATION")]
    reservation: Option<u64>,
    /// All its tokens
    #[arg(long, value_name = "N")]
    tokens: u64,
    /// What it cost in dollars; the estimate of the reservation if not given
    #[arg(long, value_name = "USD", value_parser = dollars)]
    cost: Option<Micros>,
    /// The task that it was for
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// The model that answered
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// Give back what was set aside for a call that was not made
#[derive(Debug, clap::Args)]
pub(crate) struct Release {
    /// The reservation
    #[arg(value_name = "RESERVATION")]
    reservation: u64,
}

impl Run for Record {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let task = self.task.as_deref().map(TaskId::new).transpose()?;
        let team = context.open_team()?;
        let me = context.me(&team)?;
        let recorded = team.desk().record(&Report {
            member: &me,
            reservation: self.reservation.map(ReservationId),
            tokens: self.tokens,
            cost: self.cost,
            task: task.as_ref(),
            model: self.model.as_deref(),
        })?;
        say(context.ui, &recorded.events);
        if context.ui.json {
            context.ui.json(&answer(&recorded), Layout::Pretty);
        } else {
            context.ui.line(&in_words(&recorded));
        }
        Ok(Exit::Done)
    }
}

impl Run for Release {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let me = context.me(&team)?;
        let id = ReservationId(self.reservation);
        let events = team.desk().release_reservation(id, &me)?;
        say(context.ui, &events);
        if context.ui.json {
            let answer = json!({ "ok": true, "reservation": id, "events": events });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.line(&format!("released {id}"));
        }
        Ok(Exit::Done)
    }
}

/// What was booked, on one line.
pub(super) fn in_words(recorded: &Recorded) -> String {
    let basis = match recorded.basis {
        Basis::Reported => "",
        Basis::Estimated => " (the estimate)",
        Basis::Unpriced => " (no price is known)",
    };
    format!(
        "booked {} tokens and {}{basis} to {}",
        recorded.tokens, recorded.cost, recorded.owner
    )
}

/// What was booked, as JSON.
pub(crate) fn answer(recorded: &Recorded) -> Value {
    json!({ "ok": true, "recorded": recorded })
}
