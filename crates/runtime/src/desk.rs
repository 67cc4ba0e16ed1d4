//! The desk: every request to one team, answered against its store.
//!
//! A face hands in plain values and gets an answer, a [`Refusal`] or a [`Failure`]; it never sees a file. The desk
//! brings the two things that rules do not have, time and chance, and keeps what the rules decided. It holds no state
//! of its own, so a desk per command and a desk for a day are the same.
//!
//! | file | requests |
//! |---|---|
//! | `desk/mail.rs` | send, broadcast, take, acknowledge, give back, redeliver |
//! | `desk/telling.rs` | what a wake tells of and what it is told: waiting mail, last acts, receipts |
//! | `desk/reading.rs` | list and count what is in a mailbox, in bounded memory |
//! | `desk/sent.rs` | where a sender's messages stand |
//! | `desk/index.rs` | keep the unread index up with its log |
//! | `desk/board.rs` | list the tasks |
//! | `desk/planning.rs` | add tasks |
//! | `desk/work.rs` | claim, transition, release, retry tasks |
//! | `desk/owed.rs` | what follows from the end of a task, until it is done |
//! | `desk/crew.rs` | found a team, add and remove members, issue tokens |
//! | `desk/status.rs` | how a team stands, without touching anything |
//! | `desk/claims.rs` | claim lines, wait for them, give them back; what ends with a member |
//! | `desk/discoveries.rs` | share findings, list them, show each to each member once |
//! | `desk/limits.rs` | set aside, settle and look at what the team may spend |
//! | `desk/events.rs` | write down what has happened, follow it |
//! | `desk/exchanges.rs` | damp members that only talk; who waits for whom |
//! | `desk/waiting.rs` | whether what somebody waits for has happened |
//! | `desk/written.rs` | documents as they are written, unknown keys included |

use std::fmt;

use pitcrew_core::identity::{Speaker, identify};
use pitcrew_core::roster::Team;
use pitcrew_core::{Name, Refusal, Timestamp};
use pitcrew_store::{Document, Store, StoreExt, StoreFailure};

use crate::clock::{Clock, Entropy, EntropyError};

mod board;
mod claims;
mod crew;
mod discoveries;
mod events;
mod exchanges;
mod index;
mod limits;
mod mail;
mod owed;
mod planning;
mod reading;
mod sending;
mod sent;
mod status;
mod telling;
mod waiting;
mod work;
mod written;

pub use board::{Sight, TaskBoard, UnreadableTask};
pub use claims::{ClaimTurn, ClaimWish, MemberEnd, moves_claims};
pub use crew::{Blueprint, Founding, Plan, Removed};
pub use discoveries::{Finding, News, Offer, Shared};
pub use events::{Delivery, Lost, Passed, Start, Subscription, Unsaid};
pub use exchanges::Waiting;
pub use index::MailIndex;
pub use limits::{Admission, LimitChange, Setting, Spending};
pub use mail::Taken;
pub use planning::TaskPlan;
pub use reading::{Entry, MailCounts, MailReport, Which};
pub use sending::{Broadcast, Sent};
pub use sent::{SentFact, SentMessage};
pub use status::{HEARTBEAT_FRESH_MS, MemberStatus, Standing, TeamStatus, apart};
pub(crate) use telling::wakes;
pub use telling::{NO_REACTION, WaitingMail};
pub use waiting::{Happened, Look, Wanted};
pub use work::Change;

/// Why a request was not done: a refusal is an answer, a failure is nobody's.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// The expected "no". Nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something broke.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What broke.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The system's generator.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl From<StoreFailure> for NotDone {
    fn from(failure: StoreFailure) -> Self {
        Self::Failed(failure.into())
    }
}

impl From<EntropyError> for NotDone {
    fn from(failure: EntropyError) -> Self {
        Self::Failed(failure.into())
    }
}

