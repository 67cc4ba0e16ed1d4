//! The lives of a member in a pane: how the last one ended, and whether and when the next begins.
//!
//! | happens | kept in `workers/<name>/.lives.json` |
//! |---|---|
//! | a life is seen to be over | how it ended, once, and what the policy says to it |
//! | somebody begins to start it again | who, so that nobody else does at the same time |
//! | a start by the policy failed | counted as a restart that ended at once |
//! | a person starts it | everything before is forgotten |
//!
//! What always holds: the count of restarts outlives the monitor; one process starts a member at a time; a start that was
//! broken off with its process counts as failed.

use pitcrew_core::departure::Departure;
use pitcrew_core::restart::{End, Policy, Reason, Restart, Standing, Wanted};
use pitcrew_core::span::span;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Document, Place, StoreExt};
use serde::{Deserialize, Serialize};

use crate::desk::{Desk, NotDone};
use crate::process::{Identity, Presence};
use crate::wake::PaneSeat;

/// `workers/<name>/.lives.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LivesRecord {
    /// How the last life ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<LifeEnded>,
    /// What the policy makes of it. Its times are milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// The number of the present run for that.
    run: u32,
    /// The process that starts the member right now.
    #[serde(skip_serializing_if = "Option::is_none")]
    starter: Option<Identity>,
}

/// The end of one life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifeEnded {
    /// Which life.
    pub incarnation: u32,
    /// When it was seen to be over.
    pub at: Timestamp,
    /// How it ended.
    pub how: Departure,
    /// What was said about it, where its start failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Who wants a member to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The team's policy.
    Policy,
    /// A person, or an agent that may.
    Request,
}

impl By {
    /// The word in events.
    #[must_use]
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Request => "request",
        }
    }
}

/// Whether whoever asked may start a member now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may, and nobody else until it says that it is over.
    Mine,
    /// Another process starts it.
    Theirs,
    /// It is not due, or lives.
    NotDue,
}

impl Document for LivesRecord {
    type Id = Name;

    fn place(member: &Name) -> Place {
        Place::Lives(member.clone())
    }
}

impl LifeEnded {
    /// How it ended, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.why {
            Some(why) => format!("{}: {why}", self.how.words()),
            None => self.how.words(),
        }
    }
}

impl LivesRecord {
    /// The end of the life `incarnation`, if it is known.
    #[must_use]
    pub fn end_of(&self, incarnation: u32) -> Option<&LifeEnded> {
        self.ended
            .as_ref()
            .filter(|ended| ended.incarnation == incarnation)
    }

    /// When the member is started again whose life `incarnation` is over.
    #[must_use]
    pub fn due_at(&self, incarnation: u32) -> Option<Timestamp> {
        self.end_of(incarnation)?;
        match self.restart.as_ref()?.standing() {
            Standing::Due { at } => Some(Timestamp::from_millis(at)),
            _ => None,
        }
    }

