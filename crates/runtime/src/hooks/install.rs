//! Putting hooks into a settings file beside what is there, and taking them out again.
//!
//! | found | put in | taken out |
//! |---|---|---|
//! | no file | a file with our hooks | removed |
//! | a file without ours | ours at the end of each event's list | as it was before, byte for byte |
//! | ours, of another version | renewed in their places | the same |
//! | an entry with a command of ours and one of somebody else's | refused | refused |
//! | no JSON object, something else at the place, a key twice | refused | refused |
//!
//! Nothing is written unless every hook could be put in or taken out.

use std::path::PathBuf;

use pitcrew_core::settings::{self, Element, SettingsError};
use pitcrew_store::StoreFailure;
use pitcrew_store::files::SettingsFile;
use serde_json::{Value, json};

use super::table::{HooksTable, Owner, fresh, owner};

/// The key under which all CLIs keep them.
const UNDER: &str = "hooks";

/// Why hooks are not put in or taken out. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum HooksError {
    /// The file.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// What it says.
    #[error("{} {why}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is in the way.
        why: SettingsError,
    },
    /// Somebody wrote into an entry of ours.
    #[error("{} has another command beside one of ours, at `{UNDER}.{event}`", path.display())]
    Mixed {
        /// The file.
        path: PathBuf,
        /// The event.
        event: String,
    },
    /// The file was changed while we looked at it.
    #[error("{} was changed a moment ago", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// Whether a file has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// All, as they are to be.
    Whole,
    /// Some, or of another version.
    Partly,
    /// None.
    Absent,
}

/// What came of putting them in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutIn {
    /// A file was made.
    Made,
    /// They stand beside what was there.
    Beside,
    /// They were in, of another version.
    Renewed,
    /// They were in already.
    Already,
}

/// What came of taking them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenOut {
    /// The file is gone: nothing else stood in it.
    Removed,
    /// What else stands in it is as it was.
    Restored,
    /// They were not in.
    Absent,
}

/// One file and what it has of the hooks of one profile.
struct Open<'a> {
    file: &'a SettingsFile,
    table: &'a HooksTable,
    profile: &'a str,
}

/// Whether `file` has the hooks of the profile called `profile`.
///
/// # Errors
/// As [`HooksError`] says.
pub fn installed(
    file: &SettingsFile,
    table: &HooksTable,
    profile: &str,
) -> Result<Installed, HooksError> {
    let open = Open {
        file,
        table,
        profile,
    };
    let Some(text) = file.read()? else {
        return Ok(Installed::Absent);
    };
    let ours = open.ours(&text)?;
    if ours.is_empty() {
        return Ok(Installed::Absent);
    }
    Ok(match open.with_ours(&text)? == text {
        true => Installed::Whole,
        false => Installed::Partly,
    })
}

/// What `file` would say with the hooks of the profile called `profile`. Nothing is written.
///
/// # Errors
/// As [`HooksError`] says.
pub fn with_hooks(
    file: &SettingsFile,
    table: &HooksTable,
    profile: &str,
) -> Result<(PutIn, String), HooksError> {
    let open = Open {
        file,
        table,
        profile,
    };
    open.plan(file.read()?.as_deref())
}

/// Puts the hooks of the profile called `profile` into `file`.
///
/// # Errors
/// As [`HooksError`] says.
pub fn put_in(file: &SettingsFile, table: &HooksTable, profile: &str) -> Result<PutIn, HooksError> {
    let open = Open {
        file,
        table,
        profile,
    };
    let before = file.read()?;
    let (done, text) = open.plan(before.as_deref())?;
    if done != PutIn::Already {
        open.unchanged(before.as_deref())?;
        file.write(&text)?;
    }
    Ok(done)
}

/// Takes all hooks of ours out of `file`.
///
/// # Errors
/// As [`HooksError`] says.
pub fn take_out(
    file: &SettingsFile,
    table: &HooksTable,
    profile: &str,
) -> Result<TakenOut, HooksError> {
    let open = Open {
        file,
        table,
        profile,
    };
    let Some(before) = file.read()? else {
        return Ok(TakenOut::Absent);
    };
    let mut text = before.clone();
    let mut found = false;
    while let Some(element) = open.ours(&text)?.pop() {
        found = true;
        let path = [UNDER, element.list.as_str()];
        text = open.settings(settings::remove(&text, path, element.place))?;
    }
    if !found {
        return Ok(TakenOut::Absent);
    }
    open.unchanged(Some(&before))?;
    if text == open.remains()? {
        file.remove()?;
        return Ok(TakenOut::Removed);
    }
    file.write(&text)?;
    Ok(TakenOut::Restored)
}

