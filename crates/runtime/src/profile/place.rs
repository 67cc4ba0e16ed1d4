//! Where in the output of a CLI something stands, as data: which stream, which line or object, which field.
//!
//! A place is found as often as it occurs. Torn lines, other programs' noise between them, bytes that are no UTF-8
//! and lone surrogates are stepped over or mended; a place that is not there is simply not found. Nothing is read
//! twice: [`Outputs`] parses each stream once, when a place first asks for it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use pitcrew_core::json;
use serde::Deserialize;
use serde_json::Value;

/// How many lines are tried as the beginning of an object that ends an output.
const OBJECT_TRIES: usize = 64;

/// How much of the beginning of a huge output is looked at, in bytes.
const HEAD: usize = 64 * 1024;

/// How much of its end is looked at, in bytes.
const TAIL: usize = 8 * 1024 * 1024;

/// A stream and how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// Standard output as text.
    #[default]
    Stdout,
    /// Standard error as text.
    Stderr,
    /// Each line of standard output as JSON.
    StdoutLines,
    /// The one JSON object on standard output.
    StdoutJson,
    /// The last JSON object on standard error.
    StderrJson,
    /// The file that the CLI wrote its answer to, as text.
    AnswerFile,
}

impl Source {
    fn is_text(self) -> bool {
        matches!(self, Self::Stdout | Self::Stderr | Self::AnswerFile)
    }
}

/// Where something stands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    #[serde(default)]
    from: Source,
    /// What the fields of the object must be, by path.
    #[serde(default, rename = "where")]
    conditions: BTreeMap<String, toml::Value>,
    /// The path of the value: names and positions joined by dots, `*` for every one.
    field: Option<String>,
    /// What the value, or the line of a text, must contain. Case and the kind of apostrophe do not matter.
    text: Option<String>,
    /// Words for people that stand for the value.
    says: Option<String>,
}

impl Place {
    /// What is wrong with it, as a fragment.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let structured = self.field.is_some() || !self.conditions.is_empty();
        if self.from.is_text() && structured {
            return Some("`where` and `field` need a source of JSON, not a text");
        }
        if !self.from.is_text() && !structured {
            return Some("a source of JSON needs `where` or `field`");
        }
        if self.conditions.values().any(|wanted| !is_plain(wanted)) {
            return Some(
                "`where` takes texts, numbers and flags, or lists of them; a path is written in quotes, \"a.b\" = 1",
            );
        }
        None
    }

    /// Whether it reads the answer file.
    pub(super) fn reads_answer_file(&self) -> bool {
        self.from == Source::AnswerFile
    }

    /// Whether it is there.
    pub(super) fn is_in(&self, outputs: &Outputs<'_>) -> bool {
        !self.values(outputs).is_empty()
    }

    /// Every value that stands there, in the order of the output.
    pub(super) fn values(&self, outputs: &Outputs<'_>) -> Vec<String> {
        let mut values: Vec<String> = match self.from.is_text() {
            true => self.texts(outputs),
            false => self
                .records(outputs)
                .into_iter()
                .flat_map(|record| self.in_record(record))
                .collect(),
        };
        if let Some(text) = &self.text {
            let wanted = folded(text);
            values.retain(|value| folded(value).contains(&wanted));
        }
        if let (Some(says), false) = (&self.says, values.is_empty()) {
            return vec![says.clone()];
        }
        values
    }

    /// The objects that fit.
    pub(super) fn records<'a>(&self, outputs: &'a Outputs<'_>) -> Vec<&'a Value> {
        let all = match self.from {
            Source::StdoutLines => outputs.lines(),
            Source::StdoutJson => outputs.stdout_json(),
            Source::StderrJson => outputs.stderr_json(),
            Source::Stdout | Source::Stderr | Source::AnswerFile => &[],
        };
        let fits = |record: &&Value| {
            self.conditions
                .iter()
                .all(|(path, wanted)| condition(record, path, wanted))
        };
        all.iter().filter(fits).collect()
    }

    fn in_record(&self, record: &Value) -> Vec<String> {
        match &self.field {
            Some(path) => at(record, path).into_iter().filter_map(words).collect(),
            None => words(record).into_iter().collect(),
        }
    }

    fn texts(&self, outputs: &Outputs<'_>) -> Vec<String> {
        let whole = outputs.text(self.from);
        match self.text {
            Some(_) => whole.lines().map(str::to_string).collect(),
            None if whole.trim().is_empty() => Vec::new(),
            None => vec![whole.into_owned()],
        }
    }
}

fn is_plain(wanted: &toml::Value) -> bool {
    match wanted {
        toml::Value::Array(several) => several.iter().all(|one| !one.is_array() && is_plain(one)),
        toml::Value::Table(_) | toml::Value::Datetime(_) => false,
        _ => true,
    }
}

