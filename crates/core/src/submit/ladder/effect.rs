//! What came of a key: whether the text was taken, is still there, or was cleared.

use alloc::format;
use alloc::string::{String, ToString};

use super::super::gates;
use super::super::keys::Echo;
use super::super::own::{self, Held};
use super::super::{Left, Look, NotWoken, Outcome};
use super::{After, CLEAR_LOOKS, CLEAR_MS, Step, Submit, guard};
use crate::screen::{Composer, Reading, State};
use crate::time::Timestamp;

/// How many looks more a program gets whose composer no longer holds the text: looking costs nothing there, and a slow
/// program shows a message late.
const PATIENCE: u8 = 5;

impl Submit {
    pub(super) fn verify(&mut self, now: Timestamp, look: &Look, reading: &Reading) -> Step {
        let keys = &self.plan.keys;
        let held = own::held(&reading.composer, &self.plan.text, keys);
        let echoes = own::echoes(&look.facts, &reading.composer, &self.plan.text);
        let began = reading.busy.is_some() && !self.was_busy;
        // On a full screen an old echo leaves as the new one comes; then the turn that began says which it is.
        let echoed = echoes > self.echoes || (echoes > 0 && began);
        let left = match held {
            Held::Nothing => echoed || (keys.echo == Echo::Hidden && began),
            Held::Foreign => echoed,
            Held::Unknown => keys.is_shell && began && reading.state == State::Busy,
            Held::Ours | Held::Partly | Held::Mixed => false,
        };
        match held {
            _ if left && self.was_busy => Step::Done(Outcome::QueuedByTool),
            _ if left => Step::Done(Outcome::Submitted),
            Held::Mixed => self.mixed(),
            Held::Ours => self.still_there(now, look, reading),
            Held::Nothing => self.undecided(
                now,
                reading,
                "our text left the composer, but nothing shows that it was taken".into(),
            ),
            _ => self.undecided(now, reading, reading.why.clone()),
        }
    }

    /// Another look, or the admission that it cannot be told.
    pub(super) fn undecided(&mut self, now: Timestamp, reading: &Reading, why: String) -> Step {
        self.looks += 1;
        let keys = &self.plan.keys;
        if self.looks < keys.verify_looks.saturating_add(PATIENCE) {
            return Step::Take(now.plus_millis(keys.verify_after(self.looks)));
        }
        let left = match reading.composer {
            Composer::Empty => Left::Nothing,
            _ => Left::Unknown,
        };
        Step::Done(Outcome::NotWoken {
            reason: NotWoken::CannotTell,
            why,
            left,
        })
    }

    /// The text is still in the composer after a submit key.
    fn still_there(&mut self, now: Timestamp, look: &Look, reading: &Reading) -> Step {
        self.looks += 1;
        // A turn that began meanwhile: when the program takes the text now, it takes it for later.
        self.was_busy |= reading.busy.is_some();
        let keys = &self.plan.keys;
        if self.looks < keys.verify_looks {
            return Step::Take(now.plus_millis(keys.verify_after(self.looks)));
        }
        if self.tries < keys.tries {
            self.looks = 0;
            return self.see(now, look, reading);
        }
        let stuck = |why: &str| Outcome::NotWoken {
            reason: NotWoken::ClearFailed,
            why: format!(
                "{} tries left the text in the composer, and {why}",
                self.tries
            ),
            left: Left::Text,
        };
        if keys.clear.is_none() {
            return Step::Done(stuck("the profile clears nothing"));
        }
        if self.cleared {
            return Step::Done(stuck("the clear key was used before"));
        }
        match (gates::clear(reading), guard(look, reading)) {
            (Ok(()), Some(guard)) => Step::Clear(guard, After::Tries),
            (Ok(()), None) => Step::Done(stuck("the cursor was not seen")),
            (Err(why), _) => Step::Done(stuck(&why)),
        }
    }

    pub(super) fn see_cleared(&mut self, now: Timestamp, reading: &Reading, after: After) -> Step {
        self.looks += 1;
        match (&reading.composer, after) {
            (Composer::Empty, After::Leftover) => {
                self.looks = 0;
                Step::Gates
            }
            (Composer::Empty, After::Tries) => Step::Done(Outcome::NotWoken {
                reason: NotWoken::NotSubmittedAfterTries,
                why: format!("{} tries left the text in the composer", self.tries),
                left: Left::Nothing,
            }),
            _ if self.looks < CLEAR_LOOKS => Step::Cleared(now.plus_millis(CLEAR_MS), after),
            _ => Step::Done(Outcome::NotWoken {
                reason: NotWoken::ClearFailed,
                why: "the clear key left something in the composer".to_string(),
                left: Left::Unknown,
            }),
        }
    }
}
