//! Where the body of a message comes from: an argument, a file, or standard input.

use std::io::Read;

use pitcrew_core::mailbox::{Draft, Intent};

use crate::context::Context;
use crate::halt::Halt;

/// The text of a message and what belongs to it.
#[derive(Debug, clap::Args)]
pub struct Body {
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// Read the text from a file, byte for byte; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<std::path::PathBuf>,
    /// The message that this one answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// What you expect: request (default), inform, or ack
    #[arg(long, value_name = "INTENT")]
    intent: Option<String>,
    /// Your own key: sending again with the same key sends nothing and answers the first id
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl Body {
    /// The draft, read from where the user said.
    pub fn draft(self, context: &Context<'_>) -> Result<Draft, Halt> {
        let body = match (self.body, self.body_file) {
            (Some(text), _) if text != "-" => text,
            (None, Some(file)) if file.as_os_str() != "-" => read_file(context, &file)?,
            (None, None) if context.environment.stdin_is_terminal => {
                return Err(Halt::Usage(
                    "what to send? give the text, `-`, or --body-file".to_string(),
                ));
            }
            _ => read_stdin()?,
        };
        let intent = self.intent.as_deref().map(Intent::parse).transpose()?;
        Ok(Draft {
            body,
            reply_to: self.reply_to,
            intent,
            idempotency_key: self.idempotency_key,
        })
    }
}

/// The largest text that is read at all, in bytes: a little more than any team's limit, so that the refusal can say
/// how large the body is instead of running out of memory.
const READ_CAP: u64 = 64 * 1024 * 1024;

fn read_file(context: &Context<'_>, file: &std::path::Path) -> Result<String, Halt> {
    let bytes = pitcrew_store::local::read_input(&context.environment.cwd.join(file), READ_CAP)?;
    text(bytes, &file.display().to_string())
}

/// Standard input to its end.
pub fn read_stdin() -> Result<String, Halt> {
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(READ_CAP)
        .read_to_end(&mut bytes);
    read.map_err(|error| Halt::Input {
        what: "standard input".to_string(),
        why: error.to_string(),
    })?;
    text(bytes, "standard input")
}

fn text(bytes: Vec<u8>, what: &str) -> Result<String, Halt> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Halt::Input {
            what: what.to_string(),
            why: format!("not UTF-8 at byte {at}"),
        }
    })
}
