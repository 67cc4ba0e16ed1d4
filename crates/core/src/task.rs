//! One task: its life cycle, its claim token and what it waits for.
//!
//! ```text
//!              claim                    finish(completed)
//!  pending ───────────▶ in_progress ───────────────────────▶ completed (final)
//!     ▲ ▲                │  │   ▲ progress
//!     │ └── release ─────┘  │   └──┘
//!     │                     └── finish(failed) ──▶ failed
//!     └───────────── retry ──────────────────────────┘
//! ```
//!
//! Always holds: a task in progress has one owner and one claim token; every step after the claim needs that token,
//! so an owner whose task was taken back can do nothing to it any more; `completed` is final. Whether a task is
//! blocked is not stored: it follows from the tasks that it waits for.
//! A task is taken back only when its owner is observed gone or its lease ran out. Silence is not death.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize};

use crate::json::any_as_text;
use crate::name::{Name, TaskId};
use crate::refusal::Refusal;
use crate::time::Timestamp;

mod graph;
mod status;

pub use graph::{Readiness, check_dependencies, dependants, dependency_cycle, readiness};
pub use status::Status;

/// One task, in the reference's key order; keys that it does not have stand at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Unique in the team without regard to case.
    pub id: String,
    /// What is to be done.
    #[serde(default, deserialize_with = "text_or_empty")]
    pub description: String,
    /// Where it stands.
    pub status: Status,
    /// When it was added.
    #[serde(default)]
    pub created_at: String,
    /// Who has it, or who ended it.
    #[serde(
        default,
        deserialize_with = "any_as_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub owner: Option<String>,
    /// When it was claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// The fencing token of the present claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_token: Option<String>,
    /// What came of it; while it is in progress, what there is so far.
    #[serde(
        default,
        deserialize_with = "any_as_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<String>,
    /// When it was completed or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// The tasks that must be completed first.
    #[serde(default, rename = "blocked_by", skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    /// The member that it is meant for; `None` is anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// When the present claim may be taken over, for claims with a lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<Timestamp>,
    /// How long a lease lasts from the claim, or from the last progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<i64>,
    /// How often it was claimed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

fn text_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    any_as_text(deserializer).map(Option::unwrap_or_default)
}

/// Who wants a task, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant<'a> {
    /// A member, or the leader.
    pub name: &'a Name,
    /// The token of the claim to be, never used before: see [`claim_token`].
    pub token: String,
    /// How long the claim is safe from being taken over, at least 1; `None` is until its owner is gone.
    pub lease_ms: Option<i64>,
    /// How many tasks the member holds now, this one included if it does.
    pub holding: u32,
    /// How many it may hold.
    pub limit: Option<u32>,
}

impl Claimant<'_> {
    fn check(&self, lapsed_token: Option<&str>) -> Result<(), Refusal> {
        if self.token.is_empty() || lapsed_token == Some(self.token.as_str()) {
            return Err(Refusal::input("token", "must be new"));
        }
        if self.lease_ms.is_some_and(|ms| ms < 1) {
            return Err(Refusal::input("lease_ms", "must be at least 1 millisecond"));
        }
        Ok(())
    }
}

/// The claim token in the reference's form: `<worker>-<milliseconds>-<0..999999>`.
#[must_use]
pub fn claim_token(worker: &Name, now: Timestamp, random: u32) -> String {
    alloc::format!("{worker}-{}-{}", now.as_millis(), random % 1_000_000)
}

impl Task {
    /// A task that nobody has yet.
    #[must_use]
    pub fn new(id: &TaskId, description: &str, now: Timestamp) -> Self {
        Self {
            id: id.to_string(),
            description: description.to_string(),
            status: Status::Pending,
            created_at: now.to_string(),
            owner: None,
            started_at: None,
            claim_token: None,
            result: None,
            finished_at: None,
            blocked_by: Vec::new(),
            assignee: None,
            lease_until: None,
            lease_ms: None,
            attempts: 0,
        }
    }

    /// Gives the task to `claimant`. `readiness` is what the tasks that it waits for say.
    ///
    /// # Errors
    /// `not_pending`, `invalid_input` for a token or lease that cannot be, `blocked`, `assigned_elsewhere` or
    /// `claim_limit`, in this order.
    pub fn claim(
        &mut self,
        claimant: &Claimant<'_>,
        readiness: &Readiness,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.check_free(now)?;
        claimant.check(self.claim_token.as_deref())?;
        let id = || self.id.clone();
        if let Readiness::Blocked { on, failed } = readiness {
            let (on, failed) = (on.clone(), failed.clone());
            return Err(Refusal::Blocked {
                id: id(),
                on,
                failed,
            });
        }
        let name = claimant.name.as_str();
        if let Some(member) = self.assignee.clone().filter(|member| member != name) {
            return Err(Refusal::AssignedElsewhere { id: id(), member });
        }
        let is_own = self.status == Status::InProgress && self.owner.as_deref() == Some(name);
        let others = claimant.holding.saturating_sub(u32::from(is_own));
        if let Some(limit) = claimant.limit.filter(|limit| others >= *limit) {
            return Err(Refusal::ClaimLimit {
                member: name.to_string(),
                holding: claimant.holding,
                limit,
            });
        }
        self.status = Status::InProgress;
        self.owner = Some(name.to_string());
        self.started_at = Some(now.to_string());
        self.claim_token = Some(claimant.token.clone());
        self.lease_until = claimant.lease_ms.map(|ms| now.plus_millis(ms));
        self.lease_ms = claimant.lease_ms;
        self.finished_at = None;
        self.attempts = self.attempts.saturating_add(1);
        Ok(())
    }

