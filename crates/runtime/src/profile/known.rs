//! Which profiles there are: built in, then the user's, then the project's.
//!
//! A file adds a profile, or, with `extends`, says only what differs from another: of the same name in an earlier
//! origin, or of any other name. A file of a known name without `extends` replaces it whole. A file that cannot be
//! used spoils only its own name: asking for that name says what is wrong with the file, everything else works.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use pitcrew_core::name::nearest;

use super::file::{self, ProfileError, ProfileFile};
use super::{Origin, Profile};

const BUILT_IN: [(&str, &str); 7] = [
    ("sh.toml", include_str!("../../profiles/sh.toml")),
    ("claude.toml", include_str!("../../profiles/claude.toml")),
    ("codex.toml", include_str!("../../profiles/codex.toml")),
    ("copilot.toml", include_str!("../../profiles/copilot.toml")),
    ("gemini.toml", include_str!("../../profiles/gemini.toml")),
    (
        "opencode.toml",
        include_str!("../../profiles/opencode.toml"),
    ),
    ("qwen.toml", include_str!("../../profiles/qwen.toml")),
];

/// A name that no profile has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no profile is called `{given}`{}; there are {}", .nearest.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default(), .known.join(", "))]
pub struct UnknownProfile {
    /// The name as given.
    pub given: String,
    /// The names that there are, in order.
    pub known: Vec<String>,
    /// The one that was most likely meant.
    pub nearest: Option<String>,
}

/// Why a profile cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileAbsent {
    /// Nobody has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownProfile),
    /// The file that defines it cannot be used.
    #[error(transparent)]
    Unusable(#[from] ProfileError),
}

#[derive(Debug, Clone)]
struct Known {
    table: toml::Table,
    profile: Profile,
}

/// All profiles.
#[derive(Debug, Clone, Default)]
pub struct Profiles {
    known: Shelf<Known>,
}

/// Files by the name of what they define, as either half of the profiles keeps them.
pub(super) type Shelf<K> = BTreeMap<String, Result<K, ProfileError>>;

/// What stands under `name`, exactly.
pub(super) fn usable<'a, K>(shelf: &'a Shelf<K>, name: &str) -> Result<&'a K, ProfileAbsent> {
    match shelf.get(name) {
        Some(known) => known.as_ref().map_err(|error| error.clone().into()),
        None => Err(unknown(shelf, name).into()),
    }
}

/// That nothing stands under `given`, and what does.
pub(super) fn unknown<K>(shelf: &Shelf<K>, given: &str) -> UnknownProfile {
    UnknownProfile {
        given: given.to_string(),
        known: names(shelf).map(str::to_string).collect(),
        nearest: nearest(given, names(shelf)),
    }
}

fn names<K>(shelf: &Shelf<K>) -> impl Iterator<Item = &str> {
    let usable = shelf.iter().filter(|(_, known)| known.is_ok());
    usable.map(|(name, _)| name.as_str())
}

/// A file of one origin that is not yet laid over what it extends.
struct Waiting {
    path: PathBuf,
    table: toml::Table,
    file: ProfileFile,
}

impl Profiles {
    /// The built-in profiles, the files of the user's folder over them and those of the project's over both. Each
    /// file is its path, for messages, and its text; the order within a folder does not matter.
    #[must_use]
    pub fn load(
        home: impl IntoIterator<Item = (PathBuf, String)>,
        project: impl IntoIterator<Item = (PathBuf, String)>,
    ) -> Self {
        let mut profiles = Self::default();
        let built_in = BUILT_IN.map(|(name, text)| (PathBuf::from(name), text.to_string()));
        profiles.add(built_in, |_| Origin::BuiltIn);
        profiles.add(home, Origin::Home);
        profiles.add(project, Origin::Project);
        profiles
    }

    /// Only the built-in ones.
    #[must_use]
    pub fn built_in() -> Self {
        Self::load([], [])
    }

