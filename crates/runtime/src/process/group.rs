//! One command as one group of processes: started, fed, listened to, stopped, and gone as a whole.
//!
//! | stage | left when |
//! |---|---|
//! | `Running` | its first process ends; a stop or the time limit asks it (`Asked`); it is killed (`Killed`) |
//! | `Asked` | it ends; the grace is over or a second stop comes (`Killed`) |
//! | `Killed` | it ends |
//! | `Ended` | never |
//!
//! A [`Group`] owns its processes: dropping it kills them. A [`Control`] can be copied and owns nothing. One task
//! per group does the work, so a slow reader of results never holds up the processes, and every order is a level
//! that only rises, so no order is lost or overtaken by an older one.
//!
//! What always holds: the group's number stays ours until the very last signal was sent, because its first process
//! is collected only after everything else is gone. There is one [`Ended`] per group. No zombie stays.
//!
//! It needs a tokio runtime with timers and I/O; a single-threaded one will do. Not here: restarting.

mod leader;
mod overseer;
mod streams;

use super::ended::Ended;
use super::identity::Identity;
use super::launch::Launch;
use super::spawn_error::SpawnError;
use crate::clock::Clock;
use leader::{Leader, Pin};
use overseer::{Outcome, Overseer};
use std::sync::{Arc, Mutex, PoisonError};
use streams::{Recording, Streaming};
use tokio::sync::watch;

/// How far a group has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It runs and nobody has asked it to stop.
    Running,
    /// It was asked to end and has its grace.
    Asked,
    /// It was killed and is being cleared away.
    Killed,
    /// It is over; there is an [`Ended`].
    Ended,
}

/// What can be seen of a group while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// How far it has come.
    pub stage: Stage,
    /// When it was started, in wall milliseconds.
    pub started_at: i64,
    /// When it last printed anything, in wall milliseconds.
    pub last_output_at: Option<i64>,
    /// Bytes printed on standard output so far.
    pub stdout_bytes: u64,
    /// Bytes printed on standard error so far.
    pub stderr_bytes: u64,
}

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How urgently a group is told to end. It only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Pressure {
    #[default]
    None,
    Ask,
    Kill,
}

/// What the handle and the task of a group have in common.
#[derive(Debug)]
struct Shared {
    identity: Identity,
    started_at: i64,
    stage: Mutex<Stage>,
    recording: Arc<Recording>,
    pin: Arc<Pin>,
}

impl Shared {
    fn enter(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }
}

/// A started command and all its processes. Dropping it kills them.
#[derive(Debug)]
pub struct Group {
    control: Control,
}

impl Group {
    /// Starts the command and follows it.
    ///
    /// # Errors
    /// When it cannot be started; nothing runs then.
    ///
    /// # Panics
    /// Outside a tokio runtime with timers and I/O.
    pub fn spawn(launch: Launch, clock: Arc<dyn Clock>) -> Result<Self, SpawnError> {
        let cannot_follow = |source| SpawnError::CannotFollow { source };
        // Listened to before the start, so that not even the quickest end is missed.
        let changes = leader::changes_of_children().map_err(cannot_follow)?;
        let child = launch.start()?;
        let (started_at, started) = (clock.now(), clock.monotonic());
        // From here on, leaving early drops the leader, and that kills it.
        let mut leader =
            Leader::adopt(child, changes, launch.mark.clone()).map_err(cannot_follow)?;
        let recording = Arc::new(Recording::new(launch.stdout, launch.stderr));
        let streaming = Streaming::start(
            leader.pipes(),
            launch.input,
            Arc::clone(&recording),
            Arc::clone(&clock),
        )
        .map_err(cannot_follow)?;
        let shared = Arc::new(Shared {
            identity: leader.identity().clone(),
            started_at,
            stage: Mutex::new(Stage::Running),
            recording,
            pin: Arc::clone(leader.pin()),
        });
        let (pressure, orders) = watch::channel(Pressure::None);
        let (publish, ended) = watch::channel(None);
        let overseer = Overseer {
            kin: leader.kin().clone(),
            leader,
            asked: Vec::new(),
            streaming,
            orders,
            limit: launch.limit,
            ladder: launch.ladder,
            clock,
            started,
            outcome: Outcome::new(publish, Arc::clone(&shared)),
        };
        tokio::spawn(overseer.run());
        Ok(Self {
            control: Control {
                shared,
                pressure,
                ended,
            },
        })
    }

    /// A handle that can be copied, and that does not keep the processes alive.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }
}

/// Whatever a [`Control`] can do, its owner can.
impl std::ops::Deref for Group {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.control.kill();
        self.control.shared.pin.kill();
    }
}

/// A handle to a group that owns nothing: for whoever watches it or may stop it.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
    pressure: watch::Sender<Pressure>,
    ended: watch::Receiver<Option<Ended>>,
}

impl Control {
    /// The first process of the group, to be written down.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// What can be seen right now.
    #[must_use]
    pub fn observe(&self) -> Observation {
        let recording = &self.shared.recording;
        Observation {
            stage: *self
                .shared
                .stage
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
            started_at: self.shared.started_at,
            last_output_at: recording.last_output_at(),
            stdout_bytes: recording.kept(Stream::Stdout).printed,
            stderr_bytes: recording.kept(Stream::Stderr).printed,
        }
    }

    /// The last bytes of a stream, at most `limit` and at most the tail of its cap.
    #[must_use]
    pub fn tail(&self, stream: Stream, limit: usize) -> Vec<u8> {
        self.shared.recording.tail(stream, limit)
    }

    /// Waits until the group has printed more than so many bytes on a stream, or has ended. Answers how many it
    /// has printed.
    pub async fn printed_beyond(&self, stream: Stream, bytes: u64) -> u64 {
        let mut ended = self.ended.clone();
        tokio::select! {
            printed = self.shared.recording.beyond(stream, bytes) => printed,
            _ = ended.wait_for(Option::is_some) => self.shared.recording.kept(stream).printed,
        }
    }

    /// Asks the group to end and gives it its grace. A second call kills it at once.
    pub fn stop(&self) {
        self.pressure.send_modify(|pressure| {
            *pressure = match pressure {
                Pressure::None => Pressure::Ask,
                Pressure::Ask | Pressure::Kill => Pressure::Kill,
            };
        });
    }

    /// Kills the group at once.
    pub fn kill(&self) {
        self.pressure
            .send_modify(|pressure| *pressure = Pressure::Kill);
    }

    /// Waits for the end. Can be called by many, before and after.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        loop {
            if let Some(ended) = ended.borrow_and_update().clone() {
                return ended;
            }
            if ended.changed().await.is_err() {
                // The task publishes even when it is cut off, so this is never reached with nothing published.
                std::future::pending::<()>().await;
            }
        }
    }
}
