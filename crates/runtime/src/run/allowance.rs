//! What a turn may use: set aside before its process starts, settled by what it used.
//!
//! | the limiter says | the member |
//! |---|---|
//! | yes | starts |
//! | not now (rate, pause, others have set it aside) | holds its task and waits |
//! | never, or the budget is spent | takes no more turns in this run, and says why |
//!
//! A turn is estimated as the largest of the member's last turns, or else as what it used on average before, or else by
//! the length of its prompt. Money follows from what was paid for those turns, or for the last turns of others with the
//! same profile and model.
//!
//! Under a budget, a turn of which nothing like that is known sets aside all that is left, so that it runs alone until
//! its price is seen (`run/allowance/shown.rs`). Without a budget it is estimated by the price of its model. Scripts call
//! no model and are not asked for; what they start can ask for itself (`pitcrew limits run`).

use pitcrew_core::limiter::input::MOST_TOKENS;
use pitcrew_core::limiter::{Hold, Limiter, Limits, Report, ReservationId};
use pitcrew_core::price::{Micros, Price, TokenUse};
use pitcrew_core::{Name, Refusal, TaskId, Timestamp};

use super::ending::TurnResult;
use super::event::TurnOutcome;
use super::outfit::Gear;
use super::scheduler::StopReason;
use crate::desk::{Admission, Desk, NotDone, Spending};
use crate::profile::Usage;

mod shown;

pub(super) use shown::Shown;

/// So many bytes of a prompt are a token, at the least.
const BYTES_A_TOKEN: u64 = 3;

/// What a first turn is expected to write, in tokens.
const FIRST_OUTPUT: u64 = 4_000;

/// When it is asked again, where nobody can say when it would fit.
const AGAIN_MS: i64 = 5_000;

/// How many of a member's last turns are looked at.
const LAST_TURNS: usize = 3;

/// What ends a wait for the limits before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldEnds {
    /// Nothing but other limits.
    InTime,
    /// What others have set aside coming back, too.
    WithOthers,
}

/// What was set aside for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    id: ReservationId,
    tokens: u64,
    /// What it is taken to have cost when nobody says it.
    guess: Option<Micros>,
    /// What such turns were paid for, as far as that was known when it began.
    paid: Option<Micros>,
    /// The money that it holds.
    holds: Option<Micros>,
}

/// What a turn is expected to use.
struct Estimate {
    tokens: u64,
    /// What such turns were paid for.
    paid: Option<Micros>,
    /// What its tokens cost by the price of its model.
    priced: Option<Micros>,
}

/// What the limiter said.
pub(super) enum Answer {
    /// The turn may start; without an allowance there is nothing to settle.
    Go(Option<Allowance>),
    /// It may start although the limits cannot be read, as the team chose.
    Uncounted(String),
    /// It may start then, as far as is known now.
    Wait {
        until: Timestamp,
        why: String,
        ends: HoldEnds,
    },
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
    shown: &Shown,
    task: Option<&TaskId>,
    prompt_bytes: usize,
) -> Result<Answer, NotDone> {
    if gear.is_script() {
        return Ok(Answer::Go(None));
    }
    // When it cannot be read, it is asked all the same, and says what becomes of a call then.
    let limiter = desk.limiter().ok();
    let expected = estimate(desk, gear, shown, limiter.as_ref(), prompt_bytes);
    let left = limiter
        .as_ref()
        .and_then(|limiter| left(limiter, gear, desk.now()));
    let mut guess = expected.paid.or(expected.priced);
    let mut cost = guess;
    let is_alone = left.is_some() && expected.paid.is_none();
    if let Some(left) = left.filter(|_| is_alone) {
        if let Some(why) = shown.why_never(gear) {
            let reason = StopReason::Denied;
            return Ok(Answer::Never { reason, why });
        }
        // Nothing left is no free turn.
        cost = Some(left.max(Micros::new(1)));
        guess = expected.priced;
    }
    let asked = desk.acquire(&Spending {
        member: gear.name(),
        tokens: expected.tokens,
        cost,
        task,
        model: gear.entry.model.as_deref(),
    });
    let tokens = expected.tokens;
    match asked {
        Ok(Admission::Reserved { id, .. }) => Ok(Answer::Go(Some(Allowance {
            id,
            tokens,
            guess,
            paid: expected.paid,
            holds: cost,
        }))),
        Ok(Admission::Uncounted { why }) => Ok(Answer::Uncounted(why)),
        Err(NotDone::Refused(Refusal::BudgetExceeded(facts)))
            if is_alone && facts.spent < facts.budget =>
        {
            let why = format!(
                "{facts}; what a turn of profile {} costs is not known yet, so it runs when no other does",
                gear.entry.profile
            );
            let until = desk.now().plus_millis(AGAIN_MS);
            let ends = HoldEnds::WithOthers;
            Ok(Answer::Wait { until, why, ends })
        }
        Err(NotDone::Refused(refusal)) => Ok(denied(&refusal, desk.now())),
        Err(failed) => Err(failed),
    }
}

/// What the member may still set aside; `None` when no budget holds it.
fn left(limiter: &Limiter, gear: &Gear, now: Timestamp) -> Option<Micros> {
    let status = limiter.status(now);
    let own = limiter.limits().budget_of(gear.name()).map(|budget| {
        let account = status.members.get(gear.name());
        account.map_or(budget, |account| {
            budget.minus(account.used.cost).minus(account.reserved.cost)
        })
    });
    [status.left, own].into_iter().flatten().min()
}

