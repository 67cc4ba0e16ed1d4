//! The task behind a group: follows it, climbs the stop ladder, clears what is left, publishes the end.
//!
//! One loop puts the three things that can happen in order: the leader ended, an order came, a deadline passed.
//! Looking at the leader comes first each time, so a group that ended by itself is never called stopped, not even when
//! this program was held still (Ctrl-Z) and hears of everything at once.
//!
//! After the leader's end every process of the turn is killed. In a group that was asked, those that were asked
//! with it have the rest of the grace to end by themselves. What always holds: the result is published even when
//! this task is cut off, and then only after the leader was killed.

use super::super::clearing::{Clearing, Pace, after, end_holders};
use super::super::ended::{By, Ended, How, Leftovers, Status, Streams};
use super::super::kin::Kin;
use super::super::launch::{Ask, Ladder};
use super::super::table::Stat;
use super::leader::{Leader, LeaderEnd};
use super::streams::Streaming;
use super::{Pressure, Shared, Stage, Stream};
use crate::clock::Clock;
use rustix::process::Signal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a killed process may take to end before we say that it does not.
const STUCK_AFTER: Duration = Duration::from_secs(10);

/// A deadline that is heard of so much later than it was says that this program did not run.
const HELD_STILL: Duration = Duration::from_secs(2);

/// Where the end is published. Dropped without an end, it says that the group was killed.
pub(super) struct Outcome {
    publish: watch::Sender<Option<Ended>>,
    shared: Arc<Shared>,
}

impl Outcome {
    pub(super) fn new(publish: watch::Sender<Option<Ended>>, shared: Arc<Shared>) -> Self {
        Self { publish, shared }
    }

    fn publish(&self, ended: Ended) {
        self.shared.enter(Stage::Ended);
        self.publish.send_replace(Some(ended));
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if self.publish.borrow().is_none() {
            self.publish(Ended {
                how: How::Stopped { by: By::Kill },
                status: None,
                wall_ms: 0,
                leftovers: Leftovers::default(),
                stdout: self.shared.recording.kept(Stream::Stdout),
                stderr: self.shared.recording.kept(Stream::Stderr),
                streams: Streams::StillHeld,
                input_left: self.shared.recording.input_left(),
            });
        }
    }
}

/// Why we stop a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    TimedOut,
    Stopped,
}

/// How the leader came to its end.
struct Passage {
    end: LeaderEnd,
    pressed: Pressed,
}

/// How far we have gone to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pressed {
    Not,
    Asked { cause: Cause, grace_until: Instant },
    Killed(Cause),
}

// The leader is dropped first and so killed before the result says so.
pub(super) struct Overseer {
    pub(super) leader: Leader,
    pub(super) kin: Kin,
    /// Who ran when the group was asked.
    pub(super) asked: Vec<Stat>,
    pub(super) streaming: Streaming,
    pub(super) orders: watch::Receiver<Pressure>,
    pub(super) limit: Option<Duration>,
    pub(super) ladder: Ladder,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) started: i64,
    pub(super) outcome: Outcome,
}

impl Overseer {
    pub(super) async fn run(mut self) {
        let kin = self.kin.clone();
        let mut clearing = Clearing::of(&kin);
        let passage = self.until_the_leader_ends(&mut clearing).await;
        let wall_ms = self.clock.monotonic() - self.started;
        if let Pressed::Asked { grace_until, .. } = passage.pressed {
            self.leave_the_rest_its_grace(grace_until).await;
        }
        let mut leftovers = clearing.finish(|| self.leader.pin().kill()).await;
        let mut streams = self.streaming.drain().await;
        if streams == Streams::StillHeld {
            let held = end_holders(&kin, self.streaming.pipes()).await;
            leftovers.killed = leftovers.killed.saturating_add(held.killed);
            leftovers.remaining = leftovers.remaining.max(held.remaining);
            streams = self.streaming.drain().await;
        }
        self.streaming.close().await;
        self.leader.collect();
        let recording = &self.outcome.shared.recording;
        self.outcome.publish(Ended {
            how: how(&passage),
            status: match passage.end {
                LeaderEnd::Status(status) => Some(status),
                LeaderEnd::Lost | LeaderEnd::Stuck => None,
            },
            wall_ms,
            leftovers,
            stdout: recording.kept(Stream::Stdout),
            stderr: recording.kept(Stream::Stderr),
            streams,
            input_left: recording.input_left(),
        });
    }

