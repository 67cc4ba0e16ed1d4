//! What a change does to the files of a team: gathered from version control, the work tree and a patch, and handed to
//! the rule of core ([`pitcrew_core::claim::Claim::touched_by`]).
//!
//! | change | old state | new state |
//! |---|---|---|
//! | what is staged | the last commit | the index that is about to be committed |
//! | what is staged, in a merge | every parent: only lines that differ from all of them count | the index |
//! | a range of commits | its first | its last |
//! | a patch | the present file | not there yet |
//!
//! Claims are on lines of the present file in the work tree. What differs between it and the new state is followed, so
//! a partly staged file is judged by what is staged. Only files that are held are looked into.
//!
//! A linked work tree has no state of its own, and a copy that was checked out elsewhere has none either: their files are
//! those of the project by name, and a claim is looked for in them by content.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use pitcrew_core::Refusal;
use pitcrew_core::claim::{Compared, FileLines, FilePatch, FilePath, Hunk, Span, Touched, decided};
use pitcrew_store::files::Workspace;
use pitcrew_store::{Project, StoreFailure};

use crate::git::{Entry, Git, GitError, Renames, States, WorkTree};

pub mod hook;

/// What a change does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub file: FilePath,
    /// What is done to it.
    pub touched: Touched,
    /// Whether what lies below the file's name changes too: it is a submodule.
    pub below: Below,
}

/// How far a change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// The file.
    No,
    /// Everything below its name.
    Yes,
}

impl Change {
    /// All of a file, of which `text` is what it says now.
    fn whole(file: FilePath, text: Option<FileLines>) -> Self {
        let spans = vec![Span::EVERYTHING];
        let touched = text.map(|text| Touched::Lines {
            spans,
            text: Some(text),
        });
        Self {
            file,
            touched: touched.unwrap_or(Touched::Whole),
            below: Below::No,
        }
    }

    /// Whether it is a change of `file`.
    #[must_use]
    pub fn is_of(&self, file: &FilePath) -> bool {
        match self.below {
            Below::No => self.file == *file,
            Below::Yes => file.is_below(&self.file),
        }
    }
}

/// Why a change could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// What was given is no range of commits.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Whether somebody else holds lines of a file, or of one below it.
pub type IsHeld<'a> = &'a dyn Fn(&FilePath, Below) -> bool;

/// The place that changes are looked at from.
#[derive(Debug)]
pub struct Lookout {
    git: Git,
    /// The project, by whose names files are claimed.
    project: Workspace,
    /// The work tree, whose files are read.
    here: Workspace,
    top: PathBuf,
    /// What stands for the top of the work tree in the project; `None` when it is of another repository.
    base: Option<PathBuf>,
}

/// Which work trees, neither of the project's own nor inside it or around it, are copies of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// All: somebody said so by naming the project.
    All,
    /// Those whose history begins like that of the project.
    Kin,
}

impl Lookout {
    /// Looks from a work tree at what its changes mean for `project`.
    ///
    /// # Errors
    /// When a folder cannot be looked at, or git cannot be asked.
    pub fn new(
        git: &Git,
        tree: &WorkTree,
        project: &Project,
        copies: Copies,
    ) -> Result<Self, GuardError> {
        let project = Workspace::of(project)?;
        let here = Workspace::of(&Project::at(&tree.top)?)?;
        let base = match base(here.root(), tree.main.as_deref(), project.root()) {
            Some(base) => Some(base),
            None if copies == Copies::All => Some(project.root().to_path_buf()),
            None => {
                let there = git.elsewhere(project.root()).beginnings()?;
                let own = git.at(&tree.top).beginnings()?;
                let is_kin = own.iter().any(|commit| there.contains(commit));
                is_kin.then(|| project.root().to_path_buf())
            }
        };
        Ok(Self {
            git: git.at(&tree.top),
            project,
            here,
            top: tree.top.clone(),
            base,
        })
    }

    /// The file that version control calls `path`. One outside of the project, or with a name that is no text, can be
    /// held by nobody.
    fn file(&self, path: &OsStr) -> Option<FilePath> {
        self.project.tracked(&self.base.as_ref()?.join(path)).ok()
    }

    /// What the file says in the work tree.
    fn present(&self, path: &OsStr) -> Result<Option<FileLines>, StoreFailure> {
        let Ok(file) = self.here.tracked(&self.top.join(path)) else {
            return Ok(None);
        };
        let text = self.here.text(&file)?;
        Ok(text.as_deref().and_then(FileLines::of_text))
    }

    fn lines_of(&self, id: &str) -> Result<Option<FileLines>, GitError> {
        Ok(FileLines::of_text(&self.git.blob(id)?))
    }

