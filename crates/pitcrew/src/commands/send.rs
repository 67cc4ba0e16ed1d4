//! `send`: one message to one member or the leader.

use serde_json::json;

use super::body::Body;
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Send>("send", "Send a message to a member or the leader");

/// Send a message to a member or the leader
///
/// The message is durable in the recipient's mailbox before its id is printed. The recipient finds it with
/// `pitcrew inbox`. An unknown name is refused, and nothing is created for it.
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
        if context.ui.json {
            let mut answer = json!({ "ok": true, "messageId": sent.id, "nudged": false });
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
            }
        }
        Ok(Exit::Done)
    }
}
