//! `team explain`: why a member was prompted or not, or is gone, from what the monitor wrote down.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use pitcrew_core::Name;
use pitcrew_core::event::{Event, Fact, Filter, What};
use pitcrew_core::name::LEADER;
use pitcrew_core::restart::{Reason, Standing as Restarting};
use pitcrew_core::span::span;
use pitcrew_runtime::desk::Desk;
use pitcrew_runtime::panes::{LivesRecord, prospect};
use pitcrew_runtime::wake::{NudgeRecord, PaneSeat};
use pitcrew_store::StoreExt;
use serde_json::{Value, json};

use super::monitor::Standing;
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Explain>("explain", "Say why a member was prompted or not");

/// Say why a member was prompted or not
///
/// The first line is the answer; below it stand the decisions of the monitor that led to it, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  pitcrew team explain worker-2 --team demo")]
struct Explain {
    /// The member
    #[arg(value_name = "MEMBER")]
    member: String,
    /// How many decisions are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

/// One decision, as it stands in the events.
struct Decision {
    at: String,
    value: Value,
}

impl Decision {
    fn of(event: &Event) -> Option<Self> {
        let What::Known(Fact::NudgeDecided {
            trigger,
            did,
            reason,
            why,
            unread,
            idle_ms,
            ..
        }) = &event.what
        else {
            return None;
        };
        Some(Self {
            at: event.at.to_string(),
            value: json!({
                "at": event.at, "trigger": trigger, "did": did, "reason": reason, "why": why,
                "unread": unread, "idleMs": idle_ms,
            }),
        })
    }

    fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_default()
    }

    /// The reason with its evidence.
    fn because(&self) -> String {
        match self.text("why") {
            "" => self.text("reason").to_string(),
            why => format!("{}: {why}", self.text("reason")),
        }
    }

    fn line(&self) -> String {
        let idle = self.value["idleMs"].as_u64();
        let idle = idle.map_or_else(String::new, |ms| format!("  idle {}", span(ms)));
        format!(
            "{}  {:<9}  {}  unread={}{idle}",
            self.at,
            self.text("did"),
            self.because(),
            self.value["unread"]
        )
    }
}

impl Run for Explain {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let team = context.open_team()?;
        let desk = team.desk();
        let member = member(&desk, &self.member)?;
        let standing = Standing::of(&project)?;
        let decisions = decisions(&desk, &member, self.limit.max(1))?;
        let (code, answer) = answer(&desk, &member, &standing, decisions.front())?;
        if context.ui.json {
            let ledger = team.store.view::<NudgeRecord>(&member).ok().flatten();
            let lives = team.store.view::<LivesRecord>(&member).ok().flatten();
            let shown: Vec<&Value> = decisions.iter().map(|decision| &decision.value).collect();
            let answer = json!({
                "ok": true,
                "member": member.as_str(),
                "code": code,
                "answer": answer,
                "monitor": standing.value(),
                "respawn": desk.roster()?.respawn(),
                "lives": lives,
                "ledger": ledger.map(|record| record.0),
                "decisions": shown,
            });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.line(&answer);
            for decision in &decisions {
                context.ui.line(&format!("  {}", decision.line()));
            }
        }
        Ok(Exit::Done)
    }
}

fn member(desk: &Desk<'_>, given: &str) -> Result<Name, Halt> {
    match given {
        LEADER => Ok(Name::leader()),
        given => Ok(desk.roster()?.worker(given)?),
    }
}

/// The newest decisions about a member, the latest first.
fn decisions(desk: &Desk<'_>, member: &Name, limit: usize) -> Result<VecDeque<Decision>, Halt> {
    let filter = Filter {
        member: Some(member.clone()),
        types: vec!["nudge_decided".to_string()],
        ..Filter::default()
    };
    let mut newest = VecDeque::new();
    desk.events_from(0, &filter, &mut |event| {
        newest.extend(Decision::of(&event));
        if newest.len() > limit {
            newest.pop_front();
        }
        ControlFlow::Continue(())
    })?;
    Ok(newest.into_iter().rev().collect())
}

/// What became of a member whose agent has ended, once that was noticed.
fn over(desk: &Desk<'_>, member: &Name) -> Result<Option<(&'static str, String)>, Halt> {
    let (Some(seat), Some(record)) = (
        desk.store().view::<PaneSeat>(member)?,
        desk.store().view::<LivesRecord>(member)?,
    ) else {
        return Ok(None);
    };
    let Some(ended) = record.end_of(seat.incarnation) else {
        return Ok(None);
    };
    let standing = record.standing();
    let code = match standing {
        Restarting::Due { .. } => "restart_due",
        Restarting::Up { .. } => "restarting",
        Restarting::GivenUp(Reason::TooManyRestarts { .. }) => "failed",
        Restarting::GivenUp(Reason::NeverRestarted) | Restarting::Down | Restarting::Done => "gone",
    };
    let prospect = prospect(member, standing, desk.now());
    let words = format!("is gone since {}: {}. {prospect}", ended.at, ended.words());
    Ok(Some((code, words)))
}

/// The answer: a code and one sentence.
fn answer(
    desk: &Desk<'_>,
    member: &Name,
    standing: &Standing,
    latest: Option<&Decision>,
) -> Result<(String, String), Halt> {
    let say = |code: &str, why: String| Ok((code.to_string(), format!("{member} {why}")));
    if let Some(at) = desk.shut_down_at()? {
        return say(
            "shut_down",
            format!("is not prompted: its team was shut down at {at}"),
        );
    }
    if desk.store().view::<PaneSeat>(member)?.is_none() {
        return say(
            "no_pane",
            "is not prompted: it sits in no pane and reads its mail itself".to_string(),
        );
    }
    if let Some((code, why)) = over(desk, member)? {
        return say(code, why);
    }
    if let Some(why) = standing.why_not() {
        let code = match standing.loops.is_empty() {
            true => "loop_inactive",
            false => "no_monitor",
        };
        return say(
            code,
            format!("is not prompted when it idles: no monitor watches it, for {why}"),
        );
    }
    let Some(latest) = latest else {
        return say(
            "not_looked",
            "was not looked at yet: a monitor looks every 5 s".to_string(),
        );
    };
    let because = latest.because();
    let at = &latest.at;
    let words = match latest.text("did") {
        "prompted" => format!("was prompted at {at}"),
        "queued" => format!("was prompted at {at}, and its program keeps the line for later"),
        "escalated" => format!("is not prompted any more: the leader was told at {at}"),
        "not_woken" => format!("was to be prompted at {at} and was not, {because}"),
        _ => format!("is not prompted since {at}, {because}"),
    };
    say(latest.text("reason"), words)
}