    /// Whether a lease ran out, or ends further ahead than it can: it was taken under a clock that was wrong.
    #[must_use]
    pub fn has_lapsed(&self, now: Timestamp) -> bool {
        self.lease_until.is_some_and(|until| match self.lease_ms {
            Some(length_ms) => !until.is_ahead(length_ms, now),
            None => until <= now,
        })
    }

    fn check_free(&self, now: Timestamp) -> Result<(), Refusal> {
        match self.status {
            Status::Pending => Ok(()),
            Status::InProgress if self.has_lapsed(now) => Ok(()),
            status => Err(Refusal::NotPending {
                id: self.id.clone(),
                status,
                owner: self.owner.clone(),
            }),
        }
    }

    fn expect(&self, expected: Status) -> Result<(), Refusal> {
        let (id, status) = (self.id.clone(), self.status);
        match status {
            _ if status == expected => Ok(()),
            Status::Completed | Status::Failed => Err(Refusal::AlreadyTerminal {
                id,
                status,
                expected,
            }),
            _ => Err(Refusal::UnexpectedStatus {
                id,
                status,
                expected,
            }),
        }
    }

    fn prove(&self, token: &str) -> Result<(), Refusal> {
        if !token.is_empty() && self.claim_token.as_deref() == Some(token) {
            return Ok(());
        }
        Err(Refusal::StaleToken {
            id: self.id.clone(),
            owner: self.owner.clone(),
        })
    }

    /// Keeps a result so far. A lease starts again.
    ///
    /// # Errors
    /// `unexpected_status`, `already_terminal` or `stale_token`.
    pub fn progress(
        &mut self,
        token: &str,
        result: Option<String>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.expect(Status::InProgress)?;
        self.prove(token)?;
        self.result = result.or(self.result.take());
        if let Some(ms) = self.lease_ms {
            self.lease_until = Some(now.plus_millis(ms));
        }
        Ok(())
    }

    /// Ends the task as completed or failed.
    ///
    /// # Errors
    /// `unexpected_status`, `already_terminal` or `stale_token`; `invalid_status` for any other end.
    pub fn finish(
        &mut self,
        token: &str,
        end: Status,
        result: Option<String>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if !matches!(end, Status::Completed | Status::Failed) {
            let (from, to) = (Status::InProgress.to_string(), end.to_string());
            return Err(Refusal::InvalidStatus { from, to });
        }
        self.expect(Status::InProgress)?;
        self.prove(token)?;
        self.status = end;
        self.result = result.or(self.result.take());
        self.finished_at = Some(now.to_string());
        self.lease_until = None;
        self.lease_ms = None;
        Ok(())
    }

    /// Gives the task back by its owner; what there was of a result stays readable.
    ///
    /// # Errors
    /// `unexpected_status`, `already_terminal` or `stale_token`.
    pub fn release(&mut self, token: &str) -> Result<(), Refusal> {
        self.expect(Status::InProgress)?;
        self.prove(token)?;
        self.free();
        Ok(())
    }

    /// Takes the task back from an owner that was observed gone, or on the leader's word. `token` is the claim that
    /// was looked at: a claim made since then stays.
    ///
    /// # Errors
    /// `unexpected_status`, `already_terminal` or `stale_token`.
    pub fn take_back(&mut self, token: Option<&str>) -> Result<(), Refusal> {
        self.expect(Status::InProgress)?;
        if self.claim_token.as_deref() != token {
            return Err(Refusal::StaleToken {
                id: self.id.clone(),
                owner: self.owner.clone(),
            });
        }
        self.free();
        Ok(())
    }

    /// Puts a failed task back to be tried again.
    ///
    /// # Errors
    /// `unexpected_status` or `already_terminal` when it did not fail; `stale_token` when a token is given and is
    /// not the one that it failed under.
    pub fn retry(&mut self, token: Option<&str>) -> Result<(), Refusal> {
        self.expect(Status::Failed)?;
        if let Some(token) = token {
            self.prove(token)?;
        }
        self.free();
        // Why it failed is no result of the attempt to come.
        self.result = None;
        Ok(())
    }

    /// Changes the status as a caller words it: progress, an end, a release or a retry. Without a `result` the one
    /// there is stays.
    ///
    /// # Errors
    /// `invalid_status` for words or a step that do not exist, and as the steps themselves say.
    pub fn transition(
        &mut self,
        from: &str,
        to: &str,
        token: &str,
        result: Option<String>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let no_such_step = || Refusal::InvalidStatus {
            from: from.to_string(),
            to: to.to_string(),
        };
        let (Some(before), Some(after)) = (Status::parse(from), Status::parse(to)) else {
            return Err(no_such_step());
        };
        match (before, after) {
            (Status::InProgress, Status::InProgress) => return self.progress(token, result, now),
            (Status::InProgress, Status::Completed | Status::Failed) => {
                return self.finish(token, after, result, now);
            }
            (Status::InProgress, Status::Pending) => self.release(token)?,
            (Status::Failed, Status::Pending) => self.retry(Some(token))?,
            _ if self.status == Status::Completed && before == Status::Completed => {
                return self.expect(Status::InProgress);
            }
            _ if self.status == Status::Completed => return self.expect(before),
            _ => return Err(no_such_step()),
        }
        self.result = result.or(self.result.take());
        Ok(())
    }

    fn free(&mut self) {
        self.status = Status::Pending;
        self.owner = None;
        self.started_at = None;
        self.claim_token = None;
        self.lease_until = None;
        self.lease_ms = None;
        self.finished_at = None;
    }
}

#[cfg(test)]
mod tests;
