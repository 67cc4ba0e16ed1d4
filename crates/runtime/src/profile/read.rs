//! What came of a turn.
//!
//! [`Profile::read_turn`] holds what a process left behind against its profile. The order of the questions matters:
//!
//! 1. Did the turn end by itself? Where the CLI says so, its word counts, and an exit status of 0 alone does not: one
//!    CLI exits with 0 when it is terminated half-way, and several do when they refused the work.
//! 2. If it did, were tools refused on the way? Then nobody can say from outside whether the work was done.
//! 3. If it did not: a limit of the provider, a session that is no more, a failure with its reason, or, last, the exit
//!    status and the last words on standard error.
//!
//! Pure, and tolerant of everything that a process may leave: torn JSON, bytes that are no text, gigabytes.

use super::place::{Outputs, Place};
use super::usage::Usage;
use super::{Profile, reset};
use crate::process::How;

/// The longest answer that is kept, in bytes: as long as the longest message.
const ANSWER: usize = 1024 * 1024;

/// The longest reason that is kept, in characters.
const WHY: usize = 500;

/// How many refused tools are named.
const REFUSED: usize = 16;

/// The longest session id that is believed, in bytes.
const SESSION: usize = 200;

/// What a turn left behind.
#[derive(Debug, Clone, Copy)]
pub struct TurnOutput<'a> {
    /// How it ended.
    pub how: How,
    /// What it wrote to standard output, as far as it was kept.
    pub stdout: &'a [u8],
    /// What it wrote to standard error, as far as it was kept.
    pub stderr: &'a [u8],
    /// What stands in the [plan's answer file](super::TurnPlan::answer_file), if it is there.
    pub answer_file: Option<&'a [u8]>,
    /// The [plan's session](super::TurnPlan::session).
    pub session: Option<&'a str>,
    /// [`TurnReport::counted`] of the turn before in the same session; `None` in a fresh one.
    pub counted_before: Option<&'a Usage>,
    /// Now, in milliseconds since the epoch.
    pub now_ms: i64,
    /// What the machine's zone is ahead of UTC, in seconds.
    pub utc_offset_s: i32,
}

/// What a CLI answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its words. Of an answer of more than 1 MiB, the end.
    pub text: String,
    /// How many bytes before `text` are left out.
    pub left_out: u64,
}

/// A limit of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// What the CLI said, on one line.
    pub why: String,
    /// When it ends, in milliseconds since the epoch; `None` when the CLI did not say or it could not be read. Words
    /// carry whole minutes, so the true end may be up to a minute later.
    pub resets_at_ms: Option<i64>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// By itself, and nothing was refused.
    Completed,
    /// The CLI refused tools that the agent asked for. It may have found another way or given up: the answer says.
    ToolsRefused {
        /// Which, as the CLI names them, each once.
        what: Vec<String>,
        /// Whether the turn ended by itself all the same. Otherwise the refusal ended it.
        turn_done: bool,
    },
    /// The provider refuses for now. No failure of the work: the same turn can be tried again later.
    Limited(Limit),
    /// The session to go on with is no more: the turn did not begin and can be tried in a fresh one.
    SessionLost {
        /// What the CLI said, on one line.
        why: String,
    },
    /// It came to nothing.
    Failed {
        /// Why, on one line.
        why: String,
    },
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnReport {
    /// How it ended.
    pub outcome: Outcome,
    /// What was answered. A turn that was limited, failed or stopped may have said something before.
    pub answer: Option<Answer>,
    /// The session, to go on with; as planned where the CLI did not say, and `None` when it is lost or unknown.
    pub session: Option<String>,
    /// What this turn used; `None` when the CLI does not say, which is not zero.
    pub usage: Option<Usage>,
    /// What this turn cost as the CLI says it, in millionths of a US dollar, whether or not its tokens are known.
    pub cost_micro_usd: Option<u64>,
    /// Why what the CLI reported of its usage is not, or not all, known: what stands where a number should.
    pub usage_fault: Option<String>,
    /// What the CLI had counted at the end of this turn: goes into [`TurnOutput::counted_before`] of the session's
    /// next turn.
    pub counted: Option<Usage>,
}

impl Profile {
    /// What came of the turn that left `output` behind.
    #[must_use]
    pub fn read_turn(&self, output: &TurnOutput<'_>) -> TurnReport {
        let outputs = Outputs::new(output.stdout, output.stderr, output.answer_file);
        let answer = self.answer_in(&outputs);
        let outcome = self.judge(output, &outputs, answer.is_some());
        let session = match outcome {
            Outcome::SessionLost { .. } => None,
            _ => self
                .session_in(&outputs)
                .or_else(|| output.session.map(str::to_string)),
        };
        let usage = self
            .usage
            .as_ref()
            .and_then(|usage| usage.read(&outputs, output.counted_before));
        TurnReport {
            outcome,
            answer,
            session,
            usage: usage.as_ref().and_then(|reading| reading.turn),
            cost_micro_usd: usage.as_ref().and_then(|reading| reading.cost),
            usage_fault: usage.as_ref().and_then(|reading| reading.fault.clone()),
            // A turn that was cut off counted nothing: the next one is still held against the one before.
            counted: usage
                .as_ref()
                .map(|reading| reading.counted)
                .or(output.counted_before.copied()),
        }
    }

