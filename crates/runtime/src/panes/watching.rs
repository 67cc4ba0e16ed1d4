//! Watching panes until each is ready for review or has ended, and telling a leader's pane of each, as the reference's
//! `monitor-panes` does.
//!
//! What always holds: a pane counts as ready only when its profile proves it in several looks in a row; each pane is told
//! of once; the leader's pane is typed into through the gates, and what came of that is part of the event.

use pitcrew_core::screen::State;
use pitcrew_core::submit::Pane;

use super::{PaneError, Wakened};
use crate::clock::Clock;
use crate::profile::PaneProfile;
use crate::tmux::{PaneRecord, Terminal, Tmux, submit};
use crate::wake::WakeError;

/// A pane with what describes its program.
#[derive(Debug, Clone)]
pub struct Watched<'a> {
    /// The pane.
    pub pane: PaneRecord,
    /// Its program.
    pub profile: &'a PaneProfile,
}

/// When a pane is told of. All spans are in milliseconds.
#[derive(Debug, Clone)]
pub struct Watching {
    /// Between two looks.
    pub poll_ms: i64,
    /// So many looks in a row must find a pane ready.
    pub ready_samples: u32,
    /// No pane is ready before it was watched for so long.
    pub least_ms: i64,
    /// When watching is given up.
    pub timeout_ms: i64,
    /// What the panes are called in messages.
    pub label: Option<String>,
}

/// One pane that is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneEvent {
    /// The pane.
    pub pane_id: String,
    /// `ready` or `dead`.
    pub kind: &'static str,
    /// When, in milliseconds since the Unix epoch.
    pub at: i64,
    /// The words for the leader.
    pub message: String,
    /// Whether the leader's pane has taken them.
    pub told: Wakened,
}

/// Watches `workers` and tells `leader`. Answers the events, and whether every pane was told of in time.
///
/// # Errors
/// When tmux cannot be asked any more.
pub fn watch_panes(
    tmux: &Tmux,
    clock: &dyn Clock,
    leader: &Watched<'_>,
    workers: &[Watched<'_>],
    watching: &Watching,
) -> Result<(Vec<PaneEvent>, bool), PaneError> {
    let began = clock.monotonic();
    let mut events: Vec<PaneEvent> = Vec::new();
    let mut samples = vec![0; workers.len()];
    let mut told = vec![false; workers.len()];
    loop {
        let panes: Vec<&PaneRecord> = workers.iter().map(|worker| &worker.pane).collect();
        let looks = tmux.look(&panes)?;
        let waited = clock.monotonic() - began;
        for (at, (worker, look)) in workers.iter().zip(looks).enumerate() {
            let is_ready = worker.profile.judge(&look.facts).state == State::Ready;
            let kind = match look.pane {
                Pane::Ours(_) if is_ready => {
                    samples[at] += 1;
                    (samples[at] >= watching.ready_samples && waited >= watching.least_ms)
                        .then_some("ready")
                }
                Pane::Ours(_) => {
                    samples[at] = 0;
                    None
                }
                Pane::Dead | Pane::Gone | Pane::NotOurs | Pane::ServerChanged => Some("dead"),
            };
            if let (Some(kind), false) = (kind, told[at]) {
                told[at] = true;
                let message = words(watching, &worker.pane.pane_id, kind);
                events.push(PaneEvent {
                    pane_id: worker.pane.pane_id.clone(),
                    kind,
                    at: clock.now(),
                    told: tell(tmux, leader, &message)?,
                    message,
                });
            }
        }
        if told.iter().all(|told| *told) {
            return Ok((events, true));
        }
        if clock.monotonic() - began >= watching.timeout_ms {
            return Ok((events, false));
        }
        (tmux, &leader.pane).wait(watching.poll_ms);
    }
}

fn words(watching: &Watching, pane: &str, kind: &str) -> String {
    let label = watching.label.as_ref().map(|label| format!("{label} "));
    let label = label.unwrap_or_default();
    match kind {
        "ready" => format!("team {label}{pane} is ready for review"),
        _ => format!("team {label}{pane} exited; review that pane"),
    }
}

fn tell(tmux: &Tmux, leader: &Watched<'_>, message: &str) -> Result<Wakened, PaneError> {
    let plan = leader.profile.plan(message).map_err(WakeError::from)?;
    Ok(submit(&mut (tmux, &leader.pane), plan).into())
}
