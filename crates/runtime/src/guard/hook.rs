//! The pre-commit hook: put in beside what is there, and taken out again without a trace.
//!
//! | what stands there | put in | taken out |
//! |---|---|---|
//! | nothing | a script of our own | the script is removed |
//! | a shell script that can be run | a block after its first line; the rest is as it was, and knows itself by its own name | the block is cut out |
//! | anything else: another language, a program, a link, a file that cannot be run | a script of our own that ends in what was there, which is kept under another name | what was there is moved back |
//!
//! The guard looks first; then the hook that was there runs, and its exit status counts. Putting in again changes
//! nothing but the path of the program. What cannot be put in safely is refused: a folder that other repositories share, a
//! hook that version control keeps.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pitcrew_store::StoreFailure;
use pitcrew_store::files::{HookFile, Standing, resolved};

use crate::git::{Git, GitError, WorkTree};

/// The hook's name.
const NAME: &str = "pre-commit";

/// The name under which a hook is kept that is no shell script.
const KEPT: &str = "pre-commit.before-pitcrew";

const BEGIN: &str = "# >>> pitcrew guard >>>\n";
const BEGIN_OWN: &str = "# >>> pitcrew guard, the whole file >>>\n";
const END: &str = "# <<< pitcrew guard <<<\n";
const FIRST: &str = "#!/bin/sh\n";
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "ash"];

/// Why a hook is not put in or taken out. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// Other repositories run hooks from this folder too.
    #[error("{} is not of this repository alone (core.hooksPath)", folder.display())]
    Shared {
        /// The folder.
        folder: PathBuf,
    },
    /// Version control keeps the hook.
    #[error("{} is kept in version control", hook.display())]
    Tracked {
        /// The hook.
        hook: PathBuf,
    },
    /// Something stands where the old hook would be kept, or was written around what we put in.
    #[error("{} is in the way", path.display())]
    InTheWay {
        /// What.
        path: PathBuf,
    },
}

/// What came of putting the hook in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutIn {
    /// There was none.
    Alone,
    /// Beside a hook that still runs.
    Beside,
    /// It was in already, and says another path now.
    Renewed,
    /// It was in already.
    Already,
}

/// What came of taking it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenOut {
    /// Nothing is left.
    Removed,
    /// What was there before is there again.
    Restored,
    /// It was not in.
    Absent,
}

/// The hook of one repository.
#[derive(Debug)]
pub struct Hook {
    file: HookFile,
    kept: HookFile,
    folder: PathBuf,
}

impl Hook {
    /// The hook of the repository that `git` is asked about.
    ///
    /// # Errors
    /// When git cannot say where its hooks are.
    pub fn of(git: &Git) -> Result<Self, HookError> {
        let folder = git.hooks()?;
        Ok(Self {
            file: HookFile::new(&folder, NAME),
            kept: HookFile::new(&folder, KEPT),
            folder,
        })
    }

    /// Where it stands.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.file.path()
    }

    /// Puts it in, so that it runs `program`, for the project at `root` when that is not the top of the work tree.
    ///
    /// # Errors
    /// As [`HookError`] says.
    pub fn put_in(
        &self,
        git: &Git,
        tree: &WorkTree,
        program: &Path,
        root: Option<&Path>,
    ) -> Result<PutIn, HookError> {
        let folder = resolved(&self.folder)?;
        let own = [&tree.common, &tree.top].map(|own| resolved(own));
        let [common, top] = own;
        if !folder.starts_with(common?) && !folder.starts_with(top?) {
            let folder = self.folder.clone();
            return Err(HookError::Shared { folder });
        }
        let hook = self.path();
        if git.is_tracked(&hook)? {
            return Err(HookError::Tracked { hook });
        }
        let lines = look(program, root);
        let found = self.file.look()?;
        if let Standing::Plain { text, mode } = &found {
            if let Some((before, own, after)) = parts(text) {
                let new = [before, &block(own, &lines), after].concat();
                if new == *text {
                    return Ok(PutIn::Already);
                }
                self.file.write(&new, *mode)?;
                return Ok(PutIn::Renewed);
            }
            if let Some(first) = shell_line(text).filter(|_| mode & 0o111 != 0) {
                let (first, rest) = text.split_at(first);
                let new = [first, &block(Owner::Other, &lines), rest].concat();
                self.file.write(&new, *mode)?;
                return Ok(PutIn::Beside);
            }
        }
        let script = [FIRST.as_bytes(), &block(Owner::Us, &lines)].concat();
        if found == Standing::Nothing {
            if self.kept.look()? != Standing::Nothing {
                return Err(self.in_the_way());
            }
            self.file.write(&script, 0o755)?;
            return Ok(PutIn::Alone);
        }
        if self.kept.look()? != Standing::Nothing {
            return Err(self.in_the_way());
        }
        self.file.move_to(&self.kept)?;
        if let Err(refused) = self.file.write(&script, 0o755) {
            self.kept.move_to(&self.file)?;
            return Err(refused.into());
        }
        Ok(PutIn::Beside)
    }

    /// Takes it out, so that what was there before is there again, byte for byte.
    ///
    /// # Errors
    /// `InTheWay` when what we put in was changed so that this cannot be.
    pub fn take_out(&self) -> Result<TakenOut, HookError> {
        let Standing::Plain { text, mode } = self.file.look()? else {
            return Ok(TakenOut::Absent);
        };
        let Some((before, owner, after)) = parts(&text) else {
            return Ok(TakenOut::Absent);
        };
        let rest = [before, after].concat();
        let has_kept = self.kept.look()? != Standing::Nothing;
        match (owner, has_kept, rest == FIRST.as_bytes()) {
            (Owner::Us, true, true) => {
                self.kept.move_over(&self.file)?;
                Ok(TakenOut::Restored)
            }
            (Owner::Us, false, true) => {
                self.file.remove()?;
                Ok(TakenOut::Removed)
            }
            // Somebody wrote into our script, and the hook that it keeps would be lost or theirs would.
            (Owner::Us, true, false) => Err(HookError::InTheWay { path: self.path() }),
            _ => {
                self.file.write(&rest, mode)?;
                Ok(TakenOut::Restored)
            }
        }
    }

    fn in_the_way(&self) -> HookError {
        HookError::InTheWay {
            path: self.kept.path(),
        }
    }
}

