//! `limits set`: what the team may spend, and how fast.

use std::time::Duration;

use pitcrew_core::Name;
use pitcrew_core::limiter::{Limiter, Limits, WhenUnreachable};
use pitcrew_core::price::Micros;
use pitcrew_core::refusal::NameKind;
use pitcrew_runtime::desk::{Failure, LimitChange, NotDone, Setting, apart};
use pitcrew_store::StoreFailure;
use serde_json::json;

use super::{dollars, status};
use crate::cli::{Entry, Run};
use crate::context::{Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::span::{millis, parse as parse_span};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Set>("set", "Change what the team may spend, and how fast");

/// Change what the team may spend, and how fast
///
/// What is not named stays as it is; `none` lifts a limit. What was spent already counts. Where limits.json cannot be
/// read, it is kept under another name and counting begins anew, with a word. For the leader.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew limits set --budget 5.00 --rpm 60 --tpm 200000
  pitcrew limits set --budget-of ann=1.50 --member-budget none")]
pub(crate) struct Set {
    /// What the team may spend in all, in dollars, or none
    #[arg(long, value_name = "USD", value_parser = money)]
    budget: Option<Setting<Micros>>,
    /// What each member may spend in all, in dollars, or none
    #[arg(long, value_name = "USD", value_parser = money)]
    member_budget: Option<Setting<Micros>>,
    /// What one member may spend instead: ann=1.50; can be given several times
    #[arg(long, value_name = "MEMBER=USD", value_parser = of_member)]
    budget_of: Vec<(String, Setting<Micros>)>,
    /// Requests of the whole team in any 60 seconds, or none
    #[arg(long, value_name = "N", value_parser = number)]
    rpm: Option<Setting<u64>>,
    /// Tokens of the whole team in any 60 seconds, or none
    #[arg(long, value_name = "N", value_parser = number)]
    tpm: Option<Setting<u64>>,
    /// After how long a reservation that nobody settled is refunded; five minutes at first
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    reservation_ttl: Option<Duration>,
    /// What happens to calls while the limits cannot be read: refuse (at first) or admit
    #[arg(long, value_name = "WHAT", value_parser = ["refuse", "admit"])]
    when_unreachable: Option<String>,
}

fn setting<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Setting<T>, String> {
    match text {
        "none" => Ok(Setting::Lift),
        text => read(text).map(Setting::To),
    }
}

fn money(text: &str) -> Result<Setting<Micros>, String> {
    setting(text, dollars)
}

fn number(text: &str) -> Result<Setting<u64>, String> {
    setting(text, |text| {
        text.parse()
            .map_err(|_| "it is a whole number, or none".to_string())
    })
}

fn of_member(text: &str) -> Result<(String, Setting<Micros>), String> {
    let (member, amount) = text
        .split_once('=')
        .ok_or("it looks like ann=1.50".to_string())?;
    Ok((member.to_string(), money(amount)?))
}

impl Run for Set {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let own = self.budget_of.into_iter().map(|(member, setting)| {
            let member = Name::new(NameKind::Member, &member)?;
            Ok::<_, Halt>((member, setting))
        });
        let change = LimitChange {
            budget: self.budget.unwrap_or_default(),
            member_budget: self.member_budget.unwrap_or_default(),
            member_budgets: own.collect::<Result<_, _>>()?,
            rpm: self.rpm.unwrap_or_default(),
            tpm: self.tpm.unwrap_or_default(),
            reservation_ttl_ms: self.reservation_ttl.map(|ttl| millis(ttl).unsigned_abs()),
        };
        let team = context.open_team()?;
        context.leader_only(&team, "change limits")?;
        let desk = team.desk();
        let choice = self.when_unreachable.as_deref().map(|word| match word {
            "admit" => WhenUnreachable::Admit,
            _ => WhenUnreachable::Refuse,
        });
        // What to do without limits can be chosen without them.
        let is_choice_alone = choice.is_some() && change == LimitChange::default();
        let set = match is_choice_alone {
            true => None,
            false => Some(set_or_begin_anew(&team, &change)?),
        };
        if let Some(choice) = choice {
            desk.set_limiter_unreachable(choice)?;
        }
        let (limits, aside) = match set {
            Some((limits, aside)) => (Ok(limits), aside),
            None => (
                apart(desk.limiter())?.map(|limiter| limiter.limits().clone()),
                None,
            ),
        };
        if let Some(aside) = &aside {
            context.ui.say(&format!(
                "limits.json could not be read and is kept as {aside}: what was spent so far is not counted any more"
            ));
        }
        if context.ui.json {
            let mut answer = json!({ "ok": true, "limits": limits.as_ref().ok() });
            if let Some(aside) = aside {
                answer["set_aside"] = aside.into();
            }
            context.ui.json(&answer, Layout::Pretty);
        } else {
            let words = match &limits {
                Ok(limits) => status::limits_in_words(limits),
                Err(why) => format!("limits: cannot be read: {why}"),
            };
            context.ui.line(&words);
        }
        Ok(Exit::Done)
    }
}

/// Changes the limits. Where they cannot be read, what stands there is kept under another name, which is answered too,
/// and counting begins anew: a leader that sets limits wants them to hold from now on.
fn set_or_begin_anew(
    team: &OpenTeam,
    change: &LimitChange,
) -> Result<(Limits, Option<String>), Halt> {
    let desk = team.desk();
    match desk.set_limits(change) {
        Err(NotDone::Failed(Failure::Store(StoreFailure::CorruptDocument { .. })))
            if *change != LimitChange::default() =>
        {
            let aside = team.store.set_aside::<Limiter>(&())?;
            Ok((desk.set_limits(change)?, aside))
        }
        answered => Ok((answered?, None)),
    }
}
