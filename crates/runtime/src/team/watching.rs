//! What others write: changes of the team's logs that did not come through this team's own store.
//!
//! A command in a terminal, another process, or another part of this program writes to the same store. One thread sits
//! on the store's watch and hands on what concerns agents and listeners; as long as nothing changes it does nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pitcrew_store::{Change, Log, Store, StoreFailure, Watch};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::publisher::Publisher;
use super::routed::Bells;

/// How long the thread sits before it looks whether anybody still wants to know.
const SITTING: Duration = Duration::from_secs(2);

/// How long it takes until a store is watched again that could not be.
const AGAIN: Duration = Duration::from_secs(2);

/// A thread that watches. It ends after this is dropped.
#[derive(Debug)]
struct Watching {
    _held: Arc<()>,
    broken: oneshot::Receiver<()>,
}

impl Watching {
    /// Begins to watch.
    fn begin(
        store: &dyn Store,
        bells: Arc<Bells>,
        publisher: Arc<Publisher>,
    ) -> Result<Self, StoreFailure> {
        let watch = store.watch_logs()?;
        let held = Arc::new(());
        let wanted = Arc::downgrade(&held);
        let (tell, broken) = oneshot::channel();
        std::thread::Builder::new()
            .name("team-watch".to_string())
            .spawn(move || {
                if sit(watch, &wanted, &bells, &publisher).is_err() {
                    // Nobody listens when the team has ended meanwhile.
                    let _ = tell.send(());
                }
            })
            .map_err(|source| StoreFailure::Io {
                what: "watch",
                path: "a thread of its own".into(),
                source,
            })?;
        Ok(Self {
            _held: held,
            broken,
        })
    }

    /// Waits until the store can be watched no longer.
    async fn broken(&mut self) {
        // Told, or the thread has ended without a word: the same.
        let _ = (&mut self.broken).await;
    }
}

/// Watches until told to stop. A store that cannot be watched is tried again; everybody looks once more each time.
pub(crate) async fn watch(
    store: Arc<dyn Store>,
    bells: Arc<Bells>,
    publisher: Arc<Publisher>,
    stop: CancellationToken,
) -> String {
    loop {
        let watched = async {
            let begun = Watching::begin(&*store, Arc::clone(&bells), Arc::clone(&publisher));
            if let Ok(mut watching) = begun {
                // Whatever broke it: it is tried again.
                watching.broken().await;
            }
            tokio::time::sleep(AGAIN).await;
        };
        tokio::select! {
            () = stop.cancelled() => return "told to".to_string(),
            () = watched => bells.ring_all(),
        }
    }
}

fn sit(
    mut watch: Box<dyn Watch>,
    wanted: &Weak<()>,
    bells: &Bells,
    publisher: &Publisher,
) -> Result<(), StoreFailure> {
    while wanted.strong_count() > 0 {
        match watch.next(SITTING)? {
            Some(Change::Log(Log::Mailbox(owner))) => bells.ring(&owner),
            Some(Change::Log(Log::Events)) => publisher.publish(),
            Some(Change::Lagged) => {
                bells.ring_all();
                publisher.publish();
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}
