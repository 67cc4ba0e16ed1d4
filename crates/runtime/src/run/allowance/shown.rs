//! What turns of each profile and model have shown to cost in this run, whoever took them.
//!
//! | seen of a profile and model | under a budget, its next turn |
//! |---|---|
//! | nothing | sets aside all that is left: it runs when no other is to begin beside it |
//! | a price | sets aside the largest of the last three |
//! | a turn that came to its end and said no price, or three others in a row | is refused: no budget can hold it |
//!
//! Always holds: an unknown price is never a price of zero. Not here: without a budget nothing of this is asked.

use std::collections::BTreeMap;

use pitcrew_core::price::{Micros, Price, PriceTable};

use super::super::event::TurnOutcome;
use super::super::outfit::Gear;
use super::LAST_TURNS;

/// The prices that were seen, by profile and model, and those of models.
#[derive(Debug)]
pub(in super::super) struct Shown {
    seen: BTreeMap<(String, Option<String>), Prices>,
    models: PriceTable,
}

#[derive(Debug, Default)]
struct Prices {
    /// Of the last turns, the latest last.
    last: Vec<Micros>,
    /// How many turns in a row said nothing, before any said a price.
    silent: usize,
}

impl Shown {
    /// Nothing was seen yet, and models cost so much.
    pub(in super::super) fn with(models: PriceTable) -> Self {
        Self {
            seen: BTreeMap::new(),
            models,
        }
    }

    /// The price of a member's model, if it names one that is known.
    pub(super) fn price(&self, gear: &Gear) -> Option<&Price> {
        self.models.find(gear.entry.model.as_deref()?)
    }

    /// The most that one of the last turns like the member's cost.
    pub(super) fn most(&self, gear: &Gear) -> Option<Micros> {
        self.seen.get(&like(gear))?.last.iter().max().copied()
    }

    /// Takes in what a turn cost, or that nobody knows.
    pub(super) fn note(&mut self, gear: &Gear, cost: Option<Micros>, outcome: TurnOutcome) {
        let prices = self.seen.entry(like(gear)).or_default();
        let Some(cost) = cost else {
            let came_to_its_end = matches!(outcome, TurnOutcome::Succeeded | TurnOutcome::Refused);
            // One that was cut off has had no time to say it.
            prices.silent += if came_to_its_end { LAST_TURNS } else { 1 };
            return;
        };
        prices.silent = 0;
        if prices.last.len() == LAST_TURNS {
            prices.last.remove(0);
        }
        prices.last.push(cost);
    }

    /// Why a member can have no turn under a budget.
    pub(super) fn why_never(&self, gear: &Gear) -> Option<String> {
        let prices = self.seen.get(&like(gear))?;
        (prices.silent >= LAST_TURNS).then(|| {
            format!(
                "what a turn of profile {} costs is not known, so no budget can hold it: its agent does not say it, \
                 and no price is known of {}",
                gear.entry.profile,
                match &gear.entry.model {
                    Some(model) => format!("its model {model}"),
                    None => "its model, which the team file does not name (`model = …`)".to_string(),
                }
            )
        })
    }
}

fn like(gear: &Gear) -> (String, Option<String>) {
    (gear.entry.profile.clone(), gear.entry.model.clone())
}
