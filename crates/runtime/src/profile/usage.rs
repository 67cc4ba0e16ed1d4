//! Which tokens and how much money a turn used.
//!
//! Every CLI counts differently: some name what went in without what came from a cache, some count the whole session
//! so far, some only one step. A profile says which; here all become one thing. `input` is everything that went in,
//! `cached` the part of it that came from a cache, `output` everything that came out, thoughts with it.

use pitcrew_core::limiter::input::MOST_TOKENS;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{Counts, UsagePlaces};
use super::place::{self, Outputs};

/// The most dollars that one number is believed to be.
const MOST_DOLLARS: f64 = 1e9;

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

/// What was read. Tokens and money are known or unknown by themselves, and what is unknown is never zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    /// The tokens of this turn, with its money where that is known too.
    pub(super) turn: Option<Usage>,
    /// The money of this turn, in millionths of a US dollar.
    pub(super) cost: Option<u64>,
    /// What the CLI counted so far, to be held against the next turn of the session. What it did not say this time is as
    /// it was said before.
    pub(super) counted: Usage,
    /// What cannot be taken for a number that counts.
    pub(super) fault: Option<String>,
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
        let before = before.copied().unwrap_or_default();
        let tokens = self.tokens(counted_in(self.counts));
        let money = self.cost_usd.as_deref().map_or(Ok(None), |path| {
            micro_usd(counted_in(self.cost_counts), path).map(Some)
        });
        let fault = [tokens.as_ref().err(), money.as_ref().err()];
        let fault = fault.into_iter().flatten().next().cloned();
        let (tokens, money) = (tokens.ok().flatten(), money.ok().flatten());
        let since = |counts: Counts, now: u64, before: u64| match counts {
            // A count that shrank began anew.
            Counts::Session if now >= before => now - before,
            Counts::Session | Counts::Turn | Counts::Step => now,
        };
        let cost =
            money.map(|cost| since(self.cost_counts, cost, before.cost_micro_usd.unwrap_or(0)));
        let turn = tokens.map(|counted| Usage {
            input: since(self.counts, counted.input, before.input),
            output: since(self.counts, counted.output, before.output),
            cached: since(self.counts, counted.cached, before.cached),
            cost_micro_usd: cost,
        });
        let counted = Usage {
            cost_micro_usd: money.or(before.cost_micro_usd),
            ..tokens.unwrap_or(before)
        };
        Some(Reading {
            turn,
            cost,
            counted,
            fault,
        })
    }

    /// The tokens of all records, without money. `Ok(None)` when the profile names no place for them.
    fn tokens(&self, records: &[&Value]) -> Result<Option<Usage>, String> {
        if self.input.is_empty() && self.output.is_empty() {
            return Ok(None);
        }
        let input = sum(records, &self.input)?;
        let output = sum(records, &self.output)?;
        // What came from a cache is only cheaper: not to know it never makes a turn cheaper than it was.
        let cached = sum(records, &self.cached).unwrap_or(0);
        Ok(Some(Usage {
            input,
            output,
            cached,
            cost_micro_usd: None,
        }))
    }
}

/// The sum over the paths. The first one must be in every record, because a CLI that renamed it has not used nothing;
/// the others are parts that a CLI leaves out when there is none of them.
fn sum(records: &[&Value], paths: &[String]) -> Result<u64, String> {
    let mut total = 0_u64;
    for record in records {
        for (position, path) in paths.iter().enumerate() {
            let found = place::at(record, path);
            if found.is_empty() && position == 0 && !is_of_nobody(record, path) {
                return Err(format!("{path} is not there"));
            }
            for value in found {
                let number = whole(value)
                    .ok_or_else(|| format!("{path} is {}, which counts nothing", short(value)))?;
                total = total.saturating_add(number);
            }
        }
    }
    Ok(total)
}

/// Whether `path` asks for something of everybody (`models.*.tokens`) where there is nobody.
fn is_of_nobody(record: &Value, path: &str) -> bool {
    let Some((everybody, _)) = path.split_once(".*") else {
        return false;
    };
    let holders = place::at(record, everybody);
    let empty = |value: &&Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    !holders.is_empty() && holders.iter().all(empty)
}

/// A count: a whole number that is not negative, however it is written.
fn whole(value: &Value) -> Option<u64> {
    /// Up to here every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = || {
        let number = value.as_f64()?;
        let is_count = number.fract() == 0.0 && (0.0..=EXACT).contains(&number);
        is_count.then_some(number as u64)
    };
    let number = value.as_u64().or_else(float)?;
    (number <= MOST_TOKENS).then_some(number)
}