/// What a caller says and proves about itself.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The token of its incarnation, if it has one.
    pub token: Option<String>,
    /// Who it says it is.
    pub claimed: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("Credentials")
            .field("token", &token)
            .field("claimed", &self.claimed)
            .finish()
    }
}

/// One team's desk.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    team: &'a Name,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    entropy: &'a dyn Entropy,
    /// Where events are noted that could not be written.
    unsaid: Option<&'a Unsaid>,
}

impl<'a> Desk<'a> {
    /// The desk of `team`, whose state is in `store`.
    #[must_use]
    pub fn new(
        team: &'a Name,
        store: &'a dyn Store,
        clock: &'a dyn Clock,
        entropy: &'a dyn Entropy,
    ) -> Self {
        Self {
            team,
            store,
            clock,
            entropy,
            unsaid: None,
        }
    }

    /// The team's id.
    #[must_use]
    pub fn team_id(&self) -> &'a Name {
        self.team
    }

    /// The desk's clock.
    pub(crate) fn clock(&self) -> &'a dyn Clock {
        self.clock
    }

    /// The desk's chance.
    pub(crate) fn entropy(&self) -> &'a dyn Entropy {
        self.entropy
    }

    /// The store behind the desk.
    #[must_use]
    pub fn store(&self) -> &'a dyn Store {
        self.store
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now())
    }

    /// A fresh id.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn fresh_id(&self) -> Result<String, NotDone> {
        Ok(self.entropy.id()?)
    }

    /// The team as it is now.
    ///
    /// # Errors
    /// `team_not_found`, without the names of others: the project knows those.
    pub fn roster(&self) -> Result<Team, NotDone> {
        self.store
            .view::<Team>(&())?
            .ok_or_else(|| self.unknown().into())
    }

    /// The team as it is now, for a request that brings new work into it.
    ///
    /// # Errors
    /// As [`Desk::roster`], and `shut_down`.
    pub fn open_roster(&self) -> Result<Team, NotDone> {
        let team = self.roster()?;
        self.takes_work()?;
        Ok(team)
    }

    /// Refuses new work in a team that was shut down: see [`Desk::mark_shut_down`].
    pub(crate) fn takes_work(&self) -> Result<(), NotDone> {
        match self.shut_down_at()? {
            None => Ok(()),
            Some(at) => {
                let team = self.team.to_string();
                Err(Refusal::ShutDown { team, at }.into())
            }
        }
    }

    /// The team as it is now, if it still is the one that `known` is of: not one of the same name that was founded
    /// after that one was removed.
    ///
    /// # Errors
    /// `team_not_found`.
    pub fn still(&self, known: &Team) -> Result<Team, NotDone> {
        let now = self.roster()?;
        if now.created_at == known.created_at {
            return Ok(now);
        }
        Err(self.unknown().into())
    }

    /// Who a caller speaks as in this team.
    ///
    /// # Errors
    /// As [`identify`] says.
    pub fn speaker(&self, team: &Team, who: &Credentials) -> Result<Speaker, NotDone> {
        Ok(identify(
            team,
            who.token.as_deref(),
            who.claimed.as_deref(),
        )?)
    }

    /// Runs a rule on a document of which the team has one, as it would run on an empty one where there is none yet.
    /// A refusal creates nothing.
    fn on_whole<D: Document<Id = ()> + Default, A>(
        &self,
        mut rule: impl FnMut(&mut D) -> Result<A, Refusal>,
    ) -> Result<A, NotDone> {
        let answer = self.store.update::<D, A, Refusal>(&(), |slot| {
            if let Some(document) = slot {
                return rule(document);
            }
            let mut fresh = D::default();
            let answer = rule(&mut fresh)?;
            *slot = Some(fresh);
            Ok(answer)
        })?;
        Ok(answer?)
    }

    fn random_u32(&self) -> Result<u32, NotDone> {
        let mut bytes = [0; 4];
        self.entropy.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests;
