//! `team monitor-panes`: waits in the foreground until panes are ready for review, in the reference's words.

use pitcrew_core::Name;
use pitcrew_core::refusal::NameKind;
use pitcrew_runtime::panes::{PaneEvent, Watched, Watching, seat_of, watch_panes};
use serde_json::{Value, json};

use crate::cli::{Entry, Run, failed_answer};
use crate::context::{CLOCK, Context, OpenTeam};
use crate::halt::{Exit, Halt};
use crate::panes::{self, Quarters};
use crate::ui::Layout;

/// The row of this command.
pub(super) const ENTRY: Entry = Entry::new::<MonitorPanes>(
    "monitor-panes",
    "Wait until panes are ready for review, and tell a leader's pane of each",
);

/// Wait until panes are ready for review, and tell a leader's pane of each
///
/// Looks at the panes every so often. Each that is found ready several times in a row, or that has ended, is told of once,
/// by one line in the leader's pane, typed only when its program waits for one. Panes of a team here are judged by their
/// own profile, others by --profile. The visible screen is what is judged, however many lines a caller asks for.
#[derive(Debug, clap::Args)]
pub(super) struct MonitorPanes {
    /// The leader's pane, such as %0
    #[arg(long, value_name = "ID")]
    leader_pane: Option<String>,
    /// A pane to watch; can be given several times
    #[arg(long, value_name = "ID")]
    worker_pane: Vec<String>,
    /// The profile of panes that belong to no team here
    #[arg(long, value_name = "PROFILE", default_value = "copilot")]
    profile: String,
    /// Between two looks, in milliseconds
    #[arg(long, value_name = "N", default_value = "3000")]
    poll_interval_ms: String,
    /// How many looks in a row must find a pane ready
    #[arg(long, value_name = "N", default_value = "2")]
    ready_samples: String,
    /// No pane is ready before it was watched for so long, in milliseconds
    #[arg(long, value_name = "N", default_value = "10000")]
    min_observation_ms: String,
    /// When watching is given up, in milliseconds
    #[arg(long, value_name = "N", default_value = "1800000")]
    timeout_ms: String,
    /// Taken for callers of the reference; the visible screen is judged
    #[arg(long, value_name = "N", default_value = "120")]
    capture_lines: String,
    /// What the panes are called in messages
    #[arg(long, value_name = "TEXT")]
    session_label: Option<String>,
}

impl Run for MonitorPanes {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let (leader, watching) = match self.read() {
            Ok(read) => read,
            Err(message) => return Ok(no(context, &message)),
        };
        let quarters = Quarters::of(context)?;
        let leader = watched(&quarters, leader, &self.profile)?;
        let workers = self.worker_pane.iter();
        let workers = workers
            .map(|pane| watched(&quarters, pane, &self.profile))
            .collect::<Result<Vec<_>, _>>()?;
        let (events, all) = watch_panes(&quarters.tmux, &CLOCK, &leader, &workers, &watching)
            .map_err(panes::halt)?;
        if context.ui.json {
            let rows: Vec<Value> = events.iter().map(value).collect();
            let reason = if all { "all-done" } else { "timeout" };
            let answer = json!({ "ok": all, "reason": reason, "events": rows });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            events
                .iter()
                .for_each(|event| context.ui.line(&event.message));
        }
        Ok(if all { Exit::Done } else { Exit::Refused })
    }
}

impl MonitorPanes {
    fn read(&self) -> Result<(&str, Watching), String> {
        let number = |name: &str, text: &str| -> Result<u32, String> {
            match text.parse::<u32>() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(format!(
                    "Invalid --{name}: expected a positive integer, got {}",
                    Value::from(text)
                )),
            }
        };
        let leader = self
            .leader_pane
            .as_deref()
            .filter(|_| !self.worker_pane.is_empty());
        let leader = leader
            .ok_or("team monitor-panes requires --leader-pane and at least one --worker-pane")?;
        number("capture-lines", &self.capture_lines)?;
        let watching = Watching {
            poll_ms: number("poll-interval-ms", &self.poll_interval_ms)?.into(),
            ready_samples: number("ready-samples", &self.ready_samples)?,
            least_ms: number("min-observation-ms", &self.min_observation_ms)?.into(),
            timeout_ms: number("timeout-ms", &self.timeout_ms)?.into(),
            label: self.session_label.clone(),
        };
        Ok((leader, watching))
    }
}

/// Says no in the reference's shape.
fn no(context: &mut Context<'_>, message: &str) -> Exit {
    if context.ui.json {
        let answer = failed_answer("message", None, &Halt::Usage(message.to_string()));
        context.ui.json(&answer, Layout::Pretty);
    } else {
        context.ui.line(message);
    }
    Exit::Refused
}

/// The pane that is there, with the profile of whoever sits in it.
fn watched<'a>(quarters: &'a Quarters, pane: &str, other: &str) -> Result<Watched<'a>, Halt> {
    let failed = |error: pitcrew_runtime::tmux::TmuxError| panes::halt(error.into());
    let found = quarters.tmux.record_of(pane).map_err(failed)?;
    let pane = found.ok_or_else(|| Halt::CannotRun {
        code: "pane_gone",
        why: format!("there is no pane {pane}"),
        hint: "`tmux list-panes -a` lists the panes",
    })?;
    let mut name = other.to_string();
    for team in quarters.project.teams()? {
        let team = OpenTeam::of(&quarters.project, team);
        let desk = team.desk();
        for member in desk.roster()?.everybody() {
            let member = Name::new(NameKind::Recipient, member.as_str())?;
            if let Some(seat) = seat_of(&desk, &member)?
                && seat.pane == pane
            {
                name = seat.profile;
            }
        }
    }
    let profile = quarters.profiles.get(&name);
    let profile = profile.map_err(|absent| Halt::Usage(absent.to_string()))?;
    Ok(Watched { pane, profile })
}

fn value(event: &PaneEvent) -> Value {
    json!({
        "paneId": event.pane_id,
        "kind": event.kind,
        "at": event.at,
        "message": event.message,
        "leader": panes::value(&event.told),
    })
}
