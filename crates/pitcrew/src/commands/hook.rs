//! `hook`: put hooks into the settings of an agent CLI, so that a member is shown its mail without a key.

use std::path::PathBuf;

use pitcrew_runtime::hooks::{
    HooksError, HooksTable, Installed, PutIn, TakenOut, installed, put_in, take_out, with_hooks,
};
use pitcrew_runtime::profile::{Profile, ProfileAbsent};
use pitcrew_store::files::SettingsFile;
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt, with_causes};
use crate::profiles;
use crate::ui::Layout;

mod run;
mod wait;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "hook",
    "Show members their mail through the hooks of their agent CLIs",
    &[
        Entry::new::<Install>("install", "Put our hooks into an agent CLI's settings"),
        Entry::new::<Check>("check", "Say whether they are there"),
        Entry::new::<Uninstall>("uninstall", "Take them out again"),
        run::ENTRY,
    ],
);

/// Which CLI is meant, and whose settings.
#[derive(Debug, clap::Args)]
struct Which {
    /// The agent CLI: claude, codex, copilot, gemini, or a profile of your own with a table `hooks`
    #[arg(value_name = "PROFILE")]
    profile: String,
    /// In your own settings, for every project, instead of this project's
    #[arg(long)]
    user: bool,
}

/// Put our hooks into an agent CLI's settings
///
/// They stand beside what is there; every other byte stays as it is. A member is then shown unread mail and new findings
/// when a turn of its program begins, new mail makes a turn that ends go on, edits are asked of the guard, and pitcrew is
/// told what the program does. In a session that is no member's they do nothing but guard.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew hook install claude            .claude/settings.local.json of this project
  pitcrew hook install copilot --user    for every project of yours
  pitcrew hook install gemini --print    what the file would say; nothing is written")]
pub(crate) struct Install {
    #[command(flatten)]
    which: Which,
    /// Write what the file would say to standard output, and nothing else
    #[arg(long)]
    print: bool,
}

/// Say whether they are there
///
/// Exit status 1 when they are not, or not as this version has them.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    #[command(flatten)]
    which: Which,
}

/// Take them out again
///
/// What else stands in the file stays byte for byte.
#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    which: Which,
}

/// One CLI's settings.
struct Meant {
    profile: Profile,
    file: SettingsFile,
}

impl Meant {
    fn table(&self) -> Result<&HooksTable, Halt> {
        let none = || Halt::Usage(format!("the profile {} has no hooks", self.profile.name()));
        self.profile.hooks().ok_or_else(none)
    }

    fn name(&self) -> &str {
        self.profile.name().as_str()
    }
}

impl Which {
    fn find(&self, context: &mut Context<'_>) -> Result<Meant, Halt> {
        let project = context.project(None)?;
        let loaded = profiles::load(context.environment, project.root());
        let profile = loaded.profiles.get(&self.profile);
        let profile = profile.map_err(|absent: ProfileAbsent| Halt::Usage(absent.to_string()))?;
        let table = profile.hooks().ok_or_else(|| {
            let with = loaded.profiles.iter();
            let with = with.filter(|profile| profile.hooks().is_some());
            let with: Vec<&str> = with.map(|profile| profile.name().as_str()).collect();
            Halt::Usage(format!(
                "the profile {} has no table [hooks]; these have: {}",
                self.profile,
                with.join(", ")
            ))
        })?;
        let path = match self.user {
            false => project.root().join(&table.project),
            true => user_file(context, table)?,
        };
        let file = SettingsFile::at(&path)?;
        Ok(Meant {
            profile: profile.clone(),
            file,
        })
    }
}

fn user_file(context: &Context<'_>, table: &HooksTable) -> Result<PathBuf, Halt> {
    let user = &table.user;
    let folder = context.environment.cli_home(&user.variable, &user.home);
    let folder = folder.ok_or_else(|| Halt::Input {
        what: "the home folder".to_string(),
        why: format!("neither HOME nor {} is set", user.variable),
    })?;
    Ok(context.environment.cwd.join(folder).join(&user.file))
}

impl Run for Install {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let meant = self.which.find(context)?;
        let table = meant.table()?;
        let (path, name) = (meant.file.path(), meant.name());
        if self.print {
            let (_, text) = with_hooks(&meant.file, table, name)?;
            context.ui.whole(&text);
            context.ui.say(&format!("for {}", path.display()));
            return Ok(Exit::Done);
        }
        let done = put_in(&meant.file, table, name)?;
        if context.ui.json {
            let answer = json!({
                "ok": true, "profile": name, "file": path.to_string_lossy(), "changed": done != PutIn::Already,
                "note": table.note,
            });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        let path = path.display();
        context.ui.line(&match done {
            PutIn::Made => format!("made {path}"),
            PutIn::Beside => format!("installed in {path}; what was there stays"),
            PutIn::Renewed => format!("renewed in {path}"),
            PutIn::Already => format!("{path} has them already"),
        });
        if !table.note.is_empty() {
            context.ui.say(&table.note);
        }
        Ok(Exit::Done)
    }
}

impl Run for Check {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let meant = self.which.find(context)?;
        let found = installed(&meant.file, meant.table()?, meant.name())?;
        let (word, exit) = match found {
            Installed::Whole => ("installed", Exit::Done),
            Installed::Partly => ("outdated", Exit::Refused),
            Installed::Absent => ("absent", Exit::Refused),
        };
        let path = meant.file.path();
        if context.ui.json {
            let answer = json!({
                "ok": true, "profile": meant.name(), "file": path.to_string_lossy(), "hooks": word,
            });
            context.ui.json(&answer, Layout::Pretty);
        } else {
            context.ui.line(&format!("{word} in {}", path.display()));
        }
        Ok(exit)
    }
}

impl Run for Uninstall {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let meant = self.which.find(context)?;
        let done = take_out(&meant.file, meant.table()?, meant.name())?;
        let path = meant.file.path();
        if context.ui.json {
            let answer = json!({
                "ok": true, "profile": meant.name(), "file": path.to_string_lossy(),
                "changed": done != TakenOut::Absent,
            });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        let path = path.display();
        context.ui.line(&match done {
            TakenOut::Removed => format!("removed {path}"),
            TakenOut::Restored => format!("{path} is without them, and otherwise as it was"),
            TakenOut::Absent => format!("{path} has none of ours"),
        });
        Ok(Exit::Done)
    }
}

impl From<HooksError> for Halt {
    fn from(failure: HooksError) -> Self {
        let why = with_causes(&failure);
        let (code, hint) = match failure {
            HooksError::Store(failure) => return failure.into(),
            HooksError::Settings { .. } => (
                "settings_unclear",
                "mend the file, or put in by hand what --print shows for an empty one",
            ),
            HooksError::Mixed { .. } => (
                "hooks_mixed",
                "move your command into an entry of its own, or take ours out by hand",
            ),
            HooksError::Changed { .. } => ("settings_changed", "try again"),
        };
        Self::CannotRun { code, why, hint }
    }
}
