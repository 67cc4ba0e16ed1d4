//! An agent's conversation: in memory while it lives, and in the store, so that its next life goes on.
//!
//! | line | what it says |
//! |---|---|
//! | `user`, `assistant`, `tools` | a turn of the conversation |
//! | `delivered` | the mail that stands in the turns before was read; its acknowledgement may still be owed |
//! | `folded` | the turns before this many bytes were left out, because the model could not take them |
//! | `ended` | the agent was told to end: the next of its name begins anew |
//!
//! What belongs together is one append, whole or absent. A life that ended between a tool call and its result leaves a
//! call without one, which no provider takes: loading closes it with a word about what is known ([`Kept::repair`]).

use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_store::Log;
use serde::{Deserialize, Serialize};

use super::spec::Start;
use crate::desk::{Desk, NotDone};
use crate::model::{ToolCall, ToolResult, Turn};

/// What stands for the result of a tool whose answer nobody saw.
pub(super) const UNSEEN: &str = "The work was interrupted before this tool had answered. Whether it took effect is not known: look before you call \
     it again.";

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// A turn.
    Turn(Turn),
    /// Anything else.
    Note(Note),
}

/// What is no turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Note {
    /// Mail that was in a call that succeeded.
    Delivered {
        /// The ids of the messages.
        ids: Vec<String>,
    },
    /// So many of the oldest turns are left out from here on.
    Folded {
        /// How many.
        turns: usize,
    },
    /// The agent was told to end.
    Ended,
}

/// A conversation as it was kept.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Kept {
    pub(crate) turns: Vec<Turn>,
    /// Mail that was read and perhaps not acknowledged.
    pub(crate) delivered: Vec<String>,
}

/// Reads what was kept of an agent.
pub(crate) fn load(desk: &Desk<'_>, name: &Name, start: Start) -> Result<Kept, NotDone> {
    let mut kept = Kept::default();
    desk.each_line_of(&Log::History(name.clone()), |line| {
        // A line that a crash cut, or that another version wrote, is passed over: the turns around it stand.
        match serde_json::from_slice(line) {
            Ok(Line::Turn(turn)) => kept.turns.push(turn),
            Ok(Line::Note(Note::Delivered { ids })) => kept.delivered = ids,
            Ok(Line::Note(Note::Folded { turns })) => fold(&mut kept.turns, turns),
            Ok(Line::Note(Note::Ended)) if start == Start::Anew => kept = Kept::default(),
            Ok(Line::Note(Note::Ended)) | Err(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    kept.repair();
    Ok(kept)
}

/// Appends lines, all or none of them.
pub(crate) fn append(desk: &Desk<'_>, name: &Name, lines: &[Line]) -> Result<(), NotDone> {
    let mut texts = Vec::with_capacity(lines.len());
    for line in lines {
        let text = serde_json::to_vec(line)
            .map_err(|why| pitcrew_core::Refusal::input("history", &why.to_string()))?;
        texts.push(text);
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    desk.store()
        .append_blind(&Log::History(name.clone()), &texts)?;
    Ok(())
}

/// Notes that an agent was told to end; nothing where it has no history.
pub(crate) fn end(desk: &Desk<'_>, name: &Name) -> Result<(), NotDone> {
    let log = Log::History(name.clone());
    let is_there = !desk.store().read(&log, 0, 1)?.bytes.is_empty();
    match is_there {
        true => append(desk, name, &[Line::Note(Note::Ended)]),
        false => Ok(()),
    }
}

/// Leaves out the oldest `count` turns, and says so in their place.
pub(super) fn fold(turns: &mut Vec<Turn>, count: usize) {
    let count = count.min(turns.len());
    if count == 0 {
        return;
    }
    turns.drain(..count);
    let text = format!("[{count} earlier turns of this conversation are left out here.]");
    turns.insert(0, Turn::User { text });
}

/// How many of the oldest turns to leave out so that about half is left: never a call without its result.
pub(super) fn half(turns: &[Turn]) -> usize {
    let mut count = turns.len() / 2;
    while count < turns.len() && matches!(turns[count], Turn::Tools { .. }) {
        count += 1;
    }
    // A fold puts one turn in the place of those that it takes out.
    if count < 2 || count >= turns.len() {
        0
    } else {
        count
    }
}

/// The results for calls of which nobody saw one.
pub(super) fn unseen(calls: &[ToolCall]) -> Turn {
    let results = calls.iter().map(|call| ToolResult {
        id: call.id.clone(),
        text: UNSEEN.to_string(),
        ok: false,
    });
    Turn::Tools {
        results: results.collect(),
    }
}

impl Kept {
    /// Closes calls without a result.
    fn repair(&mut self) {
        let mut at = 0;
        while at < self.turns.len() {
            if let Turn::Assistant { calls, .. } = &self.turns[at]
                && !calls.is_empty()
                && !matches!(self.turns.get(at + 1), Some(Turn::Tools { .. }))
            {
                let closed = unseen(calls);
                self.turns.insert(at + 1, closed);
            }
            at += 1;
        }
    }
}

/// Whether the model has the next word.
pub(super) fn wants_answer(turns: &[Turn]) -> bool {
    matches!(turns.last(), Some(Turn::User { .. } | Turn::Tools { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    fn said(text: &str) -> Turn {
        let text = text.to_string();
        Turn::User { text }
    }

    fn calling(id: &str) -> Turn {
        Turn::Assistant {
            text: String::new(),
            calls: vec![ToolCall {
                id: id.to_string(),
                name: "look".to_string(),
                arguments: Map::new(),
            }],
        }
    }

    #[test]
    fn a_call_without_a_result_is_closed_where_it_stands() {
        let mut kept = Kept {
            turns: vec![said("a"), calling("1"), said("b"), calling("2")],
            delivered: Vec::new(),
        };
        kept.repair();
        let ids: Vec<Option<&str>> = kept
            .turns
            .iter()
            .map(|turn| match turn {
                Turn::Tools { results } => Some(results[0].id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ids, [None, None, Some("1"), None, None, Some("2")]);
    }

    #[test]
    fn a_fold_never_parts_a_call_from_its_result() {
        let result = |id: &str| match calling(id) {
            Turn::Assistant { calls, .. } => unseen(&calls),
            other => other,
        };
        let turns = [
            said("a"),
            calling("1"),
            result("1"),
            calling("2"),
            result("2"),
            said("b"),
        ];
        let count = half(&turns);
        assert_eq!(count, 3);
        let mut folded = turns.to_vec();
        fold(&mut folded, count);
        assert_eq!(folded[1..], turns[3..]);
        assert_eq!(half(&turns[..1]), 0);
    }
}
