//! What the person at the terminal or the system wants of this program: to end, and how urgently.
//!
//! SIGINT (Ctrl-C), SIGTERM and SIGHUP (the terminal is gone) become one stream of numbered wishes, whichever
//! signal each came by: at the first a program stops its members, at the second it kills them. SIGQUIT (Ctrl-\) is a
//! second wish from the start.
//!
//! What always holds: a signal that was ignored when we were started stays ignored, so `nohup` and `&` in a script
//! keep their meaning. Two signals of one kind in the same instant may count as one; that is how Unix keeps them.

use super::table::Table;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Which signal it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: the system or another program.
    Terminate,
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGQUIT: Ctrl-\, at once.
    Quit,
}

/// The how-manieth wish to end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Stop in good order.
    First,
    /// Do not wait any longer.
    Second,
    /// Once more: the third, fourth and so on.
    Further(u32),
}

/// One wish that this program should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Which signal brought it.
    pub source: Source,
    /// How often it was wished by now.
    pub urgency: Urgency,
}

/// The stream of wishes. From its making on, the four signals no longer end this program.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
    quit: Option<Signal>,
    seen: u32,
}

/// Whether a wish to end has come, for work that looks at it between its steps. Clones are one.
#[derive(Debug, Clone, Default)]
pub struct Wish(Arc<AtomicBool>);

impl Wish {
    /// It has come.
    pub fn come(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Ends this program where it stands, for whoever asks a second time. What is half done stays so.
#[expect(
    clippy::disallowed_methods,
    reason = "whoever asks twice wants the end at once, half done or not"
)]
pub fn end_at_once(status: u8) -> ! {
    std::process::exit(i32::from(status))
}

impl Interrupts {
    /// Starts listening.
    ///
    /// # Errors
    /// When the system refuses a signal handler.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O.
    pub fn listen() -> io::Result<Self> {
        let ignored = Table::default()
            .ignored_signals(std::process::id())
            .unwrap_or(0);
        let unless_ignored = |kind: SignalKind| {
            let bit = 1_u64 << (kind.as_raw_value() - 1);
            (ignored & bit == 0).then(|| signal(kind)).transpose()
        };
        Ok(Self {
            interrupt: unless_ignored(SignalKind::interrupt())?,
            terminate: unless_ignored(SignalKind::terminate())?,
            hangup: unless_ignored(SignalKind::hangup())?,
            quit: unless_ignored(SignalKind::quit())?,
            seen: 0,
        })
    }

    /// Waits for the next wish. Can be dropped and called again without losing one.
    pub async fn next(&mut self) -> Interrupt {
        let source = tokio::select! {
            () = arrival(&mut self.interrupt) => Source::Interrupt,
            () = arrival(&mut self.terminate) => Source::Terminate,
            () = arrival(&mut self.hangup) => Source::Hangup,
            () = arrival(&mut self.quit) => Source::Quit,
        };
        self.seen = self.seen.saturating_add(1);
        if source == Source::Quit {
            self.seen = self.seen.max(2);
        }
        Interrupt {
            source,
            urgency: match self.seen {
                1 => Urgency::First,
                2 => Urgency::Second,
                further => Urgency::Further(further),
            },
        }
    }

    /// The next wish that has come already. `None` when nobody wants anything yet.
    pub async fn come(&mut self) -> Option<Interrupt> {
        tokio::time::timeout(std::time::Duration::ZERO, self.next())
            .await
            .ok()
    }
}

async fn arrival(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}
