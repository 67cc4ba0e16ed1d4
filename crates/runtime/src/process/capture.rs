//! Keeps what a process prints: its first bytes and its last, with a limit on both, in a sink and in memory.
//!
//! ```text
//! sink:    [ head ][ notice: how much was left out ][ between one and two tails of the last bytes ]
//! memory:  the last tail of bytes
//! ```
//!
//! What always holds: a sink has at most `head + 2 * tail` bytes and one notice, and is current after every read,
//! so another program can follow it and a crash of ours loses nothing. Output that fits is kept byte for byte.
//! A sink that fails is not written again and its error is reported; reading goes on, so that a full disk never
//! blocks the process that prints.
//!
//! Not here: opening files (the store does), and what the bytes mean.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

/// Where one stream's bytes are kept. Implemented for an opened [`File`] and for a shared buffer.
pub trait Sink: Send {
    /// Puts all the bytes at an offset, over what may be there.
    ///
    /// # Errors
    /// When not all of them could be written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts what is kept to a length.
    ///
    /// # Errors
    /// When it could not be cut.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// The file is written from its start, so hand over an empty one.
impl Sink for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

impl Sink for Arc<Mutex<Vec<u8>>> {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let mut kept = self.lock().unwrap_or_else(PoisonError::into_inner);
        let end = start + bytes.len();
        if kept.len() < end {
            kept.resize(end, 0);
        }
        kept[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        self.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .truncate(length);
        Ok(())
    }
}

/// How much of one stream is kept, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// So much of the beginning.
    pub head: u64,
    /// At least so much of the end, and exactly so much in memory.
    pub tail: usize,
}

impl Default for Cap {
    /// 4 MiB of the beginning and 1 MiB of the end.
    fn default() -> Self {
        Self {
            head: 4 << 20,
            tail: 1 << 20,
        }
    }
}

/// Hears the bytes of a stream as they come.
type Listener = Box<dyn FnMut(&[u8]) + Send>;

/// What to do with one stream of output.
#[derive(Default)]
pub struct Capture {
    sink: Option<Box<dyn Sink>>,
    listener: Option<Listener>,
    cap: Cap,
}

impl Capture {
    /// Only the tail is kept, in memory.
    #[must_use]
    pub fn tail_only(tail: usize) -> Self {
        Self {
            sink: None,
            listener: None,
            cap: Cap { head: 0, tail },
        }
    }

    /// Kept in a sink, with the tail in memory too.
    #[must_use]
    pub fn to(sink: impl Sink + 'static, cap: Cap) -> Self {
        Self {
            sink: Some(Box::new(sink)),
            listener: None,
            cap,
        }
    }

    /// Lets a function hear every byte as it is read, in order and once, before it is kept. It runs on the runtime's
    /// thread: it looks and returns.
    #[must_use]
    pub fn heard_by(mut self, listener: impl FnMut(&[u8]) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Capture")
            .field("has_sink", &self.sink.is_some())
            .field("cap", &self.cap)
            .finish()
    }
}

/// What was kept of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    /// How many bytes the process printed.
    pub printed: u64,
    /// How many of them are missing in the sink, between head and tail.
    pub left_out: u64,
    /// Why the sink stopped taking bytes, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One stream while it runs.
pub(super) struct Recorder {
    sink: Option<Box<dyn Sink>>,
    listener: Option<Listener>,
    cap: Cap,
    tail: VecDeque<u8>,
    /// Length of what is in the sink.
    length: u64,
    kept: Kept,
    /// Bytes of the tail region that belong to the stream.
    region: u64,
}

impl Recorder {
    pub(super) fn new(capture: Capture) -> Self {
        Self {
            sink: capture.sink,
            listener: capture.listener,
            cap: capture.cap,
            tail: VecDeque::new(),
            length: 0,
            kept: Kept::default(),
            region: 0,
        }
    }

    pub(super) fn kept(&self) -> Kept {
        self.kept.clone()
    }

    /// The last bytes, at most `limit` of them.
    pub(super) fn tail(&self, limit: usize) -> Vec<u8> {
        let skipped = self.tail.len().saturating_sub(limit);
        self.tail.iter().skip(skipped).copied().collect()
    }

    /// Takes what the process printed.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if let Some(listener) = &mut self.listener {
            listener(bytes);
        }
        self.kept.printed += bytes.len() as u64;
        self.remember(bytes);
        let Some(mut sink) = self.sink.take() else {
            return;
        };
        match self.write(sink.as_mut(), bytes) {
            Ok(()) => self.sink = Some(sink),
            Err(error) => {
                self.kept.failure = Some(error.to_string());
            }
        }
    }

    /// Notes that the stream itself could not be read any further.
    pub(super) fn fail(&mut self, error: &io::Error) {
        self.kept.failure = Some(error.to_string());
    }

    fn remember(&mut self, bytes: &[u8]) {
        let fresh = &bytes[bytes.len().saturating_sub(self.cap.tail)..];
        let room = self.cap.tail - fresh.len();
        let surplus = self.tail.len().saturating_sub(room);
        self.tail.drain(..surplus);
        self.tail.extend(fresh);
    }

    fn write(&mut self, sink: &mut dyn Sink, bytes: &[u8]) -> io::Result<()> {
        let room = self.cap.head.saturating_sub(self.length);
        let to_head = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let (head, rest) = bytes.split_at(to_head);
        if !head.is_empty() {
            self.append(sink, head)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        if self.region + rest.len() as u64 <= 2 * self.cap.tail as u64 {
            self.region += rest.len() as u64;
            return self.append(sink, rest);
        }
        self.compact(sink)
    }

    fn append(&mut self, sink: &mut dyn Sink, bytes: &[u8]) -> io::Result<()> {
        sink.write_at(self.length, bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Replaces everything after the head by a notice and the tail as it is in memory.
    fn compact(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let tail = self.tail(self.cap.tail);
        self.kept.left_out = self.kept.printed - self.cap.head - tail.len() as u64;
        let mut region = notice(self.kept.left_out).into_bytes();
        region.extend_from_slice(&tail);
        sink.write_at(self.cap.head, &region)?;
        self.length = self.cap.head + region.len() as u64;
        self.region = tail.len() as u64;
        sink.truncate(self.length)
    }
}

fn notice(left_out: u64) -> String {
    format!("\n[pitcrew: {left_out} bytes left out here]\n")
}

#[cfg(test)]
mod tests;