/// Whose script a block stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Us,
    Other,
}

/// What stands before our block and after it, and whose script it is in.
fn parts(text: &[u8]) -> Option<(&[u8], Owner, &[u8])> {
    let find = |part: &str, from: usize| {
        let mut windows = text.get(from..)?.windows(part.len());
        windows
            .position(|window| window == part.as_bytes())
            .map(|at| at + from)
    };
    let begin = find(BEGIN, 0).map(|at| (at, Owner::Other));
    let (begin, owner) = begin.or_else(|| find(BEGIN_OWN, 0).map(|at| (at, Owner::Us)))?;
    let end = find(END, begin)? + END.len();
    Some((text.get(..begin)?, owner, text.get(end..)?))
}

/// The length of the first line of a shell script, its line break included.
fn shell_line(text: &[u8]) -> Option<usize> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(text.get(..end)?)
        .ok()?
        .strip_prefix("#!")?;
    let mut words = line.split_ascii_whitespace();
    let name = |word: &str| word.rsplit('/').next().map(str::to_owned);
    let mut program = name(words.next()?)?;
    if program == "env" {
        program = name(words.next()?)?;
    }
    SHELLS.contains(&program.as_str()).then_some(end + 1)
}

/// `bytes` as one word of a shell.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => word.extend_from_slice(b"'\\''"),
            byte => word.push(*byte),
        }
    }
    word.push(b'\'');
    word
}

/// The lines that look at what is staged. A program that is gone stops nobody, and says so.
fn look(program: &Path, root: Option<&Path>) -> Vec<u8> {
    let root = root.map(|root| [b" --root ", &quoted(root.as_os_str().as_bytes())[..]].concat());
    [
        b"# Refuses a commit that touches lines which others hold; `pitcrew guard uninstall` takes this out.\npitcrew_guard=",
        &quoted(program.as_os_str().as_bytes())[..],
        b"\nif [ -x \"$pitcrew_guard\" ]; then\n    \"$pitcrew_guard\"",
        &root.unwrap_or_default(),
        b" guard check --staged || exit 1\nelse\n    printf '%s\\n' \"pitcrew guard: $pitcrew_guard is gone, so nobody looked whether others hold these lines; \
          pitcrew guard install puts it right\" >&2\nfi\nunset pitcrew_guard\n",
    ]
    .concat()
}

fn block(owner: Owner, look: &[u8]) -> Vec<u8> {
    let then = format!(
        "pitcrew_kept=\"$(dirname -- \"$0\")/{KEPT}\"\nif [ -x \"$pitcrew_kept\" ]; then\n    exec \"$pitcrew_kept\" \"$@\"\nfi\n"
    );
    let (begin, then) = match owner {
        Owner::Us => (BEGIN_OWN, then.as_str()),
        Owner::Other => (BEGIN, ""),
    };
    [begin.as_bytes(), look, then.as_bytes(), END.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_are_known_by_their_first_line() {
        for shell in [
            "#!/bin/sh\n",
            "#!/usr/bin/env bash\n",
            "#! /bin/dash -e\nx",
            "#!/usr/local/bin/zsh\n",
        ] {
            assert!(shell_line(shell.as_bytes()).is_some(), "{shell}");
        }
        for other in [
            "",
            "#!/bin/sh",
            "#!/usr/bin/env python3\n",
            "#!/usr/bin/fish\n",
            "sh\n",
            "#!\n",
            "\x7fELF\n",
        ] {
            assert_eq!(shell_line(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn any_path_is_one_word() {
        assert_eq!(quoted(b"/a b/it's \xff\n"), b"'/a b/it'\\''s \xff\n'");
    }

    #[test]
    fn a_block_is_found_again() {
        let lines = look(Path::new("/x"), Some(Path::new("sub")));
        for owner in [Owner::Us, Owner::Other] {
            let text = [b"#!/bin/sh\n", &block(owner, &lines)[..], b"rest"].concat();
            assert_eq!(
                parts(&text),
                Some((&b"#!/bin/sh\n"[..], owner, &b"rest"[..]))
            );
        }
        assert_eq!(parts(b"#!/bin/sh\n"), None);
    }
}
