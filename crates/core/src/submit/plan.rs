//! A plan: one line of text, how the program looks and takes it, and what is known from before.

use alloc::string::{String, ToString};

use super::keys::Keys;
use crate::screen::Signature;

/// What is done about a limit on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LimitPolicy {
    /// Nothing is typed.
    #[default]
    Wait,
    /// The limit should be over: its text alone forbids nothing.
    TryAgain,
}

/// What to submit, where and how.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) text: String,
    pub(super) leftover: Option<String>,
    pub(super) signature: Signature,
    pub(super) keys: Keys,
    pub(super) limit: LimitPolicy,
}

/// Why a text cannot be submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefused {
    /// It says nothing.
    #[error("the text is empty")]
    Empty,
    /// It has a line end or another control character.
    #[error("the text has a control character")]
    Control,
    /// It opens with a sign that agents read as a command.
    #[error("the text opens with {0:?}, which starts a command")]
    Command(char),
}

impl Plan {
    /// A plan to submit one line of text.
    ///
    /// # Errors
    /// [`PlanRefused`] for a text that is not one plain line.
    pub fn new(text: &str, signature: Signature, keys: Keys) -> Result<Self, PlanRefused> {
        if text.trim().is_empty() {
            return Err(PlanRefused::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(PlanRefused::Control);
        }
        let opens = text.trim_start().chars().next();
        match opens {
            Some(sign) if !keys.is_shell && "/!#@&?".contains(sign) => {
                return Err(PlanRefused::Command(sign));
            }
            _ => {}
        }
        Ok(Self {
            text: text.to_string(),
            leftover: None,
            signature,
            keys,
            limit: LimitPolicy::Wait,
        })
    }

    /// With a text of ours that an earlier try left in the composer: a draft that is exactly this is ours.
    #[must_use]
    pub fn after_leftover(mut self, leftover: Option<String>) -> Self {
        self.leftover = leftover;
        self
    }

    /// With another policy about limits.
    #[must_use]
    pub fn with_limit_policy(mut self, limit: LimitPolicy) -> Self {
        self.limit = limit;
        self
    }
}
