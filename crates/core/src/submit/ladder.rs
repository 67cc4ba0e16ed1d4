//! The ladder itself: which order comes next, and what each answer leads to.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::gates::{self, Shut};
use super::own::{self, Held};
use super::plan::Plan;
use super::{Guard, Left, Look, NotWoken, Order, Outcome, Sent};
use crate::screen::{Reading, judge};
use crate::time::Timestamp;

mod effect;

/// How often a guard may fail to hold before the pane counts as too restless.
const HOLDS: u8 = 6;

/// How long the clear key gets to take effect, in milliseconds.
const CLEAR_MS: i64 = 200;

/// How often the effect of the clear key is looked for.
const CLEAR_LOOKS: u8 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Look for the gates.
    Gates,
    /// Paste.
    Paste(Guard),
    /// Let the burst pass, or let the program draw.
    Settle(Timestamp),
    /// Look for our text.
    See,
    /// Send the submit key.
    Enter(Guard),
    /// Let the key take effect.
    Take(Timestamp),
    /// Look for the effect.
    Verify,
    /// Send the clear key.
    Clear(Guard, After),
    /// Let it take effect.
    Cleared(Timestamp, After),
    /// Look for its effect.
    SeeCleared(After),
    Done(Outcome),
}

/// What the clear key is pressed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// Room for another text: on to the gates.
    Leftover,
    /// The end: nothing of ours may stay.
    Tries,
}

/// One submission.
#[derive(Debug, Clone)]
pub struct Submit {
    plan: Plan,
    step: Step,
    /// Looks since the last paste, key or clear.
    looks: u8,
    tries: u8,
    holds: u8,
    cleared: bool,
    /// Echoes of our text before the paste.
    echoes: usize,
    was_busy: bool,
}

