//! Looking at panes: one tmux process, however many there are.
//!
//! One line tells all facts of every pane of the server, and one capture follows for each pane that is asked for. The
//! server does all of it in one step, so rows and facts are of one moment.
//!
//! Colours cost as much again as everything else. They only ever tell a placeholder from a draft, so a scan asks for them,
//! in a second process, where without them a draft is what the screen seems to show.

use std::collections::HashMap;

use pitcrew_core::screen::{Composer, Facts, Reading, Row};
use pitcrew_core::submit::{Foreground, Look, Pane};

use super::facts::{FORMAT, PaneFacts};
use super::record::PaneRecord;
use super::{Tmux, TmuxError};
use crate::clock::{Entropy, SystemEntropy};
use crate::process::{Front, front};
use crate::profile::PaneProfile;

/// How many panes one tmux process captures: its arguments must stay below 16 KiB.
const AT_ONCE: usize = 120;

/// Whether rows come with their colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Plain,
    Coloured,
}

/// Whether panes are missing. Asking for each whether it is there costs as much as capturing it, so it is done only once
/// one was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    None,
    Some,
}

impl Tmux {
    /// One look at each of these panes, in their order, with colours. All must be of the server at this socket; a server
    /// that is gone is an answer ([`Pane::Gone`]), not an error.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn look(&self, panes: &[&PaneRecord]) -> Result<Vec<Look>, TmuxError> {
        self.look_in(panes, Detail::Coloured)
    }

    /// One look at each of these agents with what it says, in their order: one tmux process, or two where something seems
    /// to stand in a composer.
    ///
    /// # Errors
    /// When tmux is missing or does not answer.
    pub fn scan(
        &self,
        agents: &[(&PaneRecord, &PaneProfile)],
    ) -> Result<Vec<(Look, Reading)>, TmuxError> {
        let panes: Vec<&PaneRecord> = agents.iter().map(|(pane, _)| *pane).collect();
        let read = |look: Look, profile: &PaneProfile| {
            let reading = profile.judge(&look.facts);
            (look, reading)
        };
        let looks = self.look_in(&panes, Detail::Plain)?;
        let mut seen: Vec<(Look, Reading)> = looks
            .into_iter()
            .zip(agents)
            .map(|(look, (_, profile))| read(look, profile))
            .collect();
        let unsure = |(_, reading): &(Look, Reading)| {
            matches!(reading.composer, Composer::Draft(_) | Composer::Unclear(_))
        };
        let again: Vec<usize> = (0..seen.len()).filter(|at| unsure(&seen[*at])).collect();
        if !again.is_empty() {
            let panes: Vec<&PaneRecord> = again.iter().map(|at| panes[*at]).collect();
            for (at, look) in again.iter().zip(self.look(&panes)?) {
                seen[*at] = read(look, agents[*at].1);
            }
        }
        Ok(seen)
    }

    fn look_in(&self, panes: &[&PaneRecord], detail: Detail) -> Result<Vec<Look>, TmuxError> {
        let mut looks = Vec::with_capacity(panes.len());
        for part in panes.chunks(AT_ONCE) {
            let seen = match self.look_at_part(part, detail, Missing::None) {
                // A pane is gone, and tmux stopped there: once more, with care.
                Err(TmuxError::Refused { .. }) => self.look_at_part(part, detail, Missing::Some),
                other => other,
            };
            match seen {
                Ok(mut part) => looks.append(&mut part),
                Err(TmuxError::NoServer { .. }) => {
                    looks.extend(part.iter().map(|_| without(Pane::Gone)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(looks)
    }

    fn look_at_part(
        &self,
        panes: &[&PaneRecord],
        detail: Detail,
        missing: Missing,
    ) -> Result<Vec<Look>, TmuxError> {
        let sound: Vec<&&PaneRecord> = panes.iter().filter(|pane| pane.is_sound()).collect();
        let fence = fence()?;
        let flags = match detail {
            Detail::Plain => "-pt",
            Detail::Coloured => "-ept",
        };
        let mut words: Vec<String> = ["list-panes", "-a", "-F", FORMAT].map(str::to_owned).into();
        for pane in &sound {
            let id = &pane.pane_id;
            words.extend([";", "display", "-p", &fence].map(str::to_owned));
            match missing {
                Missing::None => words.extend([";", "capturep", flags, id].map(str::to_owned)),
                Missing::Some => {
                    words.extend([";", "if", "-Ft", id].map(str::to_owned));
                    words.push(format!("#{{==:#{{pane_id}},{id}}}"));
                    words.push(format!("capturep {flags} {id}"));
                }
            }
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
            let capture = captures.get(pane.pane_id.as_str()).copied();
            judge(pane, seen, facts.values().next(), capture, detail)
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
    detail: Detail,
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
    let facts = match detail {
        Detail::Coloured => seen.facts.clone().drawn(capture),
        Detail::Plain => {
            let mut facts = seen.facts.clone();
            let rows = capture.strip_suffix('\n').unwrap_or(capture).split('\n');
            facts.rows = rows.map(Row::plain).collect();
            facts
        }
    };
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
