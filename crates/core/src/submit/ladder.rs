//! The ladder itself: which order comes next, and what each answer leads to.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use super::gates::{self, Shut};
use super::keys::{Echo, Keys};
use super::own::{self, Held};
use super::{Guard, Left, Look, NotWoken, Order, Outcome, Sent};
use crate::screen::{Composer, Reading, Signature, State, judge};
use crate::time::Timestamp;

/// How often a guard may fail to hold before the pane counts as too restless.
const HOLDS: u8 = 6;

/// How long the clear key gets to take effect, in milliseconds.
const CLEAR_MS: i64 = 200;

/// How often the effect of the clear key is looked for.
const CLEAR_LOOKS: u8 = 3;

/// What is done about a limit on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitPolicy {
    /// Nothing is typed.
    #[default]
    Wait,
    /// The limit should be over: its text alone forbids nothing.
    TryAgain,
}

/// What to submit, where and how.
#[derive(Debug, Clone)]
pub struct Plan {
    text: String,
    leftover: Option<String>,
    signature: Signature,
    keys: Keys,
    limit: LimitPolicy,
}

/// Why a text cannot be submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanRefused {
    /// It says nothing.
    Empty,
    /// It has a line end or another control character.
    Control,
    /// It opens with a sign that agents read as a command.
    Command(char),
}

impl fmt::Display for PlanRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the text is empty"),
            Self::Control => write!(f, "the text has a control character"),
            Self::Command(sign) => write!(f, "the text opens with {sign:?}, which is a command"),
        }
    }
}

impl core::error::Error for PlanRefused {}

impl Plan {
    /// A plan to submit one line of text.
    ///
    /// # Errors
    /// [`PlanRefused`] for a text that is not one plain line.
    pub fn new(text: &str, signature: Signature, keys: Keys) -> Result<Self, PlanRefused> {
        if text.trim().is_empty() {
            return Err(PlanRefused::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(PlanRefused::Control);
        }
        let opens = text.trim_start().chars().next();
        match opens {
            Some(sign) if !keys.is_shell && "/!#@&?".contains(sign) => {
                return Err(PlanRefused::Command(sign));
            }
            _ => {}
        }
        Ok(Self {
            text: text.to_string(),
            leftover: None,
            signature,
            keys,
            limit: LimitPolicy::Wait,
        })
    }

    /// With a text of ours that an earlier try left in the composer: a draft that is exactly this is ours.
    #[must_use]
    pub fn after_leftover(mut self, leftover: Option<String>) -> Self {
        self.leftover = leftover;
        self
    }

    /// With another policy about limits.
    #[must_use]
    pub fn with_limit_policy(mut self, limit: LimitPolicy) -> Self {
        self.limit = limit;
        self
    }
}

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

    fn verify(&mut self, now: Timestamp, look: &Look, reading: &Reading) -> Step {
        let keys = &self.plan.keys;
        let held = own::held(&reading.composer, &self.plan.text, keys);
        let echoed = own::echoes(&look.facts, &reading.composer, &self.plan.text) > self.echoes;
        let began = reading.busy.is_some() && !self.was_busy;
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
    fn undecided(&mut self, now: Timestamp, reading: &Reading, why: String) -> Step {
        self.looks += 1;
        if self.looks < self.plan.keys.verify_looks {
            return Step::Take(now.plus_millis(self.plan.keys.verify_after(self.looks)));
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

    fn see_cleared(&mut self, now: Timestamp, reading: &Reading, after: After) -> Step {
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

/// What must still hold when the key goes out: the cursor of this look, and the title where it stands still.
fn guard(look: &Look, reading: &Reading) -> Option<Guard> {
    let title = look.facts.title.clone();
    Some(Guard {
        cursor: look.facts.cursor?,
        cursor_visible: look.facts.cursor_visible,
        title: title.filter(|_| reading.busy.is_none()),
    })
}
