//! Where the body of a message comes from: an argument, a file, or standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use pitcrew_core::mailbox::{Draft, Intent};
use pitcrew_store::StoreFailure;

use crate::context::Context;
use crate::halt::Halt;

/// The text of a message and what belongs to it.
#[derive(Debug, clap::Args)]
pub(crate) struct Body {
    /// The text; `-` reads standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// Read the text from a file, byte for byte; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<PathBuf>,
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
    pub(crate) fn draft(self, context: &Context<'_>) -> Result<Draft, Halt> {
        let body = match (self.body, self.body_file) {
            (Some(text), _) if text != "-" => text,
            (None, Some(file)) if file.as_os_str() != "-" => read_file(context, &file)?,
            // Reading standard input unasked would wait for ever where nobody closes it.
            (None, None) => {
                return Err(Halt::Usage(
                    "what to send? give the text, `-` for standard input, or --body-file"
                        .to_string(),
                ));
            }
            _ => read_stdin()?,
        };
        let intent = self.intent.as_deref().map(Intent::parse).transpose()?;
        Ok(Draft {
            body: body.into(),
            reply_to: self.reply_to,
            intent,
            idempotency_key: self.idempotency_key,
        })
    }
}

/// The most that is read from standard input, in bytes: more than any team's limit, so that the refusal can say how
/// large a body is, and less than what fills a machine.
const READ_CAP: u64 = 64 * 1024 * 1024;

/// The text of a file that the user named.
pub(crate) fn read_file(context: &Context<'_>, file: &Path) -> Result<String, Halt> {
    let path = context.environment.cwd.join(file);
    pitcrew_store::files::read_text(&path).map_err(|failure| {
        let why = match &failure {
            StoreFailure::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        Halt::Input {
            what: file.display().to_string(),
            why,
        }
    })
}

/// Standard input to its end.
pub(crate) fn read_stdin() -> Result<String, Halt> {
    let input = |why: String| Halt::Input {
        what: "standard input".to_string(),
        why,
    };
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(READ_CAP + 1)
        .read_to_end(&mut bytes)
        .map_err(|refused| input(refused.to_string()))?;
    if read as u64 > READ_CAP {
        return Err(input(format!("more than {READ_CAP} bytes")));
    }
    String::from_utf8(bytes).map_err(|refused| {
        let at = refused.utf8_error().valid_up_to();
        input(format!("not UTF-8 at byte {at}"))
    })
}
