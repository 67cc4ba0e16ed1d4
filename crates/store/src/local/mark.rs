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
//! | in progress | completed or failed | listed as owed and renewed as ours, until what follows is done: see `owed` |
//! | in progress | pending | removed |
//! | failed | pending | removed |
//! | anything | removed | removed |
//! | not in progress | not in progress | stays: it may be a claim of the reference that has just begun |
//!
//! A mark beside a pending task whose process is gone, or that is so old that its process id may be another's, is an
//! orphan. One beside an ended task whose process is gone says that nobody did what follows.

use std::io::Write;
use std::time::Duration;

use pitcrew_core::TaskId;
use pitcrew_core::task::Status;
use pitcrew_core::time::Timestamp;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::{owed, room};
use crate::failure::StoreFailure;
use crate::layout;
use crate::port::Durability;

/// How long a claim of the reference whose process lives is given way to; after that its process id is another's.
const CLAIM_TAKES: Duration = Duration::from_secs(300);

/// How long a running claim of the reference is waited for before ours is refused.
const WAITING_TAKES: Duration = Duration::from_secs(1);

/// How long a mark may be without text: the moment between its making and its writing.
const WRITING_TAKES: Duration = Duration::from_millis(50);

/// What the mark needs to know of a task.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Standing {
    pub(super) status: Option<Status>,
    pub(super) owner: Option<String>,
    started_at: Option<String>,
    claim_token: Option<String>,
    finished_at: Option<String>,
}

impl Standing {
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status, Some(Status::Completed | Status::Failed))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    owner: String,
    pub(super) pid: u32,
    pub(super) claimed_at: String,
}

/// What a change of a task does to its mark.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    /// To be made; with `false`, in the place of the one that is there.
    Make {
        first_come: bool,
    },
    /// To be made ours until what follows from the end is done.
    Renew,
    Remove,
}

/// The mark of one task, for one change of it. Both states are the task's compact JSON.
pub(super) struct Mark<'a> {
    folder: &'a Folder,
    id: &'a TaskId,
    file: String,
    step: Step,
    after: Standing,
}

pub(super) fn standing(task: Option<&[u8]>) -> Standing {
    task.and_then(|task| serde_json::from_slice(task).ok())
        .unwrap_or_default()
}

fn step(before: &Standing, after: &Standing) -> Step {
    let is_taken = |standing: &Standing| standing.status == Some(Status::InProgress);
    match (is_taken(before), is_taken(after)) {
        (true, false) if after.has_ended() => Step::Renew,
        (false, false) if before.has_ended() && !after.has_ended() => Step::Remove,
        (false, false) if after.status.is_some() => Step::Nothing,
        (_, false) => Step::Remove,
        (true, true) if before.claim_token == after.claim_token => Step::Nothing,
        (held, true) => Step::Make { first_come: !held },
    }
}

impl<'a> Mark<'a> {
    pub(super) fn of(
        folder: &'a Folder,
        id: &'a TaskId,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Self {
        let after = standing(after);
        Self {
            folder,
            id,
            file: layout::claim_mark(id),
            step: step(&standing(before), &after),
            after,
        }
    }

    /// Makes the mark, if the change asks for one. `false` when another program is in the middle of a claim: `waited`
    /// so far, the caller looks at the task again a little later.
    pub(super) fn make(&self, waited: Duration) -> Result<bool, StoreFailure> {
        let first_come = match self.step {
            Step::Make { first_come } => first_come,
            Step::Renew => {
                let owner = self.after.owner.as_deref().unwrap_or_default();
                let at = self.after.finished_at.as_deref().unwrap_or_default();
                // The end of a task is worth more than the notes that what follows from it is not done yet. The list comes
                // first: whoever finds this process gone looks there.
                let _ = owed::list(self.folder, self.id);
                let _ = renew(self.folder, &self.file, owner, at);
                return Ok(true);
            }
            Step::Nothing | Step::Remove => return Ok(true),
        };
        let note = Note {
            owner: self.after.owner.clone().unwrap_or_default(),
            pid: std::process::id(),
            claimed_at: self.after.started_at.clone().unwrap_or_default(),
        };
        let failed = |refused| StoreFailure::io("write", &self.folder.child(&self.file), refused);
        let text = serde_json::to_vec(&note).map_err(|refused| failed(refused.into()))?;
        room::expect(text.len() as u64).map_err(failed)?;
        let mut file = self.folder.new_file(&self.file)?;
        if file.is_none() {
            if first_come && self.is_running(waited)? {
                if waited >= WAITING_TAKES {
                    let path = self.folder.child(&self.file);
                    return Err(StoreFailure::Claiming { path });
                }
                return Ok(false);
            }
            self.folder.remove(&self.file)?;
            file = self.folder.new_file(&self.file)?;
        }
        match file {
            Some(mut file) => match file.write_all(&text) {
                Ok(()) => {
                    owed::begin(self.folder);
                    Ok(true)
                }
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
        Ok(age < CLAIM_TAKES && is_alive(note.pid))
    }

    /// Takes away what [`Self::make`] made, for a change that came to nothing.
    pub(super) fn undo(&self) {
        // A mark that stays is an orphan once this process has ended, and is replaced then; a name that stays in the
        // list of what is owed is struck by the next who looks.
        let _ = match self.step {
            Step::Make { .. } => self.folder.remove(&self.file).map(drop),
            Step::Renew => owed::strike(self.folder, self.id),
            Step::Nothing | Step::Remove => Ok(()),
        };
    }

    /// Takes the mark away, if the change ended the claim.
    pub(super) fn settle(&self) {
        if self.step == Step::Remove {
            // The change is made. A mark that stays is an orphan, which the next claim replaces.
            let _ = self.folder.remove(&self.file);
            let _ = owed::strike(self.folder, self.id);
        }
    }
}

/// Makes the mark this process's, in one step.
pub(super) fn renew(
    folder: &Folder,
    file: &str,
    owner: &str,
    at: &str,
) -> Result<(), StoreFailure> {
    let note = Note {
        owner: owner.to_owned(),
        pid: std::process::id(),
        claimed_at: at.to_owned(),
    };
    let failed = |refused| StoreFailure::io("write", &folder.child(file), refused);
    let text = serde_json::to_vec(&note).map_err(|refused| failed(refused.into()))?;
    let draft = layout::draft(file);
    folder.write_draft(&draft, &text, Durability::Relaxed)?;
    folder.rename(&draft, file)
}

/// Whether this very process wrote the note.
pub(super) fn is_own(note: &Note) -> bool {
    note.pid == std::process::id()
}

pub(super) fn is_alive(pid: u32) -> bool {
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
        for end in ["completed", "failed"] {
            assert_eq!(step(&one, &at(end, Some("a"))), Step::Renew, "{end}");
            assert_eq!(step(&at(end, None), &pending), Step::Remove, "{end}");
        }
        assert_eq!(step(&one, &at("pending", None)), Step::Remove);
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
