//! Loop modes of a project: started, ticked, cancelled and looked at, each in one transaction of the store.
//!
//! What always holds: of two that start a loop at once one does; a tick is counted or refused, whatever runs beside it;
//! a loop that was cancelled is not there again until somebody starts one. Looking makes no file, and so does what is
//! refused.
//!
//! Not here: whether idle panes are prompted (the monitor's), and the counts of iterations and cycles (the hooks').

use pitcrew_core::loops::{
    self, Loop, Mode, Opening, Over, Ralph, Ultraqa, Ultrawork, Verdict, cancel,
};
use pitcrew_core::{Refusal, Timestamp};
use pitcrew_store::{Document, Project, StoreExt, StoreFailure};

use crate::clock::Clock;
use crate::desk::NotDone;

/// The loops of one project.
#[derive(Clone, Copy)]
pub struct Loops<'a> {
    project: &'a Project,
    clock: &'a dyn Clock,
}

/// What is asked of a start beside the mode's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish<'a> {
    /// What the loop is about.
    pub aim: &'a str,
    /// The session of the agent CLI that it belongs to.
    pub session_id: Option<&'a str>,
    /// What becomes of a loop of the mode that goes on.
    pub over: Over,
}

/// A document that is a loop.
pub trait LoopDocument: Loop + Document<Id = ()> {}

impl<L: Loop + Document<Id = ()>> LoopDocument for L {}

impl<'a> Loops<'a> {
    /// The loops of `project`.
    #[must_use]
    pub fn of(project: &'a Project, clock: &'a dyn Clock) -> Self {
        Self { project, clock }
    }

    /// Starts a loop, which `open` makes of the opening. Answers it, and the one whose place it took.
    ///
    /// # Errors
    /// `invalid_input`, `loop_active`, or why it could not be kept.
    pub fn start<L: LoopDocument>(
        &self,
        wish: &Wish<'_>,
        open: impl Fn(&Opening<'_>) -> L,
    ) -> Result<(L, Option<L>), NotDone> {
        let root = self.project.root().to_string_lossy();
        let opened = open(&Opening {
            aim: wish.aim,
            session_id: wish.session_id,
            project_path: &root,
            now: Timestamp::from_millis(self.clock.now()),
        });
        // What is refused makes no folder either.
        loops::start(&mut self.find::<L>()?, &opened, wish.over)?;
        let store = self.project.state_to_write()?;
        let before = store.update(&(), |slot| loops::start(slot, &opened, wish.over))??;
        Ok((opened, before))
    }

    /// The loop of a mode, whether it goes on or not.
    ///
    /// # Errors
    /// When its document cannot be read.
    pub fn find<L: LoopDocument>(&self) -> Result<Option<L>, StoreFailure> {
        self.project.state().view::<L>(&())
    }

    /// One more slice of the `ralph` loop is done.
    ///
    /// # Errors
    /// `loop_inactive`, `loop_cleared`, or why it could not be kept.
    pub fn tick(&self) -> Result<Ralph, NotDone> {
        self.change(loops::tick)
    }

    /// A cycle of the `ultraqa` loop ended; a pass ends the loop.
    ///
    /// # Errors
    /// `loop_inactive`, `loop_cleared`, or why it could not be kept.
    pub fn cycle(&self, verdict: Verdict) -> Result<Ultraqa, NotDone> {
        self.change(|slot| loops::cycle(slot, verdict))
    }

    /// Ends the loop of a mode, whatever is in its document; answers whether there was one.
    ///
    /// # Errors
    /// Why it could not be removed.
    pub fn cancel(&self, mode: Mode) -> Result<bool, StoreFailure> {
        let ended = match mode {
            Mode::Ralph => self.end::<Ralph>(),
            Mode::Ultrawork => self.end::<Ultrawork>(),
            Mode::Ultraqa => self.end::<Ultraqa>(),
        };
        match ended {
            // One that cannot be read must not be one that cannot be ended.
            Err(StoreFailure::CorruptDocument { .. }) => self.project.remove_loop(mode),
            ended => ended,
        }
    }

    /// The modes that go on. One whose document cannot be read does not.
    #[must_use]
    pub fn active(&self) -> Vec<Mode> {
        let goes_on = |mode: &Mode| match mode {
            Mode::Ralph => self.goes_on::<Ralph>(),
            Mode::Ultrawork => self.goes_on::<Ultrawork>(),
            Mode::Ultraqa => self.goes_on::<Ultraqa>(),
        };
        Mode::ALL.into_iter().filter(goes_on).collect()
    }

    fn goes_on<L: LoopDocument>(&self) -> bool {
        let found = self.find::<L>().unwrap_or_default();
        found.is_some_and(|found| found.is_active())
    }

    fn change<L: LoopDocument, A>(
        &self,
        mut rule: impl FnMut(&mut Option<L>) -> Result<A, Refusal>,
    ) -> Result<A, NotDone> {
        if self.find::<L>()?.is_none() {
            return Err(Refusal::LoopInactive { mode: L::MODE }.into());
        }
        Ok(self.project.state().update(&(), |slot| rule(slot))??)
    }

    fn end<L: LoopDocument>(&self) -> Result<bool, StoreFailure> {
        if self.find::<L>()?.is_none() {
            return Ok(false);
        }
        self.project
            .state()
            .change(&(), |slot: &mut Option<L>| cancel(slot).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn wish(aim: &str, over: Over) -> Wish<'_> {
        Wish {
            aim,
            session_id: None,
            over,
        }
    }

    fn ralph(opening: &Opening<'_>) -> Ralph {
        Ralph::opened(opening, 3)
    }

    #[test]
    fn what_is_refused_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (project, clock) = (Project::at(folder.path()).unwrap(), ManualClock::at(0));
        let loops = Loops::of(&project, &clock);
        assert!(loops.start(&wish(" ", Over::Replace), ralph).is_err());
        assert!(loops.tick().is_err() && loops.cycle(Verdict::Fail).is_err());
        assert!(Mode::ALL.iter().all(|mode| !loops.cancel(*mode).unwrap()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn any_mode_is_active_until_it_is_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let (project, clock) = (Project::at(folder.path()).unwrap(), ManualClock::at(0));
        let loops = Loops::of(&project, &clock);
        loops.start(&wish("a", Over::Refuse), ralph).unwrap();
        let ultraqa = |opening: &Opening<'_>| Ultraqa::opened(opening, 2);
        loops.start(&wish("b", Over::Refuse), ultraqa).unwrap();
        assert_eq!(loops.active(), [Mode::Ralph, Mode::Ultraqa]);
        loops.cycle(Verdict::Pass).unwrap();
        assert_eq!(loops.active(), [Mode::Ralph]);

        std::fs::write(project.state_dir().join("ralph.json"), "{").unwrap();
        assert_eq!(loops.active(), []);
        assert!(loops.start(&wish("a", Over::Replace), ralph).is_err());
        assert!(loops.cancel(Mode::Ralph).unwrap());
        assert!(loops.start(&wish("a", Over::Refuse), ralph).is_ok());
    }
}