    /// What is about to be committed.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn staged(&self, is_held: IsHeld<'_>) -> Result<Vec<Change>, GuardError> {
        let head = match self.git.resolve("HEAD^{tree}")? {
            Some(head) => head,
            None => self.git.empty_tree()?,
        };
        let merged = self.git.merged()?;
        if merged.is_empty() {
            let states = States::Staged { since: &head };
            let entries = self.git.changes(states, Renames::Found)?;
            return self.looked_into(&entries, None, is_held);
        }
        self.merged(&head, &merged, is_held)
    }

    /// What a range of commits, `base..head` or `base...head`, changed.
    ///
    /// # Errors
    /// `invalid_input` when it is no range; when it cannot be looked at.
    pub fn range(&self, range: &str, is_held: IsHeld<'_>) -> Result<Vec<Change>, GuardError> {
        let wrong = |why: String| Refusal::input("range", &why);
        let commit = |name: &str| -> Result<String, GuardError> {
            let name = if name.is_empty() { "HEAD" } else { name };
            let found = self.git.resolve(&format!("{name}^{{commit}}"))?;
            Ok(found.ok_or_else(|| wrong(format!("{name} names no commit")))?)
        };
        let (old, new) = if let Some((old, new)) = range.split_once("...") {
            let (old, new) = (commit(old)?, commit(new)?);
            let base = self.git.merge_base(&old, &new)?;
            let apart = || wrong("its ends have no commit in common".to_owned());
            (base.ok_or_else(apart)?, new)
        } else if let Some((old, new)) = range.split_once("..") {
            (commit(old)?, commit(new)?)
        } else {
            return Err(wrong("a range is written base..head".to_owned()).into());
        };
        let states = States::Between {
            old: &old,
            new: &new,
        };
        let entries = self.git.changes(states, Renames::Found)?;
        self.looked_into(&entries, Some(&new), is_held)
    }

    fn looked_into(
        &self,
        entries: &[Entry],
        state: Option<&str>,
        is_held: IsHeld<'_>,
    ) -> Result<Vec<Change>, GuardError> {
        let mut changes = Vec::new();
        for entry in entries {
            let below = match entry.is_of_submodule() {
                true => Below::Yes,
                false => Below::No,
            };
            let of = |path: &OsStr| self.file(path).filter(|file| is_held(file, below));
            let (old, new) = (of(&entry.old.path), of(&entry.new.path));
            let is_text = entry.status == 'M' && entry.old.is_file() && entry.new.is_file();
            if let (true, Some(file)) = (is_text, &new) {
                if let Some(touched) = self.compared(entry, state)? {
                    changes.push(Change {
                        file: file.clone(),
                        touched,
                        below,
                    });
                }
                continue;
            }
            // What is copied stays as it is.
            let old = old.filter(|file| entry.status != 'C' && new.as_ref() != Some(file));
            let old = old.map(|file| (file, &entry.old.path));
            let new = new.map(|file| (file, &entry.new.path));
            for (file, path) in old.into_iter().chain(new) {
                changes.push(Change {
                    below,
                    ..Change::whole(file, self.present(path)?)
                });
            }
        }
        Ok(changes)
    }

    /// What differs in the text of one file. `None` when nothing does: only its mode changed, which is no line.
    fn compared(&self, entry: &Entry, state: Option<&str>) -> Result<Option<Touched>, GuardError> {
        if entry.old.id == entry.new.id {
            return Ok(None);
        }
        let Some(hunks) = self.git.hunks(&entry.old.id, &entry.new.id)? else {
            return Ok(Some(Touched::Whole));
        };
        let decided = hunks.iter().map(|hunk| hunk.new).collect();
        let compared = self.placed(entry, state, hunks, decided)?;
        Ok(Some(Touched::Compared(Compared {
            old: self.lines_of(&entry.old.id)?,
            ..compared
        })))
    }

    /// What the new state of a file and the present file are to each other.
    fn placed(
        &self,
        entry: &Entry,
        state: Option<&str>,
        hunks: Vec<Hunk>,
        decided: Vec<Span>,
    ) -> Result<Compared, GuardError> {
        let ahead = self.git.hunks_ahead(state, &entry.new.path)?;
        Ok(Compared {
            decided,
            hunks,
            // Without text in the work tree there is nothing to follow.
            present: match &ahead {
                Some(_) => self.present(&entry.new.path)?,
                None => None,
            },
            ahead: ahead.unwrap_or_default(),
            old: None,
            new: self.lines_of(&entry.new.id)?,
        })
    }

    /// What a merge of `ours` with any number of others decides itself: whatever is as one of its parents has it was
    /// decided there.
    fn merged(
        &self,
        ours: &str,
        others: &[String],
        is_held: IsHeld<'_>,
    ) -> Result<Vec<Change>, GuardError> {
        let since = |since| self.git.changes(States::Staged { since }, Renames::Apart);
        let others = others.iter().map(|other| since(other));
        let others: Vec<Vec<Entry>> = others.collect::<Result<_, _>>()?;
        let mut changes = Vec::new();
        for entry in &since(ours)? {
            let same = |other: &&Entry| other.new.path == entry.new.path;
            let others = others.iter().map(|other| other.iter().find(same));
            // As one of them has it, it is decided there.
            let Some(others) = others.collect::<Option<Vec<&Entry>>>() else {
                continue;
            };
            let parents = || std::iter::once(entry).chain(others.iter().copied());
            let below = match parents().any(Entry::is_of_submodule) {
                true => Below::Yes,
                false => Below::No,
            };
            let Some(file) = self
                .file(&entry.new.path)
                .filter(|file| is_held(file, below))
            else {
                continue;
            };
            let whole = Change {
                below,
                ..Change::whole(file.clone(), self.present(&entry.new.path)?)
            };
            if !parents().all(|parent| parent.old.is_file() && parent.new.is_file()) {
                changes.push(whole);
                continue;
            }
            if parents().any(|parent| parent.old.id == parent.new.id) {
                continue;
            }
            let Some(decided) = self.differs_from_all(parents())? else {
                changes.push(whole);
                continue;
            };
            let compared = self.placed(entry, None, Vec::new(), decided)?;
            changes.push(Change {
                touched: Touched::Compared(compared),
                ..whole
            });
        }
        Ok(changes)
    }

    /// The lines of a merged file that no parent has. `None` where one of the states is no text.
    fn differs_from_all<'a>(
        &self,
        parents: impl Iterator<Item = &'a Entry>,
    ) -> Result<Option<Vec<Span>>, GitError> {
        let mut against = Vec::new();
        for parent in parents {
            match self.git.hunks(&parent.old.id, &parent.new.id)? {
                Some(hunks) => against.push(hunks.iter().map(|hunk| hunk.new).collect()),
                None => return Ok(None),
            }
        }
        Ok(Some(decided(&against)))
    }
}

