//! Standing in line: first come first, and never in a circle.
//!
//! A wait is granted as soon as nobody holds its lines and nobody who came first waits for any of them. A member that
//! waits for somebody who, over others, waits for that member would wait for ever: the one whose wait closes the
//! circle is refused, with the circle. Nothing that is granted later can close one, because whoever is granted lines
//! was in the way of those behind it before.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::ToString;
use alloc::vec::Vec;

use super::grant::{Hold, Wish};
use super::{
    Answer, ClaimEvent, Claims, Conflict, Deadlock, EndCause, FilePath, Link, MOST_WAITING, Mode,
    Outcome, Request, Waiting,
};
use crate::name::Name;
use crate::refusal::Refusal;
use crate::time::Timestamp;

impl Claims {
    pub(super) fn stand_in_line(
        &mut self,
        wish: &Request<'_>,
        until: Timestamp,
        behind: Conflict,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        if until <= now {
            return Err(Refusal::ClaimConflict(behind.into()));
        }
        if let Some(wait) = self.waiting.iter_mut().find(|wait| is_same(wait, wish)) {
            // Asked again, by a process that was started anew: the place in line stays.
            if !wait.is_live(now) {
                (wait.since, wait.until) = (now, until);
            }
            wait.until = wait.until.max(until);
            wait.ttl_ms = wish.ttl_ms;
            let waiting = wait.clone();
            let outcome = Outcome::Waiting { waiting, behind };
            let mut events = Vec::new();
            self.settle(now, &mut events);
            return Ok(Answer { outcome, events });
        }
        let place = Wish {
            member: wish.member,
            file: wish.file,
            lines: wish.lines,
            before: u64::MAX,
        };
        if let Some(cycle) = self.circle(place, now) {
            return Err(Refusal::Deadlock(Deadlock::new(cycle).into()));
        }
        if self.waiting(now).count() >= MOST_WAITING {
            return Err(Refusal::TableFull {
                what: "waiting claims".into(),
                limit: MOST_WAITING as u64,
                retry_after_ms: None,
            });
        }
        let waits_for = self.in_front(place, now);
        let mut events = Vec::new();
        if wish.mode == Mode::Replace {
            self.drop_waits(wish.member, wish.file, EndCause::Replaced, &mut events);
        }
        let waiting = Waiting {
            ticket: self.number(),
            member: wish.member.clone(),
            file: wish.file.clone(),
            lines: wish.lines,
            ttl_ms: wish.ttl_ms,
            mode: wish.mode,
            since: now,
            until,
            anchor: wish.anchor.map(ToString::to_string),
        };
        self.waiting.push(waiting.clone());
        events.push(ClaimEvent::ClaimWaiting {
            waiting: waiting.clone(),
            waits_for,
        });
        self.settle(now, &mut events);
        let outcome = Outcome::Waiting { waiting, behind };
        Ok(Answer { outcome, events })
    }

    /// Gives up a wait of `member`. When it is over already, nothing happens: see [`Claims::turn`].
    pub fn withdraw(&mut self, member: &Name, ticket: u64, now: Timestamp) -> Vec<ClaimEvent> {
        let mut events = Vec::new();
        let own = |wait: &Waiting| wait.ticket == ticket && wait.member == *member;
        self.end_waits(EndCause::Released, own, &mut events);
        self.settle(now, &mut events);
        events
    }

    /// Ends a member's waits for one file.
    pub(super) fn drop_waits(
        &mut self,
        member: &Name,
        file: &FilePath,
        cause: EndCause,
        events: &mut Vec<ClaimEvent>,
    ) {
        let own = |wait: &Waiting| wait.member == *member && wait.file == *file;
        self.end_waits(cause, own, events);
    }

    pub(super) fn end_waits(
        &mut self,
        cause: EndCause,
        which: impl Fn(&Waiting) -> bool,
        events: &mut Vec<ClaimEvent>,
    ) {
        let ended = self.waiting.extract_if(.., |wait| which(wait));
        events.extend(ended.map(|waiting| ClaimEvent::WaitEnded { waiting, cause }));
    }

    /// Grants whatever can be granted, first come first.
    pub(super) fn promote(&mut self, now: Timestamp, events: &mut Vec<ClaimEvent>) {
        // A granted wait may give up other lines of its member, so those who were passed over are looked at again.
        while let Some(at) = self.grantable(now) {
            let wait = self.waiting.remove(at);
            let hold = Hold {
                id: wait.ticket,
                member: &wait.member,
                file: &wait.file,
                lines: wait.lines,
                ttl_ms: wait.ttl_ms,
                mode: wait.mode,
                anchor: wait.anchor.as_deref(),
            };
            let (claim, _) = self.hold(&hold, now, events);
            let waited_ms = u64::try_from(now.millis_since(wait.since)).unwrap_or(0);
            events.push(ClaimEvent::ClaimGranted {
                ticket: wait.ticket,
                claim,
                waited_ms,
            });
        }
    }

    fn grantable(&self, now: Timestamp) -> Option<usize> {
        let mut waits = self.waiting.iter();
        waits.position(|wait| wait.is_live(now) && self.is_free(Wish::from(wait), now))
    }

    /// Whose claims and waits come before a wish, each once. Whoever is in the way of it only over lines that its
    /// member holds counts too: the member may lose them while it waits.
    fn members_before<'a>(&'a self, wish: Wish<'a>, now: Timestamp) -> BTreeSet<&'a Name> {
        let claims = self.claims_before(wish, now).map(|claim| &claim.member);
        let waits = self.waits_before(wish, now).map(|wait| &wait.member);
        claims.chain(waits).collect()
    }

    /// A shortest circle that `wish` would close if it waited.
    fn circle(&self, wish: Wish<'_>, now: Timestamp) -> Option<Vec<Link>> {
        let mut came_from: BTreeMap<&Name, Wish<'_>> = BTreeMap::new();
        let mut open: VecDeque<&Name> = VecDeque::new();
        let mut wishes = Vec::from([wish]);
        loop {
            for wish_now in wishes {
                for waits_for in self.members_before(wish_now, now) {
                    if waits_for == wish.member {
                        return Some(back(wish_now, waits_for, &came_from));
                    }
                    if !came_from.contains_key(waits_for) {
                        came_from.insert(waits_for, wish_now);
                        open.push_back(waits_for);
                    }
                }
            }
            let member = open.pop_front()?;
            let own = self.waiting(now).filter(|wait| wait.member == *member);
            wishes = own.map(Wish::from).collect();
        }
    }
}

/// Whether a wait is what the wish asks for.
fn is_same(wait: &Waiting, wish: &Request<'_>) -> bool {
    wait.member == *wish.member
        && wait.file == *wish.file
        && wait.lines == wish.lines
        && wait.mode == wish.mode
}

/// The way back from `end`, which is where it started too, over `last`.
fn back(last: Wish<'_>, end: &Name, came_from: &BTreeMap<&Name, Wish<'_>>) -> Vec<Link> {
    let link = |wish: Wish<'_>, waits_for: &Name| Link {
        member: wish.member.clone(),
        waits_for: waits_for.clone(),
        file: wish.file.clone(),
        lines: wish.lines,
    };
    let mut way = Vec::from([link(last, end)]);
    let mut member = last.member;
    while let Some(before) = came_from.get(member).filter(|_| member != end) {
        way.push(link(*before, member));
        member = before.member;
    }
    way.reverse();
    way
}