    /// What the policy says to the last end; `Down` where no policy is asked.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.restart
            .as_ref()
            .map_or(Standing::Down, Restart::standing)
    }

    fn is_being_started(&self) -> bool {
        let is_other = |starter: &Identity| *starter != Identity::own();
        self.starter
            .as_ref()
            .is_some_and(|starter| is_other(starter) && starter.presence() == Presence::Alive)
    }

    /// A life is over. Once for each.
    fn handle_end(&mut self, ended: LifeEnded, opened_at: i64, policy: Policy, jitter: u16) {
        let now = ended.at.as_millis();
        let is_new = self.end_of(ended.incarnation).is_none();
        let restart = self.restart.get_or_insert_with(|| {
            let mut restart = Restart::new(policy);
            restart.want(Wanted::Up, opened_at);
            self.run = restart.handle_started(opened_at);
            restart
        });
        restart.adopt(policy);
        if is_new {
            if ended.how.end().is_none() {
                restart.want(Wanted::Down, now);
            }
            let end = ended.how.end().unwrap_or(End::Finished);
            restart.handle_ended(self.run, end, now, jitter);
            self.ended = Some(ended);
        } else if matches!(restart.standing(), Standing::Up { .. }) && !self.is_being_started() {
            // Whoever started it anew ended with that half done.
            self.handle_failure(now, jitter);
        }
    }

    /// A start did not come to a new life.
    fn handle_failure(&mut self, now: i64, jitter: u16) {
        if let Some(restart) = &mut self.restart {
            restart.handle_ended(self.run, End::Failed, now, jitter);
        }
    }

    fn begin(&mut self, incarnation: u32, by: By, now: i64) -> Turn {
        if self.is_being_started() {
            return Turn::Theirs;
        }
        match by {
            By::Request => *self = Self::default(),
            By::Policy => {
                let is_due = self
                    .due_at(incarnation)
                    .is_some_and(|at| at.as_millis() <= now);
                let Some(restart) = self.restart.as_mut().filter(|_| is_due) else {
                    return Turn::NotDue;
                };
                self.run = restart.handle_started(now);
            }
        }
        self.starter = Some(Identity::own());
        Turn::Mine
    }
}

/// Notes that the life of `member` that sat in `seat` is over; answers what is known of it and its lives now.
///
/// # Errors
/// When that cannot be kept.
pub(crate) fn note_end(
    desk: &Desk<'_>,
    member: &Name,
    seat: &PaneSeat,
    how: Departure,
    policy: Policy,
) -> Result<LivesRecord, NotDone> {
    let ended = LifeEnded {
        incarnation: seat.incarnation,
        at: desk.now(),
        how,
        why: None,
    };
    let (opened_at, jitter) = (seat.opened_at.as_millis(), desk.entropy().permille()?);
    change(desk, member, |record| {
        record.handle_end(ended.clone(), opened_at, policy, jitter);
        record.clone()
    })
}

/// Asks whether `member` may be started by the caller now.
///
/// # Errors
/// When the answer cannot be kept.
pub(super) fn begin(
    desk: &Desk<'_>,
    member: &Name,
    incarnation: u32,
    by: By,
) -> Result<Turn, NotDone> {
    let now = desk.now().as_millis();
    change(desk, member, |record| record.begin(incarnation, by, now))
}

/// Whether a start by the policy may begin.
#[cfg(test)]
pub(crate) fn begin_by_policy(
    desk: &Desk<'_>,
    member: &Name,
    incarnation: u32,
) -> Result<bool, NotDone> {
    Ok(begin(desk, member, incarnation, By::Policy)? == Turn::Mine)
}

/// Notes that a start is over that [`begin`] allowed: `failed` says why there is no new life, `incarnation` which life is
/// the last that was begun.
///
/// # Errors
/// When that cannot be kept.
pub(crate) fn end_start(
    desk: &Desk<'_>,
    member: &Name,
    incarnation: u32,
    failed: Option<&str>,
) -> Result<(), NotDone> {
    let (now, jitter) = (desk.now(), desk.entropy().permille()?);
    change(desk, member, |record| {
        record.starter = None;
        if let Some(why) = failed {
            record.ended = Some(LifeEnded {
                incarnation,
                at: now,
                how: Departure::NotStarted,
                why: Some(why.to_string()),
            });
            record.handle_failure(now.as_millis(), jitter);
        }
    })
}

/// What becomes of a member that is gone, as a sentence for its leader.
#[must_use]
pub fn prospect(member: &Name, standing: Standing, now: Timestamp) -> String {
    let by_hand = format!("`pitcrew team restart {member}` starts it again.");
    match standing {
        Standing::Due { at } => {
            let wait = at.saturating_sub(now.as_millis()).max(0).unsigned_abs();
            format!(
                "It is started again in {}.",
                span(wait.next_multiple_of(1_000))
            )
        }
        Standing::GivenUp(reason) => match given_up(reason) {
            Some(why) => format!("It is not started again by itself: {why}. {by_hand}"),
            None => by_hand,
        },
        Standing::Up { .. } => "It is being started again.".to_string(),
        Standing::Down | Standing::Done => by_hand,
    }
}

