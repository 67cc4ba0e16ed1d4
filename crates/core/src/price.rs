//! Money in whole micro-dollars, and what models charge for their tokens.
//!
//! A price says what a million tokens of a kind cost. All arithmetic is in integers; a fraction of a micro-dollar is
//! rounded up once per call, so that a ceiling is never passed by rounding. [`PriceTable::find`] takes the longest
//! name that fits: `gpt-4o` fits `gpt-4o`, `openai:gpt-4o` and dated editions such as `gpt-4o-2024-08-06`, never
//! `gpt-4o-audio-preview`, which has a price of its own. A name that ends in `*` fits every continuation.
//!
//! Not here: discounts, batch and fast modes, and models whose price depends on the length of the prompt. What is
//! not in the table has no price: `None`, never a guess. A user's own entries win over the table's.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

mod table;

pub use table::BUILT_IN;

/// An amount of money in whole millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(u64);

impl Micros {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The most that is taken as input: a billion dollars.
    pub const MOST: Self = Self(1_000_000_000_000_000);

    /// This many micro-dollars.
    #[must_use]
    pub const fn new(micros: u64) -> Self {
        Self(micros)
    }

    /// The number of micro-dollars.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Reads dollars as plain decimal text, `0.60`. What is finer than a micro-dollar is rounded up. `None` for
    /// signs, exponents, anything else that is no plain decimal, and more than [`Micros::MOST`].
    #[must_use]
    pub fn parse_usd(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let is_empty = whole.is_empty() && part.is_empty();
        if is_empty || text.ends_with('.') || !digits(whole) || !digits(part) {
            return None;
        }
        let whole: u64 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        let (exact, finer) = part.split_at(part.len().min(6));
        let exact: u64 = format!("{exact:0<6}").parse().ok()?;
        let up = u64::from(finer.bytes().any(|b| b != b'0'));
        let micros = whole
            .checked_mul(1_000_000)?
            .checked_add(exact)?
            .checked_add(up)?;
        Some(Self(micros)).filter(|sum| *sum <= Self::MOST)
    }

    /// The amount that a program means with this number of dollars: `0.6` is 600,000. `None` for negative numbers,
    /// for what is no number, and for more than [`Micros::MOST`].
    #[must_use]
    pub fn from_usd(usd: f64) -> Option<Self> {
        // The shortest decimal that names this number is what was written, so 0.57 does not become 570,001.
        let most = 1e9;
        (0.0..=most)
            .contains(&usd)
            .then(|| format!("{}", usd.abs()))
            .and_then(|text| Self::parse_usd(&text))
    }

    /// The sum, at most the largest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Micros {
    /// Dollars with two to six decimals: `$0.60`, `$0.000001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:06}", self.0 % 1_000_000);
        let part = text.trim_end_matches('0');
        write!(f, "${}.{part:0<2}", self.0 / 1_000_000)
    }
}

/// The tokens of one call, by what is charged for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenUse {
    /// Input that was neither read from nor written to the provider's cache.
    pub input: u64,
    /// Input that was read from the cache.
    pub cached: u64,
    /// Input that was written to the cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl TokenUse {
    /// All tokens of the call.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.input, self.cached, self.cache_write, self.output]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// What one model charges, each in micro-dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The model's name; with `*` at its end, every name that starts so.
    pub model: Cow<'static, str>,
    /// Input.
    pub input: Micros,
    /// Output.
    pub output: Micros,
    /// Input read from the provider's cache; `None` is charged as input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Micros>,
    /// Input written to the provider's cache for a few minutes; `None` is charged as input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Micros>,
    /// The day on which this was the price, `2026-11-30`.
    pub dated: Cow<'static, str>,
    /// Where it was read.
    pub source: Cow<'static, str>,
}

const MILLION: u128 = 1_000_000;

fn charge(parts: &[(u64, Micros)]) -> Micros {
    let sum: u128 = parts
        .iter()
        .map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0))
        .fold(0, u128::saturating_add);
    Micros(u64::try_from(sum.div_ceil(MILLION)).unwrap_or(u64::MAX))
}

impl Price {
    fn cache_read(&self) -> Micros {
        self.cached.unwrap_or(self.input)
    }

    fn dearest_input(&self) -> Micros {
        self.cache_write.map_or(self.input, |w| w.max(self.input))
    }

    /// What a call with these tokens cost.
    #[must_use]
    pub fn cost(&self, used: &TokenUse) -> Micros {
        charge(&[
            (used.input, self.input),
            (used.cached, self.cache_read()),
            (used.cache_write, self.cache_write.unwrap_or(self.input)),
            (used.output, self.output),
        ])
    }

    /// The most that a call with this input and at most this output can cost: what to set aside before it.
    #[must_use]
    pub fn estimate(&self, input: u64, most_output: u64) -> Micros {
        charge(&[(input, self.dearest_input()), (most_output, self.output)])
    }

    /// The most that this many tokens can cost, when it is not known which of them are output.
    #[must_use]
    pub fn ceiling(&self, tokens: u64) -> Micros {
        charge(&[(tokens, self.dearest_input().max(self.output))])
    }
}

/// The built-in prices and a user's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceTable {
    own: Vec<Price>,
}

impl PriceTable {
    /// The built-in table with entries that win over its own where both fit equally well.
    #[must_use]
    pub fn with(own: Vec<Price>) -> Self {
        Self { own }
    }

    /// The price of `model`, by the longest name that fits. `None` when it is not known.
    #[must_use]
    pub fn find(&self, model: &str) -> Option<&Price> {
        let best = |prices: &'_ [Price]| -> Option<(usize, usize)> {
            let fits = prices.iter().enumerate();
            fits.filter_map(|(at, price)| Some((fit(&price.model, model)?, at)))
                .max_by_key(|(length, at)| (*length, usize::MAX - at))
        };
        match (best(&self.own), best(BUILT_IN)) {
            (Some((own, at)), Some((built_in, _))) if own >= built_in => self.own.get(at),
            (Some((_, at)), None) => self.own.get(at),
            (_, Some((_, at))) => BUILT_IN.get(at),
            (None, None) => None,
        }
    }
}

/// How much of `model` the entry `name` speaks of, if it speaks of it at all.
fn fit(name: &str, model: &str) -> Option<usize> {
    if let Some(open) = name.strip_suffix('*') {
        return model.starts_with(open).then_some(open.len());
    }
    // `openai:gpt-4o` and `openai/gpt-4o` name the model and who serves it.
    let bare = model.split_once([':', '/']).map(|(_, bare)| bare);
    [Some(model), bare]
        .into_iter()
        .flatten()
        .filter_map(|model| model.strip_prefix(name))
        .any(is_edition)
        .then_some(name.len())
}

/// Whether `rest`, which follows a model's name, names an edition of it: nothing, a date, or `latest`.
fn is_edition(rest: &str) -> bool {
    let Some(mark) = rest.strip_prefix(['-', '@']) else {
        return rest.is_empty();
    };
    let shape = |pattern: &str| {
        mark.len() == pattern.len()
            && mark.bytes().zip(pattern.bytes()).all(|(b, p)| match p {
                b'9' => b.is_ascii_digit(),
                _ => b == p,
            })
    };
    mark == "latest" || shape("99999999") || shape("9999-99-99")
}

#[cfg(test)]
mod tests;
