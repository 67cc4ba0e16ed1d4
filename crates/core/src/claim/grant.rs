//! Claiming: whether lines can be had, and what holding them does to the member's other lines.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{
    Answer, Claim, ClaimEvent, Claims, Conflict, EndCause, FilePath, Lines, MOST_HELD, MOST_TTL_MS,
    Mode, Outcome, Patience, Request, Waiting,
};
use crate::name::Name;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Lines that somebody wants, with the place in line: everybody before `before` goes first.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) member: &'a Name,
    pub(super) file: &'a FilePath,
    pub(super) lines: Lines,
    pub(super) before: u64,
}

impl<'a> From<&'a Waiting> for Wish<'a> {
    fn from(wait: &'a Waiting) -> Self {
        Self {
            member: &wait.member,
            file: &wait.file,
            lines: wait.lines,
            before: wait.ticket,
        }
    }
}

/// What is to be held.
pub(super) struct Hold<'a> {
    pub(super) id: u64,
    pub(super) member: &'a Name,
    pub(super) file: &'a FilePath,
    pub(super) lines: Lines,
    pub(super) ttl_ms: u64,
    pub(super) mode: Mode,
    pub(super) anchor: Option<&'a str>,
}

fn later(now: Timestamp, ms: u64) -> Timestamp {
    now.plus_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}

impl Claims {
    /// Claims lines. The lines that the member holds already are renewed by claiming them again.
    ///
    /// # Errors
    /// `claim_conflict`, unless the wish has patience; `deadlock` when its patience would never end; `table_full`;
    /// `invalid_input` for a time to live of nothing or of more than a day.
    pub fn claim(&mut self, wish: &Request<'_>, now: Timestamp) -> Result<Answer, Refusal> {
        if !(1..=MOST_TTL_MS).contains(&wish.ttl_ms) {
            let why = "must be between one millisecond and one day";
            return Err(Refusal::input("ttl_ms", why));
        }
        let place = Wish {
            member: wish.member,
            file: wish.file,
            lines: wish.lines,
            before: u64::MAX,
        };
        if !self.is_free(place, now) {
            let conflict = self.conflict(place, now);
            return match wish.patience {
                Patience::None => Err(Refusal::ClaimConflict(conflict.into())),
                Patience::Until(until) => self.stand_in_line(wish, until, conflict, now),
            };
        }
        if self.held.len() >= MOST_HELD && self.held(now).count() >= MOST_HELD {
            let first = self.index.first_deadline();
            let wait = first.map(|(until, _)| until.millis_since(now));
            return Err(Refusal::TableFull {
                what: "claims".into(),
                limit: MOST_HELD as u64,
                retry_after_ms: wait.and_then(|ms| u64::try_from(ms).ok()),
            });
        }
        let mut events = Vec::new();
        self.collect(now, &mut events);
        if wish.mode == Mode::Replace {
            self.drop_waits(wish.member, wish.file, EndCause::Replaced, &mut events);
        }
        let id = self.number();
        let hold = Hold {
            id,
            member: wish.member,
            file: wish.file,
            lines: wish.lines,
            ttl_ms: wish.ttl_ms,
            mode: wish.mode,
            anchor: wish.anchor,
        };
        let (claim, event) = self.hold(&hold, now, &mut events);
        let freed = !events.is_empty();
        events.push(event);
        if freed {
            self.promote(now, &mut events);
        }
        let outcome = Outcome::Held { claim };
        Ok(Answer { outcome, events })
    }

    pub(super) fn number(&mut self) -> u64 {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        id
    }

