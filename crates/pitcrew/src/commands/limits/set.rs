//! `limits set`: what the team may spend, and how fast.

use std::time::Duration;

use pitcrew_core::Name;
use pitcrew_core::limiter::WhenUnreachable;
use pitcrew_core::price::Micros;
use pitcrew_core::refusal::NameKind;
use pitcrew_runtime::desk::{LimitChange, Setting};
use serde_json::json;

use super::{dollars, status};
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::span::{millis, parse as parse_span};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Set>("set", "Change what the team may spend, and how fast");

/// Change what the team may spend, and how fast
///
/// What is not named stays as it is; `none` lifts a limit. What was spent already counts. For the leader.
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
        let limits = desk.set_limits(&change)?;
        match self.when_unreachable.as_deref() {
            Some("admit") => desk.set_limiter_unreachable(WhenUnreachable::Admit)?,
            Some(_) => desk.set_limiter_unreachable(WhenUnreachable::Refuse)?,
            None => {}
        }
        if context.ui.json {
            let answer = json!({ "ok": true, "limits": limits });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            let words = status::limits_in_words(&limits);
            context.ui.line(&words);
        }
        Ok(Exit::Done)
    }
}
