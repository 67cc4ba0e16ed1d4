//! Version control as a program: `git` is asked, and its answers are read.
//!
//! | what holds | how |
//! |---|---|
//! | no shell, no pager, no prompt, no program of the user's configuration that shows differences | arguments and environment are fixed here |
//! | a question ends | a limit on its time and on the length of its answer |
//! | asking changes nothing | no lock that could be left out is taken |
//! | any name is read as it is | lists are separated by NUL |
//!
//! A hook is asked with the environment that git gave it, so the index that is about to be committed is the one that is
//! looked at. Not here: what an answer means for claims ([`crate::guard`]).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pitcrew_core::claim::Hunk;
use pitcrew_store::files::SettingsFile;

use crate::clock::{Entropy, EntropyError, SystemClock, SystemEntropy};
use crate::process::{
    Cap, Capture, Environment, Group, How, Launch, Mark, MarkError, SpawnError, Stream,
};

mod entry;

pub use entry::{Entry, Side};

/// The longest that one question may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest answer that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// So much of what git complains about is repeated.
const COMPLAINT: usize = 2_000;

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It cannot be started.
    #[error(transparent)]
    NotStarted(#[from] SpawnError),
    /// The folder is in no work tree.
    #[error("{} is in no git work tree: {said}", folder.display())]
    NoWorkTree {
        /// The folder.
        folder: PathBuf,
        /// What git says about it.
        said: String,
    },
    /// It refused.
    #[error("git {question}: {said}")]
    Refused {
        /// What it was asked.
        question: String,
        /// What it says.
        said: String,
    },
    /// It did not end in time, or was ended from outside.
    #[error("git {question} was stopped before it answered")]
    Stopped {
        /// What it was asked.
        question: String,
    },
    /// Its answer is longer than what is read.
    #[error("git {question}: the answer is too long")]
    TooLong {
        /// What it was asked.
        question: String,
    },
    /// Its answer is not what such an answer looks like.
    #[error("git {question}: the answer cannot be read")]
    Unreadable {
        /// What it was asked.
        question: String,
    },
    /// The timers or the marks of processes cannot be had.
    #[error("cannot prepare to ask git: {0}")]
    Unprepared(String),
}

impl GitError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotStarted(_) => "git_not_found",
            Self::NoWorkTree { .. } => "no_work_tree",
            Self::Refused { .. } | Self::Unreadable { .. } | Self::TooLong { .. } => "git_refused",
            Self::Stopped { .. } => "git_stopped",
            Self::Unprepared(_) => "system_failed",
        }
    }
}

impl From<EntropyError> for GitError {
    fn from(failure: EntropyError) -> Self {
        Self::Unprepared(failure.to_string())
    }
}

impl From<MarkError> for GitError {
    fn from(failure: MarkError) -> Self {
        Self::Unprepared(failure.to_string())
    }
}

/// Git, asked from one folder.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    environment: Environment,
}

impl Git {
    /// Git, asked from `folder` with these variables, which a hook has from git itself.
    #[must_use]
    pub fn new(folder: &Path, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment = Environment::all_of(variables)
            .set("LC_ALL", "C")
            .set("GIT_OPTIONAL_LOCKS", "0")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("GIT_PAGER", "cat")
            .unset("GIT_DIFF_OPTS")
            .unset("GIT_EXTERNAL_DIFF")
            .unset("GIT_TRACE*");
        Self {
            folder: folder.to_path_buf(),
            environment,
        }
    }

