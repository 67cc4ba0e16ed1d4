//! What commands about panes stand on: tmux, the profiles, the caller's environment and this program; and waking whoever
//! was written to.
//!
//! Nothing of it is looked up for a member without a pane: one document says that it has none.

use std::path::PathBuf;

use pitcrew_core::Name;
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::roster::Team;
use pitcrew_runtime::desk::{Desk, Sent};
use pitcrew_runtime::panes::{
    Bell, Occasion, PaneError, Site, Standing, Wakened, seat_of, session_of, wake_member,
};
use pitcrew_runtime::process::Environment as Inherited;
use pitcrew_runtime::profile::PaneProfiles;
use pitcrew_runtime::tmux::{Socket, Tmux, TmuxError, TrustPolicy};
use pitcrew_store::Project;
use serde_json::{Value, json};

use crate::commands::attention;
use crate::context::{Context, OpenTeam};
use crate::halt::Halt;
use crate::profiles;

/// Everything about panes on this machine and in this project.
pub(crate) struct Quarters {
    pub(crate) project: Project,
    pub(crate) profiles: PaneProfiles,
    pub(crate) tmux: Tmux,
    pub(crate) caller: Inherited,
    pub(crate) program: PathBuf,
}

impl Quarters {
    /// Looks it up for the project that was looked into last.
    pub(crate) fn of(context: &mut Context<'_>) -> Result<Self, Halt> {
        let project = match context.last_project() {
            Some(project) => project.clone(),
            None => context.project(None)?,
        };
        let program = context.environment.own_program()?;
        let caller = Inherited::all_of(context.environment.variables());
        Ok(Self {
            profiles: profiles::load_panes(context.environment, project.root()).profiles,
            tmux: Tmux::new(Socket::Default, &caller),
            project,
            caller,
            program,
        })
    }

    /// The same, whose tmux is asked nothing more once somebody wants the launch of `team` to end.
    pub(crate) fn heeding_interrupts(mut self, team: &Name) -> Result<Self, Halt> {
        let session = session_of(team);
        let wish = attention::heed(format!(
            "stopped where it stood: look with `pitcrew team list` and `tmux ls` for what is left of {team}, such as session {session}"
        ))?;
        self.tmux = self.tmux.heeding(wish);
        Ok(self)
    }

    /// The site of one team.
    pub(crate) fn site<'a>(&'a self, team: &'a OpenTeam, trust: TrustPolicy) -> Site<'a> {
        Site {
            project: &self.project,
            desk: team.desk(),
            store: &team.store,
            profiles: &self.profiles,
            tmux: &self.tmux,
            caller: &self.caller,
            program: &self.program,
            trust,
        }
    }

    fn bell<'a>(&'a self, desk: Desk<'a>) -> Bell<'a> {
        Bell {
            desk,
            root: self.project.root(),
            profiles: &self.profiles,
            tmux: &self.tmux,
        }
    }
}

/// What a pane error is to a face.
pub(crate) fn halt(error: PaneError) -> Halt {
    let code = error.code();
    match error {
        PaneError::NotDone(not_done) => not_done.into(),
        PaneError::Tmux(TmuxError::Interrupted) => Halt::CannotRun {
            code,
            why: "interrupted; what was begun was taken back".to_string(),
            hint: "the same command begins again",
        },
        other => Halt::CannotRun {
            code,
            why: other.to_string(),
            hint: "`pitcrew doctor` says what this machine has, `pitcrew team status <team>` how its members stand",
        },
    }
}

