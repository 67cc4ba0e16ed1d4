//! Core's submit ladder, driven over a real pane.
//!
//! The ladder decides, the terminal obeys, and every answer goes back into the ladder. The thread that calls waits; the
//! number of orders is bounded by the ladder, and each order by the time limit of one tmux call.

use std::time::Duration;

use pitcrew_core::submit::{Guard, Look, Order, Outcome, Plan, Sent, Submit};
use pitcrew_core::time::Timestamp;

use super::record::PaneRecord;
use super::{Tmux, TmuxError};
use crate::clock::{Clock, SystemClock};

/// What the ladder needs of a terminal. The real one is [`Tmux`] with a [`PaneRecord`].
pub trait Terminal {
    /// One look.
    ///
    /// # Errors
    /// When nobody answers.
    fn look(&mut self) -> Result<Look, TmuxError>;

    /// Pastes under a guard.
    ///
    /// # Errors
    /// When it is not known what arrived.
    fn paste(&mut self, text: &str, guard: &Guard) -> Result<Sent, TmuxError>;

    /// Presses a key under a guard.
    ///
    /// # Errors
    /// When it is not known what arrived.
    fn press(&mut self, key: &str, guard: &Guard) -> Result<Sent, TmuxError>;

    /// Waits so many milliseconds.
    fn wait(&mut self, millis: i64);

    /// Time that never jumps, in milliseconds from anywhere.
    fn now(&self) -> i64;
}

impl Terminal for (&Tmux, &PaneRecord) {
    fn look(&mut self) -> Result<Look, TmuxError> {
        let mut looks = self.0.look(&[self.1])?;
        looks.pop().ok_or(TmuxError::Garbled { what: "no look" })
    }

    fn paste(&mut self, text: &str, guard: &Guard) -> Result<Sent, TmuxError> {
        self.0.paste(self.1, text, guard)
    }

    fn press(&mut self, key: &str, guard: &Guard) -> Result<Sent, TmuxError> {
        self.0.press(self.1, key, guard)
    }

    fn wait(&mut self, millis: i64) {
        let span = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        #[expect(
            clippy::disallowed_methods,
            reason = "a program at the other end of a terminal tells nobody when it has drawn"
        )]
        std::thread::sleep(span);
    }

    fn now(&self) -> i64 {
        SystemClock.monotonic()
    }
}

/// What came of an order.
enum Answer {
    Time,
    Look(Look),
    Sent(Sent),
}

/// Puts one line into the pane's composer and submits it.
pub fn submit(terminal: &mut impl Terminal, plan: Plan) -> Outcome {
    let mut ladder = Submit::new(plan);
    loop {
        let answer = match ladder.poll() {
            Order::Done(outcome) => return outcome,
            Order::WaitUntil(until) => {
                let now = Timestamp::from_millis(terminal.now());
                terminal.wait(until.millis_since(now).max(1));
                Ok(Answer::Time)
            }
            Order::Look => terminal.look().map(Answer::Look),
            Order::Paste { text, guard } => terminal.paste(&text, &guard).map(Answer::Sent),
            Order::Press { key, guard } => terminal.press(&key, &guard).map(Answer::Sent),
        };
        let now = Timestamp::from_millis(terminal.now());
        match answer {
            Ok(Answer::Time) => ladder.handle_time(now),
            Ok(Answer::Look(look)) => ladder.handle_look(now, &look),
            Ok(Answer::Sent(sent)) => ladder.handle_sent(now, sent),
            Err(error) => ladder.handle_failure(&error.to_string()),
        }
    }
}
