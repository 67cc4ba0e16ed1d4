//! Members that a program brings into a team and takes out again, many at once and with all that follows.
//!
//! Bringing in is one change of the roster: the member, its new incarnation and the hash of its token, so nobody sees
//! one without the others. Taking out ends what a member held before it answers. What time does to claims and
//! reservations is here too, for whoever keeps a team in one process.

use pitcrew_core::claim::{Claims, EndCause};
use pitcrew_core::event::Fact;
use pitcrew_core::identity::hash_token;
use pitcrew_core::limiter::Limiter;
use pitcrew_core::roster::{Recruit, Seat};
use pitcrew_core::{Name, Refusal, Timestamp};
use pitcrew_store::StoreExt;

use super::{Desk, NotDone};
use crate::process::{Identity, Presence};
use crate::run::record::ProcessRecord;

/// A member to be brought in.
#[derive(Debug, Clone)]
pub(crate) struct Enlisting {
    /// Who.
    pub(crate) recruit: Recruit,
    /// The token of its life.
    pub(crate) token: String,
}

impl Desk<'_> {
    /// Brings members in, each with a new incarnation. One that a program which has ended left behind is taken over.
    /// Answers for each whether it is in, and its incarnation.
    ///
    /// # Errors
    /// When the roster cannot be kept or the team takes no new work; then nobody was brought in.
    pub(crate) fn enlist(
        &self,
        members: &[Enlisting],
        process: &Identity,
    ) -> Result<Vec<Result<u32, Refusal>>, NotDone> {
        self.takes_work()?;
        let entering: Vec<(Recruit, String)> = members
            .iter()
            .map(|member| (member.recruit.clone(), hash_token(&member.token)))
            .collect();
        let mut answers = self.change_roster(|team| Ok(team.enlist(&entering)))?;
        let mut left_behind = Vec::new();
        let exists =
            |answer: &Result<u32, Refusal>| matches!(answer, Err(Refusal::MemberExists { .. }));
        for (at, member) in members.iter().enumerate() {
            // Of one name twice in the same step only the first can be a member that is taken over.
            if exists(&answers[at])
                && members[..at]
                    .iter()
                    .all(|other| other.recruit.name != member.recruit.name)
                && self.is_left_behind(&member.recruit.name, process)?
            {
                left_behind.push(at);
            }
        }
        if !left_behind.is_empty() {
            let again: Vec<&Enlisting> = left_behind.iter().map(|at| &members[*at]).collect();
            for (at, answer) in left_behind.iter().zip(self.take_over(&again)?) {
                answers[*at] = answer;
            }
        }
        let mut facts = Vec::new();
        for (at, (member, answer)) in members.iter().zip(&answers).enumerate() {
            let Ok(incarnation) = answer else { continue };
            let name = &member.recruit.name;
            self.note_process(name, process, *incarnation)?;
            let member = name.clone();
            if left_behind.contains(&at) {
                let incarnation = *incarnation;
                facts.push(Fact::TokenIssued {
                    member,
                    incarnation,
                });
            } else {
                facts.push(Fact::MemberAdded { member });
            }
        }
        self.announce(&facts);
        Ok(answers)
    }

    /// Takes over members that are in the roster already.
    fn take_over(&self, members: &[&Enlisting]) -> Result<Vec<Result<u32, Refusal>>, NotDone> {
        self.change_roster(|team| {
            let lives = members.iter().map(|member| {
                let name = member.recruit.name.as_str();
                team.incarnate(name, hash_token(&member.token))
            });
            Ok(lives.collect())
        })
    }

    /// Whether a member of the roster is an agent of a program that has ended, or of an earlier team of this one.
    fn is_left_behind(&self, name: &Name, own: &Identity) -> Result<bool, NotDone> {
        let team = self.roster()?;
        let member = team.member(name.as_str());
        if member.and_then(|member| member.seat) != Some(Seat::Model) {
            return Ok(false);
        }
        let record = self.store.view::<ProcessRecord>(name)?;
        let lives = record
            .filter(|record| record.ended_at.is_none())
            .and_then(|record| record.process);
        Ok(lives.is_none_or(|process| {
            process == *own || matches!(process.presence(), Presence::Gone | Presence::Recycled)
        }))
    }

    /// Notes that a member runs in `process` from now on.
    fn note_process(
        &self,
        name: &Name,
        process: &Identity,
        incarnation: u32,
    ) -> Result<(), NotDone> {
        let record = ProcessRecord {
            turn: format!("team:{}:{name}", self.team),
            number: incarnation,
            run: format!("team:{}", self.team),
            task: None,
            claim_token: None,
            started_at: self.now(),
            process: Some(process.clone()),
            ended_at: None,
            outcome: None,
        };
        let kept = self
            .store
            .update::<ProcessRecord, (), Refusal>(name, |slot| {
                *slot = Some(record.clone());
                Ok(())
            })?;
        Ok(kept?)
    }

    /// Starts a new life of a member that is in the team: what has its token from before can do nothing any more.
    ///
    /// # Errors
    /// `unknown_member`; when it cannot be kept.
    pub(crate) fn revive(
        &self,
        name: &Name,
        token: &str,
        process: &Identity,
    ) -> Result<u32, NotDone> {
        let hash = hash_token(token);
        let incarnation = self.change_roster(|team| team.incarnate(name.as_str(), hash.clone()))?;
        self.note_process(name, process, incarnation)?;
        let member = name.clone();
        self.announce(&[Fact::TokenIssued {
            member,
            incarnation,
        }]);
        Ok(incarnation)
    }

    /// Ends what members held, whose lives are over: claims, waits, reservations and the hold on their tasks. They stay
    /// in the team.
    ///
    /// # Errors
    /// When something cannot be kept. What is left then ends by its own deadline.
    pub(crate) fn end_lives(
        &self,
        members: &[Name],
        cause: EndCause,
        outcome: &str,
    ) -> Result<(), NotDone> {
        for name in members {
            self.end_member(name, cause)?;
            self.store
                .update::<ProcessRecord, (), Refusal>(name, |slot| {
                    if let Some(record) = slot {
                        record.ended_at = Some(self.now());
                        record.outcome = Some(outcome.to_string());
                    }
                    Ok(())
                })??;
        }
        Ok(())
    }

    /// Takes members out of the team, whose lives are over: what they held has ended, and their tasks are pending
    /// again. A name that is not in the team any more is passed over.
    ///
    /// # Errors
    /// When something cannot be kept.
    pub(crate) fn dismiss(&self, members: &[Name]) -> Result<(), NotDone> {
        let now = self.now();
        let gone = self.change_roster(|team| Ok(team.dismiss(members, now)))?;
        let removed = gone.iter().cloned();
        let facts: Vec<Fact> = removed
            .map(|member| Fact::MemberRemoved { member })
            .collect();
        self.announce(&facts);
        let tasks = self.tasks()?.tasks;
        for name in &gone {
            self.note_gone(name);
            let mut owned = tasks.iter().filter_map(|task| task.owner.as_deref());
            if owned.any(|owner| owner == name.as_str()) {
                self.give_back_tasks(name.as_str())?;
            }
        }
        Ok(())
    }

    /// Does what time has done to claims, and answers when there is more.
    ///
    /// # Errors
    /// When the claims cannot be read or kept.
    pub(crate) fn sweep_claims(&self) -> Result<Option<Timestamp>, NotDone> {
        let Some(deadline) = self.claims()?.next_deadline() else {
            return Ok(None);
        };
        if deadline > self.now() {
            return Ok(Some(deadline));
        }
        let (events, next) = self.on_whole(|claims: &mut Claims| {
            let events = claims.sweep(self.now());
            Ok((events, claims.next_deadline()))
        })?;
        self.tell_of_claims(&events)?;
        Ok(next)
    }

    /// Does what time has done to reservations and pauses, and answers when there is more.
    ///
    /// # Errors
    /// When the limits cannot be read or kept.
    pub(crate) fn sweep_limits(&self) -> Result<Option<Timestamp>, NotDone> {
        let Some(deadline) = self.limiter()?.next_deadline() else {
            return Ok(None);
        };
        if deadline > self.now() {
            return Ok(Some(deadline));
        }
        let mut next = None;
        self.change_limiter(|limiter: &mut Limiter| {
            let events = limiter.sweep(self.now());
            next = limiter.next_deadline();
            Ok(events)
        })?;
        Ok(next)
    }

    /// Tells the leader something about a member, once for each `key`.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub(crate) fn tell_leader_of(
        &self,
        about: &Name,
        body: String,
        key: String,
    ) -> Result<(), NotDone> {
        use pitcrew_core::mailbox::{Draft, Intent};
        let notice = Draft {
            body: body.into(),
            intent: Some(Intent::Inform),
            reply_to: None,
            idempotency_key: Some(key),
        };
        self.inform(&self.roster()?, about, pitcrew_core::name::LEADER, &notice)
    }
}
