//! The reference's mark beside a claimed task, `tasks/<id>.lock`: `{"owner","pid","claimedAt"}`.
//!
//! The reference makes it before it looks at the task and leaves it until the task has ended. Our own transactions
//! do not need it; it is kept so that the two programs exclude each other:
//!
//! | the task was | and becomes | the mark |
//! |---|---|---|
//! | pending | in progress | made, unless a running claim of the reference has it: then that one comes first |
//! | in progress | in progress under another token | replaced |
//! | in progress | in progress under its token | stays |
//! | in progress | anything else | removed |
//! | anything | removed | removed |
//! | not in progress | not in progress | stays: it may be a claim of the reference that has just begun |
//!
//! A mark beside a pending task whose process is gone, or that is older than a claim can take, is an orphan.

use std::io::Write;
use std::time::Duration;

use pitcrew_core::task::Status;
use pitcrew_core::time::Timestamp;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use crate::failure::StoreFailure;

/// How long the reference needs for a claim, at the very most.
const CLAIM_TAKES: Duration = Duration::from_secs(1);

/// How long a mark may be without text: the moment between its making and its writing.
const WRITING_TAKES: Duration = Duration::from_millis(50);

/// What the mark needs to know of a task.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Standing {
    status: Option<Status>,
    owner: Option<String>,
    started_at: Option<String>,
    claim_token: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    owner: String,
    pid: u32,
    claimed_at: String,
}

/// What a change of a task does to its mark.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    /// To be made; with `false`, in the place of the one that is there.
    Make {
        first_come: bool,
    },
    Remove,
}

/// The mark of one task, for one change of it. Both states are the task's compact JSON.
pub(super) struct Mark<'a> {
    folder: &'a Folder,
    file: String,
    step: Step,
    after: Standing,
}

fn standing(task: Option<&[u8]>) -> Standing {
    task.and_then(|task| serde_json::from_slice(task).ok())
        .unwrap_or_default()
}

fn step(before: &Standing, after: &Standing) -> Step {
    let is_taken = |standing: &Standing| standing.status == Some(Status::InProgress);
    match (is_taken(before), is_taken(after)) {
        (false, false) if after.status.is_some() => Step::Nothing,
        (_, false) => Step::Remove,
        (true, true) if before.claim_token == after.claim_token => Step::Nothing,
        (held, true) => Step::Make { first_come: !held },
    }
}

impl<'a> Mark<'a> {
    pub(super) fn of(
        folder: &'a Folder,
        file: String,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Self {
        let after = standing(after);
        Self {
            folder,
            file,
            step: step(&standing(before), &after),
            after,
        }
    }

    /// Makes the mark, if the change asks for one. `false` when another program is in the middle of a claim: `waited`
    /// so far, the caller looks at the task again a little later.
    pub(super) fn make(&self, waited: Duration) -> Result<bool, StoreFailure> {
        let Step::Make { first_come } = self.step else {
            return Ok(true);
        };
        let note = Note {
            owner: self.after.owner.clone().unwrap_or_default(),
            pid: std::process::id(),
            claimed_at: self.after.started_at.clone().unwrap_or_default(),
        };
        let failed = |refused| StoreFailure::io("write", &self.folder.child(&self.file), refused);
        let text = serde_json::to_vec(&note).map_err(|refused| failed(refused.into()))?;
        let mut file = self.folder.new_file(&self.file)?;
        if file.is_none() {
            if first_come && self.is_running(waited)? {
                return Ok(false);
            }
            self.folder.remove(&self.file)?;
            file = self.folder.new_file(&self.file)?;
        }
        match file {
            Some(mut file) => match file.write_all(&text) {
                Ok(()) => Ok(true),
                Err(refused) => {
                    // An empty mark would keep others waiting for a claim that is none.
                    let _ = self.folder.remove(&self.file);
                    Err(failed(refused))
                }
            },
            None => Ok(false),
        }
    }

    /// Whether the mark that is there belongs to a claim that still runs.
    fn is_running(&self, waited: Duration) -> Result<bool, StoreFailure> {
        let Some((text, _)) = self.folder.read(&self.file)? else {
            return Ok(true);
        };
        let Ok(note) = pitcrew_core::json::read::<Note>(&text) else {
            return Ok(waited < WRITING_TAKES);
        };
        let now = self.after.started_at.as_deref().and_then(Timestamp::parse);
        let age = match (now, Timestamp::parse(&note.claimed_at)) {
            (Some(now), Some(made)) => Duration::from_millis(now.millis_since(made).unsigned_abs()),
            _ => CLAIM_TAKES,
        };
        Ok(age + waited < CLAIM_TAKES && is_alive(note.pid))
    }

    /// Takes the mark away that [`Self::make`] made, for a change that came to nothing.
    pub(super) fn undo(&self) {
        if matches!(self.step, Step::Make { .. }) {
            // A mark that stays is an orphan once this process has ended, and is replaced then.
            let _ = self.folder.remove(&self.file);
        }
    }

    /// Takes the mark away, if the change ended the claim.
    pub(super) fn settle(&self) {
        if self.step == Step::Remove {
            // The change is made. A mark that stays is an orphan, which the next claim replaces.
            let _ = self.folder.remove(&self.file);
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    match test_kill_process(pid) {
        Ok(()) => true,
        Err(refused) => refused == rustix::io::Errno::PERM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(status: &str, token: Option<&str>) -> Standing {
        Standing {
            status: Status::parse(status),
            claim_token: token.map(str::to_owned),
            ..Standing::default()
        }
    }

    #[test]
    fn the_mark_follows_the_claim() {
        let (pending, one) = (at("pending", None), at("in_progress", Some("a")));
        let other = at("in_progress", Some("b"));
        assert_eq!(step(&pending, &one), Step::Make { first_come: true });
        assert_eq!(step(&one, &other), Step::Make { first_come: false });
        assert_eq!(step(&one, &at("in_progress", Some("a"))), Step::Nothing);
        for end in ["pending", "completed", "failed"] {
            assert_eq!(step(&one, &at(end, Some("a"))), Step::Remove, "{end}");
        }
        assert_eq!(step(&one, &Standing::default()), Step::Remove);
        assert_eq!(step(&pending, &Standing::default()), Step::Remove);
        assert_eq!(step(&pending, &pending), Step::Nothing);
        assert_eq!(step(&Standing::default(), &pending), Step::Nothing);
    }

    #[test]
    fn a_process_is_alive_or_not() {
        assert!(is_alive(std::process::id()));
        assert!(is_alive(1));
        assert!(!is_alive(0) && !is_alive(u32::MAX) && !is_alive(0x3FFF_FFFF));
    }
}
