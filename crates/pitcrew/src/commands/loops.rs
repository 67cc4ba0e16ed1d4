//! `ralph`, `ultrawork`, `ultraqa`: loop modes, in the reference's words and shapes.
//!
//! | what | in words, on standard output | in JSON |
//! |---|---|---|
//! | start | `ralph started iter=0/10` | the state |
//! | status | `ralph active iter=0/10 prompt=…`, `ralph inactive` | the state, or `{"active": false}` |
//! | cancel | `ralph cancelled`, also when there was none | `{"cancelled": true}` |
//! | tick, cycle | one line | `{"ok", "state"}` or `{"ok", "reason"}` |
//! | what is no request | `Unknown ralph subcommand. Try: …` | `{"ok": false, "message"}` |

use pitcrew_core::loops::{Mode, Over};
use pitcrew_runtime::desk::NotDone;
use pitcrew_runtime::loops::{LoopDocument, Loops, Wish};
use pitcrew_store::Project;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::failed_answer;
use crate::commands::team::monitor;
use crate::context::{CLOCK, Context};
use crate::halt::{Exit, Halt};
use crate::hints;
use crate::ui::{Layout, Ui};

pub(crate) mod ralph;
pub(crate) mod ultraqa;
pub(crate) mod ultrawork;

/// What every start takes.
#[derive(Debug, clap::Args)]
struct Starting {
    /// The session of the agent CLI that the loop belongs to
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// Take the place of a loop of this mode that goes on
    #[arg(long)]
    force: bool,
}

impl Starting {
    fn wish<'a>(&'a self, aim: &'a str) -> Wish<'a> {
        Wish {
            aim,
            session_id: self.session_id.as_deref(),
            over: if self.force {
                Over::Replace
            } else {
                Over::Refuse
            },
        }
    }
}

/// What every step takes.
#[derive(Debug, clap::Args)]
struct Saying {
    /// Say nothing: the exit status is the answer
    #[arg(long, short)]
    quiet: bool,
}

impl Saying {
    fn voice(&self) -> Voice {
        if self.quiet {
            Voice::Quiet
        } else {
            Voice::Loud
        }
    }
}

/// The loops of `project`.
fn loops(project: &Project) -> Loops<'_> {
    Loops::of(project, &CLOCK)
}

/// A limit as the reference shows one.
fn shown(limit: Option<i64>) -> String {
    limit.map_or_else(|| "null".to_string(), |limit| limit.to_string())
}

/// Answers that a loop was started, and sees to it that somebody watches over it.
fn started(
    context: &mut Context<'_>,
    project: &Project,
    state: &impl Serialize,
    words: &str,
) -> Exit {
    if context.ui.json {
        context.ui.json(&json!(state), Layout::Pretty);
    } else {
        context.ui.line(words);
    }
    monitor::ensure(context, project);
    Exit::Done
}

/// Answers how a loop stands. `words` are for one that goes on.
fn status<L: LoopDocument>(
    context: &mut Context<'_>,
    words: impl Fn(&L) -> String,
) -> Result<Exit, Halt> {
    let project = context.project(None)?;
    let found = loops(&project).find::<L>()?;
    let active = found.as_ref().filter(|found| found.is_active());
    if context.ui.json {
        let state = found.as_ref().map(|found| json!(found));
        let answer = state.unwrap_or_else(|| json!({ "active": false }));
        context.ui.json(&answer, Layout::Pretty);
    } else {
        let inactive = || format!("{} inactive", L::MODE);
        context.ui.line(&active.map_or_else(inactive, words));
    }
    Ok(match active {
        Some(_) => Exit::Done,
        None => Exit::Refused,
    })
}

/// Ends a loop and answers so.
fn cancel(context: &mut Context<'_>, mode: Mode) -> Result<Exit, Halt> {
    let project = context.project(None)?;
    let was_there = loops(&project).cancel(mode)?;
    if context.ui.json {
        let answer = json!({ "cancelled": true, "wasThere": was_there });
        context.ui.json(&answer, Layout::Pretty);
    } else {
        context.ui.line(&format!("{mode} cancelled"));
    }
    Ok(Exit::Done)
}

/// Whether a step says what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Loud,
    /// For hooks, whose output an agent reads.
    Quiet,
}

/// Answers a step of a loop. `words` are for one that was done; one that was not begins with `refused`.
fn step<S: Serialize>(
    context: &mut Context<'_>,
    done: Result<S, NotDone>,
    voice: Voice,
    words: impl Fn(&S) -> String,
    refused: &str,
) -> Result<Exit, Halt> {
    let (answer, line, exit) = match done {
        Ok(state) => {
            let answer = json!({ "ok": true, "state": state });
            (answer, words(&state), Exit::Done)
        }
        Err(NotDone::Failed(failure)) => return Err(failure.into()),
        Err(NotDone::Refused(refusal)) => {
            let halt = Halt::Refused(refusal);
            let row = hints::row(&halt);
            let answer = failed_answer("reason", None, &halt);
            (answer, format!("{refused}: {}", row.reference), row.exit)
        }
    };
    match (voice, context.ui.json) {
        (Voice::Quiet, _) => {}
        (Voice::Loud, true) => context.ui.json(&answer, Layout::Pretty),
        (Voice::Loud, false) => context.ui.line(&line),
    }
    Ok(exit)
}

/// The mode whose command was called, by the words of the command line.
pub(crate) fn meant(words: &[&str]) -> Option<Mode> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--root" | "--team" | "--as" => drop(rest.next()),
            flag if flag.starts_with('-') => {}
            word => return Mode::ALL.into_iter().find(|mode| mode.word() == word),
        }
    }
    None
}

/// The reference's answer to what is no request of a loop. Its exit status is 1 like that of every other no.
pub(crate) fn misunderstood(ui: &mut Ui, mode: Mode) -> Exit {
    let more = match mode {
        Mode::Ralph => " | tick",
        Mode::Ultrawork => "",
        Mode::Ultraqa => " | cycle pass|fail|pending",
    };
    say_no(
        ui,
        &format!("Unknown {mode} subcommand. Try: {mode} start \"<task>\" | status | cancel{more}"),
    )
}

fn say_no(ui: &mut Ui, message: &str) -> Exit {
    if ui.json {
        let answer: Value = json!({ "ok": false, "message": message, "code": "usage" });
        ui.json(&answer, Layout::Pretty);
    } else {
        ui.line(message);
    }
    Exit::Refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_the_first_word_that_is_no_option() {
        for (line, expected) in [
            (&["ralph", "start", "--json"][..], Some(Mode::Ralph)),
            (&["--root", "ralph", "ultraqa"], Some(Mode::Ultraqa)),
            (&["--json", "--as", "x", "ultrawork"], Some(Mode::Ultrawork)),
            (&["send", "ralph"], None),
            (&[], None),
        ] {
            assert_eq!(meant(line), expected, "{line:?}");
        }
    }
}