/// What the top of a work tree is called in the project. `None` without the project in it or around it.
fn base(top: &Path, main: Option<&Path>, project: &Path) -> Option<PathBuf> {
    let related = |one: &Path| one.starts_with(project) || project.starts_with(one);
    match main {
        Some(main) if related(main) && !project.starts_with(top) => Some(main.to_path_buf()),
        _ => related(top).then(|| top.to_path_buf()),
    }
}

/// What a patch would change that is not applied yet. Its names are meant from the root of the project.
///
/// # Errors
/// When a file cannot be read.
pub fn patched(
    files: &[FilePatch],
    project: &Workspace,
    is_held: IsHeld<'_>,
) -> Result<Vec<Change>, StoreFailure> {
    let mut changes = Vec::new();
    for patch in files {
        let of = |name: &Option<String>| {
            let file = project.tracked(&project.root().join(name.as_ref()?)).ok()?;
            is_held(&file, Below::No).then_some(file)
        };
        let (old, new) = (of(&patch.old), of(&patch.new));
        if patch.is_whole || patch.old != patch.new {
            let old = old.filter(|file| new.as_ref() != Some(file));
            for file in old.into_iter().chain(new) {
                changes.push(somehow(file, project)?);
            }
        } else if let Some(file) = new.filter(|_| !patch.hunks.is_empty()) {
            changes.push(edited(file, replaced(&patch.hunks), project)?);
        }
    }
    Ok(changes)
}

/// The lines of the present file that hunks replace, without the lines around them that they show.
fn replaced(hunks: &[Hunk]) -> Vec<Span> {
    hunks.iter().map(|hunk| hunk.old).collect()
}

/// An edit of some lines of the present file.
///
/// # Errors
/// When the file cannot be read.
pub fn edited(
    file: FilePath,
    spans: Vec<Span>,
    project: &Workspace,
) -> Result<Change, StoreFailure> {
    let text = project.text(&file)?;
    Ok(Change {
        file,
        touched: Touched::Lines {
            spans,
            text: text.as_deref().and_then(FileLines::of_text),
        },
        below: Below::No,
    })
}

/// A change of a file of which nobody says which lines.
///
/// # Errors
/// When the file cannot be read.
pub fn somehow(file: FilePath, project: &Workspace) -> Result<Change, StoreFailure> {
    let text = project.text(&file)?;
    let text = text.as_deref().and_then(FileLines::of_text);
    Ok(Change::whole(file, text))
}

/// The project that `tree` belongs to by its main work tree: `root` there, where it is `root` here.
#[must_use]
pub fn in_main(tree: &WorkTree, root: &Path) -> Option<PathBuf> {
    let below = root.strip_prefix(&tree.top).ok()?;
    Some(tree.main.as_ref()?.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_tree_stands_for_a_place_in_the_project() {
        for (top, main, project, expected) in [
            ("/p", None, "/p", Some("/p")),
            ("/p", None, "/p/sub", Some("/p")),
            ("/p/inner", None, "/p", Some("/p/inner")),
            ("/w", Some("/p"), "/p", Some("/p")),
            ("/p/.trees/w", Some("/p"), "/p", Some("/p")),
            (
                "/p/.trees/w",
                Some("/p"),
                "/p/.trees/w",
                Some("/p/.trees/w"),
            ),
            ("/ci/checkout", None, "/p", None),
            ("/w", Some("/x"), "/p", None),
        ] {
            let found = base(top.as_ref(), main.map(Path::new), project.as_ref());
            assert_eq!(
                found.as_deref(),
                expected.map(Path::new),
                "{top} {main:?} {project}"
            );
        }
    }
}
