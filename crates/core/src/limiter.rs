//! The limiter: what a team may spend, and how fast, however many processes ask at once.
//!
//! ```text
//!  acquire ──▶ open ──▶ settled     record: the entry is corrected to what was really used
//!                ├────▶ released    release: refunded, as if it had never been asked for
//!                └────▶ lapsed      nobody settled it in time: refunded, with a warning
//! ```
//!
//! [`Limiter::acquire`] checks, in this order: the team's budget, the member's budget, requests, tokens. With a cost
//! estimate the ceiling is hard: spent + reserved + estimate never passes the budget. Without one a call is refused
//! once the budget is spent. A refusal leaves no trace.
//!
//! Always holds: a reservation is settled, released or lapsed once; settling corrects its own entry in the window
//! of [`WINDOW_MS`], so no credit appears later, and an entry that has left the window only ever adds. The document is
//! small: a ring of buckets, at most [`MOST_OPEN`] reservations, capped sums. Wall clocks may step back: by up to a
//! window time stands still, by more than that everything that counts starts its minute again.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize, Serializer};

use crate::name::{Name, TaskId};
use crate::price::Micros;
use crate::refusal::Refusal;
use crate::time::Timestamp;

mod admit;
mod denial;
pub mod input;
mod limits;
mod pause;
mod reprice;
mod settle;
mod status;
mod usage;
mod window;

pub use admit::Grant;
pub use denial::{BudgetExceeded, NeverFits, RateLimit, RateLimited};
pub use limits::{Limits, RESERVATION_TTL_MS, WhenUnreachable};
pub use pause::{Pause, jitter_ms};
pub use reprice::{Hold, Repriced};
pub use settle::{Basis, Recorded, Report};
pub use status::{MemberStatus, Status};
pub use usage::{MODELS, Reserved, TASKS, Tally, Used};
pub use window::{BUCKET_MS, Load, WINDOW_MS};

use usage::Books;
use window::Window;

/// The most reservations that may be open at once.
pub const MOST_OPEN: usize = 1_024;

/// How many lapsed reservations are remembered, for callers that settle late.
const LAPSED: usize = 256;

/// The number of a reservation, counted from 1 within one limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReservationId(pub u64);

impl fmt::Display for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A call that wants to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Who makes it.
    pub member: &'a Name,
    /// Its tokens, estimated.
    pub tokens: u64,
    /// Its cost, estimated. Without it the budget is a soft ceiling.
    pub cost: Option<Micros>,
    /// The task that it is for.
    pub task: Option<&'a TaskId>,
    /// The model that it goes to.
    pub model: Option<&'a str>,
    /// How long after a team's pause this member waits: [`jitter_ms`].
    pub jitter_ms: u64,
}

impl<'a> Ask<'a> {
    /// A call of `member` with about this many tokens.
    #[must_use]
    pub fn new(member: &'a Name, tokens: u64) -> Self {
        Self {
            member,
            tokens,
            cost: None,
            task: None,
            model: None,
            jitter_ms: 0,
        }
    }
}

/// A call that was admitted and not settled yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Its number.
    pub id: ReservationId,
    /// Whose it is.
    pub member: Name,
    /// When it was admitted.
    pub at: Timestamp,
    /// The tokens set aside.
    pub tokens: u64,
    /// The money set aside, if it was estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Micros>,
    /// The task that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The model that it goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When whoever has it last said that its call still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewed: Option<Timestamp>,
}

impl Reservation {
    fn set_aside(&self) -> Micros {
        self.cost.unwrap_or_default()
    }

    fn load(&self) -> Load {
        Load {
            tokens: self.tokens,
            requests: 1,
        }
    }
}

/// What happened beside the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LimitEvent {
    /// Nobody settled a reservation in time; it was refunded.
    ReservationLapsed {
        /// The reservation.
        reservation: Reservation,
    },
    /// A reservation went with its member, refunded.
    ReservationDropped {
        /// The reservation.
        reservation: Reservation,
    },
    /// A member settled or released a reservation of another; it was booked to its owner.
    SettledByAnother {
        /// The reservation.
        id: ReservationId,
        /// Whose it was, and to whom it was booked.
        owner: Name,
        /// Who settled it.
        by: Name,
    },
    /// A reservation that had lapsed was settled after all; what it used was booked.
    SettledLate {
        /// The reservation.
        id: ReservationId,
        /// To whom it was booked.
        owner: Name,
    },
    /// A budget is spent.
    BudgetReached {
        /// Whose; `None` is the team's.
        member: Option<Name>,
        /// What was spent, in micro-dollars.
        spent: Micros,
        /// The budget, in micro-dollars.
        budget: Micros,
    },
    /// A provider's limit paused the team.
    TeamPaused {
        /// When it resets.
        until: Timestamp,
        /// The provider's words.
        why: String,
    },
    /// The pause is over.
    TeamResumed {
        /// When it was to end.
        until: Timestamp,
    },
    /// The clock went back by more than a window; what counted starts its minute again.
    ClockStepped {
        /// The latest instant seen before.
        from: Timestamp,
        /// The instant now.
        to: Timestamp,
    },
}

