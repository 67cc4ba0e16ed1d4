//! `guard`: keep edits and commits off the lines that others hold.

use pitcrew_runtime::git::{Git, GitError};
use pitcrew_runtime::guard::GuardError;
use pitcrew_runtime::guard::hook::HookError;

use crate::cli::Entry;
use crate::context::Context;
use crate::halt::Halt;

mod check;
mod hook;
mod tool;

/// The row of this group.
pub(crate) const ENTRY: Entry = Entry::group(
    "guard",
    "Keep edits and commits off the lines that others hold",
    &[check::ENTRY, hook::INSTALL, hook::UNINSTALL],
);

/// Why the edit that an agent CLI is about to make must not be, in words for its model; `None` when it touches no lines of
/// others.
pub(crate) fn before_edit(context: &mut Context<'_>, said: &str) -> Result<Option<String>, Halt> {
    check::before_edit(context, said)
}

/// Git, asked from where the command was called.
fn git(context: &Context<'_>) -> Git {
    let environment = context.environment;
    Git::new(&environment.cwd, environment.variables())
}

impl From<GitError> for Halt {
    fn from(failure: GitError) -> Self {
        let hint = match &failure {
            GitError::NoWorkTree { .. } => {
                "go into a git work tree; `guard check <file>` needs none"
            }
            GitError::NotStarted(_) => "install git, or put it on PATH",
            _ => "see what git says; nothing was changed",
        };
        Self::CannotRun {
            code: failure.code(),
            why: failure.to_string(),
            hint,
        }
    }
}

impl From<GuardError> for Halt {
    fn from(failure: GuardError) -> Self {
        match failure {
            GuardError::Git(failure) => failure.into(),
            GuardError::Store(failure) => failure.into(),
            GuardError::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<HookError> for Halt {
    fn from(failure: HookError) -> Self {
        let why = failure.to_string();
        let (code, hint) = match failure {
            HookError::Git(failure) => return failure.into(),
            HookError::Store(failure) => return failure.into(),
            HookError::Shared { .. } => (
                "shared_hooks",
                "add `pitcrew guard check --staged` to the pre-commit hook there, if every repository is to run it",
            ),
            HookError::Tracked { .. } => (
                "hook_tracked",
                "add a line with `pitcrew guard check --staged || exit 1` to it and commit that",
            ),
            HookError::InTheWay { .. } => (
                "hook_in_the_way",
                "move it away, or put `pitcrew guard check --staged || exit 1` into your hook by hand",
            ),
        };
        Self::CannotRun { code, why, hint }
    }
}
