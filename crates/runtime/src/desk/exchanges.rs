//! Exchanges: damping members that only talk, and who waits for whom.
//!
//! A message that is part of a loop is kept and delivered like any other; it only wakes nobody. The rule is core's
//! ([`pitcrew_core::exchange`]); what it remembers is one small document that is not waited for and may be deleted. So
//! nothing here ever fails a message: what cannot be read or kept is an exchange that is not damped, or a wait that is
//! not shown.

use pitcrew_core::event::Fact;
use pitcrew_core::exchange::{Damped, ExchangeEvent, Exchanges, Letter, Standing};
use pitcrew_core::liveness::Wait;
use pitcrew_core::mailbox::{Draft, Intent, Message};
use pitcrew_core::name::LEADER;
use pitcrew_core::refusal::NameKind;
use pitcrew_core::roster::Team;
use pitcrew_core::waiting::{self, Waits};
use pitcrew_core::{Name, Refusal};
use pitcrew_store::StoreExt;

use super::{Desk, NotDone, apart};

/// Who waits for whom, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Every wait.
    pub waits: Vec<Waits>,
    /// The members whose messages wake nobody now.
    pub damped: Vec<Damped>,
    /// The files that cannot be read, and why. Waits that stand in them are missing.
    pub unreadable: Vec<String>,
}

/// A message on its way, with what it was judged to be.
pub(super) struct Judged {
    from: Name,
    to: Name,
    pub(super) message: Message,
    standing: Standing,
}

impl Judged {
    /// After how many turns it was damped, if it was.
    pub(super) fn damped(&self) -> Option<u32> {
        match self.standing {
            Standing::Free => None,
            Standing::Damped { turns } => Some(turns),
        }
    }

    fn letter(&self) -> Letter<'_> {
        Letter {
            id: &self.message.id,
            from: &self.from,
            to: &self.to,
            intent: self.message.intent,
            reply_to: self.message.reply_to.as_deref(),
        }
    }
}

