//! Tells a failure of one member's own files from one of the whole team's.
//!
//! A member's own are its mailbox and everything below its folder. A link or a pipe that stands there costs that member
//! its turn, and nobody else anything. A full disk is everybody's, wherever it is met first.

use std::error::Error;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Component, Path};

use pitcrew_core::Refusal;
use pitcrew_core::name::LEADER;
use pitcrew_store::StoreFailure;

use crate::desk::{Failure, NotDone};

/// Whether what failed is about one member's own files.
pub(super) fn is_a_members(failed: &NotDone) -> bool {
    let NotDone::Failed(Failure::Store(failed)) = failed else {
        return false;
    };
    match failed {
        StoreFailure::Io { path, source, .. } => {
            let full = matches!(
                source.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem
            );
            !full && is_below_a_members(path)
        }
        StoreFailure::Escapes { path } => is_below_a_members(path),
        StoreFailure::CorruptDocument { place, .. } => is_below_a_members(Path::new(place)),
        StoreFailure::LogTruncated { log, .. } => is_below_a_members(Path::new(log)),
        _ => false,
    }
}

/// Passes on every failure but one of a member's own files.
///
/// # Errors
/// The failure.
pub(super) fn unless_a_members(failed: NotDone) -> Result<(), NotDone> {
    match is_a_members(&failed) {
        true => Ok(()),
        false => Err(failed),
    }
}

/// Whether a team's own folder is what cannot be opened: somebody removed it.
pub(super) fn is_removal(failed: &NotDone, folder: &Path) -> bool {
    match failed {
        NotDone::Failed(Failure::Store(StoreFailure::Io { path, source, .. })) => {
            source.kind() == ErrorKind::NotFound && folder.starts_with(path)
        }
        NotDone::Refused(Refusal::TeamNotFound { .. }) => true,
        NotDone::Failed(_) | NotDone::Refused(_) => false,
    }
}

/// What failed, with its causes.
pub(super) fn in_full(failed: &NotDone) -> String {
    let mut text = failed.to_string();
    let mut cause = failed.source();
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.ends_with(&next_text) {
            let _ = write!(text, ": {next_text}");
        }
        cause = next.source();
    }
    text
}

fn is_below_a_members(path: &Path) -> bool {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let holds = |part: &&str| matches!(*part, "workers" | "mailbox");
    let Some(at) = parts.iter().rposition(holds) else {
        return false;
    };
    // Below the team's folder, which is either left out or `…/team/<name>`.
    let is_a_teams = match at.checked_sub(2) {
        Some(above) => parts[above] == "team",
        None => at == 0 && path.is_relative(),
    };
    let of_a_member = |name: &&str| name.split('.').next() != Some(LEADER);
    is_a_teams && parts.get(at + 1).is_some_and(of_a_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_members_files_are_told_from_the_teams() {
        let escapes = |path: &str| {
            let path = path.into();
            is_a_members(&StoreFailure::Escapes { path }.into())
        };
        assert!(escapes("/p/.omp/state/team/t/workers/a/turn-0001"));
        assert!(escapes("/p/.omp/state/team/t/mailbox/a.jsonl"));
        assert!(!escapes("/p/.omp/state/team/t/mailbox/leader.jsonl"));
        assert!(!escapes("/p/.omp/state/team/t/workers"));
        assert!(!escapes("/p/.omp/state/team/t/tasks/1.json"));
        assert!(!escapes("/workers/p/.omp/state/team/t/tasks/1.json"));
    }

    #[test]
    fn a_full_disk_is_everybodys() {
        let failed = StoreFailure::Io {
            what: "append to",
            path: "/p/workers/a/stdout".into(),
            source: ErrorKind::StorageFull.into(),
        };
        assert!(!is_a_members(&failed.into()));
    }
}
