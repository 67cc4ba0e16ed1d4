//! What a turn may use: set aside before its process starts, settled by what it used.
//!
//! | the limiter says | the member |
//! |---|---|
//! | yes | starts |
//! | not now (rate, pause, others have set it aside) | holds its task and waits |
//! | never, or the budget is spent | takes no more turns in this run, and says why |
//!
//! A turn is estimated as the largest of the member's last turns, or else as what it used on average before, or else by
//! the length of its prompt. Money follows from what was paid for those turns, or from the price of the member's model;
//! without either there is no estimate, and turns are refused once the budget is spent. Scripts call no model and are not
//! asked for; what they start can ask for itself (`pitcrew limits run`).

use pitcrew_core::limiter::{Report, ReservationId};
use pitcrew_core::price::{Micros, PriceTable, TokenUse};
use pitcrew_core::{Name, Refusal, TaskId, Timestamp};

use super::ending::TurnResult;
use super::event::TurnOutcome;
use super::outfit::Gear;
use super::scheduler::StopReason;
use crate::desk::{Admission, Desk, NotDone, Spending};
use crate::profile::Usage;

/// So many bytes of a prompt are a token, at the least.
const BYTES_A_TOKEN: u64 = 3;

/// What a first turn is expected to write, in tokens.
const FIRST_OUTPUT: u64 = 4_000;

/// When it is asked again, where nobody can say when it would fit.
const AGAIN_MS: i64 = 5_000;

/// How many of a member's last turns are looked at.
const LAST_TURNS: usize = 3;

/// What was set aside for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    id: ReservationId,
    tokens: u64,
}

/// What the limiter said.
pub(super) enum Answer {
    /// The turn may start; without an allowance there is nothing to settle.
    Go(Option<Allowance>),
    /// It may start although the limits cannot be read, as the team chose.
    Uncounted(String),
    /// It may start then, as far as is known now.
    Wait { until: Timestamp, why: String },
    /// It may not start at all.
    Never { reason: StopReason, why: String },
}

/// What turns of a member used lately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lately(Vec<Usage>);

impl Lately {
    fn add(&mut self, usage: Usage) {
        if self.0.len() == LAST_TURNS {
            self.0.remove(0);
        }
        self.0.push(usage);
    }
}

/// Asks for what the next turn of a member may use.
pub(super) fn reserve(
    desk: &Desk<'_>,
    gear: &Gear,
    task: Option<&TaskId>,
    prompt_bytes: usize,
) -> Result<Answer, NotDone> {
    if gear.is_script() {
        return Ok(Answer::Go(None));
    }
    let (tokens, cost) = estimate(desk, gear, prompt_bytes)?;
    let asked = desk.acquire(&Spending {
        member: gear.name(),
        tokens,
        cost,
        task,
        model: gear.entry.model.as_deref(),
    });
    match asked {
        Ok(Admission::Reserved { id, .. }) => Ok(Answer::Go(Some(Allowance { id, tokens }))),
        Ok(Admission::Uncounted { why }) => Ok(Answer::Uncounted(why)),
        Err(NotDone::Refused(refusal)) => Ok(denied(&refusal, desk.now())),
        Err(failed) => Err(failed),
    }
}

fn denied(refusal: &Refusal, now: Timestamp) -> Answer {
    let after = |ms: Option<u64>| {
        let ms = ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(AGAIN_MS);
        now.plus_millis(ms.max(1))
    };
    let wait = |until: Timestamp, why: String| Answer::Wait { until, why };
    match refusal {
        Refusal::RateLimited(facts) => wait(after(Some(facts.retry_after_ms)), facts.to_string()),
        Refusal::TableFull { retry_after_ms, .. } => {
            wait(after(*retry_after_ms), refusal.to_string())
        }
        Refusal::BudgetExceeded(facts) => {
            // What others have set aside may come back.
            let fits_later = facts.spent.plus(facts.estimate.unwrap_or_default()) <= facts.budget;
            match fits_later && facts.reserved > Micros::ZERO {
                true => wait(after(None), facts.to_string()),
                false => Answer::Never {
                    reason: StopReason::OutOfBudget,
                    why: facts.to_string(),
                },
            }
        }
        other => Answer::Never {
            reason: StopReason::Denied,
            why: other.to_string(),
        },
    }
}

