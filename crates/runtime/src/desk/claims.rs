//! Claims on lines: taking them, waiting for them, giving them back, and their end with their holder.
//!
//! The rules are core's ([`pitcrew_core::claim`]); here they meet the store. Every call that changes the table also
//! does what time has done meanwhile, and tells a holder whose claim ran out. A claim whose deadline has come holds
//! nothing by comparison alone, so nothing depends on when that happens.
//!
//! A wait is a place in line in the document, so it outlives nobody: it has a deadline of its own, and whoever waits
//! looks again on every change of the table and when the next deadline comes.

use std::time::Duration;

use pitcrew_core::claim::{
    Anchor, Answer, Claim, ClaimEvent, Claims, EndCause, FileLines, FilePath, Lines, Mode,
    Patience, Request, Turn, Waiting,
};
use pitcrew_core::event::Fact;
use pitcrew_core::limiter::LimitEvent;
use pitcrew_core::liveness::Wait;
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Change, Place, StoreExt, Watch};

use super::{Credentials, Desk, NotDone};

/// The longest that a wait for lines sits without looking by itself.
const SITTING_MS: u64 = 20_000;

/// A wish for lines whose speaker is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimWish {
    /// In which file.
    pub file: FilePath,
    /// Which lines.
    pub lines: Lines,
    /// For how long, in milliseconds.
    pub ttl_ms: u64,
    /// What becomes of the member's other lines in that file.
    pub mode: Mode,
    /// What to do when they cannot be had at once.
    pub patience: Patience,
    /// What the file says now, if it is there and is text: what the claims on it are found by, now and later.
    pub text: Option<FileLines>,
}

/// Where a wait stands, and when to look again if nothing changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimTurn {
    /// Still in line.
    Waiting {
        /// The place.
        waiting: Waiting,
        /// When something happens by itself.
        again_at: Option<Timestamp>,
    },
    /// The lines are held.
    Held(Claim),
    /// Given up, or granted and ended since.
    Over,
}

/// What ended with a member.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemberEnd {
    /// Its claims and waits, and what that let others have.
    pub claims: Vec<ClaimEvent>,
    /// Its reservations.
    pub limits: Vec<LimitEvent>,
}

