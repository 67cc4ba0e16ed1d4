//! Restart: whether a member that is not running should be started, and when.
//!
//! | standing | left when |
//! |---|---|
//! | `Down` | it is wanted up |
//! | `Due` | it was started, at or after its time |
//! | `Up` | it ended |
//! | `Done` | it is wanted again: it finished, and its policy does not repeat that |
//! | `GivenUp` | it is wanted again: too many restarts, or its policy allows none |
//!
//! What is wanted and what is observed are two facts, and [`Restart::next`] is their difference as one order. The
//! shell asks for it after each fact and when the time it named has come; asking twice or late changes nothing.
//! Every start gets a number, and an end that carries an older number is ignored.
//!
//! What always holds: no window of `within_ms` holds more than `most` restarts; a delay is at least half of its
//! nominal length and at most `longest_ms`. Times are milliseconds of one clock that does not run backwards.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// When to start again. All spans are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Which ends are followed by a restart.
    pub when: When,
    /// The delay before the first restart; it doubles with each further one.
    pub first_ms: i64,
    /// No delay is longer.
    pub longest_ms: i64,
    /// At most so many restarts ...
    pub most: u32,
    /// ... in any span of this length.
    pub within_ms: i64,
    /// A run that lasted so long counts as sound: the next delay is the first one again.
    pub settle_ms: i64,
}

impl Default for Policy {
    /// After failures, from one second doubling up to one minute, at most three within ten minutes, sound after a minute.
    fn default() -> Self {
        Self {
            when: When::AfterFailure,
            first_ms: 1_000,
            longest_ms: 60_000,
            most: 3,
            within_ms: 600_000,
            settle_ms: 60_000,
        }
    }
}

/// Which ends are followed by a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// None.
    Never,
    /// Those that were failures.
    #[default]
    AfterFailure,
    /// All but those that were ordered.
    Always,
}

/// What a member shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Run.
    Up,
    /// Not run.
    Down,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, with success.
    Finished,
    /// By itself without success, by a signal, by its time limit, or it could not even be started.
    Failed,
}

/// Why a member is not started any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its policy is never to restart.
    NeverRestarted,
    /// It was restarted too often in too short a time.
    TooManyRestarts {
        /// So many restarts.
        restarts: u32,
        /// Within this many milliseconds.
        within_ms: i64,
    },
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All is as wanted.
    Nothing,
    /// Start it now.
    Start,
    /// Stop it now.
    Stop,
    /// Ask again at this time.
    WaitUntil(i64),
    /// It is failed for good; somebody should be told, once.
    GiveUp(Reason),
}

/// Where a member stands, and why: the answer to "why is this not running?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It was never started, or stopped because it is not wanted.
    Down,
    /// It is to be started.
    Due {
        /// Not before this time.
        at: i64,
    },
    /// It runs.
    Up {
        /// Since this time.
        since: i64,
    },
    /// It finished and is not to be repeated.
    Done,
    /// It failed for good.
    GivenUp(Reason),
}

/// The restart state of one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    policy: Policy,
    wanted: Wanted,
    standing: Standing,
    /// The number of the latest start.
    run: u32,
    /// Failed runs in a row that did not settle: the exponent of the next delay.
    streak: u32,
    /// Whether the next start is a restart.
    again: bool,
    /// The latest restarts, oldest first, never more than the policy's `most`.
    restarts: Vec<i64>,
}

