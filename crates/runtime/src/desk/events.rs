//! Events: writing down what has happened, and reading it as it comes.
//!
//! The desk writes the events of a change right after the change is durable, in one append, and before it answers. So
//! an event never speaks of what did not happen. A process that is killed between the two leaves a change without its
//! event: state is the truth, and whoever follows looks at it when it matters. When events cannot be written, the
//! change stands, [`Unsaid`] says so, and the next event that can be written is preceded by how many were lost.
//!
//! Reading is by cursor and changes nothing. A reader takes a page at a time and holds no more than that, so however
//! slow it is, memory is bounded; what it cannot have any more, because the log is kept up to a size, it is told as
//! [`Delivery::Missed`].

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pitcrew_core::event::{Event, Fact, Filter};
use pitcrew_core::roster::Team;
use pitcrew_store::{Change, Cursor, Log, Place, Store, StoreExt, StoreFailure, Watch};

use super::{Desk, NotDone};

/// How many bytes of the log are read at once.
const PAGE: usize = 64 * 1024;

/// Events that could not be written down, and other things that follow from a change and were not done, until somebody
/// asks.
#[derive(Debug, Default)]
pub struct Unsaid {
    lost: Mutex<Option<Lost>>,
    undone: Mutex<Vec<String>>,
}

/// How many events could not be written down, and why not the last of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub events: u64,
    /// Why.
    pub why: String,
}

impl Unsaid {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            lost: Mutex::new(None),
            undone: Mutex::new(Vec::new()),
        }
    }

    /// What follows from changes that stand and was not done, in words, since somebody last asked.
    pub fn take_undone(&self) -> Vec<String> {
        std::mem::take(&mut self.undone())
    }

    fn undone(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.undone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `what` was not done. A long-lived desk that nobody asks keeps no more than the first few.
    pub(super) fn note_undone(&self, what: &str, why: &NotDone) {
        const KEPT: usize = 16;
        let why = match why {
            NotDone::Failed(super::Failure::Store(failure)) => failure.in_words(),
            other => other.to_string(),
        };
        let words = format!("{what} could not be written: {why}");
        let mut undone = self.undone();
        if undone.len() < KEPT && !undone.contains(&words) {
            undone.push(words);
        }
    }

    /// What could not be written since somebody last asked, or since it was made up for.
    pub fn take(&self) -> Option<Lost> {
        self.lost().take()
    }

    fn lost(&self) -> std::sync::MutexGuard<'_, Option<Lost>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, events: usize, why: &StoreFailure) {
        let mut lost = self.lost();
        let before = lost.as_ref().map_or(0, |lost| lost.events);
        *lost = Some(Lost {
            events: before.saturating_add(events as u64),
            why: why.to_string(),
        });
    }
}

/// What reading some of the events came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Where to read on.
    pub next: Cursor,
    /// How many bytes of events are kept no longer that would have come in between.
    pub missed: u64,
    /// How many lines are no event.
    pub damaged: u64,
    /// How often the log was found cut or replaced from outside; then what is there is read from its beginning.
    pub cuts: u64,
}

/// Where a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With what happens from now on.
    #[default]
    Now,
    /// With the oldest event that is kept.
    Oldest,
    /// Where an earlier one stopped: [`Subscription::cursor`].
    At(Cursor),
}

/// What a subscription hands over.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// An event that was asked for.
    Event(Box<Event>),
    /// The reader was so far behind that events are gone: look at the state again.
    Missed {
        /// How many bytes of them.
        bytes: u64,
    },
    /// The events were cut or replaced from outside. What follows begins with the first event that is there; of those
    /// that were there before, some may have been missed, and some may come once more.
    Cut,
    /// Lines that are no event.
    Damaged {
        /// How many.
        lines: u64,
    },
    /// The team is removed; nothing more will come.
    Ended,
}

enum Held<'a> {
    Lent(&'a dyn Store),
    Own(Arc<dyn Store>),
}

/// The events of a team as they come, whichever process writes them.
pub struct Subscription<'a> {
    store: Held<'a>,
    watch: Box<dyn Watch>,
    filter: Filter,
    /// Where the next page is read.
    ahead: Cursor,
    /// What was read and not taken yet, each with where to go on behind it.
    ready: VecDeque<(Delivery, Cursor)>,
    taken: Cursor,
    over: bool,
}

