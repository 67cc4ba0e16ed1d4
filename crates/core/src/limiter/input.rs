//! Numbers from outside, checked before they reach the limiter.
//!
//! A report of usage comes from a model's answer, a wrapper script or a model itself. Negative, missing, fractional
//! and absurd numbers are refused here with the field's name, so that none of them can be booked.

use alloc::string::{String, ToString};
use serde_json::Value;

use crate::price::Micros;
use crate::refusal::Refusal;

/// The most tokens that one call may name. Keeps sums far from their end.
pub const MOST_TOKENS: u64 = 1_000_000_000_000;

/// The longest name of a model, in bytes.
pub const MOST_MODEL_BYTES: usize = 200;

fn refuse(field: &str, given: Option<&Value>, why: &str) -> Refusal {
    Refusal::InvalidUsage {
        field: field.into(),
        given: given.map_or_else(|| String::from("nothing"), ToString::to_string),
        why: why.into(),
    }
}

/// A number of tokens from JSON.
///
/// # Errors
/// `invalid_usage` when it is missing, negative, not whole or above [`MOST_TOKENS`].
pub fn tokens(field: &str, given: Option<&Value>) -> Result<u64, Refusal> {
    let whole = given.and_then(whole);
    whole
        .filter(|tokens| *tokens <= MOST_TOKENS)
        .ok_or_else(|| refuse(field, given, "must be a whole number of tokens, 0 or more"))
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        // Some writers put every number as a float.
        let number = value.as_f64()?;
        let whole = (0.0..1e15).contains(&number).then_some(number as u64)?;
        (whole as f64 == number).then_some(whole)
    })
}

/// Money from JSON, a number of dollars. `None` when it is not given at all.
///
/// # Errors
/// `invalid_usage` for `null`, text, negative numbers and more than [`Micros::MOST`].
pub fn dollars(field: &str, given: Option<&Value>) -> Result<Option<Micros>, Refusal> {
    let Some(value) = given else {
        return Ok(None);
    };
    let cost = value.as_f64().and_then(Micros::from_usd);
    cost.map(Some)
        .ok_or_else(|| refuse(field, given, "must be a number of dollars, 0 or more"))
}

/// What a call used, as reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// All its tokens.
    pub tokens: u64,
    /// What it cost; `None` when the reporter does not know.
    pub cost: Option<Micros>,
}

impl Usage {
    /// Reads `{"tokens": 1200, "cost": 0.012}`; `cost` is in dollars and may be left out. Other keys are not looked at.
    ///
    /// # Errors
    /// `invalid_usage` with the field at fault.
    pub fn from_json(report: &Value) -> Result<Self, Refusal> {
        if !report.is_object() {
            return Err(refuse("usage", Some(report), "must be an object"));
        }
        Ok(Self {
            tokens: tokens("tokens", report.get("tokens"))?,
            cost: dollars("cost", report.get("cost"))?,
        })
    }
}

pub(super) fn check(tokens: u64, cost: Option<Micros>, model: Option<&str>) -> Result<(), Refusal> {
    let fault = |field: &str, given: String, why: &str| Refusal::InvalidUsage {
        field: field.into(),
        given,
        why: why.into(),
    };
    if tokens > MOST_TOKENS {
        let why = "more tokens than any call has";
        return Err(fault("tokens", tokens.to_string(), why));
    }
    if let Some(cost) = cost.filter(|cost| *cost > Micros::MOST) {
        let why = "more money than any call costs";
        return Err(fault("cost", cost.to_string(), why));
    }
    match model {
        Some(model) if model.is_empty() || model.len() > MOST_MODEL_BYTES => {
            let given = model.chars().take(40).collect();
            Err(fault("model", given, "must have 1 to 200 bytes"))
        }
        _ => Ok(()),
    }
}
