//! What a wake tells a member of, and what is noted about it.
//!
//! Mail that only informs or acknowledges wakes nobody: it counts once something waits that wants an answer. What a
//! member did last is read from the ends of the logs, so it costs the same however long they are.

use std::ops::ControlFlow;

use pitcrew_core::mailbox::{Fact, Intent, Line, Message, OpenMessage, Receipt, read_record};
use pitcrew_core::roster::Team;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::{Cursor, Log, StoreFailure};

use super::index::each_line;
use super::mail::{DEAD_LETTER, line_of};
use super::{Desk, NotDone};

/// What the keys of notices about members that do not react begin with.
pub const NO_REACTION: &str = "no-reaction:";

/// How much of the end of a log is looked at for what somebody did last, in bytes.
const TAIL: u64 = 64 * 1024;

/// How many of the newest unread messages are looked at for one that wants an answer.
const LOOKED_AT: usize = 64;

/// The mail that a wake is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitingMail {
    /// Unread messages; 0 when none of them wants an answer.
    pub unread: u64,
    /// When the newest that wants an answer was sent.
    pub newest_at: Option<Timestamp>,
}

/// Whether a message wakes its recipient by itself.
pub(crate) fn wakes(message: &Message) -> bool {
    !matches!(message.intent, Some(Intent::Inform | Intent::Ack))
}

/// Whether a message is somebody's own act, and not a notice that follows from what somebody did not do.
fn is_an_act(message: &Message) -> bool {
    let key = message.idempotency_key.as_deref().unwrap_or_default();
    !key.starts_with(DEAD_LETTER) && !key.starts_with(NO_REACTION)
}

impl Desk<'_> {
    /// What waits for `member` that is worth a wake.
    ///
    /// # Errors
    /// When its mailbox cannot be read.
    pub fn waiting_mail(&self, member: &Name) -> Result<WaitingMail, NotDone> {
        let mut index = self.kept_index(member)?;
        self.catch_up(member, &mut index)?;
        let open: Vec<&OpenMessage> = index.unread.open().collect();
        for entry in open.iter().rev().take(LOOKED_AT) {
            let message = self.message_at(member, entry.at)?;
            if let Some(message) = message.filter(wakes) {
                return Ok(WaitingMail {
                    unread: open.len() as u64,
                    newest_at: Timestamp::parse(&message.timestamp),
                });
            }
        }
        Ok(WaitingMail::default())
    }

    /// When `member` last moved a task, sent a message or acknowledged one, as far as the ends of the logs tell.
    ///
    /// # Errors
    /// When a log of the team cannot be read.
    pub fn last_act(&self, team: &Team, member: &Name) -> Result<Option<Timestamp>, NotDone> {
        let mut last = self.last_beat(member)?;
        for owner in team.everybody() {
            self.each_line_of_tail(&Log::Mailbox(owner.clone()), |line| {
                let at = match line {
                    Line::Message(message, _)
                        if message.from == member.as_str() && is_an_act(&message) =>
                    {
                        Timestamp::parse(&message.timestamp)
                    }
                    Line::Receipt(Receipt::Delivered { delivered_at, .. }) if owner == *member => {
                        Timestamp::parse(&delivered_at)
                    }
                    _ => None,
                };
                last = last.max(at);
            })?;
        }
        Ok(last)
    }

    fn each_line_of_tail(&self, log: &Log, mut each: impl FnMut(Line)) -> Result<(), NotDone> {
        let end = self.end_of_log(log)?;
        let from = end.saturating_sub(TAIL);
        let read = each_line(self.store, log, from, |line| {
            if let Ok(line) = read_record(line.bytes) {
                each(line);
            }
            ControlFlow::Continue(())
        });
        match read {
            // It was cut in between: what was there is gone.
            Ok(_) | Err(StoreFailure::LogTruncated { .. }) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// How long a log is.
    fn end_of_log(&self, log: &Log) -> Result<Cursor, NotDone> {
        // A cursor that no log reaches is answered with the log's length.
        match self.store.read(log, Cursor::MAX / 2, 1) {
            Err(StoreFailure::LogTruncated { len, .. }) => Ok(len),
            Ok(_) => Ok(0),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Notes `fact` of the unread messages of `member` that came after `after` and up to `until`.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub fn note_told(
        &self,
        member: &Name,
        fact: Fact,
        after: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<(), NotDone> {
        let mut index = self.kept_index(member)?;
        self.catch_up(member, &mut index)?;
        let mut lines = Vec::new();
        for entry in index.unread.open().collect::<Vec<_>>().into_iter().rev() {
            let Some(message) = self.message_at(member, entry.at)? else {
                continue;
            };
            let sent_at = Timestamp::parse(&message.timestamp);
            if sent_at.is_some() && sent_at <= after {
                break;
            }
            if sent_at <= until {
                let receipt = Receipt::noted(&message.id, fact, self.now(), None);
                lines.push(line_of(&receipt)?);
            }
        }
        lines.reverse();
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        if !lines.is_empty() {
            self.store.append(&Log::Mailbox(member.clone()), &lines)?;
        }
        Ok(())
    }
}