impl Open<'_> {
    /// What the file is to say.
    fn plan(&self, before: Option<&str>) -> Result<(PutIn, String), HooksError> {
        let Some(text) = before else {
            return Ok((PutIn::Made, self.whole()?));
        };
        let had = !self.ours(text)?.is_empty();
        let new = self.with_ours(text)?;
        Ok(match (new == *text, had) {
            (true, _) => (PutIn::Already, new),
            (false, true) => (PutIn::Renewed, new),
            (false, false) => (PutIn::Beside, new),
        })
    }

    fn settings<T>(&self, done: Result<T, SettingsError>) -> Result<T, HooksError> {
        done.map_err(|why| HooksError::Settings {
            path: self.file.path().to_path_buf(),
            why,
        })
    }

    /// Our entries, in the order of the text.
    fn ours(&self, text: &str) -> Result<Vec<Element>, HooksError> {
        let mut ours = Vec::new();
        for element in self.settings(settings::elements(text, UNDER))? {
            match owner(&element.value) {
                Owner::Us => ours.push(element),
                Owner::Other => {}
                Owner::Both => {
                    return Err(HooksError::Mixed {
                        path: self.file.path().to_path_buf(),
                        event: element.list,
                    });
                }
            }
        }
        Ok(ours)
    }

    /// `text` with exactly the hooks that are wanted, each in its place if it has one.
    fn with_ours(&self, text: &str) -> Result<String, HooksError> {
        let wanted: Vec<(&str, Value)> = self
            .table
            .put
            .iter()
            .map(|put| (put.on.as_str(), put.entry(self.profile)))
            .collect();
        let mut text = text.to_owned();
        // What is not wanted any more goes first, so that what follows is exact.
        loop {
            let ours = self.ours(&text)?;
            let of_event = |event: &str| wanted.iter().filter(move |(on, _)| *on == event).count();
            let surplus = ours.iter().rev().find(|element| {
                let same = ours.iter().filter(|other| other.list == element.list);
                same.count() > of_event(&element.list)
            });
            let Some(element) = surplus else { break };
            let path = [UNDER, element.list.as_str()];
            text = self.settings(settings::remove(&text, path, element.place))?;
        }
        for (at, (event, entry)) in wanted.iter().enumerate() {
            let before = wanted[..at].iter().filter(|(on, _)| on == event).count();
            let ours = self.ours(&text)?;
            let mut of_event = ours.iter().filter(|element| element.list == *event);
            text = match of_event.nth(before) {
                Some(element) if element.value == *entry => continue,
                Some(element) => self.settings(settings::replace(
                    &text,
                    [UNDER, event],
                    element.place,
                    entry,
                ))?,
                None => self.settings(settings::add(&text, [UNDER, event], entry))?,
            };
        }
        Ok(text)
    }

    /// A file with nothing but our hooks.
    fn whole(&self) -> Result<String, HooksError> {
        let Some(first) = self.table.put.first() else {
            return Ok(String::new());
        };
        let mut whole = fresh(self.table);
        whole[UNDER] = json!({ first.on.as_str(): [first.entry(self.profile)] });
        // A table of texts and numbers can always be written.
        let mut text = serde_json::to_string_pretty(&whole).unwrap_or_default();
        text.push('\n');
        self.with_ours(&text)
    }

    /// What a file that we made says when our hooks are out of it.
    fn remains(&self) -> Result<String, HooksError> {
        let mut text = self.whole()?;
        while let Some(element) = self.ours(&text)?.pop() {
            let path = [UNDER, element.list.as_str()];
            text = self.settings(settings::remove(&text, path, element.place))?;
        }
        Ok(text)
    }

    /// Looks once more before something is written.
    fn unchanged(&self, before: Option<&str>) -> Result<(), HooksError> {
        if self.file.read()?.as_deref() == before {
            return Ok(());
        }
        Err(HooksError::Changed {
            path: self.file.path().to_path_buf(),
        })
    }
}
