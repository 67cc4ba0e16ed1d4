//! Why a claim is refused: the facts of its refusals, each a sentence that a model can act on.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::Serialize;

use super::{Claim, FilePath, Lines, Waiting};
use crate::name::Name;
use crate::span::span;
use crate::time::Timestamp;

/// The most holders, waiters and free ranges that a refusal names, the lowest lines first.
const NAMED: usize = 8;

/// Somebody's hold on lines that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Who.
    pub member: Name,
    /// Which lines.
    pub lines: Lines,
    /// Until when.
    pub until: Timestamp,
    /// How long that is, in milliseconds.
    pub left_ms: u64,
}

/// Somebody who stands in line for lines that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiter {
    /// Who.
    pub member: Name,
    /// For which lines.
    pub lines: Lines,
    /// Since when.
    pub since: Timestamp,
}

/// The facts of `claim_conflict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The file.
    pub file: FilePath,
    /// The lines that were asked for.
    pub lines: Lines,
    /// Who holds some of them.
    pub holders: Vec<Holder>,
    /// Who waits for some of them, first come first.
    pub waiting: Vec<Waiter>,
    /// How many more holders and waiters there are than are named.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Which of the lines that were asked for can be had now.
    pub free: Vec<Lines>,
    /// What to do next.
    pub next: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Conflict {
    pub(super) fn new(
        file: &FilePath,
        lines: Lines,
        mut claims: Vec<&Claim>,
        waits: &[&Waiting],
        now: Timestamp,
    ) -> Self {
        claims.sort_by_key(|claim| claim.lines);
        let taken = claims.iter().map(|claim| claim.lines);
        let free = lines.without_all(taken.chain(waits.iter().map(|wait| wait.lines)));
        let more = claims.len().saturating_sub(NAMED) + waits.len().saturating_sub(NAMED);
        let holders = claims.into_iter().take(NAMED).map(|claim| Holder {
            member: claim.member.clone(),
            lines: claim.lines,
            until: claim.until,
            left_ms: u64::try_from(claim.until.millis_since(now)).unwrap_or(0),
        });
        let waiting = waits.iter().take(NAMED).map(|wait| Waiter {
            member: wait.member.clone(),
            lines: wait.lines,
            since: wait.since,
        });
        let mut conflict = Self {
            file: file.clone(),
            lines,
            holders: holders.collect(),
            waiting: waiting.collect(),
            more,
            free: free.into_iter().take(NAMED).collect(),
            next: String::new(),
        };
        conflict.next = conflict.advice();
        conflict
    }

    fn advice(&self) -> String {
        let whom = self
            .holders
            .first()
            .map(|holder| &holder.member)
            .or_else(|| self.waiting.first().map(|waiter| &waiter.member))
            .map_or_else(String::new, |member| format!("ask {member}, "));
        let free: Vec<String> = self.free.iter().map(Lines::to_string).collect();
        match free.is_empty() {
            true => format!("{whom}wait for it, or work on other lines"),
            false => format!(
                "claim only {}, which can be had now, or {whom}or wait for it",
                free.join(" or ")
            ),
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} cannot be claimed: ", self.file, self.lines)?;
        let held = self.holders.iter().map(|holder| {
            format!(
                "{} holds {} for another {}",
                holder.member,
                holder.lines,
                span(holder.left_ms)
            )
        });
        let waits = self
            .waiting
            .iter()
            .map(|waiter| format!("{} waits for {}", waiter.member, waiter.lines));
        let mut said: Vec<String> = held.chain(waits).collect();
        if self.more > 0 {
            said.push(format!("and {} more", self.more));
        }
        f.write_str(&said.join(", "))
    }
}

/// One member's wait for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Who waits.
    pub member: Name,
    /// For whom.
    pub waits_for: Name,
    /// In which file.
    pub file: FilePath,
    /// For which lines.
    pub lines: Lines,
}

/// The facts of `deadlock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deadlock {
    /// The circle of waits, from whoever asked back to it.
    pub cycle: Vec<Link>,
    /// What to do next.
    pub next: String,
}

impl Deadlock {
    pub(super) fn new(cycle: Vec<Link>) -> Self {
        let own = cycle.last().map_or_else(String::new, |link| {
            format!(
                "release what {} waits for in {}, or ",
                link.member, link.file
            )
        });
        Self {
            next: format!("{own}work on something else until the others are done"),
            cycle,
        }
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = self.cycle.iter().map(|link| {
            format!(
                "{} waits for {} over {} {}",
                link.member, link.waits_for, link.file, link.lines
            )
        });
        let links: Vec<String> = links.collect();
        write!(f, "waiting would never end: {}", links.join(", "))
    }
}

/// The facts of `not_claimed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotClaimed {
    /// Who asked.
    pub member: Name,
    /// The file.
    pub file: FilePath,
    /// The lines that were named; `None` is the whole file.
    pub lines: Option<Lines>,
    /// What the member holds in that file.
    pub held: Vec<Lines>,
}

impl fmt::Display for NotClaimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} holds no lines of {}", self.member, self.file)?;
        match self.lines {
            Some(lines) => write!(f, " in {lines}"),
            None => Ok(()),
        }
    }
}
