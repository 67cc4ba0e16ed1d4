//! `limits status`: spent, reserved, left.

use pitcrew_core::limiter::{Limiter, Limits, Status, Tally, Used};
use pitcrew_core::span::span;
use pitcrew_core::{Timestamp, price::Micros};
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::{HEADING, Layout, Ui};

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<ShowLimits>(
    "status",
    "Show what was spent, what is reserved, and what is left",
);

/// Show what was spent, what is reserved, and what is left
///
/// Money is in dollars here and in millionths of a dollar in JSON. Looking changes no file.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowLimits {}

impl Run for ShowLimits {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let desk = team.desk();
        desk.roster()?;
        let (limiter, now) = (desk.limiter()?, desk.now());
        if context.ui.json {
            context.ui.json(&answer(&limiter, now), Layout::Pretty);
        } else {
            write(context.ui, &limiter.status(now), now);
        }
        Ok(Exit::Done)
    }
}

/// How the limiter stands, as JSON.
pub(crate) fn answer(limiter: &Limiter, now: Timestamp) -> Value {
    json!({
        "ok": true,
        "on": limiter.limits().is_on(),
        "status": limiter.status(now),
    })
}

/// The limits on one line.
pub(super) fn limits_in_words(limits: &Limits) -> String {
    let mut words = Vec::new();
    let money = |what: &str, limit: Option<Micros>| limit.map(|limit| format!("{what} {limit}"));
    words.extend(money("budget", limits.budget));
    words.extend(money("each member", limits.member_budget));
    for (member, budget) in &limits.member_budgets {
        words.push(format!("{member} {budget}"));
    }
    words.extend(limits.rpm.map(|rpm| format!("{rpm} requests a minute")));
    words.extend(limits.tpm.map(|tpm| format!("{tpm} tokens a minute")));
    match words.is_empty() {
        true => "no limits".to_string(),
        false => format!("limits: {}", words.join(", ")),
    }
}

/// Spent, reserved and left of the team's money, on one line.
pub(crate) fn money_in_words(status: &Status<'_>) -> String {
    let left = match status.left {
        Some(left) => format!("{left} left"),
        None => "no budget".to_string(),
    };
    format!(
        "{} spent, {} reserved, {left}",
        status.used.cost, status.reserved.cost
    )
}

fn write(ui: &mut Ui, status: &Status<'_>, now: Timestamp) {
    ui.line(&limits_in_words(status.limits));
    ui.line(&format!("team: {}", money_in_words(status)));
    ui.line(&format!(
        "last minute: {} requests, {} tokens",
        status.window.requests, status.window.tokens
    ));
    if let Some(pause) = status.pause {
        let left = span(pause.until.millis_since(now).unsigned_abs());
        ui.line(&format!("paused for another {left}: {}", pause.why));
    }
    let row = |what: &str, used: &Used, more: &str| {
        let line = format!(
            "{what:<24} {:>12} {:>12} {:>9} {more}",
            used.cost.to_string(),
            used.tokens,
            used.requests
        );
        line.trim_end().to_string()
    };
    let heading = format!(
        "{:<24} {:>12} {:>12} {:>9} left",
        "", "spent", "tokens", "requests"
    );
    let heading = ui.styled(HEADING, &heading);
    ui.own_line(&heading);
    for (member, own) in &status.members {
        let left = own.left.map_or_else(String::new, |left| left.to_string());
        ui.line(&row(member.as_str(), &own.used, &left));
    }
    tally(ui, "task", status.tasks, &row);
    tally(ui, "model", status.models, &row);
}

fn tally(ui: &mut Ui, what: &str, tally: &Tally, row: &dyn Fn(&str, &Used, &str) -> String) {
    for (name, used) in tally.rows() {
        ui.line(&row(&format!("{what} {name}"), &used, ""));
    }
    let earlier = tally.earlier();
    if earlier != Used::default() {
        ui.line(&row(&format!("earlier {what}s"), &earlier, ""));
    }
}
