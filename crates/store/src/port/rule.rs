//! The typed half of the port: how a rule over a typed document reaches an adapter that knows no types.
//!
//! [`StoreExt`] is what callers use. It wraps a closure into an [`ErasedRule`], which an adapter decodes into, runs and
//! encodes from, so that [`Store`] stays one object whatever documents there are.

use std::any::Any;
use std::cell::Cell;
use std::convert::Infallible;

use super::{Document, Store};
use crate::failure::StoreFailure;

/// A document's state with its type erased.
pub type State = Box<dyn Any + Send + Sync>;

/// What `update` hands to an adapter: a document's type with its type erased, so that the port stays one object.
/// Callers use [`StoreExt`].
pub trait ErasedRule {
    /// Reads the document from JSON, for adapters that keep text.
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    fn decode(&self, json: &[u8]) -> Result<State, String>;
    /// Writes the document as compact JSON, the same bytes for the same state.
    ///
    /// # Errors
    /// What cannot be written, in words.
    fn encode(&self, state: &(dyn Any + Send + Sync)) -> Result<Vec<u8>, String>;
    /// A copy, for adapters that keep typed states.
    fn copy(&self, state: &(dyn Any + Send + Sync)) -> State;
    /// Whether the document's rules are whole, as [`Document::WHOLE_RULES`] says.
    fn is_whole(&self) -> bool;
    /// Runs the rule on the state. Answers whether the state is to be kept.
    fn run(&mut self, state: &mut Option<State>) -> Verdict;
}

/// What a rule said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Keep what the state is now; `None` removes the document.
    Keep,
    /// The rule refused, or changed nothing: leave everything as it was.
    Leave,
}

/// The typed half of the port.
pub trait StoreExt {
    /// The document as it is now.
    ///
    /// # Errors
    /// `CorruptDocument` when it cannot be read as `D`.
    fn view<D: Document>(&self, id: &D::Id) -> Result<Option<D>, StoreFailure>;

    /// Runs `rule` on the document in a transaction. `Ok` keeps what the rule left there (`None` removes the
    /// document, an unchanged state writes nothing); `Err` leaves everything as it was. The rule may run more than
    /// once; the answer of the last run counts.
    ///
    /// # Errors
    /// The outer error is the store's, the inner one the rule's own refusal. `NestedUpdate` inside another rule. After
    /// a failure to `sync` the change is there, but may not outlast a power failure; after any other it is not.
    fn update<D: Document, A, R>(
        &self,
        id: &D::Id,
        rule: impl FnMut(&mut Option<D>) -> Result<A, R>,
    ) -> Result<Result<A, R>, StoreFailure>;

    /// The same for a rule that refuses nothing.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn change<D: Document, A>(
        &self,
        id: &D::Id,
        mut rule: impl FnMut(&mut Option<D>) -> A,
    ) -> Result<A, StoreFailure> {
        let Ok(answer) = self.update(id, |slot| Ok::<_, Infallible>(rule(slot)))?;
        Ok(answer)
    }
}

/// Which rule this thread is running.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Running {
    None,
    /// One that may view documents.
    Rule,
    /// One that may not: it may hold the very state that it would view.
    WholeRule,
}

thread_local! {
    static RUNNING: Cell<Running> = const { Cell::new(Running::None) };
}

/// Marks that this thread is inside a transaction. A rule that starts another one would wait for its own lock.
struct Deciding;

impl Deciding {
    fn start(place: &super::Place, running: Running) -> Result<Self, StoreFailure> {
        if RUNNING.get() != Running::None {
            return Err(StoreFailure::NestedUpdate {
                place: place.to_string(),
            });
        }
        RUNNING.set(running);
        Ok(Self)
    }
}

impl Drop for Deciding {
    fn drop(&mut self) {
        RUNNING.set(Running::None);
    }
}

struct Typed<'i, D: Document, F, A, R> {
    id: &'i D::Id,
    rule: F,
    answer: Option<Result<A, R>>,
}

/// A state whose type the adapter mixed up cannot happen by [`Document::place`], but is answered rather than trusted.
const WRONG_TYPE: &str = "the state has another type than its place";

/// A typed state while its rule runs. It goes back to where it was taken from also when the rule panics.
struct PutBack<'a, D: Document> {
    slot: &'a mut Option<State>,
    state: Option<D>,
}

impl<'a, D: Document> PutBack<'a, D> {
    fn take(slot: &'a mut Option<State>) -> Self {
        let state = slot.take().and_then(|state| state.downcast::<D>().ok());
        Self {
            slot,
            state: state.map(|state| *state),
        }
    }
}

impl<D: Document> Drop for PutBack<'_, D> {
    fn drop(&mut self) {
        *self.slot = self.state.take().map(|state| Box::new(state) as State);
    }
}

impl<D: Document, A, R, F: FnMut(&mut Option<D>) -> Result<A, R>> ErasedRule
    for Typed<'_, D, F, A, R>
{
    fn decode(&self, json: &[u8]) -> Result<State, String> {
        let state: D =
            pitcrew_core::json::read_object(json).map_err(|refused| refused.to_string())?;
        match state.misplaced(self.id) {
            Some(why) => Err(why),
            None => Ok(Box::new(state)),
        }
    }

    fn encode(&self, state: &(dyn Any + Send + Sync)) -> Result<Vec<u8>, String> {
        let state = state.downcast_ref::<D>().ok_or(WRONG_TYPE)?;
        serde_json::to_vec(state).map_err(|refused| refused.to_string())
    }

    fn copy(&self, state: &(dyn Any + Send + Sync)) -> State {
        match state.downcast_ref::<D>() {
            Some(state) => Box::new(state.clone()),
            None => Box::new(()),
        }
    }

    fn is_whole(&self) -> bool {
        D::WHOLE_RULES
    }

    fn run(&mut self, state: &mut Option<State>) -> Verdict {
        let mut typed = PutBack::<D>::take(state);
        let answer = (self.rule)(&mut typed.state);
        let verdict = if answer.is_ok() {
            Verdict::Keep
        } else {
            Verdict::Leave
        };
        self.answer = Some(answer);
        verdict
    }
}

impl<S: Store + ?Sized> StoreExt for S {
    fn view<D: Document>(&self, id: &D::Id) -> Result<Option<D>, StoreFailure> {
        let rule = Typed {
            id,
            rule: |_: &mut Option<D>| Err::<(), ()>(()),
            answer: None,
        };
        let place = D::place(id);
        if RUNNING.get() == Running::WholeRule {
            return Err(StoreFailure::NestedUpdate {
                place: place.to_string(),
            });
        }
        match self.view_erased(&place, &rule)? {
            None => Ok(None),
            Some(state) => match state.downcast::<D>() {
                Ok(state) => Ok(Some(*state)),
                Err(_) => Err(StoreFailure::corrupt(&place, WRONG_TYPE)),
            },
        }
    }

    fn update<D: Document, A, R>(
        &self,
        id: &D::Id,
        rule: impl FnMut(&mut Option<D>) -> Result<A, R>,
    ) -> Result<Result<A, R>, StoreFailure> {
        let place = D::place(id);
        let running = match D::WHOLE_RULES {
            true => Running::WholeRule,
            false => Running::Rule,
        };
        let _one_at_a_time = Deciding::start(&place, running)?;
        let mut typed = Typed {
            id,
            rule,
            answer: None,
        };
        self.update_erased(&place, &mut typed)?;
        typed
            .answer
            .ok_or_else(|| StoreFailure::corrupt(&place, "the adapter never ran the rule"))
    }
}
