//! Which tokens and how much money a turn used.
//!
//! Every CLI counts differently: some name what went in without what came from a cache, some count the whole session
//! so far, some only one step. A profile says which; here all become one thing. `input` is everything that went in,
//! `cached` the part of it that came from a cache, `output` everything that came out, thoughts with it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{Counts, UsagePlaces};
use super::place::{self, Outputs};

/// Tokens and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens that went in, those from a cache with them.
    pub input: u64,
    /// Tokens that came out, thoughts with them.
    pub output: u64,
    /// Tokens of `input` that came from a cache.
    pub cached: u64,
    /// Money in millionths of a US dollar, where the CLI says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
}

/// What was read: what the turn used, and what the CLI counted, to be held against the next turn of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) turn: Usage,
    pub(super) counted: Usage,
}

impl UsagePlaces {
    /// `None` when the CLI said nothing. `before` is what it had counted after the turn before in the same session.
    pub(super) fn read(&self, outputs: &Outputs<'_>, before: Option<&Usage>) -> Option<Reading> {
        let records = self.at.records(outputs);
        let last = records.last()?;
        let counted_in = |counts: Counts| {
            if counts == Counts::Step {
                &records[..]
            } else {
                std::slice::from_ref(last)
            }
        };
        let tokens = counted_in(self.counts);
        let costs = counted_in(self.cost_counts);
        let counted = Usage {
            input: sum(tokens, &self.input),
            output: sum(tokens, &self.output),
            cached: sum(tokens, &self.cached),
            cost_micro_usd: self
                .cost_usd
                .as_deref()
                .and_then(|path| micro_usd(costs, path)),
        };
        let before = before.copied().unwrap_or_default();
        let since = |counts: Counts, now: u64, before: u64| match counts {
            // A count that shrank began anew.
            Counts::Session if now >= before => now - before,
            Counts::Session | Counts::Turn | Counts::Step => now,
        };
        let turn = Usage {
            input: since(self.counts, counted.input, before.input),
            output: since(self.counts, counted.output, before.output),
            cached: since(self.counts, counted.cached, before.cached),
            cost_micro_usd: counted
                .cost_micro_usd
                .map(|cost| since(self.cost_counts, cost, before.cost_micro_usd.unwrap_or(0))),
        };
        Some(Reading { turn, counted })
    }
}

fn sum(records: &[&Value], paths: &[String]) -> u64 {
    let each = records
        .iter()
        .flat_map(|record| paths.iter().flat_map(|path| place::at(record, path)));
    each.filter_map(Value::as_u64).fold(0, u64::saturating_add)
}

fn micro_usd(records: &[&Value], path: &str) -> Option<u64> {
    let found: Vec<f64> = records
        .iter()
        .flat_map(|record| place::at(record, path))
        .filter_map(Value::as_f64)
        .collect();
    let total: f64 = found.iter().sum();
    // A price is rounded, not cut: 0.0006000000000000001 dollars are 600 millionths.
    (!found.is_empty() && total.is_finite() && total >= 0.0)
        .then(|| (total * 1e6).round().min(1e18) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(places: &str, stdout: &str, before: Option<Usage>) -> Option<Reading> {
        let places: UsagePlaces = toml::from_str(places).unwrap();
        places.read(&Outputs::new(stdout.as_bytes(), b"", None), before.as_ref())
    }

    fn usage(input: u64, output: u64, cached: u64, cost_micro_usd: Option<u64>) -> Usage {
        Usage {
            input,
            output,
            cached,
            cost_micro_usd,
        }
    }

    const SESSION: &str = "at = { from = 'stdout_lines', where = { t = 'u' } }\ncounts = 'session'\ninput = ['i', 'c']\ncached = ['c']\noutput = ['o']\ncost_usd = 'usd'\ncost_counts = 'session'";

    #[test]
    fn a_count_of_the_session_is_held_against_the_turn_before() {
        let out = "{\"t\":\"u\",\"i\":10,\"c\":5,\"o\":3,\"usd\":0.0006000000000000001}\n";
        let reading = read(SESSION, out, None).unwrap();
        assert_eq!(reading.turn, usage(15, 3, 5, Some(600)));
        let more = "{\"t\":\"u\",\"i\":30,\"c\":6,\"o\":4,\"usd\":0.001}\n";
        let next = read(SESSION, more, Some(reading.counted)).unwrap();
        assert_eq!(next.turn, usage(21, 1, 1, Some(400)));
        assert_eq!(next.counted, usage(36, 4, 6, Some(1_000)));
    }

    #[test]
    fn a_count_that_shrank_began_anew() {
        let out = "{\"t\":\"u\",\"i\":10,\"c\":0,\"o\":3}\n";
        let reading = read(SESSION, out, Some(usage(100, 100, 0, Some(9)))).unwrap();
        assert_eq!(reading.turn, usage(10, 3, 0, None));
    }

    #[test]
    fn steps_are_added_up_and_the_last_line_of_a_turn_counts_alone() {
        let out = "{\"t\":\"u\",\"i\":1,\"o\":2,\"usd\":0.1}\n{\"t\":\"u\",\"i\":3,\"o\":4,\"usd\":0.2}\n";
        let steps = SESSION.replace("'session'", "'step'");
        assert_eq!(
            read(&steps, out, Some(usage(9, 9, 9, None))).unwrap().turn,
            usage(4, 6, 0, Some(300_000))
        );
        let turn = SESSION.replace("'session'", "'turn'");
        assert_eq!(
            read(&turn, out, Some(usage(9, 9, 9, None))).unwrap().turn,
            usage(3, 4, 0, Some(200_000))
        );
    }

    #[test]
    fn a_silent_cli_has_no_usage_and_absurd_numbers_are_left_out() {
        assert_eq!(read(SESSION, "{\"t\":\"x\",\"i\":1}\n", None), None);
        let out = "{\"t\":\"u\",\"i\":-5,\"o\":18446744073709551615,\"c\":1.5,\"usd\":-1}\n";
        assert_eq!(
            read(SESSION, out, None).unwrap().turn,
            usage(0, u64::MAX, 0, None)
        );
    }
}
