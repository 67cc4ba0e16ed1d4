//! Where prices of models come from: the built-in table, the user's over it, the project's over both.
//!
//! The user's stand in `pitcrew/prices.toml` below `XDG_CONFIG_HOME`, or below `~/.config` where that is not set, the
//! project's in `.pitcrew/prices.toml` of its root. They are read only when a price is needed.

use pitcrew_core::Refusal;
use pitcrew_core::name::nearest;
use pitcrew_core::price::Micros;
use pitcrew_runtime::prices::Prices;
use pitcrew_store::StoreFailure;
use pitcrew_store::files::read_text;

use crate::context::{Context, OpenTeam};
use crate::halt::Halt;

/// How many names of models a refusal offers.
const OFFERED: usize = 3;

/// The prices in use here.
///
/// # Errors
/// When a file of prices is there and cannot be used.
pub(crate) fn load(context: &mut Context<'_>) -> Result<Prices, Halt> {
    let project = context.project(None)?;
    let home = context.environment.config_home();
    let places = [
        Some(project.root().join(".pitcrew").join("prices.toml")),
        home.map(|home| home.join("pitcrew").join("prices.toml")),
    ];
    let mut files = Vec::new();
    for path in places.into_iter().flatten() {
        match read_text(&path) {
            Ok(text) => files.push((path, text)),
            Err(StoreFailure::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Prices::load(files).map_err(|refused| Halt::Input {
        what: "prices".to_string(),
        why: refused.to_string(),
    })
}

/// The refusal for a model without a price.
pub(crate) fn unknown(prices: &Prices, model: &str) -> Halt {
    let mut known: Vec<&str> = prices.in_use().map(|(price, _)| &*price.model).collect();
    let mut offered = Vec::new();
    while let Some(near) = nearest(model, known.iter().copied()).filter(|_| offered.len() < OFFERED)
    {
        known.retain(|name| *name != near);
        offered.push(near);
    }
    Refusal::UnknownModel {
        model: model.to_string(),
        nearest: offered,
    }
    .into()
}

/// What to set aside in money for so many tokens of `model`: what was given, else the most that they can cost.
///
/// # Errors
/// `unknown_model` when a budget holds and there is neither a cost nor a price; when a file of prices cannot be used.
pub(crate) fn estimate(
    context: &mut Context<'_>,
    team: &OpenTeam,
    model: Option<&str>,
    tokens: u64,
    given: Option<Micros>,
) -> Result<Option<Micros>, Halt> {
    let (Some(model), None) = (model, given) else {
        return Ok(given);
    };
    let prices = load(context)?;
    if let Some(price) = prices.table().find(model) {
        return Ok(Some(price.ceiling(tokens)));
    }
    // Limits that cannot be read are for the request itself to answer.
    let limits = team.desk().limiter().ok();
    let counts_money = limits.is_some_and(|limiter| {
        let limits = limiter.limits();
        limits.budget.is_some()
            || limits.member_budget.is_some()
            || !limits.member_budgets.is_empty()
    });
    match counts_money {
        true => Err(unknown(&prices, model)),
        false => Ok(None),
    }
}
