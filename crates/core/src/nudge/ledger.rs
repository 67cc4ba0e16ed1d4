//! The ledger of one member's nudges: what processes must share so that they never type twice.
//!
//! It is small, and it is changed in a transaction: whoever gets [`Decision::Inject`] holds the ticket until it has
//! settled or its lease has run out; everybody else joins.

use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

use super::{Decision, Loops, Quiet, Standing, Timing, Trigger, View, Wake};
use crate::name::Name;
use crate::submit::{Left, NotWoken, Outcome};
use crate::time::Timestamp;

/// A line that somebody is about to type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Whose line it is: an id that its holder drew.
    pub ticket: String,
    /// When it was asked for.
    pub since: Timestamp,
    /// When gathering ends.
    pub due_at: Timestamp,
    /// When the holder is taken for dead.
    pub until: Timestamp,
    /// How many triggers it stands for.
    pub triggers: u32,
    /// When its holder counted the unread messages; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_at: Option<Timestamp>,
}

/// One member's nudges.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// The line that somebody is about to type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// When the last line was taken by the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injected_at: Option<Timestamp>,
    /// The same instant, when the program was busy and kept the line for later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<Timestamp>,
    /// Mail up to this instant has been told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_at: Option<Timestamp>,
    /// Mail up to this instant was shown by a hook of the program, so that no line needs to tell of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_at: Option<Timestamp>,
    /// When the first line of this life was typed, or could not be: before that its program is still starting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Lines since the last progress.
    pub unanswered: u32,
    /// When a try that typed something failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// How often that happened in a row.
    pub failures: u32,
    /// Why the last try did not wake the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<NotWoken>,
    /// A text of ours that may still stand in the composer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leftover: Option<String>,
    /// When the leader was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalated_at: Option<Timestamp>,
}

/// What a holder hears when it is about to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Type now, and say this count.
    Type {
        /// The unread messages; 0 for an idle prompt without mail.
        unread: u64,
    },
    /// More triggers came: come back at this instant.
    Gather {
        /// When gathering ends.
        due_at: Timestamp,
    },
    /// There is nothing to tell any more, or the ticket is not the caller's any more.
    Withdrawn,
}

impl Ledger {
    /// Decides a trigger for `member` at `now`. `ticket` is an id that nobody else has.
    pub fn handle_trigger(
        &mut self,
        now: Timestamp,
        trigger: Trigger,
        member: &Name,
        view: &View,
        ticket: &str,
        timing: &Timing,
    ) -> Decision {
        self.forget_what_is_ahead(now, timing);
        self.take_progress(view.progress_at);
        if let Some(quiet) = never(trigger, member, view) {
            return Decision::Quiet(quiet);
        }
        if let Some(pending) = &mut self.pending
            && now < pending.until
        {
            pending.triggers += 1;
            let most = pending.since.plus_millis(timing.gather_most_ms.into());
            let due_at = now.plus_millis(timing.gather_ms.into()).min(most);
            pending.due_at = pending.due_at.max(due_at);
            return Decision::Joined {
                until: pending.until,
            };
        }
        self.pending = None;
        let quiet = match trigger {
            Trigger::Send => self.covered(now, view, timing),
            Trigger::Sweep => self.swept(now, view, timing),
            Trigger::Idle => idle(now, view, timing),
        };
        if let Some(quiet) = quiet {
            return Decision::Quiet(quiet);
        }
        if trigger != Trigger::Send && self.is_given_up(timing) {
            return self.escalate(now);
        }
        if self.is_backing_off(now, timing) {
            return Decision::Quiet(Quiet::BackingOff);
        }
        let due_at = now.plus_millis(timing.gather_ms.into());
        self.pending = Some(Pending {
            ticket: ticket.to_string(),
            since: now,
            due_at,
            until: now.plus_millis(timing.lease_ms.into()),
            triggers: 1,
            counted_at: None,
        });
        Decision::Inject { due_at }
    }

    /// The holder of `ticket` is about to type: whether it still should, and which count it tells. The count is of this
    /// moment, so it is right whatever came in between.
    pub fn begin(&mut self, now: Timestamp, ticket: &str, view: &View) -> Begin {
        let has_mail = view.unread > 0 && !self.is_shown(view);
        let Some(pending) = self.pending.as_mut().filter(|held| held.ticket == ticket) else {
            return Begin::Withdrawn;
        };
        let idles = view.loops == Loops::Active && view.idle_since.is_some();
        let wanted = view.standing == Standing::Live && (has_mail || idles);
        if !wanted {
            self.pending = None;
            return Begin::Withdrawn;
        }
        if now < pending.due_at {
            return Begin::Gather {
                due_at: pending.due_at,
            };
        }
        pending.counted_at = Some(now);
        Begin::Type {
            unread: view.unread,
        }
    }

    /// The holder of `ticket` is done: `text` is what it typed or wanted to type.
    pub fn settle(&mut self, now: Timestamp, ticket: &str, outcome: &Outcome, text: &str) {
        let counted_at = match self.pending.take_if(|held| held.ticket == ticket) {
            Some(pending) => pending.counted_at.unwrap_or(pending.since),
            // The lease ran out, yet what was typed was typed.
            None => now,
        };
        match outcome {
            Outcome::Submitted | Outcome::QueuedByTool => {
                self.injected_at = Some(now);
                self.queued_at = (*outcome == Outcome::QueuedByTool).then_some(now);
                self.told_at = self.told_at.max(Some(counted_at));
                self.unanswered = self.unanswered.saturating_add(1);
                self.failures = 0;
                (self.failed_at, self.lost, self.leftover) = (None, None, None);
            }
            Outcome::NotWoken { reason, left, .. } => {
                self.lost = Some(*reason);
                match left {
                    Left::Nothing => self.leftover = None,
                    Left::Text | Left::Unknown if self.leftover.is_none() => {
                        self.leftover = Some(text.to_string());
                    }
                    Left::Text | Left::Unknown => {}
                }
                if typed(*reason) {
                    self.failed_at = Some(now);
                    self.failures = self.failures.saturating_add(1);
                }
            }
        }
    }

