//! What a member can look at without calling a tool: its inbox, the tasks, the claims, how the team stands.
//!
//! Looking changes nothing: messages that are looked at are neither held nor counted as delivered. A view belongs to a
//! tool that shows the same, and a role that may not call the tool may not have the view.

use std::ops::ControlFlow;

use pitcrew_core::envelope::{envelope, preface};
use pitcrew_core::mailbox::Message;
use pitcrew_core::{Name, Refusal};
use pitcrew_store::{Change, Log, Place};
use serde_json::Map;

use super::answer::{Verdict, enclosed};
use super::{TOOLS, TeamTools};
use crate::desk::{NotDone, Which};

/// The most messages that the inbox shows, and the most bytes of bodies after which it shows no further one.
const MESSAGES: usize = 50;
const BODIES: usize = 64 * 1024;

/// One thing to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// The member's unread mail.
    Inbox,
    /// The tasks.
    Tasks,
    /// Who holds which lines.
    Claims,
    /// The members and what was spent.
    Status,
}

impl View {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Inbox, Self::Tasks, Self::Claims, Self::Status];

    /// The word that names it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Tasks => "tasks",
            Self::Claims => "claims",
            Self::Status => "status",
        }
    }

    /// What it shows.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Inbox => "Your unread messages. Looking acknowledges none of them.",
            Self::Tasks => "The team's tasks: where each stands and who has it.",
            Self::Claims => "Who holds which lines of which file, and who waits for some.",
            Self::Status => "The members with what they work on, and what the team has spent.",
        }
    }

    /// The tool that shows the same.
    #[must_use]
    pub fn tool(self) -> &'static str {
        match self {
            Self::Inbox => "read_messages",
            Self::Tasks => "list_tasks",
            Self::Claims => "list_claims",
            Self::Status => "list_team",
        }
    }

    /// Whether `change` can have changed it for `me`.
    #[must_use]
    pub fn is_touched_by(self, me: &Name, change: &Change) -> bool {
        match (self, change) {
            (_, Change::Lagged) => true,
            (Self::Inbox, Change::Log(Log::Mailbox(owner))) => owner == me,
            (Self::Tasks | Self::Status, Change::Document(Place::Task(_))) => true,
            (Self::Claims, Change::Document(Place::Claims)) => true,
            (Self::Status, Change::Document(Place::Team | Place::Limits | Place::Shutdown)) => true,
            _ => false,
        }
    }
}

impl TeamTools {
    /// The views that the member's role allows.
    ///
    /// # Errors
    /// As [`Desk::speaker`](crate::desk::Desk::speaker) says.
    pub fn views(&self) -> Result<Vec<View>, NotDone> {
        let tools = self.list()?;
        let allowed = |view: &View| tools.iter().any(|tool| tool.name == view.tool());
        Ok(View::ALL.into_iter().filter(allowed).collect())
    }

    /// What `view` shows now, for a model to read.
    ///
    /// # Errors
    /// `role_denied`, and when something cannot be read.
    pub fn show(&self, view: View) -> Result<String, NotDone> {
        let caller = self.caller()?;
        caller.role.check(view.tool())?;
        match view {
            View::Inbox => self.show_inbox(&caller.speaker.name),
            View::Tasks | View::Claims => self.said(view.tool()),
            View::Status => {
                let limits = TOOLS.iter().find(|tool| tool.name == "limit_status");
                let may = limits.is_some_and(|tool| caller.role.allows(tool.name));
                let team = self.said(view.tool())?;
                Ok(match may {
                    true => format!("{team}\n\n{}", self.said("limit_status")?),
                    false => team,
                })
            }
        }
    }

    fn said(&self, tool: &str) -> Result<String, NotDone> {
        let answer = self.call(tool, &Map::new());
        match answer.verdict {
            Verdict::Done => Ok(answer.text),
            Verdict::Refused => Err(Refusal::input(tool, &answer.text).into()),
        }
    }

    fn show_inbox(&self, me: &Name) -> Result<String, NotDone> {
        let desk = self.desk();
        let (mut messages, mut size): (Vec<Message>, usize) = (Vec::new(), 0);
        desk.list_mail(me, Which::Unread, &mut |mail| {
            size += mail.message.body.len();
            messages.push(mail.message);
            Ok(match messages.len() < MESSAGES && size < BODIES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        if messages.is_empty() {
            return Ok(format!("No unread message for {me}."));
        }
        let unread = desk.count_unread(me)?;
        let mut text = enclosed(&desk, |boundary| {
            let mut text = preface(messages.len(), boundary);
            for message in &messages {
                text.push('\n');
                text.push_str(&envelope(message, boundary)?);
                text.push('\n');
            }
            Some(text)
        })?;
        let left = unread.saturating_sub(messages.len() as u64);
        if left > 0 {
            text.push_str(&format!("\n{left} more are unread."));
        }
        text.push_str("\nread_messages takes them, ack_message says that you have used them.");
        Ok(text)
    }
}
