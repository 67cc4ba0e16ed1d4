//! The panes' part of a shutdown: ask whoever holds a task, wait a moment, end what is ours.

use std::time::Duration;

use pitcrew_core::Name;
use pitcrew_core::mailbox::Draft;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::task::Status;
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::desk::Credentials;
use pitcrew_runtime::panes::{PanesEnded, end_all, seat_of};

use crate::commands::attention::{Attention, Event};
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::Halt;
use crate::panes::{self, Quarters};

/// The members in living panes that hold a task, each asked to end it.
pub(super) fn ask(context: &mut Context<'_>, team: &OpenTeam) -> Result<Vec<Name>, Halt> {
    let desk = team.desk();
    if desk.shut_down_at()?.is_some() {
        return Ok(Vec::new());
    }
    let roster = desk.roster()?;
    let standings = panes::standings(context, team, &roster)?;
    let alive = standings
        .iter()
        .filter(|standing| !standing.is_over() && standing.screen.is_some());
    let holders = holders(team)?;
    let asked: Vec<Name> = alive
        .map(|standing| standing.member.clone())
        .filter(|member| holders.iter().any(|holder| member.as_str() == holder))
        .collect();
    let draft = Draft::text(
        "The team is shut down in a moment. End your task now with `pitcrew task done` or `pitcrew task fail`.",
    );
    for member in &asked {
        desk.send(&Credentials::default(), member.as_str(), &draft)?;
    }
    if !asked.is_empty() {
        panes::wake(context, team, &asked, &draft);
    }
    Ok(asked)
}

/// The owners of tasks in progress.
fn holders(team: &OpenTeam) -> Result<Vec<String>, Halt> {
    let tasks = team.desk().tasks()?.tasks.into_iter();
    let held = tasks.filter(|task| task.status == Status::InProgress);
    Ok(held.filter_map(|task| task.owner).collect())
}

/// Waits until none of `asked` holds a task any more, at most for `grace`.
pub(super) fn await_tasks(team: &OpenTeam, asked: &[Name], grace: Duration) -> Result<(), Halt> {
    if asked.is_empty() || grace.is_zero() {
        return Ok(());
    }
    let attention = Attention::to(&team.store)?;
    let begun = CLOCK.monotonic();
    loop {
        let holders = holders(team)?;
        let waits = asked
            .iter()
            .any(|name| holders.iter().any(|holder| name.as_str() == holder));
        let waited = u64::try_from(CLOCK.monotonic() - begun).unwrap_or(0);
        let left = grace.saturating_sub(Duration::from_millis(waited));
        if !waits || left.is_zero() || matches!(attention.next(left)?, Event::Interrupted) {
            return Ok(());
        }
    }
}

/// Ends every pane that is ours. A team without any is not asked about.
pub(super) fn end(context: &mut Context<'_>, team: &OpenTeam) -> Result<PanesEnded, Halt> {
    let desk = team.desk();
    let roster = desk.roster()?;
    let mut any = false;
    for member in &roster.workers {
        if let Ok(name) = Name::new(NameKind::Member, &member.name) {
            any |= seat_of(&desk, &name)?.is_some();
        }
    }
    if !any {
        return Ok(PanesEnded::default());
    }
    let quarters = Quarters::of(context)?;
    end_all(&desk, &roster, &quarters.tmux).map_err(panes::halt)
}
