//! Waiting beside an idle program: the hook that its CLI runs in the background and takes for a turn's beginning when it
//! ends with status 2.
//!
//! It ends by itself when a turn begins another way, another one waits, the team is shut down, or the program is gone. The
//! mail itself is shown by the hook of the turn that begins; what is said here is the line that a pane would be told.

use std::time::Duration;

use pitcrew_core::nudge::mail_line;
use pitcrew_runtime::hooks::{Ear, Wait};
use pitcrew_runtime::process::{Identity, own_parent};
use pitcrew_store::{Change, Log, Place};

use super::run::Caller;
use crate::commands::attention::{Attention, Event};
use crate::context::{CLOCK, Context};
use crate::halt::{Exit, Halt};
use pitcrew_runtime::clock::Clock;

/// So long the end of the turn is awaited whose hooks this was started with.
const SETTLING: Duration = Duration::from_secs(5);

/// How often it looks whether the program is still there.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Waits until there is mail.
pub(super) fn wait(
    context: &mut Context<'_>,
    caller: &Caller,
    ear: &Ear<'_>,
) -> Result<Exit, Halt> {
    let parent = own_parent();
    let mut attention = Attention::to(&caller.team.store)?;
    if !settled(caller, ear, &mut attention)? {
        return Ok(Exit::Done);
    }
    let own = Identity::own();
    ear.sit_down(&own)?;
    let come = loop {
        match ear.wait(&own)? {
            Wait::Over => break None,
            Wait::Mail(unread) => break Some(unread),
            Wait::On => {}
        }
        if sit(caller, &mut attention, LOOK_AGAIN)? || own_parent() != parent {
            break None;
        }
    };
    ear.stand_up(&own)?;
    match come {
        None => Ok(Exit::Done),
        Some(unread) => {
            context.ui.say(&mail_line(unread, &["pitcrew", "inbox"]));
            Ok(Exit::Usage)
        }
    }
}

/// Waits until the turn is over; a turn that goes on will start another one of us.
fn settled(caller: &Caller, ear: &Ear<'_>, attention: &mut Attention) -> Result<bool, Halt> {
    let begun = CLOCK.monotonic();
    loop {
        if ear.is_idle()? {
            return Ok(true);
        }
        let waited = u64::try_from(CLOCK.monotonic() - begun).unwrap_or_default();
        let left = SETTLING.saturating_sub(Duration::from_millis(waited));
        if left.is_zero() || sit(caller, attention, left)? {
            return Ok(false);
        }
    }
}

/// Waits for a change that concerns the member, or for `most`; answers whether somebody wants this to end.
fn sit(caller: &Caller, attention: &mut Attention, most: Duration) -> Result<bool, Halt> {
    let begun = CLOCK.monotonic();
    loop {
        let waited = u64::try_from(CLOCK.monotonic() - begun).unwrap_or_default();
        let left = most.saturating_sub(Duration::from_millis(waited));
        match attention.next(left)? {
            Event::Interrupted => return Ok(true),
            Event::Quiet => return Ok(false),
            Event::Changed(change) => {
                let concerns = match &change {
                    Change::Document(Place::Hook(owner)) | Change::Log(Log::Mailbox(owner)) => {
                        *owner == caller.member
                    }
                    Change::Document(place) => *place == Place::Shutdown,
                    Change::Lagged => true,
                    Change::Log(_) => false,
                };
                if concerns {
                    return Ok(false);
                }
            }
        }
    }
}