impl<'a> Subscription<'a> {
    fn begin(store: Held<'a>, filter: Filter, start: Start) -> Result<Self, StoreFailure> {
        let of = |store: &dyn Store| -> Result<_, StoreFailure> {
            // Watched from before the first look, so that nothing between the two is missed.
            let watch = store.watch()?;
            let cursor = match start {
                Start::Now => end_of(store)?,
                Start::Oldest => 0,
                Start::At(cursor) => cursor,
            };
            Ok((watch, cursor))
        };
        let (watch, cursor) = match &store {
            Held::Lent(store) => of(*store),
            Held::Own(store) => of(&**store),
        }?;
        Ok(Self {
            store,
            watch,
            filter,
            ahead: cursor,
            ready: VecDeque::new(),
            taken: cursor,
            over: false,
        })
    }

    /// A subscription that keeps the store itself, for a thread or task of its own.
    ///
    /// # Errors
    /// When the store cannot be watched or its events cannot be read.
    pub fn to(
        store: Arc<dyn Store>,
        filter: Filter,
        start: Start,
    ) -> Result<Subscription<'static>, StoreFailure> {
        Subscription::begin(Held::Own(store), filter, start)
    }

    fn store(&self) -> &dyn Store {
        match &self.store {
            Held::Lent(store) => *store,
            Held::Own(store) => &**store,
        }
    }

    /// Where to go on behind what was taken last, for [`Start::At`] of a later process.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.taken
    }

    /// The next delivery, waiting up to `wait` for it; nothing is asked again and again meanwhile. `None` when there is
    /// none yet, which may come earlier when something else in the team changed.
    ///
    /// # Errors
    /// When the events cannot be read or the store cannot be watched any more.
    pub fn next(&mut self, wait: Duration) -> Result<Option<Delivery>, NotDone> {
        if self.over && self.ready.is_empty() {
            return Ok(Some(Delivery::Ended));
        }
        if let Some(delivery) = self.take()? {
            return Ok(Some(delivery));
        }
        if self.over {
            return Ok(Some(Delivery::Ended));
        }
        match self.watch.next(wait)? {
            Some(Change::Log(Log::Events)) => {}
            Some(Change::Document(Place::Team) | Change::Lagged) | None => {
                self.over = self.store().view::<Team>(&())?.is_none();
            }
            Some(_) => return Ok(None),
        }
        let delivery = self.take()?;
        Ok(delivery.or_else(|| self.over.then_some(Delivery::Ended)))
    }

    fn take(&mut self) -> Result<Option<Delivery>, NotDone> {
        loop {
            if let Some((delivery, behind)) = self.ready.pop_front() {
                self.taken = behind;
                return Ok(Some(delivery));
            }
            let from = self.ahead;
            let mut ready = VecDeque::new();
            let passed = one_page(self.store(), from, &mut |at, event| {
                if self.filter.admits(&event) {
                    ready.push_back((Delivery::Event(Box::new(event)), at));
                }
                ControlFlow::Continue(())
            })?;
            if passed.missed + passed.cuts > 0 && self.store().view::<Team>(&())?.is_none() {
                // Not behind: the events went with their team.
                self.over = true;
                return Ok(None);
            }
            self.ahead = passed.next;
            if passed.damaged > 0 {
                let lines = passed.damaged;
                ready.push_front((Delivery::Damaged { lines }, from));
            }
            if passed.missed > 0 {
                let bytes = passed.missed;
                ready.push_front((Delivery::Missed { bytes }, from));
            }
            if passed.cuts > 0 {
                ready.push_front((Delivery::Cut, from));
            }
            self.ready = ready;
            if self.ready.is_empty() {
                self.taken = self.ahead;
                if passed.next == from {
                    return Ok(None);
                }
            }
        }
    }
}

fn end_of(store: &dyn Store) -> Result<Cursor, StoreFailure> {
    // Appending nothing changes nothing and answers where the log ends.
    store.append(&Log::Events, &[])
}

