//! The first line of a fresh agent: typed once it is ready, side by side for all.
//!
//! The line goes through the ledger, so that nobody else types meanwhile; it is no nudge, so it covers no mail and
//! counts as no prompt.

use pitcrew_core::Name;
use pitcrew_core::nudge::{Begin, Decision, Ledger, Loops, Standing, Timing, Trigger, View, Wake};
use pitcrew_core::submit::{Left, Outcome};
use pitcrew_store::StoreExt;

use super::{PaneError, Site, Wakened};
use crate::profile::PaneProfile;
use crate::tmux::{PaneRecord, Readiness, Terminal, Tmux, submit};
use crate::wake::NudgeRecord;

/// How a member stands after its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The member.
    pub member: Name,
    /// Its pane.
    pub pane: PaneRecord,
    /// Whether its first line was taken. Where not, its page waits for it, and the reason says what it shows.
    pub first_line: Wakened,
}

/// A fresh agent and what it is to be told.
pub(super) struct Fresh<'a> {
    pub(super) member: Name,
    pub(super) pane: PaneRecord,
    pub(super) profile: &'a PaneProfile,
    pub(super) line: String,
}

/// Waits until all are ready and types each its line.
///
/// # Errors
/// When one has ended right after its start, or tmux cannot be asked.
pub(super) fn begin(
    site: &Site<'_>,
    tmux: &Tmux,
    fresh: &[Fresh<'_>],
) -> Result<Vec<Begun>, PaneError> {
    let agents: Vec<(&PaneRecord, &PaneProfile)> = fresh
        .iter()
        .map(|agent| (&agent.pane, agent.profile))
        .collect();
    let readiness = tmux.await_ready(&agents, site.trust)?;
    for (agent, ready) in fresh.iter().zip(&readiness) {
        if let Readiness::Exited(_) | Readiness::Gone = ready {
            return Err(ended_at_once(tmux, agent, ready));
        }
    }
    let one = |agent: &Fresh<'_>, ready: &Readiness| -> Result<Begun, PaneError> {
        let first_line = match ready {
            Readiness::Ready => type_line(site, tmux, agent)?,
            Readiness::Asks(why) => Wakened::not("dialog", why.as_str()),
            Readiness::Late(why) => Wakened::not("not_ready", why.as_str()),
            Readiness::Exited(_) | Readiness::Gone => Wakened::not("exited", ""),
        };
        let now = site.desk.now();
        change(site, &agent.member, |ledger| ledger.started_at = Some(now))?;
        Ok(Begun {
            member: agent.member.clone(),
            pane: agent.pane.clone(),
            first_line,
        })
    };
    std::thread::scope(|scope| {
        let typing: Vec<_> = fresh
            .iter()
            .zip(&readiness)
            .map(|(agent, ready)| scope.spawn(move || one(agent, ready)))
            .collect();
        typing
            .into_iter()
            .map(|typing| match typing.join() {
                Ok(begun) => begun,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

fn ended_at_once(tmux: &Tmux, agent: &Fresh<'_>, ready: &Readiness) -> PaneError {
    let status = match ready {
        Readiness::Exited(Some(status)) => format!(" with status {status}"),
        _ => String::new(),
    };
    // The screen is only there to explain; without it the error stands all the same.
    let said = tmux.last_words(&agent.pane).ok().flatten();
    PaneError::EndedAtOnce {
        member: agent.member.to_string(),
        profile: agent.profile.name.clone(),
        status,
        said: said.unwrap_or_else(|| "it said nothing".into()),
    }
}

fn type_line(site: &Site<'_>, tmux: &Tmux, agent: &Fresh<'_>) -> Result<Wakened, PaneError> {
    let mut terminal = (tmux, &agent.pane);
    let ticket = site.desk.entropy().id()?;
    let now = || site.desk.now();
    // There is something to tell, whatever the mailbox holds.
    let view = View {
        unread: 1,
        newest_unread_at: Some(now()),
        progress_at: None,
        standing: Standing::Live,
        wake: Wake::Pane,
        loops: Loops::Inactive,
        idle_since: None,
    };
    let timing = Timing {
        gather_ms: 0,
        ..Timing::default()
    };
    let due = change(site, &agent.member, |ledger| {
        ledger.handle_trigger(now(), Trigger::Send, &agent.member, &view, &ticket, &timing)
    })?;
    match due {
        Decision::Inject { due_at } => terminal.wait(due_at.millis_since(now()).max(0)),
        _ => return Ok(Wakened::not("busy", "somebody else types into its pane")),
    }
    if !matches!(
        change(site, &agent.member, |ledger| ledger.begin(
            now(),
            &ticket,
            &view
        ))?,
        Begin::Type { .. } | Begin::Gather { .. }
    ) {
        return Ok(Wakened::not("withdrawn", ""));
    }
    let plan = agent
        .profile
        .plan(&agent.line)
        .map_err(crate::wake::WakeError::from)?;
    let outcome = submit(&mut terminal, plan);
    change(site, &agent.member, |ledger| {
        ledger.pending.take_if(|pending| pending.ticket == ticket);
        if let Outcome::NotWoken {
            left: Left::Text | Left::Unknown,
            ..
        } = outcome
        {
            ledger.leftover = Some(agent.line.clone());
        }
    })?;
    Ok(outcome.into())
}

fn change<A>(
    site: &Site<'_>,
    member: &Name,
    mut rule: impl FnMut(&mut Ledger) -> A,
) -> Result<A, PaneError> {
    let changed = site
        .store
        .change(member, |record: &mut Option<NudgeRecord>| {
            rule(&mut record.get_or_insert_default().0)
        })?;
    Ok(changed)
}
