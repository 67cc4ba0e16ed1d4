//! What is done when a program calls one of its hooks.
//!
//! | act | writes down | answers |
//! |---|---|---|
//! | begin, work, ask, leave | what the program does | nothing |
//! | prompt | that a turn runs | unread mail and new findings |
//! | end | that it has ended; its mail is acknowledged | new mail that wants an answer, which makes it go on |
//! | wait | who waits | that mail came, or that nobody needs to wait any more |
//!
//! What is answered is noted as shown only when whoever prints it says so ([`Ear::keep`]).

use std::ops::ControlFlow;

use pitcrew_core::hook::{Activity, Told};
use pitcrew_core::mailbox::Message;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::StoreExt;

use super::page::{MAIL, Page, WHOLE};
use super::record::HookRecord;
use super::{Act, told};
use crate::desk::{Desk, NotDone, Offer, Which};
use crate::process::Identity;
use crate::wake::NudgeRecord;

/// So many messages of a mailbox are looked at for one showing.
const LOOKED_AT: usize = 200;

/// So many findings are shown at once.
const FINDINGS: usize = 5;

/// How often another boundary is drawn. Each is random, so one is enough.
const DRAWS: usize = 4;

/// One member's hooks.
#[derive(Clone, Copy)]
pub struct Ear<'a> {
    /// The team.
    pub desk: Desk<'a>,
    /// The member.
    pub member: &'a Name,
    /// Its incarnation.
    pub incarnation: u32,
    /// The profile whose hooks speak.
    pub profile: &'a str,
}

/// What is to be shown to a program.
pub struct Showing {
    /// The text.
    pub text: String,
    /// Whether a turn that was about to end goes on with it.
    pub goes_on: bool,
    whole: Vec<String>,
    named: Vec<String>,
    offer: Option<Offer>,
    at: Timestamp,
}

/// What whoever waits beside an idle program is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Mail came: so many are unread.
    Mail(u64),
    /// Go on waiting.
    On,
    /// Nobody needs to wait any more.
    Over,
}

/// What is unread, sorted by what becomes of it in one showing.
#[derive(Default)]
struct Unread {
    whole: Vec<Message>,
    named: Vec<String>,
    left: usize,
    /// Whether one of them wants an answer and has not forced a turn.
    wakes: bool,
}

