//! A call that waits: for what, until when, and how to look again.
//!
//! Nothing here sleeps. Whoever called looks again when the store reports a change that matters or `again_at` comes, and
//! ends the wait at its deadline, or earlier when nobody wants the answer any more. Nothing is held meanwhile, so a wait
//! that is dropped leaves nothing behind.

use pitcrew_core::mailbox::Message;
use pitcrew_core::{Name, Timestamp};
use pitcrew_store::Change;
use serde_json::{Map, Value};

use super::answer::Answer;
use super::{TeamTools, inbox, refused};
use crate::desk::Wanted;

/// What came of beginning a call.
#[derive(Debug)]
pub enum Step {
    /// The answer.
    Answered(Answer),
    /// Nothing yet: somebody wants to wait.
    Waits(Wait),
}

impl From<Answer> for Step {
    fn from(answer: Answer) -> Self {
        Self::Answered(answer)
    }
}

/// A wait for mail.
#[derive(Debug)]
pub struct Wait {
    pub(super) me: Name,
    pub(super) args: Map<String, Value>,
    pub(super) until: Timestamp,
    pub(super) again_at: Option<Timestamp>,
}

impl Wait {
    /// When it is over.
    #[must_use]
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// When to look again if nothing changes: a message that another reader holds comes free then.
    #[must_use]
    pub fn again_at(&self) -> Option<Timestamp> {
        self.again_at
    }

    /// Whether `change` can have ended it.
    #[must_use]
    pub fn is_touched_by(&self, change: &Change) -> bool {
        Wanted::Message.is_touched_by(&self.me, change)
    }

    /// The answer when nothing came.
    #[must_use]
    pub fn over(&self) -> Answer {
        inbox::nothing(&self.me)
    }
}

impl TeamTools {
    /// Looks whether what `wait` waits for has come, and gives it out if so. The member is looked up anew: one that was
    /// started again meanwhile is refused.
    #[must_use]
    pub fn look_again(&self, wait: Wait) -> Step {
        let looked = self.speaker().and_then(|_| {
            let look = self.desk().look(&wait.me, &[Wanted::Message])?;
            Ok(look)
        });
        match looked {
            Ok(look) if look.happened.is_some() => {
                let mut args = wait.args.clone();
                args.remove("wait_seconds");
                self.begin("read_messages", &args)
            }
            Ok(look) => Step::Waits(Wait {
                again_at: look.again_at,
                ..wait
            }),
            Err(not_done) => Step::Answered(refused::answer(&not_done)),
        }
    }
}

/// The ids of messages, in their order.
pub(super) fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}