    /// The names of all that can be used, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        names(&self.known)
    }

    /// All that can be used, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.known
            .values()
            .filter_map(|known| known.as_ref().ok())
            .map(|known| &known.profile)
    }

    /// What is wrong with the files that cannot be used.
    pub fn problems(&self) -> impl Iterator<Item = &ProfileError> {
        self.known.values().filter_map(|known| known.as_ref().err())
    }

    /// The profile called `name`, exactly.
    ///
    /// # Errors
    /// [`ProfileAbsent::Unknown`] with the known names and the nearest one, or [`ProfileAbsent::Unusable`] with what
    /// is wrong with its file.
    pub fn get(&self, name: &str) -> Result<&Profile, ProfileAbsent> {
        usable(&self.known, name).map(|known| &known.profile)
    }

    /// The known name that `given` most likely meant.
    #[must_use]
    pub fn nearest(&self, given: &str) -> Option<String> {
        nearest(given, self.names())
    }

    fn add(
        &mut self,
        files: impl IntoIterator<Item = (PathBuf, String)>,
        origin: impl Fn(PathBuf) -> Origin,
    ) {
        let mut waiting: BTreeMap<String, Waiting> = BTreeMap::new();
        let mut unusable: Vec<(String, ProfileError)> = Vec::new();
        for (path, text) in files {
            let stem = path
                .file_stem()
                .and_then(OsStr::to_str)
                .unwrap_or_default()
                .to_string();
            match file::parse(&path, &text) {
                // Without a readable name, the file's own is most likely what it meant to define.
                Err(error) => unusable.push((stem, error)),
                Ok((table, file)) => {
                    let name = file.name.clone().unwrap_or(stem);
                    match waiting.get(&name) {
                        Some(first) => {
                            let twice = ProfileError::Twice {
                                path,
                                name: name.clone(),
                                other: first.path.clone(),
                            };
                            unusable.push((name, twice));
                        }
                        None => {
                            waiting.insert(name, Waiting { path, table, file });
                        }
                    }
                }
            }
        }
        let names: Vec<String> = waiting.keys().cloned().collect();
        for name in names {
            self.settle(&name, &mut waiting, &mut Vec::new(), &origin);
        }
        self.known
            .extend(unusable.into_iter().map(|(name, error)| (name, Err(error))));
    }

    /// Lays the waiting file called `name` over what it extends, after that has been done for the latter.
    fn settle(
        &mut self,
        name: &str,
        waiting: &mut BTreeMap<String, Waiting>,
        under: &mut Vec<String>,
        origin: &impl Fn(PathBuf) -> Origin,
    ) {
        let Some(one) = waiting.remove(name) else {
            return;
        };
        under.push(name.to_string());
        if let Some(base) = one.file.extends.as_deref().filter(|base| *base != name) {
            if under.iter().any(|open| open == base) {
                let circle = ProfileError::Circle {
                    path: one.path.clone(),
                    circle: under.clone(),
                };
                self.known.insert(name.to_string(), Err(circle));
                under.pop();
                return;
            }
            self.settle(base, waiting, under, origin);
        }
        under.pop();
        let made = self.laid_over(&one, origin(one.path.clone()));
        self.known.insert(name.to_string(), made);
    }

    fn laid_over(&self, one: &Waiting, origin: Origin) -> Result<Known, ProfileError> {
        let table = match &one.file.extends {
            None => one.table.clone(),
            Some(base) => {
                let below = self
                    .known
                    .get(base)
                    .ok_or_else(|| unknown(&self.known, base));
                let below = below.map_err(|unknown| ProfileError::UnknownBase {
                    path: one.path.clone(),
                    unknown,
                })?;
                let mut table = below.as_ref().map_err(Clone::clone)?.table.clone();
                file::lay_over(&mut table, one.table.clone());
                table
            }
        };
        let mut whole = table.clone();
        whole.remove("extends");
        let profile = file::build(&one.path, origin, whole)?;
        Ok(Known { table, profile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "version = 1\nprogram = 'x'\n[turn]\nfresh = ['-p']\n[answer]\nat = [{ from = 'stdout' }]\n";

    fn file(name: &str, text: &str) -> (PathBuf, String) {
        (PathBuf::from(name), text.to_string())
    }

    fn whole(name: &str) -> (PathBuf, String) {
        file(
            &format!("{name}.toml"),
            &format!("name = '{name}'\n{WHOLE}"),
        )
    }

    #[test]
    fn the_built_in_profiles_can_all_be_used() {
        let profiles = Profiles::built_in();
        assert_eq!(
            profiles.problems().collect::<Vec<_>>(),
            [] as [&ProfileError; 0]
        );
        let names: Vec<&str> = profiles.names().collect();
        assert_eq!(
            names,
            [
                "claude", "codex", "copilot", "gemini", "opencode", "qwen", "sh"
            ]
        );
        for profile in profiles.iter() {
            assert_eq!(*profile.origin(), Origin::BuiltIn);
            assert!(!profile.description().is_empty(), "{}", profile.name());
        }
    }

    #[test]
    fn a_file_overrides_single_keys_and_keeps_the_rest() {
        let over = "version = 1\nname = 'claude'\nextends = 'claude'\n[turn]\ntime_limit_s = 60\n[env.set]\nX = '1'\n";
        let profiles = Profiles::load([file("h/claude.toml", over)], []);
        let claude = profiles.get("claude").unwrap();
        assert_eq!(claude.time_limit_ms(), 60_000);
        assert_eq!(claude.program(), "claude");
        assert_eq!(claude.env.set.get("X").map(String::as_str), Some("1"));
        assert!(claude.env.set.contains_key("DISABLE_AUTOUPDATER"));
        assert_eq!(
            *claude.origin(),
            Origin::Home(PathBuf::from("h/claude.toml"))
        );
    }

    #[test]
    fn the_project_lies_over_the_user_and_the_user_over_the_program() {
        let home = "version = 1\nname = 'claude'\nextends = 'claude'\nprogram = 'claude-home'\n[turn]\ntime_limit_s = 60\n";
        let project =
            "version = 1\nname = 'claude'\nextends = 'claude'\nprogram = 'claude-project'\n";
        let profiles = Profiles::load([file("h/c.toml", home)], [file("p/c.toml", project)]);
        let claude = profiles.get("claude").unwrap();
        assert_eq!(
            (claude.program(), claude.time_limit_ms()),
            ("claude-project", 60_000)
        );
        assert_eq!(*claude.origin(), Origin::Project(PathBuf::from("p/c.toml")));
    }

    #[test]
    fn a_file_may_extend_another_name_whatever_the_order() {
        let a = file("a.toml", "version = 1\nname = 'a'\nextends = 'b'\n");
        let b = file(
            "b.toml",
            "version = 1\nname = 'b'\nextends = 'codex'\nprogram = 'bee'\n",
        );
        for files in [[a.clone(), b.clone()], [b, a]] {
            let profiles = Profiles::load(files, []);
            assert_eq!(profiles.get("a").unwrap().program(), "bee");
            assert_eq!(profiles.get("a").unwrap().name().as_str(), "a");
            assert_eq!(profiles.get("codex").unwrap().program(), "codex");
        }
    }

    #[test]
    fn a_file_without_extends_replaces_a_name_whole() {
        let profiles = Profiles::load([whole("claude")], []);
        let claude = profiles.get("claude").unwrap();
        assert_eq!((claude.program(), claude.can_resume()), ("x", false));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones_and_the_nearest() {
        let profiles = Profiles::built_in();
        let error = profiles.get("cluade").unwrap_err().to_string();
        assert_eq!(
            error,
            "no profile is called `cluade` (did you mean `claude`?); there are claude, codex, copilot, gemini, opencode, qwen, sh"
        );
        assert_eq!(profiles.nearest("Codex"), Some("codex".into()));
        assert!(
            !profiles
                .get("zzz")
                .unwrap_err()
                .to_string()
                .contains("mean")
        );
    }

    #[test]
    fn a_broken_file_spoils_only_its_own_name() {
        let profiles = Profiles::load(
            [file("claude.toml", "version = 1\nname = \"claude\nextends")],
            [whole("mine")],
        );
        assert!(matches!(
            profiles.get("claude"),
            Err(ProfileAbsent::Unusable(ProfileError::Syntax {
                line: 3,
                ..
            }))
        ));
        assert!(profiles.get("mine").is_ok() && profiles.get("codex").is_ok());
        assert_eq!(profiles.problems().count(), 1);
        assert!(!profiles.names().any(|name| name == "claude"));
    }

    #[test]
    fn a_base_that_is_not_there_a_circle_and_a_name_twice_are_refused() {
        let error = |files: &[(&str, &str)], name: &str| {
            let files: Vec<_> = files.iter().map(|(path, text)| file(path, text)).collect();
            Profiles::load(files, []).get(name).unwrap_err().to_string()
        };
        let base = error(
            &[("a.toml", "version = 1\nname = 'a'\nextends = 'cladue'\n")],
            "a",
        );
        assert!(
            base.starts_with(
                "a.toml: `extends`: no profile is called `cladue` (did you mean `claude`?)"
            ),
            "{base}"
        );
        let own = error(
            &[("a.toml", "version = 1\nname = 'a'\nextends = 'a'\n")],
            "a",
        );
        assert!(own.contains("no profile is called `a`"), "{own}");
        let circle = [
            ("a.toml", "version = 1\nname = 'a'\nextends = 'b'\n"),
            ("b.toml", "version = 1\nname = 'b'\nextends = 'a'\n"),
        ];
        for name in ["a", "b"] {
            assert_eq!(
                error(&circle, name),
                "b.toml: `extends`: a, b extend each other"
            );
        }
        let twice = [
            ("1.toml", "version = 1\nname = 'a'\nextends = 'sh'\n"),
            ("2.toml", "version = 1\nname = 'a'\nextends = 'sh'\n"),
        ];
        assert_eq!(
            error(&twice, "a"),
            "2.toml: the name `a` is taken by 1.toml"
        );
    }

    #[test]
    fn a_later_origin_can_replace_what_an_earlier_one_broke() {
        let profiles = Profiles::load([file("claude.toml", "]")], [whole("claude")]);
        assert_eq!(profiles.get("claude").unwrap().program(), "x");
        let over = file(
            "c.toml",
            "version = 1\nname = 'claude'\nextends = 'claude'\n",
        );
        assert!(
            Profiles::load([file("claude.toml", "]")], [over])
                .get("claude")
                .is_err()
        );
    }
}
