//! `limits acquire`: set aside what a model call may use.

use std::time::Duration;

use pitcrew_core::price::Micros;
use pitcrew_core::{Name, Refusal, TaskId};
use pitcrew_runtime::clock::Clock;
use pitcrew_runtime::desk::{Admission, NotDone, Spending};
use serde_json::{Value, json};

use super::{dollars, say};
use crate::cli::{Entry, Run};
use crate::commands::attention::{Attention, Event};
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::prices::estimate;
use crate::span::parse as parse_span;
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry =
    Entry::new::<Acquire>("acquire", "Set aside what a model call may use, before it");

/// A model call, as a command line describes it.
#[derive(Debug, clap::Args)]
pub(super) struct Call {
    /// Its tokens, estimated
    #[arg(long, value_name = "N")]
    pub tokens: u64,
    /// Its cost in dollars, estimated; else the most that so many tokens of the model can cost, if its price is known
    #[arg(long, value_name = "USD", value_parser = dollars)]
    cost: Option<Micros>,
    /// The task that it is for
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// The model that it goes to
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// When the rate does not allow it now, wait until it does, at most so long; five minutes if no time is given
    #[arg(long, value_name = "TIMEOUT", num_args = 0..=1, default_missing_value = "5m", value_parser = parse_span)]
    wait: Option<Duration>,
}

/// Set aside what a model call may use, before it
///
/// The answer is the number of the reservation: settle it with `limits record`, or give it back with `limits release`.
/// With a cost the budget is never passed; without one, calls are refused once it is spent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  id=$(pitcrew limits acquire --tokens 4000 --cost 0.05) && call-the-model && pitcrew limits record $id --tokens 3120 --cost 0.04")]
pub(crate) struct Acquire {
    #[command(flatten)]
    call: Call,
}

impl Run for Acquire {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let me = context.me(&team)?;
        let Some(admission) = self.call.admitted(context, &team, &me)? else {
            return Ok(Exit::Interrupted);
        };
        if context.ui.json {
            context.ui.json(&answer(&admission), Layout::Pretty);
            return Ok(Exit::Done);
        }
        match &admission {
            Admission::Reserved { id, .. } => context.ui.line(&id.to_string()),
            // Nothing to settle, so the answer is empty; the words say why.
            Admission::Uncounted { .. } => context.ui.line(""),
        }
        Ok(Exit::Done)
    }
}

impl Call {
    /// What is set aside for the call, once it is admitted. `None` when somebody wants the command to end.
    pub(super) fn admitted(
        &self,
        context: &mut Context<'_>,
        team: &OpenTeam,
        member: &Name,
    ) -> Result<Option<Admission>, Halt> {
        let task = self.task.as_deref().map(TaskId::new).transpose()?;
        let model = self.model.as_deref();
        let call = Spending {
            member,
            tokens: self.tokens,
            cost: estimate(context, team, model, self.tokens, self.cost)?,
            task: task.as_ref(),
            model,
        };
        let begun = CLOCK.monotonic();
        let mut attention = None;
        loop {
            let refused = match team.desk().acquire(&call) {
                Ok(admission) => {
                    tell(context, &admission);
                    return Ok(Some(admission));
                }
                Err(NotDone::Refused(Refusal::RateLimited(facts))) => facts,
                Err(not_done) => return Err(not_done.into()),
            };
            let waited = Duration::from_millis((CLOCK.monotonic() - begun).unsigned_abs());
            let left = self.wait.unwrap_or_default().saturating_sub(waited);
            let span = Duration::from_millis(refused.retry_after_ms.max(1));
            if span > left {
                return Err(Refusal::RateLimited(refused).into());
            }
            let watching = match attention.take() {
                Some(watching) => watching,
                None => {
                    context.ui.say(&format!("waiting: {refused}"));
                    Attention::to(&team.store)?
                }
            };
            if sit(&watching, span)? {
                return Ok(None);
            }
            attention = Some(watching);
        }
    }
}

/// Sits for `span`, or until the limits change; answers whether somebody wants the command to end.
fn sit(attention: &Attention, span: Duration) -> Result<bool, Halt> {
    let begun = CLOCK.monotonic();
    loop {
        let sat = Duration::from_millis((CLOCK.monotonic() - begun).unsigned_abs());
        let left = span.saturating_sub(sat);
        if left.is_zero() {
            return Ok(false);
        }
        match attention.next(left)? {
            Event::Interrupted => return Ok(true),
            // Somebody's settling may make room, but the admission of another is no reason to ask at once.
            Event::Changed(_) | Event::Quiet => {}
        }
    }
}

fn tell(context: &mut Context<'_>, admission: &Admission) {
    match admission {
        Admission::Reserved { events, .. } => say(context.ui, events),
        Admission::Uncounted { why } => {
            let words =
                format!("the call is not counted, because the limits cannot be read: {why}");
            context.ui.say(&words);
        }
    }
}

/// What was set aside, as JSON.
pub(crate) fn answer(admission: &Admission) -> Value {
    match admission {
        Admission::Reserved { id, events } => {
            json!({ "ok": true, "reservation": id, "events": events })
        }
        Admission::Uncounted { why } => {
            json!({ "ok": true, "reservation": null, "uncounted": why })
        }
    }
}
