//! The built-in prices: few, dated, and with where each was read. See the rules in [`super`].
//!
//! To bring it up to date, change an entry together with its date. Models whose price depends on the length of the
//! prompt are left out on purpose.

use alloc::borrow::Cow;

use super::{Micros, Price};

const ANTHROPIC: &str = "https://platform.claude.com/docs/en/about-claude/pricing";
const OPENAI: &str = "https://developers.openai.com/api/docs/pricing";

const fn anthropic(model: &'static str, [input, cached, write, output]: [u64; 4]) -> Price {
    Price {
        model: Cow::Borrowed(model),
        input: Micros::new(input),
        output: Micros::new(output),
        cached: Some(Micros::new(cached)),
        cache_write: Some(Micros::new(write)),
        dated: Cow::Borrowed("2026-10-24"),
        source: Cow::Borrowed(ANTHROPIC),
    }
}

const fn openai(model: &'static str, [input, cached, output]: [u64; 3]) -> Price {
    Price {
        model: Cow::Borrowed(model),
        input: Micros::new(input),
        output: Micros::new(output),
        cached: Some(Micros::new(cached)),
        cache_write: None,
        dated: Cow::Borrowed("2026-06-21"),
        source: Cow::Borrowed(OPENAI),
    }
}

/// The table. Micro-dollars for a million tokens: input, cache read, cache write (Anthropic's five minutes), output.
pub const BUILT_IN: &[Price] = &[
    anthropic(
        "claude-fable-5",
        [10_000_000, 1_000_000, 12_500_000, 50_000_000],
    ),
    anthropic(
        "claude-fable-5-1",
        [10_000_000, 250_000, 12_500_000, 50_000_000],
    ),
    anthropic(
        "claude-opus-4-5",
        [5_000_000, 500_000, 6_250_000, 25_000_000],
    ),
    anthropic(
        "claude-opus-4-6",
        [5_000_000, 500_000, 6_250_000, 25_000_000],
    ),
    anthropic(
        "claude-opus-4-7",
        [5_000_000, 500_000, 6_250_000, 25_000_000],
    ),
    anthropic(
        "claude-opus-4-8",
        [5_000_000, 500_000, 6_250_000, 25_000_000],
    ),
    anthropic("claude-opus-5", [5_000_000, 500_000, 6_250_000, 25_000_000]),
    anthropic(
        "claude-opus-5-5",
        [4_000_000, 200_000, 5_000_000, 20_000_000],
    ),
    anthropic(
        "claude-sonnet-4-6",
        [3_000_000, 300_000, 3_750_000, 15_000_000],
    ),
    anthropic(
        "claude-sonnet-5",
        [2_000_000, 200_000, 2_500_000, 10_000_000],
    ),
    anthropic(
        "claude-sonnet-5-5",
        [2_000_000, 100_000, 2_500_000, 10_000_000],
    ),
    anthropic(
        "claude-haiku-4-5",
        [1_000_000, 100_000, 1_250_000, 5_000_000],
    ),
    openai("gpt-4.1", [2_000_000, 500_000, 8_000_000]),
    openai("gpt-4.1-mini", [400_000, 100_000, 1_600_000]),
    openai("gpt-4.1-nano", [100_000, 25_000, 400_000]),
    openai("gpt-4o", [2_500_000, 1_250_000, 10_000_000]),
    // The first edition kept its own price, and was never cheaper from the cache.
    openai("gpt-4o-2024-05-13", [5_000_000, 5_000_000, 15_000_000]),
    openai("gpt-4o-mini", [150_000, 75_000, 600_000]),
];