impl Desk<'_> {
    fn exchanges(&self) -> Exchanges {
        // Remembered turns and waits are no truth: without them nothing is damped, and fewer waits are shown.
        let kept = self.store.view::<Exchanges>(&());
        kept.ok().flatten().unwrap_or_default()
    }

    /// Judges messages of one sender. Those that are damped become such that wake nobody.
    pub(super) fn judge(&self, messages: Vec<Message>) -> Result<Vec<Judged>, NotDone> {
        let now = self.now();
        let mut kept = None;
        let mut judged = Vec::with_capacity(messages.len());
        for message in messages {
            let from = Name::new(NameKind::Member, &message.from)?;
            let to = Name::new(NameKind::Recipient, &message.to)?;
            let mut one = Judged {
                from,
                to,
                message,
                standing: Standing::Free,
            };
            if one.letter().is_turn() {
                let exchanges = kept.get_or_insert_with(|| self.exchanges());
                one.standing = exchanges.judge(&one.letter(), now);
            }
            if one.damped().is_some() {
                one.message.intent = Some(Intent::Inform);
            }
            judged.push(one);
        }
        Ok(judged)
    }

    /// Takes note of messages that were sent, and answers what follows from them, to be announced with them.
    pub(super) fn note_sent(&self, team: &Team, sent: &[&Judged]) -> Vec<Fact> {
        let concerns = |exchanges: &Exchanges| {
            let mut letters = sent.iter().map(|one| one.letter());
            letters.any(|letter| exchanges.is_touched_by(&letter))
                || sent.iter().any(|one| one.damped().is_some())
        };
        let events = self.change_exchanges(concerns, |exchanges| {
            let now = self.now();
            let noted = sent
                .iter()
                .map(|one| exchanges.sent(&one.letter(), one.standing, now));
            noted.flatten().collect()
        });
        for event in &events {
            if let ExchangeEvent::Damped { from, to, turns } = event {
                // The message is sent and stands; the event says the same to whoever follows.
                let _ = self.tell_of_damping(team, from, to, *turns);
            }
        }
        events.iter().map(fact).collect()
    }

    /// Ends the damping of a member that got something done.
    pub(super) fn note_progress(&self, member: &Name) {
        self.change_exchanges(
            |exchanges| exchanges.is_known(member),
            |exchanges| {
                exchanges.progressed(member);
                Vec::new()
            },
        );
    }

    /// Forgets a member that is no more.
    pub(super) fn note_gone(&self, member: &Name) {
        let over = self.change_exchanges(
            |exchanges| *exchanges != Exchanges::default(),
            |exchanges| exchanges.gone(member),
        );
        self.announce(&over.iter().map(fact).collect::<Vec<_>>());
    }

    /// Ends the wait for an answer to a message that was given up.
    pub(super) fn note_given_up(&self, id: &str) {
        let over = self.change_exchanges(
            |exchanges| exchanges.open().any(|open| open.id == id),
            |exchanges| exchanges.given_up(id),
        );
        self.announce(&over.iter().map(fact).collect::<Vec<_>>());
    }

    fn change_exchanges(
        &self,
        concerns: impl Fn(&Exchanges) -> bool,
        mut step: impl FnMut(&mut Exchanges) -> Vec<ExchangeEvent>,
    ) -> Vec<ExchangeEvent> {
        if !concerns(&self.exchanges()) {
            return Vec::new();
        }
        // What cannot be kept is forgotten, as the module says.
        let kept = self.on_whole(|exchanges: &mut Exchanges| Ok::<_, Refusal>(step(exchanges)));
        kept.unwrap_or_default()
    }

    fn tell_of_damping(
        &self,
        team: &Team,
        from: &Name,
        to: &Name,
        turns: u32,
    ) -> Result<(), NotDone> {
        let notice = Draft {
            body: format!(
                "{from} has answered others {turns} times, {to} last, and no task moved meanwhile. What it writes to \
                 {to} still arrives and wakes nobody, until a task of either moves or you write to one of them."
            ).into(),
            intent: Some(Intent::Inform),
            ..Draft::default()
        };
        self.inform(team, from, LEADER, &notice)
    }

    /// Who waits for whom, since when and why: for an answer, in line for lines, for a task that others have, for a
    /// provider; and who is damped. What a seat itself shows, such as a dialog, is not in a store:
    /// [`waiting::of_life`].
    ///
    /// # Errors
    /// When the team or the list of its tasks cannot be read. Claims or limits that cannot be read are part of the
    /// answer.
    pub fn waits(&self) -> Result<Waiting, NotDone> {
        let (team, now) = (self.roster()?, self.now());
        let everybody = team.everybody();
        let exchanges = self.exchanges();
        let mut answer = Waiting {
            waits: waiting::of_requests(&exchanges),
            damped: exchanges.damped(now),
            unreadable: Vec::new(),
        };
        match apart(self.claims())? {
            Ok(claims) => answer.waits.extend(waiting::of_claims(&claims, now)),
            Err(why) => answer.unreadable.push(why),
        }
        answer.waits.extend(waiting::of_tasks(&self.tasks()?.tasks));
        answer.waits.retain(|wait| everybody.contains(&wait.member));
        let members = everybody.iter().filter(|name| !name.is_leader());
        match apart(self.limiter())? {
            Ok(limiter) => answer
                .waits
                .extend(waiting::of_pause(&limiter, members, now)),
            Err(why) => answer.unreadable.push(why),
        }
        Ok(answer)
    }
}

fn fact(event: &ExchangeEvent) -> Fact {
    match event {
        ExchangeEvent::Damped { from, to, turns } => Fact::ExchangeDamped {
            from: from.clone(),
            to: to.clone(),
            turns: *turns,
        },
        ExchangeEvent::Asked(open) => Fact::WaitBegan {
            member: open.from.clone(),
            reason: Wait::Reply,
            on: vec![open.to.clone()],
            about: Some(open.id.clone()),
        },
        ExchangeEvent::Closed(open) => Fact::WaitOver {
            member: open.from.clone(),
            reason: Wait::Reply,
            about: Some(open.id.clone()),
        },
    }
}
