//! `profile list`: which profiles there are and where each comes from.

use pitcrew_runtime::profile::{Origin, PaneProfile};
use serde_json::{Value, json};

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::profiles;
use crate::ui::{HEADING, Layout};

/// The row of this command.
pub(crate) const ENTRY: Entry = Entry::new::<List>("list", "List the profiles of agents in panes");

/// List the profiles of agents in panes
///
/// The built-in ones, yours from `pitcrew/profiles/panes/` in your configuration folder over them, and the project's from
/// `.pitcrew/profiles/panes/` over both.
#[derive(Debug, clap::Args)]
pub(crate) struct List {}

impl Run for List {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let project = context.project(None)?;
        let loaded = profiles::load_panes(context.environment, project.root());
        if context.ui.json {
            let rows: Vec<Value> = loaded.profiles.iter().map(value_of).collect();
            let problems: Vec<String> = loaded
                .profiles
                .problems()
                .map(ToString::to_string)
                .collect();
            let answer = json!({ "ok": true, "profiles": rows, "problems": problems });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        let heading = format!(
            "{:<12} {:<24} {:<16} {}",
            "profile", "starts", "screens of", "from"
        );
        let heading = context.ui.styled(HEADING, &heading);
        context.ui.own_line(&heading);
        for profile in loaded.profiles.iter() {
            context.ui.line(&format!(
                "{:<12} {:<24} {:<16} {}",
                profile.name,
                profile.pane.command.join(" "),
                profile.measured.join(","),
                origin(profile),
            ));
        }
        for problem in loaded.profiles.problems() {
            context.ui.say(&problem.to_string());
        }
        Ok(Exit::Done)
    }
}

fn origin(profile: &PaneProfile) -> String {
    match &profile.origin {
        Origin::BuiltIn => "built in".to_owned(),
        Origin::Home(path) | Origin::Project(path) => path.display().to_string(),
    }
}

fn value_of(profile: &PaneProfile) -> Value {
    json!({
        "name": profile.name,
        "command": profile.pane.command,
        "measured": profile.measured,
        "origin": origin(profile),
    })
}
