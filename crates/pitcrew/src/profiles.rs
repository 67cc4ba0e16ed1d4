//! Where profiles of agent CLIs come from: the built-in ones, the user's over them, the project's over both.
//!
//! The user's stand in `pitcrew/profiles/` below `XDG_CONFIG_HOME`, or below `~/.config` where that is not set, the
//! project's in `.pitcrew/profiles/` of its root; the pane halves in the folder `panes` of each. A file that cannot be used spoils only its own name.

use std::path::{Path, PathBuf};

use pitcrew_runtime::profile::{PaneProfiles, Profiles};
use pitcrew_store::StoreFailure;
use pitcrew_store::files::texts_in;

use crate::environment::Environment;

/// The profiles, with what could not be read on the way.
pub(crate) struct Loaded {
    pub(crate) profiles: Profiles,
    pub(crate) unread: Vec<StoreFailure>,
}

/// The pane halves, with what could not be read on the way.
pub(crate) struct LoadedPanes {
    pub(crate) profiles: PaneProfiles,
    pub(crate) unread: Vec<StoreFailure>,
}

/// Reads every profile that there is for the project at `root`.
pub(crate) fn load(environment: &Environment, root: &Path) -> Loaded {
    let mut unread = Vec::new();
    let home = texts(home(environment), &mut unread);
    let project = texts(Some(project(root)), &mut unread);
    Loaded {
        profiles: Profiles::load(home, project),
        unread,
    }
}

/// Reads every pane half that there is for the project at `root`.
pub(crate) fn load_panes(environment: &Environment, root: &Path) -> LoadedPanes {
    let mut unread = Vec::new();
    let home = home(environment).map(|home| home.join("panes"));
    let home = texts(home, &mut unread);
    let project = texts(Some(project(root).join("panes")), &mut unread);
    LoadedPanes {
        profiles: PaneProfiles::load(home, project),
        unread,
    }
}

fn home(environment: &Environment) -> Option<PathBuf> {
    let home = environment.config_home()?;
    Some(home.join("pitcrew").join("profiles"))
}

fn project(root: &Path) -> PathBuf {
    root.join(".pitcrew").join("profiles")
}

fn texts(folder: Option<PathBuf>, unread: &mut Vec<StoreFailure>) -> Vec<(PathBuf, String)> {
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
}
