//! A document as a file: read, decide and replace under the lock of its folder.
//!
//! ```text
//! lock the folder ─▶ read ─▶ rule ─▶ draft, sync ─▶ still as read? ─▶ rename ─▶ unlock ─▶ sync
//!        ▲                    │                          │ no
//!        │                    └─ refused, unchanged: end, nothing was written
//!        └─ again, a little later if the reference claims this task just now ◀───┘
//! ```
//!
//! What always holds: a reader without lock sees the old text or the new one; a crash leaves one of them, and at most
//! a draft that the next writer of the same document takes away. The lock is one on the folder that is there anyway,
//! so a rule that refuses leaves no trace. What the rule did not touch keeps its text, unknown keys included.
//!
//! The reference takes no such lock. Its half-written texts are read again for a moment, and its writes between our
//! reading and our renaming are noticed, all but those in the last microseconds.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use super::folder::{Folder, Stamp};
use super::lock::pause;
use super::mark::Mark;
use super::patch::patch;
use super::text::laid_out;
use crate::failure::StoreFailure;
use crate::layout::{self, Branch, Spot};
use crate::port::{Durability, ErasedRule, Place, State, Verdict};

/// The pauses after which a text that cannot be read is read again, in milliseconds: a writer that is no crash is done
/// by then.
const READ_AGAIN_MS: [u64; 5] = [1, 4, 10, 20, 30];

/// The pause before a task is looked at again that another program is claiming.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How often a transaction starts again, at the most.
const ROUNDS: u32 = 1000;

/// One document of the team in `team`.
pub(super) struct DocumentFile<'a> {
    team: &'a Path,
    place: &'a Place,
    spot: Spot<'a>,
}

/// The text that a transaction began with.
struct OnDisk {
    text: Vec<u8>,
    stamp: Stamp,
}

/// A document as it was read; a text that is not its type says why.
struct Loaded {
    on_disk: OnDisk,
    state: Result<State, String>,
}

/// A document before and after its rule, as the compact JSON of its states.
struct Decided {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// What came of one round of a transaction.
enum Round {
    /// Over, as far as others see it; what is due makes it last.
    Done(Due),
    /// To be begun again after this span.
    Again(Duration),
}

/// What makes a change last, once the lock is released.
enum Due {
    /// Nothing: there was no change, or it need not last.
    Nothing,
    /// The folder is to be synced: the text was synced before it took its place.
    Folder,
    /// The file is to be synced, in its place already. Takes the renaming along.
    File(File),
}

impl Due {
    fn settle(self, folder: &Folder) -> Result<(), StoreFailure> {
        match self {
            Self::Nothing => Ok(()),
            Self::Folder => folder.sync(),
            Self::File(file) => folder.sync_file(&file),
        }
    }
}

impl<'a> DocumentFile<'a> {
    pub(super) fn new(team: &'a Path, place: &'a Place) -> Self {
        Self {
            team,
            place,
            spot: layout::document(place),
        }
    }

    /// The document as it is, without any lock.
    pub(super) fn view(&self, rule: &dyn ErasedRule) -> Result<Option<State>, StoreFailure> {
        let Some(folder) = Folder::descend(self.team, self.spot.branch.steps())? else {
            return Ok(None);
        };
        let Some(loaded) = self.load(&folder, rule)? else {
            return Ok(None);
        };
        match loaded.state {
            Ok(state) => Ok(Some(state)),
            Err(_) if self.place.is_derived() => Ok(None),
            Err(why) => Err(StoreFailure::corrupt(self.place, &why)),
        }
    }

    /// Runs `rule` on the document and keeps what it leaves.
    pub(super) fn update(
        &self,
        rule: &mut dyn ErasedRule,
        patience: Duration,
    ) -> Result<(), StoreFailure> {
        let mut waited = Duration::ZERO;
        for _ in 0..ROUNDS {
            match self.round(rule, patience, waited)? {
                Round::Done(_) => return Ok(()),
                Round::Again(span) => {
                    pause(span);
                    waited += span;
                }
            }
        }
        Err(StoreFailure::Locked {
            path: self.team.join(self.spot.path()),
        })
    }

