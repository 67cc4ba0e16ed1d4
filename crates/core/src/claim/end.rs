//! The ends of claims: given back, expired, gone with their member; and claims that follow their lines.

use alloc::string::String;
use alloc::vec::Vec;

use super::{
    Claim, ClaimEvent, Claims, Conflict, EndCause, FilePath, LONGEST_MS, Lines, NotClaimed,
};
use crate::name::Name;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Where a claim is to be from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The claim.
    pub id: u64,
    /// Its lines.
    pub lines: Lines,
    /// What is known about their content.
    pub anchor: Option<String>,
}

impl Claims {
    /// Gives back what `member` holds of `file`: all of it, with its waits for the file, or the lines of `part`.
    ///
    /// # Errors
    /// `not_claimed` when it holds none of them, with what it holds.
    pub fn release(
        &mut self,
        member: &Name,
        file: &FilePath,
        part: Option<Lines>,
        now: Timestamp,
    ) -> Result<Vec<ClaimEvent>, Refusal> {
        let own = self.index.of_member(file, member).iter().copied();
        let meant = |id: &u64| match (self.held.get(id), part) {
            (Some(claim), Some(part)) => claim.lines.overlaps(part),
            (claim, None) => claim.is_some(),
            (None, _) => false,
        };
        let meant: Vec<u64> = own.filter(meant).collect();
        let mut waits = self.waiting.iter();
        let waits = part.is_none() && waits.any(|w| w.member == *member && w.file == *file);
        if meant.is_empty() && !waits {
            return Err(self.not_claimed(member, file, part));
        }
        let mut events = Vec::new();
        for id in meant {
            if let Some(claim) = self.take(id) {
                self.give_back(claim, part, now, &mut events);
            }
        }
        if part.is_none() {
            self.drop_waits(member, file, EndCause::Released, &mut events);
        }
        self.settle(now, &mut events);
        Ok(events)
    }

    fn not_claimed(&self, member: &Name, file: &FilePath, part: Option<Lines>) -> Refusal {
        let own = self.index.of_member(file, member).iter();
        let mut held: Vec<Lines> = own
            .filter_map(|id| self.held.get(id))
            .map(|claim| claim.lines)
            .collect();
        held.sort();
        Refusal::NotClaimed(
            NotClaimed {
                member: member.clone(),
                file: file.clone(),
                lines: part,
                held,
            }
            .into(),
        )
    }

    /// Ends `claim`, which was taken out, or the lines of `part`; the rest is put back.
    fn give_back(
        &mut self,
        claim: Claim,
        part: Option<Lines>,
        now: Timestamp,
        events: &mut Vec<ClaimEvent>,
    ) {
        let (part, cause) = match part {
            Some(part) if claim.is_live(now) => (part, EndCause::Released),
            None if claim.is_live(now) => (claim.lines, EndCause::Released),
            _ => (claim.lines, EndCause::Expired),
        };
        let mut id = claim.id;
        for lines in claim.lines.without(part) {
            self.put(Claim {
                id,
                lines,
                anchor: None,
                ..claim.clone()
            });
            id = self.number();
        }
        let lines = claim.lines.common(part).unwrap_or(claim.lines);
        let claim = Claim { lines, ..claim };
        events.push(ClaimEvent::ClaimEnded { claim, cause });
    }

    /// Ends everything of a member that stopped, crashed or was dissolved.
    pub fn end_member(
        &mut self,
        member: &Name,
        cause: EndCause,
        now: Timestamp,
    ) -> Vec<ClaimEvent> {
        let mut events = Vec::new();
        let own = self.held.values().filter(|claim| claim.member == *member);
        let own: Vec<u64> = own.map(|claim| claim.id).collect();
        for claim in own.into_iter().filter_map(|id| self.take(id)) {
            events.push(ClaimEvent::ClaimEnded { claim, cause });
        }
        self.end_waits(cause, |wait| wait.member == *member, &mut events);
        self.settle(now, &mut events);
        events
    }

    /// Ends everything of everybody at once, as when the team ends. Nothing is granted on the way: nobody is left whom
    /// it could be granted to.
    pub fn end_everybody(&mut self, cause: EndCause) -> Vec<ClaimEvent> {
        let mut events = Vec::new();
        self.end_waits(cause, |_| true, &mut events);
        let held: Vec<u64> = self.held.keys().copied().collect();
        for claim in held.into_iter().filter_map(|id| self.take(id)) {
            events.push(ClaimEvent::ClaimEnded { claim, cause });
        }
        events
    }

    /// Takes out what has expired or given up.
    pub(super) fn collect(&mut self, now: Timestamp, events: &mut Vec<ClaimEvent>) {
        let is_over = |(at, _): &(Timestamp, u64)| !at.is_ahead(LONGEST_MS, now);
        while let Some((_, id)) = self
            .index
            .outer_deadlines()
            .into_iter()
            .flatten()
            .find(is_over)
        {
            let Some(claim) = self.take(id) else {
                break;
            };
            events.push(ClaimEvent::ClaimEnded {
                claim,
                cause: EndCause::Expired,
            });
        }
        self.end_waits(EndCause::Expired, |wait| !wait.is_live(now), events);
    }

    /// Does what time does: ends what has expired and grants what can be had since. Every call that changes
    /// something does it on the way; a sweep only makes it happen without one.
    pub fn sweep(&mut self, now: Timestamp) -> Vec<ClaimEvent> {
        let mut events = Vec::new();
        self.settle(now, &mut events);
        events
    }

    /// A sweep after `events`. Lines come free only by an end, so without one nobody can be granted any.
    pub(super) fn settle(&mut self, now: Timestamp, events: &mut Vec<ClaimEvent>) {
        self.collect(now, events);
        if !events.is_empty() {
            self.promote(now, events);
        }
    }

    /// Lets claims and waits of one file follow their lines, all at once. Those that are over are left out.
    ///
    /// Moving everything by the same change of the file keeps who is in whose way. A caller that moves only some may
    /// leave members waiting for each other, until the first of their claims expires.
    ///
    /// # Errors
    /// `claim_conflict` when two claims would share a line; then none is moved.
    pub fn relocate(
        &mut self,
        file: &FilePath,
        moves: &[Move],
        now: Timestamp,
    ) -> Result<Vec<ClaimEvent>, Refusal> {
        let mut moved = self.clone();
        let mut events = Vec::new();
        moved.collect(now, &mut events);
        let mut taken = Vec::new();
        for to in moves {
            for wait in &mut moved.waiting {
                if wait.ticket == to.id && wait.file == *file {
                    wait.lines = to.lines;
                    wait.anchor.clone_from(&to.anchor);
                }
            }
            let here = moved.held.get(&to.id);
            if here.is_some_and(|claim| claim.file == *file) {
                taken.extend(moved.take(to.id).map(|claim| (claim, to)));
            }
        }
        for (claim, to) in taken {
            let other = moved.index.overlapping(file, to.lines).next();
            if let Some(other) = other.and_then(|id| moved.held.get(&id)) {
                let conflict = Conflict::new(file, to.lines, Vec::from([other]), &[], now);
                return Err(Refusal::ClaimConflict(conflict.into()));
            }
            let from = claim.lines;
            let claim = Claim {
                lines: to.lines,
                anchor: to.anchor.clone(),
                ..claim
            };
            moved.put(claim.clone());
            if from != claim.lines {
                events.push(ClaimEvent::ClaimMoved { claim, from });
            }
        }
        moved.promote(now, &mut events);
        *self = moved;
        Ok(events)
    }
}
