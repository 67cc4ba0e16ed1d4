//! Where the claims are: by file and line, by member, and by deadline. Follows from the claims and is not stored.
//!
//! Always holds: the claims of one file have no line in common, whoever holds them. So in the order of their first
//! lines their last lines are in order too, and what overlaps a range is found from its end backwards, in the time
//! of a look-up.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{Claim, FilePath, Lines};
use crate::name::Name;
use crate::time::Timestamp;

/// The index of all claims.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    files: BTreeMap<FilePath, FileIndex>,
    deadlines: BTreeSet<(Timestamp, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct FileIndex {
    /// First line to last line and claim.
    starts: BTreeMap<u64, (u64, u64)>,
    members: BTreeMap<Name, Vec<u64>>,
}

impl Index {
    /// Adds a claim that overlaps none.
    pub(super) fn insert(&mut self, claim: &Claim) {
        self.deadlines.insert((claim.until, claim.id));
        let lines = claim.lines;
        let entry = (lines.end(), claim.id);
        let add = |file: &mut FileIndex| {
            file.starts.insert(lines.start(), entry);
            match file.members.get_mut(&claim.member) {
                Some(ids) => {
                    // In order, so that the index does not tell in which order claims came back.
                    let at = ids.partition_point(|id| *id < claim.id);
                    ids.insert(at, claim.id);
                }
                None => {
                    let ids = Vec::from([claim.id]);
                    file.members.insert(claim.member.clone(), ids);
                }
            }
        };
        match self.files.get_mut(&claim.file) {
            Some(file) => add(file),
            None => {
                let mut file = FileIndex::default();
                add(&mut file);
                self.files.insert(claim.file.clone(), file);
            }
        }
    }

    /// Removes a claim that was added as it is.
    pub(super) fn remove(&mut self, claim: &Claim) {
        self.deadlines.remove(&(claim.until, claim.id));
        let Some(file) = self.files.get_mut(&claim.file) else {
            return;
        };
        file.starts.remove(&claim.lines.start());
        if let Some(ids) = file.members.get_mut(&claim.member) {
            ids.retain(|id| *id != claim.id);
            if ids.is_empty() {
                file.members.remove(&claim.member);
            }
        }
        if file.starts.is_empty() {
            self.files.remove(&claim.file);
        }
    }

    /// Puts a claim in the place of another of the same member on the same file: in one look-up, and without forgetting
    /// the member in between.
    pub(super) fn replace(&mut self, old: &Claim, new: &Claim) {
        self.deadlines.remove(&(old.until, old.id));
        self.deadlines.insert((new.until, new.id));
        let Some(file) = self.files.get_mut(&old.file) else {
            return;
        };
        file.starts.remove(&old.lines.start());
        file.starts
            .insert(new.lines.start(), (new.lines.end(), new.id));
        if let Some(ids) = file.members.get_mut(&old.member) {
            ids.retain(|id| *id != old.id);
            let at = ids.partition_point(|id| *id < new.id);
            ids.insert(at, new.id);
        }
    }

    /// Moves a claim's deadline.
    pub(super) fn renew(&mut self, id: u64, before: Timestamp, until: Timestamp) {
        self.deadlines.remove(&(before, id));
        self.deadlines.insert((until, id));
    }

    /// The claims on `file` that have a line of `lines`, last first.
    pub(super) fn overlapping(
        &self,
        file: &FilePath,
        lines: Lines,
    ) -> impl Iterator<Item = u64> + use<'_> {
        let starts = self.files.get(file).map(|file| &file.starts);
        starts
            .into_iter()
            .flat_map(move |starts| starts.range(..=lines.end()).rev())
            .take_while(move |(_, (end, _))| *end >= lines.start())
            .map(|(_, (_, id))| *id)
    }

    /// The claims of one member on one file, oldest first.
    pub(super) fn of_member(&self, file: &FilePath, member: &Name) -> &[u64] {
        let ids = self
            .files
            .get(file)
            .and_then(|file| file.members.get(member));
        ids.map_or(&[], Vec::as_slice)
    }

    /// The claims with the earliest and the last deadline.
    pub(super) fn outer_deadlines(&self) -> [Option<(Timestamp, u64)>; 2] {
        [self.first_deadline(), self.deadlines.last().copied()]
    }

    /// The claim with the earliest deadline.
    pub(super) fn first_deadline(&self) -> Option<(Timestamp, u64)> {
        self.deadlines.first().copied()
    }
}
