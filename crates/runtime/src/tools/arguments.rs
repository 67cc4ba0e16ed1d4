//! The arguments of a call, checked against the tool's parameters.
//!
//! Every fault is told at once, each with the parameter, what it must be and what was given, so that a model can mend
//! the whole call in one go. A whole number may also come as `10.0`, as some clients write it; `null` for a parameter
//! that can be left out counts as left out.

use pitcrew_core::name::nearest;
use serde_json::{Map, Value, json};

use super::answer::{Answer, quoted};
use super::definition::{Kind, Need, Param, Tool};

/// The most characters of a wrong argument that are shown.
const SHOWN: usize = 60;

/// The largest whole number that every JSON reader takes as it is.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Arguments of which each is what its parameter says.
#[derive(Debug, Default)]
pub(super) struct Args {
    given: Map<String, Value>,
}

/// What is wrong with one argument.
struct Fault {
    parameter: String,
    words: String,
    facts: Value,
}

impl Args {
    /// The arguments of `tool`, or an answer that says everything that is wrong with them.
    pub(super) fn read(tool: &Tool, given: &Map<String, Value>) -> Result<Self, Answer> {
        let mut args = Self::default();
        let mut faults = Vec::new();
        for param in tool.params {
            match given.get(param.name) {
                None => faults.extend(missing(param)),
                Some(Value::Null) if param.need == Need::Optional => {}
                Some(value) => match fits(param.kind, value) {
                    Some(value) => {
                        args.given.insert(param.name.to_string(), value);
                    }
                    None => faults.push(wrong(param, value)),
                },
            }
        }
        let known = || tool.params.iter().map(|param| param.name);
        let stray = given
            .keys()
            .filter(|name| !known().any(|known| known == **name));
        faults.extend(stray.map(|name| unknown(tool, name, nearest(name, known()))));
        match faults.is_empty() {
            true => Ok(args),
            false => Err(say(tool, &faults)),
        }
    }

    /// A text, if it was given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).and_then(Value::as_str)
    }

    /// A text that its parameter requires.
    pub(super) fn needed(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    /// A number, if it was given.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.given.get(name).and_then(Value::as_u64)
    }

    /// The texts of a list; none when it was not given.
    pub(super) fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.given.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }
}

/// `value` as the kind has it.
fn fits(kind: Kind, value: &Value) -> Option<Value> {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    match kind {
        Kind::Text => is_text(value).then(|| value.clone()),
        Kind::Number(least, most) => {
            let number = value.as_u64().or_else(|| whole(value.as_f64()?))?;
            (least..=most).contains(&number).then(|| number.into())
        }
        Kind::Texts(most) => {
            let list = value.as_array()?;
            let fits = (1..=most).contains(&list.len()) && list.iter().all(is_text);
            fits.then(|| value.clone())
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, not negative and within what a double holds exactly"
)]
fn whole(number: f64) -> Option<u64> {
    let is_whole = (0.0..=MOST_EXACT).contains(&number) && number.fract() == 0.0;
    is_whole.then_some(number as u64)
}

fn missing(param: &Param) -> Option<Fault> {
    let expected = param.kind.words();
    (param.need == Need::Required).then(|| Fault {
        parameter: param.name.to_string(),
        words: format!("`{}` is missing: it must be {expected}", param.name),
        facts: json!({ "parameter": param.name, "expected": expected, "given": null }),
    })
}

fn wrong(param: &Param, value: &Value) -> Fault {
    let (expected, given) = (param.kind.words(), shown(value));
    Fault {
        parameter: param.name.to_string(),
        words: format!("`{}` must be {expected}, not {given}", param.name),
        facts: json!({ "parameter": param.name, "expected": expected, "given": given }),
    }
}

fn unknown(tool: &Tool, name: &str, nearest: Option<String>) -> Fault {
    let shown = quoted(name, SHOWN);
    let next = match (&nearest, tool.params) {
        (Some(nearest), _) => format!("did you mean `{nearest}`?"),
        (None, []) => "it takes none".to_string(),
        (None, params) => {
            let names: Vec<String> = params
                .iter()
                .map(|param| format!("`{}`", param.name))
                .collect();
            format!("it takes {}", names.join(", "))
        }
    };
    Fault {
        parameter: name.to_string(),
        words: format!("there is no parameter {shown}, {next}"),
        facts: json!({ "parameter": shown, "nearest": nearest }),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(text) if text.is_empty() => "an empty text".to_string(),
        Value::String(text) => format!("the text {}", quoted(text, SHOWN)),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "an object".to_string(),
    }
}

fn say(tool: &Tool, faults: &[Fault]) -> Answer {
    let words: Vec<&str> = faults.iter().map(|fault| fault.words.as_str()).collect();
    let facts: Vec<&Value> = faults.iter().map(|fault| &fault.facts).collect();
    let parameters: Vec<String> = faults
        .iter()
        .map(|fault| quoted(&fault.parameter, SHOWN))
        .collect();
    let text = format!(
        "{} was not called: {}. Mend {} and call it again.",
        tool.name,
        words.join("; "),
        parameters.join(", ")
    );
    Answer::refused(
        text,
        json!({ "status": "refused", "code": "invalid_arguments", "faults": facts }),
    )
}