/// Why a policy starts a member no more; none where it never does.
#[must_use]
pub fn given_up(reason: Reason) -> Option<String> {
    match reason {
        Reason::NeverRestarted => None,
        Reason::TooManyRestarts {
            restarts,
            within_ms,
        } => Some(format!(
            "it was started again {} within {}",
            match restarts {
                1 => "once".to_string(),
                several => format!("{several} times"),
            },
            span(within_ms.unsigned_abs())
        )),
    }
}

fn change<A>(
    desk: &Desk<'_>,
    member: &Name,
    mut rule: impl FnMut(&mut LivesRecord) -> A,
) -> Result<A, NotDone> {
    let changed = desk
        .store()
        .change(member, |slot: &mut Option<LivesRecord>| {
            rule(slot.get_or_insert_default())
        })?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_core::restart::When;

    fn ended(incarnation: u32, at: i64) -> LifeEnded {
        LifeEnded {
            incarnation,
            at: Timestamp::from_millis(at),
            how: Departure::Killed(9),
            why: None,
        }
    }

    fn crashed(incarnation: u32, at: i64) -> LivesRecord {
        let mut record = LivesRecord::default();
        record.handle_end(ended(incarnation, at), 0, Policy::default(), 0);
        record
    }

    #[test]
    fn a_life_ends_once_however_many_see_it() {
        let mut record = crashed(1, 100_000);
        let before = record.clone();
        record.handle_end(ended(1, 500_000), 0, Policy::default(), 0);
        assert_eq!(record, before);
        assert_eq!(record.due_at(1), Some(Timestamp::from_millis(101_000)));
        assert_eq!(record.due_at(2), None);
    }

    #[test]
    fn a_member_is_started_when_it_is_due_and_by_one() {
        let mut record = crashed(1, 100_000);
        assert_eq!(record.begin(1, By::Policy, 100_500), Turn::NotDue);
        assert_eq!(record.begin(1, By::Policy, 101_000), Turn::Mine);
        assert_eq!(record.begin(1, By::Policy, 101_001), Turn::NotDue);
    }

    #[test]
    fn g6_after_the_third_restart_within_ten_minutes_it_is_given_up() {
        let (mut record, mut now) = (crashed(1, 100_000), 100_000);
        for incarnation in 2..5 {
            now += 10_000;
            assert_eq!(record.begin(incarnation - 1, By::Policy, now), Turn::Mine);
            record.starter = None;
            record.handle_end(ended(incarnation, now + 1_000), 0, Policy::default(), 0);
        }
        let standing = record.standing();
        assert!(matches!(standing, Standing::GivenUp(_)), "{standing:?}");
        let told = prospect(&Name::leader(), standing, Timestamp::from_millis(now));
        assert!(told.contains("3 times within 10 min"), "{told}");
        assert_eq!(record.begin(4, By::Policy, i64::MAX / 2), Turn::NotDue);
        assert_eq!(record.begin(4, By::Request, now), Turn::Mine);
        assert_eq!(record.standing(), Standing::Down);
    }

    #[test]
    fn a_start_that_was_broken_off_counts_as_failed() {
        let mut record = crashed(1, 100_000);
        record.begin(1, By::Policy, 102_000);
        // Whoever did it is gone.
        record.starter = None;
        record.handle_end(ended(1, 110_000), 0, Policy::default(), 0);
        assert_eq!(record.due_at(1), Some(Timestamp::from_millis(112_000)));
    }

    #[test]
    fn a_closed_pane_is_an_order() {
        let mut record = LivesRecord::default();
        let closed = LifeEnded {
            how: Departure::Closed,
            ..ended(1, 5_000)
        };
        let always = Policy {
            when: When::Always,
            ..Policy::default()
        };
        record.handle_end(closed, 0, always, 0);
        assert_eq!(
            (record.due_at(1), record.standing()),
            (None, Standing::Down)
        );
    }
}