    /// The folder it is asked from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The same, asked from another folder.
    #[must_use]
    pub fn at(&self, folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            environment: self.environment.clone(),
        }
    }

    /// Asked from a folder of another repository, so without what a hook was told about its own.
    #[must_use]
    pub fn elsewhere(&self, folder: &Path) -> Self {
        let own = [
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "GIT_WORK_TREE",
            "GIT_PREFIX",
            "GIT_COMMON_DIR",
        ];
        let environment = own
            .iter()
            .fold(self.environment.clone(), |rest, name| rest.unset(name));
        Self {
            folder: folder.to_path_buf(),
            environment,
        }
    }

    /// The commits that the history of the present one begins with. None without a commit or a repository.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub fn beginnings(&self) -> Result<Vec<String>, GitError> {
        match self.answer(&["rev-list", "--max-parents=0", "HEAD", "--"]) {
            Err(GitError::Refused { .. }) => Ok(Vec::new()),
            printed => {
                let printed = printed?;
                let lines = String::from_utf8_lossy(&printed);
                Ok(lines.lines().map(str::to_owned).collect())
            }
        }
    }

    /// Asks, and answers what it printed and its exit code.
    fn ask(&self, words: &[&OsStr]) -> Result<(Vec<u8>, i32, String), GitError> {
        let question = || {
            let first = words.iter().find(|word| !word.as_bytes().starts_with(b"-"));
            first.map_or_else(String::new, |word| word.to_string_lossy().into_owned())
        };
        let mark = Mark::new(&SystemEntropy.id()?)?.inside(self.environment.value(Mark::VARIABLE));
        let printed = Arc::new(Mutex::new(Vec::new()));
        let cap = Cap {
            head: LONGEST,
            tail: COMPLAINT,
        };
        let launch = Launch::new("git", &self.folder, self.environment.clone(), mark)
            .args(words)
            .stdout(Capture::to(Arc::clone(&printed), cap))
            .stderr(Capture::tail_only(COMPLAINT))
            .limit(PATIENCE);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|refused| GitError::Unprepared(refused.to_string()))?;
        let (ended, said) = runtime.block_on(async {
            let group = Group::spawn(launch, Arc::new(SystemClock))?;
            let ended = group.ended().await;
            Ok::<_, GitError>((ended, group.tail(Stream::Stderr, COMPLAINT)))
        })?;
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        let How::Exited(code) = ended.how else {
            return Err(GitError::Stopped {
                question: question(),
            });
        };
        if ended.stdout.printed > LONGEST {
            return Err(GitError::TooLong {
                question: question(),
            });
        }
        let printed = std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((printed, code, said))
    }

    /// Asks what must have an answer.
    fn answer<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<Vec<u8>, GitError> {
        let words: Vec<&OsStr> = words.iter().map(AsRef::as_ref).collect();
        let (printed, code, said) = self.ask(&words)?;
        match code {
            0 => Ok(printed),
            _ => Err(GitError::Refused {
                question: words
                    .first()
                    .map_or_else(String::new, |word| word.to_string_lossy().into()),
                said,
            }),
        }
    }

    /// Asks what may have no answer: then git says nothing and ends with 1.
    fn maybe(&self, words: &[&str]) -> Result<Option<String>, GitError> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        let (printed, code, _) = self.ask(&words)?;
        let line = String::from_utf8_lossy(&printed).trim().to_owned();
        Ok((code == 0 && !line.is_empty()).then_some(line))
    }

    fn path(&self, words: &[&str]) -> Result<PathBuf, GitError> {
        let mut printed = self.answer(words)?;
        if printed.last() == Some(&b'\n') {
            printed.pop();
        }
        // Older versions answer relative to where they are asked.
        Ok(self.folder.join(OsString::from_vec(printed)))
    }

    /// The work tree that the folder is in.
    ///
    /// # Errors
    /// `NoWorkTree` when it is in none.
    pub fn work_tree(&self) -> Result<WorkTree, GitError> {
        let top = match self.path(&["rev-parse", "--show-toplevel"]) {
            Err(GitError::Refused { said, .. }) => {
                return Err(GitError::NoWorkTree {
                    folder: self.folder.clone(),
                    said,
                });
            }
            top => top?,
        };
        let own = self.path(&["rev-parse", "--absolute-git-dir"])?;
        let common = self.path(&["rev-parse", "--git-common-dir"])?;
        // Both without links and dots, or one folder looks like two.
        let plain = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let (own, common) = (plain(own), plain(common));
        let main = (own != common && own.starts_with(common.join("worktrees")))
            .then(|| common.parent().map(Path::to_path_buf))
            .flatten();
        Ok(WorkTree { top, common, main })
    }

    /// The folder that git runs hooks from.
    ///
    /// # Errors
    /// When git cannot say.
    pub fn hooks(&self) -> Result<PathBuf, GitError> {
        self.path(&["rev-parse", "--git-path", "hooks"])
    }

    /// Whether git keeps versions of the file at `path`.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub fn is_tracked(&self, path: &Path) -> Result<bool, GitError> {
        let words = ["ls-files", "--error-unmatch", "--"].map(OsStr::new);
        let words: Vec<&OsStr> = words.into_iter().chain([path.as_os_str()]).collect();
        Ok(self.ask(&words)?.1 == 0)
    }

    /// The commit or tree that `name` names; `None` when there is none.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub fn resolve(&self, name: &str) -> Result<Option<String>, GitError> {
        self.maybe(&["rev-parse", "--verify", "--quiet", "--end-of-options", name])
    }

    /// The commits that are being merged into the present one, all of them; none outside of a merge. Git itself names
    /// only the first (`MERGE_HEAD`), so its file is read.
    ///
    /// # Errors
    /// When git cannot be asked, or the file cannot be read or names something else.
    pub fn merged(&self) -> Result<Vec<String>, GitError> {
        let file = self.path(&["rev-parse", "--git-path", "MERGE_HEAD"])?;
        let read = SettingsFile::at(&file).and_then(|file| file.read());
        let named = read.map_err(|failure| GitError::Unprepared(failure.to_string()))?;
        let mut merged = Vec::new();
        for name in named.iter().flat_map(|text| text.split_whitespace()) {
            let commit = self.resolve(&format!("{name}^{{commit}}"))?;
            merged.push(commit.ok_or_else(|| GitError::Refused {
                question: "MERGE_HEAD".to_owned(),
                said: format!("{name} is no commit"),
            })?);
        }
        Ok(merged)
    }

    /// The last commit that both have.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        self.maybe(&["merge-base", one, other])
    }

    /// The tree of no files.
    ///
    /// # Errors
    /// When git cannot say.
    pub fn empty_tree(&self) -> Result<String, GitError> {
        let printed = self.answer(&["hash-object", "-t", "tree", "/dev/null"])?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// What differs between two states, file by file. Renames are found unless `renames` says otherwise.
    ///
    /// # Errors
    /// When git cannot say.
    pub fn changes(&self, states: States<'_>, renames: Renames) -> Result<Vec<Entry>, GitError> {
        let renames = match renames {
            Renames::Found => "--find-renames",
            Renames::Apart => "--no-renames",
        };
        let fixed = [
            "--raw",
            "-z",
            "--no-abbrev",
            "--ignore-submodules=none",
            renames,
        ];
        let printed = match states {
            States::Staged { since } => {
                let words = [&["diff-index", "--cached"][..], &fixed, &[since, "--"]].concat();
                self.answer(&words)?
            }
            States::Between { old, new } => {
                let words = [&["diff-tree", "-r"][..], &fixed, &[old, new, "--"]].concat();
                self.answer(&words)?
            }
        };
        Entry::parse(&printed).ok_or_else(|| GitError::Unreadable {
            question: "diff --raw".to_owned(),
        })
    }

    /// What a file says in a state, by the name of its contents.
    ///
    /// # Errors
    /// When git does not have it.
    pub fn blob(&self, id: &str) -> Result<Vec<u8>, GitError> {
        self.answer(&["cat-file", "blob", id])
    }

    /// Where two contents differ. `None` when one of them is no text.
    ///
    /// # Errors
    /// When git cannot say.
    pub fn hunks(&self, old: &str, new: &str) -> Result<Option<Vec<Hunk>>, GitError> {
        let words = [&DIFF[..], &[old, new]].concat();
        hunks_in(&self.answer(&words)?)
    }

    /// Where the file at `path`, from the top of the work tree, differs in the work tree from what is staged, or from
    /// what it is in `state`. `None` when one of them is no text.
    ///
    /// # Errors
    /// When git cannot say.
    pub fn hunks_ahead(
        &self,
        state: Option<&str>,
        path: &OsStr,
    ) -> Result<Option<Vec<Hunk>>, GitError> {
        let mut place = OsString::from(":(top,literal)");
        place.push(path);
        let fixed = DIFF
            .iter()
            .copied()
            .chain(state)
            .chain(["--"])
            .map(OsStr::new);
        let words: Vec<&OsStr> = fixed.chain([place.as_os_str()]).collect();
        hunks_in(&self.answer(&words)?)
    }
}

