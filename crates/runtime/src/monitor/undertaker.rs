//! What follows when a member in a pane is gone: what it held is given back, the leader is told, and it is started again
//! when its team says so.
//!
//! | order | does |
//! |---|---|
//! | bury | tasks, claims, reservations and token end; how it ended and what the policy says to that is kept; leader and events are told |
//! | renew | a new life, if it is due; else what became of that |
//!
//! What always holds: each life is told of once, however many monitors see its end; what it held is given back before
//! anybody is told, and before a new life begins.

use pitcrew_core::claim::EndCause;
use pitcrew_core::departure::{Departure, ToldAs};
use pitcrew_core::event::Fact;
use pitcrew_core::identity::Speaker;
use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_core::monitor::Who;
use pitcrew_core::restart::Standing;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::StoreExt;

use super::panes::Panes;
use super::sight::{Open, is_gone};
use crate::desk::{Desk, NotDone};
use crate::panes::{
    LifeEnd, LifeEnded, LivesRecord, Occasion, end_life, given_up, note_end, prospect,
};
use crate::wake::PaneSeat;

/// Does what follows, over these panes.
pub(super) struct Undertaker<'a, P> {
    pub(super) panes: &'a P,
}

impl<P: Panes> Undertaker<'_, P> {
    /// Gives back what a member held that is gone, and tells the leader.
    pub(super) fn bury(&self, desk: &Desk<'_>, who: &Who, incarnation: u32) -> Result<(), NotDone> {
        let member = &who.member;
        // It may have been started again since the look.
        let seat = desk.store().view::<PaneSeat>(member)?;
        let is_same = |seat: &PaneSeat| seat.incarnation == incarnation;
        let Some(seat) = seat.filter(is_same) else {
            return Ok(());
        };
        if member.is_leader() || !is_gone(self.panes.life(&seat)) {
            return Ok(());
        }
        // A new life may be on its way, whose start has ended this one.
        let roster = desk.roster()?;
        let known = desk.store().view::<LivesRecord>(member)?;
        let known = known.as_ref().and_then(|record| record.end_of(incarnation));
        let how = known.map_or_else(|| self.panes.departure(&seat), |ended| ended.how);
        let cause = match how.told_as() {
            ToldAs::Left => EndCause::Stopped,
            ToldAs::Crashed => EndCause::Crashed,
        };
        let gave = end_life(desk, member, cause)?;
        let record = note_end(desk, member, &seat, how, roster.respawn().policy())?;
        let words = record
            .end_of(incarnation)
            .map_or_else(|| how.words(), LifeEnded::words);
        let standing = record.standing();
        let body = obituary(member, &words, &gave, standing, desk.now());
        if self.tell_leader(desk, member, &format!("gone:{member}:{incarnation}"), body)? {
            desk.announce(&facts(member, how, words, standing));
        }
        Ok(())
    }

    /// Starts a member again that is due; answers what could not be done, in words.
    pub(super) fn renew(
        &self,
        team: &Open,
        desk: &Desk<'_>,
        who: &Who,
        incarnation: u32,
    ) -> Result<Option<String>, NotDone> {
        let member = &who.member;
        let failed = match self.panes.renew(desk, &team.store, member, incarnation) {
            Ok(_) => return Ok(None),
            Err(failed) => failed.to_string(),
        };
        // A life that was begun and has ended is seen by the next look. One that could not even begin is told of here,
        // once it is given up.
        let record = desk
            .store()
            .view::<LivesRecord>(member)?
            .unwrap_or_default();
        if record.end_of(incarnation).is_some()
            && let Standing::GivenUp(reason) = record.standing()
        {
            let why = given_up(reason).unwrap_or_default();
            let body = format!(
                "{member} could not be started again: {failed}. {}",
                prospect(member, record.standing(), desk.now())
            );
            if self.tell_leader(
                desk,
                member,
                &format!("failed:{member}:{incarnation}"),
                body,
            )? {
                desk.announce(&[Fact::AgentFailed {
                    member: member.clone(),
                    reason: why,
                }]);
            }
        }
        Ok(Some(failed))
    }

    /// Writes to the leader once for each key, and wakes it; answers whether it was news.
    fn tell_leader(
        &self,
        desk: &Desk<'_>,
        member: &Name,
        key: &str,
        body: String,
    ) -> Result<bool, NotDone> {
        let notice = Draft {
            body: body.into(),
            intent: Some(Intent::Request),
            reply_to: None,
            idempotency_key: Some(key.to_string()),
        };
        let speaker = Speaker {
            name: member.clone(),
            verified: false,
        };
        let leader = Name::leader();
        let sent = desk.send_as(&desk.roster()?, &speaker, leader.as_str(), &notice)?;
        if !sent.again {
            // The leader's mail waits whether or not its pane can be rung.
            let _rung = self.panes.ring(desk, &leader, Occasion::sent());
        }
        Ok(!sent.again)
    }
}

/// The events of an end.
fn facts(member: &Name, how: Departure, reason: String, standing: Standing) -> Vec<Fact> {
    let member = member.clone();
    let failed = match standing {
        Standing::GivenUp(reason) => given_up(reason).map(|reason| Fact::AgentFailed {
            member: member.clone(),
            reason,
        }),
        _ => None,
    };
    let ended = match how.told_as() {
        ToldAs::Left => Fact::AgentLeft {
            member,
            reason: Some(reason),
        },
        ToldAs::Crashed => Fact::AgentCrashed { member, reason },
    };
    std::iter::once(ended).chain(failed).collect()
}

fn obituary(
    member: &Name,
    words: &str,
    gave: &LifeEnd,
    standing: Standing,
    now: Timestamp,
) -> String {
    let tasks = match gave.tasks.as_slice() {
        [] => "It held no task.".to_string(),
        [one] => format!("Its task {one} is pending again."),
        several => format!("Its tasks {} are pending again.", several.join(", ")),
    };
    format!(
        "{member} is gone: {words}. {tasks} {}",
        prospect(member, standing, now)
    )
}
