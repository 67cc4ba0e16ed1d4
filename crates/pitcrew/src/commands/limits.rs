//! `limits`: what the team may spend and how fast, asked for before a model call and settled after it.

use pitcrew_core::limiter::LimitEvent;
use pitcrew_core::price::Micros;

use crate::cli::Entry;
use crate::ui::Ui;

pub(crate) mod acquire;
mod pause;
mod prices;
mod report;
mod run;
mod set;
pub(crate) mod settle;
pub(crate) mod status;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "limits",
    "Keep the team inside one budget and one rate",
    &[
        set::ENTRY,
        status::ENTRY,
        prices::ENTRY,
        acquire::ENTRY,
        settle::RECORD,
        settle::RELEASE,
        run::ENTRY,
        pause::PAUSE,
        pause::RESUME,
    ],
);

/// Reads dollars as people write them.
fn dollars(text: &str) -> Result<Micros, String> {
    let number = text.strip_prefix('$').unwrap_or(text);
    Micros::parse_usd(number).ok_or_else(|| "money looks like 0.60, in dollars".to_string())
}

/// Says what happened beside an answer and whoever asked should know.
fn say(ui: &mut Ui, events: &[LimitEvent]) {
    for event in events {
        if let Some(words) = words(event) {
            ui.say(&words);
        }
    }
}

fn words(event: &LimitEvent) -> Option<String> {
    Some(match event {
        LimitEvent::ReservationLapsed { reservation } => format!(
            "reservation {} of {} was not settled in time and is refunded",
            reservation.id, reservation.member
        ),
        LimitEvent::SettledByAnother { id, owner, .. } => {
            format!("reservation {id} is of {owner}, so it was booked to {owner}")
        }
        LimitEvent::SettledLate { id, .. } => {
            format!("reservation {id} had lapsed; what it used was booked all the same")
        }
        LimitEvent::BudgetReached { member, budget, .. } => match member {
            Some(member) => format!("the budget of {member}, {budget}, is spent"),
            None => format!("the team's budget of {budget} is spent"),
        },
        LimitEvent::ClockStepped { .. } => {
            "the clock went back; what counted starts its minute again".to_string()
        }
        LimitEvent::ReservationDropped { .. }
        | LimitEvent::TeamPaused { .. }
        | LimitEvent::TeamResumed { .. } => return None,
    })
}