fn denied(refusal: &Refusal, now: Timestamp) -> Answer {
    let after = |ms: Option<u64>| {
        let ms = ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(AGAIN_MS);
        now.plus_millis(ms.max(1))
    };
    let wait = |until: Timestamp, why: String| Answer::Wait {
        until,
        why,
        ends: HoldEnds::InTime,
    };
    match refusal {
        Refusal::RateLimited(facts) => wait(after(Some(facts.retry_after_ms)), facts.to_string()),
        Refusal::TableFull { retry_after_ms, .. } => {
            wait(after(*retry_after_ms), refusal.to_string())
        }
        Refusal::BudgetExceeded(facts) => {
            // What others have set aside may come back.
            let fits_later = facts.spent.plus(facts.estimate.unwrap_or_default()) <= facts.budget;
            match fits_later && facts.reserved > Micros::ZERO {
                true => Answer::Wait {
                    until: after(None),
                    why: facts.to_string(),
                    ends: HoldEnds::WithOthers,
                },
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
    shown: &Shown,
    limiter: Option<&Limiter>,
    prompt_bytes: usize,
) -> Estimate {
    let prompt = (prompt_bytes as u64).div_ceil(BYTES_A_TOKEN);
    let price = shown.price(gear);
    let lately = &gear.lately.0;
    let paid = paid(gear, shown);
    let status = limiter.map(|limiter| limiter.status(desk.now()));
    let used = status.and_then(|status| Some(status.members.get(gear.name())?.used));
    let used = used.filter(|used| used.requests > 0);
    if let Some(tokens) = lately.iter().map(total).max() {
        return Estimate {
            tokens: tokens.max(prompt),
            paid,
            priced: None,
        };
    }
    let average = used.map(|used| {
        let paid = used.cost.get().div_ceil(used.requests);
        (used.tokens.div_ceil(used.requests), paid)
    });
    let own = average.and_then(|(_, paid)| (paid > 0).then_some(Micros::new(paid)));
    Estimate {
        tokens: average.map_or(prompt.saturating_add(FIRST_OUTPUT), |(tokens, _)| {
            tokens.max(prompt)
        }),
        paid: paid.or(own),
        priced: price.map(|price| price.estimate(prompt, FIRST_OUTPUT)),
    }
}

/// The most that the last turns of a member cost, else the last turns like its own.
fn paid(gear: &Gear, shown: &Shown) -> Option<Micros> {
    let price = shown.price(gear);
    let own = gear.lately.0.iter().map(|usage| cost(usage, price));
    own.flatten().max().or_else(|| shown.most(gear))
}

/// Lets a turn that runs hold what a next one like it would: its price as soon as one was seen; until then, under a
/// budget, all that is left. So a budget that is set while turns run holds them, too.
pub(super) fn reprice(
    desk: &Desk<'_>,
    gear: &mut Gear,
    shown: &Shown,
    limits: &Limits,
) -> Result<(), NotDone> {
    let name = gear.entry.name.clone();
    if limits.budget.is_none() && limits.budget_of(&name).is_none() {
        return Ok(());
    }
    let price = paid(gear, shown);
    let Some(allowance) = gear.turn.as_mut().and_then(|turn| turn.allowance.as_mut()) else {
        return Ok(());
    };
    let price = price.or(allowance.paid);
    if price.is_some() && price == allowance.holds {
        return Ok(());
    }
    let hold = price.map_or(Hold::Everything, Hold::Money);
    match desk.reprice_reservation(allowance.id, &name, hold) {
        Ok(holds) => allowance.holds = holds,
        // It lapsed, or somebody settled it.
        Err(NotDone::Refused(_)) => return Ok(()),
        Err(failed) => return Err(failed),
    }
    allowance.guess = price.or(allowance.guess);
    Ok(())
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
    shown: &mut Shown,
    allowance: Option<Allowance>,
    task: Option<&TaskId>,
    result: &TurnResult,
) -> Result<(), NotDone> {
    let said = result.usage.is_some() || result.cost_micro_usd.is_some();
    let turned_away = matches!(
        result.outcome,
        TurnOutcome::Limited | TurnOutcome::SessionLost
    );
    match allowance {
        None if !said => return Ok(()),
        // Nobody is paid for it.
        Some(allowance) if !said && turned_away => return release(desk, gear.name(), allowance),
        // What is not said was used all the same: it counts as it was estimated.
        _ => {}
    }
    let model = gear.entry.model.clone();
    let said_cost = result.cost_micro_usd.map(Micros::new);
    let by_tokens = || cost(result.usage.as_ref()?, shown.price(gear));
    let guess = allowance.and_then(|allowance| allowance.guess);
    let known = said_cost.or_else(by_tokens).or(guess);
    if !turned_away {
        shown.note(gear, known, result.outcome);
    }
    if let Some(usage) = &result.usage {
        gear.lately.add(*usage);
    }
    let estimated = allowance.map_or(0, |allowance| allowance.tokens);
    let report = Report {
        member: gear.name(),
        reservation: allowance.map(|allowance| allowance.id),
        tokens: result.usage.as_ref().map_or(estimated, total),
        // What is set aside for a turn without a price is no estimate of it.
        cost: known.or(allowance.map(|_| Micros::ZERO)),
        task,
        model: model.as_deref(),
    };
    match desk.record(&report) {
        Ok(_) | Err(NotDone::Refused(Refusal::AlreadySettled { .. })) => Ok(()),
        Err(failed) => Err(failed),
    }
}

fn total(usage: &Usage) -> u64 {
    let total = usage.input.saturating_add(usage.output);
    total.min(MOST_TOKENS)
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
fn cost(usage: &Usage, price: Option<&Price>) -> Option<Micros> {
    let said = usage.cost_micro_usd.map(Micros::new);
    said.or_else(|| Some(price?.cost(&token_use(usage))))
}