const DIFF: [&str; 9] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--ignore-submodules=none",
    "--submodule=short",
    "--inter-hunk-context=0",
    "-U0",
];

/// The hunks of the differences of one file.
fn hunks_in(printed: &[u8]) -> Result<Option<Vec<Hunk>>, GitError> {
    let unreadable = || GitError::Unreadable {
        question: "diff".to_owned(),
    };
    let mut hunks = Vec::new();
    // Bodies begin with `+`, `-` or `\`, and names stand behind `+++` and `---`, so only headers begin like this.
    for line in printed.split(|byte| *byte == b'\n') {
        if line.starts_with(b"@@ -") {
            let line = String::from_utf8_lossy(line);
            hunks.push(Hunk::parse(&line).ok_or_else(unreadable)?);
        } else if line.starts_with(b"Binary files ") {
            return Ok(None);
        }
    }
    Ok(Some(hunks))
}

/// Which states are compared.
#[derive(Debug, Clone, Copy)]
pub enum States<'a> {
    /// What is staged, with a commit or tree.
    Staged {
        /// The commit or tree.
        since: &'a str,
    },
    /// Two commits or trees.
    Between {
        /// The one before.
        old: &'a str,
        /// The one after.
        new: &'a str,
    },
}

/// Whether a file that was renamed is one change or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renames {
    /// One.
    Found,
    /// A deleted file and a new one.
    Apart,
}

/// A work tree of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTree {
    /// Its top folder.
    pub top: PathBuf,
    /// Where the repository is that all its work trees share.
    pub common: PathBuf,
    /// The top folder of the main work tree, when this is a linked one.
    pub main: Option<PathBuf>,
}