    /// The live claims of others that have a line of the wish.
    pub(super) fn claims_before<'a>(
        &'a self,
        wish: Wish<'a>,
        now: Timestamp,
    ) -> impl Iterator<Item = &'a Claim> {
        let found = self.index.overlapping(wish.file, wish.lines);
        found
            .filter_map(|id| self.held.get(&id))
            .filter(move |claim| claim.member != *wish.member && claim.is_live(now))
    }

    /// The waits of others that came first and want a line of the wish.
    pub(super) fn waits_before<'a>(
        &'a self,
        wish: Wish<'a>,
        now: Timestamp,
    ) -> impl Iterator<Item = &'a Waiting> {
        self.waiting.iter().filter(move |wait| {
            wait.ticket < wish.before
                && wait.is_live(now)
                && wait.lines.overlaps(wish.lines)
                && wait.file == *wish.file
                && wait.member != *wish.member
        })
    }

    /// Whether the member of the wish holds the lines already for which this wait came first.
    fn keeps(&self, wish: Wish<'_>, wait: &Waiting, now: Timestamp) -> bool {
        let wanted = wait.lines.common(wish.lines);
        wanted.is_none_or(|lines| self.has(wish, lines, now))
    }

    /// Whether nothing is in the way of a wish: no live claim of another, and no wait of another that came first,
    /// except over lines that the member holds already.
    pub(super) fn is_free(&self, wish: Wish<'_>, now: Timestamp) -> bool {
        let claimed = self.claims_before(wish, now).next().is_some();
        !claimed
            && self
                .waits_before(wish, now)
                .all(|wait| self.keeps(wish, wait, now))
    }

    /// Who is in the way of a wish, each once.
    pub(super) fn in_front(&self, wish: Wish<'_>, now: Timestamp) -> Vec<Name> {
        let claims = self.claims_before(wish, now).map(|claim| &claim.member);
        let waits = self.waits_before(wish, now);
        let waits = waits.filter(|wait| !self.keeps(wish, wait, now));
        let members: BTreeSet<&Name> = claims.chain(waits.map(|wait| &wait.member)).collect();
        members.into_iter().cloned().collect()
    }

    /// Whom a wait waits for, each once.
    #[must_use]
    pub fn in_front_of(&self, wait: &Waiting, now: Timestamp) -> Vec<Name> {
        self.in_front(wait.into(), now)
    }

    /// What is in the way of a wish that is not free.
    fn conflict(&self, wish: Wish<'_>, now: Timestamp) -> Conflict {
        let claims = self.claims_before(wish, now).collect();
        let waits = self.waits_before(wish, now);
        let waits: Vec<&Waiting> = waits.filter(|wait| !self.keeps(wish, wait, now)).collect();
        Conflict::new(wish.file, wish.lines, claims, &waits, now)
    }

    /// Whether the member of a wish holds all of `lines`.
    fn has(&self, wish: Wish<'_>, lines: Lines, now: Timestamp) -> bool {
        let own = self.index.of_member(wish.file, wish.member).iter();
        let own = own.filter_map(|id| self.held.get(id));
        let live = own.filter(|claim| claim.is_live(now));
        lines.without_all(live.map(|claim| claim.lines)).is_empty()
    }

    /// Makes a hold that nothing is in the way of. Answers the claim and what it is: made or renewed.
    pub(super) fn hold(
        &mut self,
        hold: &Hold<'_>,
        now: Timestamp,
        events: &mut Vec<ClaimEvent>,
    ) -> (Claim, ClaimEvent) {
        let until = later(now, hold.ttl_ms);
        let own: Vec<u64> = self.index.of_member(hold.file, hold.member).to_vec();
        let renewed = match (hold.mode, &own[..]) {
            (Mode::Replace, [id]) => self.held.get(id).filter(|own| own.lines == hold.lines),
            (Mode::Replace, _) => None,
            (Mode::Extend, own) => {
                let mut own = own.iter().filter_map(|id| self.held.get(id));
                own.find(|own| own.lines.span(hold.lines) == own.lines)
            }
        };
        if let Some((id, before)) = renewed.map(|own| (own.id, own.until)) {
            let until = match hold.mode {
                Mode::Replace => until,
                Mode::Extend => until.max(before),
            };
            if let Some(claim) = self.renew(id, until, hold) {
                let event = ClaimEvent::ClaimRenewed {
                    claim: claim.clone(),
                };
                return (claim, event);
            }
        }
        let mut claim = Claim {
            id: hold.id,
            member: hold.member.clone(),
            file: hold.file.clone(),
            lines: hold.lines,
            since: now,
            until,
            anchor: hold.anchor.map(ToString::to_string),
        };
        match (hold.mode, &own[..]) {
            (Mode::Replace, [only]) => self.exchange(*only, &claim, events),
            (Mode::Replace, _) => {
                for old in own.into_iter().filter_map(|id| self.take(id)) {
                    events.push(ClaimEvent::ClaimEnded {
                        claim: old,
                        cause: EndCause::Replaced,
                    });
                }
                self.put(claim.clone());
            }
            (Mode::Extend, _) => {
                self.absorb(&mut claim, own);
                self.put(claim.clone());
            }
        }
        let event = ClaimEvent::ClaimMade {
            claim: claim.clone(),
        };
        (claim, event)
    }

    /// Puts `claim` in the place of the only one that its member has on the file.
    fn exchange(&mut self, old: u64, claim: &Claim, events: &mut Vec<ClaimEvent>) {
        match self.held.remove(&old) {
            Some(old) => {
                self.index.replace(&old, claim);
                self.held.insert(claim.id, claim.clone());
                events.push(ClaimEvent::ClaimEnded {
                    claim: old,
                    cause: EndCause::Replaced,
                });
            }
            None => self.put(claim.clone()),
        }
    }

    /// Makes the member's own ranges that touch `claim` part of it.
    fn absorb(&mut self, claim: &mut Claim, mut own: Vec<u64>) {
        let asked = claim.lines;
        // One that is taken in may make the range touch another.
        loop {
            let touching = own.iter().position(|id| {
                let kept = self.held.get(id);
                kept.is_some_and(|kept| kept.lines.touches(claim.lines))
            });
            let Some(old) = touching.and_then(|at| self.take(own.swap_remove(at))) else {
                break;
            };
            claim.lines = claim.lines.span(old.lines);
            claim.until = claim.until.max(old.until);
            claim.since = claim.since.min(old.since);
        }
        if claim.lines != asked {
            claim.anchor = None;
        }
    }

    fn renew(&mut self, id: u64, until: Timestamp, hold: &Hold<'_>) -> Option<Claim> {
        let claim = self.held.get_mut(&id)?;
        self.index.renew(id, claim.until, until);
        claim.until = until;
        if let Some(anchor) = hold.anchor.filter(|_| claim.lines == hold.lines) {
            claim.anchor = Some(anchor.to_string());
        }
        Some(claim.clone())
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Claim> {
        let claim = self.held.remove(&id)?;
        self.index.remove(&claim);
        Some(claim)
    }

    pub(super) fn put(&mut self, claim: Claim) {
        self.index.insert(&claim);
        self.held.insert(claim.id, claim);
    }
}