fn condition(record: &Value, path: &str, wanted: &toml::Value) -> bool {
    let found = at(record, path);
    let is = |wanted: &toml::Value| found.iter().any(|value| same(value, wanted));
    match wanted {
        toml::Value::Array(several) => several.iter().any(is),
        one => is(one),
    }
}

fn same(value: &Value, wanted: &toml::Value) -> bool {
    match wanted {
        toml::Value::String(text) => value.as_str() == Some(text),
        toml::Value::Integer(number) => value.as_i64() == Some(*number),
        toml::Value::Boolean(flag) => value.as_bool() == Some(*flag),
        toml::Value::Float(number) => value.as_f64() == Some(*number),
        _ => false,
    }
}

/// Every value at `path` in `record` that is not null.
pub(super) fn at<'a>(record: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![record];
    for step in path.split('.') {
        found = found
            .into_iter()
            .flat_map(|value| -> Vec<&Value> {
                match (value, step) {
                    (Value::Object(map), "*") => map.values().collect(),
                    (Value::Array(list), "*") => list.iter().collect(),
                    (Value::Object(map), name) => map.get(name).into_iter().collect(),
                    (Value::Array(list), position) => position
                        .parse::<usize>()
                        .ok()
                        .and_then(|at| list.get(at))
                        .into_iter()
                        .collect(),
                    _ => Vec::new(),
                }
            })
            .collect();
    }
    found.retain(|value| !value.is_null());
    found
}

fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// `text` as it is compared: without case, with plain apostrophes.
fn folded(text: &str) -> String {
    text.to_lowercase().replace(['\u{2019}', '\u{2018}'], "'")
}

/// What one turn wrote, parsed when it is first asked for.
#[derive(Debug)]
pub(super) struct Outputs<'a> {
    stdout: &'a [u8],
    stderr: &'a [u8],
    answer_file: &'a [u8],
    lines: OnceCell<Vec<Value>>,
    stdout_json: OnceCell<Vec<Value>>,
    stderr_json: OnceCell<Vec<Value>>,
}

impl<'a> Outputs<'a> {
    pub(super) fn new(stdout: &'a [u8], stderr: &'a [u8], answer_file: Option<&'a [u8]>) -> Self {
        Self {
            stdout,
            stderr,
            answer_file: answer_file.unwrap_or_default(),
            lines: OnceCell::new(),
            stdout_json: OnceCell::new(),
            stderr_json: OnceCell::new(),
        }
    }

    fn lines(&self) -> &[Value] {
        self.lines.get_or_init(|| {
            let object = |line: &[u8]| json::read::<Value>(line).ok().filter(Value::is_object);
            let (head, tail) = ends(self.stdout);
            let lines = [head, tail]
                .into_iter()
                .flat_map(|part| part.split(|b| *b == b'\n'));
            lines.filter_map(object).collect()
        })
    }

    fn stdout_json(&self) -> &[Value] {
        self.stdout_json
            .get_or_init(|| last_object(ends(self.stdout).1).into_iter().collect())
    }

    fn stderr_json(&self) -> &[Value] {
        self.stderr_json
            .get_or_init(|| last_object(ends(self.stderr).1).into_iter().collect())
    }

    /// Standard error as text, or its end.
    pub(super) fn stderr(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(ends(self.stderr).1)
    }

    fn text(&self, source: Source) -> Cow<'a, str> {
        match source {
            Source::Stderr | Source::StderrJson => self.stderr(),
            Source::AnswerFile => String::from_utf8_lossy(ends(self.answer_file).1),
            Source::Stdout | Source::StdoutLines | Source::StdoutJson => {
                String::from_utf8_lossy(ends(self.stdout).1)
            }
        }
    }
}

/// What is looked at of an output: all of it, as its end; of a huge one a beginning, where a session is announced,
/// and an end, where answer and verdict stand. The lines that this cuts are torn ones, and those are stepped over.
fn ends(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.len().checked_sub(HEAD + TAIL) {
        None | Some(0) => (&[], bytes),
        Some(_) => (&bytes[..HEAD], &bytes[bytes.len() - TAIL..]),
    }
}

/// The last JSON object that begins at the start of a line, whatever stands before and after it.
fn last_object(bytes: &[u8]) -> Option<Value> {
    if let Ok(value @ Value::Object(_)) = json::read::<Value>(bytes) {
        return Some(value);
    }
    let starts = (0..bytes.len())
        .rev()
        .filter(|at| bytes[*at] == b'{' && (*at == 0 || bytes[at - 1] == b'\n'));
    starts
        .take(OBJECT_TRIES)
        .find_map(|at| first_object(&bytes[at..]))
}