/// The value as it is told, cut where it is long.
fn short(value: &Value) -> String {
    const SHOWN: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The money of all records: each of them must say it.
fn micro_usd(records: &[&Value], path: &str) -> Result<u64, String> {
    let mut total = 0.0;
    for record in records {
        let found = place::at(record, path);
        if found.is_empty() {
            return Err(format!("{path} is not there"));
        }
        for value in found {
            let number = value
                .as_f64()
                .filter(|number| (0.0..=MOST_DOLLARS).contains(number))
                .ok_or_else(|| format!("{path} is {}, which is no price", short(value)))?;
            total += number;
        }
    }
    // A price is rounded, not cut: 0.0006000000000000001 dollars are 600 millionths.
    Ok((total * 1e6).round().min(MOST_DOLLARS * 1e6) as u64)
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
        assert_eq!(reading.turn, Some(usage(15, 3, 5, Some(600))));
        let more = "{\"t\":\"u\",\"i\":30,\"c\":6,\"o\":4,\"usd\":0.001}\n";
        let next = read(SESSION, more, Some(reading.counted)).unwrap();
        assert_eq!(next.turn, Some(usage(21, 1, 1, Some(400))));
        assert_eq!(next.counted, usage(36, 4, 6, Some(1_000)));
    }

    #[test]
    fn a_count_that_shrank_began_anew() {
        let out = "{\"t\":\"u\",\"i\":10,\"c\":0,\"o\":3}\n";
        let reading = read(SESSION, out, Some(usage(100, 100, 0, Some(9)))).unwrap();
        assert_eq!(reading.turn, Some(usage(10, 3, 0, None)));
    }

    #[test]
    fn steps_are_added_up_and_the_last_line_of_a_turn_counts_alone() {
        let out = "{\"t\":\"u\",\"i\":1,\"o\":2,\"usd\":0.1}\n{\"t\":\"u\",\"i\":3,\"o\":4,\"usd\":0.2}\n";
        let steps = SESSION.replace("'session'", "'step'");
        assert_eq!(
            read(&steps, out, Some(usage(9, 9, 9, None))).unwrap().turn,
            Some(usage(4, 6, 0, Some(300_000)))
        );
        let turn = SESSION.replace("'session'", "'turn'");
        assert_eq!(
            read(&turn, out, Some(usage(9, 9, 9, None))).unwrap().turn,
            Some(usage(3, 4, 0, Some(200_000)))
        );
    }

    #[test]
    fn a_silent_cli_has_no_usage() {
        assert_eq!(read(SESSION, "{\"t\":\"x\",\"i\":1}\n", None), None);
    }

    #[test]
    fn f4_numbers_that_are_missing_negative_or_none_are_unknown_and_never_zero() {
        for (line, fault) in [
            (r#"{"t":"u"}"#, "i is not there"),
            (r#"{"t":"u","o":1}"#, "i is not there"),
            (r#"{"t":"u","i":1}"#, "o is not there"),
            (r#"{"t":"u","i":null,"o":1}"#, "i is not there"),
            (
                r#"{"t":"u","i":"many","o":1}"#,
                "i is \"many\", which counts nothing",
            ),
            (
                r#"{"t":"u","i":-100,"o":1}"#,
                "i is -100, which counts nothing",
            ),
            (
                r#"{"t":"u","i":1,"o":1e30}"#,
                "o is 1e30, which counts nothing",
            ),
            (
                r#"{"t":"u","i":1.5,"o":1}"#,
                "i is 1.5, which counts nothing",
            ),
            (
                r#"{"t":"u","i":1,"c":-1,"o":1}"#,
                "c is -1, which counts nothing",
            ),
            (
                r#"{"t":"u","i":1,"o":18446744073709551615}"#,
                "o is 18446744073709551615, which counts nothing",
            ),
        ] {
            for counts in ["session", "turn", "step"] {
                let places = SESSION.replace("'session'", &format!("'{counts}'"));
                let reading = read(&places, line, None).unwrap();
                assert_eq!(reading.turn, None, "{line}");
                let told = reading.fault.unwrap();
                assert!(told.replace("1e+30", "1e30") == fault, "{line}: {told}");
            }
        }
    }

    #[test]
    fn money_and_tokens_are_known_by_themselves() {
        let out = "{\"t\":\"u\",\"i\":\"many\",\"o\":1,\"usd\":0.4}\n";
        let reading = read(SESSION, out, None).unwrap();
        assert_eq!((reading.turn, reading.cost), (None, Some(400_000)));
        for usd in ["-5", "\"free\"", "null", "1e300", "[]"] {
            let out = format!("{{\"t\":\"u\",\"i\":1,\"o\":2,\"usd\":{usd}}}\n");
            let reading = read(SESSION, &out, None).unwrap();
            assert_eq!(reading.turn, Some(usage(1, 2, 0, None)), "{usd}");
            assert_eq!(reading.cost, None, "{usd}");
            assert!(reading.fault.unwrap().starts_with("usd is "), "{usd}");
        }
    }

    #[test]
    fn one_step_that_says_nothing_makes_the_whole_unknown() {
        let steps = SESSION.replace("'session'", "'step'");
        let out = "{\"t\":\"u\",\"i\":1,\"o\":2,\"usd\":0.1}\n{\"t\":\"u\",\"i\":3}\n";
        let reading = read(&steps, out, None).unwrap();
        assert_eq!((reading.turn, reading.cost), (None, None));
    }

    #[test]
    fn what_a_session_did_not_say_once_is_held_against_what_it_said_before() {
        let before = usage(100, 10, 0, Some(400_000));
        let reading = read(SESSION, "{\"t\":\"u\",\"usd\":\"?\"}\n", Some(before)).unwrap();
        assert_eq!(reading.counted, before);
        let out = "{\"t\":\"u\",\"i\":160,\"o\":15,\"usd\":0.9}\n";
        let next = read(SESSION, out, Some(reading.counted)).unwrap();
        assert_eq!(next.turn, Some(usage(60, 5, 0, Some(500_000))));
    }

    #[test]
    fn nobody_used_nothing_and_everybody_must_say_what_they_used() {
        let places =
            "at = { from = 'stdout_json', field = 's' }\ninput = ['s.*.in']\noutput = ['s.*.out']";
        let nobody = read(places, "{\"s\":{}}", None).unwrap();
        assert_eq!(nobody.turn, Some(usage(0, 0, 0, None)));
        let renamed = read(places, "{\"s\":{\"m\":{\"prompt\":5,\"out\":1}}}", None).unwrap();
        assert_eq!(renamed.turn, None);
        let written = read(places, "{\"s\":{\"m\":{\"in\":5.0,\"out\":1}}}", None).unwrap();
        assert_eq!(written.turn, Some(usage(5, 1, 0, None)));
    }
}