impl Submit {
    /// Starts a submission. Nothing happens before the first [`Submit::poll`] is followed.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            step: Step::Gates,
            looks: 0,
            tries: 0,
            holds: 0,
            cleared: false,
            echoes: 0,
            was_busy: false,
        }
    }

    /// What to do next. Asking changes nothing.
    #[must_use]
    pub fn poll(&self) -> Order {
        match &self.step {
            Step::Gates | Step::See | Step::Verify | Step::SeeCleared(_) => Order::Look,
            Step::Paste(guard) => Order::Paste {
                text: self.plan.text.clone(),
                guard: guard.clone(),
            },
            Step::Enter(guard) => Order::Press {
                key: self.plan.keys.submit.clone(),
                guard: guard.clone(),
            },
            Step::Clear(guard, _) => Order::Press {
                key: self.plan.keys.clear.clone().unwrap_or_default(),
                guard: guard.clone(),
            },
            Step::Settle(until) | Step::Take(until) | Step::Cleared(until, _) => {
                Order::WaitUntil(*until)
            }
            Step::Done(outcome) => Order::Done(outcome.clone()),
        }
    }

    /// The answer, once there is one.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.step {
            Step::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Time has come to `now`.
    pub fn handle_time(&mut self, now: Timestamp) {
        self.step = match &self.step {
            Step::Settle(until) if now >= *until => Step::See,
            Step::Take(until) if now >= *until => Step::Verify,
            Step::Cleared(until, after) if now >= *until => Step::SeeCleared(*after),
            _ => return,
        };
    }

    /// A look was taken.
    pub fn handle_look(&mut self, now: Timestamp, look: &Look) {
        let step = self.step.clone();
        if !matches!(
            step,
            Step::Gates | Step::See | Step::Verify | Step::SeeCleared(_)
        ) {
            return;
        }
        let reading = judge(&look.facts, &self.plan.signature);
        self.step = match (step, gates::pane(look, &self.plan.keys)) {
            (Step::Verify, Err((NotWoken::InCopyMode | NotWoken::CannotTell, why))) => {
                self.undecided(now, &reading, why)
            }
            (_, Err(shut)) => self.not_woken(shut),
            (Step::Gates, Ok(())) => self.gates(look, &reading),
            (Step::See, Ok(())) => self.see(now, look, &reading),
            (Step::Verify, Ok(())) => self.verify(now, look, &reading),
            (Step::SeeCleared(after), Ok(())) => self.see_cleared(now, &reading, after),
            (other, Ok(())) => other,
        };
    }

    /// A paste or a key was sent, or not.
    pub fn handle_sent(&mut self, now: Timestamp, sent: Sent) {
        self.looks = 0;
        self.step = match (self.step.clone(), sent) {
            (Step::Paste(_), Sent::Sent) => {
                Step::Settle(now.plus_millis(i64::from(self.plan.keys.burst_ms)))
            }
            (Step::Enter(_), Sent::Sent) => {
                self.tries += 1;
                Step::Take(now.plus_millis(self.plan.keys.verify_after(0)))
            }
            (Step::Clear(_, after), Sent::Sent) => {
                self.cleared = true;
                Step::Cleared(now.plus_millis(CLEAR_MS), after)
            }
            (step @ (Step::Paste(_) | Step::Enter(_) | Step::Clear(..)), Sent::Held) => {
                self.held(now, &step)
            }
            (Step::Paste(_) | Step::Enter(_) | Step::Clear(..), Sent::Failed) => {
                self.handle_failure("tmux did not send it");
                return;
            }
            (other, _) => other,
        };
    }

    /// tmux could not be asked at all: what was ordered last was not done, or nobody knows.
    pub fn handle_failure(&mut self, why: &str) {
        if !matches!(self.step, Step::Done(_)) {
            self.step = self.not_woken((NotWoken::TransportFailed, why.to_string()));
        }
    }

    /// A guard did not hold: the pane has changed since the look, so look again, at most a few times.
    fn held(&mut self, now: Timestamp, step: &Step) -> Step {
        self.holds += 1;
        if self.holds > HOLDS {
            let why = "the pane changed before every key".to_string();
            return self.not_woken((NotWoken::CannotTell, why));
        }
        match step {
            Step::Paste(_) => Step::Gates,
            Step::Clear(_, After::Leftover) => Step::Gates,
            // After a key that may still be taking effect, its effect is what to look for.
            Step::Clear(_, After::Tries) => self.take(now),
            _ if self.tries > 0 => self.take(now),
            _ => Step::See,
        }
    }

    fn take(&self, now: Timestamp) -> Step {
        Step::Take(now.plus_millis(i64::from(self.plan.keys.see_ms)))
    }

    fn gates(&mut self, look: &Look, reading: &Reading) -> Step {
        let keys = &self.plan.keys;
        if let Some(left) = &self.plan.leftover
            && matches!(
                own::held(&reading.composer, left, keys),
                Held::Foreign | Held::Nothing
            )
        {
            self.plan.leftover = None;
        }
        let keys = &self.plan.keys;
        let open = match gates::paste(reading, keys, self.plan.limit) {
            Ok(()) => Step::Paste,
            Err((NotWoken::Draft, why)) => match self.leftover(reading) {
                Some(step) => step,
                None => return self.not_woken((NotWoken::Draft, why)),
            },
            Err(shut) => return self.not_woken(shut),
        };
        self.was_busy = reading.busy.is_some();
        self.echoes = own::echoes(&look.facts, &reading.composer, &self.plan.text);
        match guard(look, reading) {
            Some(guard) => open(guard),
            None => self.not_woken((
                NotWoken::CannotTell,
                "where the cursor is is not known".into(),
            )),
        }
    }

    /// What to do with a draft that an earlier try of ours left: submit it when it says the same, else clear it.
    fn leftover(&self, reading: &Reading) -> Option<fn(Guard) -> Step> {
        let keys = &self.plan.keys;
        let left = self.plan.leftover.as_ref()?;
        if own::held(&reading.composer, left, keys) != Held::Ours {
            return None;
        }
        if *left == self.plan.text {
            return Some(Step::Enter);
        }
        let may = keys.clear.is_some() && !self.cleared && gates::clear(reading).is_ok();
        may.then_some(|guard| Step::Clear(guard, After::Leftover))
    }

    fn see(&mut self, now: Timestamp, look: &Look, reading: &Reading) -> Step {
        self.looks += 1;
        let held = own::held(&reading.composer, &self.plan.text, &self.plan.keys);
        if let Err(shut) = gates::enter(reading, &self.plan.keys, self.plan.limit) {
            let passing = matches!(shut.0, NotWoken::CannotTell | NotWoken::Starting);
            if passing && self.looks < self.plan.keys.see_looks {
                return self.settle(now);
            }
            return match (passing, self.tries) {
                (true, 0) => self.not_woken((NotWoken::TextNotSeen, shut.1)),
                _ => self.not_woken(shut),
            };
        }
        match held {
            Held::Ours => match guard(look, reading) {
                Some(guard) => {
                    // What shows the text beside the composer before the key is no echo of it.
                    let shown = own::echoes(&look.facts, &reading.composer, &self.plan.text);
                    self.echoes = self.echoes.max(shown);
                    self.was_busy |= reading.busy.is_some();
                    Step::Enter(guard)
                }
                None => self.not_woken((NotWoken::CannotTell, "the cursor was not seen".into())),
            },
            Held::Mixed => self.mixed(),
            Held::Foreign | Held::Nothing | Held::Partly | Held::Unknown
                if self.looks < self.plan.keys.see_looks =>
            {
                self.settle(now)
            }
            Held::Foreign => self.mixed(),
            Held::Nothing | Held::Partly | Held::Unknown => {
                let why = "the pasted text did not appear in the composer".to_string();
                self.not_woken((NotWoken::TextNotSeen, why))
            }
        }
    }

    fn settle(&self, now: Timestamp) -> Step {
        Step::Settle(now.plus_millis(self.plan.keys.see_after(self.looks)))
    }

    fn mixed(&self) -> Step {
        let why = "somebody wrote into the composer beside our text".to_string();
        self.not_woken((NotWoken::Draft, why))
    }

    fn not_woken(&self, (reason, why): Shut) -> Step {
        let left = match self.step {
            Step::Gates | Step::Paste(_) => match reason {
                NotWoken::TransportFailed if !matches!(self.step, Step::Gates) => Left::Unknown,
                _ if self.plan.leftover.is_some() => Left::Text,
                _ => Left::Nothing,
            },
            _ => match reason {
                NotWoken::PaneGone | NotWoken::Exited => Left::Nothing,
                NotWoken::Draft
                | NotWoken::DialogOpenedBeforeEnter
                | NotWoken::Busy
                | NotWoken::Limit => Left::Text,
                _ => Left::Unknown,
            },
        };
        Step::Done(Outcome::NotWoken { reason, why, left })
    }
}

/// What must still hold when the key goes out: the cursor of this look, and title and rows where they stand still.
fn guard(look: &Look, reading: &Reading) -> Option<Guard> {
    let title = look.facts.title.clone();
    let rows = match reading.busy {
        Some(_) => Vec::new(),
        None => look.facts.rows.iter().map(|row| row.text.clone()).collect(),
    };
    Some(Guard {
        cursor: look.facts.cursor?,
        cursor_visible: look.facts.cursor_visible,
        title: title.filter(|_| reading.busy.is_none()),
        rows,
    })
}