    async fn until_the_leader_ends(&mut self, clearing: &mut Clearing<'_>) -> Passage {
        let mut deadline = self.limit.map(after);
        let mut pressed = Pressed::Not;
        loop {
            let event = tokio::select! {
                biased;
                end = self.leader.ended() => {
                    return self.passage(end, pressed);
                }
                pressure = next_order(&mut self.orders) => Event::Order(pressure),
                () = until(deadline) => Event::Deadline,
            };
            // An order or a deadline can be heard of before an end that came earlier, as after this program was held.
            if let Some(end) = self.leader.ended_already() {
                return self.passage(end, pressed);
            }
            if let (Pressed::Not, Event::Deadline, Some(away)) = (pressed, event, late(deadline)) {
                deadline = Some(after(self.limit.map_or(away, |limit| away.min(limit))));
                continue;
            }
            pressed = match (pressed, event) {
                (Pressed::Not, Event::Order(Pressure::Kill)) => Pressed::Killed(Cause::Stopped),
                (Pressed::Not, Event::Order(Pressure::Ask)) => self.ask(Cause::Stopped),
                (Pressed::Not, Event::Deadline) => self.ask(Cause::TimedOut),
                (Pressed::Asked { cause, .. }, Event::Deadline | Event::Order(Pressure::Kill)) => {
                    Pressed::Killed(cause)
                }
                (killed @ Pressed::Killed(_), Event::Deadline) => {
                    return self.passage(LeaderEnd::Stuck, killed);
                }
                (pressed, Event::Order(_)) => pressed,
            };
            deadline = match pressed {
                Pressed::Not => deadline,
                Pressed::Asked { grace_until, .. } => Some(grace_until),
                Pressed::Killed(_) => {
                    // Families are whole as long as the leader runs, so more can be found now than later.
                    self.outcome.shared.enter(Stage::Killed);
                    clearing.strike(|| self.leader.pin().kill());
                    Some(after(STUCK_AFTER))
                }
            };
        }
    }

    /// A dropped handle kills the group before we hear of it.
    fn passage(&self, end: LeaderEnd, pressed: Pressed) -> Passage {
        let killed = LeaderEnd::Status(Status::Signaled(Signal::KILL.as_raw()));
        let ordered = *self.orders.borrow() == Pressure::Kill;
        let pressed = match pressed {
            Pressed::Not if ordered && end == killed => Pressed::Killed(Cause::Stopped),
            Pressed::Asked { cause, .. } if ordered && end == killed => Pressed::Killed(cause),
            pressed => pressed,
        };
        Passage { end, pressed }
    }

    fn ask(&mut self, cause: Cause) -> Pressed {
        self.outcome.shared.enter(Stage::Asked);
        let running = self.kin.look().into_iter().flat_map(|sight| sight.running);
        self.asked = running
            .filter(|stat| self.kin.is_asked_with_the_leader(stat))
            .collect();
        self.leader.pin().signal(match self.ladder.ask {
            Ask::Terminate => Signal::TERM,
            Ask::Interrupt => Signal::INT,
        });
        // A process that is held still takes no signal but this one.
        self.leader.pin().signal(Signal::CONT);
        Pressed::Asked {
            cause,
            grace_until: after(self.ladder.grace),
        }
    }

    /// Those that were asked together with the leader may end by themselves. One that was started after the ask
    /// was not asked: it is waited for only as long as somebody who was still runs.
    async fn leave_the_rest_its_grace(&mut self, until: Instant) {
        let mut asked = self.kin.still_running(&self.asked);
        let mut pace = Pace::default();
        while !asked.is_empty() && Instant::now() < until {
            tokio::select! {
                biased;
                pressure = next_order(&mut self.orders) => {
                    if pressure == Pressure::Kill {
                        return;
                    }
                }
                () = pace.pause() => asked = self.kin.still_running(&asked),
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Event {
    Order(Pressure),
    Deadline,
}

/// How long ago a deadline was, when it was heard of so late that this program was held still. A member that writes to
/// us was held as well, so it gets that time back.
fn late(deadline: Option<Instant>) -> Option<Duration> {
    let late = Instant::now().saturating_duration_since(deadline?);
    (late > HELD_STILL).then_some(late)
}

/// The next order. The owner of the group gives one before it goes, so nobody left means that none will come.
async fn next_order(orders: &mut watch::Receiver<Pressure>) -> Pressure {
    match orders.changed().await {
        Ok(()) => *orders.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn how(passage: &Passage) -> How {
    let stopped = |cause, by| match cause {
        Cause::TimedOut => How::TimedOut { by },
        Cause::Stopped => How::Stopped { by },
    };
    match (passage.pressed, passage.end) {
        (Pressed::Asked { cause, .. }, _) => stopped(cause, By::Ask),
        (Pressed::Killed(cause), _) => stopped(cause, By::Kill),
        (Pressed::Not, LeaderEnd::Status(Status::Exited(code))) => How::Exited(code),
        (Pressed::Not, LeaderEnd::Status(Status::Signaled(signal))) => How::Signaled(signal),
        (Pressed::Not, LeaderEnd::Lost | LeaderEnd::Stuck) => How::Lost,
    }
}
