//! The text that a hook shows: unread mail in envelopes, then what others found, no longer than every CLI takes.
//!
//! A message that does not fit whole is spoken of and left where it is. What is shown stands between marks with a
//! boundary that nothing inside contains.

use std::fmt::Write;

use pitcrew_core::envelope::{envelope, preface};
use pitcrew_core::mailbox::Message;

use crate::desk::News;
use crate::prompt::findings;

/// How long the mail of one showing may be, in bytes. Claude Code puts what is longer than 10,000 characters into a
/// file.
pub(super) const MAIL: usize = 6_000;

/// How long all of it may be, in bytes.
pub(super) const WHOLE: usize = 9_500;

/// What is to be shown.
pub(super) struct Page<'a> {
    /// Messages that stand in it whole.
    pub(super) mail: &'a [Message],
    /// How many more wait.
    pub(super) more: usize,
    /// What others found.
    pub(super) news: &'a News,
}

impl Page<'_> {
    /// The text; empty when there is nothing, `None` when the boundary stands in it: draw another.
    pub(super) fn text(&self, boundary: &str) -> Option<String> {
        let mut text = String::new();
        if !self.mail.is_empty() {
            text.push_str(&preface(self.mail.len(), boundary));
            for message in self.mail {
                let _ = write!(text, "\n{}\n", envelope(message, boundary)?);
            }
            text.push_str(
                "\nTo answer: pitcrew send <name> 'your text'. These messages count as read when this turn ends.\n",
            );
        }
        if self.more > 0 {
            let (word, wait) = match self.more {
                1 => ("message", "waits"),
                _ => ("messages", "wait"),
            };
            let _ = writeln!(
                text,
                "{} more {word} {wait}: pitcrew inbox --next",
                self.more
            );
        }
        findings::write(&mut text, self.news, "pitcrew", boundary)?;
        Some(text)
    }
}
