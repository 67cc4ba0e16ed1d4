//! Where profiles of agent CLIs come from: the built-in ones, the user's over them, the project's over both.
//!
//! The user's stand in `pitcrew/profiles/` below `XDG_CONFIG_HOME`, or below `~/.config` where that is not set, the
//! project's in `.pitcrew/profiles/` of its root. A file that cannot be used spoils only its own name.

use std::path::{Path, PathBuf};

use pitcrew_runtime::profile::Profiles;
use pitcrew_store::StoreFailure;
use pitcrew_store::files::texts_in;

use crate::environment::Environment;

/// The profiles, with what could not be read on the way.
pub(crate) struct Loaded {
    pub(crate) profiles: Profiles,
    pub(crate) unread: Vec<StoreFailure>,
}

/// Reads every profile that there is for the project at `root`.
pub(crate) fn load(environment: &Environment, root: &Path) -> Loaded {
    let mut unread = Vec::new();
    let mut texts = |folder: Option<PathBuf>| {
        let mut texts = Vec::new();
        let found = folder.map(|folder| texts_in(&folder, "toml"));
        match found.transpose() {
            Ok(found) => {
                for found in found.unwrap_or_default() {
                    match found.text {
                        Ok(text) => texts.push((found.path, text)),
                        Err(failure) => unread.push(failure),
                    }
                }
            }
            Err(failure) => unread.push(failure),
        }
        texts
    };
    let home = environment.config_home();
    let home = texts(home.map(|home| home.join("pitcrew").join("profiles")));
    let project = texts(Some(root.join(".pitcrew").join("profiles")));
    Loaded {
        profiles: Profiles::load(home, project),
        unread,
    }
}