impl Ear<'_> {
    /// Writes down what a hook tells, and answers what is to be shown.
    ///
    /// # Errors
    /// When the team's files cannot be read or written.
    pub fn hear(&self, act: Act) -> Result<Option<Showing>, NotDone> {
        let now = self.desk.now();
        match act {
            Act::Begin => self.change(|told| told.begin(now)).map(|()| None),
            Act::Ask => self.change(|told| told.ask(now)).map(|()| None),
            Act::Leave => self.change(|told| told.leave(now)).map(|()| None),
            Act::Work => {
                let record = told(&self.desk, self.member, self.incarnation)?;
                let is_asking = |record: HookRecord| record.told.activity == Activity::Asking;
                if record.is_some_and(is_asking) {
                    self.change(|told| {
                        if told.activity == Activity::Asking {
                            told.activity = Activity::Busy;
                            told.since = Some(now);
                        }
                    })?;
                }
                Ok(None)
            }
            Act::Prompt => {
                let told = self.change(|told| {
                    told.prompt(now);
                    told.clone()
                })?;
                let unread = self.unread(|id| told.is_unshown(id))?;
                self.showing(now, unread, false)
            }
            Act::End => self.end(now),
            Act::Wait | Act::Guard => Ok(None),
        }
    }

    /// Notes that a program was shown something.
    ///
    /// # Errors
    /// When that cannot be kept; it is shown again then.
    pub fn keep(&self, showing: &Showing) -> Result<(), NotDone> {
        self.change(|told| told.note(&showing.whole, &showing.named))?;
        for id in &showing.whole {
            self.desk.note_message_shown(self.member, id)?;
        }
        if let Some(offer) = &showing.offer {
            self.desk.note_shown(self.member, offer)?;
        }
        self.desk
            .store()
            .change(self.member, |record: &mut Option<NudgeRecord>| {
                record.get_or_insert_default().0.note_shown(showing.at);
            })?;
        Ok(())
    }

    /// Takes the place of whoever waited beside the idle program before: `own` waits now.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn sit_down(&self, own: &Identity) -> Result<(), NotDone> {
        self.change_record(|record| record.waiter = Some(own.clone()))
    }

    /// `own` waits no more. Somebody who took its place keeps it.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn stand_up(&self, own: &Identity) -> Result<(), NotDone> {
        self.change_record(|record| {
            record.waiter.take_if(|waiter| waiter == own);
        })
    }

    /// Looks whether `own`, which waits beside the idle program, is to go on.
    ///
    /// # Errors
    /// When the team's files cannot be read or written.
    pub fn wait(&self, own: &Identity) -> Result<Wait, NotDone> {
        let record = told(&self.desk, self.member, self.incarnation)?.unwrap_or_default();
        let is_wanted =
            record.told.activity == Activity::Idle && record.waiter.as_ref() == Some(own);
        if !is_wanted || self.desk.shut_down_at()?.is_some() {
            return Ok(Wait::Over);
        }
        let unread = self.unread(|id| record.told.is_new(id))?;
        if !unread.wakes {
            return Ok(Wait::On);
        }
        let now = self.desk.now();
        self.change_record(|record| record.rang_at = Some(now))?;
        Ok(Wait::Mail(self.desk.count_unread(self.member)?))
    }

    /// Whether the program is idle now, as its hooks tell.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_idle(&self) -> Result<bool, NotDone> {
        let record = told(&self.desk, self.member, self.incarnation)?;
        Ok(record.is_some_and(|record| record.told.activity == Activity::Idle))
    }

    /// A turn has ended by itself: what it was shown has been used. New mail makes it go on.
    fn end(&self, now: Timestamp) -> Result<Option<Showing>, NotDone> {
        let before = told(&self.desk, self.member, self.incarnation)?.unwrap_or_default();
        let unread = self.unread(|id| before.told.is_new(id))?;
        let goes_on = unread.wakes && self.desk.shut_down_at()?.is_none();
        let used = self.change(|told| {
            let used = told.end(now);
            if goes_on {
                told.force(now);
            }
            used
        })?;
        let used: Vec<&str> = used.iter().map(String::as_str).collect();
        self.desk.acknowledge(self.member, &used)?;
        match goes_on {
            true => self.showing(now, unread, true),
            false => Ok(None),
        }
    }

    /// What is unread, held by no reader and `wanted`.
    fn unread(&self, wanted: impl Fn(&str) -> bool) -> Result<Unread, NotDone> {
        let now = self.desk.now();
        let mut found = Unread::default();
        let (mut seen, mut bytes) = (0, 0);
        self.desk
            .list_mail(self.member, Which::Unread, &mut |entry| {
                seen += 1;
                let is_held = entry.lease.is_some_and(|lease| lease.holds(now));
                let message = entry.message;
                if is_held || !wanted(&message.id) {
                    return Ok(ControlFlow::Continue(()));
                }
                found.wakes |= crate::desk::wakes(&message);
                bytes += message.body.len() + 200;
                match bytes <= MAIL {
                    true => found.whole.push(message),
                    false => {
                        found.left += 1;
                        found.named.push(message.id);
                    }
                }
                Ok(match seen < LOOKED_AT {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            })?;
        Ok(found)
    }

    fn showing(
        &self,
        at: Timestamp,
        unread: Unread,
        goes_on: bool,
    ) -> Result<Option<Showing>, NotDone> {
        let mut most = FINDINGS;
        for _ in 0..DRAWS {
            let boundary = self.desk.entropy().id()?.replace('-', "");
            let offer = match most {
                0 => None,
                most => Some(self.desk.offer_discoveries(self.member, most)?),
            };
            let none = crate::desk::News::default();
            let page = Page {
                mail: &unread.whole,
                more: unread.left,
                news: offer.as_ref().map_or(&none, |offer| &offer.news),
            };
            let Some(text) = page.text(&boundary) else {
                continue;
            };
            if text.is_empty() {
                return Ok(None);
            }
            if text.len() > WHOLE && most > 0 {
                most = if most > 1 { 1 } else { 0 };
                continue;
            }
            let whole = unread.whole.into_iter().map(|message| message.id);
            return Ok(Some(Showing {
                text,
                goes_on,
                whole: whole.collect(),
                named: unread.named,
                offer,
                at,
            }));
        }
        Ok(None)
    }

    fn change<A>(&self, mut rule: impl FnMut(&mut Told) -> A) -> Result<A, NotDone> {
        self.change_record(|record| rule(&mut record.told))
    }

    fn change_record<A>(&self, mut rule: impl FnMut(&mut HookRecord) -> A) -> Result<A, NotDone> {
        let changed = self
            .desk
            .store()
            .change(self.member, |slot: &mut Option<HookRecord>| {
                let record = slot.get_or_insert_default();
                if record.incarnation != self.incarnation {
                    *record = HookRecord {
                        incarnation: self.incarnation,
                        ..HookRecord::default()
                    };
                }
                self.profile.clone_into(&mut record.profile);
                rule(record)
            })?;
        Ok(changed)
    }
}