/// Hands the events of one page to `each`, each with where the next line starts.
fn one_page(
    store: &dyn Store,
    from: Cursor,
    each: &mut dyn FnMut(Cursor, Event) -> ControlFlow<()>,
) -> Result<Passed, StoreFailure> {
    let (page, missed, cuts) = match store.read(&Log::Events, from, PAGE) {
        Ok(page) => {
            let missed = page.base.saturating_sub(from);
            (page, missed, 0)
        }
        // Whatever was written since stands in the present file, and nobody can tell which of it was read.
        Err(StoreFailure::LogTruncated { start, .. }) => {
            (store.read(&Log::Events, start, PAGE)?, 0, 1)
        }
        Err(failure) => return Err(failure),
    };
    let mut passed = Passed {
        next: page.next,
        missed,
        damaged: 0,
        cuts,
    };
    for line in page.lines() {
        match Event::decode(line.bytes) {
            Some(event) => {
                if each(line.end, event).is_break() {
                    passed.next = line.end;
                    break;
                }
            }
            None => passed.damaged += u64::from(!line.bytes.trim_ascii().is_empty()),
        }
    }
    Ok(passed)
}

impl<'a> Desk<'a> {
    /// The same desk, which notes in `unsaid` what events it could not write.
    #[must_use]
    pub fn noting(self, unsaid: &'a Unsaid) -> Self {
        Self {
            unsaid: Some(unsaid),
            ..self
        }
    }

    /// Writes events down, for facts that have happened and are durable. The desk does so itself for everything that it
    /// changes; this is for what others do: agents that join, leave or crash, turns, runs. A failure is no failure of
    /// what they report, so it is noted and not answered.
    pub fn announce(&self, facts: &[Fact]) {
        if facts.is_empty() {
            return;
        }
        let lost = self.unsaid.and_then(Unsaid::take);
        let at = self.now();
        if let ([fact], None) = (facts, &lost) {
            // The usual case, without a list: every call of a model is one.
            let line = Event::encode(self.team, fact, at);
            let lines = line.as_ref().map(|line| [line.as_bytes()]);
            self.write_down(lines.as_ref().map_or(&[], |lines| &lines[..]), 1);
            return;
        }
        let before = lost
            .as_ref()
            .map(|lost| Fact::EventsLost { count: lost.events });
        let lines = before.iter().chain(facts);
        let lines: Vec<String> = lines
            .filter_map(|fact| Event::encode(self.team, fact, at))
            .collect();
        let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let before = lost.map_or(0, |lost| usize::try_from(lost.events).unwrap_or(usize::MAX));
        self.write_down(&lines, facts.len().saturating_add(before));
    }

    /// Appends lines that say `events` events, or notes that they are lost.
    fn write_down(&self, lines: &[&[u8]], events: usize) {
        if let Err(failure) = self.store.append_blind(&Log::Events, lines)
            && let Some(unsaid) = self.unsaid
        {
            unsaid.note(events, &failure);
        }
    }

    /// What `step` came to; when it failed, nothing, and `what` is noted as not done.
    pub(crate) fn or_undone<A: Default>(&self, what: &str, step: Result<A, NotDone>) -> A {
        step.unwrap_or_else(|why| {
            if let Some(unsaid) = self.unsaid {
                unsaid.note_undone(what, &why);
            }
            A::default()
        })
    }

    /// Follows the events that `filter` admits.
    ///
    /// # Errors
    /// When the store cannot be watched or its events cannot be read.
    pub fn subscribe(&self, filter: Filter, start: Start) -> Result<Subscription<'a>, NotDone> {
        Ok(Subscription::begin(Held::Lent(self.store), filter, start)?)
    }

    /// Where the events end now.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn events_end(&self) -> Result<Cursor, NotDone> {
        Ok(end_of(self.store)?)
    }

    /// Hands every kept event from `from` on that `filter` admits to `each`, oldest first, until it says stop.
    ///
    /// # Errors
    /// When the events cannot be read.
    pub fn events_from(
        &self,
        from: Cursor,
        filter: &Filter,
        each: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<Passed, NotDone> {
        let mut sum = Passed {
            next: from,
            ..Passed::default()
        };
        let mut stopped = false;
        loop {
            let passed = one_page(self.store, sum.next, &mut |_, event| {
                if filter.admits(&event) && each(event).is_break() {
                    stopped = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            let moved = passed.next != sum.next;
            sum.next = passed.next;
            // Whoever begins at the start has read nothing that could have gone since.
            sum.missed += if from == 0 { 0 } else { passed.missed };
            sum.damaged += passed.damaged;
            sum.cuts += passed.cuts;
            if stopped || !moved {
                return Ok(sum);
            }
        }
    }
}
