//! Waiting until freshly opened agents are ready, all at once.
//!
//! | answer | when |
//! |---|---|
//! | `Ready` | the screen proves it, for as long as the profile wants |
//! | `Asks` | a question is open that pitcrew may not answer |
//! | `Exited` | the process has ended |
//! | `Gone` | the pane is not there any more, or not ours |
//! | `Late` | nothing of it within the profile's time |
//!
//! What always holds: each round is one look at all panes together, so they get ready side by side. A trust question is
//! answered only when the user said so, key by key under a guard, and the last key only while the accepting choice is the
//! chosen one. No other question is ever answered.

use std::time::Duration;

use pitcrew_core::departure::Departure;
use pitcrew_core::screen::{Facts, Reading, State};
use pitcrew_core::submit::{Guard, Look, Pane, Sent};

use super::record::PaneRecord;
use super::{Tmux, TmuxError};
use crate::clock::{Clock, SystemClock};
use crate::profile::{PaneProfile, Trust};

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(60);

/// How long a question must stand before it counts: programs show one for a moment while they start.
const STANDS_MS: i64 = 1_500;

/// How long a trust question must stand before a key answers it: programs paint it before they listen to keys.
const PAINTED_MS: i64 = 400;

/// After so long without a change a key is taken for lost.
const LOST_MS: i64 = 1_200;

/// So many keys may be sent again.
const AGAIN: u32 = 3;

/// What is done about a program's question whether it may trust the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrustPolicy {
    /// It is left to a person.
    #[default]
    Ask,
    /// The user said that the folder is trusted.
    Accept,
}

/// How a fresh agent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It waits for a message.
    Ready,
    /// A question is open; the evidence in words.
    Asks(String),
    /// Its process has ended, with this status where tmux tells one.
    Exited(Option<i32>),
    /// The pane is gone or belongs to somebody else.
    Gone,
    /// It was not ready in time; what its screen said last.
    Late(String),
}

struct Waiting<'a> {
    pane: &'a PaneRecord,
    profile: &'a PaneProfile,
    until: i64,
    asks_since: Option<i64>,
    ready_since: Option<i64>,
    /// How many keys of the trust answer were sent.
    accepted: usize,
    /// When the last of them was.
    pressed_at: Option<i64>,
    /// How many more may be sent again.
    again: u32,
    said: String,
    answer: Option<Readiness>,
}

