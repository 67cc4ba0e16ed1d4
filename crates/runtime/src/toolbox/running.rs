//! `run_command`: a shell command in the project's folder, where a program allows it.
//!
//! The command and all that it starts are one group of processes ([`crate::process::Group`]). When its time is over, or its
//! call is given up, all of it is ended. What it prints is kept in its last parts. A command may change any file: claims bind
//! the tools that edit, not the programs that an agent starts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Bench;
use super::typed::typed;
use crate::clock::{Clock, Entropy, SystemEntropy};
use crate::model::{ToolAnswer, ToolContext, ToolFn};
use crate::process::{Ended, Environment, Group, How, Launch, Mark, Stream};

/// The most bytes of each stream that are shown.
const SHOWN: usize = 16 * 1024;

/// How long after its own limit a command's call is given up.
const CLEARING: Duration = Duration::from_secs(20);

/// Whether agents may run commands.
#[derive(Debug, Clone, Default)]
pub enum Commands {
    /// They may not: the tool is not offered.
    #[default]
    Refused,
    /// They may.
    Allowed(Allowed),
}

/// How commands run.
#[derive(Clone)]
pub struct Allowed {
    /// Exactly what their environment holds; `PATH` is needed to find the shell. Put no secret in here.
    pub environment: Environment,
    /// The longest that one may run.
    pub time_limit: Duration,
}

impl fmt::Debug for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allowed")
            .field("time_limit", &self.time_limit)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCommand {
    /// The command, as a shell takes it. It reads nothing and runs in the project's folder.
    command: String,
    /// After how many seconds it is ended; the most that is allowed if left out.
    timeout_seconds: Option<u64>,
}

pub(super) fn run_command(at: Arc<Bench>, allowed: Allowed) -> ToolFn {
    let about = format!(
        "Run a shell command in the project's folder, for at most {} seconds. Everything that it starts ends with it.",
        allowed.time_limit.as_secs()
    );
    let limit = allowed.time_limit + CLEARING;
    let tool = typed(
        "run_command",
        &about,
        move |asked: RunCommand, context: ToolContext| {
            let (at, allowed) = (Arc::clone(&at), allowed.clone());
            async move {
                run(&at, &allowed, &asked, &context)
                    .await
                    .unwrap_or_else(|why| {
                        ToolAnswer::refused(format!("Not done: {why}. Next: tell your user."))
                    })
            }
        },
    );
    tool.within(limit)
}

async fn run(
    at: &Bench,
    allowed: &Allowed,
    asked: &RunCommand,
    context: &ToolContext,
) -> Result<ToolAnswer, String> {
    let wanted = asked.timeout_seconds.map(Duration::from_secs);
    let limit = wanted.map_or(allowed.time_limit, |wanted| wanted.min(allowed.time_limit));
    // Whatever carries the mark is ended with the command, so it comes from the system and never from a seed.
    let turn = SystemEntropy.id().map_err(|failed| failed.to_string())?;
    let mark = Mark::new(&turn).map_err(|failed| failed.to_string())?;
    let launch = Launch::new("sh", at.workspace.root(), allowed.environment.clone(), mark)
        .args(["-c", asked.command.as_str()])
        .limit(limit);
    let clock: Arc<dyn Clock> = Arc::clone(&at.clock);
    // Dropping the group, as happens when the call is given up, kills it.
    let group = Group::spawn(launch, clock).map_err(|failed| failed.to_string())?;
    let ended = tokio::select! {
        ended = group.ended() => ended,
        () = context.cancelled.cancelled() => {
            group.kill();
            group.ended().await
        }
    };
    Ok(told(&ended, &group, limit))
}

fn told(ended: &Ended, group: &Group, limit: Duration) -> ToolAnswer {
    let (ok, how) = match ended.how {
        How::Exited(0) => (true, "It exited with status 0.".to_string()),
        How::Exited(status) => (false, format!("It exited with status {status}.")),
        How::Signaled(signal) => (false, format!("It was ended by signal {signal}.")),
        How::TimedOut { .. } => (
            false,
            format!("It ran longer than {} ms and was ended.", limit.as_millis()),
        ),
        How::Stopped { .. } => (false, "It was stopped.".to_string()),
        How::Lost => (
            false,
            "It ended, nobody knows with which status.".to_string(),
        ),
    };
    let mut text = how;
    for (word, stream, printed) in [
        ("output", Stream::Stdout, ended.stdout.printed),
        ("errors", Stream::Stderr, ended.stderr.printed),
    ] {
        let tail = group.tail(stream, SHOWN);
        if tail.is_empty() {
            continue;
        }
        let left_out = printed.saturating_sub(tail.len() as u64);
        let cut = match left_out {
            0 => String::new(),
            bytes => format!(" ({bytes} bytes before it left out)"),
        };
        let shown = String::from_utf8_lossy(&tail);
        text.push_str(&format!("\n--- {word}{cut} ---\n{}", shown.trim_end()));
    }
    ToolAnswer { text, ok }
}
