//! The gates: what one look must say before anything is typed. A gate that cannot tell, says no.

use alloc::string::{String, ToString};

use super::keys::{Keys, WhileBusy};
use super::plan::LimitPolicy;
use super::{Foreground, Look, NotWoken, Pane};
use crate::screen::{Composer, Reading, State};

/// Why nothing may be typed.
pub(super) type Shut = (NotWoken, String);

fn shut<T>(reason: NotWoken, why: impl Into<String>) -> Result<T, Shut> {
    Err((reason, why.into()))
}

/// Whether the pane is ours and takes keys at all.
pub(super) fn pane(look: &Look, keys: &Keys) -> Result<(), Shut> {
    let foreground = match look.pane {
        Pane::Ours(foreground) => foreground,
        Pane::Gone => return shut(NotWoken::PaneGone, "the pane is gone"),
        Pane::Dead => return shut(NotWoken::Exited, "the pane's process has ended"),
        Pane::NotOurs => return shut(NotWoken::NotOurs, "the pane belongs to another process"),
        Pane::ServerChanged => {
            return shut(NotWoken::ServerChanged, "another tmux server answers");
        }
    };
    match (foreground, keys.is_shell) {
        (Foreground::Agent, _) | (Foreground::Shell, true) => {}
        (Foreground::Shell, false) => {
            return shut(NotWoken::BareShell, "a shell is in the foreground");
        }
        (Foreground::Unknown, _) => {
            return shut(
                NotWoken::CannotTell,
                "what is in the foreground is not known",
            );
        }
    }
    match look.facts.in_mode {
        Some(false) => Ok(()),
        Some(true) => shut(NotWoken::InCopyMode, "the pane is in a mode of tmux"),
        None => shut(
            NotWoken::CannotTell,
            "whether the pane is in copy mode is not known",
        ),
    }
}

/// What a screen shows that forbids keys, whatever the composer holds.
fn screen(reading: &Reading, keys: &Keys, limit: LimitPolicy) -> Result<(), Shut> {
    let why = reading.why.as_str();
    match reading.state {
        State::Dialog => shut(NotWoken::Dialog, why),
        State::Exited => shut(NotWoken::Exited, why),
        State::Limit if limit == LimitPolicy::Wait => shut(NotWoken::Limit, why),
        State::Unknown if reading.blank => shut(NotWoken::Starting, why),
        State::Unknown => shut(NotWoken::CannotTell, why),
        State::Ready | State::Busy | State::Draft | State::Limit => match &reading.busy {
            Some(why) if keys.while_busy == WhileBusy::Wait => shut(NotWoken::Busy, why.clone()),
            _ => Ok(()),
        },
    }
}

/// Whether text may be pasted: nothing forbids it and the composer is empty for certain.
pub(super) fn paste(reading: &Reading, keys: &Keys, limit: LimitPolicy) -> Result<(), Shut> {
    screen(reading, keys, limit)?;
    match &reading.composer {
        Composer::Empty if reading.at_rest || reading.busy.is_some() => Ok(()),
        Composer::Empty => shut(NotWoken::CannotTell, reading.why.as_str()),
        Composer::Draft(_) => shut(NotWoken::Draft, "text stands in the composer"),
        Composer::Unclear(_) | Composer::Absent => {
            shut(NotWoken::CannotTell, "what the composer holds is not known")
        }
    }
}

/// Whether the submit key may be sent over a draft that is ours.
pub(super) fn enter(reading: &Reading, keys: &Keys, limit: LimitPolicy) -> Result<(), Shut> {
    match screen(reading, keys, limit) {
        Err((NotWoken::Dialog, why)) => shut(NotWoken::DialogOpenedBeforeEnter, why),
        other => other,
    }
}

/// Whether the clear key may be sent: over a draft, with no turn that it could end.
pub(super) fn clear(reading: &Reading) -> Result<(), String> {
    match (reading.state, &reading.busy) {
        (State::Draft, None) => Ok(()),
        (_, Some(why)) => Err(why.to_string()),
        _ => Err(reading.why.clone()),
    }
}
