//! The judgement of one screen: evidence is gathered first, then the strongest wins.
//!
//! `ready` is what is left when every other state has no evidence at all and every proof is there.

use alloc::format;
use alloc::string::{String, ToString};

use super::composer::Composer;
use super::facts::Facts;
use super::fold::Page;
use super::mark::{Mark, Sight};
use super::shell::Prompt;
use super::signature::{ShellLook, Signature};
use super::{Reading, State};

/// Judges one screen.
#[must_use]
pub fn judge(facts: &Facts, signature: &Signature) -> Reading {
    let page = Page::new(facts);
    let look = signature.composer.as_ref();
    let found = look.and_then(|look| Some((look, look.find(facts, &page)?)));
    let rows = found.as_ref().map(|(_, found)| (found.top, found.bottom));
    let sight = Sight {
        facts,
        page: &page,
        composer: rows,
    };
    let composer = match (&found, &signature.shell) {
        (Some((look, found)), _) => {
            let proved = proofs(&sight, &look.placeholder_proof).is_ok();
            look.content(facts, &page, found, proved)
        }
        (None, Some(shell)) => match shell.read(facts) {
            Some(Prompt::Empty) => Composer::Empty,
            Some(Prompt::Draft(text)) => Composer::Draft(text),
            None => Composer::Absent,
        },
        (None, None) => Composer::Absent,
    };
    let busy = first(&sight, &signature.busy).or_else(|| foreground(facts, signature));
    let blank = facts.is_blank();
    let rest = (composer == Composer::Empty).then(|| at_rest(&sight, signature));
    let (state, why) = if facts.in_mode == Some(true) {
        (State::Unknown, "the pane is in copy mode".to_string())
    } else if blank {
        (State::Unknown, "the screen is blank".to_string())
    } else {
        let idle = rest.as_ref();
        strongest(&sight, signature, &composer, busy.as_deref(), idle)
    };
    Reading {
        state,
        why,
        composer,
        at_rest: busy.is_none() && matches!(rest, Some(Ok(_))),
        busy,
        blank,
    }
}

/// The first of `marks` that is seen.
fn first(sight: &Sight<'_>, marks: &[Mark]) -> Option<String> {
    marks.iter().find_map(|mark| sight.sees(mark))
}

/// What all of `marks` say, or the name of the first that is missing.
fn proofs<'a>(sight: &Sight<'_>, marks: &'a [Mark]) -> Result<String, &'a str> {
    let mut seen = String::new();
    for mark in marks {
        let place = sight.sees(mark).ok_or(mark.name.as_str())?;
        seen.push_str("; ");
        seen.push_str(&place);
    }
    Ok(seen)
}

/// For a shell: what runs in the foreground, when it is not the shell.
fn foreground(facts: &Facts, signature: &Signature) -> Option<String> {
    let shell = signature.shell.as_ref()?;
    let command = facts.command.as_ref()?;
    (shell.runs(facts) == Some(false)).then(|| format!("{command} runs in the foreground"))
}

fn strongest(
    sight: &Sight<'_>,
    signature: &Signature,
    composer: &Composer,
    busy: Option<&str>,
    rest: Option<&Result<String, String>>,
) -> (State, String) {
    if let Some(why) = exited(sight, signature) {
        return (State::Exited, why);
    }
    if let Some(why) = first(sight, &signature.dialog) {
        return (State::Dialog, why);
    }
    if let Composer::Draft(text) | Composer::Unclear(text) = composer
        && signature.composer.is_some()
        && is_command(text)
    {
        return (State::Dialog, "a slash command is being chosen".to_string());
    }
    if let Some(why) = first(sight, &signature.limit) {
        return (State::Limit, why);
    }
    if let Some(why) = busy {
        return (State::Busy, why.to_string());
    }
    match composer {
        Composer::Draft(_) => (State::Draft, "text stands in the composer".to_string()),
        Composer::Unclear(_) => (
            State::Unknown,
            "the composer holds text that may be the program's own".to_string(),
        ),
        Composer::Absent => (State::Unknown, "no composer is at the cursor".to_string()),
        Composer::Empty => match rest {
            Some(Ok(seen)) => (
                State::Ready,
                format!("the cursor stands in the empty composer{seen}"),
            ),
            Some(Err(missing)) => (
                State::Unknown,
                format!("the composer is empty, but this is missing: {missing}"),
            ),
            None => (State::Unknown, "nothing was proved".to_string()),
        },
    }
}

/// The proofs that an idle program stands beside its empty composer, or the first that is missing.
fn at_rest(sight: &Sight<'_>, signature: &Signature) -> Result<String, String> {
    match &signature.shell {
        Some(shell) if shell.runs(sight.facts) != Some(true) => {
            return Err("a shell in the foreground".to_string());
        }
        Some(_) => {}
        None if signature.ready.is_empty() => return Err("any proof in the profile".to_string()),
        None => {}
    }
    proofs(sight, &signature.ready).map_err(ToString::to_string)
}

/// A program that has ended: what it leaves behind, what tmux writes over a dead pane, or a shell's prompt.
fn exited(sight: &Sight<'_>, signature: &Signature) -> Option<String> {
    let facts = sight.facts;
    if let Some(why) = first(sight, &signature.exited) {
        return Some(why);
    }
    if facts.alternate_screen == Some(true) {
        return None;
    }
    let dead = |row: &super::Row| row.text.trim_start().starts_with("Pane is dead");
    if facts.rows.iter().any(dead) {
        return Some("tmux says that the pane is dead".to_string());
    }
    let shell = ShellLook::default();
    let back = signature.shell.is_none()
        && facts.alternate_screen == Some(false)
        && facts.cursor_visible == Some(true)
        && shell.runs(facts) == Some(true)
        && shell.read(facts).is_some();
    back.then(|| "a shell's prompt is at the cursor".to_string())
}

/// Whether a draft is a slash command: one slash, then a name without another.
fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let name = words.next().and_then(|word| word.strip_prefix('/'));
    name.is_some_and(|name| !name.contains('/'))
}
