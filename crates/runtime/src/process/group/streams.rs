//! The three pipes of a group: input is fed, output is recorded, and none of them can block another.
//!
//! Each pipe has its own small task. A process that never reads leaves its feeder waiting, which costs nothing and
//! ends with the group. What is read is recorded at once, on the runtime's thread: a sink is expected to be a local
//! file.
//!
//! What always holds: the recording is complete as soon as [`Streaming::drain`] says `Closed`.

use super::super::capture::{Capture, Kept, Recorder};
use super::super::ended::Streams;
use super::super::launch::Input;
use super::super::table::Table;
use super::Stream;
use crate::clock::Clock;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What both streams have printed so far.
pub(super) struct Recording {
    stdout: Mutex<Recorder>,
    stderr: Mutex<Recorder>,
    last_output_at: AtomicI64,
    input_left: AtomicU64,
    fresh: Notify,
}

const NEVER: i64 = i64::MIN;

impl fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Recording")
            .field("stdout", &self.kept(Stream::Stdout))
            .field("stderr", &self.kept(Stream::Stderr))
            .finish_non_exhaustive()
    }
}

impl Recording {
    pub(super) fn new(stdout: Capture, stderr: Capture) -> Self {
        Self {
            stdout: Mutex::new(Recorder::new(stdout)),
            stderr: Mutex::new(Recorder::new(stderr)),
            last_output_at: AtomicI64::new(NEVER),
            input_left: AtomicU64::new(0),
            fresh: Notify::new(),
        }
    }

    fn recorder(&self, stream: Stream) -> MutexGuard<'_, Recorder> {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn kept(&self, stream: Stream) -> Kept {
        self.recorder(stream).kept()
    }

    pub(super) fn tail(&self, stream: Stream, limit: usize) -> Vec<u8> {
        self.recorder(stream).tail(limit)
    }

    pub(super) fn last_output_at(&self) -> Option<i64> {
        Some(self.last_output_at.load(Ordering::Relaxed)).filter(|at| *at != NEVER)
    }

    pub(super) fn input_left(&self) -> u64 {
        self.input_left.load(Ordering::Relaxed)
    }

    /// Waits for more than so many bytes.
    pub(super) async fn beyond(&self, stream: Stream, bytes: u64) -> u64 {
        loop {
            let fresh = self.fresh.notified();
            let printed = self.kept(stream).printed;
            if printed > bytes {
                return printed;
            }
            fresh.await;
        }
    }

    fn take(&self, stream: Stream, bytes: &[u8], at: i64) {
        self.recorder(stream).take(bytes);
        self.last_output_at.store(at, Ordering::Relaxed);
        self.fresh.notify_waiters();
    }

    fn printed(&self) -> u64 {
        self.kept(Stream::Stdout).printed + self.kept(Stream::Stderr).printed
    }
}

/// The tasks that move the bytes. Dropping it ends them.
pub(super) struct Streaming {
    readers: JoinSet<()>,
    feeder: JoinSet<()>,
    recording: Arc<Recording>,
    closing: CancellationToken,
    /// What the pipes of output and error are called in the process table.
    pipes: Vec<PathBuf>,
}

/// Input, output and error of a process.
pub(super) type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

impl Streaming {
    pub(super) fn start(
        (stdin, stdout, stderr): Pipes,
        input: Input,
        recording: Arc<Recording>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let names = [
            stdout.as_ref().map(AsRawFd::as_raw_fd),
            stderr.as_ref().map(AsRawFd::as_raw_fd),
        ];
        let table = Table::default();
        let names = names.into_iter().flatten();
        let mut streaming = Self {
            pipes: names.filter_map(|file| table.own_file(file)).collect(),
            readers: JoinSet::new(),
            feeder: JoinSet::new(),
            recording,
            closing: CancellationToken::new(),
        };
        if let Some(pipe) = stdout {
            let pipe = tokio::process::ChildStdout::from_std(pipe)?;
            streaming.read(pipe, Stream::Stdout, Arc::clone(&clock));
        }
        if let Some(pipe) = stderr {
            let pipe = tokio::process::ChildStderr::from_std(pipe)?;
            streaming.read(pipe, Stream::Stderr, clock);
        }
        if let (Some(pipe), Input::Bytes(bytes)) = (stdin, input) {
            let pipe = tokio::process::ChildStdin::from_std(pipe)?;
            let recording = Arc::clone(&streaming.recording);
            recording
                .input_left
                .store(bytes.len() as u64, Ordering::Relaxed);
            streaming.feeder.spawn(feed(pipe, bytes, recording));
        }
        Ok(streaming)
    }

    fn read(
        &mut self,
        pipe: impl AsyncRead + Unpin + Send + 'static,
        stream: Stream,
        clock: Arc<dyn Clock>,
    ) {
        let recording = Arc::clone(&self.recording);
        let closing = self.closing.clone();
        self.readers
            .spawn(record(pipe, stream, recording, clock, closing));
    }

    /// What output and error are called in the process table.
    pub(super) fn pipes(&self) -> &[PathBuf] {
        &self.pipes
    }

    /// Reads what is still in the pipes. Something may hold them open: it is waited for only as long as it prints, and
    /// never for more than five seconds.
    pub(super) async fn drain(&mut self) -> Streams {
        const SILENCE: Duration = Duration::from_millis(300);
        const LONGEST: Duration = Duration::from_secs(5);
        self.feeder.abort_all();
        let start = tokio::time::Instant::now();
        while !self.readers.is_empty() {
            let before = self.recording.printed();
            if tokio::time::timeout(SILENCE, self.readers.join_next())
                .await
                .is_err()
                && (self.recording.printed() == before || start.elapsed() > LONGEST)
            {
                return Streams::StillHeld;
            }
        }
        Streams::Closed
    }

    /// Reads no more, whoever still holds the pipes.
    pub(super) async fn close(&mut self) {
        self.closing.cancel();
        while self.readers.join_next().await.is_some() {}
    }
}

async fn record(
    mut pipe: impl AsyncRead + Unpin,
    stream: Stream,
    recording: Arc<Recording>,
    clock: Arc<dyn Clock>,
    closing: CancellationToken,
) {
    let mut chunk = vec![0; 64 << 10];
    loop {
        let read = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            read = pipe.read(&mut chunk) => read,
        };
        match read {
            Ok(0) => return,
            Ok(length) => recording.take(stream, &chunk[..length], clock.now()),
            Err(error) => {
                recording.recorder(stream).fail(&error);
                return;
            }
        }
    }
}

/// A process may close its input early, and often does: what it left is counted, not an error.
async fn feed(mut pipe: tokio::process::ChildStdin, bytes: Vec<u8>, recording: Arc<Recording>) {
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        match pipe.write(rest).await {
            Ok(0) | Err(_) => return,
            Ok(taken) => {
                rest = &rest[taken..];
                recording
                    .input_left
                    .store(rest.len() as u64, Ordering::Relaxed);
            }
        }
    }
}