impl Restart {
    /// A member that is down and not wanted yet.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            wanted: Wanted::Down,
            standing: Standing::Down,
            run: 0,
            streak: 0,
            again: false,
            restarts: Vec::new(),
        }
    }

    /// Goes on under another policy: what happened so far counts, what is decided from now on follows it.
    pub fn adopt(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// How many restarts there were in the span of the policy that ends at `now`.
    #[must_use]
    pub fn recent(&self, now: i64) -> usize {
        let window_start = now.saturating_sub(self.policy.within_ms);
        let is_recent = |restart: &&i64| **restart > window_start;
        self.restarts.iter().filter(is_recent).count()
    }

    /// Says what is wanted from now on. Wanting a member up that is done or was given up begins anew, with all its
    /// restarts forgotten.
    pub fn want(&mut self, wanted: Wanted, now: i64) {
        self.wanted = wanted;
        self.standing = match (wanted, self.standing) {
            (_, up @ Standing::Up { .. }) => up,
            (Wanted::Up, due @ Standing::Due { .. }) => due,
            (Wanted::Up, Standing::Down | Standing::Done | Standing::GivenUp(_)) => {
                self.streak = 0;
                self.again = false;
                self.restarts.clear();
                Standing::Due { at: now }
            }
            (Wanted::Down, Standing::Due { .. }) => Standing::Down,
            (Wanted::Down, rest) => rest,
        };
    }

    /// Notes that it was started, and answers the number of this run.
    pub fn handle_started(&mut self, now: i64) -> u32 {
        if self.again {
            let most = usize::try_from(self.policy.most).unwrap_or(usize::MAX);
            if !self.restarts.is_empty() && self.restarts.len() >= most {
                self.restarts.remove(0);
            }
            self.restarts.push(now);
        }
        self.run = self.run.wrapping_add(1);
        self.standing = Standing::Up { since: now };
        self.run
    }

    /// Notes that a run ended, or that a start failed: then `run` is the number that
    /// [`handle_started`](Self::handle_started) gave for the attempt. `jitter` is a random number from 0 to 1000 that
    /// shortens the delay by up to half. An end of an older run changes nothing.
    pub fn handle_ended(&mut self, run: u32, end: End, now: i64, jitter: u16) {
        let Standing::Up { since } = self.standing else {
            return;
        };
        if run != self.run {
            return;
        }
        if now.saturating_sub(since) >= self.policy.settle_ms {
            self.streak = 0;
        }
        self.standing = match (self.wanted, self.policy.when, end) {
            (Wanted::Down, _, _) => Standing::Down,
            (Wanted::Up, When::Never | When::AfterFailure, End::Finished) => Standing::Done,
            (Wanted::Up, When::Never, End::Failed) => Standing::GivenUp(Reason::NeverRestarted),
            (Wanted::Up, When::AfterFailure | When::Always, End::Failed)
            | (Wanted::Up, When::Always, End::Finished) => self.again_or_never(now, jitter),
        };
    }

    /// What to do, given what is wanted and what was observed.
    #[must_use]
    pub fn next(&self, now: i64) -> Order {
        match (self.wanted, self.standing) {
            (Wanted::Down, Standing::Up { .. }) => Order::Stop,
            (Wanted::Up, Standing::Due { at }) if at <= now => Order::Start,
            (Wanted::Up, Standing::Due { at }) => Order::WaitUntil(at),
            (Wanted::Up, Standing::GivenUp(reason)) => Order::GiveUp(reason),
            _ => Order::Nothing,
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// What is wanted of it.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    fn again_or_never(&mut self, now: i64, jitter: u16) -> Standing {
        let window_start = now.saturating_sub(self.policy.within_ms);
        self.restarts.retain(|restart| *restart > window_start);
        let restarts = u32::try_from(self.restarts.len()).unwrap_or(u32::MAX);
        if restarts >= self.policy.most {
            return Standing::GivenUp(Reason::TooManyRestarts {
                restarts,
                within_ms: self.policy.within_ms,
            });
        }
        let delay = self.delay(jitter);
        self.streak = self.streak.saturating_add(1);
        self.again = true;
        Standing::Due {
            at: now.saturating_add(delay),
        }
    }

    fn delay(&self, jitter: u16) -> i64 {
        const DOUBLINGS_OF_AN_I64: u32 = 62;
        let longest = self.policy.longest_ms.max(0);
        let factor = 1_i64 << self.streak.min(DOUBLINGS_OF_AN_I64);
        let nominal = self
            .policy
            .first_ms
            .max(0)
            .saturating_mul(factor)
            .min(longest);
        let half = nominal / 2;
        // In wide arithmetic, because half of the longest span times a thousand does not fit.
        let off = i128::from(half) * i128::from(jitter.min(1_000)) / 1_000;
        nominal - i64::try_from(off).unwrap_or(half)
    }
}

#[cfg(test)]
mod tests;
