//! Waiting for two things at once: a change of a team, and somebody who presses Ctrl-C.
//!
//! A thread sits on each and hands what comes to one queue. The command itself does everything else, writing included,
//! so that an interrupt never cuts a line in half. Both threads end with the process.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use pitcrew_runtime::process::{Interrupt, Interrupts, Urgency, Wish, end_at_once};
use pitcrew_store::{Change, Store, StoreFailure, Watch};

use crate::halt::{Exit, Halt};

/// How long a command that waits stays quiet before it looks again by itself, whatever was reported.
pub(crate) const SWEEP: Duration = Duration::from_secs(20);

/// How long the watching thread sits in one call.
const SITTING: Duration = Duration::from_secs(600);

/// What came.
#[derive(Debug)]
pub(crate) enum Event {
    /// The team changed.
    Changed(Change),
    /// Somebody wants the command to end.
    Interrupted,
    /// Nothing came in the time given.
    Quiet,
}

/// Attention to one team.
pub(crate) struct Attention {
    events: Receiver<Result<Event, StoreFailure>>,
}

impl Attention {
    /// Pays attention from now on.
    pub(crate) fn to(store: &dyn Store) -> Result<Self, Halt> {
        let watch = store.watch()?;
        // The store keeps what waits within bounds; this queue only hands it over.
        let (sender, events) = sync_channel(16);
        let changes = sender.clone();
        start("watch", Box::new(move || hand_on(watch, &changes)))?;
        let wanted = move |_| match sender.send(Ok(Event::Interrupted)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        start("interrupts", Box::new(move || listen(|| (), wanted)))?;
        Ok(Self { events })
    }

    /// What comes next, waiting up to `wait`.
    pub(crate) fn next(&self, wait: Duration) -> Result<Event, Halt> {
        match self.events.recv_timeout(wait) {
            Ok(event) => Ok(event?),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(Event::Quiet),
        }
    }
}

fn hand_on(mut watch: Box<dyn Watch>, changes: &SyncSender<Result<Event, StoreFailure>>) {
    loop {
        let event = match watch.next(SITTING) {
            Ok(Some(change)) => Ok(Event::Changed(change)),
            Ok(None) => continue,
            Err(failure) => Err(failure),
        };
        let is_last = event.is_err();
        if changes.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Listens for wishes to end for a command that looks at them between its steps: the first is handed over, the second
/// ends the process where it stands, after `last_words`.
pub(crate) fn heed(last_words: String) -> Result<Wish, Halt> {
    let wish = Wish::default();
    let told = wish.clone();
    let (ready, listening) = sync_channel(1);
    let heard = move || {
        // Who waits for it is there.
        let _ = ready.send(());
    };
    let wanted = move |interrupt: Interrupt| {
        told.come();
        if interrupt.urgency != Urgency::First {
            // Nobody may be there to read it.
            let _ = writeln!(std::io::stderr(), "{last_words}");
            end_at_once(Exit::Interrupted as u8);
        }
        ControlFlow::Continue(())
    };
    start("interrupts", Box::new(move || listen(heard, wanted)))?;
    // From here on a wish is heard; where nobody can listen, Ctrl-C ends the process as it would without this.
    let _ = listening.recv();
    Ok(wish)
}

/// A thread of its own.
fn start(name: &str, task: Box<dyn FnOnce() + Send>) -> Result<(), Halt> {
    std::thread::Builder::new()
        .name(name.to_string())
        .spawn(task)
        .map(drop)
        .map_err(|refused| Halt::System {
            what: "start a thread",
            why: refused.to_string(),
        })
}

/// Says `heard` once wishes to end are heard, and hands each to `wanted` until that breaks off. Where the system lets
/// nobody listen, Ctrl-C ends the process as it would without this.
fn listen(heard: impl FnOnce(), mut wanted: impl FnMut(Interrupt) -> ControlFlow<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let Ok(mut interrupts) = Interrupts::listen() else {
            return;
        };
        heard();
        while wanted(interrupts.next().await).is_continue() {}
    });
}