    /// Gives a text that is not `is_sound` another name, under which nobody looks for it, so that a new document can
    /// take its place. Answers that name; `None` when there is no such text.
    pub(super) fn set_aside(
        &self,
        is_sound: &dyn Fn(&[u8]) -> bool,
        patience: Duration,
    ) -> Result<Option<String>, StoreFailure> {
        let branch = self.spot.branch;
        let Some(guard) = Folder::descend(self.team, branch.guard().steps())? else {
            return Ok(None);
        };
        let _held = guard.lock(patience)?;
        let Some(folder) = Folder::descend(self.team, branch.steps())? else {
            return Ok(None);
        };
        let Some((text, _)) = folder.read(&self.spot.file)? else {
            return Ok(None);
        };
        if is_sound(&text) {
            return Ok(None);
        }
        let mut n = 1;
        loop {
            let aside = layout::aside(&self.spot.file, n);
            if folder.stamp(&aside)?.is_none() {
                folder.rename(&self.spot.file, &aside)?;
                return Ok(Some(aside));
            }
            n += 1;
        }
    }

    fn load(&self, folder: &Folder, rule: &dyn ErasedRule) -> Result<Option<Loaded>, StoreFailure> {
        let mut pauses = READ_AGAIN_MS.into_iter();
        loop {
            let (text, stamp) = match folder.read(&self.spot.file) {
                Ok(Some(read)) => read,
                Ok(None) => return Ok(None),
                // What only repeats a log is written anew in the place of what cannot be read.
                Err(StoreFailure::Io { source, .. }) if self.place.is_derived() => {
                    let stamp = folder.stamp(&self.spot.file)?;
                    let (text, state) = (Vec::new(), Err(source.to_string()));
                    return Ok(stamp.map(|stamp| Loaded {
                        on_disk: OnDisk { text, stamp },
                        state,
                    }));
                }
                Err(failure) => return Err(failure),
            };
            let state = rule.decode(&text);
            match pauses.next().filter(|_| state.is_err()) {
                Some(ms) => pause(Duration::from_millis(ms)),
                None => {
                    let on_disk = OnDisk { text, stamp };
                    return Ok(Some(Loaded { on_disk, state }));
                }
            }
        }
    }

    fn round(
        &self,
        rule: &mut dyn ErasedRule,
        patience: Duration,
        waited: Duration,
    ) -> Result<Round, StoreFailure> {
        let mut guard = Folder::expect(self.team)?;
        for step in self.spot.branch.guard().steps() {
            guard = guard.sub_or_new(step)?;
        }
        let held = guard.lock(patience)?;
        let worker = match self.spot.branch {
            Branch::Worker(name) => Some(guard.sub(name)?),
            _ => None,
        };
        let folder = match &worker {
            None => Some(&guard),
            Some(worker) => worker.as_ref(),
        };
        let loaded = match folder {
            Some(folder) => self.load(folder, rule)?,
            None => None,
        };
        let (on_disk, state) = match loaded {
            Some(loaded) => (Some(loaded.on_disk), self.usable(loaded.state)?),
            None => (None, None),
        };
        let Some(decided) = self.decide(rule, state)? else {
            return Ok(Round::Done(Due::Nothing));
        };
        let made;
        let folder = match (folder, self.spot.branch) {
            (Some(folder), _) => folder,
            (None, Branch::Worker(name)) => {
                made = guard.sub_or_new(name)?;
                &made
            }
            (None, _) => &guard,
        };
        let round = self.keep(folder, &decided, on_disk.as_ref(), waited)?;
        drop(held);
        match round {
            Round::Done(due) => due.settle(folder).map(|()| Round::Done(Due::Nothing)),
            again @ Round::Again(_) => Ok(again),
        }
    }

    /// The state that the rule gets. A text that cannot be read is none where it may be lost.
    fn usable(&self, state: Result<State, String>) -> Result<Option<State>, StoreFailure> {
        match (state, self.place.durability()) {
            (Ok(state), _) => Ok(Some(state)),
            (Err(why), Durability::Synced | Durability::Ordered) => {
                Err(StoreFailure::corrupt(self.place, &why))
            }
            (Err(_), Durability::Relaxed) => Ok(None),
        }
    }

