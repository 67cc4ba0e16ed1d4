//! What a command says that it used: one JSON object, in the file that `PITCREW_USAGE` names or on the last line that
//! it prints.
//!
//! | key | meaning |
//! |---|---|
//! | `tokens` | all its tokens; else the sum of the next four, which may also stand in an object `usage` |
//! | `input_tokens` `output_tokens` `cache_read_input_tokens` `cache_creation_input_tokens` | tokens of one kind |
//! | `cost`, `cost_usd` or `total_cost_usd` | dollars; may be left out |
//! | `model` | the model that answered; may be left out |
//!
//! A report that is there and makes no sense is refused, never guessed at. A last line that is no report is none.

use pitcrew_core::Refusal;
use pitcrew_core::limiter::input;
use pitcrew_core::price::{Micros, PriceTable, TokenUse};
use serde_json::Value;

/// What was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsageReport {
    /// All tokens.
    pub tokens: u64,
    /// What it cost, if that is known.
    pub cost: Option<Micros>,
    /// The model that answered.
    pub model: Option<String>,
}

const KINDS: [&str; 4] = [
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
];

/// The report in a file, unless the file is empty.
///
/// # Errors
/// `invalid_usage` when it is no report.
pub(super) fn from_file(text: &[u8], prices: &PriceTable) -> Result<Option<UsageReport>, Refusal> {
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    let report: Value = serde_json::from_slice(text).unwrap_or(Value::Null);
    read(&report, prices)?
        .map(Some)
        .ok_or_else(|| Refusal::InvalidUsage {
            field: "PITCREW_USAGE".to_string(),
            given: String::from_utf8_lossy(text).chars().take(80).collect(),
            why: "must be a JSON object with tokens".to_string(),
        })
}

/// The report on the last line of what was printed, if there is one.
///
/// # Errors
/// `invalid_usage` when it is a report with a number that cannot be.
pub(super) fn from_output(
    printed: &[u8],
    prices: &PriceTable,
) -> Result<Option<UsageReport>, Refusal> {
    let last = printed
        .trim_ascii_end()
        .rsplit(|byte| *byte == b'\n')
        .next();
    match last.and_then(|line| serde_json::from_slice::<Value>(line).ok()) {
        Some(report) => read(&report, prices),
        None => Ok(None),
    }
}

fn read(report: &Value, prices: &PriceTable) -> Result<Option<UsageReport>, Refusal> {
    let Value::Object(_) = report else {
        return Ok(None);
    };
    let model = report.get("model").and_then(Value::as_str);
    let parts = report
        .get("usage")
        .filter(|usage| usage.is_object())
        .unwrap_or(report);
    let (tokens, kinds) = match (report.get("tokens"), parts.get("tokens")) {
        (Some(tokens), _) | (None, Some(tokens)) => (input::tokens("tokens", Some(tokens))?, None),
        (None, None) => match kinds(parts)? {
            Some(kinds) => (kinds.total(), Some(kinds)),
            None => return Ok(None),
        },
    };
    let mut cost = None;
    for (place, key) in [
        (report, "cost"),
        (report, "cost_usd"),
        (report, "total_cost_usd"),
        (parts, "cost"),
    ] {
        if cost.is_none() {
            cost = input::dollars(key, place.get(key))?;
        }
    }
    let priced = || {
        prices
            .find(model?)
            .zip(kinds)
            .map(|(price, kinds)| price.cost(&kinds))
    };
    Ok(Some(UsageReport {
        tokens,
        cost: cost.or_else(priced),
        model: model.map(str::to_string),
    }))
}

/// The tokens by kind, if any kind is named.
fn kinds(parts: &Value) -> Result<Option<TokenUse>, Refusal> {
    if KINDS.iter().all(|key| parts.get(key).is_none()) {
        return Ok(None);
    }
    let mut counted = [0; 4];
    for (count, key) in counted.iter_mut().zip(KINDS) {
        if let Some(given) = parts.get(key) {
            *count = input::tokens(key, Some(given))?;
        }
    }
    let [input, cached, cache_write, output] = counted;
    Ok(Some(TokenUse {
        input,
        cached,
        cache_write,
        output,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> Result<Option<(u64, Option<u64>)>, &'static str> {
        let read = from_output(text.as_bytes(), &PriceTable::default());
        read.map(|report| report.map(|report| (report.tokens, report.cost.map(Micros::get))))
            .map_err(|refused| refused.code())
    }

    #[test]
    fn the_last_line_counts_when_it_is_a_report() {
        assert_eq!(
            report("done\n{\"tokens\":12,\"cost\":0.5}\n\n"),
            Ok(Some((12, Some(500_000))))
        );
        assert_eq!(report("{\"tokens\":12}"), Ok(Some((12, None))));
        for none in [
            "",
            "done",
            "{\"tokens\":1}\nbye",
            "[1]",
            "{\"ok\":true}",
            "{",
        ] {
            assert_eq!(report(none), Ok(None), "{none}");
        }
    }

    #[test]
    fn the_report_of_an_agent_cli_counts_by_kind() {
        let claude = r#"{"type":"result","total_cost_usd":0.02,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":3}}"#;
        assert_eq!(report(claude), Ok(Some((18, Some(20_000)))));
        let priced = r#"{"model":"gpt-4o","usage":{"input_tokens":1000000,"output_tokens":0}}"#;
        assert_eq!(report(priced), Ok(Some((1_000_000, Some(2_500_000)))));
    }

    #[test]
    fn f4_a_number_that_cannot_be_is_refused() {
        for bad in [
            r#"{"tokens":-1}"#,
            r#"{"tokens":null}"#,
            r#"{"tokens":"x"}"#,
            r#"{"tokens":1,"cost":null}"#,
            r#"{"tokens":1,"cost":-1}"#,
            r#"{"usage":{"input_tokens":1.5}}"#,
        ] {
            assert_eq!(report(bad), Err("invalid_usage"), "{bad}");
        }
        assert!(from_file(b"NaN", &PriceTable::default()).is_err());
        assert_eq!(from_file(b" \n", &PriceTable::default()), Ok(None));
    }
}
