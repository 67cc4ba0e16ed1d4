//! `skill`: the page that teaches an agent the commands, where its CLI looks for skills.
//!
//! A page that somebody wrote or changed is never written over and never removed: ours ends with a line that holds the
//! hash of what stands before it.

use std::path::PathBuf;

use pitcrew_core::identity::hash_token;
use pitcrew_store::files::SettingsFile;
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "skill",
    "Teach agents these commands, by a page where their CLI looks",
    &[
        Entry::new::<Install>("install", "Write the page"),
        Entry::new::<Uninstall>("uninstall", "Remove it again"),
    ],
);

const PAGE: &str = include_str!("skill/SKILL.md");

/// What the last line begins with.
const SIGNED: &str = "<!-- `pitcrew skill uninstall` removes this page: ";

/// Where each CLI looks, below a project's root and below the home folder.
const FOLDERS: [(&str, &str, &str, &str); 5] = [
    ("claude", ".claude/skills", "CLAUDE_CONFIG_DIR", ".claude"),
    ("copilot", ".github/skills", "COPILOT_HOME", ".copilot"),
    ("codex", ".agents/skills", "CODEX_HOME", ".codex"),
    ("gemini", ".agents/skills", "", ".gemini"),
    ("opencode", ".agents/skills", "", ".config/opencode"),
];

/// Which CLIs are meant, and whose pages.
#[derive(Debug, clap::Args)]
struct Which {
    /// The agent CLIs: claude, copilot, codex, gemini, opencode; all of them if none is named
    #[arg(value_name = "CLI", value_parser = FOLDERS.map(|(cli, ..)| cli))]
    clis: Vec<String>,
    /// In your own folders, for every project, instead of this project's
    #[arg(long)]
    user: bool,
}

/// Write the page
///
/// It goes into `.claude/skills/team/`, `.github/skills/team/` and `.agents/skills/team/`: launching a team, messages and
/// what is said about wakes, tasks, lines, results. A page that is there and is not ours is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pitcrew skill install                 for every CLI, in this project
  pitcrew skill install claude --user   for Claude Code, in every project
  pitcrew skill install --print         the page itself; nothing is written")]
pub(crate) struct Install {
    #[command(flatten)]
    which: Which,
    /// Write the page to standard output, and nothing else
    #[arg(long)]
    print: bool,
}

/// Remove it again
///
/// A page that was changed since is refused and stays.
#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    which: Which,
}

/// Whose a page is.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    Us,
    Other,
}

fn signed() -> String {
    format!("{PAGE}\n{SIGNED}{} -->\n", hash_token(PAGE))
}

fn owner(text: &str) -> Owner {
    let parts = text.rsplit_once(SIGNED);
    let is_ours = parts.is_some_and(|(page, hash)| {
        let page = page.strip_suffix('\n').unwrap_or(page);
        hash == format!("{} -->\n", hash_token(page))
    });
    if is_ours { Owner::Us } else { Owner::Other }
}

impl Which {
    /// The pages that are meant, each once.
    fn pages(&self, context: &mut Context<'_>) -> Result<Vec<SettingsFile>, Halt> {
        let root = context.project(None)?.root().to_path_buf();
        let mut paths: Vec<PathBuf> = Vec::new();
        for (cli, project, variable, home) in FOLDERS {
            if !self.clis.is_empty() && !self.clis.iter().any(|named| named == cli) {
                continue;
            }
            let folder = match self.user {
                false => root.join(project),
                true => {
                    let home = context.environment.cli_home(variable, home);
                    let home = home.ok_or_else(|| Halt::Input {
                        what: "the home folder".to_string(),
                        why: "HOME is not set".to_string(),
                    })?;
                    context.environment.cwd.join(home).join("skills")
                }
            };
            let page = folder.join("team/SKILL.md");
            if !paths.contains(&page) {
                paths.push(page);
            }
        }
        paths
            .iter()
            .map(|path| Ok(SettingsFile::at(path)?))
            .collect()
    }
}

/// Refuses a page that is not ours.
fn refuse_other(page: &SettingsFile) -> Result<Option<String>, Halt> {
    let text = page.read()?;
    match &text {
        Some(text) if owner(text) == Owner::Other => Err(Halt::CannotRun {
            code: "page_in_the_way",
            why: format!(
                "{} was written or changed by somebody else",
                page.path().display()
            ),
            hint: "move it away, or keep it and name the other CLIs",
        }),
        _ => Ok(text),
    }
}

impl Run for Install {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        if self.print {
            context.ui.whole(PAGE);
            return Ok(Exit::Done);
        }
        let pages = self.which.pages(context)?;
        // All are looked at before one is written.
        let before: Vec<Option<String>> =
            pages.iter().map(refuse_other).collect::<Result<_, _>>()?;
        let text = signed();
        let mut written = Vec::new();
        for (page, before) in pages.iter().zip(before) {
            if before.as_deref() != Some(&text) {
                page.write(&text)?;
                written.push(page.path());
            }
        }
        tell(context, "installed", &written, &pages);
        Ok(Exit::Done)
    }
}

impl Run for Uninstall {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let pages = self.which.pages(context)?;
        let before: Vec<Option<String>> =
            pages.iter().map(refuse_other).collect::<Result<_, _>>()?;
        let mut removed = Vec::new();
        for (page, before) in pages.iter().zip(before) {
            if before.is_some() {
                page.remove_with_folder()?;
                removed.push(page.path());
            }
        }
        tell(context, "removed", &removed, &[]);
        Ok(Exit::Done)
    }
}

/// Says which pages were changed, and which are as they should be already.
fn tell(
    context: &mut Context<'_>,
    word: &str,
    changed: &[&std::path::Path],
    pages: &[SettingsFile],
) {
    if context.ui.json {
        let files: Vec<_> = changed.iter().map(|path| path.to_string_lossy()).collect();
        let answer = json!({ "ok": true, word: files });
        context.ui.json(&answer, Layout::Pretty);
        return;
    }
    for path in changed {
        context.ui.line(&format!("{word} {}", path.display()));
    }
    for page in pages.iter().filter(|page| !changed.contains(&page.path())) {
        context
            .ui
            .line(&format!("{} is there already", page.path().display()));
    }
    if changed.is_empty() && pages.is_empty() {
        context.ui.line("there was none of ours");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a command of the page, as a shell would split them.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (at, part) in line.split('\'').enumerate() {
            match at % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_string)),
                _ => words.push(part.to_string()),
            }
        }
        words
    }

    #[test]
    fn every_command_of_the_page_is_understood() {
        let lines: Vec<&str> = PAGE
            .lines()
            .filter(|line| line.starts_with("pitcrew "))
            .collect();
        assert!(lines.len() > 25, "{lines:?}");
        for line in lines {
            let words: Vec<std::ffi::OsString> = words(line).into_iter().map(Into::into).collect();
            let words = crate::cli::words(&words);
            if let Err(refused) = crate::cli::command().try_get_matches_from(words) {
                panic!("{line}: {refused}");
            }
        }
    }

    #[test]
    fn a_page_is_ours_as_long_as_nobody_changed_it() {
        let text = signed();
        assert_eq!(owner(&text), Owner::Us);
        assert_eq!(
            owner(&text.replace("## As a member", "## As me")),
            Owner::Other
        );
        assert_eq!(owner(PAGE), Owner::Other);
        assert!(PAGE.lines().count() < 120);
    }
}
