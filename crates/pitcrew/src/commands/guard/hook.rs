//! `guard install` and `guard uninstall`: the pre-commit hook of the repository.

use std::path::PathBuf;

use pitcrew_runtime::guard::hook::{Hook, PutIn, TakenOut};
use pitcrew_store::files::resolved;
use serde_json::json;

use crate::cli::{Entry, Run};
use crate::context::Context;
use crate::halt::{Exit, Halt};
use crate::ui::Layout;

/// The row of `install`.
pub(super) const INSTALL: Entry = Entry::new::<Install>(
    "install",
    "Put a hook in that refuses commits on lines that others hold",
);

/// The row of `uninstall`.
pub(super) const UNINSTALL: Entry = Entry::new::<Uninstall>("uninstall", "Take the hook out again");

/// Put a hook in that refuses commits on lines that others hold
///
/// It goes where git looks for its pre-commit hook. A hook that is there already still runs, after the guard, and its
/// exit status counts. All work trees of a repository share their hooks.
#[derive(Debug, clap::Args)]
pub(crate) struct Install {}

/// Take the hook out again
///
/// What was there before is there again, byte for byte.
#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {}

impl Run for Install {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let git = super::git(context);
        let tree = git.work_tree()?;
        let program = context.environment.own_program()?;
        let project = resolved(context.project(None)?.root())?;
        let top = resolved(&tree.top)?;
        // The hook runs at the top of whichever work tree commits.
        let root: Option<PathBuf> = match project.strip_prefix(&top) {
            Ok(below) if below.as_os_str().is_empty() => None,
            Ok(below) => Some(below.to_path_buf()),
            Err(_) => Some(project),
        };
        let hook = Hook::of(&git)?;
        let done = hook.put_in(&git.at(&tree.top), &tree, &program, root.as_deref())?;
        let path = hook.path();
        if context.ui.json {
            let (kept, changed) = (done == PutIn::Beside, done != PutIn::Already);
            let answer = json!({
                "ok": true, "hook": path.to_string_lossy(), "program": program.to_string_lossy(),
                "changed": changed, "beside_another": kept,
            });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        let path = path.display();
        context.ui.line(&match done {
            PutIn::Alone => format!("installed {path}"),
            PutIn::Beside => format!("installed in {path}; the hook that was there still runs"),
            PutIn::Renewed => format!("{path} runs {} now", program.display()),
            PutIn::Already => format!("{path} has it already"),
        });
        Ok(Exit::Done)
    }
}

impl Run for Uninstall {
    fn run(self, context: &mut Context<'_>) -> Result<Exit, Halt> {
        let git = super::git(context);
        git.work_tree()?;
        let hook = Hook::of(&git)?;
        let done = hook.take_out()?;
        let path = hook.path();
        if context.ui.json {
            let answer = json!({
                "ok": true, "hook": path.to_string_lossy(), "changed": done != TakenOut::Absent,
            });
            context.ui.json(&answer, Layout::Pretty);
            return Ok(Exit::Done);
        }
        let path = path.display();
        context.ui.line(&match done {
            TakenOut::Removed => format!("removed {path}"),
            TakenOut::Restored => format!("{path} is as it was"),
            TakenOut::Absent => format!("{path} has no guard"),
        });
        Ok(Exit::Done)
    }
}
