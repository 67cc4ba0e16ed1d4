//! The pane half of profiles: how a program looks in a terminal, how it takes a message, how it is started there.
//!
//! It stands in files of its own, `panes/<profile>.toml` beside the other half: built in, the user's over them, the
//! project's over both. With `extends`, a file says only what differs; a list replaces the list. A file that cannot be
//! used spoils only its own name.
//!
//! Not here: judging a screen (core), and finding the files.

use std::path::{Path, PathBuf};

use pitcrew_core::screen::{Facts, Reading, Signature, judge};
use pitcrew_core::submit::{Keys, Plan, PlanRefused};
use serde::Deserialize;

use super::file::{lay_over, position};
use super::known::{Shelf, unknown, usable};
use super::{Origin, ProfileAbsent, ProfileError};

const BUILT_IN: [(&str, &str); 7] = [
    ("bash.toml", include_str!("../../profiles/panes/bash.toml")),
    (
        "claude.toml",
        include_str!("../../profiles/panes/claude.toml"),
    ),
    (
        "codex.toml",
        include_str!("../../profiles/panes/codex.toml"),
    ),
    (
        "copilot.toml",
        include_str!("../../profiles/panes/copilot.toml"),
    ),
    (
        "gemini.toml",
        include_str!("../../profiles/panes/gemini.toml"),
    ),
    (
        "opencode.toml",
        include_str!("../../profiles/panes/opencode.toml"),
    ),
    ("qwen.toml", include_str!("../../profiles/panes/qwen.toml")),
];

/// The one version of the format.
const VERSION: u32 = 1;

/// What is known of one program in a pane.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaneProfile {
    /// The profile's name.
    #[serde(rename = "profile")]
    pub name: String,
    /// The version of the file's format.
    version: u32,
    /// The versions of the program that it was tried with.
    #[serde(default)]
    pub measured: Vec<String>,
    /// How it looks.
    pub screen: Signature,
    /// How it takes a message.
    pub submit: Keys,
    /// How it is started.
    pub pane: PaneStart,
    /// Where the profile comes from.
    #[serde(skip, default = "built_in")]
    pub origin: Origin,
}

fn built_in() -> Origin {
    Origin::BuiltIn
}

fn settles() -> u32 {
    150
}

/// How a program is started in a pane.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaneStart {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The same to go on with its last session; none where it cannot.
    #[serde(default)]
    pub resume: Vec<String>,
    /// How long it may take until it is ready, in milliseconds.
    pub ready_within_ms: u32,
    /// How long a freshly started program must look ready without a break before it is believed, in milliseconds: some
    /// show their composer for a moment before they ask something.
    #[serde(default = "settles")]
    pub settles_ms: u32,
    /// What it needs of the caller's environment: `NAME` or `START*`.
    #[serde(default)]
    pub forward: Vec<String>,
    /// Its question whether a folder is trusted.
    #[serde(default)]
    pub trust: Option<Trust>,
}

/// A program's question whether the folder is trusted. It is answered only when the user said so.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Words that stand on the screen while it asks.
    pub asks: Vec<String>,
    /// The keys that accept, in order.
    pub accept: Vec<String>,
    /// What stands on the screen when the accepting choice is the chosen one, just before the last key.
    pub chosen: String,
}

impl PaneProfile {
    /// What a screen says.
    #[must_use]
    pub fn judge(&self, facts: &Facts) -> Reading {
        judge(facts, &self.screen)
    }

    /// A plan to submit one line to this program.
    ///
    /// # Errors
    /// When the text is not one plain line.
    pub fn plan(&self, text: &str) -> Result<Plan, PlanRefused> {
        Plan::new(text, self.screen.clone(), self.submit.clone())
    }
}

#[derive(Debug, Clone)]
struct Known {
    table: toml::Table,
    profile: PaneProfile,
}

/// All pane halves, by the profile's name.
#[derive(Debug, Clone, Default)]
pub struct PaneProfiles {
    known: Shelf<Known>,
}

impl PaneProfiles {
    /// The built-in ones, the user's files over them and the project's over both; each file is its path and its text.
    #[must_use]
    pub fn load(
        home: impl IntoIterator<Item = (PathBuf, String)>,
        project: impl IntoIterator<Item = (PathBuf, String)>,
    ) -> Self {
        let mut profiles = Self::default();
        for (name, text) in BUILT_IN {
            profiles.add(Path::new(name), text, Origin::BuiltIn);
        }
        for (path, text) in home {
            profiles.add(&path, &text, Origin::Home(path.clone()));
        }
        for (path, text) in project {
            profiles.add(&path, &text, Origin::Project(path.clone()));
        }
        profiles
    }

    /// Only the built-in ones.
    #[must_use]
    pub fn built_in() -> Self {
        Self::load([], [])
    }

    /// All that can be used, by name.
    pub fn iter(&self) -> impl Iterator<Item = &PaneProfile> {
        let usable = self.known.values().filter_map(|known| known.as_ref().ok());
        usable.map(|known| &known.profile)
    }