/// Tokens and money that the next turn is expected to use.
fn estimate(
    desk: &Desk<'_>,
    gear: &Gear,
    prompt_bytes: usize,
) -> Result<(u64, Option<Micros>), NotDone> {
    let prompt = (prompt_bytes as u64).div_ceil(BYTES_A_TOKEN);
    let price = gear.entry.model.as_deref().map(str::to_string);
    let prices = PriceTable::default();
    let price = price.and_then(|model| prices.find(&model).cloned());
    let lately = &gear.lately.0;
    if let Some(tokens) = lately.iter().map(total).max() {
        let paid = lately.iter().filter_map(|usage| usage.cost_micro_usd).max();
        let priced = price.map(|price| {
            let each = lately.iter().map(|usage| price.cost(&token_use(usage)));
            each.max().unwrap_or_default()
        });
        return Ok((tokens.max(prompt), paid.map(Micros::new).or(priced)));
    }
    let first = prompt.saturating_add(FIRST_OUTPUT);
    let priced = price.map(|price| price.estimate(prompt, FIRST_OUTPUT));
    let limiter = match desk.limiter() {
        Ok(limiter) => limiter,
        // It is asked next, and says what becomes of a call then.
        Err(_) => return Ok((first, priced)),
    };
    let status = limiter.status(desk.now());
    let used = status.members.get(gear.name()).map(|member| member.used);
    let Some(used) = used.filter(|used| used.requests > 0) else {
        return Ok((first, priced));
    };
    let tokens = used.tokens.div_ceil(used.requests).max(prompt);
    let paid = used.cost.get().div_ceil(used.requests);
    let paid = (paid > 0).then_some(Micros::new(paid));
    Ok((tokens, paid.or(priced)))
}

/// Gives back what was set aside for a turn that did not call anybody.
pub(super) fn release(desk: &Desk<'_>, name: &Name, allowance: Allowance) -> Result<(), NotDone> {
    match desk.release_reservation(allowance.id, name) {
        // It lapsed, or somebody settled it.
        Ok(_) | Err(NotDone::Refused(_)) => Ok(()),
        Err(failed) => Err(failed),
    }
}

/// Books what a turn used, in the place of what was set aside for it.
pub(super) fn settle(
    desk: &Desk<'_>,
    gear: &mut Gear,
    allowance: Option<Allowance>,
    task: Option<&TaskId>,
    result: &TurnResult,
) -> Result<(), NotDone> {
    let model = gear.entry.model.clone();
    let (tokens, cost) = match (&result.usage, allowance) {
        (Some(usage), _) => {
            gear.lately.add(*usage);
            (total(usage), cost(usage, model.as_deref()))
        }
        (None, None) => return Ok(()),
        // It was turned away, so nobody is paid for it.
        (None, Some(allowance))
            if matches!(
                result.outcome,
                TurnOutcome::Limited | TurnOutcome::SessionLost
            ) =>
        {
            return release(desk, gear.name(), allowance);
        }
        // It may have called its model, and nobody says what that cost.
        (None, Some(allowance)) => (allowance.tokens, None),
    };
    let report = Report {
        member: gear.name(),
        reservation: allowance.map(|allowance| allowance.id),
        tokens,
        cost,
        task,
        model: model.as_deref(),
    };
    match desk.record(&report) {
        // Refused: somebody settled it already.
        Ok(_) | Err(NotDone::Refused(_)) => Ok(()),
        Err(failed) => Err(failed),
    }
}

fn total(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.output)
}

fn token_use(usage: &Usage) -> TokenUse {
    TokenUse {
        input: usage.input.saturating_sub(usage.cached),
        cached: usage.cached.min(usage.input),
        cache_write: 0,
        output: usage.output,
    }
}

/// What a turn cost: as its agent says, else by the price of its model.
fn cost(usage: &Usage, model: Option<&str>) -> Option<Micros> {
    let said = usage.cost_micro_usd.map(Micros::new);
    said.or_else(|| {
        let prices = PriceTable::default();
        let price = model.and_then(|model| prices.find(model))?;
        Some(price.cost(&token_use(usage)))
    })
}