    /// A hook of the program has shown all mail that was there at `at`.
    pub fn note_shown(&mut self, at: Timestamp) {
        self.shown_at = self.shown_at.max(Some(at));
        self.lost = None;
    }

    /// Whether a hook has shown all that waits.
    fn is_shown(&self, view: &View) -> bool {
        view.newest_unread_at
            .is_some_and(|newest| self.shown_at >= Some(newest))
    }

    /// Progress since the last line answers every line, and since the last failure it forgives it.
    fn take_progress(&mut self, progress_at: Option<Timestamp>) {
        let since = |at: Option<Timestamp>| at.is_none_or(|at| progress_at > Some(at));
        if progress_at.is_some() && since(self.injected_at) && since(self.failed_at) {
            self.unanswered = 0;
            self.failures = 0;
            self.failed_at = None;
            if since(self.escalated_at) {
                self.escalated_at = None;
            }
        }
    }

    /// For a send: whether a line of the last seconds covers the message. A member that was given up is told of new
    /// mail more rarely.
    fn covered(&self, now: Timestamp, view: &View, timing: &Timing) -> Option<Quiet> {
        if self.is_shown(view) {
            return Some(Quiet::AlreadyTold);
        }
        let injected_at = self.injected_at?;
        let span = if self.is_given_up(timing) {
            timing.back_off_ms
        } else {
            timing.cover_ms
        };
        let fresh = now.millis_since(injected_at) < i64::from(span);
        let answered = view.progress_at > Some(injected_at);
        (fresh && !answered).then_some(Quiet::AlreadyTold)
    }

    /// For a sweep: whether all mail was told, or is about to be told by its sender.
    fn swept(&self, now: Timestamp, view: &View, timing: &Timing) -> Option<Quiet> {
        if self.is_shown(view) {
            return Some(Quiet::AlreadyTold);
        }
        let told = match (view.newest_unread_at, self.told_at) {
            (Some(newest), Some(told_at)) => newest <= told_at,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if told {
            return Some(Quiet::AlreadyTold);
        }
        let settling = i64::from(timing.gather_most_ms);
        let fresh = view
            .newest_unread_at
            .is_some_and(|newest| now.millis_since(newest) < settling && !newest.is_beyond(0, now));
        if fresh && self.lost.is_none() {
            return Some(Quiet::AlreadyTold);
        }
        self.covered(now, view, timing)
    }

    /// Forgets what was noted under a clock that was ahead: until that time came, it would keep every line back.
    fn forget_what_is_ahead(&mut self, now: Timestamp, timing: &Timing) {
        let lease_ms = timing.lease_ms.into();
        self.pending
            .take_if(|pending| pending.until.is_beyond(lease_ms, now));
        for noted in [
            &mut self.injected_at,
            &mut self.queued_at,
            &mut self.told_at,
            &mut self.failed_at,
            &mut self.escalated_at,
        ] {
            noted.take_if(|at| at.is_beyond(0, now));
        }
    }

    fn is_given_up(&self, timing: &Timing) -> bool {
        self.unanswered >= timing.most || self.failures >= timing.most
    }

    fn escalate(&mut self, now: Timestamp) -> Decision {
        if self.escalated_at.is_some() {
            return Decision::Quiet(Quiet::GivenUp);
        }
        self.escalated_at = Some(now);
        Decision::Escalate {
            unanswered: self.unanswered.max(self.failures),
        }
    }

    fn is_backing_off(&self, now: Timestamp, timing: &Timing) -> bool {
        self.failed_at
            .is_some_and(|at| now.millis_since(at) < i64::from(timing.back_off_ms))
    }
}

/// What rules a line out whatever the ledger says.
fn never(trigger: Trigger, member: &Name, view: &View) -> Option<Quiet> {
    if view.standing == Standing::Dissolved {
        return Some(Quiet::Dissolved);
    }
    if view.wake == Wake::Hook {
        return Some(Quiet::Hooked);
    }
    match trigger {
        Trigger::Send | Trigger::Sweep if view.unread == 0 => Some(Quiet::NothingUnread),
        Trigger::Idle if member.folds_to(crate::name::LEADER) => Some(Quiet::LeaderNeverPrompted),
        Trigger::Idle if view.loops == Loops::Inactive => Some(Quiet::LoopInactive),
        _ => None,
    }
}

/// For an idle look: whether the pane was not idle for long enough.
fn idle(now: Timestamp, view: &View, timing: &Timing) -> Option<Quiet> {
    let long = view
        .idle_since
        .is_some_and(|since| now.millis_since(since) >= i64::from(timing.idle_ms));
    (!long).then_some(Quiet::NotIdle)
}

/// Whether a try with this reason typed something, so that the next one must wait. A dialog that opened in between is
/// no fault of the line: it is submitted once the dialog has closed.
fn typed(reason: NotWoken) -> bool {
    matches!(
        reason,
        NotWoken::TextNotSeen | NotWoken::NotSubmittedAfterTries | NotWoken::ClearFailed
    )
}
