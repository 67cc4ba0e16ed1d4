//! Waking one member in its pane: the shared ledger of nudges, then the ladder, then the ledger again.
//!
//! | answer | when |
//! |---|---|
//! | `Typed(outcome)` | this process typed, or tried to: the outcome says what came of it |
//! | `Joined` | another process is about to type; this trigger is part of its line |
//! | `Quiet` | there is no reason to type |
//! | `Withdrawn` | the reason was gone before anything was typed |
//! | `Escalate` | the member does not react: the leader is to be told, once |
//!
//! What always holds: of any number of processes that ask at once one types, because the ledger is changed in a
//! transaction of the store and its holder has a lease; the count that is typed was taken when typing began; what came
//! of it is in the ledger before the answer is given.
//!
//! Not here: what is unread and who idles (the caller's [`View`]), and telling the leader.

use pitcrew_core::nudge::{Begin, Decision, Ledger, Quiet, Timing, Trigger, View};
use pitcrew_core::submit::{Outcome, PlanRefused};
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Document, Place, Store, StoreExt, StoreFailure};
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Entropy, EntropyError};
use crate::profile::PaneProfile;
use crate::tmux::{PaneRecord, Terminal, submit};

/// `workers/<name>/pane.json`: the pane that a member sits in, written before its agent is let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaneSeat {
    /// The profile of its program.
    pub profile: String,
    /// The member's incarnation that sits there.
    pub incarnation: u32,
    /// When the pane was opened.
    pub opened_at: Timestamp,
    /// The pane.
    #[serde(flatten)]
    pub pane: PaneRecord,
}

/// `workers/<name>/.nudge.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NudgeRecord(pub Ledger);

impl Document for PaneSeat {
    type Id = Name;

    fn place(member: &Name) -> Place {
        Place::Pane(member.clone())
    }
}

impl Document for NudgeRecord {
    type Id = Name;

    fn place(member: &Name) -> Place {
        Place::Nudge(member.clone())
    }
}

/// What came of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    /// A line was typed, or it was tried.
    Typed(Outcome),
    /// Somebody else types the line that this trigger is part of.
    Joined {
        /// When that somebody has answered or is taken for dead.
        until: Timestamp,
    },
    /// No line, and why.
    Quiet(Quiet),
    /// The reason was gone before the line was typed.
    Withdrawn,
    /// The leader is to be told. Said once.
    Escalate {
        /// How many lines went unanswered.
        unanswered: u32,
    },
}

/// Why nobody can say what came of a trigger.
#[derive(Debug, thiserror::Error)]
pub enum WakeError {
    /// The ledger could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// No id could be drawn.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The line cannot be typed.
    #[error(transparent)]
    Line(#[from] PlanRefused),
    /// What is unread could not be told.
    #[error("{0}")]
    View(String),
}

/// Everything that a wake stands on.
pub struct Waker<'a> {
    /// The team's state.
    pub store: &'a dyn Store,
    /// The clock of everything that is written down.
    pub clock: &'a dyn Clock,
    /// Where tickets come from.
    pub entropy: &'a dyn Entropy,
    /// The member.
    pub member: &'a Name,
    /// How its program looks and takes a message.
    pub profile: &'a PaneProfile,
}

impl Waker<'_> {
    /// Handles one trigger. `view` is asked for what is true at that moment, at first and again when typing begins;
    /// `line` makes the text of a count of unread messages.
    ///
    /// # Errors
    /// [`WakeError`]. A ticket that was drawn then is free again when its lease has run out.
    pub fn wake(
        &self,
        trigger: Trigger,
        mut view: impl FnMut() -> Result<View, WakeError>,
        line: impl Fn(u64) -> String,
        terminal: &mut impl Terminal,
    ) -> Result<Woken, WakeError> {
        let timing = Timing {
            gather_ms: self.profile.submit.gather_ms,
            ..Timing::default()
        };
        let ticket = self.entropy.id()?;
        let seen = view()?;
        let decision = self.change(|ledger| {
            ledger.handle_trigger(self.now(), trigger, self.member, &seen, &ticket, &timing)
        })?;
        let mut due_at = match decision {
            Decision::Inject { due_at } => due_at,
            Decision::Joined { until } => return Ok(Woken::Joined { until }),
            Decision::Quiet(quiet) => return Ok(Woken::Quiet(quiet)),
            Decision::Escalate { unanswered } => return Ok(Woken::Escalate { unanswered }),
        };
        let unread = loop {
            terminal.wait(due_at.millis_since(self.now()).max(0));
            // A message is stored before its trigger, so a count that is taken now has every trigger's message in it.
            let seen = view()?;
            match self.change(|ledger| ledger.begin(self.now(), &ticket, &seen))? {
                Begin::Type { unread } => break unread,
                Begin::Gather { due_at: later } => due_at = later,
                Begin::Withdrawn => return Ok(Woken::Withdrawn),
            }
        };
        let text = line(unread);
        let ledger = self
            .store
            .view::<NudgeRecord>(self.member)?
            .unwrap_or_default()
            .0;
        let plan = self.profile.plan(&text)?.after_leftover(ledger.leftover);
        let outcome = submit(terminal, plan);
        self.change(|ledger| ledger.settle(self.now(), &ticket, &outcome, &text))?;
        Ok(Woken::Typed(outcome))
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now())
    }

    fn change<A>(&self, mut rule: impl FnMut(&mut Ledger) -> A) -> Result<A, WakeError> {
        let changed = self
            .store
            .change(self.member, |record: &mut Option<NudgeRecord>| {
                rule(&mut record.get_or_insert_default().0)
            })?;
        Ok(changed)
    }
}