    /// Runs the rule. `None` when nothing is to be kept.
    fn decide(
        &self,
        rule: &mut dyn ErasedRule,
        mut state: Option<State>,
    ) -> Result<Option<Decided>, StoreFailure> {
        let encode = |rule: &dyn ErasedRule, state: &Option<State>| {
            let encoded = state.as_ref().map(|state| rule.encode(&**state));
            encoded
                .transpose()
                .map_err(|why| StoreFailure::corrupt(self.place, &why))
        };
        let before = encode(rule, &state)?;
        if rule.run(&mut state) == Verdict::Leave {
            return Ok(None);
        }
        let after = encode(rule, &state)?;
        Ok((before != after).then_some(Decided { before, after }))
    }

    fn keep(
        &self,
        folder: &Folder,
        decided: &Decided,
        on_disk: Option<&OnDisk>,
        waited: Duration,
    ) -> Result<Round, StoreFailure> {
        let (before, after) = (decided.before.as_deref(), decided.after.as_deref());
        let mark = match self.place {
            Place::Task(id) => Some(Mark::of(folder, id, before, after)),
            _ => None,
        };
        if let Some(mark) = &mark
            && !mark.make(waited)?
        {
            return Ok(Round::Again(LOOK_AGAIN));
        }
        let kept = match after {
            Some(after) => {
                let text = self.text(on_disk, before, after);
                text.and_then(|text| self.replace(folder, &text, on_disk))
            }
            None => folder
                .remove(&self.spot.file)
                .map(|_| Round::Done(self.folder_is_due())),
        };
        if let Some(mark) = &mark {
            match kept {
                Ok(Round::Done(_)) => mark.settle(),
                _ => mark.undo(),
            }
        }
        kept
    }

    /// The text to be written.
    fn text(
        &self,
        on_disk: Option<&OnDisk>,
        before: Option<&[u8]>,
        after: &[u8],
    ) -> Result<Vec<u8>, StoreFailure> {
        let form = self.spot.form;
        match (on_disk, before) {
            (Some(on_disk), Some(before)) if !self.place.is_derived() => {
                let text = pitcrew_core::json::trim(&on_disk.text);
                if text == before {
                    // Nothing of others is in it, so there is nothing to keep.
                    return Ok(laid_out(after, form));
                }
                let patched = patch(text, before, after);
                let patched = patched.ok_or_else(|| {
                    StoreFailure::corrupt(self.place, "its text has another outline than its state")
                })?;
                Ok(laid_out(&patched, form))
            }
            _ => Ok(laid_out(after, form)),
        }
    }

    /// Puts `text` in the document's place, if what stands there is still what the transaction began with.
    fn replace(
        &self,
        folder: &Folder,
        text: &[u8],
        on_disk: Option<&OnDisk>,
    ) -> Result<Round, StoreFailure> {
        let file = &self.spot.file;
        let draft = layout::draft(file);
        let durability = self.place.durability();
        if let Some(on_disk) = on_disk.filter(|_| self.place.is_overwritten())
            && folder.overwrite(file, text, &on_disk.stamp)?
        {
            return Ok(Round::Done(Due::Nothing));
        }
        // Where replacing keeps the old text until the new one is written, one sync after it makes both last.
        let at_once =
            durability == Durability::Synced && on_disk.is_some() && folder.replaces_whole();
        let first = if at_once {
            Durability::Relaxed
        } else {
            durability
        };
        let written = folder.write_draft(&draft, text, first)?;
        match folder.stamp(file) {
            Ok(now) if now == on_disk.map(|on_disk| on_disk.stamp) => {}
            Ok(_) => {
                folder.remove(&draft)?;
                return Ok(Round::Again(Duration::ZERO));
            }
            Err(refused) => {
                folder.remove(&draft)?;
                return Err(refused);
            }
        }
        folder.promote(&draft, file, durability)?;
        Ok(Round::Done(if at_once {
            Due::File(written)
        } else {
            self.folder_is_due()
        }))
    }

    fn folder_is_due(&self) -> Due {
        match self.place.durability() {
            Durability::Synced => Due::Folder,
            Durability::Ordered | Durability::Relaxed => Due::Nothing,
        }
    }
}
