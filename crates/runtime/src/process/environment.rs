//! The environment a process is started with, worked out as a value.
//!
//! Nothing is inherited by itself: the base is handed in (the binary reads its own environment once), thinned by a
//! list of names or name beginnings, and then changed name by name. The last word on a name wins.
//!
//! Not here: reading our own environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The variables of a process to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// No variable at all.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Everything in `base`.
    #[must_use]
    pub fn all_of(base: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            variables: base.into_iter().collect(),
        }
    }

    /// Those variables of `base` that the list names. An entry that ends in `*` names every variable with that
    /// beginning: `LC_*`.
    #[must_use]
    pub fn forwarding<N: AsRef<OsStr>>(
        base: impl IntoIterator<Item = (OsString, OsString)>,
        names: &[N],
    ) -> Self {
        Self {
            variables: base
                .into_iter()
                .filter(|(name, _)| names.iter().any(|entry| names_it(entry.as_ref(), name)))
                .collect(),
        }
    }

    /// With one variable set, whatever it was before.
    #[must_use]
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Without a variable, or without all that an entry ending in `*` names.
    #[must_use]
    pub fn unset(mut self, entry: impl AsRef<OsStr>) -> Self {
        self.variables
            .retain(|name, _| !names_it(entry.as_ref(), name));
        self
    }

    /// The value of one variable.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

fn names_it(entry: &OsStr, name: &OsStr) -> bool {
    match entry.as_bytes().strip_suffix(b"*") {
        Some(beginning) => name.as_bytes().starts_with(beginning),
        None => entry == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Vec<(OsString, OsString)> {
        [
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("LC_TIME", "C"),
            ("SECRET", "s"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec()
    }

    fn names(environment: &Environment) -> Vec<&str> {
        environment
            .iter()
            .map(|(name, _)| name.to_str().unwrap())
            .collect()
    }

    #[test]
    fn only_what_is_named_is_forwarded() {
        let environment = Environment::forwarding(base(), &["HOME", "LC_*", "ABSENT"]);
        assert_eq!(names(&environment), ["HOME", "LC_ALL", "LC_TIME"]);
        assert_eq!(names(&Environment::forwarding(base(), &["*"])).len(), 4);
        assert!(names(&Environment::empty()).is_empty());
    }

    #[test]
    fn the_last_word_on_a_name_wins() {
        let environment = Environment::all_of(base())
            .set("HOME", "/other")
            .unset("SECRET")
            .unset("LC_*")
            .set("LC_ALL", "de");
        assert_eq!(names(&environment), ["HOME", "LC_ALL"]);
        assert_eq!(environment.value("HOME"), Some(OsStr::new("/other")));
        assert_eq!(environment.value("LC_TIME"), None);
    }
}
