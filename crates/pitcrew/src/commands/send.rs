//! `send`: one message to one member or the leader.

use serde_json::json;

use super::body::Body;
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::panes;
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Send>("send", "Send a message to a member or the leader");

/// Send a message to a member or the leader
///
/// The message is durable in the recipient's mailbox before its id is printed. The recipient finds it with
/// `pitcrew inbox`. An unknown name is refused, and nothing is created for it.
///
/// A recipient in a pane is woken by one short line, when its program waits for one: never over a question, a draft or a
/// running turn. The answer says what came of that; the message waits in any case.
#[derive(Debug, clap::Args)]
pub(crate) struct Send {
    /// The recipient: a member's name, or leader
    #[arg(value_name = "TO")]
    to: String,
    #[command(flatten)]
    body: Body,
}

impl Run for Send {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let team = context.open_team()?;
        let who = context.credentials(&team.name);
        let draft = self.body.draft(context)?;
        let sent = team.desk().send(&who, &self.to, &draft)?;
        let wakened = panes::wake_one(context, &team, &sent, &draft);
        if context.ui.json {
            let mut answer =
                json!({ "ok": true, "messageId": sent.id, "nudged": wakened.is_woken() });
            panes::tell(&wakened, &mut answer);
            if sent.again {
                answer["again"] = true.into();
            }
            if let Some(turns) = sent.damped {
                answer["damped"] = turns.into();
            }
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.line(&sent.id);
            if let Some(turns) = sent.damped {
                let to = &sent.to;
                context.ui.say(&format!(
                    "it arrives, and {to} is not woken by it: {turns} answers in turn and no task moved; go on with \
                     your work, or ask the leader"
                ));
            } else if let Some(words) = panes::words(&sent.to, &wakened) {
                context.ui.say(&words);
            }
        }
        Ok(Exit::Done)
    }
}
