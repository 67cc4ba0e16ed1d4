//! An agent's inbox: what reaches it while it works or waits, bounded, and good for all of its lives.
//!
//! | comes in | kept as |
//! |---|---|
//! | a user's message | itself, in order; whoever sends one waits while too many are kept |
//! | mail: peer messages and broadcasts | a bell; the messages stand in the store |
//! | an order to end its run, or itself | a flag |
//!
//! An inbox that nobody has written to holds no memory beyond itself, and an agent that waits for it uses no processor.
//! It outlives a crash of the agent: what was not taken is there for the next life.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::report::Report;

/// How many user messages wait in one inbox.
pub(crate) const ROOM: usize = 64;

/// A user's message.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) text: String,
    /// Who waits for what comes of it.
    pub(crate) answer: Option<oneshot::Sender<Report>>,
}

/// What is in an inbox now.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) told: VecDeque<Told>,
    /// Mail may have come.
    pub(crate) mail: bool,
    /// The present run is to end.
    pub(crate) cancel: bool,
    /// The agent is to end once its run has.
    pub(crate) finish: bool,
}

impl News {
    fn is_nothing(&self) -> bool {
        self.told.is_empty() && !self.mail && !self.cancel && !self.finish
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    rang: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct State {
    news: News,
    closed: bool,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a user's message in, waiting for room; gives it back when the agent has ended for good.
    pub(crate) async fn tell(&self, told: Told) -> Result<(), Told> {
        loop {
            let room = self.room.notified();
            {
                let mut state = self.state();
                if state.closed {
                    return Err(told);
                }
                if state.news.told.len() < ROOM {
                    state.news.told.push_back(told);
                    drop(state);
                    self.rang.notify_one();
                    return Ok(());
                }
            }
            room.await;
        }
    }

    /// Mail may have come.
    pub(crate) fn ring(&self) {
        self.change(|news| !std::mem::replace(&mut news.mail, true));
    }

    /// The present run is to end.
    pub(crate) fn cancel(&self) {
        self.change(|news| !std::mem::replace(&mut news.cancel, true));
    }

    /// The agent is to end once its run has.
    pub(crate) fn finish(&self) {
        self.change(|news| !std::mem::replace(&mut news.finish, true));
    }

    fn change(&self, change: impl FnOnce(&mut News) -> bool) {
        if change(&mut self.state().news) {
            self.rang.notify_one();
        }
    }

    /// Takes what is there.
    pub(crate) fn take(&self) -> News {
        let news = std::mem::take(&mut self.state().news);
        if !news.told.is_empty() {
            self.room.notify_waiters();
        }
        news
    }

    /// Looks without taking.
    pub(crate) fn look<A>(&self, look: impl FnOnce(&News) -> A) -> A {
        look(&self.state().news)
    }

    /// Waits until something is there that `wanted` says matters. Giving up on the wait loses nothing.
    pub(crate) async fn until(&self, wanted: impl Fn(&News) -> bool) {
        loop {
            if self.look(&wanted) {
                return;
            }
            self.rang.notified().await;
        }
    }

    /// Waits until anything is there.
    pub(crate) async fn anything(&self) {
        self.until(|news| !news.is_nothing()).await;
    }

    /// The agent has ended for good: nothing is taken in any more. Answers what nobody took.
    pub(crate) fn close(&self) -> VecDeque<Told> {
        let mut state = self.state();
        state.closed = true;
        let left = std::mem::take(&mut state.news.told);
        drop(state);
        self.room.notify_waiters();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn told(text: &str) -> Told {
        Told {
            text: text.to_string(),
            answer: None,
        }
    }

    #[tokio::test]
    async fn a_full_inbox_makes_its_sender_wait_and_loses_nothing() {
        let inbox = Arc::new(Inbox::default());
        for n in 0..ROOM {
            inbox.tell(told(&n.to_string())).await.unwrap();
        }
        let one_more = tokio::spawn({
            let inbox = Arc::clone(&inbox);
            async move { inbox.tell(told("one more")).await.is_ok() }
        });
        tokio::task::yield_now().await;
        assert!(!one_more.is_finished());
        assert_eq!(inbox.take().told.len(), ROOM);
        assert!(one_more.await.unwrap());
        assert_eq!(inbox.take().told[0].text, "one more");
    }

    #[tokio::test]
    async fn a_closed_inbox_gives_messages_back() {
        let inbox = Inbox::default();
        inbox.tell(told("a")).await.unwrap();
        assert_eq!(inbox.close().len(), 1);
        assert_eq!(inbox.tell(told("b")).await.unwrap_err().text, "b");
    }

    #[tokio::test]
    async fn bells_that_ring_while_nobody_waits_are_heard_once() {
        let inbox = Inbox::default();
        inbox.ring();
        inbox.ring();
        inbox.anything().await;
        assert!(inbox.take().mail);
        assert!(inbox.take().is_nothing());
    }
}