    fn judge(&self, output: &TurnOutput<'_>, outputs: &Outputs<'_>, answered: bool) -> Outcome {
        let what = self.refused_in(outputs);
        if self.ended_by_itself(output.how, outputs, answered) {
            return match what.is_empty() {
                true => Outcome::Completed,
                false => Outcome::ToolsRefused {
                    what,
                    turn_done: true,
                },
            };
        }
        let limited = |why: String| Outcome::Limited(self.limit(why, output, outputs));
        if let Some(why) = first_word(&self.limits.at, outputs) {
            return limited(why);
        }
        if let Some(why) = first_word(&self.session.lost, outputs) {
            return Outcome::SessionLost { why };
        }
        if let Some(why) = first_word(&self.failure, outputs) {
            return Outcome::Failed { why };
        }
        if !what.is_empty() && output.how == How::Exited(0) {
            return Outcome::ToolsRefused {
                what,
                turn_done: false,
            };
        }
        if let Some(why) = first_word(&self.limits.retrying, outputs) {
            return limited(why);
        }
        let why = self.last_words(output, outputs);
        match output.how {
            How::Exited(code) if self.limits.exits.contains(&code) => limited(why),
            _ => Outcome::Failed { why },
        }
    }

    fn ended_by_itself(&self, how: How, outputs: &Outputs<'_>, answered: bool) -> bool {
        if self.answer_required && !answered {
            return false;
        }
        if self.done.is_empty() {
            return how == How::Exited(0) && first_word(&self.failure, outputs).is_none();
        }
        // A CLI that said "done" and then hung or was killed did its turn; one that then failed knows why.
        let said = self.done.iter().any(|place| place.is_in(outputs));
        said && !matches!(how, How::Exited(code) if code != 0)
    }

    fn answer_in(&self, outputs: &Outputs<'_>) -> Option<Answer> {
        let full = |text: &String| !text.trim().is_empty();
        let last = |place: &Place| place.values(outputs).into_iter().rfind(full);
        let mut text = self.answer.iter().find_map(last)?;
        let mut left_out = 0;
        if text.len() > ANSWER {
            let mut from = text.len() - ANSWER;
            while !text.is_char_boundary(from) {
                from += 1;
            }
            text.drain(..from);
            left_out = from as u64;
        }
        Some(Answer { text, left_out })
    }

    fn session_in(&self, outputs: &Outputs<'_>) -> Option<String> {
        self.session.at.iter().find_map(|place| {
            let mut values = place.values(outputs).into_iter();
            values.rfind(|id| is_session_id(id))
        })
    }

    fn refused_in(&self, outputs: &Outputs<'_>) -> Vec<String> {
        let mut what: Vec<String> = Vec::new();
        for value in self.refusals.iter().flat_map(|place| place.values(outputs)) {
            let value = one_line(&value);
            if what.len() < REFUSED && !what.contains(&value) {
                what.push(value);
            }
        }
        what
    }

    fn limit(&self, why: String, output: &TurnOutput<'_>, outputs: &Outputs<'_>) -> Limit {
        let (now, offset) = (output.now_ms, output.utc_offset_s);
        let exact = self
            .limits
            .resets
            .iter()
            .find_map(|reading| reading.read(outputs, now, offset));
        let resets_at_ms = exact.or_else(|| reset::reset_in_text(&why, now, offset));
        Limit { why, resets_at_ms }
    }

    /// What can be said when the CLI itself said nothing that its profile knows.
    fn last_words(&self, output: &TurnOutput<'_>, outputs: &Outputs<'_>) -> String {
        let ended = match output.how {
            How::Exited(0) => "ended without an answer".to_string(),
            How::Exited(code) => format!("exit status {code}"),
            How::Signaled(signal) => format!("killed by signal {signal}"),
            How::TimedOut { .. } => "its time was up".to_string(),
            How::Stopped { .. } => "it was stopped".to_string(),
            How::Lost => "its exit status was lost".to_string(),
        };
        let stderr = outputs.stderr();
        let last = stderr
            .lines()
            .rev()
            .map(one_line)
            .find(|line| line.chars().any(char::is_alphanumeric));
        match last {
            Some(last) => format!("{ended}: {last}"),
            None => ended,
        }
    }
}

/// Whether `id` can be a session's. It becomes an argument of the next turn, so it must not look like an option or hold
/// anything odd.
pub(crate) fn is_session_id(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    id.len() <= SESSION
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.bytes().all(plain)
}

/// The last value of the first of `places` that is there, on one line.
fn first_word(places: &[Place], outputs: &Outputs<'_>) -> Option<String> {
    places
        .iter()
        .find_map(|place| place.values(outputs).pop())
        .map(|value| one_line(&value))
}

/// `text` on one line of bounded length, without colours and other control sequences.
fn one_line(text: &str) -> String {
    let plain = without_sequences(text);
    let mut line = String::new();
    for word in plain.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(WHY) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn without_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                // Parameters, then one letter or sign that ends the sequence.
                chars.next();
                while chars
                    .next()
                    .is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c))
                {}
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