/// The limiter of one team: one small document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Saved")]
pub struct Limiter {
    limits: Limits,
    /// The latest instant seen.
    clock: Timestamp,
    /// The number of the next reservation.
    next: u64,
    window: Window,
    #[serde(serialize_with = "as_list")]
    open: BTreeMap<ReservationId, Reservation>,
    lapsed: VecDeque<Reservation>,
    books: Books,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<Pause>,
    /// When the last pause ended, for those who wait a little longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed: Option<Timestamp>,
}

fn as_list<S: Serializer>(
    open: &BTreeMap<ReservationId, Reservation>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(open.values())
}

/// The limiter as it is kept: what is set aside follows from the open reservations.
#[derive(Deserialize)]
#[serde(default)]
struct Saved {
    limits: Limits,
    clock: Timestamp,
    next: u64,
    window: Window,
    open: Vec<Reservation>,
    lapsed: VecDeque<Reservation>,
    books: Books,
    pause: Option<Pause>,
    resumed: Option<Timestamp>,
}

impl Default for Saved {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            clock: Timestamp::from_millis(0),
            next: 1,
            window: Window::default(),
            open: Vec::new(),
            lapsed: VecDeque::new(),
            books: Books::default(),
            pause: None,
            resumed: None,
        }
    }
}

impl From<Saved> for Limiter {
    fn from(saved: Saved) -> Self {
        let mut books = saved.books;
        for reservation in &saved.open {
            let cost = reservation.set_aside();
            books.set_aside(&reservation.member, reservation.tokens, cost);
        }
        let known = saved.open.iter().chain(&saved.lapsed);
        let beyond = known.map(|reservation| reservation.id.0.saturating_add(1));
        Self {
            next: beyond.fold(saved.next, u64::max),
            limits: saved.limits,
            clock: saved.clock,
            window: saved.window,
            open: saved.open.into_iter().map(|kept| (kept.id, kept)).collect(),
            lapsed: saved.lapsed,
            books,
            pause: saved.pause,
            resumed: saved.resumed,
        }
    }
}

impl Default for Limiter {
    fn default() -> Self {
        Self::from(Saved::default())
    }
}

impl Limiter {
    /// A limiter with these limits that nobody has used yet.
    ///
    /// # Errors
    /// `invalid_input` when the limits make no sense.
    pub fn new(limits: Limits) -> Result<Self, Refusal> {
        limits.check()?;
        Ok(Self {
            limits,
            ..Self::default()
        })
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Changes the limits from now on. What was used and reserved stays.
    ///
    /// # Errors
    /// `invalid_input` when they make no sense.
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), Refusal> {
        limits.check()?;
        self.limits = limits;
        Ok(())
    }

    /// When the pause that holds now ends, or when the last one ended: what a member's [`jitter_ms`] is drawn for.
    #[must_use]
    pub fn reset(&self) -> Option<Timestamp> {
        let until = self.pause.as_ref().map(|pause| pause.until);
        until.or(self.resumed)
    }

    /// The open reservations, oldest first.
    pub fn open(&self) -> impl ExactSizeIterator<Item = &Reservation> {
        self.open.values()
    }

    /// Pauses the team until `until`, or longer if it is paused already. In the past it does nothing.
    pub fn pause(&mut self, until: Timestamp, why: &str, now: Timestamp) -> Vec<LimitEvent> {
        let mut events = self.sweep(now);
        let longer = self
            .pause
            .as_ref()
            .is_some_and(|pause| pause.until >= until);
        if until <= now || longer {
            return events;
        }
        let why: String = why.chars().take(500).collect();
        events.push(LimitEvent::TeamPaused {
            until,
            why: why.clone(),
        });
        let since = self.pause.as_ref().map_or(now, |pause| pause.since);
        self.pause = Some(Pause { since, until, why });
        events
    }

    /// Ends a pause at once, by somebody who knows better.
    pub fn resume(&mut self, now: Timestamp) -> Vec<LimitEvent> {
        let mut events = self.sweep(now);
        if let Some(pause) = self.pause.take() {
            let until = pause.until;
            events.push(LimitEvent::TeamResumed { until });
        }
        self.resumed = None;
        events
    }
}

#[cfg(test)]
mod tests;
