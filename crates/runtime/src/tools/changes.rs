//! What changes in a team, for everybody in this process who waits for it: one thread sits on the store's watch and
//! hands each change to all of them.
//!
//! Nobody is waited for: who falls behind is told that it did, and looks at everything again. Nothing is asked in
//! between, so a quiet team costs nothing. The thread ends when nobody holds the [`Changes`] any more, or when the store
//! can be watched no longer; then whoever waits hears that too.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pitcrew_core::Timestamp;
use pitcrew_store::{Change, Store, StoreFailure};
use serde_json::{Map, Value};
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::answer::Answer;
use super::waiting::{Step, Wait};
use super::{TeamTools, refused};

/// How many changes one listener may be behind.
const BEHIND: usize = 256;

/// How long the watching thread sits before it looks whether anybody is left.
const SITTING: Duration = Duration::from_secs(30);

/// The longest that a wait goes without looking by itself: some mounts report no changes.
const SWEEP_MS: i64 = 20_000;

/// The changes of one team.
#[derive(Debug, Clone)]
pub struct Changes {
    sender: Arc<Sender<Change>>,
}

/// One listener's changes.
#[derive(Debug)]
pub struct Listener {
    receiver: Receiver<Change>,
}

impl Changes {
    /// The changes of the team in `store`, from now on.
    ///
    /// # Errors
    /// When the store cannot be watched, or the system starts no thread.
    pub fn of(store: &dyn Store) -> Result<Self, StoreFailure> {
        let mut watch = store.watch()?;
        let sender = Arc::new(broadcast::channel(BEHIND).0);
        let weak = Arc::downgrade(&sender);
        let begun = std::thread::Builder::new()
            .name("changes".to_string())
            .spawn(move || {
                while let Ok(change) = watch.next(SITTING) {
                    if !hand_on(&weak, change) {
                        return;
                    }
                }
            });
        match begun {
            Ok(_) => Ok(Self { sender }),
            Err(source) => Err(StoreFailure::Io {
                what: "watch",
                path: "a thread of its own".into(),
                source,
            }),
        }
    }

    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> Listener {
        Listener {
            receiver: self.sender.subscribe(),
        }
    }
}

/// Hands a change to whoever listens. Whether anybody is left to listen.
fn hand_on(sender: &Weak<Sender<Change>>, change: Option<Change>) -> bool {
    let Some(sender) = sender.upgrade() else {
        return false;
    };
    // Nobody listens at this moment: the change was for nobody.
    change.map(|change| sender.send(change));
    true
}

impl Listener {
    /// The next change; who was too slow for some hears [`Change::Lagged`]. `None` when there will be no more.
    pub async fn next(&mut self) -> Option<Change> {
        match self.receiver.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Change::Lagged),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// A change that has come already, if there is one.
    pub fn ready(&mut self) -> Option<Change> {
        match self.receiver.try_recv() {
            Ok(change) => Some(change),
            Err(broadcast::error::TryRecvError::Lagged(_)) => Some(Change::Lagged),
            Err(_) => None,
        }
    }

    /// Sits until a change comes that `wait` is touched by, until it says to look again, or until it is over.
    async fn sit(&mut self, wait: &Wait, now: Timestamp) {
        let sweep = now.plus_millis(SWEEP_MS).min(wait.until());
        let again = wait.again_at().map_or(sweep, |at| at.min(sweep));
        let span = Duration::from_millis(again.millis_since(now).max(1).unsigned_abs());
        let touched = async {
            loop {
                match self.next().await {
                    Some(change) if wait.is_touched_by(&change) => return,
                    Some(_) => {}
                    // Nothing is reported any more: looking now and then is what is left.
                    None => std::future::pending().await,
                }
            }
        };
        // Either way the next look says how things stand.
        let _ = tokio::time::timeout(span, touched).await;
    }
}

/// Whoever waits for a step. One that goes away when the step has ended takes it back.
struct Waiter {
    receiver: oneshot::Receiver<Step>,
    tools: TeamTools,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.receiver.close();
        if let Ok(Step::Answered(answer)) = self.receiver.try_recv() {
            self.tools.take_back(&answer);
        }
    }
}

impl TeamTools {
    /// Calls a tool and waits where the call wants to. Dropping the future ends a wait and leaves nothing behind; a step
    /// that has begun on the store ends by itself.
    pub async fn answer(&self, name: &str, args: Map<String, Value>, changes: &Changes) -> Answer {
        // Before the first look, so that nothing between the two is missed.
        let mut listener = changes.listen();
        let name = name.to_string();
        let mut step = self.step(move |tools| tools.begin(&name, &args)).await;
        loop {
            let wait = match step {
                Step::Answered(answer) => return answer,
                Step::Waits(wait) => wait,
            };
            let now = self.desk().now();
            if wait.until() <= now {
                return wait.over();
            }
            listener.sit(&wait, now).await;
            step = self.step(move |tools| tools.look_again(wait)).await;
        }
    }

    /// Takes a step where it may block. One that nobody waits for any more when it has ended is taken back, where it
    /// can be.
    async fn step(&self, step: impl FnOnce(&Self) -> Step + Send + 'static) -> Step {
        let tools = self.clone();
        let (sender, receiver) = oneshot::channel();
        let mut waiter = Waiter {
            receiver,
            tools: self.clone(),
        };
        let taken = spawn_blocking(move || {
            if let Err(Step::Answered(answer)) = sender.send(step(&tools)) {
                tools.take_back(&answer);
            }
        });
        match (&mut waiter.receiver).await {
            Ok(step) => step,
            Err(_) => {
                let why = taken.await.err().map(|broken| broken.to_string());
                Step::Answered(refused::broken(&why.unwrap_or_default()))
            }
        }
    }

    /// Takes back what was noted for an answer that cannot be handed over: the findings that it shows come again.
    pub fn take_back(&self, answer: &Answer) {
        if let Some((member, news)) = answer.news.as_deref() {
            // Nobody is there to be told; then they stay noted as shown, and are in the list all the same.
            let _ = self.desk().take_back_news(member, news);
        }
    }
}
