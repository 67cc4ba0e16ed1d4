//! `discover`: share a finding with the whole team.

use std::time::Duration;

use pitcrew_runtime::desk::{Finding, Shared};
use serde_json::{Value, json};

use super::body::read_stdin;
use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::span::{millis, parse as parse_span};
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Discover>("discover", "Share a finding with the whole team");

/// Share a finding with the whole team
///
/// Everybody else is shown it once. Name the files and folders that it concerns, so that whoever works on them sees it
/// first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew discover build 'the tests need a running redis' --ttl 2h
  pitcrew discover parser - --path src/parser.rs < notes.md")]
pub(crate) struct Discover {
    /// What it is about, on one line
    #[arg(value_name = "TOPIC")]
    topic: String,
    /// The finding; `-` reads standard input
    #[arg(value_name = "CONTENT", allow_hyphen_values = true)]
    content: Option<String>,
    /// A file or folder that it concerns; can be given several times
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// How long it is worth knowing: 90s, 10m, 2h; for good if not given
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    ttl: Option<Duration>,
}

impl Run for Discover {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let content = match self.content {
            Some(text) if text != "-" => text,
            Some(_) => read_stdin()?,
            // Reading standard input unasked would wait for ever where nobody closes it.
            None => {
                let words = "what was found? give the text, or `-` for standard input";
                return Err(Halt::Usage(words.to_string()));
            }
        };
        let team = context.open_team()?;
        let paths = self.path.iter().map(|path| context.file(path, None));
        let finding = Finding {
            topic: self.topic,
            content,
            paths: paths.collect::<Result<_, _>>()?,
            ttl_ms: self.ttl.map(|ttl| millis(ttl).unsigned_abs()),
        };
        let who = context.credentials(&team.name);
        let shared = team.desk().share(&who, &finding)?;
        if let Some(evicted) = &shared.evicted {
            let words = format!("{} older findings are kept no longer", evicted.count);
            context.ui.say(&words);
        }
        if context.ui.json {
            context.ui.json(&answer(&shared), Layout::Pretty);
        } else {
            let topic = &shared.discovery.topic;
            context.ui.line(&format!("shared with the team: {topic}"));
        }
        Ok(Exit::Done)
    }
}

/// What was shared, as JSON.
pub(crate) fn answer(shared: &Shared) -> Value {
    let mut answer = json!({ "ok": true, "discovery": shared.discovery });
    if let Some(evicted) = &shared.evicted {
        answer["evicted"] = evicted.count.into();
    }
    answer
}