impl Tmux {
    /// Waits until each of these agents is ready or cannot become so, and answers for each, in their order. It takes as
    /// long as the slowest, at most its profile's `ready_within_ms`.
    ///
    /// # Errors
    /// When tmux cannot be asked any more.
    pub fn await_ready(
        &self,
        agents: &[(&PaneRecord, &PaneProfile)],
        trust: TrustPolicy,
    ) -> Result<Vec<Readiness>, TmuxError> {
        let began = SystemClock.monotonic();
        let mut all: Vec<Waiting<'_>> = agents
            .iter()
            .map(|(pane, profile)| Waiting {
                pane,
                profile,
                until: began + i64::from(profile.pane.ready_within_ms),
                asks_since: None,
                ready_since: None,
                accepted: 0,
                pressed_at: None,
                again: AGAIN,
                said: "nothing was seen yet".to_owned(),
                answer: None,
            })
            .collect();
        loop {
            let mut open: Vec<&mut Waiting<'_>> = all
                .iter_mut()
                .filter(|agent| agent.answer.is_none())
                .collect();
            if open.is_empty() {
                break;
            }
            let agents: Vec<_> = open
                .iter()
                .map(|agent| (agent.pane, agent.profile))
                .collect();
            let seen = self.scan(&agents)?;
            for (agent, (look, reading)) in open.iter_mut().zip(seen) {
                self.take(agent, &look, reading, trust)?;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a program at the other end of a terminal tells nobody when it is ready"
            )]
            std::thread::sleep(PAUSE);
        }
        let late = |agent: Waiting<'_>| agent.answer.unwrap_or(Readiness::Late(agent.said));
        Ok(all.into_iter().map(late).collect())
    }

    fn take(
        &self,
        agent: &mut Waiting<'_>,
        look: &Look,
        reading: Reading,
        trust: TrustPolicy,
    ) -> Result<(), TmuxError> {
        let now = SystemClock.monotonic();
        agent.answer = match look.pane {
            Pane::Ours(_) => None,
            Pane::Dead => Some(Readiness::Exited(self.exit_status(agent.pane)?)),
            Pane::Gone | Pane::NotOurs | Pane::ServerChanged => Some(Readiness::Gone),
        };
        if agent.answer.is_some() {
            return Ok(());
        }
        agent.said.clone_from(&reading.why);
        if reading.state != State::Ready {
            agent.ready_since = None;
        }
        match reading.state {
            State::Ready => {
                let since = *agent.ready_since.get_or_insert(now);
                if now - since >= i64::from(agent.profile.pane.settles_ms) {
                    agent.answer = Some(Readiness::Ready);
                }
            }
            State::Dialog => {
                let since = *agent.asks_since.get_or_insert(now);
                let may_answer = trust == TrustPolicy::Accept && now - since >= PAINTED_MS;
                if may_answer && self.accept(agent, &look.facts, now)? {
                    agent.asks_since = None;
                } else if now - since >= STANDS_MS {
                    agent.answer = Some(Readiness::Asks(reading.why));
                }
            }
            _ => agent.asks_since = None,
        }
        if agent.answer.is_none() && now >= agent.until {
            agent.answer = Some(Readiness::Late(agent.said.clone()));
        }
        Ok(())
    }

    /// Sends the next key of the trust answer, when the trust question is what is open. Answers whether it was sent.
    /// A key that changed nothing was lost in a program that did not listen yet, and is sent again.
    fn accept(&self, agent: &mut Waiting<'_>, facts: &Facts, now: i64) -> Result<bool, TmuxError> {
        let Some(trust) = &agent.profile.pane.trust else {
            return Ok(false);
        };
        let is_lost = agent.pressed_at.is_some_and(|at| now - at >= LOST_MS);
        if is_lost && agent.again > 0 && next_key(trust, agent.accepted, facts).is_none() {
            agent.again -= 1;
            agent.accepted = agent.accepted.saturating_sub(1);
        }
        let Some(key) = next_key(trust, agent.accepted, facts) else {
            return Ok(false);
        };
        let Some(cursor) = facts.cursor else {
            return Ok(false);
        };
        let guard = Guard {
            cursor,
            cursor_visible: facts.cursor_visible,
            title: None,
            rows: facts.rows.iter().map(|row| row.text.clone()).collect(),
        };
        let sent = self.press(agent.pane, key, &guard)? == Sent::Sent;
        if sent {
            agent.accepted += 1;
            agent.pressed_at = Some(now);
        }
        Ok(sent)
    }

    fn exit_status(&self, pane: &PaneRecord) -> Result<Option<i32>, TmuxError> {
        Ok(match self.departure(pane)? {
            Departure::Exited(status) => Some(status),
            _ => None,
        })
    }
}

/// The key that comes next; none when the screen does not ask for it, or when the answer was given already.
fn next_key<'a>(trust: &'a Trust, sent: usize, facts: &Facts) -> Option<&'a str> {
    let shows = |words: &str| {
        let squashed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = squashed(words);
        facts
            .rows
            .iter()
            .any(|row| squashed(&row.text).contains(&words))
    };
    if trust.asks.is_empty() || !trust.asks.iter().any(|words| shows(words)) {
        return None;
    }
    let is_chosen = shows(&trust.chosen);
    let last = trust.accept.len().checked_sub(1)?;
    match sent {
        // The accepting choice may be the chosen one from the beginning, then the keys that lead to it would leave it.
        _ if is_chosen && sent <= last => trust.accept.last(),
        at if at < last => trust.accept.get(at),
        _ => None,
    }
    .map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_core::screen::Row;

    fn screen(rows: &[&str]) -> Facts {
        Facts {
            rows: rows.iter().map(|row| Row::plain(*row)).collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn the_last_key_goes_out_only_over_the_accepting_choice() {
        let trust = Trust {
            asks: vec!["Trust this folder".into()],
            accept: vec!["Down".into(), "Enter".into()],
            chosen: "❯ Yes".into(),
        };
        let no = screen(&["Trust this folder?", "❯ No, exit", "  Yes"]);
        let yes = screen(&["Trust this folder?", "  No, exit", "❯ Yes"]);
        assert_eq!(next_key(&trust, 0, &no), Some("Down"));
        assert_eq!(next_key(&trust, 1, &no), None);
        assert_eq!(next_key(&trust, 1, &yes), Some("Enter"));
        assert_eq!(next_key(&trust, 0, &yes), Some("Enter"));
        assert_eq!(next_key(&trust, 2, &yes), None);
        assert_eq!(next_key(&trust, 0, &screen(&["Run this?", "❯ Yes"])), None);
    }
}