impl Desk<'_> {
    /// The claims as they are now; expired ones may still be in the document, see [`Claims::held`].
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn claims(&self) -> Result<Claims, NotDone> {
        Ok(self.store.view::<Claims>(&())?.unwrap_or_default())
    }

    /// Claims lines for whoever speaks. A wish with patience may answer a place in line instead.
    ///
    /// # Errors
    /// As [`Desk::speaker`] and [`Claims::claim`] say. `unknown_member` when the member was removed meanwhile,
    /// `shut_down`.
    pub fn claim_lines(&self, who: &Credentials, wish: &ClaimWish) -> Result<Answer, NotDone> {
        let member = self.speaker(&self.open_roster()?, who)?.name;
        let text = wish.text.as_ref();
        let anchor = text.and_then(|text| Anchor::take(wish.lines, text));
        let anchor = anchor.map(|anchor| anchor.to_string());
        let request = Request {
            member: &member,
            file: &wish.file,
            lines: wish.lines,
            ttl_ms: wish.ttl_ms,
            mode: wish.mode,
            patience: wish.patience,
            anchor: anchor.as_deref(),
        };
        let answer = self.claim_lines_on(&request, text)?;
        // A member that was removed between the two looks, or whose team was shut down, would hold lines that nobody
        // gives back.
        let still = self
            .open_roster()
            .and_then(|roster| Ok(roster.sender(member.as_str()).map(drop)?));
        if let Err(gone) = still {
            self.end_member(&member, EndCause::Dissolved)?;
            return Err(gone);
        }
        Ok(answer)
    }

    /// Claims lines for a member that is known already, in a file of which nothing is known.
    ///
    /// # Errors
    /// As [`Claims::claim`] says.
    pub fn claim_lines_as(&self, request: &Request<'_>) -> Result<Answer, NotDone> {
        self.claim_lines_on(request, None)
    }

    /// Claims lines for a member that is known already, after every claim on the file has followed its lines to where
    /// they are in `text`.
    ///
    /// # Errors
    /// As [`Claims::claim`] says.
    pub fn claim_lines_on(
        &self,
        request: &Request<'_>,
        text: Option<&FileLines>,
    ) -> Result<Answer, NotDone> {
        let answer = self.on_whole(|claims: &mut Claims| {
            let now = self.now();
            let Some(text) = text else {
                return claims.claim(request, now);
            };
            // A refusal leaves everything as it was, so what follows is kept only with what was asked.
            let mut ahead = claims.clone();
            let followed = ahead.follow(request.file, text, now);
            let mut answer = ahead.claim(request, now)?;
            ahead.remember(request.member, request.file, text);
            answer.events.splice(0..0, followed.events);
            *claims = ahead;
            Ok(answer)
        });
        if let Err(NotDone::Refused(refused)) = &answer
            && let Some(refused) = Fact::claim_refused(request, refused)
        {
            self.announce(&[refused]);
        }
        let answer = answer?;
        self.tell_of_claims(&answer.events)?;
        Ok(answer)
    }

    /// Gives back what a member holds of a file of which nothing is known: all of it with its waits, or the lines of
    /// `part`.
    ///
    /// # Errors
    /// As [`Claims::release`] says.
    pub fn release_lines(
        &self,
        member: &Name,
        file: &FilePath,
        part: Option<Lines>,
    ) -> Result<Vec<ClaimEvent>, NotDone> {
        self.release_lines_on(member, file, part, None)
    }

    /// Gives back what a member holds of a file: all of it with its waits, or the lines of `part` where they are in
    /// `text`, what the file says now.
    ///
    /// # Errors
    /// As [`Claims::release`] says.
    pub fn release_lines_on(
        &self,
        member: &Name,
        file: &FilePath,
        part: Option<Lines>,
        text: Option<&FileLines>,
    ) -> Result<Vec<ClaimEvent>, NotDone> {
        let events = self.on_whole(|claims: &mut Claims| {
            let now = self.now();
            let Some(text) = text else {
                return claims.release(member, file, part, now);
            };
            let mut ahead = claims.clone();
            let mut events = ahead.follow(file, text, now).events;
            events.extend(ahead.release(member, file, part, now)?);
            ahead.remember(member, file, text);
            *claims = ahead;
            Ok(events)
        })?;
        self.tell_of_claims(&events)?;
        Ok(events)
    }

    /// Looks where a wait stands, after doing what time has done.
    ///
    /// # Errors
    /// When the claims cannot be read or kept.
    pub fn claim_turn(&self, ticket: u64) -> Result<ClaimTurn, NotDone> {
        let mut claims = self.claims()?;
        if claims.next_deadline().is_some_and(|at| at <= self.now()) {
            let (swept, events) = self.on_whole(|claims: &mut Claims| {
                let events = claims.sweep(self.now());
                Ok((claims.clone(), events))
            })?;
            self.tell_of_claims(&events)?;
            claims = swept;
        }
        Ok(turn_of(&claims, ticket, self.now()))
    }

    /// Gives a wait up, unless it has been granted: then the answer is what is held.
    ///
    /// # Errors
    /// When the claims cannot be kept.
    pub fn withdraw_claim(&self, member: &Name, ticket: u64) -> Result<ClaimTurn, NotDone> {
        let (turn, events) = self.on_whole(|claims: &mut Claims| {
            let events = claims.withdraw(member, ticket, self.now());
            Ok((turn_of(claims, ticket, self.now()), events))
        })?;
        self.tell_of_claims(&events)?;
        Ok(turn)
    }

    /// Blocks until a wait is over, in whichever way. It has a deadline of its own, so this comes back.
    ///
    /// # Errors
    /// When the store can be watched no longer, or the claims cannot be read.
    pub fn await_claim(&self, ticket: u64) -> Result<ClaimTurn, NotDone> {
        // Watched from before the first look, so that nothing between the two is missed.
        let mut watch = self.store.watch()?;
        loop {
            let turn = self.claim_turn(ticket)?;
            let ClaimTurn::Waiting { again_at, .. } = &turn else {
                return Ok(turn);
            };
            let left = again_at.map(|at| at.millis_since(self.now()).max(1).unsigned_abs());
            let sitting = Duration::from_millis(left.unwrap_or(SITTING_MS).min(SITTING_MS));
            self.sit(&mut *watch, sitting)?;
        }
    }

    /// Sits until the claims change, or for `span`.
    fn sit(&self, watch: &mut dyn Watch, span: Duration) -> Result<(), NotDone> {
        let begun = self.clock.monotonic();
        loop {
            let sat = (self.clock.monotonic() - begun).unsigned_abs();
            let left = span.saturating_sub(Duration::from_millis(sat));
            match watch.next(left)? {
                Some(change) if !moves_claims(&change) && !left.is_zero() => {}
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// Ends what a member held: its claims, its waits and its reservations. For whoever ends members, before that is
    /// reported as done.
    ///
    /// # Errors
    /// When something cannot be kept. What is left then ends by its own deadline.
    pub fn end_member(&self, member: &Name, cause: EndCause) -> Result<MemberEnd, NotDone> {
        let mut end = MemberEnd::default();
        if self.store.view::<Claims>(&())?.is_some() {
            end.claims = self
                .on_whole(|claims: &mut Claims| Ok(claims.end_member(member, cause, self.now())))?;
            self.tell_of_claims(&end.claims)?;
        }
        end.limits = self.end_reservations(member)?;
        Ok(end)
    }

    /// Ends what every member held, when the team itself ends: all claims and waits in one step, so that nobody who
    /// waits is granted the lines of somebody who is ended before.
    pub(super) fn end_everybody(&self) -> Result<(), NotDone> {
        if self.store.view::<Claims>(&())?.is_some() {
            let cause = EndCause::Dissolved;
            let ended = self.on_whole(|claims: &mut Claims| Ok(claims.end_everybody(cause)))?;
            self.tell_of_claims(&ended)?;
        }
        for member in &self.with_reservations()? {
            self.end_reservations(member)?;
        }
        Ok(())
    }

    /// Writes down what happened to claims, and tells the holders of those that ran out, each once.
    pub(super) fn tell_of_claims(&self, events: &[ClaimEvent]) -> Result<(), NotDone> {
        if let [event] = events
            && waits(event).is_none()
        {
            self.announce(&[Fact::from(event)]);
        } else {
            let told = events
                .iter()
                .flat_map(|event| [Some(Fact::from(event)), waits(event)]);
            self.announce(&told.flatten().collect::<Vec<_>>());
        }
        let mut expired = events.iter().filter_map(|event| match event {
            ClaimEvent::ClaimEnded {
                claim,
                cause: EndCause::Expired,
            } => Some(claim),
            _ => None,
        });
        let Some(first) = expired.next() else {
            return Ok(());
        };
        let team = self.roster()?;
        for claim in std::iter::once(first).chain(expired) {
            // A holder that is no member any more has nobody to be told.
            if team.recipient(claim.member.as_str()).is_err() {
                continue;
            }
            let notice = Draft {
                body: format!(
                    "Your claim on {} {} ran out at {}. Others may have these lines now: claim them again before you \
                     edit them.",
                    claim.file, claim.lines, claim.until
                ).into(),
                intent: Some(Intent::Inform),
                reply_to: None,
                idempotency_key: Some(format!("claim-expired:{}:{}", claim.id, claim.until)),
            };
            self.inform(&team, &Name::leader(), claim.member.as_str(), &notice)?;
        }
        Ok(())
    }
}

/// What `event` says about who waits.
fn waits(event: &ClaimEvent) -> Option<Fact> {
    let (claim, on) = match event {
        ClaimEvent::ClaimWaiting { waiting, waits_for } => (waiting, Some(waits_for.clone())),
        ClaimEvent::WaitEnded { waiting, .. } => (waiting, None),
        ClaimEvent::ClaimGranted { claim, .. } => {
            return Some(Fact::WaitOver {
                member: claim.member.clone(),
                reason: Wait::Claim,
                about: Some(format!("{} {}", claim.file, claim.lines)),
            });
        }
        _ => return None,
    };
    let about = Some(format!("{} {}", claim.file, claim.lines));
    let (member, reason) = (claim.member.clone(), Wait::Claim);
    Some(match on {
        Some(on) => Fact::WaitBegan {
            member,
            reason,
            on,
            about,
        },
        None => Fact::WaitOver {
            member,
            reason,
            about,
        },
    })
}

fn turn_of(claims: &Claims, ticket: u64, now: Timestamp) -> ClaimTurn {
    match claims.turn(ticket, now) {
        Turn::Waiting(waiting) => ClaimTurn::Waiting {
            waiting: waiting.clone(),
            again_at: claims.next_deadline(),
        },
        Turn::Held(claim) => ClaimTurn::Held(claim.clone()),
        Turn::Over => ClaimTurn::Over,
    }
}

/// Whether `change` can have moved somebody in line.
#[must_use]
pub fn moves_claims(change: &Change) -> bool {
    matches!(change, Change::Document(Place::Claims) | Change::Lagged)
}
