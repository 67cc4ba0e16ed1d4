//! Looking at panes: one tmux process, however many there are.
//!
//! One line tells all facts of every pane of the server, and one capture with colours follows for each pane that is asked
//! for. The server does all of it in one step, so rows and facts are of one moment.

use std::collections::HashMap;

use pitcrew_core::screen::Facts;
use pitcrew_core::submit::{Foreground, Look, Pane};

use super::facts::{FORMAT, PaneFacts};
use super::record::PaneRecord;
use super::{Tmux, TmuxError};
use crate::clock::{Entropy, SystemEntropy};
use crate::process::{Front, front};

/// How many panes one tmux process captures: its arguments must stay below 16 KiB.
const AT_ONCE: usize = 120;

impl Tmux {
    /// One look at each of these panes, in their order. All must be of the server at this socket; a server that is gone
    /// is an answer ([`Pane::Gone`]), not an error.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn look(&self, panes: &[&PaneRecord]) -> Result<Vec<Look>, TmuxError> {
        let mut looks = Vec::with_capacity(panes.len());
        for part in panes.chunks(AT_ONCE) {
            match self.look_at_part(part) {
                Ok(mut part) => looks.append(&mut part),
                Err(TmuxError::NoServer { .. }) => {
                    looks.extend(part.iter().map(|_| without(Pane::Gone)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(looks)
    }

    fn look_at_part(&self, panes: &[&PaneRecord]) -> Result<Vec<Look>, TmuxError> {
        let sound: Vec<&&PaneRecord> = panes.iter().filter(|pane| pane.is_sound()).collect();
        let fence = fence()?;
        let mut words: Vec<String> = ["list-panes", "-a", "-F", FORMAT].map(str::to_owned).into();
        for pane in &sound {
            let id = &pane.pane_id;
            words.extend([";", "display", "-p", &fence].map(str::to_owned));
            words.extend([";", "if", "-Ft", id].map(str::to_owned));
            words.push(format!("#{{==:#{{pane_id}},{id}}}"));
            words.push(format!("capturep -ept {id}"));
        }
        let answer = self.ask(words, b"")?;
        let answer = String::from_utf8_lossy(&answer);
        let end = format!("{fence}\n");
        let mut parts = answer.split(end.as_str());
        let told = parts.next().unwrap_or_default();
        let mut facts: HashMap<String, PaneFacts> = HashMap::new();
        for line in told.lines() {
            let pane = PaneFacts::read(line)?;
            // A window that is linked into several sessions is told of once for each.
            facts.entry(pane.pane_id.clone()).or_insert(pane);
        }
        let mut captures: HashMap<&str, &str> = HashMap::new();
        for (pane, capture) in sound.iter().zip(parts) {
            captures.insert(&pane.pane_id, capture);
        }
        let look = |pane: &&PaneRecord| {
            let seen = facts.get(&pane.pane_id).filter(|_| pane.is_sound());
            judge(
                pane,
                seen,
                facts.values().next(),
                captures.get(pane.pane_id.as_str()).copied(),
            )
        };
        Ok(panes.iter().map(look).collect())
    }

    /// Everything that tmux tells of all panes of this server, foreign ones among them; none without a server.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn panes(&self) -> Result<Vec<PaneFacts>, TmuxError> {
        match self.ask(["list-panes", "-a", "-F", FORMAT], b"") {
            Ok(answer) => String::from_utf8_lossy(&answer)
                .lines()
                .map(PaneFacts::read)
                .collect(),
            Err(TmuxError::NoServer { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// A line that no screen shows, because nobody can guess it.
fn fence() -> Result<String, TmuxError> {
    let garbled = |_| TmuxError::Garbled {
        what: "a random number",
    };
    let id = SystemEntropy.id().map_err(garbled)?;
    Ok(id.chars().filter(|sign| *sign != '-').take(20).collect())
}

fn without(pane: Pane) -> Look {
    Look {
        pane,
        facts: Facts::default(),
    }
}

/// Whose pane it is, and what it shows. `any` is a pane of the server that answered.
fn judge(
    pane: &PaneRecord,
    seen: Option<&PaneFacts>,
    any: Option<&PaneFacts>,
    capture: Option<&str>,
) -> Look {
    if any.is_some_and(|any| !pane.server.is_of(any)) {
        return without(Pane::ServerChanged);
    }
    let (Some(seen), Some(capture)) = (seen, capture) else {
        return without(Pane::Gone);
    };
    if !pane.is_of(seen) {
        return without(Pane::NotOurs);
    }
    let facts = seen.facts.clone().drawn(capture);
    let pane = match seen.is_dead {
        true => Pane::Dead,
        false => Pane::Ours(foreground(seen)),
    };
    Look { pane, facts }
}

fn foreground(seen: &PaneFacts) -> Foreground {
    let command = seen.facts.command.as_deref().unwrap_or_default();
    match front(seen.pane_pid, command) {
        Front::Program => Foreground::Agent,
        Front::Shell => Foreground::Shell,
        Front::CannotTell => Foreground::Unknown,
    }
}
