//! `profile test`: what a profile says about captured screens.

use std::path::{Path, PathBuf};

use pitcrew_core::screen::{Facts, State};
use pitcrew_runtime::profile::PaneProfile;
use pitcrew_store::files::read_text;
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::profiles;
use crate::ui::Layout;

/// The row of this command.
pub(crate) const ENTRY: Entry =
    Entry::new::<Test>("test", "Say what captured screens show, by a profile");

/// Say what captured screens show, by a profile
///
/// One line for each file: ready, busy, draft, dialog, limit, exited or unknown, and why. A file is a screen as `pitcrew
/// pane capture` writes it: its rows, a blank line, and a last line `#### cur=COLUMN,ROW curvis=1 alt=0 cmd=NAME
/// title=TEXT`. A file of the same name that ends in `.ansi`, beside it, has the colours. With --json each line is an
/// object. The exit status is 3 when a file could not be read; such a file is unknown.
#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// The profile
    #[arg(value_name = "PROFILE")]
    profile: String,
    /// The screens
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Run for Test {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let loaded = profiles::load_panes(context.environment, project.root());
        let profile = loaded.profiles.get(&self.profile);
        let profile = profile.map_err(|absent| Halt::Usage(absent.to_string()))?;
        let mut exit = Exit::Done;
        for file in &self.files {
            let (state, why) = match screen(&context.environment.cwd.join(file)) {
                Ok(facts) => judged(profile, &facts),
                Err(why) => {
                    exit = Exit::Failed;
                    (State::Unknown, why)
                }
            };
            let file = file.display().to_string();
            if context.ui.json {
                let line = json!({ "file": file, "state": state.word(), "why": why });
                context.ui.json(&line, Layout::Compact);
            } else {
                context.ui.line(&format!("{file}: {}: {why}", state.word()));
            }
        }
        Ok(exit)
    }
}

fn judged(profile: &PaneProfile, facts: &Facts) -> (State, String) {
    let reading = profile.judge(facts);
    (reading.state, reading.why)
}

/// The screen in a file, with the colours of its twin. A twin alone has no cursor, so the text is looked for beside it.
fn screen(file: &Path) -> Result<Facts, String> {
    let is_coloured = file.extension().is_some_and(|end| end == "ansi");
    let plain = match is_coloured {
        true => file.with_extension("txt"),
        false => file.to_path_buf(),
    };
    let text = read_text(&plain).map_err(|failure| Halt::from(failure).message())?;
    let facts = Facts::from_capture(&text);
    let twin = plain.with_extension("ansi");
    // A capture is whole without its colours, so a twin that is not there or cannot be read takes nothing away.
    Ok(match read_text(&twin) {
        Ok(colours) if twin != plain => facts.coloured(&colours),
        _ => facts,
    })
}