    /// The variables of the caller that any of them hands on to its agent, as names or as beginnings with `*`.
    #[must_use]
    pub fn forwarded(&self) -> Vec<&str> {
        let names = self.iter().flat_map(|profile| &profile.pane.forward);
        names.map(String::as_str).collect()
    }

    /// What is wrong with the files that cannot be used.
    pub fn problems(&self) -> impl Iterator<Item = &ProfileError> {
        self.known.values().filter_map(|known| known.as_ref().err())
    }

    /// The pane half of the profile called `name`.
    ///
    /// # Errors
    /// [`ProfileAbsent::Unknown`] with the known names, or [`ProfileAbsent::Unusable`] with what is wrong with its file.
    pub fn get(&self, name: &str) -> Result<&PaneProfile, ProfileAbsent> {
        usable(&self.known, name).map(|known| &known.profile)
    }

    fn add(&mut self, path: &Path, text: &str, origin: Origin) {
        let made = self.read(path, text, origin);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = match &made {
            Ok(known) => known.profile.name.clone(),
            Err(_) => stem.into_owned(),
        };
        self.known.insert(name, made);
    }

    fn read(&self, path: &Path, text: &str, origin: Origin) -> Result<Known, ProfileError> {
        let syntax = |error: &toml::de::Error| {
            let (line, column) = position(text, error.span().map_or(0, |span| span.start));
            ProfileError::Syntax {
                path: path.to_path_buf(),
                line,
                column,
                message: error.message().to_owned(),
            }
        };
        let mut table: toml::Table = toml::from_str(text).map_err(|error| syntax(&error))?;
        let extends = table.remove("extends");
        let table = match extends.as_ref().and_then(toml::Value::as_str) {
            None => table,
            Some(base) => {
                let below = self
                    .known
                    .get(base)
                    .ok_or_else(|| ProfileError::UnknownBase {
                        path: path.to_path_buf(),
                        unknown: unknown(&self.known, base),
                    })?;
                let mut whole = below.as_ref().map_err(Clone::clone)?.table.clone();
                lay_over(&mut whole, table);
                whole
            }
        };
        let read: Result<PaneProfile, _> = match extends {
            // As it stands, for the place of a mistake.
            None => toml::from_str(text),
            Some(_) => table.clone().try_into(),
        };
        let mut profile = read.map_err(|error| syntax(&error))?;
        let invalid = |message: &str| ProfileError::Syntax {
            path: path.to_path_buf(),
            line: 1,
            column: 1,
            message: message.to_owned(),
        };
        if profile.version != VERSION {
            return Err(invalid("`version` is 1"));
        }
        if profile.pane.command.is_empty() {
            return Err(invalid("`pane.command` names the program"));
        }
        profile.origin = origin;
        Ok(Known { table, profile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (PathBuf, String) {
        (PathBuf::from("p/mine.toml"), text.to_owned())
    }

    #[test]
    fn the_built_in_ones_can_all_be_used() {
        let profiles = PaneProfiles::built_in();
        assert_eq!(profiles.problems().count(), 0);
        let names: Vec<&str> = profiles
            .iter()
            .map(|profile| profile.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "bash", "claude", "codex", "copilot", "gemini", "opencode", "qwen"
            ]
        );
    }

    #[test]
    fn a_file_says_only_what_differs() {
        let text = "profile = 'mine'\nextends = 'claude'\n[submit]\nburst_ms = 300\n[pane]\ncommand = ['claude-work']\n";
        let profiles = PaneProfiles::load([], [file(text)]);
        let mine = profiles.get("mine").unwrap();
        assert_eq!(
            (mine.submit.burst_ms, mine.pane.command[0].as_str()),
            (300, "claude-work")
        );
        assert_eq!(mine.screen, profiles.get("claude").unwrap().screen);
        assert!(matches!(mine.origin, Origin::Project(_)));
    }

    #[test]
    fn the_projects_file_wins_over_the_users() {
        let text = |burst: u32| {
            format!("profile = 'codex'\nextends = 'codex'\n[submit]\nburst_ms = {burst}\n")
        };
        let profiles = PaneProfiles::load([file(&text(200))], [file(&text(400))]);
        assert_eq!(profiles.get("codex").unwrap().submit.burst_ms, 400);
    }

    #[test]
    fn a_wrong_file_spoils_only_its_own_name() {
        for text in [
            "profile = 'mine'",
            "profile = 'mine'\nextends = 'claud'\n",
            "extends = 'claude'\nprofile = 'mine'\n[submit]\nburst = 3\n",
            "extends = 'claude'\nprofile = 'mine'\nversion = 2\n",
            "]",
        ] {
            let profiles = PaneProfiles::load([file(text)], []);
            assert_eq!(profiles.problems().count(), 1, "{text}");
            assert!(
                matches!(profiles.get("mine"), Err(ProfileAbsent::Unusable(_))),
                "{text}"
            );
            assert!(profiles.get("claude").is_ok());
        }
        let unknown = PaneProfiles::built_in()
            .get("claud")
            .unwrap_err()
            .to_string();
        assert!(unknown.contains("did you mean `claude`?"), "{unknown}");
    }
}