/// Wakes those of `recipients` who sit in a pane, side by side, and answers for each what came of it. The message is
/// there whatever comes of the wake, so nothing here is an error of the sender's.
pub(crate) fn wake(
    context: &mut Context<'_>,
    team: &OpenTeam,
    recipients: &[Name],
    draft: &Draft,
) -> Vec<Wakened> {
    if matches!(draft.intent, Some(Intent::Inform | Intent::Ack)) {
        return vec![Wakened::not("only_informs", ""); recipients.len()];
    }
    let desk = team.desk();
    let seats: Vec<Result<bool, String>> = recipients
        .iter()
        .map(|to| {
            seat_of(&desk, to)
                .map(|seat| seat.is_some())
                .map_err(|failure| failure.in_words())
        })
        .collect();
    let unsaid = |why: &str| Wakened::not("cannot_tell", why);
    let quarters = match seats.contains(&Ok(true)) {
        false => None,
        true => Some(Quarters::of(context).map_err(|halt| halt.message())),
    };
    let one = |to: &Name, seat: &Result<bool, String>| match (seat, &quarters) {
        (Ok(false), _) => Wakened::not("no_pane", ""),
        (Err(why), _) => unsaid(why),
        (Ok(true), Some(Ok(quarters))) => wake_member(&quarters.bell(desk), to, Occasion::sent())
            .unwrap_or_else(|error| unsaid(&error.to_string())),
        (Ok(true), Some(Err(why))) => unsaid(why),
        (Ok(true), None) => unsaid(""),
    };
    match recipients {
        [only] => vec![one(only, &seats[0])],
        _ => std::thread::scope(|scope| {
            let waking: Vec<_> = recipients
                .iter()
                .zip(&seats)
                .map(|(to, seat)| scope.spawn(|| one(to, seat)))
                .collect();
            waking
                .into_iter()
                .map(|waking| match waking.join() {
                    Ok(wakened) => wakened,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        }),
    }
}

/// Wakes the recipient of one message, unless it is one that wakes nobody.
pub(crate) fn wake_one(
    context: &mut Context<'_>,
    team: &OpenTeam,
    sent: &Sent,
    draft: &Draft,
) -> Wakened {
    if sent.again {
        return Wakened::not("sent_before", "");
    }
    if sent.damped.is_some() {
        return Wakened::not("damped", "");
    }
    let mut woken = wake(context, team, std::slice::from_ref(&sent.to), draft);
    woken.pop().unwrap_or_else(|| Wakened::not("no_pane", ""))
}

/// Adds what came of a wake to an answer. Of a recipient without a pane there is nothing to say beside the reference's
/// own `nudged: false`.
pub(crate) fn tell(wakened: &Wakened, answer: &mut Value) {
    if !is_seatless(wakened) {
        answer["wake"] = value(wakened);
    }
}

/// Whether nobody could be woken because nobody sits in a pane.
pub(crate) fn is_seatless(wakened: &Wakened) -> bool {
    matches!(
        wakened,
        Wakened::NotWoken {
            reason: "no_pane",
            ..
        }
    )
}

/// A wake as JSON: `{"outcome": …, "reason"?: …, "why"?: …}`.
pub(crate) fn value(wakened: &Wakened) -> Value {
    let mut value = json!({ "outcome": wakened.word() });
    if let Wakened::NotWoken { reason, why } = wakened {
        value["reason"] = (*reason).into();
        if !why.is_empty() {
            value["why"] = why.as_str().into();
        }
    }
    value
}

/// A wake in words, for standard error; none where nobody expected one.
pub(crate) fn words(to: &Name, wakened: &Wakened) -> Option<String> {
    match wakened {
        Wakened::Submitted => Some(format!("{to} was woken")),
        Wakened::QueuedByTool => Some(format!(
            "{to} is busy; its program keeps the wake for later"
        )),
        Wakened::NotWoken {
            reason: "no_pane" | "only_informs" | "sent_before" | "damped",
            ..
        } => None,
        Wakened::NotWoken {
            reason: "hooked", ..
        } => Some(format!("{to} is given it by a hook of its program")),
        Wakened::NotWoken { reason, why } if why.is_empty() => {
            Some(format!("{to} was not woken ({reason}); the message waits"))
        }
        Wakened::NotWoken { reason, why } => Some(format!(
            "{to} was not woken ({reason}: {why}); the message waits"
        )),
    }
}

/// How the members in panes are. Nothing is looked up for a team without panes.
pub(crate) fn standings(
    context: &mut Context<'_>,
    team: &OpenTeam,
    roster: &Team,
) -> Result<Vec<Standing>, Halt> {
    let desk = team.desk();
    let any = roster.everybody().iter().any(|name| {
        // One that cannot be read is looked at again, and reported, below.
        !matches!(seat_of(&desk, name), Ok(None))
    });
    if !any {
        return Ok(Vec::new());
    }
    let quarters = Quarters::of(context)?;
    Ok(pitcrew_runtime::panes::standings(
        &desk,
        roster,
        &quarters.profiles,
        &quarters.tmux,
    )?)
}

/// Adds how a member is to its row in JSON.
pub(crate) fn describe(standing: &Standing, row: &mut Value) {
    row["state"] = standing.state.into();
    if !standing.reason.is_empty() {
        row["reason"] = standing.reason.into();
    }
    row["why"] = standing.why.as_str().into();
    row["incarnation"] = standing.seat.incarnation.into();
    row["panePid"] = standing.seat.pane.process.pid.into();
    row["openedAt"] = standing.seat.opened_at.to_string().into();
    if let Some(told) = &standing.told {
        let since = told.since.map(|at| at.to_string());
        row["told"] = json!({ "activity": told.activity.word(), "since": since });
    }
}

/// `ready`, `waiting(permission)`, `gone(pane_gone)`.
pub(crate) fn state_in_words(standing: &Standing) -> String {
    match standing.reason {
        "" => standing.state.to_string(),
        reason if reason == standing.state => reason.to_string(),
        reason => format!("{}({reason})", standing.state),
    }
}