fn first_object(bytes: &[u8]) -> Option<Value> {
    let strict = serde_json::Deserializer::from_slice(bytes)
        .into_iter::<Value>()
        .next();
    let value = match strict {
        Some(Ok(value)) => Some(value),
        _ => {
            let mended = json::repair(bytes)?;
            serde_json::Deserializer::from_str(&mended)
                .into_iter::<Value>()
                .next()?
                .ok()
        }
    };
    value.filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        toml::from_str(text).unwrap()
    }

    fn values(place_text: &str, stdout: &[u8], stderr: &[u8]) -> Vec<String> {
        place(place_text).values(&Outputs::new(stdout, stderr, None))
    }

    #[test]
    fn a_line_is_found_by_its_fields_among_torn_ones_and_noise() {
        let out = b"warning: x\n{\"type\":\"a\",\"n\":{\"v\":1}}\n{\"type\":\"a\",\"n\":{\"v\":2}}\r\n{\"type\":\"b\",\"n\":{\"v\":3}}\n{\"type\":\"a\",\"n\":{\"v";
        let at = "from = 'stdout_lines'\nwhere = { type = 'a' }\nfield = 'n.v'";
        assert_eq!(values(at, out, b""), ["1", "2"]);
        let any = "from = 'stdout_lines'\nwhere = { 'n.v' = [3, 4] }\nfield = 'type'";
        assert_eq!(values(any, out, b""), ["b"]);
    }

    #[test]
    fn broken_bytes_and_lone_surrogates_do_not_hide_a_line() {
        let out = b"{\"type\":\"r\",\"t\":\"a\\ud83d b\"}\n{\"type\":\"r\",\"t\":\"c\xFF\"}\n";
        let at = "from = 'stdout_lines'\nfield = 't'";
        assert_eq!(values(at, out, b""), ["a\u{FFFD} b", "c\u{FFFD}"]);
    }

    #[test]
    fn a_star_stands_for_every_entry_and_a_number_for_one() {
        let out = br#"{"m":{"x":{"n":1},"y":{"n":2}},"l":[{"t":"A"},{"t":"B"}],"z":null}"#;
        let at = |field: &str| {
            values(
                &format!("from = 'stdout_json'\nfield = '{field}'"),
                out,
                b"",
            )
        };
        assert_eq!(at("m.*.n"), ["1", "2"]);
        assert_eq!(at("l.*.t"), ["A", "B"]);
        assert_eq!(at("l.1.t"), ["B"]);
        assert!(at("z").is_empty() && at("l.9.t").is_empty() && at("m.x.n.q").is_empty());
    }

    #[test]
    fn the_last_object_of_a_noisy_stream_is_found() {
        let err = b"Warning: {not this}\n{\"old\":1}\n    at f (x.js) {\n  status: 429\n}\n{\n  \"error\": {\"code\": 429}\n}\ntrailing";
        let at = "from = 'stderr_json'\nfield = 'error.code'";
        assert_eq!(values(at, b"", err), ["429"]);
    }

    #[test]
    fn text_is_compared_without_case_and_apostrophe() {
        let at = "from = 'stderr'\ntext = \"you've hit your usage\"";
        assert_eq!(
            values(
                at,
                b"",
                "x\nYou\u{2019}ve hit your USAGE limit.\ny".as_bytes()
            ),
            ["You\u{2019}ve hit your USAGE limit."]
        );
        assert!(values(at, b"", b"you have").is_empty());
    }

    #[test]
    fn fixed_words_stand_for_what_was_found() {
        let at = "from = 'stderr'\ntext = 'denied'\nsays = 'no'";
        assert_eq!(values(at, b"", b"denied\ndenied"), ["no"]);
        assert!(values(at, b"", b"fine").is_empty());
    }

    #[test]
    fn a_place_that_cannot_be_found_is_a_fault() {
        assert!(place("field = 'x'").fault().is_some());
        assert!(place("from = 'stdout_lines'").fault().is_some());
        assert!(
            place("from = 'stdout_lines'\nwhere = { a.b = 1 }")
                .fault()
                .is_some()
        );
        assert!(
            place("from = 'stdout_lines'\nwhere = { 'a.b' = [1, 'x', true] }")
                .fault()
                .is_none()
        );
        assert!(place("from = 'stderr'").fault().is_none());
    }

    #[test]
    fn of_a_huge_output_the_beginning_and_the_end_are_looked_at() {
        let mut out = b"{\"n\":\"first\"}\n".to_vec();
        while out.len() < HEAD + TAIL + 1_000_000 {
            out.extend_from_slice(
                b"{\"m\":\"0123456789 0123456789 0123456789 0123456789 0123456789\"}\n",
            );
        }
        out.extend_from_slice(b"{\"n\":\"last\"}\n");
        assert_eq!(
            values("from = 'stdout_lines'\nfield = 'n'", &out, b""),
            ["first", "last"]
        );
    }
}
