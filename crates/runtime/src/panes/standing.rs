//! How members in panes are: by their processes and screens, from one look for each tmux server.
//!
//! | seen | said |
//! |---|---|
//! | pane and process are the recorded ones | what the screen shows: `ready`, `busy`, `waiting`, `unknown` |
//! | the pane's process has ended | `exited` with its status |
//! | no such pane, or somebody else has its id | `gone` |
//! | tmux cannot be asked | `unknown` with the reason: silence is not death |
//!
//! Where the screen says nothing and a hook of the program has told that it is busy or asks, that is said.

use std::collections::BTreeMap;

use pitcrew_core::Name;
use pitcrew_core::hook::{Activity, Told};
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::screen::State as Screen;
use pitcrew_core::submit::{Look, Pane};
use pitcrew_store::StoreFailure;

use super::seat_of;
use crate::desk::Desk;
use crate::hooks;
use crate::profile::PaneProfiles;
use crate::tmux::{PaneRecord, Tmux};
use crate::wake::PaneSeat;

/// How one member in a pane is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The member; `leader` for a registered leader's pane.
    pub member: Name,
    /// Its pane.
    pub seat: PaneSeat,
    /// `ready`, `busy`, `waiting`, `unknown`, `exited` or `gone`.
    pub state: &'static str,
    /// What it waits for, or why it is gone or unknown, as a code; empty where the state says all.
    pub reason: &'static str,
    /// The evidence in words.
    pub why: String,
    /// What the screen showed, while the pane is ours and alive.
    pub screen: Option<Screen>,
    /// What the hooks of its program told last; `None` when it has none.
    pub told: Option<Told>,
}

impl Standing {
    /// Whether its agent is over: this life does not go on.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state, "exited" | "gone")
    }
}

/// How everybody of the team who has a pane is. Nothing is written.
///
/// # Errors
/// When a record of a pane cannot be read.
pub fn standings(
    desk: &Desk<'_>,
    team: &Team,
    profiles: &PaneProfiles,
    tmux: &Tmux,
) -> Result<Vec<Standing>, StoreFailure> {
    let mut seats = Vec::new();
    for member in &team.workers {
        if let Ok(name) = Name::new(NameKind::Member, &member.name)
            && let Some(seat) = seat_of(desk, &name)?
        {
            seats.push((name, seat));
        }
    }
    if let Some(seat) = seat_of(desk, &Name::leader())? {
        seats.push((Name::leader(), seat));
    }
    let mut servers: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, (_, seat)) in seats.iter().enumerate() {
        servers
            .entry(seat.pane.server.socket_path.clone())
            .or_default()
            .push(at);
    }
    let mut looks: Vec<Option<Result<Look, String>>> = vec![None; seats.len()];
    for (socket, places) in servers {
        let panes: Vec<&PaneRecord> = places.iter().map(|at| &seats[*at].1.pane).collect();
        match tmux.at(&socket).look(&panes) {
            Ok(found) => places
                .iter()
                .zip(found)
                .for_each(|(at, look)| looks[*at] = Some(Ok(look))),
            Err(error) => places
                .iter()
                .for_each(|at| looks[*at] = Some(Err(error.to_string()))),
        }
    }
    let stand = |((member, seat), look): ((Name, PaneSeat), Option<Result<Look, String>>)| {
        let look = look.unwrap_or_else(|| Err("nobody looked".into()));
        let (mut state, mut reason, mut why, screen) = judge(&seat, look, profiles);
        // What is told without a record that can be read was not told.
        let told = hooks::told(desk, &member, seat.incarnation).ok().flatten();
        let told = told.map(|record| record.told);
        if screen == Some(Screen::Unknown)
            && let Some((known, because)) = told.as_ref().and_then(from_hook)
        {
            (state, reason) = known;
            why = format!("{because}, and of its screen: {why}");
        }
        Standing {
            told,
            member,
            seat,
            state,
            reason,
            why,
            screen,
        }
    };
    Ok(seats.into_iter().zip(looks).map(stand).collect())
}

/// What a hook says of a program whose screen says nothing. That it is ready is never taken from a hook: one that was
/// broken off tells of no end.
fn from_hook(told: &Told) -> Option<((&'static str, &'static str), &'static str)> {
    match told.activity {
        Activity::Busy => Some((("busy", ""), "its hook tells that a turn runs")),
        Activity::Asking => Some((("waiting", "permission"), "its hook tells that it asks")),
        Activity::Idle | Activity::Ended => None,
    }
}

type Judged = (&'static str, &'static str, String, Option<Screen>);

fn judge(seat: &PaneSeat, look: Result<Look, String>, profiles: &PaneProfiles) -> Judged {
    let look = match look {
        Ok(look) => look,
        Err(why) => return ("unknown", "transport_failed", why, None),
    };
    match look.pane {
        Pane::Gone => {
            return (
                "gone",
                "pane_gone",
                "there is no such pane any more".into(),
                None,
            );
        }
        Pane::NotOurs => {
            return (
                "gone",
                "not_ours",
                "its id belongs to another process now".into(),
                None,
            );
        }
        Pane::ServerChanged => {
            return (
                "gone",
                "server_changed",
                "another tmux server answers".into(),
                None,
            );
        }
        Pane::Dead => return ("exited", "exited", "its process has ended".into(), None),
        Pane::Ours(_) => {}
    }
    let profile = match profiles.get(&seat.profile) {
        Ok(profile) => profile,
        Err(absent) => return ("unknown", "unknown_profile", absent.to_string(), None),
    };
    let reading = profile.judge(&look.facts);
    let (state, reason) = match reading.state {
        Screen::Ready => ("ready", ""),
        Screen::Busy => ("busy", ""),
        Screen::Dialog => ("waiting", "permission"),
        Screen::Limit => ("waiting", "rate_limit"),
        Screen::Draft => ("waiting", "draft"),
        // The program has gone back to the shell that started it; its pane goes on.
        Screen::Exited => ("exited", "exited"),
        Screen::Unknown => ("unknown", "cannot_tell"),
    };
    (state, reason, reading.why, Some(reading.state))
}
